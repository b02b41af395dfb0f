// start_thread(): a thread, or an error that says what it needs.
#ifndef COLONNADE_BASE_START_THREAD_H
#define COLONNADE_BASE_START_THREAD_H

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

#include "colonnade/error.h"

namespace colonnade {

// Throws ErrorKind::resource if the system refuses. Thread is std::thread or std::jthread.
template <class Thread = std::thread, class Work>
Thread start_thread(Work&& work) {
  try {
    return Thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw Error(
        ErrorKind::resource, fmt::format("cannot start a thread: {}", error.code().message()),
        "fewer threads, or more threads and memory for this process (ulimit -u, ulimit -v, pids.max)");
  }
}

}  // namespace colonnade

#endif
