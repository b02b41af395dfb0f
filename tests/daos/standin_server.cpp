// See standin_server.h.
//
// A thread of the stand-in serves a request at once; it is *done* when its time has come: the moment at which
// the shared link has moved its bytes, plus the latency. Polling compares the time, so that no thread has to
// sleep for 20 us, which is impossible, and none spins without a waiting caller.
#include "standin_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "standin_knobs.h"

namespace standin {

// An event queue. Its mutex guards the states of its events.
struct Queue {
  std::mutex mutex;
  std::condition_variable wakes;
  std::vector<EventState*> running;    // without children: only their parents are delivered
  std::vector<EventState*> completed;  // served; done when their time has come
  bool destroyed = false;
};

}  // namespace standin

struct EventState {
  enum class Status { ready, running, completed };
  daos_event_t* event = nullptr;
  std::shared_ptr<standin::Queue> queue;
  EventState* parent = nullptr;
  std::vector<EventState*> children;
  std::size_t children_running = 0;
  Status status = Status::ready;
  bool barrier = false;
  std::int64_t due = 0;  // ns
};

namespace standin {
namespace {

constexpr std::int64_t spin_ns = 60'000;  // the last part of a wait, which a sleep would miss

struct Request {
  std::string call;
  Work work;
  EventState* event = nullptr;
  std::int64_t launched = 0;
};

void pause_briefly() {
  std::this_thread::yield();
}

void wait_until(std::int64_t due) {
  for (std::int64_t left = due - now_ns(); left > 0; left = due - now_ns()) {
    if (left > spin_ns)
      std::this_thread::sleep_for(std::chrono::nanoseconds(left - spin_ns));
    else
      pause_briefly();
  }
}

void wait_for_engines() {
  while (knobs().stopped != 0 || now_ns() < knobs().stalled_until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The arrival of `bytes` sent at `launched`: the link moves one message after the other.
std::int64_t arrival(std::int64_t launched, std::uint64_t bytes) {
  static std::atomic<std::int64_t> link_free{0};
  const std::int64_t bandwidth = knobs().bandwidth;
  std::int64_t arrived = launched;
  if (bandwidth > 0 && bytes > 0) {
    const auto needed =
        static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(bandwidth));
    std::int64_t free = link_free;
    do {
      arrived = std::max(launched, free) + needed;
    } while (!link_free.compare_exchange_weak(free, arrived));
  }
  return arrived + knobs().latency_us * 1000;
}

int serve(const std::string& call, bool child, Work& work, std::int64_t launched, std::int64_t& due) {
  wait_for_engines();
  std::uint64_t bytes = 0;
  int code = fault(call.c_str());
  if (code == 0 && child) code = fault(("child_" + call).c_str());
  if (code == 0) code = work(bytes);
  due = arrival(std::max(launched, std::int64_t{0}), bytes);
  return code;
}

void complete_locked(EventState& state, int code, std::int64_t due) {
  state.event->ev_error = code;
  state.status = EventState::Status::completed;
  state.due = due;
  Queue& queue = *state.queue;
  EventState* reported = &state;
  if (state.parent != nullptr) {
    EventState& parent = *state.parent;
    --parent.children_running;
    parent.due = std::max(parent.due, due);
    if (knobs().parent_error != 0 && parent.event->ev_error == 0) parent.event->ev_error = code;
    if (!parent.barrier || parent.children_running > 0) return;
    parent.status = EventState::Status::completed;
    reported = &parent;
  }
  std::erase(queue.running, reported);
  queue.completed.push_back(reported);
  queue.wakes.notify_all();
}

void finish_request(Request& request) {
  std::int64_t due = 0;
  const int code = serve(request.call, request.event->parent != nullptr, request.work, request.launched, due);
  // The queue may be destroyed as soon as the event is complete.
  const std::shared_ptr<Queue> queue = request.event->queue;
  --counters().in_flight;
  const std::lock_guard lock(queue->mutex);
  complete_locked(*request.event, code, due);
}

// The serving threads.
class Servers {
 public:
  static Servers& get() {
    static Servers& servers = *new Servers;
    return servers;
  }

  void push(Request request) {
    {
      const std::lock_guard lock(mutex_);
      if (threads_ == 0) start();
      waiting_.push_back(std::move(request));
      ++pending_;
    }
    if (sleeping_ > 0) wakes_.notify_one();
  }

 private:
  void start() {
    threads_ = std::max<std::int64_t>(1, knobs().threads);
    for (std::int64_t i = 0; i < threads_; ++i) std::thread([this] { work(); }).detach();
  }

  void work() {
    while (true) {
      Request request;
      {
        std::unique_lock lock(mutex_);
        while (waiting_.empty()) idle(lock);
        request = std::move(waiting_.front());
        waiting_.pop_front();
        --pending_;
      }
      finish_request(request);
    }
  }

  // Polls for a moment before it sleeps, since waking takes longer than most requests.
  void idle(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const std::int64_t end = now_ns() + spin_ns;
    while (pending_ == 0 && now_ns() < end) pause_briefly();
    lock.lock();
    if (!waiting_.empty()) return;
    ++sleeping_;
    wakes_.wait(lock, [this] { return !waiting_.empty(); });
    --sleeping_;
  }

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Request> waiting_;
  std::atomic<std::int64_t> pending_{0};
  std::atomic<std::int64_t> sleeping_{0};
  std::int64_t threads_ = 0;
};

int launch(daos_event_t* event) {
  EventState* state = event->state;
  if (state == nullptr) return inval;
  const std::lock_guard lock(state->queue->mutex);
  if (state->status != EventState::Status::ready || !state->children.empty()) return no_perm;
  if (state->queue->destroyed) return nonexist;
  state->status = EventState::Status::running;
  event->ev_error = 0;
  if (state->parent != nullptr)
    ++state->parent->children_running;
  else
    state->queue->running.push_back(state);
  return 0;
}

std::shared_mutex queues_mutex;
std::unordered_map<std::uint64_t, std::shared_ptr<Queue>>& queues() {
  static auto& all = *new std::unordered_map<std::uint64_t, std::shared_ptr<Queue>>;
  return all;
}

std::shared_ptr<Queue> find_queue(daos_handle_t handle) {
  const std::shared_lock lock(queues_mutex);
  const auto found = queues().find(handle.cookie);
  return found == queues().end() ? nullptr : found->second;
}

// Delivers completed events, and returns the time of the next one; 0: unknown.
int take_done(Queue& queue, unsigned count, daos_event_t** events, std::int64_t& next) {
  const std::int64_t now = now_ns();
  unsigned taken = 0;
  next = 0;
  for (auto state = queue.completed.begin(); state != queue.completed.end();) {
    if (taken == count || (*state)->due > now) {
      if ((*state)->due > now) next = next == 0 ? (*state)->due : std::min(next, (*state)->due);
      ++state;
      continue;
    }
    (*state)->status = EventState::Status::ready;
    events[taken++] = (*state)->event;
    state = queue.completed.erase(state);
  }
  return static_cast<int>(taken);
}

}  // namespace

int request(const std::string& call, daos_event_t* event, Work work) {
  if (event == nullptr) {
    std::int64_t due = 0;
    const int code = serve(call, false, work, now_ns(), due);
    wait_until(due);
    return code;
  }
  if (const int code = fault(("launch_" + call).c_str()); code != 0) return code;
  if (const int code = launch(event); code != 0) return code;
  const std::int64_t in_flight = ++counters().in_flight;
  std::int64_t most = counters().most_in_flight;
  while (most < in_flight && !counters().most_in_flight.compare_exchange_weak(most, in_flight)) {
  }
  Request request{call, std::move(work), event->state, now_ns()};
  if (knobs().serve_inline != 0)
    finish_request(request);
  else
    Servers::get().push(std::move(request));
  return 0;
}

}  // namespace standin

using standin::Queue;

extern "C" {

int daos_eq_create(daos_handle_t* handle) {
  if (const int code = standin::fault("eq_create"); code != 0) return code;
  static std::atomic<std::uint64_t> next{0x7100};
  handle->cookie = ++next;
  const std::unique_lock lock(standin::queues_mutex);
  standin::queues()[handle->cookie] = std::make_shared<Queue>();
  ++standin::counters().queues_open;
  return 0;
}

int daos_eq_destroy(daos_handle_t handle, int flags) {
  const std::shared_ptr<Queue> queue = standin::find_queue(handle);
  if (!queue) return standin::nonexist;
  {
    const std::lock_guard lock(queue->mutex);
    if (flags == 0 && (!queue->running.empty() || !queue->completed.empty())) return standin::busy;
    queue->destroyed = true;
  }
  const std::unique_lock lock(standin::queues_mutex);
  standin::queues().erase(handle.cookie);
  --standin::counters().queues_open;
  return 0;
}

int daos_eq_poll(daos_handle_t handle, int wait_running, std::int64_t timeout, unsigned count,
                 daos_event_t** events) {
  if (count == 0 || events == nullptr) return standin::inval;
  if (const int code = standin::fault("eq_poll"); code != 0) return code;
  const std::shared_ptr<Queue> queue = standin::find_queue(handle);
  if (!queue) return standin::nonexist;
  const std::int64_t begin = standin::now_ns();
  std::unique_lock lock(queue->mutex);
  while (true) {
    std::int64_t next = 0;
    if (const int taken = standin::take_done(*queue, count, events, next); taken > 0) return taken;
    if (wait_running != 0 && queue->running.empty() && next == 0) return 0;
    const std::int64_t now = standin::now_ns();
    const std::int64_t left = timeout < 0 ? 1'000'000'000 : begin + timeout * 1000 - now;
    if (timeout == 0 || left <= 0) return 0;
    const std::int64_t wait = next == 0 ? left : std::min(left, next - now);
    if (wait > standin::spin_ns || (next == 0 && now - begin > standin::spin_ns)) {
      const std::int64_t sleep = next == 0 ? wait : wait - standin::spin_ns;
      queue->wakes.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(sleep, 1000)));
      continue;
    }
    lock.unlock();
    standin::pause_briefly();
    lock.lock();
  }
}

int daos_event_init(daos_event_t* event, daos_handle_t handle, daos_event_t* parent) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(event);
  if (std::any_of(bytes, bytes + sizeof *event, [](unsigned char byte) { return byte != 0; }))
    return standin::inval;
  std::shared_ptr<Queue> queue = parent != nullptr ? parent->state->queue : standin::find_queue(handle);
  if (!queue) return standin::nonexist;
  auto* state = new EventState;
  state->event = event;
  state->queue = queue;
  if (parent != nullptr) {
    const std::lock_guard lock(queue->mutex);
    if (parent->state->status != EventState::Status::ready || parent->state->parent != nullptr) {
      delete state;
      return standin::inval;
    }
    state->parent = parent->state;
    parent->state->children.push_back(state);
  }
  event->state = state;
  ++standin::counters().events_open;
  return 0;
}

int daos_event_fini(daos_event_t* event) {
  EventState* state = event->state;
  if (state == nullptr) return standin::inval;
  const std::shared_ptr<Queue> queue = state->queue;
  const std::lock_guard lock(queue->mutex);
  if (state->status == EventState::Status::running) return standin::busy;
  for (const EventState* child : state->children)
    if (child->status == EventState::Status::running) return standin::inval;
  if (state->parent != nullptr) {
    if (state->parent->status != EventState::Status::ready) return standin::inval;
    std::erase(state->parent->children, state);
  }
  for (EventState* child : state->children) {
    child->event->state = nullptr;
    delete child;
    --standin::counters().events_open;
  }
  std::erase(queue->completed, state);
  event->state = nullptr;
  delete state;
  --standin::counters().events_open;
  return 0;
}

int daos_event_parent_barrier(daos_event_t* event) {
  EventState* state = event->state;
  if (state == nullptr || state->children.empty()) return standin::inval;
  if (const int code = standin::fault("barrier"); code != 0) return code;
  ++standin::counters().parents;
  const std::lock_guard lock(state->queue->mutex);
  if (state->status != EventState::Status::ready) return standin::no_perm;
  for (const EventState* child : state->children)
    if (child->status == EventState::Status::ready) return standin::no_perm;  // not launched
  state->barrier = true;
  if (state->children_running > 0) {
    state->status = EventState::Status::running;
    state->queue->running.push_back(state);
    return 0;
  }
  state->status = EventState::Status::completed;
  state->queue->completed.push_back(state);
  state->queue->wakes.notify_all();
  return 0;
}

int daos_event_test(daos_event_t* event, std::int64_t timeout, bool* flag) {
  EventState* state = event->state;
  if (state == nullptr) return standin::inval;
  if (state->parent != nullptr) return standin::no_perm;
  const std::int64_t begin = standin::now_ns();
  std::unique_lock lock(state->queue->mutex);
  while (true) {
    if (state->status == EventState::Status::completed && state->due <= standin::now_ns()) {
      std::erase(state->queue->completed, state);
      state->status = EventState::Status::ready;
    }
    *flag = state->status == EventState::Status::ready;
    if (*flag || (timeout >= 0 && standin::now_ns() - begin >= timeout * 1000)) return 0;
    lock.unlock();
    standin::pause_briefly();
    lock.lock();
  }
}

}  // extern "C"
