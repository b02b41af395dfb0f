// New lists: Range, Enumerate, Concatenate, {a, b, c}.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame::lists {
namespace {

using Arguments = std::span<const ValuesPtr>;

// ---- Range, Enumerate

// First item and number of items of a row, and their step.
struct Progression {
  std::int64_t begin = 0;
  std::uint64_t count = 0;
  std::int64_t stride = 1;
};

template <class T, class RowOf>
ValuesPtr progressions(const CallContext& context, RowOf of_row) {
  const std::size_t rows = context.rows.size;
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const Progression items = of_row(row);
    if (items.count > most_items)
      fail_at(context, row, fmt::format("Range would make {} items", items.count), "make fewer");
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(items.count);
  }
  const auto total = static_cast<std::size_t>(offsets[rows]);
  auto [out, owner] = context.memory.array<T>(total);
  T* next = out;
  for (std::size_t row = 0; row < rows; ++row) {
    const Progression items = of_row(row);
    for (std::uint64_t i = 0; i < items.count; ++i)
      *next++ = static_cast<T>(static_cast<std::uint64_t>(items.begin) +
                               i * static_cast<std::uint64_t>(items.stride));
  }
  return make_list(rows, offsets, make_scalars(element_of<T>(), total, out, std::move(owner)),
                   std::move(offsets_owner));
}

std::int64_t unsigned_bound(const CallContext& context, std::size_t row, std::int64_t value) {
  if (value < 0)
    fail_at(context, row, fmt::format("Range counts from or to {}, but its numbers are unsigned", value),
            "Range(begin, end, stride) counts with signs");
  return value;
}

ValuesPtr range_to(const CallContext& context, Arguments arguments) {
  const ScalarView<std::int64_t> size(*arguments[0]);
  return progressions<std::uint64_t>(context, [&](std::size_t row) {
    return Progression{0, static_cast<std::uint64_t>(unsigned_bound(context, row, size[row]))};
  });
}

ValuesPtr range_between(const CallContext& context, Arguments arguments) {
  const ScalarView<std::int64_t> begins(*arguments[0]);
  const ScalarView<std::int64_t> ends(*arguments[1]);
  return progressions<std::uint64_t>(context, [&](std::size_t row) {
    const std::int64_t begin = unsigned_bound(context, row, begins[row]);
    const std::int64_t end = unsigned_bound(context, row, ends[row]);
    return Progression{begin, begin < end ? static_cast<std::uint64_t>(end - begin) : 0};
  });
}

ValuesPtr range_by(const CallContext& context, Arguments arguments) {
  const ScalarView<std::int64_t> begins(*arguments[0]);
  const ScalarView<std::int64_t> ends(*arguments[1]);
  const ScalarView<std::int64_t> strides(*arguments[2]);
  return progressions<std::int64_t>(context, [&](std::size_t row) {
    const std::int64_t stride = strides[row];
    if (stride == 0) fail_at(context, row, "the stride of Range is 0", "give another stride");
    const bool up = stride > 0;
    if (up ? begins[row] >= ends[row] : begins[row] <= ends[row]) return Progression{};
    const auto from = static_cast<std::uint64_t>(begins[row]);
    const auto to = static_cast<std::uint64_t>(ends[row]);
    const std::uint64_t distance = up ? to - from : from - to;
    const std::uint64_t step =
        up ? static_cast<std::uint64_t>(stride) : 0 - static_cast<std::uint64_t>(stride);
    return Progression{begins[row], (distance - 1) / step + 1, stride};
  });
}

Bound bind_range(const Call& call) {
  std::vector<KernelPtr> conversions;
  for (const auto& argument : call.arguments)
    conversions.push_back(convert(argument.type, ElementType::int64));
  constexpr ValuesPtr (*bodies[])(const CallContext&, Arguments) = {range_to, range_between, range_by};
  const std::size_t count = call.arguments.size();
  return make_bound({"Range", ValueType::list(count == 3 ? ElementType::int64 : ElementType::uint64),
                     std::move(conversions), bodies[count - 1], true});
}

ValuesPtr enumerate(const CallContext& context, Arguments arguments) {
  const ListView view(*arguments[0]);
  return progressions<std::uint64_t>(context,
                                     [&](std::size_t row) { return Progression{0, view.count(row)}; });
}

// ---- Concatenate

ValuesPtr concatenate_rows(const CallContext& context, Arguments arguments) {
  const std::size_t rows = context.rows.size;
  const ListView a(*arguments[0]);
  const ListView b(*arguments[1]);
  auto a_items = dense_items(*arguments[0], context.memory);
  auto b_items = dense_items(*arguments[1], context.memory);
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  offsets[0] = 0;
  for (std::size_t row = 0; row < rows; ++row)
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(a.count(row) + b.count(row));
  const auto total = static_cast<std::size_t>(offsets[rows]);

  if (a_items->type.is_scalar()) {
    const std::size_t width = size_of(a_items->type.element());
    auto owner = context.memory.allocate(total * width);
    auto* next = static_cast<std::byte*>(owner.get());
    const auto append = [&](const ListView& list, const Values& items, std::size_t row) {
      const std::size_t bytes = list.count(row) * width;
      if (bytes == 0) return;
      std::memcpy(next, items.as<std::byte>() + static_cast<std::size_t>(list.begin(row)) * width, bytes);
      next += bytes;
    };
    for (std::size_t row = 0; row < rows; ++row) {
      append(a, *a_items, row);
      append(b, *b_items, row);
    }
    const void* data = owner.get();
    return make_list(rows, offsets, make_scalars(a_items->type.element(), total, data, std::move(owner)),
                     std::move(offsets_owner));
  }
  const auto behind = static_cast<std::int64_t>(a_items->size);
  auto [indices, indices_owner] = context.memory.array<std::int64_t>(total);
  std::int64_t* next = indices;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < a.count(row); ++i) *next++ = a.begin(row) + static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < b.count(row); ++i)
      *next++ = behind + b.begin(row) + static_cast<std::int64_t>(i);
  }
  const std::array<ValuesPtr, 2> both = {std::move(a_items), std::move(b_items)};
  auto items = pick(concatenate(both, context.memory), {indices, total}, context.memory);
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

Bound bind_concatenate(const Call& call) {
  const auto& a = call.arguments[0].type;
  const auto& b = call.arguments[1].type;
  ValueType list = a;
  if (a != b) {
    if (!is_number_list(a) || !is_number_list(b))
      return {nullptr, fmt::format("needs lists of one type, got {} and {}", a.name(), b.name())};
    list = ValueType::list(common_item(a.item().element(), b.item().element()));
  }
  return make_bound({"Concatenate", list, {convert(a, list), convert(b, list)}, concatenate_rows});
}

// ---- Braces

ValuesPtr interleave(const CallContext& context, Arguments arguments) {
  const std::size_t rows = context.rows.size;
  const std::size_t width = arguments.size();
  const std::size_t total = rows * width;
  auto [offsets, offsets_owner] = context.memory.array<std::int64_t>(rows + 1);
  for (std::size_t row = 0; row <= rows; ++row) offsets[row] = static_cast<std::int64_t>(row * width);

  if (arguments[0]->type.is_scalar()) {
    const ElementType element = arguments[0]->type.element();
    auto items = with_width(element, [&]<class U>() {
      auto [out, owner] = context.memory.array<U>(total);
      for (std::size_t k = 0; k < width; ++k) {
        const ScalarView<U> column(*arguments[k]);
        for (std::size_t row = 0; row < rows; ++row) out[row * width + k] = column[row];
      }
      return make_scalars(element, total, out, std::move(owner));
    });
    return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
  }
  auto [indices, indices_owner] = context.memory.array<std::int64_t>(total);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < width; ++k)
      indices[row * width + k] = static_cast<std::int64_t>(k * rows + row);
  auto items = pick(concatenate(arguments, context.memory), {indices, total}, context.memory);
  return make_list(rows, offsets, std::move(items), std::move(offsets_owner));
}

Bound bind_braces(const Call& call) {
  if (call.arguments.empty()) return {nullptr, "an empty list in braces has no type"};
  ValueType item = call.arguments[0].type;
  for (const auto& argument : call.arguments) {
    if (argument.type == item) continue;
    const bool numbers = is_number(argument.type.innermost()) && is_number(item.innermost());
    if (!numbers || argument.type.depth() != item.depth())
      return {nullptr,
              fmt::format("needs items of one type, got {} and {}", item.name(), argument.type.name())};
    item = item.with_innermost(common_item(item.innermost().element(), argument.type.innermost().element()));
  }
  std::vector<KernelPtr> conversions;
  for (const auto& argument : call.arguments) conversions.push_back(convert(argument.type, item));
  return make_bound({"make_list", ValueType::list(item), std::move(conversions), interleave});
}

}  // namespace

std::vector<Function> creation_functions() {
  return {
      function("Range", "Range(size), Range(begin, end) or Range(begin, end, stride)", "i?ii", bind_range),
      function("Enumerate", "Enumerate(list)", "L",
               [](const Call&) {
                 return make_bound({"Enumerate", ValueType::list(ElementType::uint64), {}, enumerate});
               }),
      function("Concatenate", "Concatenate(list, list)", "LL", bind_concatenate),
      {"make_list", "{item, item, ...}", bind_braces},
  };
}

}  // namespace colonnade::frame::lists
