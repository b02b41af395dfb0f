// When a request that failed is tried again: after a random time between nothing and a bound that doubles
// ("full jitter": many clients that were refused together do not come back together), or as long as the
// server asks for; not for ever.
#ifndef COLONNADE_IO_HTTP_HTTP_RETRY_H
#define COLONNADE_IO_HTTP_HTTP_RETRY_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/http/http_engine.h"

namespace colonnade::io {

struct HttpRetryPolicy {
  std::chrono::milliseconds timeout{60'000};  // from the first attempt on
  std::chrono::milliseconds transfer{0};      // more than that for the bytes, where any were moved
  unsigned most_attempts = 10;
  std::chrono::milliseconds first_bound{100};
  std::chrono::milliseconds largest_bound{10'000};
};

class HttpRetry {
 public:
  using Clock = std::chrono::steady_clock;

  HttpRetry() = default;
  explicit HttpRetry(const HttpRetryPolicy& policy) : policy_(policy) {}

  // Of an attempt that is about to begin: what is left of the timeout.
  std::chrono::milliseconds time_left(Clock::time_point now) const noexcept;
  // After an attempt that took so long: how long to wait for the next one; nullopt: give up. `chance` is
  // evenly distributed in [0, 1).
  std::optional<std::chrono::milliseconds> failed(Clock::time_point now, std::chrono::milliseconds took,
                                                  std::optional<std::chrono::milliseconds> retry_after,
                                                  double chance, bool has_moved = true) noexcept;
  unsigned attempts() const noexcept { return attempts_; }  // that failed
  std::chrono::milliseconds elapsed(Clock::time_point now) const noexcept;

 private:
  HttpRetryPolicy policy_;
  unsigned attempts_ = 0;
  std::optional<Clock::time_point> begin_;  // of the first attempt, known when it has failed
};

// Whether the same request may succeed later.
bool may_pass(const HttpAnswer& answer) noexcept;
// What to try after HttpFailure::tls where libcurl's problem tells; otherwise empty.
std::string_view certificate_advice(std::string_view problem) noexcept;
// Retry-After in seconds; nullopt where there is none or it is a date.
std::optional<std::chrono::milliseconds> retry_after(const HttpAnswer& answer) noexcept;

}  // namespace colonnade::io

#endif
