// Runs what Highway dispatches with each instruction set of this processor in turn, for tests that compare
// them.
#ifndef COLONNADE_BASE_EACH_TARGET_H
#define COLONNADE_BASE_EACH_TARGET_H

#include <cstdint>

#include "base/vector_targets.h"
//
#include <hwy/targets.h>

namespace colonnade {

template <class Work>
void with_each_target(const Work& work) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    work();
  }
  choose(0);  // all of them again
}

}  // namespace colonnade

#endif
