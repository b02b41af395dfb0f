#include "io/s3/s3_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "base/test_errors.h"
#include "colonnade/error.h"

namespace colonnade::io {
namespace {

using testing::HasSubstr;
using testing::Not;

using Names = std::map<std::string, std::string>;

S3Sources sources(Names environment, Names files = {}) {
  environment.emplace("HOME", "/home/user");
  const auto find = [](const Names& names, const std::string& name) -> std::optional<std::string> {
    const auto found = names.find(name);
    if (found == names.end()) return std::nullopt;
    return found->second;
  };
  return {[=](const std::string& name) { return find(environment, name); },
          [=](const std::string& path) { return find(files, path); }};
}

constexpr const char* config_path = "/home/user/.aws/config";
constexpr const char* credentials_path = "/home/user/.aws/credentials";

TEST(AwsFiles, HaveSectionsAndNestedValues) {
  const AwsFile file = parse_aws_file(
      "# a comment\n"
      "outside = ignored\n"
      "[default]\n"
      "Region=eu-west-1\r\n"
      "  \n"
      "[profile lhcb]\n"
      "region = us-west-2 # the old one\n"
      "key = a#b;c = d\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "\tendpoint_url=http://here:1\n"
      "output = json\n"
      "  indented = value\n"
      "no value here\n"
      "[ \"quoted name\" ]\n"
      "x = \n"
      "[unclosed\n"
      "y = 1");
  EXPECT_EQ(file.at("default").at("region"), "eu-west-1");
  EXPECT_EQ(file.at("lhcb").at("region"), "us-west-2");
  EXPECT_EQ(file.at("lhcb").at("key"), "a#b;c = d");
  EXPECT_EQ(file.at("lhcb").at("s3.addressing_style"), "path");
  EXPECT_EQ(file.at("lhcb").at("s3.endpoint_url"), "http://here:1");
  EXPECT_EQ(file.at("lhcb").at("indented"), "value");
  EXPECT_EQ(file.at("quoted name").at("x"), "");
  EXPECT_EQ(file.at("quoted name").size(), 1u);
  EXPECT_EQ(file.size(), 3u);
  EXPECT_TRUE(parse_aws_file("").empty());
}

TEST(S3Settings, AreThoseOfAwsWithoutAnything) {
  const S3Settings settings = find_s3_settings(sources({}));
  EXPECT_FALSE(settings.credentials);
  EXPECT_EQ(settings.region, "us-east-1");
  EXPECT_EQ(settings.endpoint, "");
  EXPECT_FALSE(settings.path_style);
  EXPECT_EQ(settings.timeout, std::chrono::seconds(60));
}

TEST(S3Settings, TakeTheEnvironmentFirst) {
  const S3Settings settings = find_s3_settings(sources({{"AWS_ACCESS_KEY_ID", "id"},
                                                        {"AWS_SECRET_ACCESS_KEY", "secret"},
                                                        {"AWS_SESSION_TOKEN", "token"},
                                                        {"AWS_DEFAULT_REGION", "eu-central-1"},
                                                        {"AWS_ENDPOINT_URL", "https://general"},
                                                        {"AWS_ENDPOINT_URL_S3", "http://10.0.0.1:9000/"},
                                                        {"AWS_CA_BUNDLE", "/ca.pem"},
                                                        {"COLONNADE_S3_TIMEOUT", "2.5"}},
                                                       {{credentials_path,
                                                         "[default]\naws_access_key_id = other\n"
                                                         "aws_secret_access_key = other\n"},
                                                        {config_path, "[default]\nregion = other\n"}}));
  ASSERT_TRUE(settings.credentials);
  EXPECT_EQ(settings.credentials->access_key, "id");
  EXPECT_EQ(settings.credentials->secret_key.reveal(), "secret");
  EXPECT_EQ(settings.credentials->session_token.reveal(), "token");
  EXPECT_EQ(settings.credentials_from, "the environment");
  EXPECT_EQ(settings.region, "eu-central-1");
  EXPECT_EQ(settings.endpoint, "http://10.0.0.1:9000");
  EXPECT_TRUE(settings.path_style);
  EXPECT_EQ(settings.ca_file, "/ca.pem");
  EXPECT_EQ(settings.timeout, std::chrono::milliseconds(2500));
}

TEST(S3Settings, TakeProfilesFromBothFiles) {
  const Names files{{credentials_path,
                     "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n"
                     "[lhcb]\naws_access_key_id = l\naws_secret_access_key = ls\naws_session_token = lt\n"},
                    {config_path,
                     "[default]\nregion = eu-west-1\n"
                     "[profile lhcb]\nregion = eu-west-3\nendpoint_url = https://s3.cern.ch\n"
                     "s3 =\n  addressing_style = virtual\n"
                     "[profile only_here]\naws_access_key_id = o\naws_secret_access_key = os\n"}};
  const S3Settings plain = find_s3_settings(sources({}, files));
  EXPECT_EQ(plain.credentials->access_key, "d");
  EXPECT_TRUE(plain.credentials->session_token.empty());
  EXPECT_EQ(plain.region, "eu-west-1");

  const S3Settings lhcb = find_s3_settings(sources({{"AWS_PROFILE", "lhcb"}}, files));
  EXPECT_EQ(lhcb.credentials->access_key, "l");
  EXPECT_EQ(lhcb.credentials->secret_key.reveal(), "ls");
  EXPECT_EQ(lhcb.credentials->session_token.reveal(), "lt");
  EXPECT_EQ(lhcb.region, "eu-west-3");
  EXPECT_EQ(lhcb.endpoint, "https://s3.cern.ch");
  EXPECT_FALSE(lhcb.path_style);
  EXPECT_THAT(lhcb.credentials_from, HasSubstr(credentials_path));

  const S3Settings only = find_s3_settings(sources({{"AWS_DEFAULT_PROFILE", "only_here"}}, files));
  EXPECT_EQ(only.credentials->access_key, "o");
  EXPECT_EQ(only.credentials->secret_key.reveal(), "os");
}

TEST(S3Settings, TakeFilesFromWhereTheEnvironmentSays) {
  const S3Settings settings =
      find_s3_settings(sources({{"AWS_SHARED_CREDENTIALS_FILE", "/c"}, {"AWS_CONFIG_FILE", "~/f"}},
                               {{"/c", "[default]\naws_access_key_id=a\naws_secret_access_key=b"},
                                {"/home/user/f", "[default]\nregion=r\nca_bundle=/x"}}));
  EXPECT_EQ(settings.credentials->access_key, "a");
  EXPECT_EQ(settings.region, "r");
  EXPECT_EQ(settings.ca_file, "/x");
}

TEST(S3Settings, SignNothingOnRequest) {
  const S3Settings settings = find_s3_settings(sources(
      {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "secret"}, {"AWS_NO_SIGN_REQUEST", "true"}}));
  EXPECT_FALSE(settings.credentials);
}

TEST(S3Settings, KnowAddressingStyles) {
  const auto style = [](Names environment, const std::string& config) {
    return find_s3_settings(sources(std::move(environment), {{config_path, config}})).path_style;
  };
  EXPECT_FALSE(style({}, ""));
  EXPECT_TRUE(style({{"COLONNADE_S3_ADDRESSING", "path"}}, ""));
  EXPECT_FALSE(style({{"COLONNADE_S3_ADDRESSING", "virtual"}, {"AWS_ENDPOINT_URL", "http://h"}}, ""));
  EXPECT_TRUE(style({{"AWS_ENDPOINT_URL", "http://h"}}, "[default]\ns3 =\n  addressing_style = auto\n"));
  EXPECT_TRUE(style({}, "[default]\naddressing_style = path\n"));
}

TEST(S3Settings, RefuseWhatContradictsItself) {
  const auto problem = [](Names environment, Names files = {}) {
    const Error error =
        error_of([&] { find_s3_settings(sources(std::move(environment), std::move(files))); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.problem();
  };
  EXPECT_THAT(problem({{"AWS_ACCESS_KEY_ID", "id"}}), HasSubstr("without its secret key"));
  EXPECT_THAT(problem({{"AWS_SECRET_ACCESS_KEY", "hush"}}), Not(HasSubstr("hush")));
  EXPECT_THAT(problem({}, {{credentials_path, "[default]\naws_access_key_id = x\n"}}),
              HasSubstr(credentials_path));
  EXPECT_THAT(problem({{"AWS_PROFILE", "nobody"}}), HasSubstr("no profile \"nobody\""));
  EXPECT_THAT(problem({{"AWS_ENDPOINT_URL", "s3.cern.ch"}}), HasSubstr("is not a URL"));
  EXPECT_THAT(problem({{"AWS_ENDPOINT_URL", "https://user:hush@s3.cern.ch"}}), Not(HasSubstr("hush")));
  EXPECT_THAT(problem({{"COLONNADE_S3_ADDRESSING", "sideways"}}), HasSubstr("sideways"));
  for (const char* seconds : {"0", "-1", "soon", "1e9", "nan", "5 s"})
    EXPECT_THAT(problem({{"COLONNADE_S3_TIMEOUT", seconds}}), HasSubstr(seconds));
}

TEST(Secrets, CannotBePrintedByAccident) {
  EXPECT_FALSE((std::is_convertible_v<Secret, std::string>));
  EXPECT_FALSE((std::is_convertible_v<Secret, std::string_view>));
  EXPECT_THAT(testing::PrintToString(Secret("hush")), Not(HasSubstr("hush")));
}

TEST(S3Settings, RefuseLineBreaks) {
  for (const char* broken : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
                             "AWS_ENDPOINT_URL_S3"}) {
    for (const char* end : {"\n", "\nx-amz-acl: public-read", "\r\nx", "\x01y", "\x7f"}) {
      Names names{{"AWS_ACCESS_KEY_ID", "identity"},
                  {"AWS_SECRET_ACCESS_KEY", "hidden"},
                  {"AWS_SESSION_TOKEN", "concealed"},
                  {"AWS_REGION", "eu-west-1"},
                  {"AWS_ENDPOINT_URL_S3", "https://host"}};
      names[broken] += end;
      const Error error = error_of([&] { find_s3_settings(sources(names)); });
      EXPECT_EQ(error.kind(), ErrorKind::usage) << broken;
      EXPECT_THAT(error.problem(), HasSubstr(end[0] == '\n' || end[0] == '\r' ? "line break" : "control"));
      for (const char* secret : {"hidden", "concealed", "identity"})
        EXPECT_THAT(std::string(error.what()), Not(HasSubstr(secret)));
    }
  }
}

TEST(S3Settings, MayLetTokensGoOverHttp) {
  EXPECT_FALSE(find_s3_settings(sources({})).token_over_http);
  EXPECT_FALSE(find_s3_settings(sources({{"COLONNADE_S3_TOKEN_OVER_HTTP", "0"}})).token_over_http);
  EXPECT_TRUE(find_s3_settings(sources({{"COLONNADE_S3_TOKEN_OVER_HTTP", "1"}})).token_over_http);
}

TEST(S3Settings, DoNotRepeatPasswordsOfEndpoints) {
  for (const char* endpoint : {"https://user:hidden@host", "user:hidden@host", "ftp://user:hidden@host/x"}) {
    const Error error = error_of([&] { find_s3_settings(sources({{"AWS_ENDPOINT_URL_S3", endpoint}})); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(std::string(error.what()), Not(HasSubstr("hidden")));
  }
}

}  // namespace
}  // namespace colonnade::io
