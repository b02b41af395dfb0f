// See cells.h.
#include "frame/results/cells.h"

#include <fmt/format.h>

#include "colonnade/error.h"

namespace colonnade::frame {

void* zeroed_memory(std::size_t count, std::size_t size) {
  void* memory = std::calloc(count == 0 ? 1 : count, size);
  if (memory == nullptr)
    throw Error(ErrorKind::resource,
                fmt::format("no memory for a histogram with {} bins of {} bytes", count, size),
                "use fewer bins");
  return memory;
}

}  // namespace colonnade::frame
