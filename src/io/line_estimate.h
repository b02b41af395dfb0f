// LineEstimate: what the requests of one reader have shown of the way to its server - how long a request
// takes at least, and how many bytes per second arrive at most. Their product is what has to be on its way at
// any time so that the line never runs dry.
//
// Rates are taken between the departure of a request and its arrival, over all bytes that arrived meanwhile:
// with little on its way the rate is what was on its way per round trip, so that asking for a multiple of the
// product finds the line's rate in a few round trips. Both numbers are forgotten when they have not been seen
// for a while, since lines change. It has no clock of its own.
#ifndef COLONNADE_IO_LINE_ESTIMATE_H
#define COLONNADE_IO_LINE_ESTIMATE_H

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colonnade::io {

class LineEstimate {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // `round_trip`: of an earlier request to the same server; zero: none is known.
  explicit LineEstimate(Clock::duration round_trip = {}) noexcept : first_guess_(round_trip) {}

  struct Departure {
    Time at;
    Time since;  // rates count from here
    std::uint64_t arrived = 0;
    std::size_t bytes = 0;
  };
  Departure depart(std::size_t bytes, Time now) noexcept;
  void arrive(const Departure& departure, Time now) noexcept;
  // It failed: it says nothing.
  void lose() noexcept { --on_their_way_; }

  Clock::duration round_trip() const noexcept;
  double rate() const noexcept { return rate_; }  // bytes per second; 0: not seen
  // Round trip times rate, in bytes; 0: nothing is known. At first the line is taken to be a fast one.
  std::size_t product() const noexcept;
  std::size_t mean_request() const noexcept;  // bytes; 0: none has arrived

 private:
  Clock::duration first_guess_;
  Clock::duration least_{};  // time of a request
  Time least_seen_;
  double rate_ = 0;
  Time rate_seen_;
  Time counts_from_;           // the last arrival, or the departure that ended a time with nothing on its way
  std::uint64_t arrived_ = 0;  // bytes
  std::uint64_t requests_ = 0;
  std::size_t on_their_way_ = 0;
};

}  // namespace colonnade::io

#endif
