// See s3_credentials.h.
#include "io/s3/s3_credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "colonnade/error.h"

namespace colonnade::io {
namespace {

constexpr std::size_t largest_file = std::size_t{4} << 20;  // bytes of a credentials file that are looked at

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
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
  const std::string word = lower(trimmed(*text));
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
                  "set it without; $(cat FILE) of a shell drops line breaks at the end");
  return std::string(value);
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

  std::optional<S3Credentials> credentials(std::string& from) const {
    if (says_yes(environment("AWS_NO_SIGN_REQUEST"))) return std::nullopt;
    if (auto found = pair_of(environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                             environment("AWS_SESSION_TOKEN"), "the environment")) {
      from = "the environment";
      return found;
    }
    for (const auto* file : {&credentials_, &config_}) {
      const std::string where =
          fmt::format("profile \"{}\" of {}", profile_, file == &config_ ? config_path_ : credentials_path_);
      if (auto found = pair_of(find(*file, "aws_access_key_id"), find(*file, "aws_secret_access_key"),
                               find(*file, "aws_session_token"), where)) {
        from = where;
        return found;
      }
    }
    return std::nullopt;
  }

 private:
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
    const auto section = file.find(profile_);
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

std::string checked_endpoint(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const std::size_t scheme = endpoint.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  if (endpoint.substr(host, endpoint.find('/', host) - host).find('@') != std::string::npos)
    throw Error(ErrorKind::usage, "the S3 endpoint has a user name or password in it",
                "give keys through AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  if (!endpoint.empty() && !endpoint.starts_with("http://") && !endpoint.starts_with("https://"))
    throw Error(ErrorKind::usage, fmt::format("the S3 endpoint \"{}\" is no URL", endpoint),
                "an endpoint such as https://s3.example.org in AWS_ENDPOINT_URL_S3");
  return endpoint;
}

std::chrono::milliseconds timeout_of(const std::optional<std::string>& text) {
  if (!text) return S3Settings{}.timeout;
  const std::string_view digits = trimmed(*text);
  double seconds = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (code != std::errc() || end != digits.data() + digits.size() || !(seconds > 0 && seconds <= 86400))
    throw Error(ErrorKind::usage,
                fmt::format("COLONNADE_S3_TIMEOUT is \"{}\", not a number of seconds up to 86400", *text));
  return std::chrono::milliseconds(std::max<std::int64_t>(static_cast<std::int64_t>(seconds * 1000), 1));
}

bool uses_paths(const Finder& finder, bool own_endpoint) {
  auto style = finder.environment("COLONNADE_S3_ADDRESSING");
  if (!style) style = finder.config("s3.addressing_style");
  if (!style) style = finder.config("addressing_style");
  const std::string word = lower(trimmed(style.value_or("auto")));
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
    key += lower(trimmed(line.substr(0, equals)));
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
  settings.credentials = finder.credentials(settings.credentials_from);
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
