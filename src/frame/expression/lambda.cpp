// The body of a lambda is evaluated for all items of a block at once, as if each were an entry; the right
// sides of &&, || and ?: are computed only for the items that reach them. See lambda.h.
#include "frame/expression/lambda.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "frame/expression/members.h"
#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// Items of a block, or those of another set at `places`.
struct ItemSet {
  Rows rows;  // of the items: the entries that they are in
  ItemSet* from = nullptr;
  std::span<const std::uint32_t> places;
  std::vector<ValuesPtr> known;  // by expression
  std::vector<std::shared_ptr<void>> owners;
};

class BodyRun {
 public:
  BodyRun(const ExpressionPool& pool, const CallContext& context, std::vector<ValuesPtr> inputs)
      : pool_(pool), context_(context), inputs_(std::move(inputs)) {}

  ValuesPtr value(ExpressionId id, ItemSet& set) {
    if (set.known[id] != nullptr) return set.known[id];
    ValuesPtr found = set.from != nullptr && set.from->known[id] != nullptr
                          ? gather(set.from->known[id], set.places, context_.memory)
                          : compute(pool_[id], id, set);
    set.known[id] = found;
    return found;
  }

 private:
  ValuesPtr compute(const Expression& expression, ExpressionId id, ItemSet& set) {
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

  ValuesPtr logical(const Expression& expression, ItemSet& set) {
    ValuesPtr left = value(expression.arguments[0], set);
    const bool is_and = expression.op == Op::logical_and;
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

  ValuesPtr choose_side(const Expression& expression, ItemSet& set) {
    const ValuesPtr condition = value(expression.arguments[0], set);
    ItemSet yes = where(*condition, true, set);
    if (yes.rows.size == set.rows.size) return value(expression.arguments[1], set);
    if (yes.rows.size == 0) return value(expression.arguments[2], set);
    ItemSet no = where(*condition, false, set);
    const ValuesPtr of_yes = value(expression.arguments[1], yes);
    const ValuesPtr of_no = value(expression.arguments[2], no);
    return combine(set.rows.size, yes.places, of_yes, of_no, context_.memory);
  }

  // The items for which a condition is true, or false.
  ItemSet where(const Values& condition, bool wanted, ItemSet& set) {
    const auto* holds = condition.as<std::uint8_t>();
    auto [places, places_owner] = context_.memory.array<std::uint32_t>(set.rows.size);
    auto [indices, indices_owner] = context_.memory.array<std::uint32_t>(set.rows.size);
    std::size_t count = 0;
    for (std::size_t i = 0; i < set.rows.size; ++i) {
      if ((holds[condition.constant ? 0 : i] != 0) != wanted) continue;
      places[count] = static_cast<std::uint32_t>(i);
      indices[count++] = set.rows.indices[i];
    }
    ItemSet found;
    found.rows = {set.rows.first, count, indices};
    found.from = &set;
    found.places = {places, count};
    found.known.resize(pool_.size());
    found.owners = {std::move(places_owner), std::move(indices_owner)};
    return found;
  }

  const ExpressionPool& pool_;
  const CallContext& context_;
  std::vector<ValuesPtr> inputs_;
};

class MapKernel final : public Kernel {
 public:
  explicit MapKernel(LambdaBody body) : body_(std::move(body)), result_(ValueType::list(body_.type())) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    std::vector<ValuesPtr> lists;
    for (std::size_t i = 0; i < body_.parameters; ++i) {
      lists.push_back(arguments[i]->constant ? spread(arguments[i], context.memory) : arguments[i]);
      lists::require_same_sizes(context, lists::ListView(*lists[0]), lists::ListView(*lists[i]),
                                "the lists of Map");
    }
    const std::size_t rows = context.rows.size;
    const std::int64_t* offsets = lists[0]->offsets;
    const auto total = static_cast<std::size_t>(offsets[rows] - offsets[0]);
    if (total == 0) return repeat(empty_list(result_.item()), rows);

    auto [row_of, row_owner] = context.memory.array<std::uint32_t>(total);
    auto [out, out_owner] = context.memory.array<std::int64_t>(rows + 1);
    for (std::size_t row = 0; row <= rows; ++row) out[row] = offsets[row] - offsets[0];
    for (std::size_t row = 0; row < rows; ++row)
      std::fill(row_of + out[row], row_of + out[row + 1], static_cast<std::uint32_t>(row));
    auto [indices, indices_owner] = context.memory.array<std::uint32_t>(total);
    for (std::size_t i = 0; i < total; ++i)
      indices[i] = static_cast<std::uint32_t>(context.rows.entry(row_of[i]) - context.rows.first);
    std::vector<ValuesPtr> inputs;
    for (const ValuesPtr& list : lists)
      inputs.push_back(slice(lists::dense_items(*list, context.memory),
                             static_cast<std::size_t>(list->offsets[0]), total, context.memory));
    for (const ValuesPtr& captured : arguments.subspan(body_.parameters))
      inputs.push_back(captured->constant
                           ? repeat(captured, total)
                           : gather(captured, std::span<const std::uint32_t>(row_of, total), context.memory));
    const ValuesPtr values =
        run_body(body_, context, {context.rows.first, total, indices}, std::move(inputs));
    return make_list(rows, out, spread(values, context.memory), std::move(out_owner));
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return "Map " + body_.text; }
  bool only_where_needed() const noexcept override { return only_where_needed_ || body_.parameters > 1; }
  bool takes_large_blocks() const noexcept override { return large_blocks_; }
  bool foldable() const noexcept override { return false; }

 private:
  LambdaBody body_;
  ValueType result_;
  bool only_where_needed_ = body_.only_where_needed();
  bool large_blocks_ = body_.takes_large_blocks();
};

}  // namespace

bool LambdaBody::only_where_needed() const {
  for (ExpressionId id = 0; id < pool->size(); ++id)
    if ((*pool)[id].only_where_needed) return true;
  return false;
}

bool LambdaBody::takes_large_blocks() const {
  for (ExpressionId id = 0; id < pool->size(); ++id)
    if (const KernelPtr& kernel = (*pool)[id].kernel; kernel != nullptr && kernel->takes_large_blocks())
      return true;
  return false;
}

ValuesPtr run_body(const LambdaBody& body, const CallContext& context, const Rows& rows,
                   std::vector<ValuesPtr> inputs) {
  ItemSet items;
  items.rows = rows;
  items.known.resize(body.pool->size());
  return BodyRun(*body.pool, context, std::move(inputs)).value(body.result, items);
}

KernelPtr map_kernel(LambdaBody body) {
  return std::make_shared<MapKernel>(std::move(body));
}

}  // namespace colonnade::frame
