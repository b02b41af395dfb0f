// See local_reader.h. Direct I/O is a flag of the open file (O_DIRECT), which is cleared if the file system
// turns out not to support it; everything can be read without it.
#include "io/local/local_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "base/warning.h"
#include "io/local/uring_queue.h"
#include "io/thread_queue.h"

namespace colonnade::io {
namespace {

constexpr std::size_t bounce_size = std::size_t{1} << 20;  // bytes; for unaligned requests

constexpr std::uint64_t round_down(std::uint64_t value, std::size_t alignment) noexcept {
  return value & ~(std::uint64_t{alignment} - 1);
}

bool is_aligned(std::uint64_t offset, MutableByteSpan into, std::size_t alignment) noexcept {
  const std::uint64_t bits = offset | into.size() | reinterpret_cast<std::uintptr_t>(into.data());
  return (bits & (alignment - 1)) == 0;
}

// The alignment that direct I/O requires of this file's offsets and memory, if the system reports it.
std::size_t direct_alignment(int file, std::size_t least) noexcept {
#ifdef STATX_DIOALIGN
  struct statx answer{};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &answer) == 0 &&
      (answer.stx_mask & STATX_DIOALIGN) != 0)
    return std::max<std::size_t>({least, answer.stx_dio_offset_align, answer.stx_dio_mem_align});
#else
  static_cast<void>(file);
#endif
  return least;
}

// With FUSE the number of a file is often that of a mount, or of one look at its name: other machines see
// another one.
ino_t lasting_number(int file, const struct stat& status) noexcept {
  struct statfs system{};
  const bool is_fuse = ::fstatfs(file, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC;
  return is_fuse ? 0 : status.st_ino;
}

// Every open file may fall back for the same reason; one warning is enough.
void warn_once_of_uring(int code) {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true))
    warn(fmt::format("io_uring is not available ({}): reading in threads instead", system_text(code)));
}

}  // namespace

LocalFile::LocalFile(std::string uri, FileDescriptor file, std::uint64_t size, const ReadFileOptions& options,
                     ReadCalls calls)
    : uri_(std::move(uri)),
      file_(std::move(file)),
      size_(size),
      calls_(std::move(calls)),
      method_(options.local_io) {
  struct stat status{};
  if (::fstat(file_.get(), &status) == 0)
    version_ = fmt::format("{}-{}.{:09}-{}.{:09}", lasting_number(file_.get(), status), status.st_mtim.tv_sec,
                           status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  if (options.direct_io) start_direct();
  if (method_ == LocalIo::mmap && !is_direct() && !mapping_.map(file_.get(), size_) && size_ > 0)
    warn(fmt::format("cannot map {} ({}): reading it instead", uri_, system_text(errno)));
}

void LocalFile::start_direct() {
  if (calls_.set_direct(file_.get(), true) != 0) {
    warn(fmt::format("no direct I/O for {} ({}): reading it through the page cache", uri_,
                     system_text(errno)));
    return;
  }
  alignment_ = direct_alignment(file_.get(), alignment_);
  direct_ = true;
}

void LocalFile::stop_direct(int code) const {
  calls_.set_direct(file_.get(), false);
  if (direct_.exchange(false))
    warn(fmt::format("direct I/O of {} failed ({}): reading it through the page cache", uri_,
                     system_text(code)));
}

// Measured, see docs/local-storage.md. Through the page cache the kernel reads ahead by itself, and a few
// threads copy faster than one: `automatic` uses them. Past the page cache there is nothing to copy, and the
// kernel's queue takes the least processor time.
LocalIo LocalFile::method() const noexcept {
  if (method_ != LocalIo::automatic) return method_;
  return is_direct() || ThreadPool::processors() == 1 ? LocalIo::io_uring : LocalIo::threads;
}

IoTraits LocalFile::traits() const noexcept {
  IoTraits traits;
  traits.max_request = std::size_t{1} << 20;
  traits.worthwhile_gap = std::size_t{16} << 10;
  const LocalIo how = method();
  if (how == LocalIo::io_uring || how == LocalIo::threads)
    traits.concurrency = method_ == LocalIo::automatic && how == LocalIo::threads ? 4 : 16;
  traits.reads_are_copies = method_ == LocalIo::automatic && !is_direct();
  traits.alignment = is_direct() ? alignment_ : 1;
  return traits;
}

void LocalFile::read(std::uint64_t offset, MutableByteSpan into) const {
  check_range(uri_, size_, offset, into.size());
  if (into.empty() || mapping_.copy(offset, into)) return;
  is_direct() ? read_direct(offset, into) : read_buffered(offset, into);
}

void LocalFile::read_buffered(std::uint64_t offset, MutableByteSpan into) const {
  std::vector<iovec> vectors{{into.data(), into.size()}};
  read_all(file_.get(), uri_, size_, offset, vectors, calls_.preadv);
}

void LocalFile::will_need(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (is_direct()) return;
  static_cast<void>(::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                                    POSIX_FADV_WILLNEED));
}

void LocalFile::opened() const noexcept {
  struct stat status{};
  if (::fstat(file_.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) > size_)
    size_ = static_cast<std::uint64_t>(status.st_size);
}

// Fills the first `needed` bytes, and may write to all of `into`. False if direct I/O is not
// supported.
bool LocalFile::read_aligned(std::uint64_t offset, MutableByteSpan into, std::size_t needed) const {
  for (std::size_t have = 0; have < needed;) {
    const iovec rest{into.data() + have, into.size() - have};
    const ssize_t done = calls_.preadv(file_.get(), &rest, 1, static_cast<off_t>(offset + have));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EINVAL) {
      stop_direct(EINVAL);
      return false;
    }
    if (done < 0) fail_system(uri_, fmt::format("read {} bytes", into.size() - have), errno, offset + have);
    if (have + static_cast<std::size_t>(done) >= needed) return true;
    // A short read of unaligned length, or of nothing, has reached the end of the file; the page cache gives
    // its exact position.
    const auto whole = static_cast<std::size_t>(round_down(static_cast<std::uint64_t>(done), alignment_));
    struct stat status{};
    if (::fstat(file_.get(), &status) != 0) fail_system(uri_, "examine", errno);
    if (static_cast<std::uint64_t>(status.st_size) < offset + needed)
      fail_truncated(uri_, static_cast<std::uint64_t>(status.st_size), size_);
    if (whole == 0) {
      stop_direct(EIO);
      return false;
    }
    have += whole;
  }
  return true;
}

void LocalFile::read_direct(std::uint64_t offset, MutableByteSpan into) const {
  if (is_aligned(offset, into, alignment_)) {
    if (!read_aligned(offset, into, into.size())) read_buffered(offset, into);
    return;
  }
  AlignedBuffer bounce;
  while (!into.empty()) {
    const std::uint64_t begin = round_down(offset, alignment_);
    const auto lead = static_cast<std::size_t>(offset - begin);
    const std::size_t count = std::min(into.size(), std::max(bounce_size, 2 * alignment_) - lead);
    const std::size_t padded =
        static_cast<std::size_t>(round_down(lead + count + alignment_ - 1, alignment_));
    if (bounce.size() < padded) bounce = AlignedBuffer(padded, alignment_);
    if (!read_aligned(begin, bounce.span().first(padded), lead + count)) return read_buffered(offset, into);
    std::copy_n(bounce.data() + lead, count, into.data());
    offset += count;
    into = into.subspan(count);
  }
}

// Merges requests that are adjacent in the file into one system call each, whatever their order in the list.
void LocalFile::read_vector(std::span<const ReadRequest> requests) const {
  for (const ReadRequest& request : requests) check_range(uri_, size_, request.offset, request.into.size());
  if (is_direct() || method_ == LocalIo::mmap) return RandomAccessFile::read_vector(requests);
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return requests[a].offset < requests[b].offset; });
  std::vector<iovec> vectors;
  for (std::size_t i = 0; i < order.size();) {
    const std::uint64_t begin = requests[order[i]].offset;
    std::uint64_t end = begin;
    vectors.clear();
    for (; i < order.size() && requests[order[i]].offset == end; ++i) {
      const MutableByteSpan into = requests[order[i]].into;
      if (!into.empty()) vectors.push_back({into.data(), into.size()});
      end += into.size();
    }
    read_all(file_.get(), uri_, size_, begin, vectors, calls_.preadv);
  }
}

ReadCalls ReadCalls::of_system() {
  return {.preadv = ::preadv,
          .set_direct =
              [](int file, bool on) {
                const int flags = ::fcntl(file, F_GETFL);
                return flags < 0 ? -1 : ::fcntl(file, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
              },
          .completion = [](int result) { return result; }};
}

std::unique_ptr<ReadQueue> LocalFile::open_queue(unsigned depth) const {
  const LocalIo how = method();
  if (how == LocalIo::pread || how == LocalIo::mmap) return make_thread_queue(*this, 1);
  if (how == LocalIo::threads) return make_thread_queue(*this, depth);
  int code = 0;
  if (std::unique_ptr<ReadQueue> queue = make_uring_queue(*this, depth, code)) return queue;
  if (method_ == LocalIo::io_uring) warn_once_of_uring(code);
  return make_thread_queue(*this, depth);
}

}  // namespace colonnade::io
