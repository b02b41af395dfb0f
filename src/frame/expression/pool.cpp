// The pool of expressions: equal expressions are one entry, constant ones are computed when they are added.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <unordered_map>

#include "colonnade/error.h"
#include "frame/expression/expression.h"
#include "frame/expression/function.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// The first element as a constant for one row.
ValuesPtr as_constant(ValuesPtr values) {
  if (values->constant && values->size == 1) return values;
  auto constant = std::make_shared<Values>(*values);
  constant->constant = true;
  constant->size = 1;
  if (constant->type.is_record())
    for (ValuesPtr& member : constant->children) member = as_constant(std::move(member));
  return constant;
}

void append_bytes(std::string& key, const void* data, std::size_t size) {
  if (size > 0) key.append(static_cast<const char*>(data), size);
}

// Distinguishes elements of one type, byte by byte: 0.0 and -0.0 are two constants.
void append_content(std::string& key, const Values& values) {
  const std::size_t stored = values.stored();
  append_bytes(key, &values.size, sizeof(values.size));
  key += values.constant ? 'c' : 'v';
  if (values.type.is_scalar()) {
    append_bytes(key, values.data, stored * size_of(values.type.element()));
  } else {
    if (!values.type.is_record()) append_bytes(key, values.offsets, (stored + 1) * sizeof(std::int64_t));
    for (const ValuesPtr& child : values.children) append_content(key, *child);
  }
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
  seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2);
  return seed * 0xff51afd7ed558ccdu;
}

std::uint64_t hash_of(const Expression& expression, const std::string& key) {
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(expression.op), expression.column);
  hash = mixed(hash, std::hash<std::string>()(key));
  for (const ExpressionId argument : expression.arguments) hash = mixed(hash, argument);
  return hash;
}

// Each function may enlarge a list; texts must not exhaust the memory before any entry is
// read. So only small results are precomputed, and none that a number alone makes, like
// Range(n).
constexpr std::uint64_t most_folded_bytes = 1024;

bool may_fold(const Kernel& kernel, std::string_view name, std::span<const ValuesPtr> arguments) {
  if (!kernel.foldable()) return false;
  bool any_collection = arguments.empty() || name == "make_list";
  for (const ValuesPtr& argument : arguments) {
    if (argument == nullptr || byte_count(*argument) > most_folded_bytes) return false;
    any_collection |= !argument->type.is_scalar();
  }
  return any_collection || kernel.result().is_scalar() || kernel.result().is_record();
}

bool truth_of(const Values& constant) {
  return *constant.as<std::uint8_t>() != 0;
}

}  // namespace

struct ExpressionPool::Index {
  std::unordered_multimap<std::uint64_t, ExpressionId> by_hash;
  std::vector<std::string> keys;  // of the kernels and constants, by ExpressionId
  BlockMemory memory;

  // Without memory for it, equal ones will not share its number.
  void add(std::uint64_t hash, ExpressionId id) noexcept {
    try {
      by_hash.emplace(hash, id);
    } catch (const std::bad_alloc&) {
    }
  }
};

ExpressionPool::ExpressionPool() : index_(std::make_unique<Index>()) {}
ExpressionPool::~ExpressionPool() = default;

ExpressionId ExpressionPool::add(Expression expression, std::string key) {
  // A kernel without a key differs from every other one, even from itself.
  const bool can_share = expression.op != Op::call || !key.empty();
  const std::uint64_t hash = hash_of(expression, key);
  if (can_share) {
    const auto [first, last] = index_->by_hash.equal_range(hash);
    for (auto candidate = first; candidate != last; ++candidate) {
      const Expression& known = expressions_[candidate->second];
      if (known.op == expression.op && known.column == expression.column &&
          known.arguments == expression.arguments && index_->keys[candidate->second] == key &&
          known.type == expression.type)
        return candidate->second;
    }
  }
  for (const ExpressionId argument : expression.arguments)
    expression.only_where_needed |= expressions_[argument].only_where_needed;
  const auto id = static_cast<ExpressionId>(expressions_.size());
  index_->keys.resize(id);
  index_->keys.push_back(std::move(key));
  expressions_.push_back(std::move(expression));
  if (can_share) index_->add(hash, id);
  return id;
}

std::vector<ExpressionId> ExpressionPool::keep(std::vector<bool>& needed, std::vector<Expression>& swept) {
  for (std::size_t id = expressions_.size(); id-- > 0;)  // arguments have lower numbers
    if (needed[id])
      for (const ExpressionId argument : expressions_[id].arguments) needed[argument] = true;
  std::vector<ExpressionId> numbers(expressions_.size());
  std::vector<Expression> kept;
  std::vector<std::string> keys;
  const auto count = static_cast<std::size_t>(std::count(needed.begin(), needed.end(), true));
  kept.reserve(count);
  keys.reserve(count);
  swept.reserve(swept.size() + needed.size() - count);
  index_->by_hash.clear();
  for (std::size_t id = 0; id < expressions_.size(); ++id) {
    Expression& expression = expressions_[id];
    if (!needed[id]) {
      swept.push_back(std::move(expression));
      continue;
    }
    numbers[id] = static_cast<ExpressionId>(kept.size());
    for (ExpressionId& argument : expression.arguments) argument = numbers[argument];
    std::string& key = index_->keys[id];
    if (expression.op != Op::call || !key.empty()) index_->add(hash_of(expression, key), numbers[id]);
    kept.push_back(std::move(expression));
    keys.push_back(std::move(key));
  }
  expressions_ = std::move(kept);
  index_->keys = std::move(keys);
  return numbers;
}

ExpressionId ExpressionPool::constant(ValuesPtr value) {
  Expression expression;
  expression.constant = as_constant(std::move(value));
  expression.type = expression.constant->type;
  std::string key;
  append_content(key, *expression.constant);
  return add(std::move(expression), std::move(key));
}

ExpressionId ExpressionPool::column(std::uint32_t column, const ValueType& type) {
  Expression expression;
  expression.op = Op::column;
  expression.type = type;
  expression.column = column;
  return add(std::move(expression), {});
}

ExpressionId ExpressionPool::special(Op op) {
  Expression expression;
  expression.op = op;
  expression.type = op == Op::entry  ? ValueType(ElementType::uint64)
                    : op == Op::slot ? ValueType(ElementType::uint32)
                                     : ValueType::string();
  return add(std::move(expression), {});
}

ExpressionId ExpressionPool::call(KernelPtr kernel, std::vector<ExpressionId> arguments, std::string name) {
  std::vector<ValuesPtr> values;  // null: not a constant
  values.reserve(arguments.size());
  for (const ExpressionId argument : arguments) values.push_back(expressions_[argument].constant);
  if (may_fold(*kernel, name, values)) {
    const Rows one{0, 1, nullptr};
    try {
      return constant(kernel->run({index_->memory, one}, values));
    } catch (const Error&) {
      // Possibly unreachable; an entry that reaches it gets the error.
    }
  }
  Expression expression;
  expression.op = Op::call;
  expression.type = kernel->result();
  expression.arguments = std::move(arguments);
  expression.name = std::move(name);
  expression.only_where_needed = kernel->only_where_needed();
  std::string key = kernel->key();
  expression.kernel = std::move(kernel);
  return add(std::move(expression), std::move(key));
}

ExpressionId ExpressionPool::convert(ExpressionId value, const ValueType& type) {
  const ValueType& from = expressions_[value].type;
  if (from == type) return value;
  KernelPtr kernel = conversion(from, type);
  if (kernel == nullptr)
    throw Error(ErrorKind::type, fmt::format("{} does not convert to {}", from.name(), type.name()));
  return call(std::move(kernel), {value}, "convert");
}

ExpressionId ExpressionPool::as_condition(ExpressionId condition) {
  const ValueType& type = expressions_[condition].type;
  if (type.is_list())
    throw Error(ErrorKind::type, fmt::format("a condition must be one value, got {}", type.name()),
                type.is_optional() ? "say what holds where there is no value: (...).value_or(false)"
                                   : "take Any(x), All(x) or Sum(x) of a list, or one of its items");
  if (!type.is_integer() && !type.is_floating())
    throw Error(ErrorKind::type, fmt::format("a condition must be a bool or a number, got {}", type.name()));
  return convert(condition, ElementType::boolean);
}

ExpressionId ExpressionPool::logical(Op op, ExpressionId left, ExpressionId right) {
  left = as_condition(left);
  right = as_condition(right);
  const bool decides = op == Op::logical_or;  // the value of the left side that decides
  if (left == right) return left;
  if (expressions_[left].op == Op::constant)
    return truth_of(*expressions_[left].constant) == decides ? left : right;
  if (expressions_[right].op == Op::constant && truth_of(*expressions_[right].constant) != decides)
    return left;
  Expression expression;
  expression.op = op;
  expression.type = ElementType::boolean;
  expression.arguments = {left, right};
  return add(std::move(expression), {});
}

ExpressionId ExpressionPool::choose(ExpressionId condition, ExpressionId yes, ExpressionId no) {
  if (!(expressions_[yes].type == expressions_[no].type))
    throw Error(ErrorKind::type, fmt::format("'?:' chooses between values of one type, got {} and {}",
                                             expressions_[yes].type.name(), expressions_[no].type.name()));
  condition = as_condition(condition);
  if (yes == no) return yes;
  if (expressions_[condition].op == Op::constant)
    return truth_of(*expressions_[condition].constant) ? yes : no;
  Expression expression;
  expression.op = Op::choose;
  expression.type = expressions_[yes].type;
  expression.arguments = {condition, yes, no};
  return add(std::move(expression), {});
}

}  // namespace colonnade::frame
