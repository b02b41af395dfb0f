// What a lambda computes for the items of lists: Map(v, w, [](float a, float b) { return a * b; }), and the
// order that one gives to them: Sort(v, [](float a, float b) { return a > b; }).
#ifndef COLONNADE_FRAME_EXPRESSION_LAMBDA_H
#define COLONNADE_FRAME_EXPRESSION_LAMBDA_H

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "frame/expression/expression.h"

namespace colonnade::frame {

// The body in a pool of its own, where Op::column are first the parameters, then single values that it
// captures.
struct LambdaBody {
  std::shared_ptr<const ExpressionPool> pool;
  ExpressionId result = 0;
  std::size_t parameters = 0;
  std::string text;  // tells it from other lambdas

  const ValueType& type() const { return (*pool)[result].type; }
  bool only_where_needed() const;
  bool takes_large_blocks() const;
};

// The values of the body for `rows`, which are items, or pairs of them, and have indices.
ValuesPtr run_body(const LambdaBody& body, const CallContext& context, const Rows& rows,
                   std::vector<ValuesPtr> inputs);

// Gives a list with the value of the body for each item; its arguments are lists, then what is captured.
KernelPtr map_kernel(LambdaBody body);

// Gives the places of the items of a list in the order in which the body, a condition of two items, says that
// the first comes before the second; its arguments are the list, then what is captured.
KernelPtr order_kernel(LambdaBody body);

}  // namespace colonnade::frame

#endif
