// See text_functions.h. A function is bound once for each combination of argument types.
#include "frame/expression/text_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "colonnade/error.h"
#include "frame/expression/binder.h"
#include "frame/expression/lambda.h"
#include "frame/expression/recursion.h"
#include "frame/expression/syntax.h"

namespace colonnade::frame {
namespace {

constexpr std::uint32_t deepest_calls = 1000;

class BodyKernel final : public Kernel {
 public:
  BodyKernel(LambdaBody body, bool is_constant) : body_(std::move(body)), is_constant_(is_constant) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    return run_body(body_, context, context.rows, {arguments.begin(), arguments.end()});
  }
  const ValueType& result() const noexcept override { return body_.type(); }
  std::string key() const override { return body_.text; }
  bool only_where_needed() const noexcept override { return only_where_needed_; }
  bool takes_large_blocks() const noexcept override { return large_blocks_; }
  // Functions may take long.
  bool foldable() const noexcept override { return is_constant_; }
  const LambdaBody& body() const noexcept { return body_; }

 private:
  LambdaBody body_;
  bool is_constant_;
  bool only_where_needed_ = body_.only_where_needed();
  bool large_blocks_ = body_.takes_large_blocks();
};

// "struct P{float pt;}" of a record, unless it is a known class.
std::string spelled_type(const ValueType& type) {
  if (type.is_list() && !type.is_optional() && !type.is_string())
    return fmt::format("std::vector<{}>", spelled_type(ValueType(type.item())));
  if (!type.is_record() || type.is_variant() || type_of_name(type.class_name())) return type.name();
  std::string members;
  for (const auto& [name, member] : type.members())
    members += fmt::format("{} {};", spelled_type(member), name);
  return fmt::format("struct {}{{{}}}", type.class_name(), members);
}

// A type as a text has it, where classes are spelled with their members.
std::string shown(std::string_view type) {
  std::string text;
  int nested = 0;
  for (const char c : type) {
    if (c == '{') ++nested;
    if (nested == 0) text += c;
    if (c == '}') --nested;
  }
  for (std::size_t at = text.find("struct "); at != std::string::npos; at = text.find("struct ", at))
    text.erase(at, 7);
  return text;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The item type of a template in its parameter: "T" of the whole, that of "RVec<T>" is below one list.
std::optional<ValueType> deduced(const std::string& name, std::string_view written, const ValueType& given) {
  std::size_t at = 0;
  const auto stands_alone = [&] {
    const std::size_t end = at + name.size();
    return (at == 0 || !is_word(written[at - 1])) && (end == written.size() || !is_word(written[end]));
  };
  for (at = written.find(name); at != std::string_view::npos && !stands_alone();)
    at = written.find(name, at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  ValueType type = given;
  for (const char c : written.substr(0, at)) {
    if (c != '<') continue;
    if (!type.is_list()) return std::nullopt;
    type = ValueType(type.item());
  }
  return type;
}

}  // namespace

// A function can call those before it.
class TextFunctions::Impl {
 public:
  explicit Impl(std::string text) : written_(text), syntax_(parse_functions(std::move(text))) {
    for (std::size_t i = 0; i < syntax_.functions.size(); ++i) {
      const FunctionSyntax& function = syntax_.functions[i];
      functions_.push_back({function.name, signature_of(function), [this, i](const Call& call) -> Bound {
                              std::vector<ValueType> types;
                              for (const Argument& argument : call.arguments) types.push_back(argument.type);
                              return {kernel(syntax_.functions[i].name, types, i + 1), {}};
                            }});
    }
    for (std::size_t i = 0; i < syntax_.functions.size(); ++i) check(i);
    for (std::size_t i = 0; i < syntax_.constants.size(); ++i) constant(i);
  }

  const FunctionsSyntax& syntax() const noexcept { return syntax_; }
  const Function* find(std::string_view name, std::size_t before) const;
  std::vector<std::string> names(std::size_t before) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < before; ++i) found.push_back(functions_[i].name);
    return found;
  }
  // Of the functions of this name among the first ones.
  KernelPtr kernel(std::string_view name, std::span<const ValueType> types, std::size_t before);
  KernelPtr constant(std::size_t number) const;

 private:
  class FunctionScope;
  struct BoundFunction {
    KernelPtr kernel;
    std::uint32_t depth = 0;  // of operations within each other
  };
  static std::string signature_of(const FunctionSyntax& function);
  static std::vector<ValueType> parameter_types(const FunctionSyntax& function);
  void check(std::size_t number);
  KernelPtr kernel(std::size_t number, std::span<const ValueType> types);
  std::shared_ptr<SelfCall> begin_self_calls(std::size_t number, std::span<const ValueType> types);
  BoundFunction bind(std::size_t number, std::span<const ValueType> types);
  BoundFunction bind(const FunctionsSyntax& syntax, std::size_t number, std::span<const ValueType> types,
                     bool is_check = false) const;

  std::string written_;
  FunctionsSyntax syntax_;
  std::vector<Function> functions_;
  std::recursive_mutex mutex_;  // binding a function binds those that it calls
  std::map<std::string, BoundFunction> bound_;
  std::uint32_t deepest_call_ = 0;          // of the function that is bound
  std::map<std::size_t, Function> selves_;  // what functions are within their bodies, by number
};

// Functions see no columns.
class TextFunctions::Impl::FunctionScope final : public Scope {
 public:
  FunctionScope(const Impl& impl, std::size_t number) : impl_(impl), number_(number) {
    if (number < impl.functions_.size()) name_ = impl.functions_[number].name;
  }
  std::optional<ExpressionId> find(std::string_view) const override { return std::nullopt; }
  std::optional<ExpressionId> find_special(Op) const override {
    throw Error(ErrorKind::usage, "a function sees neither the entry nor the file",
                "a parameter for it, which the call gives");
  }
  std::vector<std::string> names() const override { return {}; }
  // Names are looked up in the namespace of the function, then in those around it.
  const Function* find_function(std::string_view name) const override {
    for (std::string_view around = name_; !around.empty();) {
      const std::size_t colons = around.rfind("::");
      around = colons == std::string_view::npos ? std::string_view() : around.substr(0, colons);
      if (around.empty()) break;
      if (const Function* found = of_name(fmt::format("{}::{}", around, name))) return found;
    }
    return of_name(name);
  }
  std::vector<std::string> function_names() const override { return impl_.names(number_); }

 private:
  const Function* of_name(std::string_view name) const {
    if (name == name_)
      if (const auto self = impl_.selves_.find(number_); self != impl_.selves_.end()) return &self->second;
    return impl_.find(name, number_);
  }

  const Impl& impl_;
  std::size_t number_;
  std::string_view name_;
};

const Function* TextFunctions::Impl::find(std::string_view name, std::size_t before) const {
  for (std::size_t i = before; i-- > 0;)
    if (functions_[i].name == name) return &functions_[i];
  return nullptr;
}

std::string TextFunctions::Impl::signature_of(const FunctionSyntax& function) {
  std::string parameters;
  for (const auto& [name, type, preset] : function.parameters)
    parameters += fmt::format("{}{}{}{}{}", parameters.empty() ? "" : ", ", shown(type),
                              name.empty() ? "" : " ", spelled_name(name), preset ? " = ..." : "");
  return fmt::format("{} {}({})", shown(function.result), function.name, parameters);
}

// Empty unless all are known.
std::vector<ValueType> TextFunctions::Impl::parameter_types(const FunctionSyntax& function) {
  std::vector<ValueType> types;
  for (const auto& [name, type, preset] : function.parameters)
    if (const auto known = type_of_name(type)) types.push_back(*known);
  return types.size() == function.parameters.size() ? types : std::vector<ValueType>();
}

// Binds it with the types of its parameters.
void TextFunctions::Impl::check(std::size_t number) {
  const FunctionSyntax& function = syntax_.functions[number];
  if (find_function(function.name) != nullptr || type_of_name(function.name))
    throw error_at(
        ErrorKind::usage, syntax_.nodes.text, function.mark,
        fmt::format("'{}' is already a function of the language; use another name", function.name));
  const auto is_same = [](const FunctionSyntax::Parameter& a, const FunctionSyntax::Parameter& b) {
    return a.type == b.type || (type_of_name(a.type) && type_of_name(a.type) == type_of_name(b.type));
  };
  for (std::size_t i = 0; i < number; ++i) {
    const FunctionSyntax& before = syntax_.functions[i];
    if (before.name == function.name && std::ranges::equal(before.parameters, function.parameters, is_same))
      throw error_at(ErrorKind::usage, syntax_.nodes.text, function.mark,
                     fmt::format("there is already a function '{}' with these parameters", function.name));
  }
  if (!function.templates.empty()) return;
  for (const auto& [name, type, preset] : function.parameters) {
    if (type == "auto") return;
    if (!type_of_name(type))
      throw error_at(ErrorKind::not_found, syntax_.nodes.text, function.mark,
                     fmt::format("unknown type '{}' of a parameter", type));
  }
  if (function.has_effects)
    bind(syntax_, number, parameter_types(function), true);
  else
    kernel(number, parameter_types(function));
}

KernelPtr TextFunctions::Impl::kernel(std::string_view name, std::span<const ValueType> types,
                                      std::size_t before) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < before; ++i)
    if (syntax_.functions[i].name == name) candidates.push_back(i);
  for (const std::size_t i : candidates)
    if (std::ranges::equal(parameter_types(syntax_.functions[i]), types) &&
        syntax_.functions[i].parameters.size() == types.size())
      return kernel(i, types);
  std::exception_ptr refused;
  for (const std::size_t i : candidates) try {
      return kernel(i, types);
    } catch (const Error&) {
      if (refused == nullptr) refused = std::current_exception();
    }
  if (refused != nullptr) std::rethrow_exception(refused);
  throw Error(ErrorKind::not_found, fmt::format("the text has no function '{}'", name));
}

KernelPtr TextFunctions::Impl::kernel(std::size_t number, std::span<const ValueType> types) {
  std::string key = fmt::format("{}", number);
  for (const ValueType& type : types) key += fmt::format(" {}", type.name());
  const std::scoped_lock lock(mutex_);
  auto known = bound_.find(key);
  if (known == bound_.end()) {
    const std::uint32_t around = std::exchange(deepest_call_, 0);
    const std::shared_ptr<SelfCall> self = begin_self_calls(number, types);
    try {
      BoundFunction made = bind(number, types);
      made.depth += deepest_call_;
      if (self != nullptr) self->function = made.kernel;
      if (self != nullptr) self->depth = made.depth;
      // What is evaluated within each other needs a part of the stack.
      if (made.depth > deepest_calls)
        throw error_at(
            ErrorKind::usage, syntax_.nodes.text, syntax_.functions[number].mark,
            fmt::format("more than {} nested operations, with the functions that it calls", deepest_calls));
      known = bound_.emplace(std::move(key), std::move(made)).first;
    } catch (...) {
      if (self != nullptr) selves_.erase(number);
      deepest_call_ = around;
      throw;
    }
    deepest_call_ = around;
  }
  deepest_call_ = std::max(deepest_call_, known->second.depth);
  return known->second.kernel;
}

// Within its body, a function has the types that it declares. None for one that may not call itself.
std::shared_ptr<SelfCall> TextFunctions::Impl::begin_self_calls(std::size_t number,
                                                                std::span<const ValueType> types) {
  const FunctionSyntax& function = syntax_.functions[number];
  const auto result = function.result == "auto" ? std::nullopt : type_of_name(function.result);
  const std::vector<ValueType> declared = parameter_types(function);
  if (!result || !function.templates.empty() || !std::ranges::equal(declared, types)) return nullptr;
  const auto self = std::make_shared<SelfCall>(SelfCall{function.name, *result, declared, {}, 1});
  const bool is_overloaded = find(function.name, number) != nullptr;
  selves_[number] = {function.name, signature_of(function),
                     [this, self, number, is_overloaded](const Call& call) {
                       std::vector<ValueType> given;
                       for (const Argument& argument : call.arguments) given.push_back(argument.type);
                       if (is_overloaded && given != self->parameters)
                         return Bound{kernel(self->name, given, number), {}};
                       return bind_self_call(self, call);
                     }};
  return self;
}

TextFunctions::Impl::BoundFunction TextFunctions::Impl::bind(std::size_t number,
                                                             std::span<const ValueType> types) {
  const FunctionSyntax& function = syntax_.functions[number];
  if (function.templates.empty()) return bind(syntax_, number, types);
  TemplateTypes chosen{number, {}};
  bool takes_flags = false;
  for (std::size_t at = 0; at < function.templates.size(); ++at) {
    const std::string& name = function.templates[at];
    const std::string& preset = function.presets[at];
    std::optional<ValueType> found;
    for (std::size_t i = 0; i < std::min(types.size(), function.parameters.size()) && !found; ++i)
      found = deduced(name, function.parameters[i].type, types[i]);
    if (!found && preset.empty())
      throw Error(ErrorKind::type, fmt::format("the type '{}' of '{}' does not follow from the arguments",
                                               name, function.name));
    chosen.types.emplace_back(name, found ? spelled_type(*found) : preset);
    takes_flags = takes_flags || (found && found->innermost() == ElementType::boolean);
  }
  FunctionsSyntax made = parse_functions(written_, &chosen);
  made.functions[number].takes_flags = takes_flags;
  return bind(made, number, types);
}

TextFunctions::Impl::BoundFunction TextFunctions::Impl::bind(const FunctionsSyntax& syntax,
                                                             std::size_t number,
                                                             std::span<const ValueType> types,
                                                             bool is_check) const {
  const FunctionSyntax& function = syntax.functions[number];
  if (function.has_effects && !is_check)
    throw Error(ErrorKind::type, fmt::format("'{}' changes its arguments or returns nothing", function.name),
                function.templates.empty() ? "only functions of the same text can call it"
                                           : "a function without a template can do that");
  const FunctionScope scope(*this, number);
  const auto pool = std::make_shared<ExpressionPool>();
  Binder binder(syntax.nodes, *pool, scope);
  const ExpressionId result =
      binder.bind_function(function, std::span(syntax.constants).first(function.constants), types);
  std::string given;
  for (const ValueType& type : types) given += fmt::format(" {}", type.name());
  LambdaBody body{pool, result, types.size(),
                  fmt::format("function {} {}{} of {}", number, function.name, given, written_)};
  return {std::make_shared<BodyKernel>(std::move(body), false), syntax.nodes[function.body].depth};
}

// As a function of nothing.
KernelPtr TextFunctions::Impl::constant(std::size_t number) const {
  const SyntaxNode& node = syntax_.nodes[syntax_.constants[number]];
  const FunctionScope scope(*this, functions_.size());
  const auto pool = std::make_shared<ExpressionPool>();
  Binder binder(syntax_.nodes, *pool, scope);
  const ExpressionId result = binder.bind_constant(std::span(syntax_.constants).first(number + 1));
  return std::make_shared<BodyKernel>(
      LambdaBody{pool, result, 0, fmt::format("constant {} of {}", node.text, written_)}, true);
}

TextFunctions::TextFunctions(std::string text) : impl_(std::make_shared<Impl>(std::move(text))) {}

std::vector<TextFunctions::Signature> TextFunctions::signatures() const {
  std::vector<Signature> found;
  for (const FunctionSyntax& function : impl_->syntax().functions) {
    found.push_back({function.name, shown(function.result), {}});
    for (const auto& [name, type, preset] : function.parameters)
      found.back().parameters.push_back(shown(type));
  }
  for (std::size_t i = 0; i < impl_->syntax().constants.size(); ++i)
    found.push_back({std::string(spelled_name(impl_->syntax().nodes[impl_->syntax().constants[i]].text)),
                     impl_->constant(i)->result().name(),
                     {},
                     true});
  return found;
}

bool TextFunctions::is_constant(std::string_view name) const {
  const FunctionsSyntax& syntax = impl_->syntax();
  return std::ranges::any_of(syntax.constants,
                             [&](auto number) { return spelled_name(syntax.nodes[number].text) == name; });
}

KernelPtr TextFunctions::kernel(std::string_view name, std::span<const ValueType> types) const {
  const FunctionsSyntax& syntax = impl_->syntax();
  for (std::size_t i = 0; i < syntax.constants.size() && types.empty(); ++i)
    if (spelled_name(syntax.nodes[syntax.constants[i]].text) == name) return impl_->constant(i);
  return impl_->kernel(name, types, syntax.functions.size());
}

const LambdaBody* body_of_function(const Kernel& kernel) {
  const auto* const function = dynamic_cast<const BodyKernel*>(&kernel);
  return function != nullptr ? &function->body() : nullptr;
}

}  // namespace colonnade::frame
