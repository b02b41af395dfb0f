// WaitPolicy: whether a reader waits for pages that other readers are downloading. These may be stopped, or
// slower than the connection: no reader waits longer than the timeout of the home in vain, and now and then a
// page is downloaded anyway, to compare. Where waiting does not pay, it is suspended for a while, and each
// time for longer. One per home and process, for all threads.
#ifndef COLONNADE_CACHE_WAIT_POLICY_H
#define COLONNADE_CACHE_WAIT_POLICY_H

#include <chrono>
#include <mutex>

namespace colonnade::cache {

class WaitPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitPolicy(Clock::duration timeout) : timeout_(timeout), next_trial_(timeout) {}

  bool may_wait() const;
  // Whether a wait since `begin` may continue. A wait that lasts for the timeout while nothing at all arrives
  // ends all others, too.
  bool may_continue(Clock::time_point begin);
  // A page has arrived after a wait of this time.
  void note_arrival(Clock::duration waited);
  // Whether to download the next page instead.
  bool is_trial_due();
  // The time of such a download, or of one after a wait that ended early.
  void note_download(Clock::duration took);

 private:
  void pause(Clock::time_point now);

  const Clock::duration timeout_;
  mutable std::mutex mutex_;
  Clock::time_point last_arrival_;
  Clock::time_point paused_until_;
  Clock::duration next_pause_ = std::chrono::seconds(30);
  Clock::duration next_trial_;  // after so much waiting
  Clock::duration waited_{0};   // since the last comparison, by all threads together
  int arrivals_ = 0;
};

}  // namespace colonnade::cache

#endif
