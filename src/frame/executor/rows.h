// Rows out of conditions: counting and compacting, with vectors.
#ifndef COLONNADE_FRAME_EXECUTOR_ROWS_H
#define COLONNADE_FRAME_EXECUTOR_ROWS_H

#include <cstddef>
#include <cstdint>

namespace colonnade::frame {

// Bytes that are not 0.
std::size_t count_true(const std::uint8_t* condition, std::size_t size) noexcept;
// Writes the positions of the bytes that are not 0 (or that are 0, without `wanted`), in order, and says how
// many there are. `out` has room for `size` of them.
std::size_t positions_where(const std::uint8_t* condition, std::size_t size, bool wanted,
                            std::uint32_t* out) noexcept;

}  // namespace colonnade::frame

#endif
