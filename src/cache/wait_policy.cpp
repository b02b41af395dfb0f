// See wait_policy.h.
#include "cache/wait_policy.h"

#include <algorithm>

namespace colonnade::cache {
namespace {

constexpr std::chrono::minutes longest_pause(10);
// Other readers share the connection and may have begun later: only a clear difference counts.
constexpr int clearly_slower = 4;

}  // namespace

bool WaitPolicy::may_wait() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() >= paused_until_;
}

bool WaitPolicy::may_continue(Clock::time_point begin) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < paused_until_ || now - begin > 2 * timeout_) return false;
  if (now - std::max(begin, last_arrival_) <= timeout_) return true;
  pause(now);
  return false;
}

// The lock is held.
void WaitPolicy::pause(Clock::time_point now) {
  paused_until_ = now + next_pause_;
  next_pause_ = std::min<Clock::duration>(2 * next_pause_, longest_pause);
}

void WaitPolicy::note_arrival(Clock::duration waited) {
  const std::lock_guard lock(mutex_);
  last_arrival_ = Clock::now();
  waited_ += waited;
  ++arrivals_;
}

bool WaitPolicy::is_trial_due() {
  const std::lock_guard lock(mutex_);
  if (waited_ < next_trial_) return false;
  next_trial_ *= 2;
  return true;
}

void WaitPolicy::note_download(Clock::duration took) {
  const std::lock_guard lock(mutex_);
  if (waited_ < timeout_) return;  // too short to compare
  if (waited_ > clearly_slower * arrivals_ * took) pause(Clock::now());
  waited_ = {};
  arrivals_ = 0;
}

}  // namespace colonnade::cache
