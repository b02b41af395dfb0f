// The system's environment: signs of life, repetition, and its replacement.
#include "base/environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>

namespace colonnade {
namespace {

TEST(Environment, ASignOfLifeEndsWithItsHandle) {
  Environment& system = environment();
  const std::uint64_t id = system.random_number();
  EXPECT_EQ(system.life_of(id), Life::unknown);
  auto sign = system.show_life(id);
  ASSERT_NE(sign, nullptr) << "/dev/shm cannot be written";
  EXPECT_EQ(system.life_of(id), Life::running);
  EXPECT_EQ(system.show_life(id), nullptr);
  EXPECT_EQ(system.life_of(id), Life::running);
  sign.reset();
  EXPECT_EQ(system.life_of(id), Life::ended);
  system.forget_life(id);
  EXPECT_EQ(system.life_of(id), Life::unknown);
}

TEST(Environment, ASignOfLifeEndsWithItsProcess) {
  Environment& system = environment();
  const std::uint64_t id = system.random_number();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto sign = system.show_life(id);
    const char shown = sign != nullptr ? 'y' : 'n';
    if (::write(ends[1], &shown, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char shown = 0;
  ASSERT_EQ(::read(ends[0], &shown, 1), 1);
  const Life before = system.life_of(id);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_EQ(shown, 'y') << "/dev/shm cannot be written";
  EXPECT_EQ(before, Life::running);
  EXPECT_EQ(system.life_of(id), Life::ended);
  system.forget_life(id);
}

TEST(Environment, OldSignsOfTheDeadAreRemoved) {
  Environment& system = environment();
  constexpr int signs = 3;
  std::array<std::uint64_t, signs> ids{};
  std::array<std::unique_ptr<Environment::Handle>, signs> handles;
  for (int i = 0; i < signs; ++i) {
    ids[i] = system.random_number();
    handles[i] = system.show_life(ids[i]);
    ASSERT_NE(handles[i], nullptr) << "/dev/shm cannot be written";
  }
  for (const int old : {0, 1})
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().string().ends_with(fmt::format("-{:016x}", ids[old])))
        std::filesystem::last_write_time(entry, entry.last_write_time() - std::chrono::hours(8 * 24));
  for (const int dead : {1, 2}) handles[dead].reset();
  const std::uint64_t other = system.random_number();
  system.show_life(other);
  EXPECT_EQ(system.life_of(ids[0]), Life::running);
  EXPECT_EQ(system.life_of(ids[1]), Life::unknown);
  EXPECT_EQ(system.life_of(ids[2]), Life::ended);
  handles[0].reset();
  for (const std::uint64_t left : {ids[0], ids[2], other}) system.forget_life(left);
}

TEST(Environment, RepeatsUntilTheHandleIsGone) {
  std::atomic<int> calls = 0;
  auto handle = environment().repeat(std::chrono::microseconds(10), [&] {
    ++calls;
    calls.notify_all();
  });
  for (int seen = 0; seen < 3; seen = calls) calls.wait(seen);
  handle.reset();
  const int after = calls;
  EXPECT_GE(after, 3);
  EXPECT_EQ(calls, after);
  // A repetition that is never due ends at once.
  environment().repeat(std::chrono::hours(10), [&] { ++calls; });
  EXPECT_EQ(calls, after);
}

TEST(Environment, AnotherOneCanBeInItsPlace) {
  class Other final : public Environment {
   public:
    Clock::time_point now() const override { return Clock::time_point(std::chrono::seconds(5)); }
    std::int64_t unix_time() const override { return 7; }
    void sleep_for(std::chrono::nanoseconds) override {}
    ProcessIdentity process() const override { return {1, "a"}; }
    std::uint64_t random_number() override { return 3; }
    std::unique_ptr<Handle> show_life(std::uint64_t) override { return nullptr; }
    Life life_of(std::uint64_t) const override { return Life::unknown; }
    void forget_life(std::uint64_t) override {}
    std::unique_ptr<Handle> repeat(std::chrono::nanoseconds, std::function<void()>) override {
      return nullptr;
    }
  };
  Environment& system = environment();
  {
    Other other;
    const ReplacedEnvironment replaced(other);
    EXPECT_EQ(&environment(), &other);
    EXPECT_EQ(environment().unix_time(), 7);
  }
  EXPECT_EQ(&environment(), &system);
  EXPECT_EQ(system.process().process, static_cast<std::uint64_t>(::getpid()));
  EXPECT_NE(system.random_number(), system.random_number());
}

}  // namespace
}  // namespace colonnade
