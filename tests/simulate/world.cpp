// Scheduling, time, and the faults of processes; see world.h.
#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace colonnade::simulate {
namespace {

World* the_world = nullptr;
bool in_fiber = false;

// The limit of a whole history. A normal one has a few thousand.
constexpr std::uint64_t most_steps = 60000;
// The limit for a dead process that unwinds.
constexpr std::uint64_t most_dead_operations = 20000;
// Thread switches in a whole history. A normal one has some thousands.
constexpr std::uint64_t most_turns = 1'000'000;

}  // namespace

Rates draw_rates(Random& random, const Rates& likely) {
  Rates rates;
  constexpr double switches[] = {1, 0.5, 0.15, 0.03};
  rates.switches = random.pick(std::span<const double>(switches));
  if (random.chance(0.1)) return rates;
  constexpr double often[] = {0.003, 0.01, 0.03};
  const auto draw = [&](double probability) {
    return probability > 0 && random.chance(probability) ? random.pick(std::span<const double>(often)) : 0.0;
  };
  rates.die = draw(likely.die);
  rates.crash = draw(likely.crash) / 3;
  rates.stall = draw(likely.stall);
  rates.jump = draw(likely.jump);
  rates.lose = draw(likely.lose);
  rates.refuse = draw(likely.refuse);
  rates.delay = draw(likely.delay);
  rates.fail = draw(likely.fail);
  rates.spoil = draw(likely.spoil);
  return rates;
}

World::World(std::uint64_t seed, Rule broken, bool prints, std::set<unsigned> suppressed)
    : random_(seed),
      faults_random_(mix(seed ^ 0x5eed)),
      broken_(broken),
      prints_(prints),
      suppressed_(std::move(suppressed)) {
  the_world = this;
}

World::~World() {
  the_world = nullptr;
}

World* World::inside() noexcept {
  return in_fiber ? the_world : nullptr;
}

World* World::current() noexcept {
  return the_world;
}

Host& World::add_host(std::string name) {
  Host& host = hosts_.emplace_back();
  host.number = static_cast<unsigned>(hosts_.size());
  host.name = std::move(name);
  host.machine = fmt::format("{:032x}", host.number);
  boot(host);
  return host;
}

void World::boot(Host& host) {
  host.boot = fmt::format("{:016x}{:016x}", random_.next(), host.number);
  host.booted = now_;
}

Process& World::add_process(Host& host, std::string name) {
  Process& process = processes_.emplace_back();
  process.number = static_cast<unsigned>(processes_.size());
  process.name = std::move(name);
  process.host = &host;
  process.pid = next_pid_++;
  process.started = now_;
  return process;
}

std::uint64_t World::spawn(Process& process, std::function<void()> body) {
  // Observers are not counted: nothing may depend on the number of observations.
  const std::uint64_t number = process.is_observer ? observers_numbers_++ : next_thread_++;
  threads_.push_back(std::make_unique<Thread>(number, process, std::move(body)));
  ++process.threads;
  return number;
}

void World::at(Time time, std::function<void()> action) {
  timers_.emplace(time, std::move(action));
}

// ---- scheduling ----

bool World::is_ready(const Thread& thread) const noexcept {
  const bool is_dead = thread.process->dead;
  if (!is_dead && thread.process->stalled_until > now_) return false;
  switch (thread.state) {
    case Thread::State::ready:
      return true;
    case Thread::State::sleeping:
      return is_dead || thread.deadline <= now_;
    case Thread::State::waiting:
      return thread.deadline != forever && (is_dead || thread.deadline <= now_);
  }
  return false;
}

// Threads of dead processes go first: their actions are invisible. Those that would wait for a time go after
// the others.
World::Thread* World::pick() {
  std::array<std::size_t, 3> ready{};
  const auto rank = [&](const Thread& thread) -> std::size_t {
    if (observer_ != nullptr && thread.process != observer_) return 3;
    if (!is_ready(thread)) return 3;
    if (!thread.process->dead) return 2;
    return thread.state == Thread::State::ready ? 0 : 1;
  };
  for (const auto& thread : threads_)
    if (const std::size_t own = rank(*thread); own < ready.size()) ++ready[own];
  std::size_t wanted = 0;
  while (wanted < ready.size() && ready[wanted] == 0) ++wanted;
  if (wanted == ready.size()) return nullptr;
  std::uint64_t choice = observer_ != nullptr ? 0 : random_.below(ready[wanted]);
  for (const auto& thread : threads_)
    if (rank(*thread) == wanted && choice-- == 0) return thread.get();
  return nullptr;
}

bool World::advance_to_next_event() {
  Time next = forever;
  if (observer_ == nullptr && !timers_.empty()) next = timers_.begin()->first;
  for (const auto& thread : threads_) {
    if (observer_ != nullptr && thread->process != observer_) continue;
    Time ready = thread->state == Thread::State::ready ? now_ : thread->deadline;
    if (ready == forever) continue;
    ready = std::max(ready, thread->process->stalled_until);
    next = std::min(next, ready);
  }
  if (next == forever) return false;
  now_ = std::max(now_, next);
  return true;
}

void World::fire_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    const auto action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    action();
  }
}

void World::resume(Thread& thread) {
  if (thread.state != Thread::State::ready) {
    thread.timed_out = thread.state == Thread::State::waiting;
    if (thread.timed_out) --waiting_;
    thread.state = Thread::State::ready;
    thread.address = nullptr;
  }
  if (observer_ == nullptr) mix_in(thread.number);
  Thread* const before = std::exchange(current_, &thread);
  const bool was_in_fiber = std::exchange(in_fiber, true);
  thread.fiber.resume();
  in_fiber = was_in_fiber;
  current_ = before;
  if (!thread.fiber.ended()) return;
  --thread.process->threads;
  const auto found =
      std::find_if(threads_.begin(), threads_.end(), [&](const auto& t) { return t.get() == &thread; });
  threads_.erase(found);
  // join() waits for the end of any.
  wake(this, true);
}

void World::suspend() {
  current_->fiber.suspend();
}

// Detects a thread that runs forever without an operation.
void World::check_turns() {
  if (++turns_ <= most_turns) return;
  if (turns_ > 2 * most_turns) {
    std::fprintf(stderr, "simulate: threads that do not end\n");
    std::abort();
  }
  violate("(h) threads go on and on, and do nothing");
  end_everything();
}

void World::run() {
  while (true) {
    check_turns();
    if (observer_ == nullptr) {
      fire_timers();
      if (std::exchange(changed_, false) && on_change && !stops()) on_change();
      if (stops()) end_everything();
    }
    if (Thread* const next = pick()) {
      resume(*next);
      continue;
    }
    const bool any = std::any_of(threads_.begin(), threads_.end(), [&](const auto& thread) {
      return observer_ == nullptr || thread->process == observer_;
    });
    if (!any && (observer_ != nullptr || timers_.empty())) return;
    if (advance_to_next_event()) continue;
    // All threads wait for each other.
    std::string who;
    for (const auto& thread : threads_) who += fmt::format(" {}", thread->process->name);
    const bool again = stops();
    violate(fmt::format("(h) everybody waits for ever:{}", who));
    end_everything();
    if (again) {
      std::fprintf(stderr, "simulate: threads that cannot end:%s\n", who.c_str());
      std::abort();
    }
  }
}

void World::end_everything() {
  timers_.clear();
  for (Process& process : processes_) process.dead = true;
  // Threads that wait for a signal that was lost with the others check again.
  for (const auto& thread : threads_)
    if (thread->state == Thread::State::waiting && thread->deadline == forever) thread->deadline = now_;
}

void World::observe(const std::function<void()>& look) {
  static Host outside{.number = 0, .name = "outside", .machine = "outside", .boot = "outside"};
  Process process{.name = "observer", .host = &outside, .pid = 99, .is_observer = true};
  const Time time = now_;
  Process* const before = std::exchange(observer_, &process);
  spawn(process, look);
  run();
  observer_ = before;
  now_ = time;
}

// ---- from within threads ----

Process& World::process() noexcept {
  return *current_->process;
}

bool World::fault(double probability, const char* what) {
  if (!faults_random_.chance(probability)) return false;
  const unsigned number = faults_++;
  if (suppressed_.contains(number)) return false;
  fault_numbers_.push_back(number);
  if (current_ != nullptr) process().had_faults = true;
  tell([&] { return fmt::format("*** {}", what); });
  return true;
}

bool World::begin_operation() {
  Process& own = process();
  if (own.is_observer) return true;
  ++own.operations;
  if (own.dead) {
    if (own.operations > most_dead_operations && violation_.empty())
      violate(fmt::format("(h) {} died and does not end", own.name));
    return false;
  }
  if (++steps_ > most_steps) {
    violate(fmt::format("(h) {} goes on and on", own.name));
    return false;
  }
  now_ += random_.between(20 * microsecond, 2 * millisecond);
  if (fault(rates.die, "the process is killed before this operation")) kill(own);
  if (!own.dead && fault(rates.crash, "the machine goes down")) crash(*own.host);
  if (!own.dead && fault(rates.jump, "the wall clock of the host is set")) {
    constexpr Time jumps[] = {-2 * hour, -61 * second, -5 * second, 5 * second, 61 * second, 30 * hour};
    own.host->wall_offset += random_.pick(std::span<const Time>(jumps));
  }
  if (!own.dead && fault(rates.stall, "the process stands still")) {
    constexpr Time times[] = {1 * second, 20 * second, 70 * second, 200 * second, 2 * hour};
    own.stalled_until = now_ + random_.pick(std::span<const Time>(times));
    suspend();
  } else if (!own.dead && random_.chance(rates.switches)) {
    suspend();
  }
  return !own.dead;
}

bool World::end_operation() {
  Process& own = process();
  if (own.is_observer) return true;
  if (changed_) suspend();  // observes the change
  if (!own.dead && fault(rates.die, "the process is killed after this operation")) kill(own);
  return !own.dead;
}

void World::sleep_until(Time time) {
  if (process().dead) return;
  if (process().is_observer) {
    now_ = std::max(now_, time);
    return;
  }
  current_->state = Thread::State::sleeping;
  current_->deadline = time;
  suspend();
  current_->deadline = forever;
}

void World::yield() {
  if (!process().is_observer) suspend();
}

void World::join(std::uint64_t thread) {
  const auto is_there = [&] {
    return std::any_of(threads_.begin(), threads_.end(), [&](const auto& t) { return t->number == thread; });
  };
  while (is_there()) wait(this, forever);
}

bool World::wait(const void* address, Time deadline) {
  Thread& own = *current_;
  own.state = Thread::State::waiting;
  own.address = address;
  own.deadline = deadline;
  own.timed_out = false;
  ++waiting_;
  suspend();
  own.deadline = forever;
  return !own.timed_out;
}

void World::wake(const void* address, bool all) {
  if (waiting_ == 0) return;
  std::vector<Thread*> waiters;
  for (const auto& thread : threads_)
    if (thread->state == Thread::State::waiting && thread->address == address)
      waiters.push_back(thread.get());
  if (waiters.empty()) return;
  if (!all) {
    std::swap(waiters.front(), waiters[static_cast<std::size_t>(random_.below(waiters.size()))]);
    waiters.resize(1);
  }
  for (Thread* const thread : waiters) {
    thread->state = Thread::State::ready;
    thread->address = nullptr;
    thread->deadline = forever;
    --waiting_;
  }
}

// ---- events ----

void World::kill(Process& process) {
  if (process.dead || process.is_observer) return;
  process.dead = true;
  process.operations = 0;
  mix_in(0xdead0000U + process.number);
  if (on_kill) on_kill(process);
}

void World::crash(Host& host) {
  for (Process& process : processes_)
    if (process.host == &host) kill(process);
  mix_in(0xc4a50000U + host.number);
  if (on_crash) on_crash(host);
  boot(host);
  changed_ = true;
}

void World::violate(std::string what) {
  if (!violation_.empty()) return;
  tell([&] { return fmt::format("!!! {}", what); });
  violation_ = std::move(what);
}

void World::say(const std::string& text) {
  std::printf("%6llu %13.6f s  %-12s %s\n", static_cast<unsigned long long>(steps_),
              static_cast<double>(now_) / static_cast<double>(second),
              current_ != nullptr ? current_->process->name.c_str() : "", text.c_str());
}

}  // namespace colonnade::simulate
