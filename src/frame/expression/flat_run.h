// Runs a loop as a flat program: see flat_program.h.
#ifndef COLONNADE_FRAME_EXPRESSION_FLAT_RUN_H
#define COLONNADE_FRAME_EXPRESSION_FLAT_RUN_H

#include <span>
#include <vector>

#include "frame/expression/flat_program.h"

namespace colonnade::frame {

// The members of the result of the loop. The arguments are its inputs.
std::vector<ValuesPtr> run_flat(const FlatProgram& program, const CallContext& context,
                                std::span<const ValuesPtr> arguments);

}  // namespace colonnade::frame

#endif
