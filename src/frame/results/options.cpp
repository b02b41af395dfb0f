// See options.h.
#include "frame/results/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "colonnade/error.h"

namespace colonnade::frame {

// Derived, so that the header does not depend on the library.
struct Options::Json : nlohmann::json {
  using nlohmann::json::json;
  Json(nlohmann::json other) : nlohmann::json(std::move(other)) {}
};

Options::Options(const std::string& json, std::string what) : what_(std::move(what)) {
  nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object())
    throw Error(ErrorKind::usage,
                fmt::format("the options of {} are not a JSON object: {}", what_, json.substr(0, 200)),
                "an object such as {\"name\": \"h\"}");
  json_ = std::make_unique<Json>(std::move(parsed));
}
Options::Options(std::unique_ptr<Json> json, std::string what)
    : json_(std::move(json)), what_(std::move(what)) {}
Options::~Options() = default;
Options::Options(Options&&) noexcept = default;

namespace {

// Options that are null count as missing.
const nlohmann::json* member(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

bool Options::has(std::string_view key) const {
  return member(*json_, key) != nullptr;
}

void Options::refuse(std::string_view key, std::string_view wanted) const {
  const nlohmann::json* value = member(*json_, key);
  throw Error(ErrorKind::usage,
              fmt::format("option '{}' of {} is {}", key, what_,
                          value == nullptr ? "missing" : value->dump().substr(0, 100)),
              fmt::format("give {}", wanted));
}

std::string Options::text(std::string_view key, std::string fallback) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) refuse(key, "a text");
  return value->get<std::string>();
}

std::string Options::choice(std::string_view key, const std::vector<std::string>& known) const {
  std::string given = text(key, known.front());
  if (std::find(known.begin(), known.end(), given) == known.end())
    refuse(key, fmt::format("one of '{}'", fmt::join(known, "', '")));
  return given;
}

bool Options::flag(std::string_view key, bool fallback) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

double Options::number(std::string_view key, double fallback) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) refuse(key, "a number");
  return value->get<double>();
}

std::uint64_t Options::count(std::string_view key, std::uint64_t fallback, std::uint64_t least,
                             std::uint64_t most) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return fallback;
  const bool fits =
      value->is_number_unsigned() || (value->is_number_integer() && value->get<std::int64_t>() >= 0);
  if (!fits || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most)
    refuse(key, fmt::format("a whole number from {} to {}", least, most));
  return value->get<std::uint64_t>();
}

std::uint64_t Options::size(std::string_view key, std::uint64_t fallback) const {
  if (!is_text(key)) return count(key, fallback, 0, std::uint64_t{1} << 62);
  constexpr std::array<std::pair<std::string_view, double>, 9> units = {{{"", 1},
                                                                         {"k", 1e3},
                                                                         {"m", 1e6},
                                                                         {"g", 1e9},
                                                                         {"t", 1e12},
                                                                         {"ki", 1024.},
                                                                         {"mi", 1048576.},
                                                                         {"gi", 1073741824.},
                                                                         {"ti", 1099511627776.}}};
  std::string given;
  for (const char c : text(key))
    if (c != ' ') given += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  double value = 0;
  const auto [end, failure] = std::from_chars(given.data(), given.data() + given.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(given.data() + given.size() - end));
  if (unit.ends_with('b')) unit.remove_suffix(1);
  const auto known = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == unit; });
  if (failure != std::errc() || known == units.end() || !(value >= 0) || value * known->second > 4e18)
    refuse(key, "bytes as a number, or as a text like \"128 MiB\"");
  return static_cast<std::uint64_t>(value * known->second);
}

std::variant<std::int64_t, double> Options::integer_or_real(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return std::int64_t{0};
  if (!value->is_number()) refuse(key, "a number");
  const bool too_large = value->is_number_unsigned() && value->get<std::uint64_t>() >> 63 != 0;
  if (value->is_number_integer() && !too_large) return value->get<std::int64_t>();
  return value->get<double>();
}

std::vector<std::string> Options::texts(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return {};
  const bool fits = value->is_array() && std::all_of(value->begin(), value->end(),
                                                     [](const auto& item) { return item.is_string(); });
  if (!fits) refuse(key, "a list of texts");
  return value->get<std::vector<std::string>>();
}

std::vector<double> Options::numbers(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return {};
  const bool fits = value->is_array() && std::all_of(value->begin(), value->end(),
                                                     [](const auto& item) { return item.is_number(); });
  if (!fits) refuse(key, "a list of numbers");
  return value->get<std::vector<double>>();
}

std::vector<Options> Options::objects(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  std::vector<Options> objects;
  if (value == nullptr) return objects;
  const bool fits = value->is_array() && std::all_of(value->begin(), value->end(),
                                                     [](const auto& item) { return item.is_object(); });
  if (!fits) refuse(key, "a list of objects");
  for (const nlohmann::json& item : *value)
    objects.push_back(Options(std::make_unique<Json>(item), fmt::format("{} of {}", key, what_)));
  return objects;
}

Options Options::object(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  if (value == nullptr) return {std::make_unique<Json>(nlohmann::json::object()), what_};
  if (!value->is_object()) refuse(key, "an object");
  return {std::make_unique<Json>(*value), fmt::format("{} of {}", key, what_)};
}

bool Options::is_text(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  return value != nullptr && value->is_string();
}
bool Options::is_object(std::string_view key) const {
  const nlohmann::json* value = member(*json_, key);
  return value != nullptr && value->is_object();
}

void Options::only(const std::vector<std::string>& known) const {
  for (const auto& item : json_->items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      throw Error(ErrorKind::usage, fmt::format("{} has no option '{}'", what_, item.key().substr(0, 100)),
                  known.empty() ? "it has no options" : fmt::format("there are {}", fmt::join(known, ", ")));
}

}  // namespace colonnade::frame
