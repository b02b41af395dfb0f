// Names: local variables, columns, members, named constants; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <ranges>

#include "frame/expression/binder.h"
#include "frame/expression/members.h"
#include "frame/expression/special_names.h"

namespace colonnade::frame {
namespace {

struct NamedConstant {
  std::string_view name;
  ValuesPtr value;
};

// The macros of <cmath>, <climits> and <cfloat> that analyses use.
const std::vector<NamedConstant>& named_constants() {
  using namespace std::numbers;
  const auto number = [](auto value) { return make_constant(1, value); };
  static const std::vector<NamedConstant> constants = {
      {"M_PI", number(pi)},
      {"M_PI_2", number(pi / 2)},
      {"M_PI_4", number(pi / 4)},
      {"M_1_PI", number(inv_pi)},
      {"M_2_PI", number(2 * inv_pi)},
      {"M_2_SQRTPI", number(2 * inv_sqrtpi)},
      {"M_E", number(e)},
      {"M_LOG2E", number(log2e)},
      {"M_LOG10E", number(log10e)},
      {"M_LN2", number(ln2)},
      {"M_LN10", number(ln10)},
      {"M_SQRT2", number(sqrt2)},
      {"M_SQRT1_2", number(sqrt2 / 2)},
      {"std::string::npos", number(~std::uint64_t{0})},
      {"string::npos", number(~std::uint64_t{0})},
      {"INFINITY", number(std::numeric_limits<float>::infinity())},
      {"NAN", number(std::numeric_limits<float>::quiet_NaN())},
      {"INT_MAX", number(std::numeric_limits<int>::max())},
      {"INT_MIN", number(std::numeric_limits<int>::min())},
      {"UINT_MAX", number(std::numeric_limits<unsigned>::max())},
      {"FLT_MAX", number(std::numeric_limits<float>::max())},
      {"FLT_MIN", number(std::numeric_limits<float>::min())},
      {"FLT_EPSILON", number(std::numeric_limits<float>::epsilon())},
      {"DBL_MAX", number(std::numeric_limits<double>::max())},
      {"DBL_MIN", number(std::numeric_limits<double>::min())},
      {"DBL_EPSILON", number(std::numeric_limits<double>::epsilon())},
      {"kTRUE", number(true)},
      {"kFALSE", number(false)},
  };
  return constants;
}

const NamedConstant* find_constant(std::string_view name) {
  const auto found = std::ranges::find(named_constants(), name, &NamedConstant::name);
  return found == named_constants().end() ? nullptr : &*found;
}

}  // namespace

std::string column_text(std::string_view name) {
  try {
    const Formula::Syntax syntax = parse(std::string(name));
    if (dotted_path(syntax, syntax.root) == name && !is_named_constant(name)) return std::string(name);
  } catch (const Error&) {  // not a plain name
  }
  if (name.empty() || name.find('`') != std::string_view::npos)
    throw Error(ErrorKind::usage, fmt::format("'{}' is not a column name that expressions can spell", name),
                "another name, without '`'");
  return fmt::format("`{}`", name);
}

bool is_named_constant(std::string_view name) {
  return find_constant(name) != nullptr;
}

// A local variable, a constant, or a column.
ExpressionId Binder::name(NodeIndex index) {
  const SyntaxNode& node = syntax_[index];
  if (node.quoted) {
    if (const auto column = at(node.whole, [&] { return scope_.find(node.text); })) return *column;
    unknown_column(node, node.text);
  }
  for (const Local& local : std::views::reverse(locals_))
    if (local.name == node.text) return at(node.whole, [&] { return value_of(local); });
  if (const NamedConstant* constant = find_constant(node.text)) return pool_.constant(constant->value);
  if (const auto column = look_up(node, node.text)) return *column;
  std::string why_not;
  if (const Function* const constant = scope_.find_function(node.text); constant && constant->is_constant)
    if (const auto value = invoke(node, *constant, node.text, {}, {}, why_not)) return *value;
  unknown_column(node, node.text);
}

ExpressionId Binder::special(Op op) const {
  const auto found = scope_.find_special(op);
  return found ? *found : pool_.special(op);
}

std::optional<ExpressionId> Binder::look_up(const SyntaxNode& node, std::string_view path) {
  if (const auto op = special_op(path)) return at(node.whole, [&] { return special(*op); });
  if (const auto found = at(node.whole, [&] { return scope_.find(path); })) return found;
  return path.starts_with('#') ? size_of_list(node, path.substr(1)) : std::nullopt;
}

// "#x" for a list x that is not a column of the source, or a variant of lists.
std::optional<ExpressionId> Binder::size_of_list(const SyntaxNode& node, std::string_view path) {
  const auto list = at(node.whole, [&] { return scope_.find(path); });
  const Function* const size = functions_.find(".size");
  if (!list || size == nullptr) return std::nullopt;
  std::string why_not;
  if (const auto made = invoke(node, *size, "size", {*list}, {}, why_not)) return made;
  fail(ErrorKind::type, node.whole, fmt::format("'{}' has no size: it {}", path, why_not));
}

// "a.b.c": the column of that name, or member c of "a.b", or members of a.
ExpressionId Binder::member(NodeIndex index) {
  std::vector<NodeIndex> levels;  // the outermost first
  NodeIndex object = index;
  for (; syntax_[object].kind == NodeKind::member; object = syntax_[object].children.front())
    levels.push_back(object);
  const SyntaxNode& base = syntax_[object];
  const bool is_local =
      base.kind == NodeKind::name && !base.quoted &&
      std::ranges::any_of(locals_, [&](const Local& local) { return local.name == base.text; });
  std::size_t known = levels.size();  // levels[known - 1] is the first that is a member
  std::optional<ExpressionId> value;
  if (base.kind == NodeKind::name && !is_local) {
    for (known = 0; known < levels.size() && !value; ++known)
      value = look_up(syntax_[levels[known]], dotted_path(syntax_, levels[known]));
    if (value) --known;
    if (!value) value = look_up(base, base.text);
    if (!value) unknown_column(syntax_[index], dotted_path(syntax_, index));
  } else {
    value = bind(object);
  }
  while (known-- > 0) value = member_of(syntax_[levels[known]], *value);
  return *value;
}

ExpressionId Binder::member_of(const SyntaxNode& node, ExpressionId object) {
  const ValueType type = this->type(object);
  return pool_.call(member_kernel(type, index_of_member(node, type)), {object},
                    fmt::format(".{}", node.text));
}

std::size_t Binder::index_of_member(const SyntaxNode& node, const ValueType& type) const {
  if (!type.innermost().is_record())
    fail(ErrorKind::type, node.mark, fmt::format("{} has no member '{}'", type.name(), node.text));
  const auto members = type.innermost().members();
  const bool is_pair = type.innermost().class_name().starts_with("std::pair<");
  std::size_t index = type.innermost().find_member(node.text);
  if (index == members.size() && is_pair && (node.text == "first" || node.text == "second"))
    index = node.text == "first" ? 0 : 1;
  if (index == members.size()) {
    std::vector<std::string> names;
    for (const auto& [name, member_type] : members) names.push_back(name);
    fail(ErrorKind::not_found, node.mark,
         fmt::format("{} has no member '{}'{}", type.name(), node.text, near_names(node.text, names)));
  }
  return index;
}

void Binder::unknown_column(const SyntaxNode& node, std::string_view path) const {
  if (path == "True" || path == "False")
    fail(ErrorKind::not_found, node.whole,
         fmt::format("there is no column '{}'; the constants are 'true' and 'false'", path));
  if (path == "np" || path == "numpy" || path == "ak" || path == "math")
    fail(ErrorKind::not_found, node.whole,
         fmt::format("there is no column '{}'; functions have no module in front: sqrt(x), Sum(x)", path));
  if (functions_.find(without_namespace(path)) != nullptr)
    fail(ErrorKind::not_found, node.whole,
         fmt::format("there is no column '{}'; the function is called as {}(...)", path, path));
  fail(ErrorKind::not_found, node.whole,
       fmt::format("there is no column '{}'{}", path, near_names(path, scope_.names())));
}

ExpressionId Binder::value_of(const Local& local) const {
  if (local.value) return *local.value;
  throw Error(ErrorKind::usage, fmt::format("'{}' may have no value here", spelled_name(local.name)),
              "a value where it is declared, or on all paths that lead here");
}

}  // namespace colonnade::frame
