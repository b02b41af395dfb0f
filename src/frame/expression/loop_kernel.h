// What a loop makes of the variables that it changes. All rows of a block take their turns together; a row
// whose loop has ended takes no further ones.
#ifndef COLONNADE_FRAME_EXPRESSION_LOOP_KERNEL_H
#define COLONNADE_FRAME_EXPRESSION_LOOP_KERNEL_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/expression/expression.h"

namespace colonnade::frame {

// One turn, in a pool of its own where Op::column are first the variables, as they are when the turn begins,
// then what it takes from outside.
struct LoopBody {
  std::shared_ptr<ExpressionPool> pool;
  std::vector<ExpressionId> inputs;  // all columns
  std::optional<ExpressionId> condition;
  bool condition_comes_last = false;  // it is one of the new values then

  // The variables for the next turn; none: there is none.
  std::vector<ExpressionId> next;
  // Whether the turn ends the loop, by break or return, and the variables then.
  std::optional<ExpressionId> leaves;
  std::vector<ExpressionId> left;
  // Whether it ends it by return, and what that returns.
  std::optional<ExpressionId> returns, value;

  std::vector<ValueType::Member> members;  // of the result: the variables, then whether and what it returned
  std::string text;                        // tells it from other loops
};

// Gives a record of the variables at the end of the loop, and, if the loop may return, whether it did and
// what. Its arguments are the inputs.
KernelPtr loop_kernel(LoopBody body);

struct FlatProgram;
// The loop of a kernel as a flat program; null for other kernels, and for loops that are none.
std::shared_ptr<const FlatProgram> flat_loop(const Kernel& kernel);

}  // namespace colonnade::frame

#endif
