// See file_opener.h.
#include "dataset/chains/file_opener.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/interruption.h"

namespace colonnade::dataset {

FileOpener::FileOpener(std::size_t count, std::size_t ahead, std::function<Opened(std::size_t number)> open)
    : ahead_(ahead), open_(std::move(open)), files_(count) {
  try {
    while (threads_.size() < std::min(ahead, count)) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // fewer threads suffice; without any, next() opens
  }
}

FileOpener::~FileOpener() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

FileOpener::Opened FileOpener::next() {
  if (threads_.empty()) return open_(taken_++);
  std::unique_lock lock(mutex_);
  File& file = files_[taken_];
  Interruption::wait(changed_, lock, [&] { return file.is_done; });
  if (file.failure) std::rethrow_exception(file.failure);
  ++taken_;
  changed_.notify_all();
  return std::move(file.source);
}

void FileOpener::work() {
  const Interruption interruption([this] {
    const std::lock_guard lock(mutex_);
    return is_over_;
  });
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || begun_ == files_.size() || begun_ < taken_ + ahead_; });
    if (is_over_ || begun_ == files_.size()) return;
    const std::size_t index = begun_++;
    lock.unlock();
    File file{.is_done = true};
    try {
      file.source = open_(index);
    } catch (...) {
      file.failure = std::current_exception();
    }
    lock.lock();
    files_[index] = std::move(file);
    changed_.notify_all();
  }
}

}  // namespace colonnade::dataset
