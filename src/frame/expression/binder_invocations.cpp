// Calls that change variables, and exceptions; see binder.h and invocations.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "frame/expression/binder.h"
#include "frame/functions/lists.h"
#include "frame/functions/strings.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// Of (message): an error for the first row. Its result is of any type.
class ExceptionKernel final : public Kernel {
 public:
  explicit ExceptionKernel(ValueType type) : type_(std::move(type)) {}
  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const Values& message = *arguments.front();
    lists::fail_at(context, 0, fmt::format("an exception was thrown: {}", Strings(message)[0]),
                   "look at this entry, or filter such entries before");
  }
  const ValueType& result() const noexcept override { return type_; }
  std::string key() const override { return fmt::format("throw {}", type_.name()); }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }

 private:
  ValueType type_;
};

}  // namespace

ExpressionId Binder::exception(const SyntaxNode& node) {
  const ExpressionId message = bind(node.children.front());
  if (!type(message).is_string())
    fail(ErrorKind::type, node.whole, fmt::format("what is thrown has a text, got {}", type(message).name()));
  return pool_.call(std::make_shared<ExceptionKernel>(ElementType::boolean), {message}, "throw");
}

ExpressionId Binder::exception_of(std::string_view message) {
  return pool_.call(std::make_shared<ExceptionKernel>(ElementType::boolean),
                    {pool_.constant(make_constant_string(1, message))}, "throw");
}

bool Binder::is_exception(ExpressionId id) const {
  return dynamic_cast<const ExceptionKernel*>(pool_[id].kernel.get()) != nullptr;
}

// Where a value should be.
ExpressionId Binder::exception_as(ExpressionId id, const ValueType& type) {
  return pool_.call(std::make_shared<ExceptionKernel>(type), pool_[id].arguments, "throw");
}

ExpressionId Binder::converted(ExpressionId value, const ValueType& wanted) {
  return is_exception(value) ? exception_as(value, wanted) : pool_.convert(value, wanted);
}

// A call whose lambda changes variables: its body is followed like statements of this one. What it throws
// leaves this one, too.
void Binder::invocation(const SyntaxNode& node, Outcome& outcome) {
  const SyntaxNode& call = syntax_[node.children.front()];
  const SyntaxNode& lambda = syntax_[call.children.front()];
  const std::size_t around = locals_.size();
  std::vector<Local> arguments = arguments_of(call, lambda, node.parameters);
  std::ranges::move(arguments, std::back_inserter(locals_));
  const std::optional<ValueType> wanted = type_in(lambda, lambda.type);
  const std::optional<ValueType> type_around = std::exchange(result_type_, wanted);
  ++followed_;
  Outcome inside;
  const NodeIndex body = lambda.children.front();
  if (syntax_[body].kind == NodeKind::body) {
    run(body, inside);
  } else {
    leave({.condition = truth(true), .value = bind_as(body, wanted)}, inside);
  }
  --followed_;
  result_type_ = type_around;

  std::vector<Exit> returns;
  for (Exit& exit : inside.exits) {
    if (!is_exception(exit.value)) {
      returns.push_back(std::move(exit));
      continue;
    }
    Exit thrown = exit;
    for (const Exit& before : std::views::reverse(returns))
      thrown.condition = choose(node, before.condition, truth(false), thrown.condition);
    outcome.exits.push_back(std::move(thrown));
    returns.push_back(std::move(exit));
  }
  finish(node, lambda, wanted, returns, around, outcome);
}

// The variables and the result where the paths through the lambda meet.
void Binder::finish(const SyntaxNode& node, const SyntaxNode& lambda, const std::optional<ValueType>& wanted,
                    std::vector<Exit>& exits, std::size_t around, Outcome& outcome) {
  // Those that throw lead nowhere, so that any value is right for them.
  std::erase_if(exits, [this](const Exit& exit) { return is_exception(exit.value); });
  if (exits.empty()) {
    outcome.leads_on = false;
    locals_.erase(locals_.begin() + static_cast<std::ptrdiff_t>(around), locals_.end());
    locals_.push_back({node.text, ElementType::boolean, truth(false)});
    return;
  }
  meet(node, exits, Exit::Kind::result, false);
  ExpressionId result = *choose_among(node, std::span(exits).first(exits.size() - 1), exits.back().value,
                                      [](const Exit& exit) { return std::optional(exit.value); });
  if (wanted) result = at(lambda.whole, [&] { return pool_.convert(result, *wanted); });
  const std::vector<Local> inner = locals_;
  locals_.erase(locals_.begin() + static_cast<std::ptrdiff_t>(around), locals_.end());
  for (std::size_t i = 0; i < node.parameters.size(); ++i) {
    const auto changed = std::ranges::find(inner.begin() + static_cast<std::ptrdiff_t>(around), inner.end(),
                                           std::string_view(node.parameters[i]), &Local::name);
    if (changed->value) store(node, node.children[i + 1], *changed->value);
  }
  locals_.push_back({node.text, type(result), result});
}

}  // namespace colonnade::frame
