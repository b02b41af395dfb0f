// Work in threads of its own, for the time of a call.
#ifndef COLONNADE_BASE_SIDE_BY_SIDE_H
#define COLONNADE_BASE_SIDE_BY_SIDE_H

#include <cstddef>
#include <functional>

namespace colonnade {

// Calls work(0) to work(count - 1) at the same time, work(0) in this thread, and returns when all have ended.
// Where there can be no more threads, this one does the rest. Throws what the first of them threw.
void run_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace colonnade

#endif
