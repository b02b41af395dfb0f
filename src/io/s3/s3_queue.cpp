// S3Queue of s3_client.h: no threads of its own, the engine's thread leaves what is done here.
#include <utility>

#include "io/completion_queue.h"
#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

class Queue final : public S3Queue {
 public:
  Queue(std::shared_ptr<const S3ClientWithCaller> client, unsigned depth)
      : client_(std::move(client)), engine_(&HttpEngine::shared()), done_("a queue of S3 requests", depth) {}

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
    return done_.wait(completions, block);
  }
  std::size_t in_flight() const noexcept override { return done_.in_flight(); }

 private:
  template <class Meaning>
  void start(std::uint64_t id, S3Call&& call, Meaning meaning) {
    with_context(client_->caller().context(""), [&] { done_.begin(); });
    const auto shared = std::make_shared<const S3Call>(std::move(call));
    try {
      client_->caller().start(*engine_, this, shared, [this, id, shared, meaning](S3Answer&& answer) {
        Completion completion{.id = id};
        try {
          completion.etag = meaning(*shared, answer);
        } catch (...) {
          completion.failure = std::current_exception();
        }
        done_.finish(std::move(completion));
      });
    } catch (...) {
      done_.withdraw();
      throw;
    }
  }

  const std::shared_ptr<const S3ClientWithCaller> client_;
  HttpEngine* const engine_;
  CompletionQueue<Completion> done_;
};

}  // namespace

std::unique_ptr<S3Queue> S3Queue::open(std::shared_ptr<const S3Client> client, unsigned depth) {
  // There is one implementation of a client.
  return std::make_unique<Queue>(std::static_pointer_cast<const S3ClientWithCaller>(std::move(client)),
                                 depth);
}

}  // namespace colonnade::io
