// A write that `space` cuts leaves its first bytes in the file, as on a full device or in a crash.
#include "io/memory/fault_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace colonnade::io {
namespace {

bool touches(std::uint64_t offset, std::uint64_t count, std::uint64_t byte) noexcept {
  return byte >= offset && byte - offset < count;
}

[[noreturn]] void fail(const std::string& uri, const char* what, std::uint64_t offset) {
  throw Error(ErrorKind::io, fmt::format("cannot {} (injected fault)", what), "",
              {.uri = uri, .offset = offset});
}

// Delivers the completions in reverse order, after all have arrived. One thread at a time, like all
// queues.
class ReversedQueue final : public ReadQueue {
 public:
  explicit ReversedQueue(std::unique_ptr<ReadQueue> queue) : queue_(std::move(queue)) {}
  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    begin();
    queue_->submit(id, offset, into);
  }
  bool reads_in_submit() const noexcept override { return queue_->reads_in_submit(); }

 private:
  void progress(bool block) override {
    std::vector<Completion> arrived;
    while (block && queue_->in_flight() > 0)
      drain(*queue_, true, [&](const Completion& completion) { arrived.push_back(completion); });
    std::sort(arrived.begin(), arrived.end(),
              [](const Completion& a, const Completion& b) { return a.id > b.id; });
    for (const Completion& completion : arrived) finish(completion.id, completion.failure);
  }

  std::unique_ptr<ReadQueue> queue_;
};

class FaultyFile final : public RandomAccessFile {
 public:
  FaultyFile(std::unique_ptr<RandomAccessFile> file, const Faults& faults)
      : file_(std::move(file)), faults_(faults) {}
  const std::string& uri() const noexcept override { return file_->uri(); }
  std::uint64_t size() const override { return std::min(file_->size(), faults_.size); }
  std::string version() const override { return file_->version(); }
  IoTraits traits() const noexcept override { return file_->traits(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    if (!passes() || touches(offset, into.size(), faults_.read_error_at)) fail(uri(), "read", offset);
    if (offset > size() || into.size() > size() - offset)
      throw Error(
          ErrorKind::format,
          fmt::format("{} bytes were requested beyond the end of the file ({} bytes)", into.size(), size()),
          "check that the file was transferred completely", {.uri = uri(), .offset = offset});
    file_->read(offset, into);
  }
  // read() above serves its requests, in threads if the file benefits from concurrency.
  std::unique_ptr<ReadQueue> open_queue(unsigned depth) const override {
    std::unique_ptr<ReadQueue> queue = RandomAccessFile::open_queue(depth);
    if (faults_.answers_reversed) return std::make_unique<ReversedQueue>(std::move(queue));
    return queue;
  }

 private:
  bool passes() const {
    return faults_.reads == Faults::never || reads_.fetch_add(1, std::memory_order_relaxed) < faults_.reads;
  }

  std::unique_ptr<RandomAccessFile> file_;
  Faults faults_;
  mutable std::atomic<std::uint64_t> reads_ = 0;
};

class FaultyWritableFile final : public WritableFile {
 public:
  FaultyWritableFile(std::unique_ptr<WritableFile> file, const Faults& faults)
      : file_(std::move(file)), faults_(faults) {}
  const std::string& uri() const noexcept override { return file_->uri(); }
  std::uint64_t size() const override { return file_->size(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    if (touches(offset, into.size(), faults_.read_error_at)) fail(uri(), "read", offset);
    file_->read(offset, into);
  }
  void write(std::uint64_t offset, ByteSpan bytes) override { write_vector(offset, {&bytes, 1}); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    if (faults_.writes == 0) fail(uri(), "write", offset);
    if (faults_.writes != Faults::never) --faults_.writes;
    for (ByteSpan part : parts) {
      if (touches(offset, part.size(), faults_.write_error_at)) fail(uri(), "write", offset);
      const std::uint64_t fits = std::min<std::uint64_t>(part.size(), faults_.space);
      file_->write(offset, part.first(static_cast<std::size_t>(fits)));
      if (faults_.space != Faults::never) faults_.space -= fits;
      if (fits < part.size()) fail(uri(), "write: no space is left", offset + fits);
      offset += part.size();
    }
  }
  void truncate(std::uint64_t size) override {
    if (faults_.writes == 0 || faults_.space == 0) fail(uri(), "truncate", size);
    file_->truncate(size);
  }
  void preallocate(std::uint64_t size) override { file_->preallocate(size); }
  void flush() override { file_->flush(); }
  void sync() override {
    if (faults_.syncs == 0) fail(uri(), "flush to the device", 0);
    if (faults_.syncs != Faults::never) --faults_.syncs;
    file_->sync();
  }
  bool publish() override { return file_->publish(); }
  bool is_published() const noexcept override { return file_->is_published(); }
  bool replaces() const noexcept override { return file_->replaces(); }
  void discard() noexcept override { file_->discard(); }
  void close() override {
    file_->close();
    if (faults_.close_fails) fail(uri(), "close", 0);
  }

 private:
  std::unique_ptr<WritableFile> file_;
  Faults faults_;
};

}  // namespace

std::unique_ptr<RandomAccessFile> with_faults(std::unique_ptr<RandomAccessFile> file, const Faults& faults) {
  return std::make_unique<FaultyFile>(std::move(file), faults);
}

std::unique_ptr<WritableFile> with_faults(std::unique_ptr<WritableFile> file, const Faults& faults) {
  return std::make_unique<FaultyWritableFile>(std::move(file), faults);
}

}  // namespace colonnade::io
