// What a lambda computes for the items of lists: Map(v, w, [](float a, float b) { return a * b; }).
#ifndef COLONNADE_FRAME_EXPRESSION_LAMBDA_H
#define COLONNADE_FRAME_EXPRESSION_LAMBDA_H

#include <cstddef>
#include <memory>
#include <string>

#include "frame/expression/expression.h"

namespace colonnade::frame {

// The body in a pool of its own, where Op::column are the arguments of the kernel: first lists, of which the
// body sees the items, then single values that it captures.
struct LambdaBody {
  std::shared_ptr<const ExpressionPool> pool;
  ExpressionId result = 0;
  std::size_t lists = 0;
  std::string text;  // tells it from other lambdas
};

// Gives a list with the value of the body for each item.
KernelPtr map_kernel(LambdaBody body);

}  // namespace colonnade::frame

#endif
