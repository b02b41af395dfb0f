// The order of items: Sort, StableSort, Argsort, StableArgsort, Reverse.
//
// NaN, for which C++ defines no order, comes last. Items that compare equal keep their order in lists of up
// to 16, as in libstdc++'s std::sort; in longer ones only with the stable functions.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "frame/functions/lists.h"
#include "frame/functions/strings.h"

namespace colonnade::frame::lists {
namespace {

constexpr std::size_t short_list = 16;

// Insertion sort for the few items of typical events.
template <class T, class Less>
void insertion_sort(T* items, std::size_t count, Less less) {
  for (std::size_t i = 1; i < count; ++i) {
    const T item = items[i];
    std::size_t place = i;
    for (; place > 0 && less(item, items[place - 1]); --place) items[place] = items[place - 1];
    items[place] = item;
  }
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

template <class T>
bool has_nan(const T* items, std::size_t count) {
  bool found = false;
  if constexpr (std::is_floating_point_v<T>)
    for (std::size_t i = 0; i < count; ++i) found |= items[i] != items[i];
  return found;
}

// Moves NaNs behind the others, keeping the order; returns the number of the others.
template <class Item, class IsNan>
std::size_t nan_last(Item* items, std::size_t count, IsNan is) {
  std::vector<Item> last;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (is(items[i])) {
      last.push_back(items[i]);
    } else {
      items[kept++] = items[i];
    }
  }
  std::copy(last.begin(), last.end(), items + kept);
  return kept;
}

template <class T, bool stable>
void argsort_row(const T* items, std::size_t count, std::uint64_t* out) {
  std::iota(out, out + count, std::uint64_t{0});
  const std::size_t numbers =
      has_nan(items, count) ? nan_last(out, count, [items](std::uint64_t i) { return is_nan(items[i]); })
                            : count;
  const auto less = [items](std::uint64_t a, std::uint64_t b) { return items[a] < items[b]; };
  if (count <= short_list) {
    insertion_sort(out, numbers, less);
  } else if constexpr (stable) {
    std::sort(out, out + numbers,
              [&less](std::uint64_t a, std::uint64_t b) { return less(a, b) || (!less(b, a) && a < b); });
  } else {
    std::sort(out, out + numbers, less);
  }
}

template <class T, bool stable>
void sort_row(const T* items, std::size_t count, T* out) {
  if (stable && std::is_floating_point_v<T> && count > short_list) {  // 0 and -0 compare equal, but differ
    std::vector<std::uint64_t> order(count);
    argsort_row<T, true>(items, count, order.data());
    for (std::size_t i = 0; i < count; ++i) out[i] = items[order[i]];
    return;
  }
  std::copy_n(items, count, out);
  const std::size_t numbers = has_nan(items, count) ? nan_last(out, count, is_nan<T>) : count;
  const auto less = [](T a, T b) { return a < b; };
  if (count <= short_list) {
    insertion_sort(out, numbers, less);
  } else {
    std::sort(out, out + numbers, less);
  }
}

// Maps a list of Items to a list of the same shape.
template <class T, class Out, void (*of_row)(const T*, std::size_t, Out*)>
ValuesPtr by_rows(const CallContext& context, const ValuesPtr& list, ElementType result) {
  const ListView view(*list);
  const auto items = dense_items(*list, context.memory);
  const std::size_t total = view.total(context.rows.size);
  auto [out, owner] = context.memory.array<Out>(total);
  const T* data = items->as<T>();
  for (std::size_t row = 0; row < context.rows.size; ++row)
    of_row(data + view.begin(row), view.count(row), out + view.begin(row));
  return make_list(context.rows.size, view.offsets(), make_scalars(result, total, out, std::move(owner)),
                   list);
}

// Strings by their bytes, as std::string compares them; equal ones keep their order.
void argsort_texts(const Strings& texts, std::int64_t begin, std::size_t count, std::int64_t* out) {
  std::iota(out, out + count, begin);
  std::sort(out, out + count, [&texts](std::int64_t a, std::int64_t b) {
    const int order = texts[static_cast<std::size_t>(a)].compare(texts[static_cast<std::size_t>(b)]);
    return order < 0 || (order == 0 && a < b);
  });
}

ValuesPtr sort_texts(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ListView view(*arguments[0]);
  const ValuesPtr items = dense_items(*arguments[0], context.memory);
  const Strings texts(*items);
  const std::size_t total = view.total(context.rows.size);
  auto [indices, owner] = context.memory.array<std::int64_t>(total);
  for (std::size_t row = 0; row < context.rows.size; ++row)
    argsort_texts(texts, view.begin(row), view.count(row), indices + view.begin(row));
  return make_list(context.rows.size, view.offsets(), pick(items, {indices, total}, context.memory),
                   arguments[0]);
}

ValuesPtr order_of_texts(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ListView view(*arguments[0]);
  const ValuesPtr items = dense_items(*arguments[0], context.memory);
  const Strings texts(*items);
  const std::size_t total = view.total(context.rows.size);
  auto [order, owner] = context.memory.array<std::uint64_t>(total);
  std::vector<std::int64_t> indices;
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    indices.resize(view.count(row));
    argsort_texts(texts, view.begin(row), indices.size(), indices.data());
    for (std::size_t i = 0; i < indices.size(); ++i)
      order[static_cast<std::size_t>(view.begin(row)) + i] =
          static_cast<std::uint64_t>(indices[i] - view.begin(row));
  }
  return make_list(context.rows.size, view.offsets(),
                   make_scalars(ElementType::uint64, total, order, std::move(owner)), arguments[0]);
}

// Empty for a list of numbers; else the sorting of strings, or why there is none.
std::optional<Bound> sorting_of_texts(const char* name, const Call& call, const ValueType& result,
                                      Body body) {
  const ValueType& list = call.arguments[0].type;
  if (is_number_list(list)) return std::nullopt;
  if (list.item().is_string()) return make_bound({name, result, {}, std::move(body)});
  return Bound{nullptr, "needs a list of numbers or texts, got " + list.name()};
}

template <bool stable>
Bound bind_sort(const char* name, const Call& call) {
  const auto& list = call.arguments[0].type;
  if (auto texts = sorting_of_texts(name, call, list, sort_texts)) return *std::move(texts);
  const ElementType element = list.item().element();
  return with_number(element, [&]<class T>() {
    return make_bound(
        {name, list, {}, [element](const CallContext& context, std::span<const ValuesPtr> arguments) {
           return by_rows<T, T, sort_row<T, stable>>(context, arguments[0], element);
         }});
  });
}

template <bool stable>
Bound bind_argsort(const char* name, const Call& call) {
  const ValueType order = ValueType::list(ElementType::uint64);
  if (auto texts = sorting_of_texts(name, call, order, order_of_texts)) return *std::move(texts);
  return with_number(call.arguments[0].type.item().element(), [&]<class T>() {
    return make_bound({name,
                       ValueType::list(ElementType::uint64),
                       {},
                       [](const CallContext& context, std::span<const ValuesPtr> arguments) {
                         return by_rows<T, std::uint64_t, argsort_row<T, stable>>(context, arguments[0],
                                                                                  ElementType::uint64);
                       }});
  });
}

ValuesPtr reverse(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const ListView view(*arguments[0]);
  const std::size_t total = view.total(context.rows.size);
  auto [indices, owner] = context.memory.array<std::int64_t>(total);
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    const std::int64_t begin = view.begin(row);
    const auto count = static_cast<std::int64_t>(view.count(row));
    for (std::int64_t i = 0; i < count; ++i) indices[begin + i] = begin + count - 1 - i;
  }
  auto items = pick(dense_items(*arguments[0], context.memory), {indices, total}, context.memory);
  return make_list(context.rows.size, view.offsets(), std::move(items), arguments[0]);
}

}  // namespace

std::vector<Function> order_functions() {
  return {
      function("Sort", "Sort(list) or Sort(list, lambda)", "L",
               [](const Call& call) { return bind_sort<false>("Sort", call); }),
      function("StableSort", "StableSort(list) or StableSort(list, lambda)", "L",
               [](const Call& call) { return bind_sort<true>("StableSort", call); }),
      function("Argsort", "Argsort(list) or Argsort(list, lambda)", "L",
               [](const Call& call) { return bind_argsort<false>("Argsort", call); }),
      function("StableArgsort", "StableArgsort(list) or StableArgsort(list, lambda)", "L",
               [](const Call& call) { return bind_argsort<true>("StableArgsort", call); }),
      function("Reverse", "Reverse(list)", "L",
               [](const Call& call) { return make_bound({"Reverse", call.arguments[0].type, {}, reverse}); }),
  };
}

}  // namespace colonnade::frame::lists
