// Defines columns by functions of the caller and of libraries.
#ifndef COLONNADE_CAPI_FUNCTIONS_H
#define COLONNADE_CAPI_FUNCTIONS_H

#include <colonnade.h>

#include <functional>
#include <span>
#include <string>

#include "colonnade/block.h"

namespace colonnade::capi {

using MakeKernel = std::function<KernelPtr(std::span<const ValueType>)>;

// A function over Arrow arrays. Throws ErrorKind::type unless its result type is a number, a boolean, a text
// or a list of these. `name` is the name of the column, for messages.
MakeKernel function_kernels(colonnade_function function, void* context, const ArrowSchema& result,
                            const std::string& name);
// A function of a library, see colonnade/functions.h. Throws ErrorKind::not_found.
MakeKernel library_kernels(const std::string& library, const std::string& function);

}  // namespace colonnade::capi

#endif
