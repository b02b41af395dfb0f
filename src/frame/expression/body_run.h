// Evaluates a pool of expressions for many items at once, as if each were an entry: bodies of lambdas and
// loops. The right sides of &&, || and ?: are computed only for the items that reach them.
#ifndef COLONNADE_FRAME_EXPRESSION_BODY_RUN_H
#define COLONNADE_FRAME_EXPRESSION_BODY_RUN_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "frame/expression/expression.h"

namespace colonnade::frame {

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
  // Op::column of the pool is one of the inputs.
  BodyRun(const ExpressionPool& pool, const CallContext& context, std::vector<ValuesPtr> inputs)
      : pool_(pool), context_(context), inputs_(std::move(inputs)) {}

  ItemSet all(const Rows& rows) const;
  // The items for which a condition is true, or false.
  ItemSet where(const Values& condition, bool wanted, ItemSet& set) const;
  ValuesPtr value(ExpressionId id, ItemSet& set);

 private:
  ValuesPtr compute(const Expression& expression, ExpressionId id, ItemSet& set);
  ValuesPtr logical(const Expression& expression, ItemSet& set);
  ValuesPtr choose_side(const Expression& expression, ItemSet& set);

  const ExpressionPool& pool_;
  const CallContext& context_;
  std::vector<ValuesPtr> inputs_;
};

template <class Holds>
bool any_of(const ExpressionPool& pool, Holds holds) {
  for (ExpressionId id = 0; id < pool.size(); ++id)
    if (holds(pool[id])) return true;
  return false;
}

}  // namespace colonnade::frame

#endif
