// Assignments to variables and their items, and methods that change a list: a new value for the variable. See
// binder.h.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frame/expression/binder.h"
#include "frame/expression/changes.h"
#include "frame/expression/maps.h"
#include "frame/expression/members.h"
#include "frame/functions/physics.h"

namespace colonnade::frame {

// v[i][j] = x: v gets a list whose item i is a list whose item j is x.
void Binder::assign(const SyntaxNode& node) {
  const NodeIndex target = node.children.front();
  if (!node.type.empty() || takes_flags_) require_flags(node);
  if (!node.text.empty()) return store(node, target, changed(node, bind(target)));
  const ValueType wanted = type_of_target(target);
  ExpressionId value = bind_as(node.children[1], wanted);
  value = at(node.mark, [&] { return converted(value, wanted); });
  store(node, target, value);
}

// Items of comparisons are bools here, and ints in ROOT: where a variable has its type from them, a number
// that is neither 0 nor 1 would be another value than there.
void Binder::require_flags(const SyntaxNode& node) {
  NodeIndex root = node.children.front();
  while (syntax_[root].kind != NodeKind::name) root = syntax_[root].children.front();
  const ValueType& whole = local(syntax_[root].text).type;
  if (whole.innermost() != ElementType::boolean) return;
  if (!node.type.empty() && whole.is_scalar() && node.type != deduced_item) return;
  std::span<const NodeIndex> given = std::span(node.children).subspan(1);
  const bool begins_with_count = node.text == "resize" || node.text == "assign";
  if (begins_with_count && !given.empty() && !syntax_[given.front()].list) given = given.subspan(1);
  for (const NodeIndex value : given) {
    if (node.text == "erase" || syntax_[value].list || is_flag(value)) continue;
    if (node.type.empty()) require_flag(value);
    fail(ErrorKind::type, syntax_[value].whole,
         fmt::format(
             "'{0}' has the type of its first value, {1}, and would keep only whether this is 0; write "
             "{2} {0} = ...;",
             spelled_name(syntax_[root].text), whole.name(),
             whole.is_list() ? "ROOT::RVec<int> or ROOT::RVec<bool>" : "int or bool"));
  }
}

// The type of a template is bool where its argument is a mask, and int in ROOT.
void Binder::require_flag(NodeIndex value) {
  if (is_flag(value)) return;
  fail(ErrorKind::type, syntax_[value].whole,
       "the type of the template is bool, as that of the items of its argument, and would keep only whether "
       "this is 0",
       "call it with ROOT::RVec<int>(mask), as masks are in ROOT, or write int instead of the type");
}

// True, false, 0, 1, or lists of them.
bool Binder::is_flag(NodeIndex index) {
  const SyntaxNode& node = syntax_[index];
  const auto all = [this](std::span<const NodeIndex> nodes) {
    return std::ranges::all_of(nodes, [this](NodeIndex each) { return is_flag(each); });
  };
  if (node.kind == NodeKind::list) return all(node.children);
  if (node.kind == NodeKind::let) {
    declare(node);
    const bool is_flag_inside = is_flag(node.children[1]);
    locals_.pop_back();
    return is_flag_inside;
  }
  if (node.kind == NodeKind::conditional) return all(std::span(node.children).subspan(1));
  if (node.kind == NodeKind::binary && std::string_view("*&|^").find(node.text) != std::string_view::npos)
    return all(node.children);
  if (type(bind(index)).innermost() == ElementType::boolean) return true;
  if (node.kind != NodeKind::literal || type(bind(index)) != ElementType::int32) return false;
  const auto number = *node.value->as<std::int32_t>();
  return number == 0 || number == 1;
}

Binder::Local& Binder::local(std::string_view name) {
  return *std::ranges::find(locals_.rbegin(), locals_.rend(), name, &Local::name);
}

// A variable has a type before it has a value.
ValueType Binder::type_of_target(NodeIndex target) {
  return syntax_[target].kind == NodeKind::name ? local(syntax_[target].text).type : type(bind(target));
}

// From the part that changes to the variable.
void Binder::store(const SyntaxNode& node, NodeIndex target, ExpressionId value) {
  for (; syntax_[target].kind != NodeKind::name; target = syntax_[target].children.front()) {
    const SyntaxNode& part = syntax_[target];
    const ExpressionId whole = bind(part.children.front());
    value = part.kind == NodeKind::member ? with_member(part, whole, value) : with_item(part, whole, value);
  }
  Local& changed = local(syntax_[target].text);
  changed.value = at(node.mark, [&] { return pool_.convert(value, changed.type); });
}

ExpressionId Binder::with_item(const SyntaxNode& part, ExpressionId list, ExpressionId value) {
  if (is_map(type(list))) return with_value(part, list, value);
  if (!type(list).is_list() || type(list).is_optional() || !type(bind(part.children[1])).is_integer())
    fail(ErrorKind::type, part.mark,
         fmt::format("only items of lists can be assigned, by their number; this is an item of {}",
                     type(list).name()));
  const ExpressionId index =
      at(part.mark, [&] { return pool_.convert(bind(part.children[1]), ElementType::int64); });
  const ValueType item = type(list).item();
  value = at(part.mark, [&] { return pool_.convert(value, item); });
  return pool_.call(replace_item(type(list)), {list, index, value}, "assign");
}

// Of pairs and tuples, and records that are no vectors, whose coordinates are no members.
ExpressionId Binder::with_member(const SyntaxNode& part, ExpressionId record, ExpressionId value) {
  const ValueType whole = type(record);
  const bool is_plain =
      whole.is_record() && !whole.is_variant() && (is_product(whole) || !type_of_name(whole.class_name()));
  if (!is_plain)
    fail(ErrorKind::type, part.mark,
         fmt::format("only members of pairs, tuples and records can be assigned; this is one of {}",
                     whole.name()));
  const std::size_t changed = index_of_member(part, whole);
  std::vector<ExpressionId> members;
  for (std::size_t i = 0; i < whole.members().size(); ++i) {
    const ValueType wanted = whole.members()[i].second;
    members.push_back(i == changed ? at(part.mark, [&] { return pool_.convert(value, wanted); })
                                   : pool_.call(member_kernel(whole, i), {record},
                                                fmt::format(".{}", whole.members()[i].first)));
  }
  return pool_.call(record_kernel(whole), std::move(members), whole.name());
}

namespace {

// The class that is made of the arguments of a method that sets a vector.
std::string_view class_of_setter(std::string_view method, const ValueType& vector) {
  if (const auto parts = parts_of_vector(vector); method == "SetCoordinates" && parts) return parts->made;
  constexpr std::pair<std::string_view, std::string_view> setters[] = {
      {"SetPtEtaPhiM", "PxPyPzMVector"}, {"SetPtEtaPhiE", "PxPyPzEVector"}, {"SetXYZ", "XYZVector"},
      {"SetPxPyPzE", "PxPyPzEVector"},   {"SetXYZT", "PxPyPzEVector"},      {"SetXYZM", "PxPyPzMVector"}};
  for (const auto& [name, made] : setters)
    if (name == method) return made;
  return {};
}

}  // namespace

// v.SetPtEtaPhiM(pt, eta, phi, mass): as TLorentzVector does it, for which no pt is special.
ExpressionId Binder::set_vector(const SyntaxNode& node, const ValueType& vector, std::string_view made) {
  const auto call = [&](std::string_view function, const std::vector<ExpressionId>& of) {
    return apply_named(node, function, of);
  };
  std::vector<ExpressionId> arguments;
  for (const NodeIndex argument : std::span(node.children).subspan(1))
    arguments.push_back(
        at(syntax_[argument].whole, [&] { return pool_.convert(bind(argument), ElementType::float64); }));
  if (node.text.starts_with("SetPt") && arguments.size() == 4) {
    const ExpressionId pt = call("fabs", {arguments[0]});
    const ExpressionId eta = arguments[1];
    const ExpressionId phi = arguments[2];
    arguments[0] = call("operator*", {pt, call("cos", {phi})});
    arguments[1] = call("operator*", {pt, call("sin", {phi})});
    arguments[2] = call("operator*", {pt, call("sinh", {eta})});
  }
  const ExpressionId value = call(fmt::format("ROOT::Math::{}", made), arguments);
  return at(node.mark, [&] { return pool_.convert(value, vector); });
}

// Of a TVector2: v.Set(x, y), v.Set(w), v.SetX(x), v.SetMagPhi(length, angle); empty for other methods.
std::optional<ExpressionId> Binder::with_plane_part(const SyntaxNode& node, ExpressionId object) {
  const std::string_view method = node.text;
  const auto call = [&](std::string_view function, const std::vector<ExpressionId>& of) {
    return apply_named(node, function, of);
  };
  const std::vector<ExpressionId> given = bind_all({node.children.begin() + 1, node.children.end()});
  if (method == "Set" && (given.size() == 1 || given.size() == 2)) return call("TVector2", given);
  if (method == "SetX" && given.size() == 1) return call("TVector2", {given[0], call(".Y", {object})});
  if (method == "SetY" && given.size() == 1) return call("TVector2", {call(".X", {object}), given[0]});
  if (method != "SetMagPhi" || given.size() != 2) return std::nullopt;
  const ExpressionId length = call("fabs", {given[0]});
  const ExpressionId angle = at(node.mark, [&] { return pool_.convert(given[1], ElementType::float64); });
  return call("TVector2", {call("operator*", {length, call("cos", {angle})}),
                           call("operator*", {length, call("sin", {angle})})});
}

// v.SetPt(pt), v.RotateZ(angle), v.SetVectM(w, mass) and similar ones; empty for other methods.
std::optional<ExpressionId> Binder::with_part(const SyntaxNode& node, const ValueType& vector,
                                              ExpressionId object) {
  if (is_plane_vector(vector)) return with_plane_part(node, object);
  const auto parts = parts_of_vector(vector);
  if (!parts) return std::nullopt;
  const std::string_view method = node.text;
  const auto call = [&](std::string_view function, const std::vector<ExpressionId>& of) {
    return apply_named(node, function, of);
  };
  std::vector<ExpressionId> given;
  for (const NodeIndex argument : std::span(node.children).subspan(1)) given.push_back(bind(argument));
  const auto made = [&](std::string_view of_class, const std::vector<ExpressionId>& coordinates) {
    const ExpressionId value = call(fmt::format("ROOT::Math::{}", of_class), coordinates);
    return at(node.mark, [&] { return pool_.convert(value, vector); });
  };
  const bool in_space = parts->names.size() == 3;
  if (method.starts_with("Rotate") && given.size() == 1)
    return call(fmt::format("ROOT::Math::VectorUtil::{}", method), {object, given[0]});
  if (method.starts_with("SetVect") && !in_space && given.size() == (method == "SetVect" ? 1 : 2)) {
    std::vector<ExpressionId> coordinates;
    for (const std::string_view name : {".X", ".Y", ".Z"}) coordinates.push_back(call(name, {given[0]}));
    coordinates.push_back(given.size() == 1 ? call(".E", {object}) : given[1]);
    return made(given.size() == 1 ? "PxPyPzEVector" : "PxPyPzMVector", coordinates);
  }
  if (in_space && given.size() == 3 && (method == "SetPtEtaPhi" || method == "SetMagThetaPhi")) {
    const bool has_theta = method == "SetMagThetaPhi";
    const ExpressionId size = call("fabs", {given[0]});
    const ExpressionId theta =
        has_theta ? given[1]
                  : call("operator*", {pool_.constant(make_constant<double>(1, 2)),
                                       call("atan", {call("exp", {call("unary-", {given[1]})})})});
    const ExpressionId across = has_theta ? call("operator*", {size, call("sin", {theta})}) : size;
    const ExpressionId along =
        call(has_theta ? "operator*" : "operator/", {size, call(has_theta ? "cos" : "tan", {theta})});
    return made("XYZVector", {call("operator*", {across, call("cos", {given[2]})}),
                              call("operator*", {across, call("sin", {given[2]})}), along});
  }
  if (!method.starts_with("Set") || given.size() != 1) return std::nullopt;
  std::string_view name = method.substr(3);
  constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
      {"X", "Px"}, {"Y", "Py"}, {"Z", "Pz"}, {"T", "E"}};
  for (const auto& [other, own] : synonyms)
    if (!in_space && name == other) name = own;
  if (std::ranges::find(parts->names, name) == parts->names.end()) return std::nullopt;
  std::vector<ExpressionId> coordinates;
  for (const std::string_view each : parts->names)
    coordinates.push_back(each == name ? given[0] : call(fmt::format(".{}", each), {object}));
  return made(parts->made, coordinates);
}

// v.Boost(b), v.Boost(bx, by, bz)
ExpressionId Binder::boosted(const SyntaxNode& node, const ValueType& vector, ExpressionId object) {
  std::vector<ExpressionId> by;
  for (const NodeIndex argument : std::span(node.children).subspan(1)) by.push_back(bind(argument));
  const ExpressionId velocity = by.size() == 1 ? by.front() : apply_named(node, "ROOT::Math::XYZVector", by);
  const ExpressionId value = apply_named(node, "ROOT::Math::VectorUtil::boost", {object, velocity});
  return at(node.mark, [&] { return pool_.convert(value, vector); });
}

// The items of another list between two iterators, which are put before a place.
ExpressionId Binder::inserted(const SyntaxNode& node, const ValueType& list, ExpressionId object,
                              ExpressionId place, std::span<const NodeIndex> range) {
  if (!syntax_[range[0]].list || !syntax_[range[1]].list)
    fail(ErrorKind::type, syntax_[range[0]].whole, "two iterators of one list should be here");
  const ExpressionId from = without_map(bind(*syntax_[range[0]].list));
  const ExpressionId converted = at(node.mark, [&] { return pool_.convert(from, list); });
  return pool_.call(insert_items(list), {object, place, converted, bind(range[0]), bind(range[1])}, "insert");
}

// (number, item): a list of that many.
ExpressionId Binder::copies(const SyntaxNode& node, const ValueType& list, std::span<const NodeIndex> given) {
  return pool_.call(
      resize_list(list),
      {pool_.constant(empty_list(list.item())), count_of(node, given[0]), item_of(given[1], list.item())},
      node.text);
}

// What an iterator of this list is.
ExpressionId Binder::place_of(NodeIndex index, NodeIndex list) {
  const SyntaxNode& node = syntax_[index];
  if (!node.list || bind(*node.list) != bind(list))
    fail(ErrorKind::type, node.whole, "an iterator of the list should be here");
  return at(node.whole, [&] { return pool_.convert(bind(index), ElementType::int64); });
}

ExpressionId Binder::size_of(const SyntaxNode& node, ExpressionId list) {
  return at(node.mark, [&] { return pool_.convert(apply_named(node, ".size", {list}), ElementType::int64); });
}

// std::iota: from a number on.
ExpressionId Binder::numbered(const SyntaxNode& node, ExpressionId list) {
  const ExpressionId first = bind(node.children[1]);
  if (!type(first).is_integer() || !type(list).item().is_scalar())
    fail(ErrorKind::type, node.mark,
         fmt::format("'iota' fills a list of numbers from an integer on, got {} and {}", type(list).name(),
                     type(first).name()));
  const ExpressionId start = at(node.mark, [&] { return pool_.convert(first, ElementType::int64); });
  const ExpressionId places = at(node.mark, [&] {
    return pool_.convert(apply_named(node, "Enumerate", {list}), ValueType::list(ElementType::int64));
  });
  // As a number of the first one's type, of which each is one more.
  const ExpressionId numbers = at(node.mark, [&] {
    return pool_.convert(apply_named(node, "operator+", {places, start}), ValueType::list(type(first)));
  });
  const ValueType wanted = type(list);
  return at(node.mark, [&] { return pool_.convert(numbers, wanted); });
}

ExpressionId Binder::apply_named(const SyntaxNode& node, std::string_view name,
                                 const std::vector<ExpressionId>& arguments) {
  const Function* const function = functions_.find(name);
  std::string why_not = "it is unknown";
  const auto value =
      function == nullptr ? std::nullopt : invoke(node, *function, node.text, arguments, {}, why_not);
  if (!value) fail(ErrorKind::type, node.mark, fmt::format("'{}' cannot be called: {}", node.text, why_not));
  return *value;
}

ExpressionId Binder::changed_text(const SyntaxNode& node, ExpressionId text) {
  if (node.text == "clear" && node.children.size() == 1) return pool_.constant(make_constant_string(1, ""));
  const bool appends = node.text == "append" || node.text == "push_back";
  if (!appends || node.children.size() != 2)
    fail(ErrorKind::type, node.mark,
         fmt::format(
             "'{}' of a string with {} argument{} is not supported; strings have +=, append, push_back "
             "and clear",
             node.text, node.children.size() - 1, node.children.size() == 2 ? "" : "s"));
  return apply_named(node, "operator+", {text, bind(node.children[1])});
}

// What a method makes of a list or a vector.
ExpressionId Binder::changed(const SyntaxNode& node, ExpressionId object) {
  const ValueType list = type(object);
  if (const auto made = class_of_setter(node.text, list); !made.empty()) return set_vector(node, list, made);
  if (node.text == "Boost" && list.is_record()) return boosted(node, list, object);
  if (const auto made = with_part(node, list, object)) return *made;
  const std::string_view method = node.text;
  if (method == "Boost" || method.starts_with("Set") || method.starts_with("Rotate"))
    fail(ErrorKind::type, node.mark,
         fmt::format("'{}' with {} argument{} does not change {}", method, node.children.size() - 1,
                     node.children.size() == 2 ? "" : "s", list.name()));
  if (is_map(list)) return changed_map(node, object);
  if (list.is_string()) return changed_text(node, object);
  if (!list.is_list() || list.is_optional())
    fail(ErrorKind::type, node.mark, fmt::format("'{}' changes lists; this is {}", node.text, list.name()));
  const std::span<const NodeIndex> given = std::span(node.children).subspan(1);
  const auto require = [&](std::size_t least, std::size_t most) {
    if (given.size() < least || given.size() > most)
      fail(ErrorKind::type, node.mark,
           fmt::format("'{}' takes {} argument{}, got {}", node.text,
                       least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most),
                       most == 1 ? "" : "s", given.size()));
  };
  if (node.text == "clear") {
    require(0, 0);
    return pool_.constant(empty_list(list.item()));
  }
  if (node.text == "pop_back") {
    require(0, 0);
    return pool_.call(remove_last(list), {object}, node.text);
  }
  if (node.text == "reserve") {
    require(1, 1);
    count_of(node, given[0]);
    return object;
  }
  if (node.text == "resize") {
    require(1, 2);
    const ExpressionId item = given.size() == 2 ? item_of(given[1], list.item()) : zero(node, list.item());
    return pool_.call(resize_list(list), {object, count_of(node, given[0]), item}, node.text);
  }
  if (node.text == "fill") {
    const ExpressionId item = item_of(given[0], list.item());
    const ExpressionId size = size_of(node, object);
    return pool_.call(resize_list(list), {pool_.constant(empty_list(list.item())), size, item}, node.text);
  }
  if (node.text == "assign") {
    require(1, 2);
    if (given.size() == 1) return item_of(given[0], list);
    const ExpressionId none = pool_.constant(empty_list(list.item()));
    return syntax_[given[0]].list ? inserted(node, list, none, number(0), given) : copies(node, list, given);
  }
  if (node.text == "iota") return numbered(node, object);
  if (node.text == "erase") {
    require(1, 2);
    const ExpressionId first = place_of(given[0], node.children.front());
    const ExpressionId last = given.size() == 2 ? place_of(given[1], node.children.front())
                                                : apply_named(node, "operator+", {first, number(1)});
    return pool_.call(erase_items(list), {object, first, last}, node.text);
  }
  if (node.text == "insert") {
    require(2, 3);
    const ExpressionId place = place_of(given[0], node.children.front());
    if (given.size() == 2 && syntax_[given[1]].kind == NodeKind::list) {
      const ExpressionId items = item_of(given[1], list);
      return pool_.call(insert_items(list), {object, place, items, number(0), size_of(node, items)},
                        node.text);
    }
    if (given.size() == 3 && !syntax_[given[1]].list) {
      const ExpressionId items = copies(node, list, given.subspan(1));
      return pool_.call(insert_items(list), {object, place, items, number(0), size_of(node, items)},
                        node.text);
    }
    if (given.size() == 2) {
      const ExpressionId items =
          pool_.call(append_item(list),
                     {pool_.constant(empty_list(list.item())), item_of(given[1], list.item())}, node.text);
      return pool_.call(insert_items(list), {object, place, items, number(0), number(1)}, node.text);
    }
    return inserted(node, list, object, place, given.subspan(1));
  }
  if (node.text == "emplace_back" && given.empty())
    return pool_.call(append_item(list), {object, zero(node, list.item())}, node.text);
  if (node.text == "emplace_back" && is_product(list.item()) && given.size() != 1)
    return pool_.call(append_item(list), {object, record(node, list.item(), given)}, node.text);
  if (node.text == "emplace_back" && is_class(list.item()))
    return pool_.call(append_item(list), {object, this->object(node, list.item(), given)}, node.text);
  if (node.text == "emplace_back" && list.item().is_record() && given.size() != 1) {
    const Function* const make = functions_.find(list.item().class_name());
    const std::vector<ExpressionId> arguments = bind_all({given.begin(), given.end()});
    std::string why_not;
    if (make != nullptr)
      if (const auto item = invoke(node, *make, node.text, arguments, {}, why_not))
        return pool_.call(append_item(list), {object, *item}, node.text);
  }
  require(1, 1);
  return pool_.call(append_item(list), {object, item_of(given[0], list.item())}, node.text);
}

}  // namespace colonnade::frame
