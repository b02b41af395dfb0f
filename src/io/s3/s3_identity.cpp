// See s3_identity.h.
#include "io/s3/s3_identity.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/redacted.h"
#include "base/unix_time.h"
#include "colonnade/error.h"
#include "io/http/http_engine.h"
#include "io/http/http_url.h"
#include "io/s3/s3_signing.h"
#include "io/s3/s3_xml.h"

namespace colonnade::io {
namespace {

using Json = nlohmann::json;
using SystemClock = std::chrono::system_clock;

constexpr std::size_t longest_answer = std::size_t{256} << 10;

std::string text_in_file(const std::string& path, const char* what) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw Error(ErrorKind::usage, fmt::format("{} cannot be read: {}", what, path), "check the path");
  std::string text(longest_answer, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

// "2026-11-22T21:15:01Z", with fractions and with an offset such as "+01:00" in place of the Z as well.
std::optional<SystemClock::time_point> time_in(const std::string& text) {
  std::tm time{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return std::nullopt;
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::tm zone{};
  ::strptime(rest, "%z", &zone);  // without one: UTC
  return at_unix_time(std::chrono::seconds(::timegm(&time) - zone.tm_gmtoff));
}

std::string member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

[[noreturn]] void fail_without_keys(const std::string& source, const std::string& said) {
  throw Error(ErrorKind::usage, fmt::format("{} returned no keys{}", source, said),
              "check which role this machine, or the profile, has in AWS");
}

std::string body_of(const HttpAnswer& answer) {
  return {reinterpret_cast<const char*>(answer.body.data()), answer.body.size()};
}

HttpRequest quick_request(std::string url, std::chrono::milliseconds timeout) {
  HttpRequest request;
  request.url = std::move(url);
  request.max_body = longest_answer;
  request.connect_timeout = request.stall_timeout = request.timeout = timeout;
  return request;
}

HttpAnswer answer_to(HttpRequest request) {
  return HttpEngine::shared().perform(std::move(request)).second;
}

// The body of a good answer.
std::string asked(HttpRequest request, const std::string& source) {
  const HttpAnswer answer = answer_to(std::move(request));
  if (answer.is_good()) return body_of(answer);
  throw Error(ErrorKind::io,
              answer.failure != HttpFailure::none
                  ? fmt::format("{} cannot be asked for keys: {}", source, redacted(answer.problem))
                  : fmt::format("{} returned no keys: status {}", source, answer.status),
              "check the network, and who may ask for them");
}

// All that a process writes. Signals of the program interrupt the wait for it.
std::string text_from(FILE* pipe) {
  std::string text;
  std::array<char, 4096> some;
  while (true) {
    errno = 0;
    const std::size_t count = std::fread(some.data(), 1, some.size(), pipe);
    if (text.size() < longest_answer) text.append(some.data(), count);
    if (count == some.size()) continue;
    if (std::ferror(pipe) == 0 || errno != EINTR) return text;
    std::clearerr(pipe);
  }
}

}  // namespace

S3Identity::S3Identity(Fetch fetch, std::optional<S3TimedCredentials> first)
    : fetch_(std::move(fetch)),
      known_(first ? std::make_shared<const S3TimedCredentials>(std::move(*first)) : nullptr) {}

std::shared_ptr<S3Identity> S3Identity::shared(const std::string& key, const Fetch& fetch) {
  struct All {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<S3Identity>> by_key;
  };
  static PerProcess<All> all;
  All& mine = all.get();
  const std::lock_guard lock(mine.mutex);
  auto& found = mine.by_key[key];
  if (found == nullptr) found = std::make_shared<S3Identity>(fetch);
  return found;
}

S3Credentials S3Identity::current() {
  const Known known = known_.load();
  if (known != nullptr && (!known->expiry || SystemClock::now() + margin < *known->expiry))
    return known->credentials;
  // A lock that was held at a fork opens nevermore.
  if (!process_.is_current()) return renewed(known)->credentials;
  const bool is_good = known != nullptr && SystemClock::now() + std::chrono::minutes(1) < *known->expiry;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (is_good && !lock.try_lock()) return known->credentials;  // another thread is fetching
  if (!lock.owns_lock()) lock.lock();
  const Known now = known_.load();
  return (now != known ? now : renewed(known))->credentials;
}

void S3Identity::refuse(const S3Credentials& keys) {
  Known known = known_.load();
  if (known == nullptr || known->credentials.access_key != keys.access_key ||
      known->credentials.secret_key.reveal() != keys.secret_key.reveal() ||
      known->credentials.session_token.reveal() != keys.session_token.reveal())
    return;  // others were requested since
  // If another thread is faster, it has refused them, too, or has other ones.
  known_.compare_exchange_strong(known, std::make_shared<const S3TimedCredentials>(S3TimedCredentials{
                                            known->credentials, SystemClock::time_point{}}));
}

std::optional<S3Credentials> S3Identity::last() const {
  const Known known = known_.load();
  return known == nullptr ? std::nullopt : std::optional(known->credentials);
}

S3Identity::Known S3Identity::renewed(const Known& old) {
  try {
    const Known fresh = std::make_shared<const S3TimedCredentials>(fetch_());
    known_.store(fresh);
    return fresh;
  } catch (const Error&) {
    if (old != nullptr && old->expiry && SystemClock::now() < *old->expiry) return old;
    throw;
  }
}

S3TimedCredentials credentials_in_json(const std::string& text, const std::string& source) {
  const Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object()) fail_without_keys(source, ": it answered something else");
  std::string token = member(answer, "SessionToken");
  if (token.empty()) token = member(answer, "Token");
  S3TimedCredentials found{
      {member(answer, "AccessKeyId"), Secret(member(answer, "SecretAccessKey")), Secret(std::move(token))},
      time_in(member(answer, "Expiration"))};
  if (found.credentials.access_key.empty() || found.credentials.secret_key.empty())
    fail_without_keys(
        source,
        fmt::format(": {}", in_one_line(redacted(member(answer, "Code") + " " + member(answer, "Message")))));
  return found;
}

S3TimedCredentials credentials_of_process(const std::string& command) {
  // What it says on standard error is for people, and goes there.
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), &::pclose);
  if (pipe == nullptr)
    throw Error(ErrorKind::resource, "credential_process cannot be started",
                "a higher limit of processes (ulimit -u)");
  const std::string text = text_from(pipe.get());
  const int status = ::pclose(pipe.release());
  if (status != 0)
    throw Error(ErrorKind::usage,
                fmt::format("credential_process failed with status {}",
                            WIFEXITED(status) ? WEXITSTATUS(status) : status),
                "run the command of the profile by hand");
  return credentials_in_json(text, "credential_process");
}

S3TimedCredentials credentials_of_container(const S3Container& container) {
  HttpRequest request = quick_request(container.url, std::chrono::seconds(5));
  request.direct = true;
  const std::string token =
      container.token_file.empty()
          ? container.token
          : text_in_file(container.token_file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!token.empty()) request.headers.emplace_back("authorization", token);
  return credentials_in_json(asked(std::move(request), "the container"), "the container");
}

std::optional<S3TimedCredentials> credentials_of_instance(const std::string& endpoint,
                                                          std::chrono::milliseconds timeout,
                                                          unsigned attempts) {
  constexpr const char* roles = "/latest/meta-data/iam/security-credentials/";
  std::string token;
  for (unsigned attempt = 1; token.empty(); ++attempt) {
    HttpRequest request = quick_request(endpoint + "/latest/api/token", timeout);
    request.method = HttpMethod::put;
    request.direct = true;
    request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
    const HttpAnswer answer = answer_to(std::move(request));
    if (answer.is_good()) token = body_of(answer);
    if (token.empty() && attempt >= attempts) return std::nullopt;
  }
  const auto ask = [&](const std::string& path) {
    HttpRequest request = quick_request(endpoint + path, timeout);
    request.direct = true;
    request.headers = {{"x-aws-ec2-metadata-token", token}};
    return answer_to(std::move(request));
  };
  const HttpAnswer listed = ask(roles);
  if (listed.status == 404) return std::nullopt;  // an instance without a role
  const std::string names = body_of(listed);
  const std::string role = names.substr(0, names.find('\n'));
  if (!listed.is_good() || role.empty()) fail_without_keys("the instance", "");
  const HttpAnswer keys = ask(roles + url_encoded(role, false));
  if (!keys.is_good()) fail_without_keys("the instance", fmt::format(": status {}", keys.status));
  return credentials_in_json(body_of(keys), "the instance");
}

bool is_cloud_instance() {
  const auto begins = [](const char* path, std::string_view start) {
    std::ifstream stream(path);
    std::string line;
    return std::getline(stream, line) && std::string_view(line).starts_with(start);
  };
  return begins("/sys/class/dmi/id/sys_vendor", "Amazon") || begins("/sys/hypervisor/uuid", "ec2") ||
         begins("/sys/class/dmi/id/product_uuid", "ec2");
}

S3TimedCredentials credentials_of_web_identity(const S3WebIdentity& identity) {
  const std::string token = text_in_file(identity.token_file, "the web identity's token");
  HttpRequest request = quick_request(identity.endpoint + "/", std::chrono::seconds(20));
  request.method = HttpMethod::post;
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.text = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
      url_encoded(identity.role, false), url_encoded(identity.session, false), url_encoded(token, false));
  const std::string source = fmt::format("the role {}", identity.role);
  const auto document = parse_xml(asked(std::move(request), source));
  const XmlElement* result = document ? document->child("AssumeRoleWithWebIdentityResult") : nullptr;
  const XmlElement* keys = result != nullptr ? result->child("Credentials") : nullptr;
  if (keys == nullptr) fail_without_keys(source, ": it answered something else");
  return {{keys->child_text("AccessKeyId"), Secret(keys->child_text("SecretAccessKey")),
           Secret(keys->child_text("SessionToken"))},
          time_in(keys->child_text("Expiration"))};
}

S3TimedCredentials credentials_of_sign_in(const S3SignedIn& signed_in) {
  const auto fail_signed_out = [&](const char* why) {
    throw Error(ErrorKind::usage,
                fmt::format("the sign-in of the profile {} ({})", why, signed_in.cache_file),
                "sign in again: aws sso login");
  };
  std::ifstream stream(signed_in.cache_file);
  if (!stream) fail_signed_out("does not exist");
  const Json cache = Json::parse(stream, nullptr, false);
  if (!cache.is_object() || member(cache, "accessToken").empty()) fail_signed_out("cannot be understood");
  const auto end = time_in(member(cache, "expiresAt"));
  if (end && *end <= SystemClock::now()) fail_signed_out("has expired");
  HttpRequest request =
      quick_request(fmt::format("{}/federation/credentials?role_name={}&account_id={}", signed_in.endpoint,
                                url_encoded(signed_in.role, false), url_encoded(signed_in.account, false)),
                    std::chrono::seconds(20));
  request.headers = {{"x-amz-sso_bearer_token", member(cache, "accessToken")}};
  const Json answer = Json::parse(asked(std::move(request), "the sign-in"), nullptr, false);
  const Json keys = answer.is_object() ? answer.value("roleCredentials", Json::object()) : Json::object();
  S3TimedCredentials found{{member(keys, "accessKeyId"), Secret(member(keys, "secretAccessKey")),
                            Secret(member(keys, "sessionToken"))},
                           std::nullopt};
  if (found.credentials.access_key.empty()) fail_without_keys("the sign-in", "");
  if (keys.contains("expiration") && keys["expiration"].is_number())
    found.expiry = at_unix_time(std::chrono::milliseconds(keys["expiration"].get<std::int64_t>()));
  return found;
}

std::string sign_in_cache_name(const std::string& session_or_url) {
  return hex(sha1(as_bytes(session_or_url))) + ".json";
}

}  // namespace colonnade::io
