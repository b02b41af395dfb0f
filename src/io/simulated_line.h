// A server at the end of a line that exists in a test alone: requests take a round trip and the time that the
// line takes for their bytes, one after the other. Time advances in the waiting thread.
#ifndef COLONNADE_IO_SIMULATED_LINE_H
#define COLONNADE_IO_SIMULATED_LINE_H

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/random_access_file.h"

namespace colonnade::io {

struct SimulatedLine {
  using Time = std::chrono::steady_clock::time_point;

  std::chrono::microseconds round_trip{50'000};
  double rate = 1e12;  // bytes per second
  unsigned concurrency = 4;
  unsigned most_concurrency = 64;
  std::size_t worthwhile_gap = 0;

  Time now = Time(std::chrono::seconds(1'000));
  Time busy_until = now;
  // Seen:
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::size_t in_flight = 0;
  std::size_t bytes_in_flight = 0;
  std::size_t most_in_flight = 0;
  std::size_t most_bytes_in_flight = 0;

  double seconds_since(Time begin) const { return std::chrono::duration<double>(now - begin).count(); }
};

class SimulatedQueue final : public ReadQueue {
 public:
  SimulatedQueue(const RandomAccessFile& file, SimulatedLine& line) : file_(&file), line_(&line) {}
  ~SimulatedQueue() override {
    for (const Request& request : requests_) leave(request);
  }

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    begin();
    const auto sending = std::chrono::duration_cast<SimulatedLine::Time::duration>(
        std::chrono::duration<double>(static_cast<double>(into.size()) / line_->rate));
    line_->busy_until = std::max(line_->busy_until, line_->now) + sending;
    requests_.push_back({id, offset, into, line_->busy_until + line_->round_trip});
    ++line_->requests;
    line_->bytes += into.size();
    line_->most_in_flight = std::max(line_->most_in_flight, ++line_->in_flight);
    line_->bytes_in_flight += into.size();
    line_->most_bytes_in_flight = std::max(line_->most_bytes_in_flight, line_->bytes_in_flight);
  }
  Time now() const noexcept override { return line_->now; }

 private:
  struct Request {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    MutableByteSpan into;
    Time arrives;
  };

  void leave(const Request& request) const noexcept {
    --line_->in_flight;
    line_->bytes_in_flight -= request.into.size();
  }

  void progress(bool block) override {
    if (block && !requests_.empty()) line_->now = std::max(line_->now, requests_.front().arrives);
    while (!requests_.empty() && requests_.front().arrives <= line_->now) {
      const Request request = requests_.front();
      requests_.pop_front();
      leave(request);
      std::exception_ptr failure;
      try {
        file_->read(request.offset, request.into);
      } catch (...) {
        failure = std::current_exception();
      }
      finish(request.id, failure, request.arrives);
    }
  }

  const RandomAccessFile* file_;
  SimulatedLine* line_;
  std::deque<Request> requests_;
};

// A file at the end of the line, which must outlive it.
class SimulatedFile final : public RandomAccessFile {
 public:
  SimulatedFile(std::unique_ptr<RandomAccessFile> file, SimulatedLine& line)
      : file_(std::move(file)), line_(&line) {}

  const std::string& uri() const noexcept override { return file_->uri(); }
  std::uint64_t size() const override { return file_->size(); }
  IoTraits traits() const noexcept override {
    return {.worthwhile_gap = line_->worthwhile_gap,
            .concurrency = line_->concurrency,
            .most_concurrency = line_->most_concurrency};
  }
  // Direct, without the simulated line: opening reads like this.
  void read(std::uint64_t offset, MutableByteSpan into) const override { file_->read(offset, into); }
  std::unique_ptr<ReadQueue> open_queue(unsigned /*depth*/) const override {
    return std::make_unique<SimulatedQueue>(*file_, *line_);
  }

 private:
  std::unique_ptr<RandomAccessFile> file_;
  SimulatedLine* line_;
};

}  // namespace colonnade::io

#endif
