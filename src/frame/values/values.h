// Operations on Values of any type: selecting rows, expanding constants, printing, comparing.
#ifndef COLONNADE_FRAME_VALUES_VALUES_H
#define COLONNADE_FRAME_VALUES_VALUES_H

#include <cstdint>
#include <span>
#include <string>

#include "colonnade/block.h"

namespace colonnade::frame {

// The elements at `indices` (each less than values.size), in that order.
ValuesPtr gather(const ValuesPtr& values, std::span<const std::uint32_t> indices, BlockMemory& memory);
// The same for more than 2^32 items.
ValuesPtr gather(const ValuesPtr& values, std::span<const std::int64_t> indices, BlockMemory& memory);
// Elements [first, first + count); shares the arrays if possible.
ValuesPtr slice(const ValuesPtr& values, std::size_t first, std::size_t count, BlockMemory& memory);
// The values with an array element per row at every level, even if they are constant.
ValuesPtr spread(const ValuesPtr& values, BlockMemory& memory);
// The first element of `one` for `size` rows, as a constant.
ValuesPtr repeat(const ValuesPtr& one, std::size_t size);
// Merges two compacted sets of rows: the rows in `where_yes` take the elements of `yes` in order, the others
// those of `no`. yes.size == where_yes.size(), no.size == size - where_yes.size(). For ?:, && and ||.
ValuesPtr combine(std::size_t size, std::span<const std::uint32_t> where_yes, const ValuesPtr& yes,
                  const ValuesPtr& no, BlockMemory& memory);
// Row i from `yes` if the boolean `condition` holds, else from `no`; all three have equally many rows.
ValuesPtr choose(const Values& condition, const ValuesPtr& yes, const ValuesPtr& no, BlockMemory& memory);
// Concatenates values of one type.
ValuesPtr concatenate(std::span<const ValuesPtr> values, BlockMemory& memory);
// Deep copies with memory of their own: nothing of the block is kept alive.
ValuesPtr keep(const ValuesPtr& values);

// One element as text: 1.5, "abc", {1, 2}, {pt: 1, eta: 2}.
std::string text_of(const Values& values, std::size_t index);
// The size of the arrays in bytes.
std::uint64_t byte_count(const Values& values);
// The bytes of the first `count` elements, whose arrays may be parts of a page. Constants have one element.
std::uint64_t used_bytes(const Values& values, std::uint64_t count);

}  // namespace colonnade::frame

#endif
