// A function that calls itself.
#ifndef COLONNADE_FRAME_EXPRESSION_RECURSION_H
#define COLONNADE_FRAME_EXPRESSION_RECURSION_H

#include <memory>
#include <string>

#include "frame/expression/function.h"

namespace colonnade::frame {

// What the calls of a function within its own body lead to, once that is bound.
struct SelfCall {
  std::string name;
  ValueType result;
  std::vector<ValueType> parameters;
  std::weak_ptr<const Kernel> function;  // which holds the kernels of such calls
  std::uint32_t depth = 1;               // of the operations of its body
};

// The kernel of such a call. It raises an error if calls are nested too deeply.
Bound bind_self_call(const std::shared_ptr<SelfCall>& called, const Call& call);

}  // namespace colonnade::frame

#endif
