// Converts conditions to rows: vectorised counting and compaction.
#ifndef COLONNADE_FRAME_EXECUTOR_ROWS_H
#define COLONNADE_FRAME_EXECUTOR_ROWS_H

#include <cstddef>
#include <cstdint>

namespace colonnade::frame {

// The number of non-zero bytes.
std::size_t count_true(const std::uint8_t* condition, std::size_t size) noexcept;
// Writes the positions of the non-zero bytes (without `wanted`: of the zero bytes) in order, and returns
// their number. `out` has room for `size` positions.
std::size_t positions_where(const std::uint8_t* condition, std::size_t size, bool wanted,
                            std::uint32_t* out) noexcept;

}  // namespace colonnade::frame

#endif
