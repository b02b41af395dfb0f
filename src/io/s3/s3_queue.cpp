// S3Queue of s3_client.h: no threads of its own. The engine's thread leaves what is done here, and wakes the
// owner only if it waits.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

class Queue final : public S3Queue {
 public:
  Queue(std::shared_ptr<const S3ClientWithCaller> client, unsigned depth)
      : client_(std::move(client)), engine_(&HttpEngine::shared()), depth_(std::max(depth, 1u)) {}

  ~Queue() override { engine_->cancel(this); }

  void get_range(std::uint64_t id, const std::string& key, std::uint64_t offset, MutableByteSpan into,
                 const std::string& etag) override {
    start(id, range_call(key, offset, into, etag),
          [this, offset](const S3Call& call, const S3Answer& answer) {
            check_range_answer(client_->caller(), call, offset, answer);
            return std::string();
          });
  }

  void put(std::uint64_t id, const std::string& key, std::span<const ByteSpan> parts) override {
    start(id, put_call(key, parts), [this](const S3Call& call, const S3Answer& answer) {
      return check_put_answer(client_->caller(), call, answer);
    });
  }

  void upload_part(std::uint64_t id, const std::string& key, const std::string& upload, unsigned number,
                   std::span<const ByteSpan> parts) override {
    start(id, part_call(key, upload, number, parts), [this](const S3Call& call, const S3Answer& answer) {
      return check_put_answer(client_->caller(), call, answer);
    });
  }

  std::size_t wait(std::span<Completion> completions, bool block) override {
    if (in_flight_ == 0 || completions.empty()) return 0;
    check_process();
    std::unique_lock lock(mutex_);
    if (block) wait_until(lock, [this] { return !done_.empty(); });
    const std::size_t count = std::min(completions.size(), done_.size());
    std::move(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count), completions.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    in_flight_ -= count;
    return count;
  }

  std::size_t in_flight() const noexcept override { return in_flight_; }

 private:
  template <class Meaning>
  void start(std::uint64_t id, S3Call&& call, Meaning meaning) {
    check_process();
    {
      std::unique_lock lock(mutex_);
      wait_until(lock, [this] { return running_ < depth_; });
      ++running_;
    }
    ++in_flight_;
    const auto shared = std::make_shared<const S3Call>(std::move(call));
    try {
      client_->caller().start(*engine_, this, shared, [this, id, shared, meaning](S3Answer&& answer) {
        Completion completion{.id = id};
        try {
          completion.etag = meaning(*shared, answer);
        } catch (...) {
          completion.failure = std::current_exception();
        }
        finish(std::move(completion));
      });
    } catch (...) {
      --in_flight_;
      const std::lock_guard lock(mutex_);
      --running_;
      throw;
    }
  }

  // Before anything is locked: a lock that was held at the fork opens nevermore.
  void check_process() const {
    if (!engine_->is_of_this_process())
      throw Error(ErrorKind::usage, "a queue of S3 requests cannot be used in a fork of its process",
                  "open it in the child", client_->caller().context(""));
  }

  void finish(Completion&& completion) {
    const std::lock_guard lock(mutex_);
    --running_;
    done_.push_back(std::move(completion));
    if (waiting_) arrives_.notify_one();
  }

  template <class Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
    waiting_ = true;
    arrives_.wait(lock, condition);
    waiting_ = false;
  }

  const std::shared_ptr<const S3ClientWithCaller> client_;
  HttpEngine* const engine_;
  const std::size_t depth_;
  std::size_t in_flight_ = 0;  // of the owner alone
  std::mutex mutex_;
  std::condition_variable arrives_;
  bool waiting_ = false;
  std::size_t running_ = 0;
  std::vector<Completion> done_;
};

}  // namespace

std::unique_ptr<S3Queue> S3Queue::open(std::shared_ptr<const S3Client> client, unsigned depth) {
  // There is one implementation of a client.
  return std::make_unique<Queue>(std::static_pointer_cast<const S3ClientWithCaller>(std::move(client)),
                                 depth);
}

}  // namespace colonnade::io
