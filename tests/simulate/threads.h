// See threads.cpp.
#ifndef COLONNADE_SIMULATE_THREADS_H
#define COLONNADE_SIMULATE_THREADS_H

namespace colonnade::simulate {

// While set, threads started outside of a history never run. The library's thread pool is created like this,
// as waiting callers run its tasks.
bool& starts_no_threads() noexcept;

}  // namespace colonnade::simulate

#endif
