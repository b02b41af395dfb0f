// The world of one history: hosts, processes, their threads, and a clock. One thread runs at a time, until it
// reaches an operation that others can see, or waits; the seed decides which one runs next, like all other
// events. The library's requests to the system (threads, clocks, files) end up here (threads.cpp, clocks.cpp,
// system_calls.cpp).
#ifndef COLONNADE_SIMULATE_WORLD_H
#define COLONNADE_SIMULATE_WORLD_H

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"
#include "random.h"
#include "rules.h"

namespace colonnade::simulate {

using Time = std::int64_t;  // nanoseconds since the history began
inline constexpr Time microsecond = 1000;
inline constexpr Time millisecond = 1000 * microsecond;
inline constexpr Time second = 1000 * millisecond;
inline constexpr Time hour = 3600 * second;

// The probability of each fault, per operation that it can affect.
struct Rates {
  double switches = 1;  // another thread may run
  double die = 0;       // a process
  double crash = 0;     // a machine, with all processes and unflushed data
  double stall = 0;     // a process pauses
  double jump = 0;      // the wall clock of a host is set
  double lose = 0;      // an operation of a store is applied, but its answer is lost
  double refuse = 0;    // it is refused
  double delay = 0;     // it is applied after the caller has given up
  double fail = 0;      // a system call returns EIO or ENOSPC; of an origin: reading fails
  double spoil = 0;     // a value of a cache is cut or changed
  double late = 0;      // a network file system refuses what it has accepted
};

// Some kinds of faults, each with the probability in `likely`, at some rate: histories with one kind reveal
// more than those with all. Now and then none.
Rates draw_rates(Random& random, const Rates& likely);

struct Host {
  unsigned number = 0;
  std::string name;
  std::string machine;  // like /etc/machine-id
  std::string boot;     // like /proc/sys/kernel/random/boot_id
  Time wall_offset = 0;
  Time booted = 0;
};

struct Process {
  unsigned number = 0;
  std::string name;
  Host* host = nullptr;
  std::uint64_t pid = 0;
  Time started = 0;
  bool dead = false;
  bool is_observer = false;   // observes from outside: never waits, and has no faults
  std::uint64_t claimed = 0;  // step at which it last got something to write
  bool had_faults = false;    // in itself, or in its requests
  Time stalled_until = 0;
  unsigned threads = 0;  // that have not ended
  // Whether waiting ends at once when it is dead, as if its clock went on in hours: threads that wait for a
  // time again and again come to an end.
  bool time_flies_when_dead = false;
  Time time_since_death = 0;
  std::uint64_t operations = 0;
};

class World {
 public:
  World(std::uint64_t seed, Rule broken, bool prints, std::set<unsigned> suppressed = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // The world in which the calling code runs; null: it is not part of a history.
  static World* inside() noexcept;
  static World* current() noexcept;

  Random& random() noexcept { return random_; }
  Rates rates;
  // True if the rule is broken on purpose in this history.
  bool breaks(Rule rule) const noexcept { return broken_ == rule; }

  Time now() const noexcept { return now_; }
  void advance(Time by) noexcept { now_ += by; }
  std::uint64_t steps() const noexcept { return steps_; }

  Host& add_host(std::string name);
  Process& add_process(Host& host, std::string name);
  // Starts a thread of the process. Returns its number for join().
  std::uint64_t spawn(Process& process, std::function<void()> body);
  void at(Time time, std::function<void()> action);
  // Runs until every thread has ended.
  void run();
  // Runs `look` to its end in a process of its own, while everything else pauses.
  void observe(const std::function<void()>& look);
  // Called between two steps after note_change().
  std::function<void()> on_change;
  // `by` has changed something visible; null: the running process.
  void note_change(const Process* by = nullptr) noexcept {
    changed_ = true;
    changed_by_ = by != nullptr || current_ == nullptr ? by : current_->process;
  }
  const Process* changed_by() const noexcept { return changed_by_; }
  std::function<void(Process&)> on_kill;
  std::function<void(Host&)> on_crash;

  // ---- from within threads ----
  Process& process() noexcept;
  // An operation begins: others may run before it is done. False: the process is dead, and its actions have
  // no effect.
  bool begin_operation();
  // The operation is done. False: the process died before it got the answer.
  bool end_operation();
  // Draws whether a fault happens.
  bool fault(double probability, const char* what);
  void sleep_until(Time time);
  void yield();
  std::uint64_t spawn(std::function<void()> body) { return spawn(process(), std::move(body)); }
  void join(std::uint64_t thread);
  // Waits for wake() or the deadline; returns false at the deadline. Threads of dead processes do not wait
  // for times.
  bool wait(const void* address, Time deadline);
  void wake(const void* address, bool all);
  bool anybody_waits() const noexcept { return waiting_ > 0; }

  static constexpr Time forever = INT64_MAX;

  // ---- events ----
  void kill(Process& process);
  void crash(Host& host);
  void boot(Host& host);

  // An invariant is violated: the history ends.
  void violate(std::string what);
  const std::string& violation() const noexcept { return violation_; }
  bool stops() const noexcept { return !violation_.empty(); }
  unsigned faults() const noexcept { return faults_; }
  // The numbers of the faults that happened; each can be left out.
  const std::vector<unsigned>& fault_numbers() const noexcept { return fault_numbers_; }

  // ---- digest and report ----
  void mix_in(std::uint64_t number) noexcept { hash_ = mix(hash_ ^ number); }
  void mix_in(const std::string& text) noexcept {
    for (const char letter : text) hash_ = (hash_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  std::uint64_t hash() const noexcept { return hash_; }
  template <class Text>
  void tell(Text&& text) {
    if (prints_) say(text());
  }
  bool prints() const noexcept { return prints_; }

 private:
  struct Thread {
    Thread(std::uint64_t n, Process& p, std::function<void()> body)
        : number(n), process(&p), fiber(std::move(body)) {}
    std::uint64_t number;
    Process* process;
    Fiber fiber;
    enum class State { ready, sleeping, waiting } state = State::ready;
    Time deadline = forever;
    const void* address = nullptr;
    bool timed_out = false;
  };

  bool is_ready(const Thread& thread) const noexcept;
  Thread* pick();
  bool advance_to_next_event();
  void resume(Thread& thread);
  void suspend();
  void fire_timers();
  void check_turns();
  void end_everything();
  void say(const std::string& text);

  Random random_;
  Random faults_random_;
  Rule broken_;
  bool prints_;
  std::set<unsigned> suppressed_;
  Time now_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t hash_ = 0;
  std::list<Host> hosts_;
  std::list<Process> processes_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::multimap<Time, std::function<void()>> timers_;
  std::uint64_t next_thread_ = 1;
  std::uint64_t observers_numbers_ = std::uint64_t{1} << 60;
  std::uint64_t next_pid_ = 100;
  Thread* current_ = nullptr;
  Process* observer_ = nullptr;  // while observe() runs
  bool changed_ = false;
  const Process* changed_by_ = nullptr;
  std::size_t waiting_ = 0;
  unsigned faults_ = 0;
  std::vector<unsigned> fault_numbers_;
  std::string violation_;
};

}  // namespace colonnade::simulate

#endif
