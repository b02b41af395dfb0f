// See elementwise.h. The loop gets the arrays of the innermost items directly if possible: equal types, equal
// depth. Otherwise it gets them in pieces that stay in the first-level cache, each piece converted, and
// repeated for the items of its row.
#include "frame/functions/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "colonnade/error.h"
#include "frame/functions/flat_kernel.h"
#include "frame/functions/optionals.h"
#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

constexpr std::size_t piece = 1024;  // elements
// Elements are repeated four at a time, which may write beyond the last one.
constexpr std::size_t at_once = 4;
constexpr std::size_t piece_bytes = (piece + at_once) * 8;

// The path of an argument to the loop.
struct Input {
  std::size_t depth = 0;
  std::size_t size = 0;           // bytes of an element as it comes
  ElementLoop convert = nullptr;  // bytes of an unconverted element
};

// The lists around the items, outermost first: the offsets of each level, and its number of lists.
struct Shape {
  struct Level {
    const std::int64_t* offsets;
    std::size_t count;
  };
  std::vector<Level> levels;
  std::size_t items = 0;

  std::size_t count(std::size_t level) const { return level < levels.size() ? levels[level].count : items; }
  // The end of the items of list `place` of a level.
  std::size_t end_of_items(std::size_t level, std::size_t place) const {
    auto end = static_cast<std::int64_t>(place) + 1;
    for (; level < levels.size(); ++level) end = levels[level].offsets[end];
    return static_cast<std::size_t>(end);
  }
  // The row of an element of a level.
  std::size_t row_of(std::size_t level, std::size_t place) const {
    while (level-- > 0) {
      const auto* offsets = levels[level].offsets;
      const auto* after =
          std::upper_bound(offsets, offsets + levels[level].count + 1, static_cast<std::int64_t>(place));
      place = static_cast<std::size_t>(after - offsets) - 1;
    }
    return place;
  }
};

// True if it is one element for all rows, or contains such lists. Constant scalars do not count.
bool has_constant_lists(const Values& values) {
  return values.type.is_list() && (values.constant || has_constant_lists(values.items()));
}

// The scalars within the lists.
const Values& innermost(const Values& values) {
  const Values* inner = &values;
  while (inner->type.is_list()) inner = &inner->items();
  return *inner;
}

// Repeats the elements of an outer level for their items, piece by piece. `to` has room for at_once
// additional elements.
class Repeater {
 public:
  Repeater(const Shape& shape, std::size_t level) : shape_(shape), level_(level) {}

  template <class T>
  void fill(const void* from, std::size_t begin, std::size_t end, void* to) {
    const auto* values = static_cast<const T*>(from);
    auto* out = static_cast<T*>(to);
    for (std::size_t at = begin; at < end;) {
      while (end_ <= at) end_ = shape_.end_of_items(level_, place_++);
      const std::size_t stop = std::min(end_, end);
      const T value = values[place_ - 1];
      for (std::size_t i = at - begin; i < stop - begin; i += at_once)
        for (std::size_t k = 0; k < at_once; ++k) out[i + k] = value;
      at = stop;
    }
  }
  void fill_bytes(std::size_t size, const void* from, std::size_t begin, std::size_t end, void* to) {
    switch (size) {
      case 1:
        return fill<std::uint8_t>(from, begin, end, to);
      case 2:
        return fill<std::uint16_t>(from, begin, end, to);
      case 4:
        return fill<std::uint32_t>(from, begin, end, to);
      default:
        return fill<std::uint64_t>(from, begin, end, to);
    }
  }

 private:
  const Shape& shape_;
  std::size_t level_;
  std::size_t place_ = 0;  // the end of the elements whose items end at end_
  std::size_t end_ = 0;
};

class ElementwiseKernel final : public FlatKernel {
 public:
  ElementwiseKernel(std::string name, ElementSignature signature, std::vector<Input> inputs, ValueType result,
                    bool aligns)
      : name_(std::move(name)),
        signature_(std::move(signature)),
        inputs_(std::move(inputs)),
        result_(std::move(result)),
        depth_(result_.depth()),
        aligns_(aligns) {
    const auto lists =
        std::count_if(inputs_.begin(), inputs_.end(), [](const Input& i) { return i.depth > 0; });
    only_where_needed_ = signature_.only_where_needed || lists > 1;
  }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override;
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return name_; }
  bool only_where_needed() const noexcept override { return only_where_needed_; }
  std::optional<FlatCode> flat_code() const override {
    if (depth_ > 0 || aligns_) return std::nullopt;
    return FlatCode{FlatCode::Kind::loop, signature_.arguments, signature_.loop, signature_.result,
                    signature_.only_where_needed};
  }
  [[noreturn]] void fail(const CallContext& context, std::size_t row,
                         std::string_view problem) const override;

 private:
  Shape shape_of(const CallContext& context, std::span<const ValuesPtr> arguments, bool constant) const;
  void check_sizes(const CallContext& context, const Shape& shape,
                   std::span<const ValuesPtr> arguments) const;
  ValuesPtr compute(const CallContext& context, const Shape& shape,
                    std::span<const ValuesPtr> arguments) const;
  void compute_pieces(const CallContext& context, const Shape& shape, std::span<const Operand> operands,
                      void* out) const;
  ValuesPtr wrap(ValuesPtr items, std::span<const ValuesPtr> arguments, bool constant,
                 std::size_t rows) const;
  std::size_t deepest(std::span<const ValuesPtr> arguments) const;

  std::string name_;
  ElementSignature signature_;
  std::vector<Input> inputs_;
  ValueType result_;
  std::size_t depth_;
  bool aligns_;  // there are several optionals
  bool only_where_needed_ = false;
};

std::string shown_function(std::string_view name) {
  for (const std::string_view prefix : {"operator", "unary"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

void ElementwiseKernel::fail(const CallContext& context, std::size_t row, std::string_view problem) const {
  throw Error(ErrorKind::usage,
              fmt::format("'{}' in entry {}: {}", shown_function(name_), context.rows.entry(row), problem),
              "leave such entries out with a filter, or guard the operation with ?: or &&");
}

std::size_t ElementwiseKernel::deepest(std::span<const ValuesPtr> arguments) const {
  std::size_t i = 0;
  while (i < arguments.size() && inputs_[i].depth != depth_) ++i;
  return i;
}

Shape ElementwiseKernel::shape_of(const CallContext& context, std::span<const ValuesPtr> arguments,
                                  bool constant) const {
  Shape shape;
  shape.items = constant ? 1 : context.rows.size;
  if (depth_ == 0) return shape;
  const Values* list = arguments[deepest(arguments)].get();
  for (; list->type.is_list(); list = &list->items()) {
    shape.levels.push_back({list->offsets, shape.items});
    shape.items = static_cast<std::size_t>(list->offsets[shape.items]);
  }
  return shape;
}

void ElementwiseKernel::check_sizes(const CallContext& context, const Shape& shape,
                                    std::span<const ValuesPtr> arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Values* list = arguments[i].get();
    for (std::size_t level = 0; level < inputs_[i].depth; ++level, list = &list->items()) {
      const auto [offsets, count] = shape.levels[level];
      if (list->offsets == offsets) continue;
      if (std::memcmp(list->offsets, offsets, (count + 1) * sizeof(std::int64_t)) == 0) continue;
      const auto differ = std::mismatch(offsets, offsets + count + 1, list->offsets);
      const auto place = static_cast<std::size_t>(differ.first - offsets) - 1;
      const auto size = [place](const std::int64_t* o) { return o[place + 1] - o[place]; };
      fail(context, shape.row_of(level, place),
           fmt::format("lists of {} and {} items cannot be combined item by item", size(offsets),
                       size(list->offsets)));
    }
  }
}

// Operands of another type or depth than the result come in pieces.
void ElementwiseKernel::compute_pieces(const CallContext& context, const Shape& shape,
                                       std::span<const Operand> operands, void* out) const {
  std::vector<Operand> ready(operands.begin(), operands.end());
  std::vector<Repeater> repeaters;
  repeaters.reserve(operands.size());
  for (const Input& input : inputs_) repeaters.emplace_back(shape, input.depth);
  const auto buffers = context.memory.allocate(2 * piece_bytes * operands.size());
  auto* buffer = static_cast<std::byte*>(buffers.get());
  const std::size_t out_size = size_of(signature_.result);

  for (std::size_t begin = 0; begin < shape.items; begin += piece) {
    const std::size_t count = std::min(piece, shape.items - begin);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].constant) continue;
      const Input& input = inputs_[i];
      std::byte* repeated = buffer + 2 * i * piece_bytes;
      Operand& operand = ready[i];
      if (input.depth < depth_) {
        repeaters[i].fill_bytes(input.size, operands[i].data, begin, begin + count, repeated);
        operand.data = repeated;
      } else {
        operand.data = static_cast<const std::byte*>(operands[i].data) + begin * input.size;
      }
      if (input.convert == nullptr) continue;
      std::byte* converted = repeated + piece_bytes;
      input.convert(count, &operand, converted);
      operand.data = converted;
    }
    try {
      signature_.loop(count, ready.data(), static_cast<std::byte*>(out) + begin * out_size);
    } catch (const ElementFault& fault) {
      throw ElementFault{begin + fault.index, fault.problem};
    }
  }
}

ValuesPtr ElementwiseKernel::compute(const CallContext& context, const Shape& shape,
                                     std::span<const ValuesPtr> arguments) const {
  std::vector<Operand> operands(arguments.size());
  std::vector<std::array<std::byte, 8>> constants(arguments.size());
  bool in_pieces = false;
  bool constant = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Values& scalars = innermost(*arguments[i]);
    operands[i] = {scalars.data, scalars.constant};
    constant = constant && scalars.constant;
    if (!scalars.constant) {
      in_pieces = in_pieces || inputs_[i].convert != nullptr || inputs_[i].depth < depth_;
    } else if (inputs_[i].convert != nullptr) {
      inputs_[i].convert(1, &operands[i], constants[i].data());
      operands[i].data = constants[i].data();
    }
  }
  const std::size_t count = constant ? 1 : shape.items;
  auto memory = context.memory.allocate(count * size_of(signature_.result));
  try {
    // Without rows a constant must not fail, but has an element.
    if (shape.items == 0 || context.rows.size == 0)
      std::memset(memory.get(), 0, count * size_of(signature_.result));
    else if (in_pieces)
      compute_pieces(context, shape, operands, memory.get());
    else
      signature_.loop(count, operands.data(), memory.get());
  } catch (const ElementFault& fault) {
    fail(context, shape.row_of(depth_, fault.index), fault.problem);
  }
  auto result = std::make_shared<Values>();
  result->type = signature_.result;
  result->size = shape.items;
  result->constant = constant;
  result->data = memory.get();
  result->owners.push_back(std::move(memory));
  return result;
}

// The lists of the deepest argument around other items.
ValuesPtr ElementwiseKernel::wrap(ValuesPtr items, std::span<const ValuesPtr> arguments, bool constant,
                                  std::size_t rows) const {
  std::vector<std::pair<const Values*, const ValueType*>> lists;
  const ValueType* type = &result_;
  for (const Values* list = arguments[deepest(arguments)].get(); list->type.is_list();
       list = &list->items()) {
    lists.emplace_back(list, type);
    type = &type->item();
  }
  for (auto level = lists.rbegin(); level != lists.rend(); ++level) {
    const auto& [list, type_here] = *level;
    auto wrapped = std::make_shared<Values>();
    wrapped->type = *type_here;
    wrapped->size = list->size;
    wrapped->offsets = list->offsets;
    wrapped->owners = list->owners;
    wrapped->children.push_back(std::move(items));
    if (level + 1 == lists.rend()) {
      wrapped->size = rows;
      wrapped->constant = constant;
    }
    items = std::move(wrapped);
  }
  return items;
}

ValuesPtr ElementwiseKernel::run(const CallContext& context, std::span<const ValuesPtr> arguments) const {
  const bool constant =
      std::all_of(arguments.begin(), arguments.end(), [](const ValuesPtr& a) { return a->constant; });
  std::vector<ValuesPtr> spread_arguments;
  const auto inner_lists = [constant](const ValuesPtr& argument) {
    const Values& a = *argument;
    return a.type.is_list() && ((a.constant && !constant) || has_constant_lists(a.items()));
  };
  if (std::any_of(arguments.begin(), arguments.end(), inner_lists)) {
    spread_arguments.assign(arguments.begin(), arguments.end());
    for (ValuesPtr& argument : spread_arguments)
      if (argument->type.is_list()) argument = spread(argument, context.memory);
    arguments = spread_arguments;
  }
  const bool one_for_all = constant && spread_arguments.empty();
  if (aligns_) {
    if (spread_arguments.empty()) spread_arguments.assign(arguments.begin(), arguments.end());
    align_optionals(spread_arguments, one_for_all ? 1 : context.rows.size, context.memory);
    arguments = spread_arguments;
  }
  const Shape shape = shape_of(context, arguments, one_for_all);
  check_sizes(context, shape, arguments);
  ValuesPtr items = compute(context, shape, arguments);
  if (depth_ > 0) return wrap(std::move(items), arguments, one_for_all, context.rows.size);
  if (items->size == context.rows.size) return items;
  auto scalars = std::make_shared<Values>(*items);
  scalars->size = context.rows.size;
  return scalars;
}

}  // namespace

KernelPtr elementwise(std::string name, ElementSignature signature, std::span<const ValueType> arguments) {
  if (arguments.size() != signature.arguments.size()) return nullptr;
  std::vector<Input> inputs;
  const ValueType* deepest = nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueType& scalar = arguments[i].innermost();
    if (!scalar.is_scalar()) return nullptr;
    const ElementType from = scalar.element();
    const ElementType to = signature.arguments[i];
    const ElementLoop convert = from == to ? nullptr : conversion_loop(from, to);
    if (from != to && convert == nullptr) return nullptr;
    inputs.push_back({arguments[i].depth(), size_of(from), convert});
    if (deepest == nullptr || arguments[i].depth() > deepest->depth()) deepest = &arguments[i];
  }
  const ValueType scalar = signature.result;
  ValueType result = deepest == nullptr ? scalar : deepest->with_innermost(scalar);
  return std::make_shared<ElementwiseKernel>(std::move(name), std::move(signature), std::move(inputs),
                                             std::move(result), have_optionals_to_align(arguments));
}

std::vector<ValueType> types_of(std::span<const Argument> arguments) {
  std::vector<ValueType> types;
  types.reserve(arguments.size());
  for (const Argument& argument : arguments) types.push_back(argument.type);
  return types;
}

Bound bind_elementwise(std::string name, ElementSignature signature, const Call& call) {
  const std::vector<ValueType> types = types_of(call.arguments);
  std::string why_not = why_not_combined(types);
  if (!why_not.empty()) return {nullptr, std::move(why_not)};
  return {elementwise(std::move(name), std::move(signature), types), {}};
}

}  // namespace colonnade::frame
