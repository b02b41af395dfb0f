// See fill.h.
#include "frame/expression/fill.h"

#include <fmt/format.h>

#include <algorithm>

#include "frame/functions/lists.h"

namespace colonnade::frame {
namespace {

ValuesPtr fill(const CallContext& context, std::span<const ValuesPtr> arguments) {
  const std::size_t rows = context.rows.size;
  const lists::ScalarView<std::int64_t> counts(*arguments[0]);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (counts[row] < 0 || static_cast<std::uint64_t>(counts[row]) > lists::most_items)
      lists::fail_at(context, row, fmt::format("a list of {} items cannot be made", counts[row]),
                     fmt::format("ask for 0 to {}", lists::most_items));
    offsets[row + 1] = offsets[row] + counts[row];
  }
  const auto total = static_cast<std::size_t>(offsets[rows]);
  const ElementType element = arguments[1]->type.element();
  auto items = lists::with_width(element, [&]<class U>() {
    const lists::ScalarView<U> value(*arguments[1]);
    auto [out, owner] = context.memory.array<U>(total);
    for (std::size_t row = 0; row < rows; ++row)
      std::fill(out + offsets[row], out + offsets[row + 1], value[row]);
    return make_scalars(element, total, out, std::move(owner));
  });
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

}  // namespace

Bound fill_list(const ValueType& item, const ValueType& count, const ValueType& value) {
  if (!count.is_integer())
    return {nullptr, fmt::format("needs an integer as number of items, got {}", count.name())};
  return lists::make_bound({"fill",
                            ValueType::list(item),
                            {lists::convert(count, ElementType::int64), lists::convert(value, item)},
                            fill,
                            true});
}

}  // namespace colonnade::frame
