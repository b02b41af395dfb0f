// std::map and std::set, and comparisons of pairs and tuples; see binder.h and maps.h.
#include <fmt/format.h>

#include <algorithm>

#include "frame/expression/binder.h"
#include "frame/expression/changes.h"
#include "frame/expression/lambda.h"
#include "frame/expression/maps.h"
#include "frame/expression/members.h"

namespace colonnade::frame {

ExpressionId Binder::items_of_map(ExpressionId map) {
  return pool_.call(member_kernel(type(map), 0), {map}, ".items");
}

ExpressionId Binder::map_of(const ValueType& map, ExpressionId items, bool in_order) {
  if (!in_order) items = pool_.call(in_order_of_keys(map), {items}, map.name());
  return pool_.call(record_kernel(map), {items}, map.name());
}

// {{11, 0.5f}, {13, 1.f}}; the first of equal keys counts.
ExpressionId Binder::map_of_items(const SyntaxNode& node, const ValueType& map) {
  const ValueType item = frame::items_of_map(map).item();
  if (node.children.empty()) return pool_.constant(zero_of(map));
  if (node.kind == NodeKind::call && node.children.size() == 2 && syntax_[node.children[0]].list)
    return map_of(
        map,
        inserted(node, frame::items_of_map(map), pool_.constant(empty_list(item)), number(0), node.children),
        false);
  if (node.kind == NodeKind::call && node.children.size() == 1) {
    const SyntaxNode& inner = syntax_[node.children.front()];
    if (!node.braces && inner.kind == NodeKind::list) return map_of_items(inner, map);
    if (inner.kind != NodeKind::list) {
      const ExpressionId value = bind(node.children.front());
      if (!is_set(map) || type(value) == map)
        return at(node.whole, [&] { return pool_.convert(value, map); });
    }
  }
  return map_of(map, list(node, item), false);
}

// `map`: a copy, since those of the pool move.
ExpressionId Binder::key_of(const SyntaxNode& node, NodeIndex key, ValueType map) {
  const ExpressionId value = bind_as(key, key_of_map(map));
  return at(node.mark, [&] { return pool_.convert(value, key_of_map(map)); });
}

// A place, as an iterator has it, rather than a key.
bool Binder::is_place(NodeIndex index) const {
  const SyntaxNode& node = syntax_[index];
  return node.list.has_value() || (node.kind == NodeKind::name && node.text.starts_with(loop_place));
}

ExpressionId Binder::item_of_list(const SyntaxNode& node, ExpressionId list, ExpressionId place) {
  return apply_named(node, "operator[]", {list, place});
}

// map[key], where a key that is not there has the value 0; or what an iterator stands for.
ExpressionId Binder::item_of_map(const SyntaxNode& node, ExpressionId map, NodeIndex index) {
  const ValueType type = this->type(map);
  const ExpressionId items = items_of_map(map);
  if (is_place(index)) return item_of_list(node, items, bind(index));
  if (is_set(type)) fail(ErrorKind::type, node.mark, "a set has no subscripts");
  if (node.text == needs_key) {
    const ExpressionId pair = item_of_list(node, items, needed_place(node, map, index));
    return pool_.call(member_kernel(this->type(pair), 1), {pair}, ".second");
  }
  if (node.text != inserts_nothing)
    fail(ErrorKind::usage, node.mark,
         "this subscript may insert a key; write at(), or declare the map by its type");
  const ExpressionId place =
      pool_.call(key_place(type, KeyPlace::of_key), {items, key_of(node, index, type)}, "find");
  const ExpressionId is_there = apply_named(node, "operator!=", {place, size_of(node, items)});
  const ExpressionId pair = item_of_list(node, items, place);
  const ExpressionId value = pool_.call(member_kernel(this->type(pair), 1), {pair}, ".second");
  return choose(node, is_there, value, pool_.constant(zero_of(this->type(value))));
}

ExpressionId Binder::needed_place(const SyntaxNode& node, ExpressionId map, NodeIndex key) {
  const ValueType type = this->type(map);
  return pool_.call(key_place(type, KeyPlace::needed), {items_of_map(map), key_of(node, key, type)}, "at");
}

ExpressionId Binder::map_method(const SyntaxNode& node, ExpressionId map) {
  const ValueType type = this->type(map);
  const ExpressionId items = items_of_map(map);
  const std::size_t given = node.children.size() - 1;
  if ((node.text == "size" || node.text == "empty") && given == 0)
    return apply_named(node, fmt::format(".{}", node.text), {items});
  const auto place = [&](KeyPlace kind) {
    return pool_.call(key_place(type, kind), {items, key_of(node, node.children[1], type)}, node.text);
  };
  if (given == 1) {
    if (node.text == "find") return place(KeyPlace::of_key);
    if (node.text == "lower_bound") return place(KeyPlace::not_less);
    if (node.text == "upper_bound") return place(KeyPlace::first_greater);
    if (node.text == "count" || node.text == "contains") {
      const ExpressionId is_there =
          apply_named(node, "operator!=", {place(KeyPlace::of_key), size_of(node, items)});
      return node.text == "contains" ? is_there : pool_.convert(is_there, ElementType::uint64);
    }
    if (node.text == "at" && !is_set(type)) {
      const ExpressionId pair = item_of_list(node, items, needed_place(node, map, node.children[1]));
      return pool_.call(member_kernel(this->type(pair), 1), {pair}, ".second");
    }
  }
  fail(ErrorKind::not_found, node.mark,
       fmt::format("{} has no method '{}' of {} argument{} here", type.name(), node.text, given,
                   given == 1 ? "" : "s"),
       "there are at, find, count, contains, lower_bound, upper_bound, size, empty, insert, emplace, erase "
       "and clear");
}

// With a pair or key; `replaces` one that has the key.
ExpressionId Binder::with_entry(const SyntaxNode& node, ExpressionId map, ExpressionId entry, bool replaces) {
  const ValueType type = this->type(map);
  const ValueType list = frame::items_of_map(type);
  const ExpressionId items = items_of_map(map);
  const ExpressionId key =
      is_set(type) ? entry : pool_.call(member_kernel(list.item(), 0), {entry}, ".first");
  const ExpressionId place = pool_.call(key_place(type, KeyPlace::not_less), {items, key}, "find");
  const ExpressionId found = pool_.call(key_place(type, KeyPlace::of_key), {items, key}, "find");
  const ExpressionId is_there = apply_named(node, "operator!=", {found, size_of(node, items)});
  const ExpressionId one =
      pool_.call(append_item(list), {pool_.constant(empty_list(list.item())), entry}, node.text);
  const ExpressionId more =
      pool_.call(insert_items(list), {items, place, one, number(0), number(1)}, node.text);
  const ExpressionId same =
      replaces ? pool_.call(replace_item(list), {items, found, entry}, node.text) : items;
  return map_of(type, choose(node, is_there, same, more), true);
}

// map[key] = value; or the item of an iterator, whose key does not change.
ExpressionId Binder::with_value(const SyntaxNode& part, ExpressionId map, ExpressionId value) {
  const ValueType type = this->type(map);
  const ValueType list = frame::items_of_map(type);
  const NodeIndex index = part.children[1];
  if (is_set(type)) fail(ErrorKind::type, part.mark, "the items of a set do not change");
  if (is_place(index)) {
    const ExpressionId place = at(part.mark, [&] { return pool_.convert(bind(index), ElementType::int64); });
    return map_of(type, pool_.call(replace_item(list), {items_of_map(map), place, value}, "assign"), true);
  }
  const ValueType wanted = list.item().members()[1].second;
  value = at(part.mark, [&] { return pool_.convert(value, wanted); });
  const ExpressionId pair =
      pool_.call(record_kernel(list.item()), {key_of(part, index, type), value}, list.item().name());
  if (part.text == needs_key)
    return map_of(
        type,
        pool_.call(replace_item(list), {items_of_map(map), needed_place(part, map, index), pair}, "assign"),
        true);
  return with_entry(part, map, pair, true);
}

// insert, emplace, erase and clear, and what a subscript inserts.
ExpressionId Binder::changed_map(const SyntaxNode& node, ExpressionId map) {
  const ValueType type = this->type(map);
  const ValueType list = frame::items_of_map(type);
  const std::span<const NodeIndex> given = std::span(node.children).subspan(1);
  if (node.text == "clear" && given.empty()) return pool_.constant(zero_of(type));
  if (node.text == "[]") {
    if (is_set(type)) fail(ErrorKind::type, node.mark, "a set has no subscripts");
    const ExpressionId pair = pool_.call(
        record_kernel(list.item()),
        {key_of(node, given[0], type), pool_.constant(zero_of(list.item().members()[1].second))}, "[]");
    return with_entry(node, map, pair, false);
  }
  if (node.text == "erase" && given.size() == 1) {
    const ExpressionId items = items_of_map(map);
    const bool by_place = is_place(given[0]);
    const ExpressionId first =
        by_place
            ? at(node.mark, [&] { return pool_.convert(bind(given[0]), ElementType::int64); })
            : pool_.call(key_place(type, KeyPlace::of_key), {items, key_of(node, given[0], type)}, "find");
    const ExpressionId size = size_of(node, items);
    const ExpressionId next = apply_named(node, "operator+", {first, number(1)});
    const ExpressionId last = by_place ? next : apply_named(node, "min", {next, size});
    return map_of(type, pool_.call(erase_items(list), {items, first, last}, node.text), true);
  }
  const bool inserts = node.text == "insert" || node.text == "emplace";
  if (inserts && given.size() == 1) return with_entry(node, map, item_of(given[0], list.item()), false);
  if (node.text == "emplace" && given.size() == 2 && !is_set(type))
    return with_entry(node, map, record(node, list.item(), given), false);
  fail(ErrorKind::type, node.mark,
       fmt::format("'{}' of {} cannot be called with {} argument{}", node.text, type.name(), given.size(),
                   given.size() == 1 ? "" : "s"),
       "maps have insert, emplace, erase of one key and clear");
}

// What a column holds of a map: its pairs or keys.
ExpressionId Binder::without_map(ExpressionId value) {
  return is_map(type(value)) ? items_of_map(value) : value;
}

// ---- Pairs and tuples, which are compared member by member

bool Binder::compares_products(std::string_view symbol, ExpressionId left, ExpressionId right) const {
  constexpr std::string_view known[] = {"<", ">", "<=", ">=", "==", "!="};
  return is_product(type(left)) && is_product(type(right)) &&
         type(left).members().size() == type(right).members().size() &&
         std::ranges::find(known, symbol) != std::end(known);
}

ExpressionId Binder::compared(const SyntaxNode& node, std::string_view symbol, ExpressionId left,
                              ExpressionId right) {
  if (symbol == ">") return compared(node, "<", right, left);
  if (symbol == "<=") return apply_named(node, "unary!", {compared(node, "<", right, left)});
  if (symbol == ">=") return apply_named(node, "unary!", {compared(node, "<", left, right)});
  if (symbol == "!=") return apply_named(node, "unary!", {compared(node, "==", left, right)});
  const bool is_less = symbol == "<";
  const auto member = [&](ExpressionId of, std::size_t i) {
    return pool_.call(member_kernel(type(of), i), {of}, fmt::format("._{}", i));
  };
  const auto compare = [&](ExpressionId a, ExpressionId b) {
    return compares_products(symbol, a, b) ? compared(node, symbol, a, b)
                                           : apply_named(node, fmt::format("operator{}", symbol), {a, b});
  };
  std::optional<ExpressionId> found;
  for (std::size_t i = type(left).members().size(); i-- > 0;) {
    const ExpressionId a = member(left, i);
    const ExpressionId b = member(right, i);
    const ExpressionId here = compare(a, b);
    if (!found) {
      found = here;
    } else if (is_less) {
      const ExpressionId same = apply_named(node, "unary!", {compare(b, a)});
      found = both(Op::logical_or, node, here, both(Op::logical_and, node, same, *found));
    } else {
      found = both(Op::logical_and, node, here, *found);
    }
  }
  return *found;
}

// Sort(list) of pairs or tuples, and Argsort.
std::optional<ExpressionId> Binder::sorted_products(const SyntaxNode& node,
                                                    std::span<const ExpressionId> arguments) {
  const std::string_view name = without_namespace(node.text);
  const bool is_order = name == "Argsort" || name == "StableArgsort";
  if ((name != "Sort" && name != "StableSort" && !is_order) || arguments.size() != 1) return std::nullopt;
  const ExpressionId list = arguments.front();
  if (!type(list).is_list()) return std::nullopt;
  const ValueType item = type(list).item();
  if (!is_product(item) && !is_class(item)) return std::nullopt;
  const auto pool = std::make_shared<ExpressionPool>();
  Binder inside(syntax_, *pool, scope_, functions_);
  const std::vector<ExpressionId> both = {pool->column(0, item), pool->column(1, item)};
  const auto by_class = inside.operator_of_class(node, "<", both);
  if (!by_class && !is_product(item)) return std::nullopt;
  const ExpressionId result = by_class ? *by_class : inside.compared(node, "<", both[0], both[1]);
  LambdaBody body{pool, result, 2, "less of " + item.name()};
  const ExpressionId order = pool_.call(order_kernel(std::move(body)), {list}, "Argsort");
  return is_order ? order : selected(node, "Take", list, order);
}

}  // namespace colonnade::frame
