// See settings.h.
#include "cache/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/redacted.h"
#include "colonnade/error.h"
#include "io/local/local_file.h"
#include "io/places.h"

namespace colonnade::cache {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string folder_of_user(const char* of_system, std::string_view below_home) {
  if (std::string base = variable(of_system); !base.empty()) return base;
  return fmt::format("{}/{}", variable("HOME"), below_home);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string configured() {
  std::ifstream file(configuration_file());
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trimmed(line);
    const auto equals = text.find('=');
    if (text.starts_with('#') || equals == std::string_view::npos) continue;
    if (trimmed(text.substr(0, equals)) == "cache") return std::string(trimmed(text.substr(equals + 1)));
  }
  return {};
}

[[noreturn]] void fail(std::string_view name, std::string_view value, const char* advice) {
  throw Error(ErrorKind::usage, fmt::format("'{}' is not a valid {} for the cache", value, name), advice);
}

std::uint64_t byte_count(std::string_view text) {
  constexpr const char* advice = "write a number of bytes, \"500 MB\" or \"2 TiB\"";
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = trimmed({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  if (code != std::errc() || !(number > 0)) fail("budget", text, advice);
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view prefixes = "KMGTP";
    const bool is_binary = unit.size() == 3 && unit[1] == 'i';
    const auto power = prefixes.find(unit[0] == 'k' ? 'K' : unit[0]);
    if (power == std::string_view::npos || unit.back() != 'B' || (unit.size() != 2 && !is_binary))
      fail("budget", text, advice);
    for (std::size_t i = 0; i <= power; ++i) factor *= is_binary ? 1024 : 1000;
  }
  const double bytes = number * factor;
  return bytes < 1.8e19 ? static_cast<std::uint64_t>(bytes) : Settings::no_budget;
}

bool is_yes(std::string_view name, std::string_view text) {
  if (text == "yes" || text == "on" || text == "1" || text == "true") return true;
  if (text == "no" || text == "off" || text == "0" || text == "false") return false;
  fail(name, text, "write yes or no");
}

double seconds_in(std::string_view name, std::string_view text, double most) {
  double seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (code != std::errc() || end != text.data() + text.size() || !(seconds >= 0) || seconds > most)
    fail(name, text, "write a number of seconds");
  return seconds;
}

// Whether the URI of a store may have an option.
bool is_of_store(std::string_view place, std::string_view option) {
  return place.starts_with("rados://") || (place.starts_with("s3://") && option == "store");
}

// False if it is not a setting of the cache.
bool take(Settings& settings, std::string_view name, std::string_view value) {
  if (name == "budget") {
    settings.budget = value == "none" ? Settings::no_budget : byte_count(value);
  } else if (name == "timeout") {
    const double seconds = seconds_in(name, value, 86400);
    if (seconds == 0) fail(name, value, "write more than 0 seconds");
    settings.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000) + 1);
  } else if (name == "trust") {
    settings.trust = std::chrono::seconds(static_cast<std::int64_t>(seconds_in(name, value, 1e9)));
  } else if (name == "offline") {
    settings.offline = is_yes(name, value);
  } else if (name == "bypass") {
    settings.bypass = is_yes(name, value);
  } else {
    return false;
  }
  return true;
}

// A path in the form that a URI has.
std::string escaped(const std::string& path) {
  std::string uri;
  for (const char letter : path) uri += letter == '%' ? std::string("%25") : std::string(1, letter);
  return uri;
}

bool is_on(std::string_view text) {
  return text == "on" || text == "yes" || text == "1" || text == "true";
}

bool is_off(std::string_view text) {
  return text == "off" || text == "none" || text == "no" || text == "0" || text == "false";
}

// A URI that has the same meaning everywhere on this machine, the path of a local file.
std::string full_uri(const std::string& uri) {
  const std::string name = io::absolute_name(uri.starts_with("file:") ? io::local_path(uri) : uri);
  return name.starts_with('/') ? std::filesystem::path(name).lexically_normal().string() : name;
}

}  // namespace

std::string default_folder() {
  return folder_of_user("XDG_CACHE_HOME", ".cache") + "/colonnade";
}

std::string configuration_file() {
  if (std::string file = variable("COLONNADE_CONFIG"); !file.empty()) return file;
  return folder_of_user("XDG_CONFIG_HOME", ".config") + "/colonnade/config";
}

std::string origin_name(const std::string& uri) {
  return redacted(full_uri(uri));
}

std::string with_absolute_path(const std::string& text) {
  const std::size_t end = std::min(text.find('?'), text.size());
  const std::string place(trimmed(std::string_view(text).substr(0, end)));
  const bool is_name = place.empty() || is_off(place) || is_on(place) || place.starts_with("~/") ||
                       place.find("://") != std::string::npos;
  return is_name ? text : io::absolute_name(place) + text.substr(end);
}

Settings parse_settings(std::string_view text) {
  Settings settings;
  const auto mark = text.find('?');
  std::string place(text.substr(0, mark));
  std::string kept;
  for (std::string_view rest = mark == std::string_view::npos ? "" : text.substr(mark + 1); !rest.empty();) {
    const std::string_view option = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
    const auto equals = std::min(option.find('='), option.size());
    const std::string_view value = option.substr(std::min(equals + 1, option.size()));
    const std::string_view name = option.substr(0, equals);
    if (take(settings, name, value)) continue;
    if (!is_of_store(place, option))
      throw Error(ErrorKind::usage, fmt::format("the cache has no setting '{}'", name),
                  "budget, timeout, bypass, trust or offline");
    kept += fmt::format("{}{}", kept.empty() ? "?" : "&", option);
  }
  if (is_on(place)) place = default_folder();
  if (place.starts_with("~/")) place = variable("HOME") + place.substr(1);
  place = full_uri(place);
  if (place.starts_with('/')) place = "obj://" + escaped(place);
  settings.store = place + kept;
  return settings;
}

Settings settings_for(std::string_view text, bool is_remote) {
  std::string wanted(trimmed(text));
  if (wanted.empty() && is_remote) {
    wanted = std::string(trimmed(variable("COLONNADE_CACHE")));
    if (wanted.empty()) wanted = configured();
  }
  if (wanted.empty() || is_off(trimmed(std::string_view(wanted).substr(0, wanted.find('?'))))) return {};
  return parse_settings(wanted);
}

}  // namespace colonnade::cache
