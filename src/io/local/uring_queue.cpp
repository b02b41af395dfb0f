// See uring_queue.h. The ring handles the normal case. Everything else - an error, the end of the file, an
// interrupted or refused request - is repeated with LocalFile::read(), which continues or reports the
// error.
#include "io/local/uring_queue.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/process.h"

#ifdef COLONNADE_HAS_URING
#include <liburing.h>
#endif

namespace colonnade::io {

#ifndef COLONNADE_HAS_URING

std::unique_ptr<ReadQueue> make_uring_queue(const LocalFile&, unsigned, int& code) {
  code = ENOSYS;
  return nullptr;
}

#else

namespace {

// A ring may get the addresses of one that another thread has just closed. The kernel orders these events,
// but liburing makes the system calls itself, invisible to ThreadSanitizer; the mutex is visible. A forked
// child has one of its own: another thread of its parent may have held the parent's.
std::mutex& opening_and_closing() {
  static PerProcess<std::mutex> mutex;
  return mutex.get();
}

class Ring {
 public:
  // Newer kernels need not interrupt this thread for completions: it polls.
  int open(unsigned depth) noexcept {
    const std::lock_guard lock(opening_and_closing());
    int code = -EINVAL;
#if defined(IORING_SETUP_COOP_TASKRUN) && defined(IORING_SETUP_TASKRUN_FLAG)
    code = ::io_uring_queue_init(depth, &ring_, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
#endif
    if (code == -EINVAL) code = ::io_uring_queue_init(depth, &ring_, 0);
    open_ = code == 0;
    return -code;
  }
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    const std::lock_guard lock(opening_and_closing());
    if (open_) ::io_uring_queue_exit(&ring_);
  }
  io_uring* get() noexcept { return &ring_; }

 private:
  io_uring ring_{};
  bool open_ = false;
};

class UringQueue final : public ReadQueue {
 public:
  UringQueue(const LocalFile& file, unsigned depth)
      : ReadQueue(depth), file_(&file), slots_(std::max(depth, 1u)) {
    for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(i - 1);
  }

  int open() noexcept {
    if (const int code = ring_.open(static_cast<unsigned>(slots_.size())); code != 0) return code;
    const int number = file_->descriptor();
    if (const int code = ::io_uring_register_files(ring_.get(), &number, 1); code != 0) return -code;
    return refusal();
  }

  // Late completions are not delivered, but their memory must stay valid until they arrive.
  ~UringQueue() override {
    while (is_of_this_process() && free_.size() < slots_.size() && enter(1)) reap(false);
  }

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    begin();
    if (!lies_inside(offset, into)) {
      read_plainly({id, offset, into});
      return;
    }
    const std::size_t index = free_.back();
    ReadSlot& slot = slots_[index];
    slot.request = {id, offset, into};
    try {
      prepare(slot);
    } catch (...) {
      withdraw();
      throw;
    }
    io_uring_sqe* entry = ::io_uring_get_sqe(ring_.get());
    ::io_uring_prep_read(entry, 0, slot.target.data(), static_cast<unsigned>(slot.target.size()),
                         slot.offset);
    entry->flags |= IOSQE_FIXED_FILE;
    ::io_uring_sqe_set_data64(entry, index);
    free_.pop_back();
    enter(0);
  }

 private:
  struct Request {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };
  struct ReadSlot {
    Request request;
    std::uint64_t offset = 0;  // of the read
    MutableByteSpan target;    // the request's memory, or `bounce` if that is unaligned
    AlignedBuffer bounce;
  };

  bool lies_inside(std::uint64_t offset, MutableByteSpan into) const noexcept {
    return !into.empty() && into.size() <= max_size && offset <= file_->size() &&
           into.size() <= file_->size() - offset;
  }

  void prepare(ReadSlot& slot) {
    slot.offset = slot.request.offset;
    slot.target = slot.request.into;
    if (!file_->is_direct()) return;
    const std::size_t alignment = file_->alignment();
    const std::uint64_t mask = std::uint64_t{alignment} - 1;
    if (((slot.offset | slot.target.size() | reinterpret_cast<std::uintptr_t>(slot.target.data())) & mask) ==
        0)
      return;
    const std::uint64_t end = (slot.offset + slot.target.size() + mask) & ~mask;
    slot.offset &= ~mask;
    const auto padded = static_cast<std::size_t>(end - slot.offset);
    if (slot.bounce.size() < padded) slot.bounce = AlignedBuffer(padded, alignment);
    slot.target = slot.bounce.span().first(padded);
  }

  void read_plainly(const Request& request) {
    try {
      file_->read(request.offset, request.into);
      finish(request.id);
    } catch (...) {
      finish(request.id, std::current_exception());
    }
  }

  void settle(ReadSlot& slot, int result) {
    const Request& request = slot.request;
    const auto lead = static_cast<std::size_t>(request.offset - slot.offset);
    if (result < 0 || static_cast<std::size_t>(result) < lead + request.into.size())
      return read_plainly(request);
    if (slot.target.data() != request.into.data())
      std::copy_n(slot.target.data() + lead, request.into.size(), request.into.data());
    finish(request.id);
  }

  // Takes arrived results; with `tell` they become completions.
  void reap(bool tell) {
    io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(ring_.get(), &entry) == 0) {
      const auto index = static_cast<std::size_t>(::io_uring_cqe_get_data64(entry));
      const int result = file_->calls().completion(entry->res);
      ::io_uring_cqe_seen(ring_.get(), entry);
      free_.push_back(index);
      if (tell) settle(slots_[index], result);
    }
  }

  // Rings may exist although the system refuses (seccomp) to submit reads to them, which would never arrive.
  int refusal() noexcept {
    return -std::min(::io_uring_enter(static_cast<unsigned>(ring_.get()->ring_fd), 0, 0, 0, nullptr), 0);
  }

  // Submits prepared requests and waits for `count` completions. Requests that the kernel does not take now
  // are submitted the next time. Returns false if waiting is no longer possible.
  bool enter(unsigned count) noexcept {
    while (true) {
      const int code = ::io_uring_submit_and_wait(ring_.get(), count);
      if (code >= 0 || code == -EAGAIN || code == -EBUSY) return true;
      if (code != -EINTR) return false;
    }
  }

  void progress(bool block) override {
    if (block && !enter(1)) fail_system(file_->uri(), "wait for reads", EIO);
    reap(true);
  }

  static constexpr std::size_t max_size = std::size_t{1} << 30;  // bytes; the maximum of one kernel request

  const LocalFile* file_;
  Ring ring_;
  std::vector<ReadSlot> slots_;
  std::vector<std::size_t> free_;  // slots that are not in the kernel
};

}  // namespace

std::unique_ptr<ReadQueue> make_uring_queue(const LocalFile& file, unsigned depth, int& code) {
  auto queue = std::make_unique<UringQueue>(file, depth);
  code = queue->open();
  if (code != 0) return nullptr;
  return queue;
}

#endif

}  // namespace colonnade::io
