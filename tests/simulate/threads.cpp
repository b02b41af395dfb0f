// Threads, mutexes and condition variables of the library in a history: threads are fibers of the world;
// waiting lets others run. Outside of a history the system's own are used. Since one system thread runs all
// of it, a locked mutex is held by another fiber.
#include "threads.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>

#include "real_calls.h"
#include "world.h"

namespace colonnade::simulate {
namespace {

extern "C" {
int simulated_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                     void* argument) SIMULATED("pthread_create");
int simulated_join(pthread_t thread, void** result) SIMULATED("pthread_join");
int simulated_detach(pthread_t thread) SIMULATED("pthread_detach");
int simulated_lock(pthread_mutex_t* mutex) SIMULATED("pthread_mutex_lock");
int simulated_unlock(pthread_mutex_t* mutex) SIMULATED("pthread_mutex_unlock");
int simulated_read_lock(pthread_rwlock_t* lock) SIMULATED("pthread_rwlock_rdlock");
int simulated_write_lock(pthread_rwlock_t* lock) SIMULATED("pthread_rwlock_wrlock");
int simulated_rw_unlock(pthread_rwlock_t* lock) SIMULATED("pthread_rwlock_unlock");
int simulated_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) SIMULATED("pthread_cond_wait");
int simulated_timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until)
    SIMULATED("pthread_cond_timedwait");
int simulated_clock_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                         const timespec* until) SIMULATED("pthread_cond_clockwait");
int simulated_signal(pthread_cond_t* condition) SIMULATED("pthread_cond_signal");
int simulated_broadcast(pthread_cond_t* condition) SIMULATED("pthread_cond_broadcast");
int simulated_yield() SIMULATED("sched_yield");
}

template <class Try>
int take(World& world, const void* lock, Try&& attempt) {
  while (true) {
    const int result = attempt();
    if (result != EBUSY) return result;
    world.wait(lock, World::forever);
  }
}

int wait(World& world, pthread_cond_t* condition, pthread_mutex_t* mutex, Time deadline) {
  simulated_unlock(mutex);
  const bool woken = world.wait(condition, deadline);
  simulated_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

// The time of the world at which a clock of the process reaches `until`.
Time time_of(World& world, clockid_t clock, const timespec* until) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return world.now() + (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
}

extern "C" {

int simulated_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                     void* argument) {
  static const auto real = real_call<decltype(simulated_create)>("pthread_create");
  World* const world = World::inside();
  if (world == nullptr && starts_no_threads()) {
    *thread = 1;
    return 0;
  }
  if (world == nullptr) return real(thread, attributes, body, argument);
  *thread = static_cast<pthread_t>(world->spawn([=] { body(argument); }));
  return 0;
}

int simulated_join(pthread_t thread, void** result) {
  static const auto real = real_call<decltype(simulated_join)>("pthread_join");
  World* const world = World::inside();
  if (world == nullptr) return real(thread, result);
  world->join(static_cast<std::uint64_t>(thread));
  return 0;
}

int simulated_detach(pthread_t thread) {
  static const auto real = real_call<decltype(simulated_detach)>("pthread_detach");
  return World::inside() == nullptr ? real(thread) : 0;
}

int simulated_lock(pthread_mutex_t* mutex) {
  static const auto real = real_call<decltype(simulated_lock)>("pthread_mutex_lock");
  World* const world = World::inside();
  if (world == nullptr) return real(mutex);
  return take(*world, mutex, [&] { return ::pthread_mutex_trylock(mutex); });
}

int simulated_unlock(pthread_mutex_t* mutex) {
  static const auto real = real_call<decltype(simulated_unlock)>("pthread_mutex_unlock");
  const int result = real(mutex);
  if (World* const world = World::inside(); world != nullptr && world->anybody_waits())
    world->wake(mutex, true);
  return result;
}

int simulated_read_lock(pthread_rwlock_t* lock) {
  static const auto real = real_call<decltype(simulated_read_lock)>("pthread_rwlock_rdlock");
  World* const world = World::inside();
  if (world == nullptr) return real(lock);
  return take(*world, lock, [&] { return ::pthread_rwlock_tryrdlock(lock); });
}

int simulated_write_lock(pthread_rwlock_t* lock) {
  static const auto real = real_call<decltype(simulated_write_lock)>("pthread_rwlock_wrlock");
  World* const world = World::inside();
  if (world == nullptr) return real(lock);
  return take(*world, lock, [&] { return ::pthread_rwlock_trywrlock(lock); });
}

int simulated_rw_unlock(pthread_rwlock_t* lock) {
  static const auto real = real_call<decltype(simulated_rw_unlock)>("pthread_rwlock_unlock");
  const int result = real(lock);
  if (World* const world = World::inside(); world != nullptr && world->anybody_waits())
    world->wake(lock, true);
  return result;
}

int simulated_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto real = real_call<decltype(simulated_wait)>("pthread_cond_wait");
  World* const world = World::inside();
  return world == nullptr ? real(condition, mutex) : wait(*world, condition, mutex, World::forever);
}

int simulated_timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto real = real_call<decltype(simulated_timed_wait)>("pthread_cond_timedwait");
  World* const world = World::inside();
  if (world == nullptr) return real(condition, mutex, until);
  return wait(*world, condition, mutex, time_of(*world, CLOCK_REALTIME, until));
}

int simulated_clock_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                         const timespec* until) {
  static const auto real = real_call<decltype(simulated_clock_wait)>("pthread_cond_clockwait");
  World* const world = World::inside();
  if (world == nullptr) return real(condition, mutex, clock, until);
  return wait(*world, condition, mutex, time_of(*world, clock, until));
}

int simulated_signal(pthread_cond_t* condition) {
  static const auto real = real_call<decltype(simulated_signal)>("pthread_cond_signal");
  World* const world = World::inside();
  if (world == nullptr) return real(condition);
  world->wake(condition, false);
  return 0;
}

int simulated_broadcast(pthread_cond_t* condition) {
  static const auto real = real_call<decltype(simulated_broadcast)>("pthread_cond_broadcast");
  World* const world = World::inside();
  if (world == nullptr) return real(condition);
  world->wake(condition, true);
  return 0;
}

int simulated_yield() {
  static const auto real = real_call<decltype(simulated_yield)>("sched_yield");
  World* const world = World::inside();
  if (world == nullptr) return real();
  world->yield();
  return 0;
}
}

}  // namespace

bool& starts_no_threads() noexcept {
  static bool value = false;
  return value;
}

}  // namespace colonnade::simulate
