// See rados_place.h.
#include "io/rados/rados_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "colonnade/error.h"

namespace colonnade::io {
namespace {

constexpr std::string_view form =
    "rados://pool/namespace, with ?conf=FILE, &id=USER and &timeout=SECONDS if needed";
constexpr unsigned longest_timeout = 86400;

[[noreturn]] void fail(const std::string& uri, const std::string& problem) {
  throw Error(ErrorKind::usage, problem, std::string(form), {.uri = uri});
}

std::string percent_decoded(std::string_view text, const std::string& uri) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    const bool complete = text.size() - i > 2;
    if (!complete || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2 || code == 0)
      fail(uri, fmt::format("the URI has a broken percent sequence: \"{}\"", text.substr(i, 3)));
    result.push_back(static_cast<char>(code));
    i += 2;
  }
  return result;
}

unsigned seconds_of(const std::string& text, const std::string& uri) {
  unsigned seconds = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, seconds);
  if (code != std::errc() || stop != end || seconds == 0 || seconds > longest_timeout)
    fail(uri,
         fmt::format("the timeout \"{}\" is not a number of seconds from 1 to {}", text, longest_timeout));
  return seconds;
}

void apply_option(std::string_view option, RadosPlace& place) {
  const std::size_t equals = option.find('=');
  if (equals == std::string_view::npos)
    fail(place.uri, fmt::format("the option \"{}\" of the URI has no value", option));
  const std::string_view key = option.substr(0, equals);
  const std::string value = percent_decoded(option.substr(equals + 1), place.uri);
  if (value.empty()) fail(place.uri, fmt::format("the option \"{}\" of the URI is empty", key));
  if (key == "conf")
    place.access.configuration = value;
  else if (key == "id")
    place.access.user = "client." + value;
  else if (key == "timeout")
    place.access.timeout = seconds_of(value, place.uri);
  else
    fail(place.uri, fmt::format("rados: has no option \"{}\"", key));
}

// The value of the argument at `i` if it is one of `names`, as "--id=x" or in the next word.
std::optional<std::string> value_of(const std::vector<std::string>& words, std::size_t& i,
                                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string& word = words[i];
    if (word == name && i + 1 < words.size()) return words[++i];
    if (name.starts_with("--") && word.size() > name.size() && word.starts_with(name) &&
        word[name.size()] == '=')
      return word.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void apply_ceph_args(std::string_view arguments, RadosAccess& access) {
  const std::vector<std::string> words = words_of(arguments);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto file = value_of(words, i, {"-c", "--conf"}))
      access.configuration = *file;
    else if (const auto name = value_of(words, i, {"-n", "--name"}))
      access.user = *name;
    else if (const auto id = value_of(words, i, {"--id", "--user"}))
      access.user = "client." + *id;
    else if (const auto cluster = value_of(words, i, {"--cluster"}))
      access.cluster = *cluster;
  }
}

RadosPlace parse_rados_uri(const std::string& uri) {
  RadosPlace place{.uri = uri, .pool = {}, .name_space = {}, .access = {}};
  std::string_view rest = uri;
  rest.remove_prefix(std::min(rest.find(':') + 1, rest.size()));
  if (!rest.starts_with("//")) fail(uri, "the URI names no pool");
  rest.remove_prefix(2);
  const std::size_t question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const std::size_t slash = path.find('/');
  place.pool = percent_decoded(path.substr(0, slash), uri);
  if (place.pool.empty()) fail(uri, "the URI names no pool");
  if (slash != std::string_view::npos) place.name_space = percent_decoded(path.substr(slash + 1), uri);
  while (place.name_space.ends_with('/')) place.name_space.pop_back();
  if (place.name_space.empty())
    fail(uri, "the URI names no namespace: a store needs one of its own in the pool");

  if (const char* arguments = std::getenv("CEPH_ARGS")) apply_ceph_args(arguments, place.access);
  if (question == std::string_view::npos) return place;
  std::string_view query = rest.substr(question + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (end > 0) apply_option(query.substr(0, end), place);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return place;
}

}  // namespace colonnade::io
