// See http_credentials.h.
#include "io/http/http_credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/unix_time.h"

namespace colonnade::io {
namespace {

constexpr std::size_t longest_token = std::size_t{64} << 10;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = variable(name);
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

std::string without_blanks(const std::string& text) {
  constexpr const char* blanks = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// 0: there is none. Files in folders that all may write to must be the user's own.
std::int64_t change_of(const std::string& path, bool must_be_own) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  if (must_be_own && (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)) return 0;
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::string token_in(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(longest_token, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return without_blanks(text);
}

std::string from_base64url(std::string_view text) {
  std::string result;
  unsigned bits = 0;
  unsigned group = 0;
  for (const char letter : text) {
    unsigned value = 0;
    if (letter >= 'A' && letter <= 'Z')
      value = static_cast<unsigned>(letter - 'A');
    else if (letter >= 'a' && letter <= 'z')
      value = static_cast<unsigned>(letter - 'a') + 26;
    else if (letter >= '0' && letter <= '9')
      value = static_cast<unsigned>(letter - '0') + 52;
    else if (letter == '-' || letter == '_')
      value = letter == '-' ? 62 : 63;
    else
      break;
    group = group << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    result.push_back(static_cast<char>(group >> bits & 0xff));
  }
  return result;
}

std::string netrc_file() {
  std::string file = variable("NETRC");
  if (file.empty() && !variable("HOME").empty()) file = variable("HOME") + "/.netrc";
  return !file.empty() && ::access(file.c_str(), R_OK) == 0 ? file : "";
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> expiry_of_token(const std::string& token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string::npos ? first : token.find('.', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string claims = from_base64url(std::string_view(token).substr(first + 1, second - first - 1));
  const auto parsed = nlohmann::json::parse(claims, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("exp") || !parsed["exp"].is_number()) return std::nullopt;
  const auto seconds = parsed["exp"].get<double>();
  if (!(seconds > 0 && seconds < 1e11)) return std::nullopt;
  return at_unix_time(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

BearerToken::FoundToken BearerToken::find() {
  FoundToken found;
  if (const std::string token = without_blanks(variable("BEARER_TOKEN")); !token.empty()) {
    found = {Secret(token), "BEARER_TOKEN", "", 0, expiry_of_token(token)};
    return found;
  }
  const std::string named = variable("BEARER_TOKEN_FILE");
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  const std::string name = "/bt_u" + std::to_string(::geteuid());
  struct TokenFile {
    std::string path;
    bool must_be_own;
  };
  const std::array files{TokenFile{named, false},
                         TokenFile{named.empty() && !runtime.empty() ? runtime + name : "", false},
                         TokenFile{named.empty() ? "/tmp" + name : "", true}};
  for (const TokenFile& file : files) {
    if (file.path.empty()) continue;
    const std::int64_t changed = change_of(file.path, file.must_be_own);
    // A file that is named but not there is worth mentioning where the server asks for a token.
    if (changed == 0 && file.path == named) found.source = named + ", which does not exist";
    if (changed == 0) continue;
    const std::string token = token_in(file.path);
    if (token.empty()) continue;
    found = {Secret(token), file.path, file.path, changed, expiry_of_token(token)};
    break;
  }
  return found;
}

std::shared_ptr<BearerToken> BearerToken::discover() {
  auto token = std::make_shared<BearerToken>();
  token->found_ = find();
  return token;
}

std::string BearerToken::source() const {
  const std::lock_guard lock(mutex_);
  return found_.source;
}

Secret BearerToken::current(bool was_refused) {
  const std::lock_guard lock(mutex_);
  const bool ends = found_.expiry && std::chrono::system_clock::now() + margin >= *found_.expiry;
  const bool changed = !found_.file.empty() && change_of(found_.file, false) != found_.changed;
  if (ends || changed || was_refused) {
    FoundToken fresh = find();
    if (!fresh.token.empty()) found_ = std::move(fresh);
  }
  return found_.token;
}

HttpCredentials find_http_credentials() {
  HttpCredentials found;
  found.token = BearerToken::discover();
  found.netrc_file = netrc_file();
  found.certificate = variable("X509_USER_PROXY");
  found.key = found.certificate;
  if (found.certificate.empty()) {
    found.certificate = variable("X509_USER_CERT");
    found.key = variable("X509_USER_KEY");
  }
  found.authorities = variable("X509_CERT_DIR");
  found.may_go_in_clear = is_set("COLONNADE_HTTP_TOKEN_OVER_HTTP");
  return found;
}

}  // namespace colonnade::io
