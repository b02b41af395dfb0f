// What the compiler knows of each type: print and fill by type, and the list of types.
#include "typed_values.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "../fixtures/fixture_classes.h"
#include "json_text.h"

// Classes with bases are not plain aggregates; ROOT leaves Kept::dropped out.
COLONNADE_DESCRIBE_STRUCT(fixture::Middle, (fixture::Base), weights)
COLONNADE_DESCRIBE_STRUCT(fixture::Derived, (fixture::Middle, fixture::Other), own, point)
COLONNADE_DESCRIBE_STRUCT(fixture::Kept, (), stored, also_stored)
COLONNADE_CLASS_VERSION(fixture::Versioned, 7)

namespace interop {
namespace {

using colonnade::ClassInfo;

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... T>
inline constexpr bool is_a<Template<T...>, Template> = true;
template <class T>
inline constexpr bool is_array = std::is_array_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_bitset = false;
template <std::size_t N>
inline constexpr bool is_bitset<std::bitset<N>> = true;
template <class T>
inline constexpr bool is_nullable = is_a<T, std::optional> || is_a<T, std::unique_ptr>;
template <class T>
concept Map = requires { typename T::mapped_type; };
template <class T>
concept Set = requires { typename T::key_type; } && !Map<T>;

// ---- Printing

template <class T>
void print(std::string& out, const T& value);

template <class Range>
void print_items(std::string& out, const Range& items) {
  out += '[';
  Separator separate(out);
  for (const auto& item : items) {
    separate();
    if constexpr (Map<Range>) {
      out += '[';
      print(out, item.first);
      out += ", ";
      print(out, item.second);
      out += ']';
    } else {
      print(out, static_cast<const typename std::remove_cvref_t<decltype(*std::begin(items))>&>(item));
    }
  }
  out += ']';
}

template <class T>
void print_nullable(std::string& out, const T& value) {
  if (!value) {
    out += "null";
    return;
  }
  constexpr bool nested = is_nullable<std::remove_cvref_t<decltype(*value)>>;
  if (nested) out += '[';
  print(out, *value);
  if (nested) out += ']';
}

template <class T>
void print_variant(std::string& out, const T& value) {
  if (value.valueless_by_exception() || value.index() >= std::variant_size_v<T>) {
    out += R"({"tag": 0, "value": null})";
    return;
  }
  out += "{\"tag\": " + std::to_string(value.index() + 1) + ", \"value\": ";
  std::visit([&](const auto& inner) { print(out, inner); }, value);
  out += '}';
}

template <class T>
void print_class(std::string& out, const T& value) {
  const auto* start = reinterpret_cast<const std::byte*>(&value);
  out += '{';
  Separator separate(out);
  std::size_t base = 0;
  const auto member = [&]<class M>(std::string_view name, std::size_t offset, std::type_identity<M>) {
    separate();
    append_text(out, name);
    out += ": ";
    print(out, *reinterpret_cast<const M*>(start + offset));
  };
  ClassInfo<T>::for_each_base([&]<class B>(std::size_t offset, std::type_identity<B> type) {
    member(":_" + std::to_string(base++), offset, type);
  });
  ClassInfo<T>::for_each_member(member);
  out += '}';
}

template <class Tuple>
void print_tuple(std::string& out, const Tuple& value) {
  out += '{';
  Separator separate(out);
  std::size_t number = 0;
  const auto part = [&](const auto& item) {
    separate();
    out += "\"_" + std::to_string(number++) + "\": ";
    print(out, item);
  };
  std::apply([&](const auto&... item) { (part(item), ...); }, value);
  out += '}';
}

template <class T>
void print(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    append_real(out, value);
  } else if constexpr (std::is_same_v<T, char>) {
    out += std::to_string(static_cast<signed char>(value));
  } else if constexpr (std::is_integral_v<T>) {
    out += std::to_string(value);
  } else if constexpr (std::is_enum_v<T>) {
    out += std::to_string(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, colonnade::Double32>) {
    append_real(out, value.value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    append_text(out, value);
  } else if constexpr (is_bitset<T>) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) out += std::string(i > 0 ? ", " : "") + "01"[value[i]];
    out += ']';
  } else if constexpr (is_nullable<T>) {
    print_nullable(out, value);
  } else if constexpr (is_a<T, std::variant>) {
    print_variant(out, value);
  } else if constexpr (is_a<T, std::atomic>) {
    print(out, value.load());
  } else if constexpr (is_a<T, std::pair> || is_a<T, std::tuple>) {
    print_tuple(out, value);
  } else if constexpr (ClassInfo<T>::available && !is_array<T>) {
    print_class(out, value);
  } else {
    print_items(out, value);
  }
}

// ---- Filling

template <class T>
void fill(Tokens& tokens, T& value);

template <class T>
void fill_collection(Tokens& tokens, T& value) {
  value.clear();
  for (std::uint64_t n = tokens.list(); n > 0; --n) {
    if constexpr (Map<T>) {
      tokens.list(2);
      typename T::key_type key{};
      typename T::mapped_type mapped{};
      fill(tokens, key);
      fill(tokens, mapped);
      value.emplace(std::move(key), std::move(mapped));
    } else {
      typename T::value_type item{};
      fill(tokens, item);
      value.insert(value.end(), std::move(item));
    }
  }
}

template <class T, std::size_t... I>
void fill_variant(Tokens& tokens, T& value, std::index_sequence<I...>) {
  const std::uint64_t tag = tokens.variant();
  if (tag == 0) throw std::runtime_error("a typed variant always has a value here");
  (void)((tag == I + 1 && (fill(tokens, value.template emplace<I>()), true)) || ...);
}

template <class T>
void fill_class(Tokens& tokens, T& value) {
  auto* start = reinterpret_cast<std::byte*>(&value);
  std::uint64_t count = 0;
  ClassInfo<T>::for_each_base([&](std::size_t, auto) { ++count; });
  ClassInfo<T>::for_each_member([&](std::string_view, std::size_t, auto) { ++count; });
  tokens.list(count);
  ClassInfo<T>::for_each_base([&]<class B>(std::size_t offset, std::type_identity<B>) {
    fill(tokens, *reinterpret_cast<B*>(start + offset));
  });
  ClassInfo<T>::for_each_member([&]<class M>(std::string_view, std::size_t offset, std::type_identity<M>) {
    fill(tokens, *reinterpret_cast<M*>(start + offset));
  });
}

template <class T>
void fill(Tokens& tokens, T& value) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, colonnade::Double32>) {
    value = static_cast<T>(tokens.real());
  } else if constexpr (std::is_integral_v<T>) {
    value = tokens.integer<T>();
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(tokens.integer<std::underlying_type_t<T>>());
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = tokens.text();
  } else if constexpr (is_bitset<T>) {
    tokens.list(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = tokens.integer<int>() != 0;
  } else if constexpr (is_nullable<T>) {
    value = T();
    if (tokens.take_nothing()) return;
    if constexpr (is_a<T, std::optional>) {
      fill(tokens, value.emplace());
    } else {
      value = std::make_unique<typename T::element_type>();
      fill(tokens, *value);
    }
  } else if constexpr (is_a<T, std::variant>) {
    fill_variant(tokens, value, std::make_index_sequence<std::variant_size_v<T>>());
  } else if constexpr (is_a<T, std::atomic>) {
    typename T::value_type inner{};
    fill(tokens, inner);
    value.store(inner);
  } else if constexpr (is_a<T, std::pair> || is_a<T, std::tuple>) {
    tokens.list(std::tuple_size_v<T>);
    std::apply([&](auto&... item) { (fill(tokens, item), ...); }, value);
  } else if constexpr (is_array<T>) {
    tokens.list(std::size(value));
    for (auto& item : value) fill(tokens, item);
  } else if constexpr (ClassInfo<T>::available) {
    fill_class(tokens, value);
  } else {
    fill_collection(tokens, value);
  }
}

// ---- The list

// As a file spells it: Double32_t is the alias of a double.
template <class T>
std::string stored_name() {
  const auto field = colonnade::make_field<T>("x");
  return field->type_alias().empty() ? field->type_name() : field->type_alias();
}

template <class T>
TypedCodec codec_of() {
  return {.type = stored_name<T>(),
          .make = [](std::string_view name) { return colonnade::make_field<T>(name); },
          .fill = [](Tokens& tokens, void* value) { fill(tokens, *static_cast<T*>(value)); },
          .print = [](std::string& out, const void* value) { print(out, *static_cast<const T*>(value)); },
          .read =
              [](colonnade::Reader& reader, const std::string& path) {
                auto view = reader.view<T>(path);
                std::string out = "[";
                Separator separate(out);
                for (std::uint64_t i = 0; i < view.size(); ++i) {
                  separate();
                  try {
                    print(out, view(i));
                  } catch (const colonnade::Error& error) {
                    if (error.kind() != colonnade::ErrorKind::conversion) throw;
                    out += R"({"error": true})";
                  }
                }
                return out + "]";
              }};
}

template <class... T>
std::vector<TypedCodec> codecs_of() {
  return {codec_of<T>()...};
}

using namespace fixture;
using std::string;
using std::vector;

std::vector<TypedCodec> all_codecs() {
  return codecs_of<
      // classes
      Point, Base, Middle, Other, Derived, Arrays, Outer::Inner, Outer, Box<std::int32_t>,
      Box<vector<double>>, Grid<float, 4>, Everything, Empty, Versioned, Kept,
      // enums
      Unscoped, Scoped, Tiny, TinyUnsigned, Short, ShortUnsigned, WordUnsigned, Wide, WideUnsigned,
      Outer::Inner::Kind,
      // compositions of them
      vector<Point>, vector<Derived>, vector<Empty>, vector<Box<std::int32_t>>, vector<vector<Outer::Inner>>,
      vector<Everything>, colonnade::RVec<Point>, std::array<Point, 2>, std::map<string, Point>,
      std::map<string, Derived>, std::unordered_map<std::int32_t, vector<Point>>, std::optional<Point>,
      std::optional<Kept>, std::unique_ptr<Derived>, std::unique_ptr<Point>, std::pair<Point, Base>,
      std::tuple<Point, std::int32_t>, std::variant<Point, string>, std::variant<Derived, vector<Point>>,
      vector<Tiny>, std::array<Unscoped, 2>, std::atomic<Scoped>, std::map<string, Scoped>,
      std::optional<Wide>, std::pair<TinyUnsigned, Short>, std::variant<Scoped, float>,
      // what the standard library has: containers whose memory is not that of a vector, and a few others
      std::set<std::int32_t>, std::multiset<std::int32_t>, std::unordered_set<string>,
      std::unordered_multiset<std::int16_t>, std::map<string, vector<float>>,
      std::multimap<std::int32_t, float>, std::unordered_map<string, double>,
      std::unordered_multimap<std::int32_t, string>, std::set<vector<string>>, vector<bool>, std::bitset<65>,
      vector<std::optional<vector<string>>>, colonnade::Double32, vector<colonnade::Double32>,
      colonnade::RVec<std::int32_t>>();
}

}  // namespace

const std::vector<TypedCodec>& typed_codecs() {
  static const std::vector<TypedCodec> codecs = all_codecs();
  return codecs;
}

const TypedCodec* find_typed(std::string_view type) {
  const auto& codecs = typed_codecs();
  const auto found = std::ranges::find(codecs, type, &TypedCodec::type);
  return found == codecs.end() ? nullptr : &*found;
}

}  // namespace interop
