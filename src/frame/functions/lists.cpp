// Common parts of the functions over lists, and their table. See lists.h.
#include "frame/functions/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "colonnade/error.h"
#include "frame/values/values.h"

namespace colonnade::frame::lists {

// ---- Arguments

ValuesPtr dense_items(const Values& list, BlockMemory& memory) {
  const ValuesPtr& items = list.children.front();
  if (items->type.is_list() || items->type.is_string()) return items;
  const auto is_dense = [](const auto& self, const Values& values) -> bool {
    if (values.constant) return false;
    return !values.type.is_record() ||
           std::ranges::all_of(values.children, [&](const ValuesPtr& child) { return self(self, *child); });
  };
  return is_dense(is_dense, *items) ? items : spread(items, memory);
}

ValuesPtr pick(const ValuesPtr& values, std::span<const std::int64_t> indices, BlockMemory& memory) {
  if (values->type.is_record()) {
    std::vector<ValuesPtr> members;
    members.reserve(values->children.size());
    for (const auto& child : values->children) members.push_back(pick(child, indices, memory));
    return make_record(values->type, indices.size(), std::move(members));
  }
  if (!values->type.is_scalar() || values->constant) return gather(values, indices, memory);
  return with_width(values->type.element(), [&]<class U>() {
    auto [out, owner] = memory.array<U>(indices.size());
    const U* data = values->as<U>();
    for (std::size_t i = 0; i < indices.size(); ++i) out[i] = data[indices[i]];
    return make_scalars(values->type.element(), indices.size(), out, std::move(owner));
  });
}

void require_same_sizes(const CallContext& context, const ListView& a, const ListView& b,
                        std::string_view what) {
  if (a.plain() && b.plain() && a.offsets() == b.offsets()) return;
  for (std::size_t row = 0; row < context.rows.size; ++row) {
    if (a.count(row) == b.count(row)) continue;
    fail_at(context, row, fmt::format("{} have {} and {} items", what, a.count(row), b.count(row)),
            "give lists of the same size");
  }
}

void fail_at(const CallContext& context, std::size_t row, const std::string& problem,
             const std::string& advice) {
  throw Error(ErrorKind::usage, fmt::format("in entry {}, {}", context.rows.entry(row), problem), advice);
}

// ---- Types

bool is_number(const ValueType& type) {
  return type.is_scalar() && (type.is_floating() || type.is_integer()) && type.element() != ElementType::byte;
}

bool is_number_list(const ValueType& type) {
  return type.is_list() && is_number(type.item());
}

ElementType common_item(ElementType a, ElementType b) {
  return a == b ? a : common_element(a, b);
}

ElementType beside_number(const ValueType& item, const ValueType& number) {
  const bool is_mask = item.element() == ElementType::boolean;
  return is_mask ? common_item(item.element(), number.element()) : item.element();
}

// ---- Kernels

namespace {

bool is_constant(const Values& values) {
  if (!values.type.is_record()) return values.constant;
  return values.constant ||
         (!values.children.empty() &&
          std::ranges::all_of(values.children, [](const ValuesPtr& child) { return is_constant(*child); }));
}

// A constant as ordinary values of one row, and the inverse.
ValuesPtr with_size(const Values& values, std::size_t size, bool constant) {
  auto changed = std::make_shared<Values>(values);
  changed->size = size;
  changed->constant = constant && !values.type.is_record();
  if (values.type.is_record())
    for (auto& child : changed->children) child = with_size(*child, size, constant);
  return changed;
}

class FunctionKernel final : public FlatKernel {
 public:
  explicit FunctionKernel(Recipe recipe) : recipe_(std::move(recipe)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const bool constant = !arguments.empty() && context.rows.size > 0 &&
                          std::ranges::all_of(arguments, [](const ValuesPtr& a) { return is_constant(*a); });
    if (!constant) return run_rows(context, {arguments.begin(), arguments.end()});
    std::vector<ValuesPtr> ones;
    ones.reserve(arguments.size());
    for (const auto& argument : arguments) ones.push_back(with_size(*argument, 1, false));
    const Rows row{context.rows.entry(0), 1, nullptr};
    const ValuesPtr result =
        run_rows(CallContext{context.memory, row, context.slot, context.sample}, std::move(ones));
    return with_size(*result, context.rows.size, true);
  }
  const ValueType& result() const noexcept override { return recipe_.result; }
  std::string key() const override { return recipe_.key; }
  bool only_where_needed() const noexcept override { return recipe_.may_throw; }
  std::optional<FlatCode> flat_code() const override {
    const ValueType& scalar = recipe_.result.is_list() ? recipe_.result.item() : recipe_.result;
    if (!recipe_.flat || !scalar.is_scalar()) return std::nullopt;
    return FlatCode{.kind = *recipe_.flat, .result = scalar.element()};
  }
  [[noreturn]] void fail(const CallContext& context, std::size_t row,
                         std::string_view problem) const override {
    fail_at(context, row, std::string(problem), "filter on the size of the list first");
  }

 private:
  ValuesPtr run_rows(const CallContext& context, std::vector<ValuesPtr> arguments) const {
    for (std::size_t i = 0; i < recipe_.conversions.size(); ++i) {
      if (recipe_.conversions[i] == nullptr) continue;
      arguments[i] = recipe_.conversions[i]->run(context, {&arguments[i], 1});
    }
    return recipe_.body(context, arguments);
  }
  Recipe recipe_;
};

}  // namespace

Bound make_bound(Recipe recipe) {
  return {std::make_shared<FunctionKernel>(std::move(recipe)), {}};
}

KernelPtr convert(const ValueType& from, const ValueType& to) {
  if (from == to) return nullptr;
  auto kernel = conversion(from, to);
  if (kernel == nullptr)
    throw Error(ErrorKind::type, fmt::format("{} does not convert to {}", from.name(), to.name()),
                "give a value of that type");
  return kernel;
}

// ---- Calls

namespace {

bool has_size(const ValueType& type) {
  if (type.is_variant())
    return std::ranges::all_of(type.members(), [](const auto& each) { return has_size(each.second.item()); });
  return (type.is_list() && !type.is_optional()) || type.is_string();
}

struct Wanted {
  char letter;
  const char* text;
  bool (*fits)(const ValueType&);
};
constexpr Wanted wanted[] = {
    {'N', "a list of numbers", [](const ValueType& t) { return is_number_list(t); }},
    {'I', "a list of integers",
     [](const ValueType& t) { return is_number_list(t) && t.item().is_integer(); }},
    {'L', "a list", [](const ValueType& t) { return t.is_list(); }},
    {'S', "a list or a string", [](const ValueType& t) { return t.is_list() || t.is_string(); }},
    {'V', "a list or a string", [](const ValueType& t) { return has_size(t) || t.is_optional(); }},
    {'n', "a number", [](const ValueType& t) { return is_number(t); }},
    {'i', "an integer", [](const ValueType& t) { return is_number(t) && t.is_integer(); }},
    {'*', "a value", [](const ValueType&) { return true; }},
};

}  // namespace

std::string misfit(const Call& call, std::string_view pattern) {
  const std::size_t optional = std::min(pattern.find('?'), pattern.size());
  std::string letters(pattern);
  std::erase(letters, '?');
  const std::size_t given = call.arguments.size();
  if (given < optional || given > letters.size()) {
    const std::string count = optional == letters.size() ? fmt::format("{}", optional)
                                                         : fmt::format("{} to {}", optional, letters.size());
    return fmt::format("takes {} argument{}, got {}", count, count == "1" ? "" : "s", given);
  }
  for (std::size_t i = 0; i < given; ++i) {
    const auto& type = call.arguments[i].type;
    const auto* want = std::ranges::find(wanted, letters[i], &Wanted::letter);
    if (want->fits(type)) continue;
    return given == 1 ? fmt::format("needs {}, got {}", want->text, type.name())
                      : fmt::format("needs {} as argument {}, got {}", want->text, i + 1, type.name());
  }
  return {};
}

Function function(std::string name, std::string signature, std::string pattern,
                  std::function<Bound(const Call&)> bind) {
  return {std::move(name), std::move(signature),
          [pattern = std::move(pattern), bind = std::move(bind)](const Call& call) -> Bound {
            auto why_not = misfit(call, pattern);
            if (!why_not.empty()) return {nullptr, std::move(why_not)};
            return bind(call);
          }};
}

}  // namespace colonnade::frame::lists

namespace colonnade::frame {

std::vector<Function> list_functions() {
  std::vector<Function> all;
  for (auto part : {lists::subscript_functions, lists::reduction_functions, lists::order_functions,
                    lists::selection_functions, lists::creation_functions})
    std::ranges::move(part(), std::back_inserter(all));
  return all;
}

}  // namespace colonnade::frame
