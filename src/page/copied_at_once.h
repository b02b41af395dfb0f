// How much is copied from the page cache, or from other memory, before anybody looks at it.
#ifndef COLONNADE_PAGE_COPIED_AT_ONCE_H
#define COLONNADE_PAGE_COPIED_AT_ONCE_H

#include <cstddef>

namespace colonnade::page {

// Little enough to be in the processor's cache still when it is summed or decompressed. More would save
// nothing but system calls.
inline constexpr std::size_t copied_at_once = std::size_t{256} << 10;

}  // namespace colonnade::page

#endif
