// Which results are numbers of rows.
#ifndef COLONNADE_FRAME_RESULTS_COUNTS_H
#define COLONNADE_FRAME_RESULTS_COUNTS_H

#include "colonnade/accumulator.h"

namespace colonnade::frame {

// True for a count: of a block, it looks at the number of rows alone.
bool is_count(const Accumulator& accumulator) noexcept;

}  // namespace colonnade::frame

#endif
