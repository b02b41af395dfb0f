// S3Queue of s3_client.h: no threads of its own, the engine's thread leaves what is done here.
#include <utility>

#include "io/s3/s3_operations.h"

namespace colonnade::io {
namespace {

class Queue final : public S3Queue {
 public:
  Queue(std::shared_ptr<const S3ClientWithCaller> client, unsigned depth)
      : S3Queue(depth), client_(std::move(client)), engine_(&HttpEngine::shared()) {}

  ~Queue() override { engine_->cancel(this); }

  void get_range(std::uint64_t id, const std::string& key, std::uint64_t offset, MutableByteSpan into,
                 const std::string& etag) override {
    start(id, range_call(key, offset, into, etag),
          [this, offset](const S3Call& call, const S3Answer& answer) {
            check_range_answer(client_->caller(), call, offset, answer);
          });
  }

  void put(std::uint64_t id, const std::string& key, std::span<const ByteSpan> parts) override {
    start(id, put_call(key, parts), [this](const S3Call& call, const S3Answer& answer) {
      check_put_answer(client_->caller(), call, answer);
    });
  }

  void upload_part(std::uint64_t id, const std::string& key, const std::string& upload, S3Part& part,
                   std::span<const ByteSpan> parts) override {
    start(id, part_call(key, upload, part.number, parts),
          [this, &part](const S3Call& call, const S3Answer& answer) {
            part.etag = check_put_answer(client_->caller(), call, answer);
          });
  }

 private:
  template <class Meaning>
  void start(std::uint64_t id, S3Call&& call, Meaning meaning) {
    with_context(client_->caller().context(""), [&] { begin(); });
    try {
      ask(id, std::make_shared<const S3Call>(std::move(call)), std::move(meaning), true);
    } catch (...) {
      withdraw();
      throw;
    }
  }

  // New keys, where these were refused, are requested by the owner's thread.
  template <class Meaning>
  void ask(std::uint64_t id, const std::shared_ptr<const S3Call>& call, Meaning meaning, bool may_renew) {
    client_->caller().start(*engine_, this, call, [this, id, call, meaning, may_renew](S3Answer&& answer) {
      finish_if_failed(id, [&] {
        if (may_renew && answer.may_renew)
          return post(
              [this, id, call, meaning] { finish_if_failed(id, [&] { ask(id, call, meaning, false); }); });
        meaning(*call, answer);
        finish(id);
      });
    });
  }

  template <class Work>
  void finish_if_failed(std::uint64_t id, Work&& work) noexcept {
    try {
      work();
    } catch (...) {
      finish(id, std::current_exception());
    }
  }

  const std::shared_ptr<const S3ClientWithCaller> client_;
  HttpEngine* const engine_;
};

}  // namespace

std::unique_ptr<S3Queue> S3Queue::open(std::shared_ptr<const S3Client> client, unsigned depth) {
  // There is one implementation of a client.
  return std::make_unique<Queue>(std::static_pointer_cast<const S3ClientWithCaller>(std::move(client)),
                                 depth);
}

}  // namespace colonnade::io
