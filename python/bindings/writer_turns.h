// The turns of Python threads that share a writer.
#ifndef COLONNADE_PYTHON_WRITER_TURNS_H
#define COLONNADE_PYTHON_WRITER_TURNS_H

#include <mutex>

#include "base/process.h"
#include "colonnade/error.h"

namespace colonnade::python {

// A forked child has none: a thread of its parent may have been in one, which then never ends.
class WriterTurns {
 public:
  bool is_here() const noexcept { return process_.is_current(); }
  std::unique_lock<std::mutex> take() {
    if (!is_here())
      throw Error(ErrorKind::usage,
                  "the data set is being written by the process that this one was forked from",
                  "write it there, or open a writer here");
    return std::unique_lock(mutex_);
  }

 private:
  const Process process_;
  std::mutex mutex_;
};

}  // namespace colonnade::python

#endif
