// See s3_credentials.h.
#include "io/s3/s3_credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/lower_case.h"
#include "colonnade/error.h"
#include "io/http/http_url.h"

namespace colonnade::io {
namespace {

constexpr std::size_t largest_file = std::size_t{4} << 20;  // bytes of a credentials file that are looked at

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "[profile lhcb]" and "[lhcb]" are the same: the one is written in the config file, the other in the
// credentials file.
std::string section_name(std::string_view line) {
  std::string_view name = trimmed(line.substr(1, line.find(']') - 1));
  if (name.starts_with("profile ") || name.starts_with("profile\t")) name = trimmed(name.substr(8));
  if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front())
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

// "a value # a comment": a comment begins after a blank.
std::string_view without_comment(std::string_view value) noexcept {
  for (std::size_t i = 0; i < value.size(); ++i)
    if ((value[i] == '#' || value[i] == ';') && i > 0 && (value[i - 1] == ' ' || value[i - 1] == '\t'))
      return trimmed(value.substr(0, i));
  return value;
}

bool says_yes(const std::optional<std::string>& text) {
  if (!text) return false;
  const std::string word = lower_case(trimmed(*text));
  return word == "1" || word == "true" || word == "yes" || word == "on";
}

// What goes into a header must not end it. Says where, never what.
std::string checked_text(std::string_view text, const std::string& what) {
  const std::string_view value = trimmed(text);
  for (std::size_t i = 0; i < value.size(); ++i)
    if (static_cast<unsigned char>(value[i]) < 0x20 || value[i] == 0x7f)
      throw Error(ErrorKind::usage,
                  fmt::format("{} has a {} as character {} of {}", what,
                              value[i] == '\n' || value[i] == '\r' ? "line break" : "control character",
                              i + 1, value.size()),
                  "set it without; $(cat FILE) in a shell drops trailing line breaks");
  return std::string(value);
}

std::string checked_endpoint(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const std::size_t scheme = endpoint.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  if (endpoint.substr(host, endpoint.find('/', host) - host).find('@') != std::string::npos)
    throw Error(ErrorKind::usage, "the S3 endpoint has a user name or password in it",
                "give keys through AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  if (!endpoint.empty() && !endpoint.starts_with("http://") && !endpoint.starts_with("https://"))
    throw Error(ErrorKind::usage, fmt::format("the S3 endpoint \"{}\" is not a URL", endpoint),
                "an endpoint such as https://s3.example.org in AWS_ENDPOINT_URL_S3");
  return endpoint;
}

// The sources, asked for one profile.
class Finder {
 public:
  explicit Finder(const S3Sources& sources) : sources_(&sources) {
    const auto named = first_of({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
    profile_ = named.value_or("default");
    credentials_path_ = path("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
    config_path_ = path("AWS_CONFIG_FILE", "/.aws/config");
    credentials_ = load(credentials_path_);
    config_ = load(config_path_);
    if (named && !credentials_.contains(profile_) && !config_.contains(profile_))
      throw Error(
          ErrorKind::usage,
          fmt::format("there is no profile \"{}\" in {} or {}", profile_, credentials_path_, config_path_),
          "set AWS_PROFILE to a profile that is there, or unset it");
  }

  // An empty variable is as good as none.
  std::optional<std::string> environment(const std::string& name) const {
    auto value = sources_->environment(name);
    if (value && trimmed(*value).empty()) return std::nullopt;
    return value;
  }
  std::optional<std::string> first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (auto value = environment(name)) return value;
    return std::nullopt;
  }
  std::optional<std::string> config(const std::string& key) const {
    if (auto value = find(config_, key)) return value;
    return find(credentials_, key);
  }

  // Fills in the credentials.
  void find_credentials(S3Settings& settings) const {
    if (says_yes(environment("AWS_NO_SIGN_REQUEST"))) return;
    settings.credentials = pair_of(environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                                   environment("AWS_SESSION_TOKEN"), "the environment");
    if (settings.credentials) {
      settings.credentials_from = "the environment";
      return;
    }
    if (use_web_identity(settings) || use_sign_in(settings)) return;
    if (use_keys_in(credentials_, credentials_path_, settings)) return;
    if (const auto command = config("credential_process"))
      return use(settings, "credential_process of " + of_profile(config_path_), *command,
                 [command] { return credentials_of_process(*command); });
    if (use_keys_in(config_, config_path_, settings)) return;
    if (config("role_arn"))
      throw Error(ErrorKind::usage,
                  fmt::format("profile \"{}\" asks for a role with the keys of another profile", profile_),
                  "add to it: credential_process = aws configure export-credentials --profile NAME, or set "
                  "AWS_ACCESS_KEY_ID and the like by that command");
    if (!use_container(settings)) use_instance(settings);
  }

 private:
  static void use(S3Settings& settings, const std::string& from, const std::string& what,
                  const S3Identity::Fetch& fetch) {
    settings.credentials_from = from;
    settings.identity = S3Identity::shared(from + "\n" + what, fetch);
  }
  std::string of_profile(const std::string& path) const {
    return fmt::format("profile \"{}\" of {}", profile_, path);
  }
  static std::optional<S3Credentials> keys_in(const AwsFile& file, const std::string& profile,
                                              const std::string& where) {
    return pair_of(find_in(file, profile, "aws_access_key_id"),
                   find_in(file, profile, "aws_secret_access_key"),
                   find_in(file, profile, "aws_session_token"), where);
  }
  // Somebody may replace them: they are read again where a server refuses them.
  bool use_keys_in(const AwsFile& file, const std::string& path, S3Settings& settings) const {
    const std::string where = of_profile(path);
    settings.credentials = keys_in(file, profile_, where);
    if (!settings.credentials) return false;
    settings.credentials_from = where;
    const auto fetch = [read = sources_->file, path, profile = profile_, where,
                        keys = *settings.credentials]() mutable -> S3TimedCredentials {
      const auto text = read(path);
      // Without others, the error is that of the server.
      keys = keys_in(text ? parse_aws_file(*text) : AwsFile{}, profile, where).value_or(keys);
      return {keys, std::nullopt};
    };
    settings.identity =
        std::make_shared<S3Identity>(fetch, S3TimedCredentials{*settings.credentials, std::nullopt});
    return true;
  }
  std::string region() const {
    auto region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
    if (!region) region = config("region");
    return region.value_or(S3Settings{}.region);
  }
  // Of a service of AWS, unless the environment names another.
  std::string service(const char* variable, const std::string& name, const std::string& where) const {
    return checked_endpoint(environment(variable).value_or(
        fmt::format("https://{}.{}.amazonaws.com{}", name, where, where.starts_with("cn-") ? ".cn" : "")));
  }

  bool use_web_identity(S3Settings& settings) const {
    auto token = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    auto role = environment("AWS_ROLE_ARN");
    if (!token) token = config("web_identity_token_file"), role = config("role_arn");
    if (!token || !role) return false;
    const S3WebIdentity identity{service("AWS_ENDPOINT_URL_STS", "sts", region()), *role,
                                 environment("AWS_ROLE_SESSION_NAME").value_or("colonnade"), *token};
    use(settings, "the web identity in " + *token, *role + "\n" + identity.endpoint,
        [identity] { return credentials_of_web_identity(identity); });
    return true;
  }

  bool use_sign_in(S3Settings& settings) const {
    const auto account = config("sso_account_id");
    const auto role = config("sso_role_name");
    const auto session = config("sso_session");
    auto where = config("sso_region");
    if (session) where = find_in(config_, "sso-session " + *session, "sso_region");
    const auto name = session ? session : config("sso_start_url");
    if (!account || !role || !name) return false;
    const S3SignedIn signed_in{
        service("AWS_ENDPOINT_URL_SSO", "portal.sso", where.value_or(region())),
        environment("HOME").value_or("") + "/.aws/sso/cache/" + sign_in_cache_name(*name), *account, *role};
    use(settings, "the sign-in of " + of_profile(config_path_),
        signed_in.cache_file + "\n" + *account + "\n" + *role + "\n" + signed_in.endpoint,
        [signed_in] { return credentials_of_sign_in(signed_in); });
    return true;
  }

  bool use_container(S3Settings& settings) const {
    S3Container container;
    if (const auto relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"))
      container.url = "http://169.254.170.2" + *relative;
    else
      container.url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").value_or("");
    if (container.url.empty()) return false;
    // The addresses of the services of ECS and EKS, which no network carries.
    const std::string host = parse_http_url(container.url).host;
    const bool is_near = is_this_machine(host) || host == "169.254.170.2" || host == "169.254.170.23" ||
                         host == "[fd00:ec2::23]";
    if (!container.url.starts_with("https://") && !is_near)
      throw Error(ErrorKind::usage,
                  "AWS_CONTAINER_CREDENTIALS_FULL_URI is on another machine and not encrypted",
                  "an https:// URL, or one on this machine");
    container.token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
    container.token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").value_or("");
    use(settings, "the container", container.url + "\n" + container.token + "\n" + container.token_file,
        [container] { return credentials_of_container(container); });
    return true;
  }

  // Without a role requests are not signed.
  void use_instance(S3Settings& settings) const {
    const auto named = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (says_yes(environment("AWS_EC2_METADATA_DISABLED")) || (!named && !is_cloud_instance())) return;
    const std::string endpoint = checked_endpoint(named.value_or("http://169.254.169.254"));
    const auto number = [&](const char* variable, unsigned otherwise) {
      const auto text = environment(variable);
      unsigned value = 0;
      const bool is_one =
          text && std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc();
      return is_one && value > 0 && value <= 100 ? value : otherwise;
    };
    const std::chrono::seconds timeout(number("AWS_METADATA_SERVICE_TIMEOUT", 1));
    const unsigned attempts = number("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 1);
    use(settings, "the instance's role", endpoint, [=] {
      auto found = credentials_of_instance(endpoint, timeout, attempts);
      // Asked again after a while: a role may be given later.
      return found.value_or(
          S3TimedCredentials{{}, std::chrono::system_clock::now() + 2 * S3Identity::margin});
    });
  }

  std::string path(const char* variable, const char* below_home) const {
    std::string path = environment(variable).value_or(std::string("~") + below_home);
    if (path.starts_with("~/")) path = environment("HOME").value_or("") + path.substr(1);
    return path;
  }
  AwsFile load(const std::string& path) const {
    const auto text = sources_->file(path);
    return text ? parse_aws_file(*text) : AwsFile{};
  }
  std::optional<std::string> find(const AwsFile& file, const std::string& key) const {
    return find_in(file, profile_, key);
  }
  static std::optional<std::string> find_in(const AwsFile& file, const std::string& name,
                                            const std::string& key) {
    const auto section = file.find(name);
    if (section == file.end()) return std::nullopt;
    const auto entry = section->second.find(key);
    if (entry == section->second.end() || entry->second.empty()) return std::nullopt;
    return entry->second;
  }

  static std::optional<S3Credentials> pair_of(const std::optional<std::string>& access_key,
                                              const std::optional<std::string>& secret_key,
                                              const std::optional<std::string>& token,
                                              const std::string& where) {
    if (!access_key && !secret_key) return std::nullopt;
    if (!access_key || !secret_key)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} has {} for S3 without its {}", where, access_key ? "an access key" : "a secret key",
                      access_key ? "secret key" : "access key"),
          "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or both keys of the profile");
    return S3Credentials{checked_text(*access_key, "the access key of " + where),
                         Secret(checked_text(*secret_key, "the secret key of " + where)),
                         Secret(checked_text(token.value_or(""), "the session token of " + where))};
  }

  const S3Sources* sources_;
  std::string profile_;
  std::string credentials_path_;
  std::string config_path_;
  AwsFile credentials_;
  AwsFile config_;
};

std::chrono::milliseconds timeout_of(const std::optional<std::string>& text) {
  if (!text) return S3Settings{}.timeout;
  const std::string_view digits = trimmed(*text);
  double seconds = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (code != std::errc() || end != digits.data() + digits.size() || !(seconds > 0 && seconds <= 86400))
    throw Error(ErrorKind::usage, fmt::format("COLONNADE_S3_TIMEOUT is \"{}\"", *text),
                "a number of seconds up to 86400");
  return std::chrono::milliseconds(std::max<std::int64_t>(static_cast<std::int64_t>(seconds * 1000), 1));
}

bool uses_paths(const Finder& finder, bool own_endpoint) {
  auto style = finder.environment("COLONNADE_S3_ADDRESSING");
  if (!style) style = finder.config("s3.addressing_style");
  if (!style) style = finder.config("addressing_style");
  const std::string word = lower_case(trimmed(style.value_or("auto")));
  if (word == "path") return true;
  if (word == "virtual") return false;
  if (word == "auto") return own_endpoint;
  throw Error(ErrorKind::usage, fmt::format("the addressing style of S3 is \"{}\"", word),
              "path, virtual or auto in COLONNADE_S3_ADDRESSING or addressing_style");
}

}  // namespace

AwsFile parse_aws_file(std::string_view text) {
  AwsFile file;
  std::map<std::string, std::string>* section = nullptr;
  std::string parent;  // of indented lines
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      section = line.find(']') == std::string_view::npos ? nullptr : &file[section_name(line)];
      parent.clear();
      continue;
    }
    const std::size_t equals = line.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const bool nested = (raw.front() == ' ' || raw.front() == '\t') && !parent.empty();
    std::string key = nested ? parent + "." : std::string();
    key += lower_case(trimmed(line.substr(0, equals)));
    const std::string value(without_comment(trimmed(line.substr(equals + 1))));
    (*section)[key] = value;
    if (!nested) parent = value.empty() ? key : std::string();
  }
  return file;
}

S3Sources system_sources() {
  S3Sources sources;
  sources.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  sources.file = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return std::nullopt;
    std::string text(largest_file, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
  };
  return sources;
}

S3Settings find_s3_settings(const S3Sources& sources) {
  const Finder finder(sources);
  S3Settings settings;
  finder.find_credentials(settings);
  auto region = finder.first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region) region = finder.config("region");
  if (region) settings.region = checked_text(*region, "the region of S3");

  auto endpoint = finder.first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!endpoint) endpoint = finder.config("s3.endpoint_url");
  if (!endpoint) endpoint = finder.config("endpoint_url");
  settings.endpoint = checked_endpoint(checked_text(endpoint.value_or(""), "the endpoint of S3"));
  settings.token_over_http = says_yes(finder.environment("COLONNADE_S3_TOKEN_OVER_HTTP"));
  settings.path_style = uses_paths(finder, !settings.endpoint.empty());

  auto certificates = finder.environment("AWS_CA_BUNDLE");
  if (!certificates) certificates = finder.config("ca_bundle");
  settings.ca_file = certificates.value_or("");
  settings.timeout = timeout_of(finder.environment("COLONNADE_S3_TIMEOUT"));
  return settings;
}

}  // namespace colonnade::io
