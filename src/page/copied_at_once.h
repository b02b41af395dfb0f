// The number of bytes copied from the page cache, or from other memory, before they are processed.
#ifndef COLONNADE_PAGE_COPIED_AT_ONCE_H
#define COLONNADE_PAGE_COPIED_AT_ONCE_H

#include <cstddef>

namespace colonnade::page {

// Small enough to stay in the processor's cache until the bytes are hashed or decompressed. A larger number
// would only save system calls.
inline constexpr std::size_t copied_at_once = std::size_t{256} << 10;

}  // namespace colonnade::page

#endif
