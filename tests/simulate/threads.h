// See threads.cpp.
#ifndef COLONNADE_SIMULATE_THREADS_H
#define COLONNADE_SIMULATE_THREADS_H

namespace colonnade::simulate {

// While set, threads that are started outside of a history never run. The pool of the library, whose tasks
// are done by who waits for them, is made so.
bool& starts_no_threads() noexcept;

}  // namespace colonnade::simulate

#endif
