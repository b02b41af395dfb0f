// Combinations: all combinations of items of one or two lists, as a list of lists of indices.
//
//   Combinations({a, b, c}, 2)      {{0, 0, 1}, {1, 2, 2}}
//   Combinations({a, b}, {x, y})    {{0, 0, 1, 1}, {0, 1, 0, 1}}
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frame/functions/lists.h"

namespace colonnade::frame {
namespace {

using lists::ListView;
using lists::ScalarView;
using Arguments = std::span<const ValuesPtr>;

const ValueType& index_lists() {
  static const ValueType type = ValueType::list(ValueType::list(ElementType::uint64));
  return type;
}

void require_possible(const CallContext& context, std::size_t row, bool possible, std::uint64_t items,
                      std::uint64_t other, const char* what) {
  if (possible) return;
  lists::fail_at(
      context, row,
      fmt::format("Combinations would make more than {} {} {} and {}", lists::most_items, what, items, other),
      "select items first");
}

// The result of rows with `width(row)` lists of `count(row)` indices each; fill(row, out) writes them.
template <class Width, class Count, class Fill>
ValuesPtr index_table(const CallContext& context, Width width, Count count, Fill fill) {
  const std::size_t rows = context.rows.size;
  auto [outer, outer_owner] = context.memory.array<std::int64_t>(rows + 1);
  outer[0] = 0;
  for (std::size_t row = 0; row < rows; ++row)
    outer[row + 1] = outer[row] + static_cast<std::int64_t>(width(row));
  const auto inner_lists = static_cast<std::size_t>(outer[rows]);
  auto [inner, inner_owner] = context.memory.array<std::int64_t>(inner_lists + 1);
  std::int64_t* next = inner;
  *next = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto items = static_cast<std::int64_t>(count(row));
    for (std::int64_t k = outer[row]; k < outer[row + 1]; ++k, ++next) next[1] = next[0] + items;
  }
  const auto total = static_cast<std::size_t>(inner[inner_lists]);
  auto [out, owner] = context.memory.array<std::uint64_t>(total);
  for (std::size_t row = 0; row < rows; ++row) fill(row, out + inner[outer[row]]);
  auto indices = make_scalars(ElementType::uint64, total, out, std::move(owner));
  auto tuples = make_list(inner_lists, inner, std::move(indices), std::move(inner_owner));
  return make_list(rows, outer, std::move(tuples), std::move(outer_owner));
}

// ---- N of one list

// n of `size`, or a number above most_items.
std::uint64_t binomial(std::uint64_t size, std::uint64_t n) {
  n = std::min(n, size - n);
  std::uint64_t count = 1;
  for (std::uint64_t i = 1; i <= n; ++i) {
    // Exact at every step: among i consecutive numbers, one is a multiple of i.
    count = count * (size - n + i) / i;
    if (count > lists::most_items) return count;
  }
  return count;
}

// All tuples of ascending indices, in lexicographic order; the k-th indices of all are contiguous.
void fill_tuples(std::uint64_t size, std::uint64_t n, std::uint64_t count, std::vector<std::uint64_t>& tuple,
                 std::uint64_t* out) {
  tuple.resize(n);
  std::iota(tuple.begin(), tuple.end(), std::uint64_t{0});
  for (std::uint64_t c = 0; c < count; ++c) {
    for (std::uint64_t k = 0; k < n; ++k) out[k * count + c] = tuple[k];
    std::uint64_t k = n;
    while (k > 0 && tuple[k - 1] == size - n + k - 1) --k;
    if (k == 0) return;
    ++tuple[k - 1];
    for (; k < n; ++k) tuple[k] = tuple[k - 1] + 1;
  }
}

void fill_pairs(std::uint64_t size, std::uint64_t* first, std::uint64_t* second) {
  for (std::uint64_t i = 0; i < size; ++i)
    for (std::uint64_t j = i + 1; j < size; ++j) {
      *first++ = i;
      *second++ = j;
    }
}

ValuesPtr combinations_of_one(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const ScalarView<std::int64_t> wanted(*arguments[1]);
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    const auto n = static_cast<std::uint64_t>(wanted[row]);
    if (n > list.count(row))
      lists::fail_at(
          context, row,
          fmt::format("there are no combinations of {} items of a list of {}", wanted[row], list.count(row)),
          "filter on the size of the list first");
    // A tuple holds n indices.
    const std::uint64_t count = binomial(list.count(row), n);
    require_possible(context, row, count <= lists::most_items && n * count <= lists::most_items,
                     list.count(row), n, "indices of");
  }
  const auto width = [&](std::size_t row) { return static_cast<std::uint64_t>(wanted[row]); };
  const auto count = [&](std::size_t row) { return binomial(list.count(row), width(row)); };
  std::vector<std::uint64_t> tuple;
  return index_table(context, width, count, [&](std::size_t row, std::uint64_t* out) {
    if (width(row) == 2) {
      fill_pairs(list.count(row), out, out + count(row));
    } else if (width(row) > 0) {
      fill_tuples(list.count(row), width(row), count(row), tuple, out);
    }
  });
}

// ---- Of two lists, or of two sizes

template <class Sizes>
ValuesPtr combinations_of_sizes(const CallContext& context, Sizes sizes_of) {
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    const auto [a, b] = sizes_of(row);
    const bool possible = a <= lists::most_items && b <= lists::most_items && a * b <= lists::most_items / 2;
    require_possible(context, row, possible, a, b, "indices of lists of");
  }
  const auto width = [](std::size_t) { return 2; };
  const auto count = [&](std::size_t row) {
    const auto [a, b] = sizes_of(row);
    return a * b;
  };
  return index_table(context, width, count, [&](std::size_t row, std::uint64_t* out) {
    const auto [a, b] = sizes_of(row);
    std::uint64_t* other = out + a * b;
    for (std::uint64_t i = 0; i < a; ++i)
      for (std::uint64_t j = 0; j < b; ++j) {
        *out++ = i;
        *other++ = j;
      }
  });
}

using Sizes = std::pair<std::uint64_t, std::uint64_t>;

ValuesPtr combinations_of_two(const CallContext& context, Arguments arguments) {
  const ListView a(*arguments[0]);
  const ListView b(*arguments[1]);
  return combinations_of_sizes(context, [&](std::size_t row) { return Sizes(a.count(row), b.count(row)); });
}

ValuesPtr combinations_of_numbers(const CallContext& context, Arguments arguments) {
  const ScalarView<std::int64_t> a(*arguments[0]);
  const ScalarView<std::int64_t> b(*arguments[1]);
  return combinations_of_sizes(context, [&](std::size_t row) {
    if (a[row] < 0 || b[row] < 0)
      lists::fail_at(context, row, fmt::format("the sizes {} and {} are negative", a[row], b[row]), "");
    return Sizes(a[row], b[row]);
  });
}

Bound bind_combinations(const Call& call) {
  const auto& a = call.arguments[0].type;
  const auto& b = call.arguments[1].type;
  if (a.is_list() && b.is_list())
    return lists::make_bound({"Combinations", index_lists(), {}, combinations_of_two, true});
  for (const auto* type : {&a, &b})
    if (!type->is_list() && !(lists::is_number(*type) && type->is_integer()))
      return {nullptr, fmt::format("needs lists and integers, got {}", type->name())};
  if (b.is_list()) return {nullptr, "needs the list as its first argument"};
  std::vector<KernelPtr> conversions = {a.is_list() ? nullptr : lists::convert(a, ElementType::int64),
                                        lists::convert(b, ElementType::int64)};
  return lists::make_bound({"Combinations", index_lists(), std::move(conversions),
                            a.is_list() ? combinations_of_one : combinations_of_numbers, true});
}

}  // namespace

std::vector<Function> combination_functions() {
  return {lists::function("Combinations",
                          "Combinations(list, n), Combinations(list, list) or Combinations(size, size)", "**",
                          bind_combinations)};
}

}  // namespace colonnade::frame
