// See body_run.h.
#include "frame/expression/body_run.h"

#include <numeric>
#include <stdexcept>

#include "frame/values/values.h"

namespace colonnade::frame {

ItemSet BodyRun::all(const Rows& rows) const {
  ItemSet items;
  items.rows = rows;
  if (rows.indices == nullptr) {
    auto [indices, owner] = context_.memory.array<std::uint32_t>(rows.size);
    std::iota(indices, indices + rows.size, std::uint32_t{0});
    items.rows.indices = indices;
    items.owners.push_back(std::move(owner));
  }
  items.known.resize(pool_.size());
  return items;
}

ItemSet BodyRun::where(const Values& condition, bool wanted, ItemSet& set) const {
  const auto* holds = condition.as<std::uint8_t>();
  auto [places, places_owner] = context_.memory.array<std::uint32_t>(set.rows.size);
  auto [indices, indices_owner] = context_.memory.array<std::uint32_t>(set.rows.size);
  std::size_t count = 0;
  const std::size_t step = condition.constant ? 0 : 1;
  for (std::size_t i = 0; i < set.rows.size; ++i) {  // branch-free: what is not taken is overwritten
    places[count] = static_cast<std::uint32_t>(i);
    indices[count] = set.rows.indices[i];
    count += (holds[i * step] != 0) == wanted ? 1 : 0;
  }
  ItemSet found;
  found.rows = {set.rows.first, count, indices};
  found.from = &set;
  found.places = {places, count};
  found.known.resize(pool_.size());
  found.owners = {std::move(places_owner), std::move(indices_owner)};
  return found;
}

ValuesPtr BodyRun::value(ExpressionId id, ItemSet& set) {
  if (set.known[id] != nullptr) return set.known[id];
  ValuesPtr found = set.from != nullptr && set.from->known[id] != nullptr
                        ? gather(set.from->known[id], set.places, context_.memory)
                        : compute(pool_[id], id, set);
  set.known[id] = found;
  return found;
}

ValuesPtr BodyRun::compute(const Expression& expression, ExpressionId id, ItemSet& set) {
  switch (expression.op) {
    case Op::constant:
      return repeat(expression.constant, set.rows.size);
    case Op::column:
      if (set.from == nullptr) return inputs_[expression.column];
      return gather(value(id, *set.from), set.places, context_.memory);
    case Op::logical_and:
    case Op::logical_or:
      return logical(expression, set);
    case Op::choose:
      return choose_side(expression, set);
    case Op::call:
      break;
    default:  // entry-wide: the enclosing scope captures these
      throw std::logic_error("a lambda has a special name of its own");
  }
  std::vector<ValuesPtr> arguments;
  for (const ExpressionId argument : expression.arguments) arguments.push_back(value(argument, set));
  return expression.kernel->run({context_.memory, set.rows, context_.slot, context_.sample}, arguments);
}

ValuesPtr BodyRun::logical(const Expression& expression, ItemSet& set) {
  ValuesPtr left = value(expression.arguments[0], set);
  const bool is_and = expression.op == Op::logical_and;
  if (!left->constant && !pool_[expression.arguments[1]].only_where_needed) {
    const ValuesPtr right = value(expression.arguments[1], set);
    auto [out, owner] = context_.memory.array<std::uint8_t>(set.rows.size);
    const auto* a = left->as<std::uint8_t>();
    const auto* b = right->as<std::uint8_t>();
    const std::size_t step = right->constant ? 0 : 1;
    for (std::size_t i = 0; i < set.rows.size; ++i) out[i] = is_and ? a[i] & b[i * step] : a[i] | b[i * step];
    return make_scalars(ElementType::boolean, set.rows.size, out, std::move(owner));
  }
  ItemSet needed = where(*left, is_and, set);
  if (needed.rows.size == 0) return left;
  if (needed.rows.size == set.rows.size) return value(expression.arguments[1], set);
  const ValuesPtr right = value(expression.arguments[1], needed);
  auto [out, owner] = context_.memory.array<std::uint8_t>(set.rows.size);
  std::fill_n(out, set.rows.size, is_and ? 0 : 1);
  for (std::size_t i = 0; i < needed.places.size(); ++i)
    out[needed.places[i]] = right->as<std::uint8_t>()[right->constant ? 0 : i];
  return make_scalars(ElementType::boolean, set.rows.size, out, std::move(owner));
}

// Cheap sides are computed for all, which costs less than to tell the items apart.
ValuesPtr BodyRun::choose_side(const Expression& expression, ItemSet& set) {
  const ValuesPtr condition = value(expression.arguments[0], set);
  const auto is_cheap = [this](ExpressionId id) { return !pool_[id].only_where_needed; };
  if (expression.type.is_scalar() && !condition->constant && is_cheap(expression.arguments[1]) &&
      is_cheap(expression.arguments[2]))
    return choose(*condition, value(expression.arguments[1], set), value(expression.arguments[2], set),
                  context_.memory);
  ItemSet yes = where(*condition, true, set);
  if (yes.rows.size == set.rows.size) return value(expression.arguments[1], set);
  if (yes.rows.size == 0) return value(expression.arguments[2], set);
  ItemSet no = where(*condition, false, set);
  const ValuesPtr of_yes = value(expression.arguments[1], yes);
  const ValuesPtr of_no = value(expression.arguments[2], no);
  return combine(set.rows.size, yes.places, of_yes, of_no, context_.memory);
}

}  // namespace colonnade::frame
