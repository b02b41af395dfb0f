// A request that is sent again while that may help: the attempts one after the other, on the engine's thread.
// Transports say how a request is made, what an answer means and who hears of the last one.
#ifndef COLONNADE_IO_HTTP_HTTP_ATTEMPTS_H
#define COLONNADE_IO_HTTP_HTTP_ATTEMPTS_H

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/interruption.h"
#include "io/http/http_engine.h"
#include "io/http/http_retry.h"

namespace colonnade::io {

struct HttpOutcome {
  unsigned attempts = 1;
  std::chrono::milliseconds took{0};
  // Some attempt may have been carried out: its answer was lost or is an error of the server.
  bool may_be_done = false;
};

class HttpAttempts : public std::enable_shared_from_this<HttpAttempts> {
 public:
  virtual ~HttpAttempts() = default;
  HttpAttempts(const HttpAttempts&) = delete;
  HttpAttempts& operator=(const HttpAttempts&) = delete;

  void begin() { send(std::chrono::milliseconds(0)); }

 protected:
  enum class Verdict {
    final,  // whatever it is
    pass,   // a failure that may pass: again after a wait, while there is time
    next    // again at once, as another request: what request() gives has changed
  };

  // `owner` as HttpEngine::start() has it.
  HttpAttempts(HttpEngine& engine, const void* owner, const HttpRetryPolicy& policy)
      : engine_(&engine), owner_(owner), retry_(policy) {}

  // All of these run on the engine's thread, but for the first request().
  virtual HttpRequest request(std::chrono::milliseconds time_left) = 0;
  virtual Verdict judge(const HttpAnswer& answer) = 0;
  virtual void finish(HttpAnswer&& answer, const HttpOutcome& outcome) = 0;

 private:
  void send(std::chrono::milliseconds delay);
  void take(HttpAnswer&& answer);

  HttpEngine* engine_;
  const void* owner_;
  HttpRetry retry_;
  std::string server_;  // of the attempt under way
  bool may_be_done_ = false;
};

// Starts something of `owner` that calls its argument once with a Result, and waits for that. Null: something
// that must not be interrupted, as it may write.
template <class Result, class Start>
Result wait_for_answer(HttpEngine& engine, const void* owner, Start&& start) {
  std::mutex mutex;
  std::condition_variable arrives;
  bool arrived = false;
  Result result;
  start([&](Result&& given) {
    const std::lock_guard lock(mutex);
    result = std::move(given);
    arrived = true;
    arrives.notify_one();  // within the lock: the waiting thread's stack must still be there
  });
  const auto has_arrived = [&] { return arrived; };
  std::unique_lock lock(mutex);
  if (owner == nullptr) {
    arrives.wait(lock, has_arrived);
    return result;
  }
  try {
    Interruption::wait(arrives, lock, has_arrived);
  } catch (const Interrupted&) {
    lock.unlock();
    engine.cancel(owner);
    throw;
  }
  return result;
}

}  // namespace colonnade::io

#endif
