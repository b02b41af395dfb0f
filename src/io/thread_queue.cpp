// See thread_queue.h.
#include "io/thread_queue.h"

#include "io/request_threads.h"

namespace colonnade::io {
namespace {

class ThreadQueue final : public ReadQueue {
 public:
  ThreadQueue(const RandomAccessFile& file, unsigned depth)
      : threads_(depth, [&file](const Request& request) { file.read(request.offset, request.into); }) {}

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    threads_.submit({id, offset, into});
  }
  std::size_t wait(std::span<Completion> completions, bool block) override {
    return threads_.wait(completions, block);
  }
  std::size_t in_flight() const noexcept override { return threads_.in_flight(); }
  bool reads_in_submit() const noexcept override { return threads_.works_in_submit(); }

 private:
  struct Request {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };

  RequestThreads<Request, Completion> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> make_thread_queue(const RandomAccessFile& file, unsigned depth) {
  return std::make_unique<ThreadQueue>(file, depth);
}

}  // namespace colonnade::io
