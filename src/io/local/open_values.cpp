// See open_values.h.
#include "io/local/open_values.h"

#include <utility>

namespace colonnade::io {
namespace {

// A replaced or removed file has no name any more. Network file systems may report that late, or rename it
// instead; hence the time limit.
bool is_current(const OpenValue& value) noexcept {
  constexpr std::chrono::seconds longest{1};
  struct stat status{};
  return ::fstat(value.file.get(), &status) == 0 && status.st_nlink > 0 &&
         std::chrono::steady_clock::now() - value.opened < longest;
}

}  // namespace

std::shared_ptr<const OpenValue> OpenValues::find(const ValueAddress& address) {
  if (is_child()) return nullptr;
  std::shared_ptr<const OpenValue> value;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(address);
    if (found == entries_.end()) return nullptr;
    used_.splice(used_.begin(), used_, found->second.place);
    value = found->second.value;
  }
  if (is_current(*value)) return value;
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(address); found != entries_.end() && found->second.value == value)
    drop(found);
  return nullptr;
}

void OpenValues::keep(const ValueAddress& address, std::shared_ptr<const OpenValue> value) {
  if (is_child()) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(address); found != entries_.end()) drop(found);
  if (entries_.size() >= most_) drop(entries_.find(used_.back()));
  used_.push_front(address);
  try {
    entries_.emplace(address, CachedValue{std::move(value), used_.begin()});
  } catch (...) {
    used_.pop_front();
    throw;
  }
}

void OpenValues::forget(const ValueAddress& address) {
  if (is_child()) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(address); found != entries_.end()) drop(found);
}

void OpenValues::forget_all() {
  if (is_child()) return;
  const std::lock_guard lock(mutex_);
  entries_.clear();
  used_.clear();
}

void OpenValues::drop(std::map<ValueAddress, CachedValue>::iterator entry) {
  used_.erase(entry->second.place);
  entries_.erase(entry);
}

bool OpenValues::is_child() const noexcept {
  return !process_.is_current();
}

}  // namespace colonnade::io
