// Calls of functions and methods, casts and lists; see binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "frame/expression/binder.h"
#include "frame/expression/changes.h"
#include "frame/expression/maps.h"
#include "frame/expression/members.h"

namespace colonnade::frame {
namespace {

// numeric_limits<T>::name(), or empty.
template <class T>
ValuesPtr limit_of(std::string_view name) {
  using Limits = std::numeric_limits<T>;
  if (name == "max") return make_constant<T>(1, Limits::max());
  if (name == "min") return make_constant<T>(1, Limits::min());
  if (name == "lowest") return make_constant<T>(1, Limits::lowest());
  if (name == "epsilon") return make_constant<T>(1, Limits::epsilon());
  if (name == "infinity") return make_constant<T>(1, Limits::infinity());
  if (name == "quiet_NaN") return make_constant<T>(1, Limits::quiet_NaN());
  return nullptr;
}

ValuesPtr limit_of(ElementType element, std::string_view name) {
  switch (element) {
    case ElementType::int8:
      return limit_of<std::int8_t>(name);
    case ElementType::uint8:
      return limit_of<std::uint8_t>(name);
    case ElementType::int16:
      return limit_of<std::int16_t>(name);
    case ElementType::uint16:
      return limit_of<std::uint16_t>(name);
    case ElementType::int32:
      return limit_of<std::int32_t>(name);
    case ElementType::uint32:
      return limit_of<std::uint32_t>(name);
    case ElementType::int64:
      return limit_of<std::int64_t>(name);
    case ElementType::uint64:
      return limit_of<std::uint64_t>(name);
    case ElementType::float32:
      return limit_of<float>(name);
    case ElementType::float64:
      return limit_of<double>(name);
    default:
      return nullptr;
  }
}

}  // namespace

// "std::vector<float>" of std::vector<float>{...}.
std::string Binder::written_type(const SyntaxNode& node) {
  if (node.template_types.empty()) return node.text;
  return fmt::format("{}<{}>", node.text, fmt::join(node.template_types, ", "));
}

ExpressionId Binder::call(const SyntaxNode& node) {
  const std::string_view name = without_namespace(node.text);
  if (name.starts_with("numeric_limits::")) return limit(node);
  if (name == object_of_members) return record(node, *type_of_name(node.type), node.children);
  if (is_over_items(node)) return over_items(node);
  if (const auto made = product(node)) return *made;
  if (const auto map = type_of_name(written_type(node)); map && is_map(*map)) return map_of_items(node, *map);
  const Function* function = node.braces ? nullptr : functions_.find(name);
  if (function == nullptr && !node.braces) function = scope_.find_function(node.text);
  if (function == nullptr) {
    const auto type = type_of_name(written_type(node));
    if (type && !type->is_record()) return construct(node, *type);
    if (type && is_class(*type)) return object(node, *type, node.children);
    function =
        functions_.find(type ? type->class_name() : name);  // of a class: PtEtaPhiMVector{pt, eta, phi, m}
    if (function == nullptr) function = scope_.find_function(node.text);  // of a user's class
    if (function == nullptr) unknown_function(node);
  }
  if (const auto extreme = extreme_of_list(node, *function)) return *extreme;
  const std::vector<ExpressionId> arguments = bind_all(node.children);
  if (const auto sorted = sorted_products(node, arguments)) return *sorted;
  if (!node.template_types.empty()) return call_with_types(node, *function, arguments);
  std::string why_not;
  if (const auto result = invoke(node, *function, node.text, arguments, {}, why_not)) return *result;
  cannot_call(node, *function, arguments, why_not);
}

// std::max({a, b, c}), in their common type.
std::optional<ExpressionId> Binder::extreme_of_list(const SyntaxNode& node, const Function& function) {
  const std::string_view name = without_namespace(node.text);
  if ((name != "min" && name != "max") || node.children.size() != 1) return std::nullopt;
  const SyntaxNode& listed = syntax_[node.children.front()];
  if (listed.kind != NodeKind::list || listed.children.empty()) return std::nullopt;
  std::vector<ExpressionId> items = bind_all(listed.children);
  for (ExpressionId& item : items)
    if (!node.template_types.empty()) item = with_items_of(node, item, node.template_types.front());
  ExpressionId found = items.front();
  for (const ExpressionId item : std::span(items).subspan(1)) {
    std::string why_not;
    const auto either = invoke(node, function, node.text, {found, item}, {}, why_not);
    if (!either) cannot_call(node, function, {found, item}, why_not);
    found = *either;
  }
  return node.template_types.empty() ? found : with_items_of(node, found, node.template_types.front());
}

namespace {

// What does the same as functions and classes of C++ and ROOT that are not known.
std::string_view replacement(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"accumulate", "Sum(list)"},
      {"reduce", "Sum(list)"},
      {"count", "Sum(list == value)"},
      {"count_if", "Sum(list > 3), with any condition"},
      {"any_of", "Any(list > 3), with any condition"},
      {"all_of", "All(list > 3), with any condition"},
      {"none_of", "!Any(list > 3), with any condition"},
      {"max_element", "Max(list), or ArgMax(list)"},
      {"min_element", "Min(list), or ArgMin(list)"},
      {"sort", "Sort(list)"},
      {"unique", "list.erase(std::unique(list.begin(), list.end()), list.end())"},
      {"remove", "list.erase(std::remove(list.begin(), list.end(), value), list.end())"},
      {"remove_if", "list.erase(std::remove_if(list.begin(), list.end(), condition), list.end())"},
      {"copy", "it as a statement of its own"},
      {"copy_if", "it as a statement of its own"},
      {"transform", "Map(list, [](auto v) { return v * 2; })"},
      {"TMath::Mean", "Mean(list)"},
      {"bitset", "(number >> bit) & 1"},
      {"Form", "std::to_string(number), and texts with +"}};
  for (const auto& [unknown, instead] : known)
    if (unknown == name) return instead;
  return {};
}

}  // namespace

void Binder::unknown_function(const SyntaxNode& node) const {
  if (!node.template_types.empty() && node.braces)
    fail(ErrorKind::not_found, node.mark, fmt::format("unknown type '{}'", written_type(node)));
  const std::string_view name = without_namespace(node.text);
  if (const auto instead = replacement(name); !instead.empty())
    fail(ErrorKind::not_found, node.mark, fmt::format("unknown function '{}'; write {}", node.text, instead));
  std::vector<std::string> known = functions_.names(false);
  known.insert(known.end(), {"Filter", "Map"});
  std::ranges::move(scope_.function_names(), std::back_inserter(known));
  fail(ErrorKind::not_found, node.mark,
       fmt::format("unknown function '{}'{}", node.text,
                   name == "len" ? std::string("; did you mean 'size'?") : near_names(name, known)));
}

ExpressionId Binder::method(const SyntaxNode& node) {
  std::vector<ExpressionId> arguments = {bind(node.children.front())};
  if (is_map(this->type(arguments.front()))) return map_method(node, arguments.front());
  for (const NodeIndex argument : std::span(node.children).subspan(1)) arguments.push_back(bind(argument));
  const ValueType type = this->type(arguments.front());
  if (const auto found = method_of_class(node, node.text, arguments)) return *found;
  if (node.text == "operator()" && arguments.size() == 2 && type.is_record() &&
      type.class_name() == "ROOT::Math::Boost")
    return apply_named(node, "ROOT::Math::VectorUtil::boost", {arguments[1], arguments[0]});
  if (node.text == "operator()")
    fail(ErrorKind::usage, node.mark, "only functions and methods can be called, by their names");
  const Function* const function = functions_.find(fmt::format(".{}", node.text));
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, node.text, arguments, {}, why_not)) return *result;
  const ValueType& inner = type.innermost();
  if (inner.is_record() && inner.find_member(node.text) < inner.members().size())
    fail(ErrorKind::not_found, node.mark,
         fmt::format("'{}' is a member of {}, not a method; write it without ()", node.text, type.name()));
  if (function == nullptr)
    fail(ErrorKind::not_found, node.mark,
         fmt::format("unknown method '{}'{}", node.text, near_names(node.text, functions_.names(true))));
  fail(ErrorKind::type, node.mark,
       fmt::format("'{}' of {} cannot be called: {}", node.text, type.name(), why_not),
       fmt::format("it is {}", function->signature));
}

// ---- Types

ExpressionId Binder::record(const SyntaxNode& node, const ValueType& type,
                            std::span<const NodeIndex> members) {
  const auto wanted = type.members();
  if (members.empty()) return pool_.constant(zero_of(type));
  if (members.size() != wanted.size())
    fail(ErrorKind::type, node.whole,
         fmt::format("{} has {} members, got {}", type.name(), wanted.size(), members.size()));
  std::vector<ExpressionId> values;
  for (std::size_t i = 0; i < wanted.size(); ++i) values.push_back(item_of(members[i], wanted[i].second));
  return pool_.call(record_kernel(type), std::move(values), type.name());
}

// std::make_pair(a, b), std::pair<int, float>(a, b), std::get<0>(c) and similar ones.
std::optional<ExpressionId> Binder::product(const SyntaxNode& node) {
  const std::string written = written_type(node);
  const bool has_types = written.find('<') != std::string::npos;
  std::string_view name = without_namespace(written);
  name = name.substr(0, name.find('<'));
  if (name == "get" && node.template_types.size() == 1 && node.children.size() == 1) {
    const ExpressionId object = bind(node.children.front());
    const auto members =
        type(object).is_record() ? type(object).members() : std::span<const ValueType::Member>();
    const std::string& digits = node.template_types.front();
    std::size_t index = members.size();
    if (digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string::npos)
      index = std::stoul(digits);
    if (!is_product(type(object)) || index >= members.size())
      fail(ErrorKind::type, node.whole, fmt::format("{} has no member <{}>", type(object).name(), digits));
    return pool_.call(member_kernel(type(object), index), {object}, ".get");
  }
  if (name == "pair" || name == "tuple") {
    const auto type = has_types ? type_of_name(written) : std::nullopt;
    if (type && node.children.size() == 1 && type->members().size() != 1) {
      const ExpressionId value = bind_as(node.children.front(), type);
      return at(node.whole, [&] { return pool_.convert(value, *type); });
    }
    if (type) return record(node, *type, node.children);
  }
  const bool makes = name == "make_pair" || name == "make_tuple" || name == "pair" || name == "tuple";
  if (!makes || has_types || node.children.empty()) return std::nullopt;
  const bool is_pair = name.ends_with("pair");
  if (is_pair && node.children.size() != 2) fail(ErrorKind::type, node.whole, "a pair has two members");
  const std::vector<ExpressionId> values = bind_all(node.children);
  std::vector<ValueType::Member> members;
  std::string types;
  for (const ExpressionId value : values) {
    types += fmt::format("{}{}", types.empty() ? "" : ",", type(value).name());
    members.emplace_back(fmt::format("_{}", members.size()), type(value));
  }
  const ValueType type =
      ValueType::record(fmt::format("std::{}<{}>", is_pair ? "pair" : "tuple", types), std::move(members));
  return pool_.call(record_kernel(type), values, type.name());
}

ExpressionId Binder::cast(const SyntaxNode& node, std::string_view type, ExpressionId value) {
  const std::string target(type);
  const Function* const function = functions_.find("cast");
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, target, {value}, std::span(&target, 1), why_not))
      return *result;
  fail(ErrorKind::type, node.mark,
       fmt::format("{} cannot be cast to {}{}{}", this->type(value).name(), target,
                   why_not.empty() ? "" : ": ", why_not));
}

// float(x), int{x}, RVecF{a, b}, std::vector<int>()
ExpressionId Binder::construct(const SyntaxNode& node, const ValueType& type) {
  // With a list type, braces hold items and parentheses arguments, as in C++; T{x} of a list x is a copy.
  if (type.is_list() && node.braces && node.children.size() == 1 &&
      syntax_[node.children.front()].kind != NodeKind::list) {
    const ExpressionId value = bind(node.children.front());
    if (this->type(value).depth() == type.depth()) return cast(node, written_type(node), value);
  }
  if (type.is_list() && (node.braces || node.children.empty()))
    return filled(node, written_type(node), list(node, type.item()), node.children.size());
  if (type.is_list() && node.children.size() == 1) {
    const SyntaxNode& inner = syntax_[node.children.front()];
    if (inner.kind == NodeKind::list) return list(inner, type.item());
  }
  if (type.is_list() && node.children.size() == 2 && syntax_[node.children[0]].list)
    return inserted(node, type, pool_.constant(empty_list(type.item())), number(0), node.children);
  if (type.is_list() && node.children.size() <= 2)
    if (const auto filled = fill(node, type.item())) return *filled;
  if (node.children.empty()) return pool_.constant(zero_of(type));
  if (node.children.size() != 1)
    fail(ErrorKind::type, node.whole,
         fmt::format("{} is made from one value, got {}", written_type(node), node.children.size()));
  return cast(node, written_type(node), bind(node.children.front()));
}

// RVecF(n) and RVecF(n, value); empty if the only argument is to be converted.
std::optional<ExpressionId> Binder::fill(const SyntaxNode& node, const ValueType& item) {
  const ExpressionId size = bind(node.children.front());
  if (node.children.size() == 1 && !type(size).is_integer()) return std::nullopt;
  const ExpressionId value = node.children.size() == 1 ? zero(node, item) : item_of(node.children[1], item);
  return pool_.call(resize_list(ValueType::list(item)),
                    {pool_.constant(empty_list(item)), count_of(node, node.children.front()), value},
                    written_type(node));
}

ExpressionId Binder::item_of(NodeIndex index, const ValueType& item) {
  ExpressionId value = bind_as(index, item);
  // A constructor of one argument converts.
  if (is_class(item) && type(value) != item) value = object(syntax_[index], item, std::span(&index, 1));
  return at(syntax_[index].whole, [&] { return pool_.convert(value, item); });
}

ExpressionId Binder::count_of(const SyntaxNode& node, NodeIndex index) {
  const ExpressionId count = bind(index);
  if (!type(count).is_integer())
    fail(ErrorKind::type, syntax_[index].whole,
         fmt::format("'{}' needs an integer as number of items, got {}", written_type(node),
                     type(count).name()));
  return pool_.convert(count, ElementType::int64);
}

ExpressionId Binder::list(const SyntaxNode& node, const std::optional<ValueType>& item) {
  if (node.children.empty()) {
    if (!item)
      fail(ErrorKind::type, node.whole, "a list without items has no type; write ROOT::RVecF{}, say");
    return pool_.constant(empty_list(*item));
  }
  std::vector<ExpressionId> items;
  for (const NodeIndex child : node.children) {
    items.push_back(item ? item_of(child, *item) : bind(child));
  }
  const Function* const function = functions_.find("make_list");
  std::string why_not;
  if (function != nullptr)
    if (const auto result = invoke(node, *function, "{}", items, {}, why_not)) return *result;
  fail(ErrorKind::type, node.whole, fmt::format("no list can be made of {}: {}", types_of(items), why_not));
}

ExpressionId Binder::limit(const SyntaxNode& node) {
  const std::string_view name = std::string_view(node.text).substr(node.text.rfind(':') + 1);
  const auto type = node.template_types.size() == 1 ? type_of_name(node.template_types[0]) : std::nullopt;
  const ValuesPtr value = type && type->is_scalar() ? limit_of(type->element(), name) : nullptr;
  if (value == nullptr || !node.children.empty())
    fail(ErrorKind::not_found, node.whole,
         "numeric_limits has only max, min, lowest, epsilon, infinity and quiet_NaN of numbers");
  return pool_.constant(value);
}

}  // namespace colonnade::frame
