// See line_estimate.h.
#include "io/line_estimate.h"

#include <algorithm>

namespace colonnade::io {
namespace {

constexpr std::chrono::seconds round_trip_holds{10};
constexpr std::chrono::seconds rate_holds{2};
// Of a line that nothing has been seen of: bytes per second.
constexpr double assumed_rate = 500e6;
// No request says more than so much: clocks are not finer.
constexpr std::chrono::microseconds shortest{10};

double seconds(LineEstimate::Clock::duration time) noexcept {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

LineEstimate::Departure LineEstimate::depart(std::size_t bytes, Time now) noexcept {
  if (on_their_way_++ == 0) counts_from_ = now;
  return {.at = now, .since = std::min(counts_from_, now), .arrived = arrived_, .bytes = bytes};
}

void LineEstimate::arrive(const Departure& departure, Time now) noexcept {
  --on_their_way_;
  now = std::max(now, departure.at + shortest);
  arrived_ += departure.bytes;
  ++requests_;
  counts_from_ = std::max(counts_from_, now);
  const Clock::duration took = now - departure.at;
  if (least_ == Clock::duration{} || took <= least_) {
    least_ = took;
    least_seen_ = now;
  } else if (now - least_seen_ > round_trip_holds) {
    // Step by step: requests that wait for each other on a full line look like ones on a longer line.
    least_ = std::min(took, least_ + least_ / 4);
    least_seen_ = now;
  }
  const double rate = static_cast<double>(arrived_ - departure.arrived) / seconds(now - departure.since);
  if (rate >= rate_ || now - rate_seen_ > rate_holds) {
    rate_ = rate;
    rate_seen_ = now;
  }
}

LineEstimate::Clock::duration LineEstimate::round_trip() const noexcept {
  return requests_ > 0 ? least_ : first_guess_;
}

std::size_t LineEstimate::product() const noexcept {
  constexpr double most = 1e12;
  const double rate = requests_ > 0 ? rate_ : assumed_rate;
  return static_cast<std::size_t>(std::min(seconds(round_trip()) * rate, most));
}

std::size_t LineEstimate::mean_request() const noexcept {
  return requests_ == 0 ? 0 : static_cast<std::size_t>(arrived_ / requests_);
}

}  // namespace colonnade::io
