// LaterResult: the result of work that a thread of its own does ahead.
#ifndef COLONNADE_BASE_LATER_RESULT_H
#define COLONNADE_BASE_LATER_RESULT_H

#include <chrono>
#include <future>
#include <stop_token>
#include <utility>

#include "base/interruption.h"

namespace colonnade {

// As a std::future of std::async. The destructor interrupts the work, and waits until it has ended.
template <class T>
class LaterResult {
 public:
  LaterResult() noexcept : stop_(std::nostopstate) {}
  // Throws std::system_error if there can be no thread.
  template <class Work>
  static LaterResult of(Work work) {
    LaterResult later;
    later.stop_ = std::stop_source();
    later.result_ = std::async(std::launch::async, [stop = later.stop_.get_token(), work = std::move(work)] {
      const Interruption interruption([&] { return stop.stop_requested(); });
      return work();
    });
    return later;
  }
  LaterResult(LaterResult&&) noexcept = default;
  LaterResult& operator=(LaterResult&& other) noexcept {
    stop_.request_stop();
    stop_ = std::move(other.stop_);
    result_ = std::move(other.result_);
    return *this;
  }
  ~LaterResult() { stop_.request_stop(); }

  bool valid() const noexcept { return result_.valid(); }
  bool is_ready() const { return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  void wait() const {
    while (result_.wait_for(Interruption::interval) != std::future_status::ready) Interruption::check();
  }
  T get() {
    wait();
    return result_.get();
  }

 private:
  std::stop_source stop_;
  std::future<T> result_;
};

}  // namespace colonnade

#endif
