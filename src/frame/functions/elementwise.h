// Kernels that work element by element: on scalars, within lists of any depth, and on scalars together with
// lists, where the scalar applies to every item of its row.
//
// All argument lists of a row must have the same number of items; otherwise the call throws ErrorKind::usage
// with the entry and the sizes. An ElementFault thrown by a loop becomes an Error with the entry.
#ifndef COLONNADE_FRAME_FUNCTIONS_ELEMENTWISE_H
#define COLONNADE_FRAME_FUNCTIONS_ELEMENTWISE_H

#include <span>
#include <string>
#include <vector>

#include "frame/expression/function.h"
#include "frame/kernels/kernels.h"

namespace colonnade::frame {

struct ElementSignature {
  ElementType result = ElementType::float64;
  std::vector<ElementType> arguments;  // the types to which arguments are converted first
  ElementLoop loop = nullptr;
  bool only_where_needed = false;
};

// The kernel for arguments of these types (scalars, or lists of them at any depth), as many as the signature
// has; null for other types. `name` is the kernel's key and must identify the function for all types. Without
// arguments the result is a constant.
KernelPtr elementwise(std::string name, ElementSignature signature, std::span<const ValueType> arguments);

// The types of the arguments of a call.
std::vector<ValueType> types_of(std::span<const Argument> arguments);

// The kernel for a call, or why there is none.
Bound bind_elementwise(std::string name, ElementSignature signature, const Call& call);

}  // namespace colonnade::frame

#endif
