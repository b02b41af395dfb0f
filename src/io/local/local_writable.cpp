// The two ways of writing an open local file: through the page cache (pwritev, or copy_file_range and shared
// blocks for what another file has) and past it (WriteStaging).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <utility>

#include "base/warning.h"
#include "io/local/local_system.h"
#include "io/local/write_calls.h"
#include "io/local/write_staging.h"

namespace colonnade::io {
namespace {

// Space behind the end of the file that is allocated in advance. Only large files get any; the steps grow
// with the file, so that a file has few extents and a small one costs nothing.
class Preallocation {
 public:
  void reach(const WriteCalls& calls, int file, std::uint64_t size) {
    constexpr std::uint64_t worthwhile = std::uint64_t{32} << 20;
    constexpr std::uint64_t first_step = std::uint64_t{64} << 20;
    constexpr std::uint64_t largest_step = std::uint64_t{1} << 30;
    if (size < worthwhile || size <= end_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (size <= end_) return;
    const std::uint64_t step = std::clamp(size, first_step, largest_step);
    // Without space, or without support for the call, writing itself reports the error or does without.
    static_cast<void>(
        calls.fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size), static_cast<off_t>(step)));
    end_ = size + step;
  }

  // Releases unused space. Truncating a file to its own size frees everything behind it.
  int give_back(const WriteCalls& calls, int file, std::uint64_t size) {
    if (end_ <= size) return 0;
    end_ = 0;
    while (calls.ftruncate(file, static_cast<off_t>(size)) != 0)
      if (errno != EINTR) return errno;
    return 0;
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> end_ = 0;
};

// Common base of both ways.
class LocalWritable : public WritableFile {
 public:
  LocalWritable(std::string uri, FileDescriptor file, WriteCalls calls)
      : uri_(std::move(uri)),
        file_(std::move(file)),
        calls_(std::move(calls)),
        is_on_network_(calls_.is_on_network(file_.get())) {}

  const std::string& uri() const noexcept override { return uri_; }

  void write(std::uint64_t offset, ByteSpan bytes) override { write_vector(offset, {&bytes, 1}); }

  void preallocate(std::uint64_t size) override { preallocation_.reach(calls_, number(), size); }

  // A network file system may refuse later what it has accepted: a commit that went ahead would replace what
  // was there by what is lost.
  void flush() override {
    write_staged();
    if (is_on_network_) flush_to_device();
  }
  void sync() override {
    write_staged();
    flush_to_device();
  }

 protected:
  virtual void write_staged() {}

  // The system reports a failure once, and forgets what it could not write: a later call may succeed without
  // it.
  void flush_to_device() {
    int code = flush_failure_;
    while (code == 0 && !is_flushed(calls_.fdatasync(number())))
      if (errno != EINTR) code = flush_failure_ = errno;
    if (code != 0) fail_system(uri_, "flush to the device", code);
  }

  int number() const {
    if (file_.get() < 0)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri_});
    return file_.get();
  }

  // Throws the error of `flush`, else that of closing; the descriptor is gone in any case. Closing is never
  // repeated after EINTR: another thread may have got the same number.
  template <class Flush>
  void close_after(Flush&& flush) {
    std::exception_ptr failure;
    try {
      flush();
      if (const int code = preallocation_.give_back(calls_, number(), size()); code != 0)
        warn(
            fmt::format("{}: space that was reserved behind the end of the file could not be given back ({})",
                        uri_, system_text(code)));
    } catch (...) {
      failure = std::current_exception();
    }
    file_.unlock();
    const bool closed = calls_.close(file_.release()) == 0 || errno == EINTR;
    const int code = errno;
    if (failure) std::rethrow_exception(failure);
    if (!closed) fail_system(uri_, "close", code);
  }

  std::string uri_;
  FileDescriptor file_;
  WriteCalls calls_;
  bool is_on_network_;
  std::atomic<int> flush_failure_ = 0;
  Preallocation preallocation_;
};

class CachedWritable final : public LocalWritable {
 public:
  using LocalWritable::LocalWritable;

  std::uint64_t size() const override {
    struct stat status{};
    if (::fstat(number(), &status) != 0) fail_system(uri_, "examine", errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  void read(std::uint64_t offset, MutableByteSpan into) const override {
    const std::uint64_t now = size();
    check_range(uri_, now, offset, into.size());
    std::vector<iovec> vectors{{into.data(), into.size()}};
    read_all(number(), uri_, now, offset, vectors, ::preadv);
  }

  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    std::vector<iovec> vectors;
    vectors.reserve(parts.size());
    for (ByteSpan part : parts)
      if (!part.empty()) vectors.push_back({const_cast<std::byte*>(part.data()), part.size()});
    std::size_t first = 0;
    while (first < vectors.size()) {
      const ssize_t done = calls_.pwritev(number(), vectors.data() + first, batch_of(vectors, first),
                                          static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        fail_system(uri_, fmt::format("write {} bytes", vectors[first].iov_len), done < 0 ? errno : EIO,
                    offset);
      offset += static_cast<std::uint64_t>(done);
      first = advance(vectors, first, static_cast<std::size_t>(done));
    }
  }

  bool can_copy(const RandomAccessFile& from) const noexcept override {
    return from.descriptor() >= 0 && copies_.load(std::memory_order_relaxed);
  }

  std::uint64_t copy(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin,
                     std::uint64_t size) override {
    check_range(from.uri(), from.size(), begin, size);
    const std::uint64_t first = (begin + sharing_unit - 1) / sharing_unit * sharing_unit;
    const std::uint64_t last = (begin + size) / sharing_unit * sharing_unit;
    const bool may_share = first < last && (offset - begin) % sharing_unit == 0 && shares_;
    if (!may_share || !share(offset + (first - begin), from, first, last - first)) {
      preallocate(offset + size);
      copy_bytes(offset, from, begin, size);
      return 0;
    }
    copy_bytes(offset, from, begin, first - begin);
    copy_bytes(offset + (last - begin), from, last, begin + size - last);
    return last - first;
  }

  void truncate(std::uint64_t size) override {
    while (calls_.ftruncate(number(), static_cast<off_t>(size)) != 0)
      if (errno != EINTR) fail_system(uri_, fmt::format("truncate to {} bytes", size), errno);
  }

  void close() override {
    if (file_.get() >= 0) close_after([] {});
  }

 private:
  bool share(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin, std::uint64_t size) {
    while (calls_.share_range(from.descriptor(), static_cast<off_t>(begin), number(),
                              static_cast<off_t>(offset), size) != 0) {
      if (errno == EINTR) continue;
      // Other file systems, and those that cannot do it: copying will tell if anything else is wrong.
      shares_ = false;
      return false;
    }
    return true;
  }

  // The system moves 64 KiB at a time from where a call begins. Within borders of 64 KiB, the page cache has
  // each in one large folio, which makes copying a quarter faster; so a first call goes up to a border.
  void copy_bytes(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin,
                  std::uint64_t size) {
    constexpr std::uint64_t border = std::uint64_t{64} << 10;
    auto source = static_cast<off_t>(begin);
    auto target = static_cast<off_t>(offset);
    while (size > 0) {
      const std::uint64_t up_to_border = border - static_cast<std::uint64_t>(target) % border;
      const std::uint64_t part = up_to_border == border ? size : std::min(size, up_to_border);
      const ssize_t done = calls_.copy_range(from.descriptor(), &source, number(), &target, part);
      if (done < 0 && errno == EINTR) continue;
      if (done == 0) fail_truncated(from.uri(), static_cast<std::uint64_t>(source), from.size());
      if (done < 0) {
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
          fail_system(uri_, fmt::format("copy {} bytes", size), errno, static_cast<std::uint64_t>(target));
        // EIO does not say which of the files is damaged: reading and writing does. Other codes: between
        // these two the system does not copy.
        if (errno != EIO) copies_ = false;
        return static_cast<void>(WritableFile::copy(static_cast<std::uint64_t>(target), from,
                                                    static_cast<std::uint64_t>(source), size));
      }
      size -= static_cast<std::uint64_t>(done);
    }
  }

  std::atomic<bool> copies_ = true;
  std::atomic<bool> shares_ = true;
};

class DirectWritable final : public LocalWritable {
 public:
  DirectWritable(std::string uri, FileDescriptor file, WriteCalls calls, std::uint64_t size)
      : LocalWritable(std::move(uri), std::move(file), std::move(calls)),
        staging_(std::make_unique<WriteStaging>(calls_, file_.get(), uri_, size, WriteStaging::Limits{})) {}

  ~DirectWritable() override {
    if (file_.get() < 0) return;
    try {
      staging_->flush();
    } catch (...) {  // close() would have reported it
    }
  }

  std::uint64_t size() const override { return staging().size(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override { staging().read(offset, into); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    staging().write(offset, parts);
  }
  void truncate(std::uint64_t size) override { staging().truncate(size); }
  void close() override {
    if (file_.get() < 0) return;
    close_after([this] { staging_->flush(); });
    staging_.reset();
  }

 private:
  void write_staged() override { staging().flush(); }
  WriteStaging& staging() const {
    static_cast<void>(number());
    return *staging_;
  }

  std::unique_ptr<WriteStaging> staging_;
};

// The alignment of direct requests that the file system requires; 0 if it does not report any.
std::uint64_t direct_alignment(int file) {
#ifdef STATX_DIOALIGN
  struct statx status{};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0)
    return std::max<std::uint64_t>(status.stx_dio_offset_align, status.stx_dio_mem_align);
#endif
  static_cast<void>(file);
  return 0;
}

bool can_go_direct(const WriteCalls& calls, const FileDescriptor& file, const std::string& uri) {
  const std::uint64_t alignment = direct_alignment(file.get());
  if (alignment <= WriteStaging::block_size && calls.set_direct(file.get(), true) == 0) return true;
  warn(fmt::format("{}: the file system refuses direct I/O{}; writing goes through the page cache", uri,
                   alignment > WriteStaging::block_size
                       ? fmt::format(" in blocks of {} bytes", WriteStaging::block_size)
                       : ""));
  return false;
}

}  // namespace

std::unique_ptr<WritableFile> writable_file(const std::string& uri, FileDescriptor file, WriteCalls calls,
                                            const WriteFileOptions& options) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail_system(uri, "examine", errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (options.direct_io && can_go_direct(calls, file, uri))
    return std::make_unique<DirectWritable>(uri, std::move(file), std::move(calls), size);
  return std::make_unique<CachedWritable>(uri, std::move(file), std::move(calls));
}

}  // namespace colonnade::io
