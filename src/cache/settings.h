// The settings of a cache: the place of its home, and its size.
#ifndef COLONNADE_CACHE_SETTINGS_H
#define COLONNADE_CACHE_SETTINGS_H

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace colonnade::cache {

struct Settings {
  static constexpr std::uint64_t no_budget = std::numeric_limits<std::uint64_t>::max();

  std::string store;                               // for io::open_object_store(); empty: no cache
  std::uint64_t budget = std::uint64_t{32} << 30;  // bytes of pages
  std::chrono::milliseconds timeout = std::chrono::seconds(2);  // after which the home counts as lost
  bool bypass = true;                                           // read the origin where that is faster
  std::chrono::seconds trust{0};  // how long an origin that was found unchanged is trusted
  bool offline = false;           // never ask the origin
  friend bool operator==(const Settings&, const Settings&) = default;
};

// "/scratch/cache", "obj:///scratch/cache", "s3://bucket/prefix", each with
// "?budget=100GB&timeout=1&bypass=no&trust=600&offline=yes" if needed; "on": the folder of this user; "off":
// none. Empty: COLONNADE_CACHE, or else the line "cache = ..." of the configuration, which apply to remote
// data only: `is_remote`. Throws ErrorKind::usage.
Settings settings_for(std::string_view text, bool is_remote);
// The same for a text that names a home.
Settings parse_settings(std::string_view text);

// What a cache calls an origin: local paths are absolute, without dots. Secrets are left out: homes are
// shared, and the next token names the same data.
std::string origin_name(const std::string& uri);
// A text for settings_for() that means the same home in every working folder.
std::string with_absolute_path(const std::string& text);

// Below $XDG_CACHE_HOME.
std::string default_folder();
// The file with the lines "name = value": $COLONNADE_CONFIG, or "colonnade/config" below $XDG_CONFIG_HOME.
std::string configuration_file();

}  // namespace colonnade::cache

#endif
