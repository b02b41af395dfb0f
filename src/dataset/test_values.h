// For tests: random values of every storable type, deep comparison, and files in memory.
#ifndef COLONNADE_DATASET_TEST_VALUES_H
#define COLONNADE_DATASET_TEST_VALUES_H

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/test_errors.h"
#include "colonnade/colonnade.h"
#include "io/memory/memory_file.h"

namespace colonnade::testing {

// A named buffer of this process that lives as long as the test.
class MemoryFile {
 public:
  MemoryFile() : uri_("memory:test-" + std::to_string(next()++)) {}
  ~MemoryFile() { io::remove_memory_file(uri_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& uri() const { return uri_; }
  operator const std::string&() const { return uri_; }
  Bytes content() const { return io::memory_file_content(uri_); }
  void store(ByteSpan bytes) const { io::store_memory_file(uri_, bytes); }

 private:
  static std::atomic<int>& next() {
    static std::atomic<int> number{0};
    return number;
  }
  std::string uri_;
};

using colonnade::error_of;

using Random = std::mt19937_64;

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... T>
inline constexpr bool is_a<Template<T...>, Template> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_bitset = false;
template <std::size_t N>
inline constexpr bool is_bitset<std::bitset<N>> = true;
template <class C>
concept Map = requires { typename C::mapped_type; };
template <class C>
concept Set = requires { typename C::key_type; } && !Map<C>;

template <class T>
void randomize(Random& random, T& value, int depth = 0);

inline std::size_t random_size(Random& random, int depth) {
  return random() % (depth == 0 ? 5 : depth < 3 ? 4 : 3);
}

template <class T>
T random_number(Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (random() % 8) {
      case 0:
        return T(0);
      case 1:
        return T(-0.0);
      case 2:
        return std::numeric_limits<T>::infinity();
      case 3:
        return -std::numeric_limits<T>::max();
      case 4:
        return std::numeric_limits<T>::denorm_min();
      default:
        return static_cast<T>(static_cast<std::int64_t>(random() >> 11)) * static_cast<T>(std::exp2(-40));
    }
  } else {
    switch (random() % 6) {
      case 0:
        return std::numeric_limits<T>::min();
      case 1:
        return std::numeric_limits<T>::max();
      case 2:
        return T(1);
      default:
        return static_cast<T>(random() >> (random() % 60));
    }
  }
}

inline void randomize_text(Random& random, std::string& text) {
  static constexpr std::string_view pieces[] = {
      "a", "bc", "", "\"", "\\", "\xc3\xa9", "line\n", "long enough to leave the buffer"};
  text.clear();
  for (std::size_t n = random() % 4; n > 0; --n) text += pieces[random() % std::size(pieces)];
  if (random() % 8 == 0) text.push_back('\0');
}

template <class C>
void randomize_collection(Random& random, C& value, int depth) {
  const std::size_t size = random_size(random, depth);
  if constexpr (Map<C>) {
    value.clear();
    for (std::size_t i = 0; i < size; ++i) {
      std::remove_const_t<typename C::key_type> key{};
      typename C::mapped_type mapped{};
      randomize(random, key, depth + 1);
      randomize(random, mapped, depth + 1);
      value.emplace(std::move(key), std::move(mapped));
    }
  } else if constexpr (Set<C>) {
    value.clear();
    for (std::size_t i = 0; i < size; ++i) {
      typename C::key_type key{};
      randomize(random, key, depth + 1);
      value.insert(std::move(key));
    }
  } else if constexpr (std::is_same_v<typename C::value_type, bool>) {
    value.assign(size, false);
    for (std::size_t i = 0; i < size; ++i) value[i] = random() % 2 == 1;
  } else {
    C fresh(size);
    value.swap(fresh);
    for (auto& item : value) randomize(random, item, depth + 1);
  }
}

template <class T>
void randomize_class(Random& random, T& value, int depth) {
  auto* start = reinterpret_cast<std::byte*>(&value);
  ClassInfo<T>::for_each_base([&]<class B>(std::size_t offset, std::type_identity<B>) {
    randomize(random, *reinterpret_cast<B*>(start + offset), depth);
  });
  ClassInfo<T>::for_each_member([&]<class M>(std::string_view, std::size_t offset, std::type_identity<M>) {
    randomize(random, *reinterpret_cast<M*>(start + offset), depth + 1);
  });
}

template <class T, std::size_t... I>
void emplace_alternative(Random& random, T& value, std::size_t k, int depth, std::index_sequence<I...>) {
  (void)((I == k ? (randomize(random, value.template emplace<I>(), depth + 1), true) : false) || ...);
}

template <class T>
void randomize(Random& random, T& value, int depth) {
  if constexpr (std::is_same_v<T, bool>) {
    value = random() % 2 == 1;
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = random_number<T>(random);
  } else if constexpr (std::is_enum_v<T> && requires { T{std::underlying_type_t<T>(0)}; }) {
    value = static_cast<T>(random_number<std::underlying_type_t<T>>(random));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(random() % 2);  // without a fixed type, other numbers are undefined
  } else if constexpr (std::is_same_v<T, Double32>) {
    value = random_number<float>(random);
  } else if constexpr (std::is_same_v<T, std::string>) {
    randomize_text(random, value);
  } else if constexpr (std::is_array_v<T> || is_array<T>) {
    for (auto& item : value) randomize(random, item, depth + 1);
  } else if constexpr (is_bitset<T>) {
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = random() % 2 == 1;
  } else if constexpr (is_a<T, std::pair> || is_a<T, std::tuple>) {
    std::apply([&](auto&... part) { (randomize(random, part, depth + 1), ...); }, value);
  } else if constexpr (is_a<T, std::variant>) {
    constexpr std::size_t count = std::variant_size_v<T>;
    emplace_alternative(random, value, random() % count, depth, std::make_index_sequence<count>());
  } else if constexpr (is_a<T, std::optional>) {
    value.reset();
    if (random() % 3 != 0) randomize(random, value.emplace(), depth + 1);
  } else if constexpr (is_a<T, std::unique_ptr>) {
    value.reset();
    if (random() % 3 == 0) return;
    value.reset(new typename T::element_type());
    randomize(random, *value, depth + 1);
  } else if constexpr (is_a<T, std::atomic>) {
    typename T::value_type inner{};
    randomize(random, inner, depth);
    value.store(inner);
  } else if constexpr (requires(T c) {
                         c.begin();
                         c.size();
                       }) {
    randomize_collection(random, value, depth);
  } else {
    randomize_class(random, value, depth);
  }
}

// Bitwise equality: -0.0 differs from 0.0, and a NaN equals itself.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Double32>) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  } else if constexpr (std::is_same_v<T, std::string> || is_bitset<T>) {
    return a == b;
  } else if constexpr (std::is_array_v<T> || is_array<T>) {
    return std::equal(std::begin(a), std::end(a), std::begin(b),
                      [](const auto& x, const auto& y) { return same(x, y); });
  } else if constexpr (is_a<T, std::pair>) {
    return same(a.first, b.first) && same(a.second, b.second);
  } else if constexpr (is_a<T, std::tuple>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same(std::get<I>(a), std::get<I>(b)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (is_a<T, std::variant>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return a.index() == b.index() &&
             ((a.index() != I || same(*std::get_if<I>(&a), *std::get_if<I>(&b))) && ...);
    }(std::make_index_sequence<std::variant_size_v<T>>());
  } else if constexpr (is_a<T, std::optional> || is_a<T, std::unique_ptr>) {
    return static_cast<bool>(a) == static_cast<bool>(b) && (!a || same(*a, *b));
  } else if constexpr (is_a<T, std::atomic>) {
    return same(a.load(), b.load());
  } else if constexpr (is_a<T, std::vector> || is_a<T, RVec>) {
    if constexpr (std::is_same_v<typename T::value_type, bool>) {
      return static_cast<const std::vector<bool>&>(a) == static_cast<const std::vector<bool>&>(b);
    } else {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](const auto& x, const auto& y) { return same(x, y); });
    }
  } else if constexpr (requires(T c) {
                         c.begin();
                         c.size();
                       }) {
    return a.size() == b.size() &&
           std::is_permutation(a.begin(), a.end(), b.begin(), b.end(),
                               [](const auto& x, const auto& y) { return same(x, y); });
  } else {
    bool equal = true;
    const auto* left = reinterpret_cast<const std::byte*>(&a);
    const auto* right = reinterpret_cast<const std::byte*>(&b);
    ClassInfo<T>::for_each_base([&]<class B>(std::size_t offset, std::type_identity<B>) {
      equal = equal &&
              same(*reinterpret_cast<const B*>(left + offset), *reinterpret_cast<const B*>(right + offset));
    });
    ClassInfo<T>::for_each_member([&]<class M>(std::string_view, std::size_t offset, std::type_identity<M>) {
      equal = equal &&
              same(*reinterpret_cast<const M*>(left + offset), *reinterpret_cast<const M*>(right + offset));
    });
    return equal;
  }
}

}  // namespace colonnade::testing

#endif
