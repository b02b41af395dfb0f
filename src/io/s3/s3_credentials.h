// Credentials and settings of S3, from the environment and the files of the AWS tools; the first source that
// is set counts:
//
//   keys          AWS_NO_SIGN_REQUEST: none, requests are not signed (public buckets);
//                 AWS_ACCESS_KEY_ID + AWS_SECRET_ACCESS_KEY (+ AWS_SESSION_TOKEN);
//                 a web identity: AWS_WEB_IDENTITY_TOKEN_FILE + AWS_ROLE_ARN (+ AWS_ROLE_SESSION_NAME), or
//                 web_identity_token_file + role_arn of the profile;
//                 a sign-in: sso_session, or sso_start_url + sso_region, with sso_account_id + sso_role_name
//                 of the profile, after "aws sso login";
//                 aws_access_key_id, ... of the profile in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials);
//                 credential_process of the profile; the same keys in AWS_CONFIG_FILE (~/.aws/config);
//                 a container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (with
//                 AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE);
//                 a virtual machine of EC2: its role, by IMDSv2, unless AWS_EC2_METADATA_DISABLED; only on
//                 such machines, or if AWS_EC2_METADATA_SERVICE_ENDPOINT names the service.
//                 This is the order of the AWS tools. Without keys, requests are not signed. Keys that expire
//                 are renewed in time, and those of files are read again where a server refuses them.
//   profile       AWS_PROFILE, AWS_DEFAULT_PROFILE, "default"
//   region        AWS_REGION, AWS_DEFAULT_REGION, `region` of the profile, us-east-1
//   endpoint      AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, `endpoint_url` of the profile (under `s3 =`, then by
//                 itself), AWS itself
//   tokens        COLONNADE_S3_TOKEN_OVER_HTTP=1: session tokens may go to an http:// endpoint that is not on
//                 this machine, where all hosts on the way can read them
//   addressing    COLONNADE_S3_ADDRESSING (path, virtual), `addressing_style` of the profile (under `s3 =`,
//                 then by itself), virtual at AWS and path at other endpoints
//   certificates  AWS_CA_BUNDLE, `ca_bundle` of the profile; then what http_engine.h says
//   timeout       COLONNADE_S3_TIMEOUT: seconds until a request that keeps failing is given up (60)
#ifndef COLONNADE_IO_S3_S3_CREDENTIALS_H
#define COLONNADE_IO_S3_S3_CREDENTIALS_H

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/s3/s3_identity.h"

namespace colonnade::io {

struct S3Settings {
  std::optional<S3Credentials> credentials;  // nullopt, without an identity: requests are not signed
  std::shared_ptr<S3Identity> identity;      // provides keys instead of `credentials`
  std::string credentials_from;              // for messages: "the environment", a file and profile
  std::string region = "us-east-1";
  std::string endpoint;  // "https://host:port/base", without a slash at the end; empty: AWS
  bool path_style = false;
  bool token_over_http = false;  // to other machines than this one
  std::string ca_file;
  std::chrono::milliseconds timeout{60'000};
};

// Sections of a file of the AWS tools: name -> key -> value. A nested value ("s3 =" and indented lines below)
// has the key "s3.addressing_style". Lines that are none are passed over.
using AwsFile = std::map<std::string, std::map<std::string, std::string>>;
AwsFile parse_aws_file(std::string_view text);

// Where settings come from; tests bring their own.
struct S3Sources {
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::function<std::optional<std::string>(const std::string& path)> file;  // nullopt: cannot be read
};
S3Sources system_sources();

// Throws ErrorKind::usage for settings that contradict themselves: a key without its secret, a profile that
// is nowhere, a timeout that is not a number; and for texts that would change a request: a token with a line
// break.
S3Settings find_s3_settings(const S3Sources& sources = system_sources());

}  // namespace colonnade::io

#endif
