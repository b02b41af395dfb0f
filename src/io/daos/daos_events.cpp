// See daos_events.h.
#include "io/daos/daos_events.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "io/daos/daos_errors.h"

namespace colonnade::io::daos {
namespace {

constexpr std::int64_t longest_pause = 100'000;  // us; so that the timeout is checked
constexpr std::int64_t settling_pause = 1'000;   // us

}  // namespace

// An operation in flight. Its address does not change: libdaos keeps pointers to the events.
struct EventQueue::Flight {
  enum class State { launched, answered, settling };

  std::uint64_t id = 0;
  std::unique_ptr<Operation> operation;
  Event event;  // the only one, or the parent
  std::unique_ptr<Event[]> children;
  std::vector<char> open;  // children that were launched and are not finalised
  std::vector<int> results;
  State state = State::launched;
  Clock::time_point launched_at;
};

EventQueue::EventQueue(Runtime& runtime, const std::string& uri)
    : runtime_(&runtime), uri_(uri), last_answer_(Clock::now()), timeout_(runtime.timeout()) {
  if (const int code = runtime.api().eq_create(&queue_); code != 0)
    throw call_error(uri, "create an event queue (daos_eq_create)", code);
}

EventQueue::~EventQueue() {
  if (runtime_->forked() || !running_.empty() || !abandoned_.empty()) {
    for (auto* flights : {&running_, &abandoned_})
      for (std::unique_ptr<Flight>& flight : *flights) leave_behind(flight);
    return;
  }
  runtime_->api().eq_destroy(queue_, 0);
}

void EventQueue::launch(std::uint64_t id, std::unique_ptr<Operation> operation) {
  auto flight = std::make_unique<Flight>();
  flight->id = id;
  flight->operation = std::move(operation);
  running_.reserve(running_.size() + 1);
  ready_.reserve(ready_.size() + running_.size() + 1);
  abandoned_.reserve(abandoned_.size() + running_.size() + 1);
  late_.reserve(late_.size() + running_.size() + 1);
  running_.push_back(std::move(flight));
  try {
    launch_round(*running_.back());
  } catch (...) {
    running_.pop_back();  // no memory for the events: nothing was launched
    throw;
  }
}

void EventQueue::launch_round(Flight& flight) {
  const Api& api = runtime_->api();
  const std::size_t calls = flight.operation->calls();
  flight.results.assign(calls, 0);
  flight.launched_at = Clock::now();
  flight.state = Flight::State::launched;
  flight.event = {};
  if (calls > 1) {
    launch_children(flight);
    return;
  }
  int code = api.event_init(&flight.event, queue_, nullptr);
  if (code == 0) {
    code = flight.operation->launch(api, 0, &flight.event);
    // Refused before the launch: no event will come. (An event that is in flight anyway is "busy".)
    if (code != 0 && api.event_fini(&flight.event) == -der_busy) code = 0;
  }
  if (code != 0) {
    flight.results[0] = code;
    flight.state = Flight::State::answered;
  }
}

void EventQueue::launch_children(Flight& flight) {
  const Api& api = runtime_->api();
  const std::size_t calls = flight.results.size();
  flight.children = std::make_unique<Event[]>(calls);
  flight.open.assign(calls, 0);
  int failure = api.event_init(&flight.event, queue_, nullptr);
  if (failure != 0) {
    std::fill(flight.results.begin(), flight.results.end(), failure);
    flight.state = Flight::State::answered;
    return;
  }
  for (std::size_t i = 0; i < calls && failure == 0; ++i) {
    failure = api.event_init(&flight.children[i], queue_, &flight.event);
    if (failure == 0) {
      flight.open[i] = 1;
      failure = flight.operation->launch(api, i, &flight.children[i]);
    }
    flight.results[i] = failure;
  }
  // A parent cannot wait for children that were not all launched; then this queue waits.
  const int barrier = failure != 0 ? failure : api.event_parent_barrier(&flight.event);
  if (barrier != 0) {
    if (failure == 0) flight.results.back() = barrier;
    flight.state = Flight::State::settling;
  }
}

// Finalises the events of a flight whose event has come, and checks their errors. Returns false if some event
// is still in flight.
bool EventQueue::land(Flight& flight) {
  const Api& api = runtime_->api();
  if (flight.results.size() == 1) {
    flight.results[0] = flight.event.error;
  } else {
    for (std::size_t i = 0; i < flight.results.size(); ++i) flight.results[i] = flight.children[i].error;
    if (flight.event.error != 0 &&
        std::all_of(flight.results.begin(), flight.results.end(), [](int result) { return result == 0; }))
      flight.results[0] = flight.event.error;
    if (!settle_children(flight)) return false;
  }
  return api.event_fini(&flight.event) != -der_busy;
}

// Finalises the children that are no longer in flight; returns true if all are finalised.
bool EventQueue::settle_children(Flight& flight) {
  bool all = true;
  for (std::size_t i = 0; i < flight.open.size(); ++i) {
    if (flight.open[i] == 0) continue;
    if (runtime_->api().event_fini(&flight.children[i]) == -der_busy) {
      all = false;
      continue;
    }
    flight.open[i] = 0;
    if (flight.results[i] == 0) flight.results[i] = flight.children[i].error;
  }
  return all;
}

void EventQueue::take_events(std::int64_t timeout_us) {
  std::array<Event*, 64> events{};
  const int count = runtime_->api().eq_poll(queue_, 1, timeout_us, events.size(), events.data());
  if (count < 0) throw call_error(uri_, "wait for DAOS (daos_eq_poll)", count);
  if (count > 0) {
    last_answer_ = Clock::now();
    runtime_->answered();
  }
  for (int i = 0; i < count; ++i) {
    for (auto* flights : {&running_, &abandoned_})
      for (std::unique_ptr<Flight>& flight : *flights)
        if (&flight->event == events[static_cast<std::size_t>(i)])
          flight->state = land(*flight) ? Flight::State::answered : Flight::State::settling;
  }
  for (auto* flights : {&running_, &abandoned_})
    for (std::unique_ptr<Flight>& flight : *flights)
      if (flight->state == Flight::State::settling && settle_children(*flight) &&
          runtime_->api().event_fini(&flight->event) != -der_busy)
        flight->state = Flight::State::answered;
  std::erase_if(abandoned_, [this](const auto& flight) {
    return flight->state == Flight::State::answered && !goes_on(*flight);
  });
}

// Continues an operation that timed out and now has its answers.
bool EventQueue::goes_on(Flight& flight) noexcept {
  if (!flight.operation->must_end()) return false;
  try {
    if (!flight.operation->finish(flight.results)) return false;
    launch_round(flight);
    return true;
  } catch (...) {
    return false;
  }
}

// Delivers the answered operation, or launches its next calls; returns true if it was delivered.
bool EventQueue::deliver(std::vector<Finished>& finished) {
  for (auto flight = running_.begin(); flight != running_.end();) {
    const bool answered = (*flight)->state == Flight::State::answered;
    if (answered) ready_.push_back(std::move(*flight));
    flight = answered ? running_.erase(flight) : flight + 1;
  }
  const std::size_t before = finished.size();
  for (std::uint64_t id : std::exchange(late_, {})) finished.push_back({id, nullptr, nullptr});
  for (std::unique_ptr<Flight>& flight : std::exchange(ready_, {})) deliver_one(std::move(flight), finished);
  return finished.size() > before;
}

void EventQueue::deliver_one(std::unique_ptr<Flight> flight, std::vector<Finished>& finished) {
  const std::uint64_t id = flight->id;
  try {
    if (!flight->operation->finish(flight->results)) {
      finished.push_back({id, std::move(flight->operation), nullptr});
      return;
    }
    running_.push_back(std::move(flight));
    try {
      launch_round(*running_.back());
    } catch (...) {
      running_.pop_back();
      throw;
    }
  } catch (...) {
    finished.push_back({id, nullptr, std::current_exception()});
  }
}

// Gives up operations that timed out. Any answer shows that the engines are alive and
// busy.
void EventQueue::give_up_late() {
  const Clock::time_point now = Clock::now();
  for (auto flight = running_.begin(); flight != running_.end();) {
    const bool late = (*flight)->state != Flight::State::answered &&
                      now - std::max((*flight)->launched_at, last_answer_) > timeout_;
    if (late) {
      late_.push_back((*flight)->id);
      abandoned_.push_back(std::move(*flight));
    }
    flight = late ? running_.erase(flight) : flight + 1;
  }
  if (!late_.empty()) runtime_->waited_in_vain(timeout_);
}

std::int64_t EventQueue::pause() const {
  const bool settling = std::any_of(running_.begin(), running_.end(), [](const auto& flight) {
    return flight->state == Flight::State::settling;
  });
  if (settling) return settling_pause;
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(timeout_).count();
  return std::clamp<std::int64_t>(timeout / 4, 1, longest_pause);
}

void EventQueue::poll(std::vector<Finished>& finished, bool block) {
  if (deliver(finished) || running() == 0) return;
  while (true) {
    take_events(0);
    if (deliver(finished) || !block || running() == 0) return;
    const std::int64_t longest = pause();
    take_events(longest);
    if (deliver(finished)) return;
    // Without a parent in the queue the poll did not wait.
    if (longest == settling_pause) std::this_thread::sleep_for(std::chrono::microseconds(longest));
    give_up_late();
    if (deliver(finished)) return;
  }
}

void EventQueue::drain() noexcept {
  try {
    if (running() != 0) timeout_ = runtime_->closing_time();
    std::vector<Finished> forgotten;
    while (running() != 0 && abandoned_.empty()) poll(forgotten, true);
  } catch (...) {
    // left behind instead
  }
  for (std::unique_ptr<Flight>& flight : running_) abandoned_.push_back(std::move(flight));
  running_.clear();
  ready_.clear();
  late_.clear();
}

void EventQueue::collect_abandoned() noexcept {
  if (abandoned_.empty() || runtime_->forked()) return;
  try {
    take_events(0);
  } catch (...) {
    return;  // kept
  }
}

}  // namespace colonnade::io::daos
