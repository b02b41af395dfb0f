// The instruction sets that the library uses: all that the processor has, or those that COLONNADE_CPU allows.
//
// The variable is for tests: results have the same bits on every processor, and with it one machine stands in
// for several. It is read when the library is loaded; an unknown value is an error as soon as something is
// opened.
#ifndef COLONNADE_BASE_PROCESSOR_H
#define COLONNADE_BASE_PROCESSOR_H

#include <string>
#include <string_view>

namespace colonnade {

// The best instruction set in use, in the spelling of COLONNADE_CPU: "avx3".
std::string instruction_set();

// Uses this instruction set and those below it: "baseline" (what every such processor has), "ssse3", "sse4",
// "avx2", "avx3"; empty for all. Returns false, without any change, if the name is unknown. Kernels that were
// chosen before stay in use. Must not run concurrently with other threads.
bool limit_instruction_set(std::string_view name);

// Throws ErrorKind::usage if COLONNADE_CPU has a value that limit_instruction_set() does not know: a test for
// another processor must not silently run with this one's instructions.
void check_instruction_set();

}  // namespace colonnade

#endif
