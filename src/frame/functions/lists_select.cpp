// Selections of items of lists: Take, Drop, Nonzero, Where, Intersect.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "frame/functions/elementwise.h"
#include "frame/functions/lists.h"
#include "frame/functions/optionals.h"

namespace colonnade::frame::lists {
namespace {

using Arguments = std::span<const ValuesPtr>;

// ---- Take

// Offsets of rows with `count(row)` items each.
template <class Count>
std::pair<std::int64_t*, std::shared_ptr<void>> make_offsets(const CallContext& context, Count count) {
  auto [offsets, owner] = context.memory.array<std::int64_t>(context.rows.size + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < context.rows.size; ++row)
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(count(row));
  return {offsets, std::move(owner)};
}

// Items at a list of indices; an error for indices out of range.
ValuesPtr take_places(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const ListView places(*arguments[1]);
  const std::size_t rows = context.rows.size;
  const auto place_items = dense_items(*arguments[1], context.memory);
  auto [offsets, offsets_owner] = make_offsets(context, [&](std::size_t row) { return places.count(row); });
  auto [indices, indices_owner] = context.memory.array<std::int64_t>(static_cast<std::size_t>(offsets[rows]));
  std::int64_t* next = indices;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t* place = place_items->as<std::int64_t>() + places.begin(row);
    const std::size_t size = list.count(row);
    for (std::size_t i = 0; i < places.count(row); ++i) {
      if (static_cast<std::size_t>(place[i]) >= size)
        fail_at(context, row, fmt::format("Take asks for the item {} of a list of {} items", place[i], size),
                "give a default: Take(list, indices, default)");
      *next++ = list.begin(row) + place[i];
    }
  }
  auto items = pick(dense_items(*arguments[0], context.memory),
                    {indices, static_cast<std::size_t>(offsets[rows])}, context.memory);
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

// The first n, or the last -n.
ValuesPtr take_some(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const ScalarView<std::int64_t> wanted(*arguments[1]);
  const std::size_t rows = context.rows.size;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t count = wanted[row] < 0 ? 0 - static_cast<std::uint64_t>(wanted[row])
                                                : static_cast<std::uint64_t>(wanted[row]);
    if (count > list.count(row))
      fail_at(context, row, fmt::format("Take asks for {} items of a list of {}", count, list.count(row)),
              "give a default: Take(list, n, default)");
  }
  auto [offsets, offsets_owner] =
      make_offsets(context, [&](std::size_t row) { return std::abs(wanted[row]); });
  auto [indices, indices_owner] = context.memory.array<std::int64_t>(static_cast<std::size_t>(offsets[rows]));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t count = offsets[row + 1] - offsets[row];
    const std::int64_t skipped = wanted[row] < 0 ? static_cast<std::int64_t>(list.count(row)) - count : 0;
    for (std::int64_t i = 0; i < count; ++i) indices[offsets[row] + i] = list.begin(row) + skipped + i;
  }
  auto items = pick(dense_items(*arguments[0], context.memory),
                    {indices, static_cast<std::size_t>(offsets[rows])}, context.memory);
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

// With a default for indices out of range. `index_of(row, i)` is the index of item i of the result's
// row.
template <class IndexOf>
ValuesPtr take_or_default(const CallContext& context, Arguments arguments, const std::int64_t* offsets,
                          std::shared_ptr<void> offsets_owner, IndexOf index_of) {
  const ListView list(*arguments[0]);
  const std::size_t rows = context.rows.size;
  const auto items = dense_items(*arguments[0], context.memory);
  const ElementType element = items->type.element();
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto taken = with_width(element, [&]<class U>() {
    auto [out, owner] = context.memory.array<U>(total);
    const ScalarView<U> fallback(*arguments[2]);
    const U* data = items->template as<U>();
    U* next = out;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t size = list.count(row);
      const std::int64_t count = offsets[row + 1] - offsets[row];
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(index_of(row, i));
        *next++ = at < size ? data[static_cast<std::size_t>(list.begin(row)) + at] : fallback[row];
      }
    }
    return make_scalars(element, total, out, std::move(owner));
  });
  return make_list(rows, offsets, std::move(taken), std::move(offsets_owner));
}

ValuesPtr take_places_or_default(const CallContext& context, Arguments arguments) {
  const ListView places(*arguments[1]);
  const auto place_items = dense_items(*arguments[1], context.memory);
  auto [offsets, owner] = make_offsets(context, [&](std::size_t row) { return places.count(row); });
  const auto* data = place_items->as<std::int64_t>();
  return take_or_default(context, arguments, offsets, std::move(owner),
                         [&](std::size_t row, std::int64_t i) { return data[places.begin(row) + i]; });
}

ValuesPtr take_some_or_default(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const ScalarView<std::int64_t> wanted(*arguments[1]);
  constexpr auto most = static_cast<std::int64_t>(most_items);
  for (std::size_t row = 0; row < context.rows.size; ++row)
    if (wanted[row] > most || wanted[row] < -most)
      fail_at(context, row, fmt::format("Take asks for {} items", wanted[row]), "take fewer");
  auto [offsets, owner] = make_offsets(context, [&](std::size_t row) { return std::abs(wanted[row]); });
  // With the last n, the list is at the end, after the defaults.
  return take_or_default(context, arguments, offsets, std::move(owner), [&](std::size_t row, std::int64_t i) {
    return wanted[row] < 0 ? i + static_cast<std::int64_t>(list.count(row)) + wanted[row] : i;
  });
}

Bound bind_take(const Call& call) {
  const auto& list = call.arguments[0].type;
  const auto& which = call.arguments[1].type;
  const bool places = which.is_list();
  const ValueType wanted = places ? ValueType::list(ElementType::int64) : ValueType(ElementType::int64);
  if (!is_number(which.innermost()) || !which.innermost().is_integer() || which.depth() > 1)
    return {nullptr,
            fmt::format("needs an integer or a list of integers as argument 2, got {}", which.name())};
  if (call.arguments.size() == 2)
    return make_bound(
        {"Take", list, {nullptr, convert(which, wanted)}, places ? take_places : take_some, true});
  if (!is_number_list(list) || !is_number(call.arguments[2].type))
    return {nullptr, "needs a list of numbers and a number where a default is given"};
  const ValueType taken = ValueType::list(beside_number(list.item(), call.arguments[2].type));
  return make_bound(
      {"Take",
       taken,
       {convert(list, taken), convert(which, wanted), convert(call.arguments[2].type, taken.item())},
       places ? take_places_or_default : take_some_or_default,
       !places});
}

// ---- Drop, Nonzero

ValuesPtr drop(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const ListView places(*arguments[1]);
  const std::size_t rows = context.rows.size;
  const auto place_items = dense_items(*arguments[1], context.memory);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  auto [indices, indices_owner] = context.memory.array<std::int64_t>(list.total(rows));
  std::vector<char> dropped;
  std::int64_t kept = 0;
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    dropped.assign(list.count(row), 0);
    const std::int64_t* place = place_items->as<std::int64_t>() + places.begin(row);
    for (std::size_t i = 0; i < places.count(row); ++i)
      if (static_cast<std::size_t>(place[i]) < dropped.size())
        dropped[static_cast<std::size_t>(place[i])] = 1;
    for (std::size_t i = 0; i < dropped.size(); ++i)
      if (dropped[i] == 0) indices[kept++] = list.begin(row) + static_cast<std::int64_t>(i);
    offsets[row + 1] = kept;
  }
  auto items = pick(dense_items(*arguments[0], context.memory), {indices, static_cast<std::size_t>(kept)},
                    context.memory);
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

template <class T>
ValuesPtr nonzero(const CallContext& context, Arguments arguments) {
  const ListView list(*arguments[0]);
  const std::size_t rows = context.rows.size;
  const auto items = dense_items(*arguments[0], context.memory);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  auto [out, owner] = context.memory.array<std::uint64_t>(list.total(rows));
  std::size_t found = 0;
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const T* item = items->as<T>() + list.begin(row);
    for (std::size_t i = 0; i < list.count(row); ++i) {
      out[found] = i;
      found += item[i] != 0 ? 1 : 0;
    }
    offsets[row + 1] = static_cast<std::int64_t>(found);
  }
  return make_list(rows, offsets, make_scalars(ElementType::uint64, found, out, std::move(owner)),
                   std::move(offsets_owner));
}

// ---- Where

// A side of Where: a list, or one value for all items of a row.
template <class U>
class Side {
 public:
  Side(const CallContext& context, const ValuesPtr& values, const ListView& condition)
      : list_(values->type.is_list() ? values : nullptr), view_(*values), owner_(values) {
    if (list_ == nullptr) {
      data_ = values->as<U>();
      step_ = values->constant ? 0 : 1;
      return;
    }
    require_same_sizes(context, condition, view_, "the condition and a list of Where");
    owner_ = dense_items(*list_, context.memory);
    data_ = owner_->template as<U>();
  }
  const U* row(std::size_t row) const { return data_ + (list_ != nullptr ? view_.begin(row) : row * step_); }
  std::size_t item_step() const { return list_ != nullptr ? 1 : 0; }

 private:
  const ValuesPtr list_;
  ListView view_;
  ValuesPtr owner_;
  const U* data_ = nullptr;
  std::size_t step_ = 1;
};

template <class U>
ValuesPtr where(const CallContext& context, Arguments arguments, ElementType element) {
  const ListView condition(*arguments[0]);
  const std::size_t rows = context.rows.size;
  const Side<U> yes(context, arguments[1], condition);
  const Side<U> no(context, arguments[2], condition);
  const auto flags = dense_items(*arguments[0], context.memory);
  auto [offsets, offsets_owner] =
      make_offsets(context, [&](std::size_t row) { return condition.count(row); });
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [out, owner] = context.memory.array<U>(total);
  for (std::size_t row = 0; row < rows; ++row) {
    const bool* flag = flags->as<bool>() + condition.begin(row);
    const U* a = yes.row(row);
    const U* b = no.row(row);
    U* to = out + offsets[row];
    const std::size_t yes_step = yes.item_step();
    const std::size_t no_step = no.item_step();
    for (std::size_t i = 0; i < condition.count(row); ++i) {
      const U if_so = a[i * yes_step];  // both exist: avoids a branch that could be mispredicted
      const U if_not = b[i * no_step];
      to[i] = flag[i] ? if_so : if_not;
    }
  }
  return make_list(rows, offsets, make_scalars(element, total, out, std::move(owner)),
                   std::move(offsets_owner));
}

Bound bind_where(const Call& call) {
  const auto& yes = call.arguments[1].type;
  const auto& no = call.arguments[2].type;
  for (const auto* side : {&yes, &no})
    if (!is_number(*side) && !is_number_list(*side))
      return {nullptr,
              fmt::format("needs numbers, or lists of numbers, to choose from, got {}", side->name())};
  std::string why_not = why_not_combined(types_of(call.arguments));
  if (!why_not.empty()) return {nullptr, std::move(why_not)};
  // A number is converted to the type of the list on the other side.
  const auto& list = yes.is_list() ? yes : no;
  const ElementType element = yes.is_list() == no.is_list()
                                  ? common_item(yes.innermost().element(), no.innermost().element())
                                  : beside_number(list.item(), yes.is_list() ? no : yes);
  return with_width(element, [&]<class U>() {
    return make_bound({"Where",
                       ValueType::list(element),
                       {convert(call.arguments[0].type, ValueType::list(ElementType::boolean)),
                        convert(yes, yes.with_innermost(element)), convert(no, no.with_innermost(element))},
                       [element](const CallContext& context, Arguments arguments) {
                         return where<U>(context, arguments, element);
                       },
                       true});
  });
}

// ---- Intersect

// The items of a that are in b, in their order. NaN is never in a list.
template <class T>
ValuesPtr intersect(const CallContext& context, Arguments arguments, ElementType element) {
  const ListView a(*arguments[0]);
  const ListView b(*arguments[1]);
  const std::size_t rows = context.rows.size;
  const auto a_items = dense_items(*arguments[0], context.memory);
  const auto b_items = dense_items(*arguments[1], context.memory);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  auto [out, owner] = context.memory.array<T>(a.total(rows));
  constexpr std::size_t few = 16;
  std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> sorted;
  std::size_t found = 0;
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const T> mine(a_items->as<T>() + a.begin(row), a.count(row));
    const std::span<const T> others(b_items->as<T>() + b.begin(row), b.count(row));
    if (others.size() <= few) {
      for (const T item : mine)
        if (std::ranges::find(others, item) != others.end()) out[found++] = item;
    } else {
      sorted.clear();
      std::ranges::copy_if(others, std::back_inserter(sorted), [](T x) { return x == x; });
      std::ranges::sort(sorted);
      for (const T item : mine)
        if (item == item && std::binary_search(sorted.begin(), sorted.end(), item)) out[found++] = item;
    }
    offsets[row + 1] = static_cast<std::int64_t>(found);
  }
  return make_list(rows, offsets, make_scalars(element, found, out, std::move(owner)),
                   std::move(offsets_owner));
}

Bound bind_intersect(const Call& call) {
  const auto& a = call.arguments[0].type;
  const auto& b = call.arguments[1].type;
  const ElementType element = common_item(a.item().element(), b.item().element());
  const ValueType list = ValueType::list(element);
  return with_number(element, [&]<class T>() {
    // The third argument asserts that b is sorted, which is not needed here.
    return make_bound({"Intersect",
                       list,
                       {convert(a, list), convert(b, list)},
                       [element](const CallContext& context, Arguments arguments) {
                         return intersect<T>(context, arguments, element);
                       }});
  });
}

}  // namespace

std::vector<Function> selection_functions() {
  return {
      function("Take", "Take(list, n), Take(list, indices), with a default as third argument", "L*?*",
               bind_take),
      function("Drop", "Drop(list, indices)", "LI",
               [](const Call& call) {
                 return make_bound(
                     {"Drop",
                      call.arguments[0].type,
                      {nullptr, convert(call.arguments[1].type, ValueType::list(ElementType::int64))},
                      drop});
               }),
      function("Nonzero", "Nonzero(list)", "N",
               [](const Call& call) {
                 return with_number(call.arguments[0].type.item().element(), [&]<class T>() {
                   return make_bound({"Nonzero", ValueType::list(ElementType::uint64), {}, nonzero<T>});
                 });
               }),
      function("Where", "Where(condition, list or number, list or number)", "N**", bind_where),
      function("Intersect", "Intersect(list, list)", "NN?n", bind_intersect),
  };
}

}  // namespace colonnade::frame::lists
