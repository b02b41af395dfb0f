// See daos_runtime.h.
#include "io/daos/daos_runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "io/daos/daos_errors.h"
#include "io/daos/daos_events.h"

namespace colonnade::io::daos {
namespace {

constexpr double default_timeout = 120;  // seconds
constexpr double least_timeout = 0.001;
constexpr double most_timeout = 1e6;
constexpr Runtime::Duration shortest_closing_time(0.01);

double timeout_of_environment(const std::string& uri) {
  const char* text = std::getenv("COLONNADE_DAOS_TIMEOUT");
  if (text == nullptr || *text == '\0') return default_timeout;
  const std::string_view digits(text);
  double seconds = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  const bool is_number = code == std::errc() && end == digits.data() + digits.size();
  if (!is_number || !(seconds >= least_timeout) || seconds > most_timeout)
    throw Error(ErrorKind::usage, fmt::format("COLONNADE_DAOS_TIMEOUT is \"{}\"", digits),
                fmt::format("a number of seconds from {:g} to {:g}", least_timeout, most_timeout),
                {.uri = uri});
  return seconds;
}

[[noreturn]] void fail_in_child(const std::string& uri) {
  throw Error(ErrorKind::usage, "DAOS was in use in the parent before this process was forked from it",
              "start a process of its own (Python: multiprocessing with \"spawn\"), or fork before the first "
              "use of DAOS",
              {.uri = uri});
}

}  // namespace

// Never destroyed, since stores may live as long as the process.
struct Runtime::Global {
  std::atomic<pid_t> process = 0;  // the process that has initialised libdaos; 0: none
  std::atomic<std::size_t> users = 0;
  std::mutex mutex;  // guards the members below
  std::optional<Api> api;
  std::unique_ptr<Runtime> runtime;
  std::vector<std::unique_ptr<EventQueue>> abandoned_queues;
  bool ends_with_process = false;
};

Runtime::Global& Runtime::global() {
  static Global& global = *new Global;
  return global;
}

Runtime::Runtime(const std::string& uri) : timeout_(timeout_of_environment(uri)) {
  Global& all = global();
  if (!all.api) all.api = load_api(library_path());
  api_ = *all.api;
}

Runtime& Runtime::start(const std::string& uri) {
  Global& all = global();
  // Checked before locking: another thread may have held the mutex during the fork.
  if (const pid_t process = all.process; process != 0 && process != ::getpid()) fail_in_child(uri);
  const std::lock_guard lock(all.mutex);
  if (!all.runtime) {
    all.process = ::getpid();  // first: a child that is forked meanwhile would wait for the mutex
    try {
      std::unique_ptr<Runtime> runtime(new Runtime(uri));
      if (const int code = runtime->api_.init(); code != 0)
        throw call_error(uri, "reach DAOS (daos_init)", code);
      all.runtime = std::move(runtime);
    } catch (...) {
      all.process = 0;
      throw;
    }
    if (!std::exchange(all.ends_with_process, true)) std::atexit([] { finish(); });
  }
  return *all.runtime;
}

bool Runtime::finish() noexcept {
  Global& all = global();
  if (all.process != ::getpid() || !all.runtime) return false;
  all.runtime->drop_answered();
  const std::lock_guard lock(all.mutex);
  if (all.users != 0 || !all.abandoned_queues.empty()) return false;
  all.runtime->api_.fini();
  all.runtime.reset();
  all.process = 0;
  return true;
}

Runtime::Duration Runtime::closing_time() const noexcept {
  // They may be back by now: always wait a little.
  const Duration least = std::min(timeout_, shortest_closing_time);
  return std::max(timeout_ - Duration(waited_in_vain_.load()), least);
}

void Runtime::waited_in_vain(Duration time) noexcept {
  double before = waited_in_vain_;
  while (!waited_in_vain_.compare_exchange_weak(before, before + time.count())) {
  }
}

bool Runtime::forked() const noexcept {
  return global().process != ::getpid();
}

void Runtime::check_process(const std::string& uri) const {
  if (forked()) fail_in_child(uri);
}

void Runtime::enter() noexcept {
  ++global().users;
}

void Runtime::leave() noexcept {
  --global().users;
}

void Runtime::abandon(std::unique_ptr<EventQueue> queue) noexcept {
  Global& all = global();
  const std::lock_guard lock(all.mutex);
  try {
    all.abandoned_queues.push_back(std::move(queue));
  } catch (const std::bad_alloc&) {
    leave_behind(queue);
  }
}

void Runtime::drop_answered() noexcept {
  Global& all = global();
  std::vector<std::unique_ptr<EventQueue>> visited;
  {
    const std::lock_guard lock(all.mutex);
    visited.swap(all.abandoned_queues);
  }
  for (std::unique_ptr<EventQueue>& queue : visited) {
    queue->collect_abandoned();
    if (queue->abandoned() != 0) abandon(std::move(queue));
  }
}

}  // namespace colonnade::io::daos
