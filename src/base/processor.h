// Which instruction sets of the processor are used: all that it has, or what COLONNADE_CPU allows.
//
// The variable is for tests: results have the same bits on every processor, and with it one machine can play
// several. It counts when the library is loaded; a value that is none of the names below is an error as soon
// as something is opened.
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

// Throws ErrorKind::usage if COLONNADE_CPU has a value that limit_instruction_set() does not know: who wants
// a test on another processor is not to get one on this.
void check_instruction_set();

}  // namespace colonnade

#endif
