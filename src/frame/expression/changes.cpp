// See changes.h. Items of any type are moved by their places: those of the list, then the new ones, one per
// row.
#include "frame/expression/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

using Arguments = std::span<const ValuesPtr>;

// The old items, and behind them the new one of each row.
class ListSource {
 public:
  ListSource(const CallContext& context, const Values& list, const ValuesPtr& item)
      : memory_(context.memory), items_(lists::dense_items(list, memory_)), old_(items_->size) {
    if (item == nullptr) return;
    const ValuesPtr both[] = {items_, spread(item, memory_)};
    items_ = concatenate(both, memory_);
  }
  std::int64_t place_of_new(std::size_t row) const { return static_cast<std::int64_t>(old_ + row); }
  ValuesPtr list(std::size_t rows, const std::int64_t* offsets, std::span<const std::int64_t> places,
                 std::shared_ptr<const void> owner) const {
    return make_list(rows, offsets, lists::pick(items_, places, memory_), std::move(owner));
  }

 private:
  BlockMemory& memory_;
  ValuesPtr items_;
  std::size_t old_;
};

// Lists of other lengths: `size_of(row, count)` items, of which those beyond the old ones are new.
template <class SizeOf>
ValuesPtr resized(const CallContext& context, const Values& list, const ValuesPtr& item, SizeOf size_of) {
  const lists::ListView view(list);
  const std::size_t rows = context.rows.size;
  auto [offsets, owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row)
    offsets[row + 1] = offsets[row] + size_of(row, view.count(row));
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [places, places_owner] = context.memory.array<std::int64_t>(total);
  const ListSource source(context, list, item);
  for (std::size_t row = 0; row < rows; ++row) {
    std::int64_t* const first = places + offsets[row];
    std::int64_t* const last = places + offsets[row + 1];
    std::int64_t* const end_of_old = std::min(first + view.count(row), last);
    std::iota(first, end_of_old, view.begin(row));
    std::fill(end_of_old, last, source.place_of_new(row));
  }
  return source.list(rows, offsets, {places, total}, std::move(owner));
}

ValuesPtr with_item(const CallContext& context, Arguments arguments) {
  const lists::ListView view(*arguments[0]);
  const lists::ScalarView<std::int64_t> index(*arguments[1]);
  const std::size_t rows = context.rows.size;
  auto [offsets, owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t count = view.count(row);
    if (static_cast<std::uint64_t>(index[row]) >= count) fail_to_replace(context, row, index[row], count);
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(count);
  }
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [places, places_owner] = context.memory.array<std::int64_t>(total);
  const ListSource source(context, *arguments[0], arguments[2]);
  for (std::size_t row = 0; row < rows; ++row) {
    std::iota(places + offsets[row], places + offsets[row + 1], view.begin(row));
    places[offsets[row] + index[row]] = source.place_of_new(row);
  }
  return source.list(rows, offsets, {places, total}, std::move(owner));
}

ValuesPtr appended(const CallContext& context, Arguments arguments) {
  return resized(context, *arguments[0], arguments[1],
                 [](std::size_t, std::size_t count) { return static_cast<std::int64_t>(count) + 1; });
}

ValuesPtr shortened(const CallContext& context, Arguments arguments) {
  return resized(context, *arguments[0], nullptr, [&](std::size_t row, std::size_t count) {
    if (count == 0)
      lists::fail_at(context, row, "pop_back of an empty list", "check the size of the list first");
    return static_cast<std::int64_t>(count) - 1;
  });
}

ValuesPtr of_size(const CallContext& context, Arguments arguments) {
  const lists::ScalarView<std::int64_t> sizes(*arguments[1]);
  return resized(context, *arguments[0], arguments[2], [&](std::size_t row, std::size_t) {
    if (static_cast<std::uint64_t>(sizes[row]) > lists::most_items)
      lists::fail_at(context, row, fmt::format("a list of {} items cannot be made", sizes[row]),
                     fmt::format("ask for 0 to {}", lists::most_items));
    return sizes[row];
  });
}

void require_range(const CallContext& context, std::size_t row, std::int64_t first, std::int64_t last,
                   std::size_t count) {
  if (first < 0 || first > last || static_cast<std::uint64_t>(last) > count)
    lists::fail_at(context, row,
                   fmt::format("the items {} to {} are not in a list of {} items", first, last, count),
                   "check the size of the list first");
}

ValuesPtr without_items(const CallContext& context, Arguments arguments) {
  const lists::ListView view(*arguments[0]);
  const lists::ScalarView<std::int64_t> first(*arguments[1]);
  const lists::ScalarView<std::int64_t> last(*arguments[2]);
  const std::size_t rows = context.rows.size;
  auto [offsets, owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t count = view.count(row);
    require_range(context, row, first[row], last[row], count);
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(count) - (last[row] - first[row]);
  }
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [places, places_owner] = context.memory.array<std::int64_t>(total);
  for (std::size_t row = 0; row < rows; ++row) {
    std::int64_t* const middle = places + offsets[row] + first[row];
    std::iota(places + offsets[row], middle, view.begin(row));
    std::iota(middle, places + offsets[row + 1], view.begin(row) + last[row]);
  }
  return ListSource(context, *arguments[0], nullptr).list(rows, offsets, {places, total}, std::move(owner));
}

ValuesPtr with_items(const CallContext& context, Arguments arguments) {
  const lists::ListView view(*arguments[0]);
  const lists::ScalarView<std::int64_t> place(*arguments[1]);
  const lists::ListView from(*arguments[2]);
  const lists::ScalarView<std::int64_t> first(*arguments[3]);
  const lists::ScalarView<std::int64_t> last(*arguments[4]);
  const std::size_t rows = context.rows.size;
  auto [offsets, owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t count = view.count(row);
    require_range(context, row, place[row], place[row], count);
    require_range(context, row, first[row], last[row], from.count(row));
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(count) + last[row] - first[row];
  }
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [places, places_owner] = context.memory.array<std::int64_t>(total);
  const ValuesPtr items = lists::dense_items(*arguments[0], context.memory);
  const auto old = static_cast<std::int64_t>(items->size);
  for (std::size_t row = 0; row < rows; ++row) {
    std::int64_t* const inserted = places + offsets[row] + place[row];
    std::int64_t* const behind = inserted + (last[row] - first[row]);
    std::iota(places + offsets[row], inserted, view.begin(row));
    std::iota(inserted, behind, old + from.begin(row) + first[row]);
    std::iota(behind, places + offsets[row + 1], view.begin(row) + place[row]);
  }
  const ValuesPtr both[] = {items, lists::dense_items(*arguments[2], context.memory)};
  return make_list(rows, offsets,
                   lists::pick(concatenate(both, context.memory), {places, total}, context.memory),
                   std::move(owner));
}

}  // namespace

void fail_to_replace(const CallContext& context, std::size_t row, std::int64_t index, std::size_t count) {
  lists::fail_at(context, row, fmt::format("the index {} is not in a list of {} items", index, count),
                 "check the size of the list first");
}

namespace {

KernelPtr made(std::string key, const ValueType& list, lists::Body body,
               std::optional<FlatCode::Kind> flat = {}) {
  return lists::make_bound({std::move(key), list, {}, std::move(body), true, flat}).kernel;
}

}  // namespace

KernelPtr replace_item(const ValueType& list) {
  return made("replace item", list, with_item, FlatCode::Kind::replace);
}
KernelPtr append_item(const ValueType& list) {
  return made("append item", list, appended, FlatCode::Kind::append);
}
KernelPtr remove_last(const ValueType& list) {
  return made("remove last", list, shortened);
}
KernelPtr resize_list(const ValueType& list) {
  return made("resize", list, of_size);
}
KernelPtr erase_items(const ValueType& list) {
  return made("erase", list, without_items);
}
KernelPtr insert_items(const ValueType& list) {
  return made("insert", list, with_items);
}

}  // namespace colonnade::frame
