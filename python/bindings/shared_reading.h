// Common bindings of Reader and ChainReader. Python threads may share one: calls take turns, and release the
// interpreter lock while they run. After a fork the child goes on with it, unless a thread of its parent was
// in a call: what that was changing stays half changed.
#ifndef COLONNADE_PYTHON_SHARED_READING_H
#define COLONNADE_PYTHON_SHARED_READING_H

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "colonnade/error.h"
#include "column_arrays.h"
#include "interruptible.h"
#include "text.h"

namespace colonnade::python {

// Lets the threads of a process take turns, and tells its children whether one was at work when they were
// forked.
class Turns {
  struct Own {
    const Process process = {};
    std::mutex mutex = {};
    std::atomic<bool> is_taken = false;
    bool is_left = false;
  };

 public:
  class Turn {
   public:
    explicit Turn(Turns& turns) : own_(turns.own()), lock_(own_.mutex) {
      if (own_.is_left)
        throw Error(ErrorKind::usage,
                    "another thread was reading with this object while the process was forked",
                    "open it again in the child, or fork while no thread reads with it");
      own_.is_taken = true;
    }
    ~Turn() { own_.is_taken = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Own& own_;
    const std::lock_guard<std::mutex> lock_;
  };

  ~Turns() {
    // A child leaves what its parent may have locked.
    Own* const last = own_.load();
    if (last->process.is_current()) delete last;
  }
  Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // True if the fork interrupted a call: the object was left half changed and must not be used.
  bool is_left() { return own().is_left; }

 private:
  Own& own() {
    Own* known = own_.load();
    while (!known->process.is_current()) {
      auto fresh = std::make_unique<Own>();
      fresh->is_left = known->is_left || known->is_taken;
      if (own_.compare_exchange_strong(known, fresh.get())) known = fresh.release();
    }
    return *known;
  }

  std::atomic<Own*> own_ = new Own;
};

template <class R>
class SharedReading {
 public:
  using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

  explicit SharedReading(std::shared_ptr<R> reader) : reader_(std::move(reader)) {}
  ~SharedReading() {
    if (turns_.is_left()) leave_to_parent(reader_);
  }
  SharedReading(const SharedReading&) = delete;
  SharedReading& operator=(const SharedReading&) = delete;

  const R& reader() const { return *reader_; }

  auto metrics() {
    const Turns::Turn turn(turns_);
    return reader_->metrics();
  }
  std::vector<FieldArray> arrays(const std::vector<std::string>& paths, std::uint64_t first,
                                 std::uint64_t last, std::uint64_t ahead) {
    std::vector<ColumnArray> read;
    {
      const Interruptible released;
      const Turns::Turn turn(turns_);
      read = reader_->arrays(paths, first, last, ahead);
    }
    return to_numpy(std::move(read));
  }
  nanobind::typed<nanobind::list, nanobind::str> entry_texts(std::uint64_t first, std::uint64_t last,
                                                             const std::vector<std::string>& fields) {
    std::vector<std::string> texts;
    {
      const Interruptible released;
      const Turns::Turn turn(turns_);
      for (std::uint64_t entry = first; entry < last; ++entry)
        texts.push_back(reader_->entry_text(entry, fields));
    }
    nanobind::list result;
    for (const std::string& entry : texts) result.append(text(entry));
    return result;
  }
  auto verify(const Progress& progress) {
    const Interruptible released;
    const Turns::Turn turn(turns_);
    if (!progress) return reader_->verify();
    return reader_->verify([&](std::uint64_t done, std::uint64_t pages) {
      if (done % 256 != 0 && done != pages) return;
      const nanobind::gil_scoped_acquire acquired;
      progress(done, pages);
    });
  }

 protected:
  std::shared_ptr<R> reader_;
  Turns turns_;
};

}  // namespace colonnade::python

#endif
