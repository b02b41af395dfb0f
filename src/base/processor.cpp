// See processor.h. Highway numbers its targets so that better targets have lower bits.
#include "base/processor.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

#include "base/lower_case.h"
#include "base/vector_targets.h"
#include "colonnade/error.h"
//
#include <hwy/targets.h>

namespace colonnade {
namespace {

std::string name_of(std::int64_t target) {
  return target == HWY_STATIC_TARGET ? "baseline" : lower_case(hwy::TargetName(target));
}

// An exception before main() cannot be caught, so check_instruction_set() throws it later.
const std::string not_understood = [] {
  const char* name = std::getenv("COLONNADE_CPU");
  return name == nullptr || limit_instruction_set(name) ? std::string() : std::string(name);
}();

}  // namespace

std::string instruction_set() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return name_of(targets & -targets);
}

bool limit_instruction_set(std::string_view name) {
  std::int64_t better = 0;
  if (!name.empty()) {
    const std::string wanted = lower_case(name);
    std::int64_t known = HWY_TARGETS;
    while (known != 0 && name_of(known & -known) != wanted) known &= known - 1;
    if (known == 0) return false;
    better = (known & -known) - 1;
  }
  hwy::DisableTargets(better);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

void check_instruction_set() {
  if (not_understood.empty()) return;
  std::string names;
  for (std::int64_t rest = HWY_TARGETS; rest != 0; rest &= rest - 1)
    names += (names.empty() ? "" : ", ") + name_of(rest & -rest);
  throw Error(
      ErrorKind::usage,
      fmt::format("COLONNADE_CPU={} is not an instruction set of this kind of processor", not_understood),
      fmt::format("{}; or leave it unset for all that the processor has", names));
}

}  // namespace colonnade
