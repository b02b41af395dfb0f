// Histories of a cache: readers that read and fill one home, origins that are replaced, and all faults. See
// docs/simulation.md.
#ifndef COLONNADE_SIMULATE_CACHE_HISTORY_H
#define COLONNADE_SIMULATE_CACHE_HISTORY_H

#include "history.h"

namespace colonnade::simulate {

// The states that origins go through, in the memory of this process; once, before any history.
void prepare_origins();
HistoryResult run_cache_history(const HistoryOptions& options);

}  // namespace colonnade::simulate

#endif
