// Common bindings of Reader and ChainReader. Python threads may share one: calls take turns, and release the
// interpreter lock while they run.
#ifndef COLONNADE_PYTHON_SHARED_READING_H
#define COLONNADE_PYTHON_SHARED_READING_H

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "column_arrays.h"
#include "interruptible.h"
#include "text.h"

namespace colonnade::python {

template <class R>
class SharedReading {
 public:
  using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

  explicit SharedReading(std::shared_ptr<R> reader) : reader_(std::move(reader)) {}

  const R& reader() const { return *reader_; }

  auto metrics() {
    const std::lock_guard turn(mutex_);
    return reader_->metrics();
  }
  std::vector<FieldArray> arrays(const std::vector<std::string>& paths, std::uint64_t first,
                                 std::uint64_t last, std::uint64_t ahead) {
    std::vector<ColumnArray> read;
    {
      const Interruptible released;
      const std::lock_guard turn(mutex_);
      read = reader_->arrays(paths, first, last, ahead);
    }
    return to_numpy(std::move(read));
  }
  nanobind::typed<nanobind::list, nanobind::str> entry_texts(std::uint64_t first, std::uint64_t last,
                                                             const std::vector<std::string>& fields) {
    std::vector<std::string> texts;
    {
      const Interruptible released;
      const std::lock_guard turn(mutex_);
      for (std::uint64_t entry = first; entry < last; ++entry)
        texts.push_back(reader_->entry_text(entry, fields));
    }
    nanobind::list result;
    for (const std::string& entry : texts) result.append(text(entry));
    return result;
  }
  auto verify(const Progress& progress) {
    const Interruptible released;
    const std::lock_guard turn(mutex_);
    if (!progress) return reader_->verify();
    return reader_->verify([&](std::uint64_t done, std::uint64_t pages) {
      if (done % 256 != 0 && done != pages) return;
      const nanobind::gil_scoped_acquire acquired;
      progress(done, pages);
    });
  }

 protected:
  const std::shared_ptr<R> reader_;
  std::mutex mutex_;
};

}  // namespace colonnade::python

#endif
