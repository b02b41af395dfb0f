// Guarantees of all queues: each started operation is delivered once, with its failure, whichever thread
// finishes it and however the owner waits; no more than `depth` run at once; a forked child gets an
// error.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "base/test_child.h"
#include "colonnade/error.h"
#include "io/completion_queue.h"
#include "io/memory/memory_file.h"
#include "io/thread_queue.h"

namespace colonnade::io {
namespace {

// A back end of threads that finish operations in any order.
class Engine {
 public:
  explicit Engine(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void give(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      works_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !works_.empty(); });
      if (works_.empty()) return;
      const std::function<void()> work = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

enum class Way { finish, post, at_once };
constexpr std::array ways{Way::finish, Way::post, Way::at_once};

class Queue final : public CompletionQueue {
 public:
  Queue(Engine* engine, std::size_t depth) : CompletionQueue(depth), engine_(engine) {}

  // Operations id, id + 1, ... that end together; those with a multiple of 7 fail.
  void submit(std::uint64_t id, std::size_t count, Way way) {
    if (way == Way::at_once) {
      for (std::size_t i = 0; i < count; ++i) add_done(id + i, failure_of(id + i));
      return;
    }
    begin(count);
    most_running = std::max(most_running, running += count);
    engine_->give([this, id, count, way] {
      running -= count;
      if (way == Way::finish) return end(id, count);
      post([this, id, count] { end(id, count); });
    });
  }
  void give_up(std::uint64_t id) {
    begin();
    withdraw();
    static_cast<void>(id);
  }
  static std::exception_ptr failure_of(std::uint64_t id) {
    return id % 7 == 0 ? std::make_exception_ptr(id) : nullptr;
  }

  std::atomic<std::size_t> running = 0;
  std::size_t most_running = 0;

 private:
  void end(std::uint64_t id, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) finish(id + i, failure_of(id + i));
  }
  Engine* engine_;
};

void check(const Completion& completion, std::vector<int>& taken) {
  ++taken.at(completion.id);
  if (completion.failure == nullptr) {
    EXPECT_NE(completion.id % 7, 0u);
    return;
  }
  try {
    std::rethrow_exception(completion.failure);
  } catch (std::uint64_t id) {
    EXPECT_EQ(id, completion.id);
  }
}

TEST(CompletionQueues, GiveOutEachOperationOnce) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t end) {
      return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    Engine engine(1 + static_cast<unsigned>(below(3)));
    const std::size_t depth = 1 + below(8);
    Queue queue(&engine, depth);
    constexpr std::uint64_t operations = 400;
    std::vector<int> taken(operations + 4);
    std::uint64_t next = 0;
    std::vector<Completion> some;
    while (next < operations || queue.in_flight() > 0) {
      if (next < operations && below(3) != 0) {
        const std::size_t count = 1 + below(3);
        queue.submit(next, count, ways.at(below(ways.size())));
        next += count;
        if (below(10) == 0) queue.give_up(next);
        continue;
      }
      some.resize(1 + below(5));
      const bool block = below(2) == 0;
      const std::size_t before = queue.in_flight();
      const std::size_t count = queue.wait(some, block);
      EXPECT_EQ(queue.in_flight(), before - count);
      EXPECT_TRUE(count > 0 || !block || before == 0);
      for (std::size_t i = 0; i < count; ++i) check(some[i], taken);
    }
    EXPECT_LE(queue.most_running, depth + 2) << seed;  // groups of up to three begin together
    for (std::uint64_t id = 0; id < next; ++id)
      ASSERT_EQ(taken.at(id), 1) << "seed " << seed << ", id " << id;
    EXPECT_EQ(queue.wait(some), 0u);
  }
}

TEST(CompletionQueues, ThrowTheFirstFailure) {
  Engine engine(2);
  Queue queue(&engine, 4);
  queue.submit(1, 6, Way::finish);
  queue.wait_for_all();
  queue.submit(13, 3, Way::post);
  EXPECT_THROW(queue.wait_for_all(), std::uint64_t);
}

TEST(CompletionQueues, AreRefusedInAForkedChild) {
  Engine engine(1);
  Queue queue(&engine, 2);
  queue.submit(1, 1, Way::at_once);
  const int refused = status_of_child([&] {
    int count = 0;
    const auto expect_refusal = [&](auto&& use) {
      try {
        use();
      } catch (const Error& error) {
        count += error.kind() == ErrorKind::usage ? 1 : 0;
      }
    };
    std::array<Completion, 1> some;
    expect_refusal([&] { queue.submit(2, 1, Way::finish); });
    expect_refusal([&] { queue.submit(2, 1, Way::at_once); });
    expect_refusal([&] { queue.wait(some); });
    expect_refusal([&] { queue.wait_for_all(); });
    return count;
  });
  EXPECT_EQ(refused, 4);
  queue.wait_for_all();
}

// A child cannot wait for the threads of its parent's queue.
TEST(ThreadQueues, OfAParentEndInAForkedChild) {
  store_memory_file("memory:queue_fork", Bytes(1000));
  const auto file = open_for_reading("memory:queue_fork");
  std::vector<Bytes> into(8, Bytes(10));
  auto queue = make_thread_queue(*file, 4);
  for (std::size_t i = 0; i < into.size(); ++i) queue->submit(i, i * 10, into[i]);
  EXPECT_EQ(status_of_child([&] {
              queue.reset();
              auto own = make_thread_queue(*file, 4);
              own->submit(1, 500, into[0]);
              own->wait_for_all();
              return 3;
            }),
            3);
  queue->wait_for_all();
}

}  // namespace
}  // namespace colonnade::io
