// See maps.h.
#include "frame/expression/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "frame/functions/lists.h"
#include "frame/functions/strings.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

using Arguments = std::span<const ValuesPtr>;

// Calls f(keys), which has operator[] by place.
template <class F>
decltype(auto) with_keys(const Values& keys, F&& f) {
  if (keys.type.is_string()) return f(Strings(keys));
  return lists::with_number(keys.type.element(),
                            [&]<class T>() -> decltype(auto) { return f(lists::ScalarView<T>(keys)); });
}

// Keys of all items of the lists, one element each.
ValuesPtr keys_of(const ValueType& map, const Values& list, BlockMemory& memory) {
  const ValuesPtr items = lists::dense_items(list, memory);
  return is_set(map) ? items : spread(items->children.front(), memory);
}

template <class Keys, class Key>
std::int64_t place_in(const Keys& keys, std::int64_t first, std::int64_t last, const Key& key,
                      KeyPlace kind) {
  const std::int64_t end = last;
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    const auto at = keys[static_cast<std::size_t>(middle)];
    const bool is_before = kind == KeyPlace::first_greater ? !(key < at) : at < key;
    (is_before ? first : last) = is_before ? middle + 1 : middle;
  }
  const bool needs_key = kind == KeyPlace::of_key || kind == KeyPlace::needed;
  if (needs_key && (first == end || key < keys[static_cast<std::size_t>(first)])) return -1;
  return first;
}

ValuesPtr places(const ValueType& map, KeyPlace kind, const CallContext& context, Arguments arguments) {
  const std::size_t rows = context.rows.size;
  const lists::ListView view(*arguments[0]);
  const ValuesPtr keys = keys_of(map, *arguments[0], context.memory);
  auto [out, owner] = context.memory.array<std::int64_t>(rows);
  const auto fill = [&](const auto& all, const auto& wanted) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int64_t begin = view.begin(row);
      const auto count = static_cast<std::int64_t>(view.count(row));
      const std::int64_t found = place_in(all, begin, begin + count, wanted[row], kind);
      if (found < 0 && kind == KeyPlace::needed)
        lists::fail_at(
            context, row,
            fmt::format("the map has no key {}", text_of(*arguments[1], arguments[1]->constant ? 0 : row)),
            "ask with count() or find() first");
      out[row] = found < 0 ? count : found - begin;
    }
  };
  with_keys(*keys, [&](const auto& all) {
    using Keys = std::decay_t<decltype(all)>;
    fill(all, Keys(*arguments[1]));
  });
  return make_scalars(ElementType::int64, rows, out, std::move(owner));
}

template <class Key>
bool is_nan(const Key& key) {
  if constexpr (std::is_floating_point_v<Key>) return std::isnan(key);
  return false;
}

ValuesPtr ordered(const ValueType& map, const CallContext& context, Arguments arguments) {
  const std::size_t rows = context.rows.size;
  const lists::ListView view(*arguments[0]);
  const ValuesPtr keys = keys_of(map, *arguments[0], context.memory);
  auto [offsets, owner] = context.memory.array<std::int64_t>(rows + 1);
  std::vector<std::int64_t> places;
  offsets[0] = 0;
  with_keys(*keys, [&](const auto& all) {
    const auto key = [&](std::int64_t place) { return all[static_cast<std::size_t>(place)]; };
    const auto comes_before = [&](std::int64_t a, std::int64_t b) {
      const auto x = key(a);
      const auto y = key(b);
      if (is_nan(x) != is_nan(y)) return is_nan(y);  // NaN behind all others: sorting needs an order
      return x < y || (!(y < x) && a < b);           // of equal keys the first one counts
    };
    for (std::size_t row = 0; row < rows; ++row) {
      const auto first = static_cast<std::ptrdiff_t>(places.size());
      places.resize(places.size() + view.count(row));
      std::iota(places.begin() + first, places.end(), view.begin(row));
      std::sort(places.begin() + first, places.end(), comes_before);
      places.erase(std::unique(places.begin() + first, places.end(),
                               [&](std::int64_t a, std::int64_t b) { return !(key(a) < key(b)); }),
                   places.end());
      offsets[row + 1] = static_cast<std::int64_t>(places.size());
    }
  });
  return make_list(rows, offsets,
                   lists::pick(lists::dense_items(*arguments[0], context.memory), places, context.memory),
                   std::move(owner));
}

}  // namespace

bool is_set(const ValueType& type) {
  return type.is_record() && type.class_name().starts_with("std::set<");
}

bool is_map(const ValueType& type) {
  return type.is_record() && (type.class_name().starts_with("std::map<") || is_set(type));
}

const ValueType& items_of_map(const ValueType& map) {
  return map.members().front().second;
}

const ValueType& key_of_map(const ValueType& map) {
  const ValueType& item = items_of_map(map).item();
  return is_set(map) ? item : item.members().front().second;
}

KernelPtr key_place(const ValueType& map, KeyPlace kind) {
  const auto body = [map, kind](const CallContext& context, Arguments arguments) {
    return places(map, kind, context, arguments);
  };
  return lists::make_bound({fmt::format("place {} in {}", static_cast<int>(kind), map.name()),
                            ElementType::int64,
                            {},
                            body,
                            kind == KeyPlace::needed})
      .kernel;
}

KernelPtr in_order_of_keys(const ValueType& map) {
  const auto body = [map](const CallContext& context, Arguments arguments) {
    return ordered(map, context, arguments);
  };
  return lists::make_bound({"items of " + map.name(), items_of_map(map), {}, body}).kernel;
}

}  // namespace colonnade::frame
