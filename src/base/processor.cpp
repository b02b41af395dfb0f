// See processor.h. Highway numbers its targets so that better ones have lower bits.
#include "base/processor.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/vector_targets.h"
//
#include <hwy/targets.h>

namespace colonnade {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string name_of(std::int64_t target) {
  return target == HWY_STATIC_TARGET ? "baseline" : lower_case(hwy::TargetName(target));
}

const bool limited_from_outside = [] {
  const char* name = std::getenv("COLONNADE_CPU");
  if (name == nullptr) return false;
  const bool known = limit_instruction_set(name);
  // Before main() nobody can catch an exception.
  if (!known)
    std::fprintf(
        stderr,
        "colonnade: COLONNADE_CPU=%s is ignored: it is no instruction set of this kind of processor\n", name);
  return known;
}();

}  // namespace

std::string instruction_set() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return name_of(targets & -targets);
}

bool limit_instruction_set(std::string_view name) {
  std::int64_t better = 0;
  if (!name.empty()) {
    const std::string wanted = lower_case(std::string(name));
    std::int64_t known = HWY_TARGETS;
    while (known != 0 && name_of(known & -known) != wanted) known &= known - 1;
    if (known == 0) return false;
    better = (known & -known) - 1;
  }
  hwy::DisableTargets(better);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

}  // namespace colonnade
