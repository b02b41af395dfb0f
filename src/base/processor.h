// Which instruction sets of the processor are used: all that it has, or what COLONNADE_CPU allows.
//
// The variable is for tests: results have the same bits on every processor, and with it one machine can play
// several. It counts when the library is loaded.
#ifndef COLONNADE_BASE_PROCESSOR_H
#define COLONNADE_BASE_PROCESSOR_H

#include <string>
#include <string_view>

namespace colonnade {

// The best one in use, in the spelling of COLONNADE_CPU: "avx3".
std::string instruction_set();

// Uses this instruction set and those below it: "baseline" (what every such processor has), "ssse3", "sse4",
// "avx2", "avx3"; empty for all. False, and nothing changed, if the name is unknown. Loops that were chosen
// before stay chosen; not to be called beside other threads.
bool limit_instruction_set(std::string_view name);

}  // namespace colonnade

#endif
