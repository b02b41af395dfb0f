// See local_store_names.h.
#include "io/local/local_store_names.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>

namespace colonnade::io::local_store {
namespace {

constexpr std::string_view temporary_end = ".tmp";

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof number))
    number = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return number;
}

}  // namespace

std::string path_of(std::uint32_t group) {
  return fmt::format_int(group).str();
}

std::string path_of(const ObjectId& object) {
  return fmt::format("{}/{}", object.group, object.number);
}

std::string path_of(const ValueAddress& address) {
  return fmt::format("{}/{}/{}-{}", address.object.group, address.object.number, address.dkey, address.akey);
}

// The process number distinguishes a child after a fork from its parent, the random number processes on
// different machines.
std::string temporary_name() {
  static const std::uint64_t process = random_number();
  static std::atomic<std::uint64_t> number = 0;
  return fmt::format(".{:016x}-{}-{}{}", process, ::getpid(), number++, temporary_end);
}

bool is_temporary(std::string_view name) noexcept {
  constexpr std::size_t digits = 16;
  if (name.size() < digits + 2 || name.front() != '.' || !name.ends_with(temporary_end)) return false;
  std::uint64_t process = 0;
  const char* const end = name.data() + 1 + digits;
  if (std::from_chars(name.data() + 1, end, process, 16).ptr != end || *end != '-') return false;
  name.remove_suffix(temporary_end.size());
  return keys_in(name.substr(digits + 2)).has_value();
}

std::optional<std::uint64_t> number_in(std::string_view name) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool has_other_spelling = name.size() > 1 && name.front() == '0';
  if (error != std::errc{} || end != name.data() + name.size() || has_other_spelling) return std::nullopt;
  return number;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> keys_in(std::string_view name) noexcept {
  const std::size_t line = name.find('-');
  if (line == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> dkey = number_in(name.substr(0, line));
  const std::optional<std::uint64_t> akey = number_in(name.substr(line + 1));
  if (!dkey || !akey) return std::nullopt;
  return std::pair(*dkey, *akey);
}

}  // namespace colonnade::io::local_store
