// Kernels that the graph itself adds to expressions.
#ifndef COLONNADE_FRAME_GRAPH_KERNELS_H
#define COLONNADE_FRAME_GRAPH_KERNELS_H

#include <cstddef>
#include <vector>

#include "colonnade/block.h"

namespace colonnade::frame {

// bool(): the flag of the rows' sample.
KernelPtr sample_flag(std::vector<bool> of_sample);
// item(list<item>): the item at this index of lists that must have `count` items. For callables that return
// all varied values at once.
KernelPtr varied_item(const ValueType& list, std::size_t index, std::size_t count);

}  // namespace colonnade::frame

#endif
