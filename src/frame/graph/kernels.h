// Kernels that the graph itself adds to expressions.
#ifndef COLONNADE_FRAME_GRAPH_KERNELS_H
#define COLONNADE_FRAME_GRAPH_KERNELS_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "colonnade/block.h"

namespace colonnade::frame {

// bool(): the flag of the rows' sample.
KernelPtr sample_flag(std::vector<bool> of_sample);
// item(list<item>): the item at this index of lists that must have `count` items. For callables that return
// all varied values at once.
KernelPtr varied_item(const ValueType& list, std::size_t index, std::size_t count);
// from(from): the numbers, or lists of them, as they are. Throws ErrorKind::type for one that the column's
// type does not have.
KernelPtr fitting(ValueType from, ValueType to, std::string column, std::string variation,
                  std::string advice);
// The place of the first number that an integer type does not have.
std::optional<std::size_t> first_misfit(const Values& numbers, ElementType type);
// optional<item>(item): an optional that has the value.
KernelPtr optional_of(const ValueType& type);

}  // namespace colonnade::frame

#endif
