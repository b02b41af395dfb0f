// Clocks, pauses and random devices of the library in a history; see threads.cpp. Outside of a history the
// system's own are used.
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <random>

#include "real_calls.h"
#include "world.h"

namespace colonnade::simulate {
namespace {

// 2026-01-01
constexpr std::int64_t first_day = 1767225600;

extern "C" {
int simulated_clock(clockid_t clock, timespec* time) SIMULATED("clock_gettime");
int simulated_day(timeval* time, void* zone) SIMULATED("gettimeofday");
time_t simulated_time(time_t* time) SIMULATED("time");
int simulated_pause(const timespec* length, timespec* rest) SIMULATED("nanosleep");
int simulated_clock_pause(clockid_t clock, int flags, const timespec* length, timespec* rest)
    SIMULATED("clock_nanosleep");
}

Time wall_clock(World& world) {
  return first_day * second + world.now() + world.process().host->wall_offset;
}

timespec parts_of(Time time) {
  return {time / second, time % second};
}

extern "C" {

int simulated_clock(clockid_t clock, timespec* time) {
  static const auto real = real_call<decltype(simulated_clock)>("clock_gettime");
  World* const world = World::inside();
  if (world == nullptr) return real(clock, time);
  Process& process = world->process();
  if (process.dead && process.time_flies_when_dead) process.time_since_death += hour;
  *time =
      parts_of(process.time_since_death +
               (clock == CLOCK_REALTIME ? wall_clock(*world) : world->now() - process.host->booted + second));
  return 0;
}

int simulated_day(timeval* time, void* zone) {
  static const auto real = real_call<decltype(simulated_day)>("gettimeofday");
  World* const world = World::inside();
  if (world == nullptr) return real(time, zone);
  const timespec now = parts_of(wall_clock(*world));
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t simulated_time(time_t* time) {
  static const auto real = real_call<decltype(simulated_time)>("time");
  World* const world = World::inside();
  if (world == nullptr) return real(time);
  const time_t now = wall_clock(*world) / second;
  if (time != nullptr) *time = now;
  return now;
}

int simulated_pause(const timespec* length, timespec* rest) {
  static const auto real = real_call<decltype(simulated_pause)>("nanosleep");
  World* const world = World::inside();
  if (world == nullptr) return real(length, rest);
  world->sleep_until(world->now() + length->tv_sec * second + length->tv_nsec);
  return 0;
}

int simulated_clock_pause(clockid_t clock, int flags, const timespec* length, timespec* rest) {
  static const auto real = real_call<decltype(simulated_clock_pause)>("clock_nanosleep");
  World* const world = World::inside();
  if (world == nullptr) return real(clock, flags, length, rest);
  if (flags == TIMER_ABSTIME) {
    timespec now{};
    simulated_clock(clock, &now);
    const Time left = (length->tv_sec - now.tv_sec) * second + (length->tv_nsec - now.tv_nsec);
    world->sleep_until(world->now() + left);
    return 0;
  }
  return simulated_pause(length, rest);
}
}

}  // namespace
}  // namespace colonnade::simulate

// The standard library's, used for names of temporary files and similar things.
std::random_device::result_type std::random_device::_M_getval() {
  if (auto* const world = colonnade::simulate::World::inside())
    return static_cast<result_type>(world->random().next());
  result_type number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}
