// Calls of libdaos in flight: operations of one or several calls, launched with events on an event queue. An
// operation of several calls has an event for each of them and a parent that waits for all (a barrier); the
// parent does not report their failures, so each child's error is checked.
//
// libdaos cannot cancel a call. An operation therefore owns all memory that its calls use, and an operation
// that timed out stays with its queue until its events have come.
#ifndef COLONNADE_IO_DAOS_DAOS_EVENTS_H
#define COLONNADE_IO_DAOS_DAOS_EVENTS_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "io/daos/daos_api.h"
#include "io/daos/daos_runtime.h"

namespace colonnade::io::daos {

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::size_t calls() const = 0;  // to be launched now; at least 1
  virtual int launch(const Api& api, std::size_t call, Event* event) noexcept = 0;
  // Gets the results of all calls; returns true if there are more to launch.
  virtual bool finish(std::span<const int> results) = 0;
  // True if the operation must run to its end even after it timed out.
  virtual bool must_end() const noexcept { return false; }
};

// One thread at a time.
class EventQueue {
 public:
  using Clock = std::chrono::steady_clock;

  EventQueue(Runtime& runtime, const std::string& uri);
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue();  // while operations run, it leaks the queue and their memory

  void launch(std::uint64_t id, std::unique_ptr<Operation> operation);
  // Overrides the runtime's timeout.
  void set_timeout(Runtime::Duration timeout) noexcept { timeout_ = timeout; }

  struct Finished {
    std::uint64_t id = 0;
    std::unique_ptr<Operation> operation;  // null: failed here, or timed out
    std::exception_ptr failure;            // null: see the operation for other failures
  };
  // Appends completed operations to `finished`; with `block`, waits until one has completed or timed out.
  // Throws ErrorKind::io if the queue itself fails.
  void poll(std::vector<Finished>& finished, bool block);

  std::size_t running() const noexcept { return running_.size() + ready_.size(); }
  std::size_t abandoned() const noexcept { return abandoned_.size(); }
  // Waits for running operations, at most the runtime's closing_time(); abandons the
  // others.
  void drain() noexcept;
  void collect_abandoned() noexcept;  // drops those that have been answered

 private:
  struct Flight;
  void launch_round(Flight& flight);
  void launch_children(Flight& flight);
  void take_events(std::int64_t timeout_us);
  bool land(Flight& flight);
  bool settle_children(Flight& flight);
  bool deliver(std::vector<Finished>& finished);
  void deliver_one(std::unique_ptr<Flight> flight, std::vector<Finished>& finished);
  void give_up_late();
  bool goes_on(Flight& flight) noexcept;
  std::int64_t pause() const;

  Runtime* runtime_;
  std::string uri_;
  Handle queue_;
  std::vector<std::unique_ptr<Flight>> running_;
  std::vector<std::unique_ptr<Flight>> ready_;      // answered and not delivered
  std::vector<std::unique_ptr<Flight>> abandoned_;  // unanswered, without a waiting caller
  std::vector<std::uint64_t> late_;                 // ids that timed out and were not delivered
  Clock::time_point last_answer_;
  Runtime::Duration timeout_;
};

}  // namespace colonnade::io::daos

#endif
