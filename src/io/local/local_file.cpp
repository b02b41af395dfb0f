// Local files through pread/pwrite and their vector forms. Every loop continues after a signal (EINTR) and
// after a short transfer; a read that meets the end of the file before the size seen at opening says that the
// file was truncated.
//
// A writer takes an exclusive advisory lock (flock) before it changes anything, truncation included, so a
// second writer is refused and the first one's file stays whole. The lock goes with the descriptor: a crashed
// process leaves none. File systems that know no locks are written without.
#include "io/local/local_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

namespace colonnade::io {
namespace {

constexpr std::size_t most_parts = 1024;                  // of one system call on Linux (IOV_MAX)
constexpr std::size_t most_bytes = std::size_t{1} << 30;  // Linux transfers at most 2 GiB - 4 KiB in one call

std::string system_text(int code) {
  return std::generic_category().message(code);
}

std::string advice_for(int code) {
  switch (code) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of the file and of its folder";
    case EMFILE:
    case ENFILE:
      return "close other files or raise the limit of open files (ulimit -n)";
    case ENOSPC:
    case EDQUOT:
      return "free space on the device or choose another one";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    case EIO:
      return "check the device and the system's log";
    default:
      return {};
  }
}

[[noreturn]] void fail(const std::string& uri, std::string_view action, int code,
                       std::optional<std::uint64_t> offset = {}) {
  const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
  throw Error(kind, fmt::format("cannot {} ({})", action, system_text(code)), advice_for(code),
              {.uri = uri, .offset = offset});
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

// O_NONBLOCK keeps the open of a pipe from waiting for its other end; it has no effect on regular files.
Descriptor open_regular(const std::string& uri, int flags, struct stat& status) {
  const std::string path = local_path(uri);
  int number = -1;
  do number = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
  while (number < 0 && errno == EINTR);
  const bool writing = (flags & O_ACCMODE) != O_RDONLY;
  if (number < 0 && errno != EISDIR) fail(uri, writing ? "open for writing" : "open", errno);
  Descriptor file(number);
  if (number >= 0 && ::fstat(number, &status) != 0) fail(uri, "examine", errno);
  if (number < 0 || S_ISDIR(status.st_mode))
    throw Error(ErrorKind::io, "cannot open: it is a directory", "name a file inside it", {.uri = uri});
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::io, "cannot open: it is not a regular file", "copy its content to a file first",
                {.uri = uri});
  return file;
}

// Drops the first `done` bytes of the vectors from `first` on; returns the new first one.
std::size_t advance(std::vector<iovec>& vectors, std::size_t first, std::size_t done) {
  while (first < vectors.size() && done >= vectors[first].iov_len) done -= vectors[first++].iov_len;
  if (done > 0) {
    vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + done;
    vectors[first].iov_len -= done;
  }
  return first;
}

// How many vectors from `first` on fit one system call. A single larger one is passed as it is: the kernel
// shortens it.
int batch_of(const std::vector<iovec>& vectors, std::size_t first) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (first + count < vectors.size() && count < most_parts) {
    bytes += vectors[first + count].iov_len;
    if (count > 0 && bytes > most_bytes) break;
    ++count;
  }
  return static_cast<int>(count);
}

// Reads all vectors from `offset` on. `size` is that of the opening, for the message.
void read_all(int file, const std::string& uri, std::uint64_t size, std::uint64_t offset,
              std::vector<iovec>& vectors) {
  std::size_t first = advance(vectors, 0, 0);
  while (first < vectors.size()) {
    const ssize_t done =
        ::preadv(file, vectors.data() + first, batch_of(vectors, first), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(uri, fmt::format("read {} bytes", vectors[first].iov_len), errno, offset);
    if (done == 0)
      throw Error(
          ErrorKind::io,
          fmt::format("the file ends at byte {} although it had {} bytes when it was opened", offset, size),
          "another program truncated it: open it again when it is complete", {.uri = uri, .offset = offset});
    offset += static_cast<std::uint64_t>(done);
    first = advance(vectors, first, static_cast<std::size_t>(done));
  }
}

void check_range(const std::string& uri, std::uint64_t size, std::uint64_t offset, std::uint64_t count) {
  if (offset > size || count > size - offset)
    throw Error(ErrorKind::format,
                fmt::format("{} bytes are asked for where the file of {} bytes ends", count, size),
                "check that the file was transferred completely", {.uri = uri, .offset = offset});
}

class LocalFile final : public RandomAccessFile {
 public:
  LocalFile(std::string uri, Descriptor file, std::uint64_t size)
      : uri_(std::move(uri)), file_(std::move(file)), size_(size) {}

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return size_; }
  IoTraits traits() const noexcept override { return {}; }

  void read(std::uint64_t offset, MutableByteSpan into) const override {
    check_range(uri_, size_, offset, into.size());
    std::vector<iovec> vectors{{into.data(), into.size()}};
    read_all(file_.get(), uri_, size_, offset, vectors);
  }

  // Requests that lie back to back in the file become one system call each, whatever their order in the list.
  void read_vector(std::span<const ReadRequest> requests) const override {
    for (const ReadRequest& request : requests) check_range(uri_, size_, request.offset, request.into.size());
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
      read_all(file_.get(), uri_, size_, begin, vectors);
    }
  }

 private:
  std::string uri_;
  Descriptor file_;
  std::uint64_t size_;
};

class LocalWritableFile final : public WritableFile {
 public:
  LocalWritableFile(std::string uri, Descriptor file) : uri_(std::move(uri)), file_(std::move(file)) {}

  const std::string& uri() const noexcept override { return uri_; }

  std::uint64_t size() const override {
    struct stat status{};
    if (::fstat(number(), &status) != 0) fail(uri_, "examine", errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  void read(std::uint64_t offset, MutableByteSpan into) const override {
    const std::uint64_t now = size();
    check_range(uri_, now, offset, into.size());
    std::vector<iovec> vectors{{into.data(), into.size()}};
    read_all(number(), uri_, now, offset, vectors);
  }

  void write(std::uint64_t offset, ByteSpan bytes) override { write_vector(offset, {&bytes, 1}); }

  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override {
    std::vector<iovec> vectors;
    vectors.reserve(parts.size());
    for (ByteSpan part : parts)
      if (!part.empty()) vectors.push_back({const_cast<std::byte*>(part.data()), part.size()});
    std::size_t first = 0;
    while (first < vectors.size()) {
      const ssize_t done =
          ::pwritev(number(), vectors.data() + first, batch_of(vectors, first), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        fail(uri_, fmt::format("write {} bytes", vectors[first].iov_len), done < 0 ? errno : EIO, offset);
      offset += static_cast<std::uint64_t>(done);
      first = advance(vectors, first, static_cast<std::size_t>(done));
    }
  }

  void truncate(std::uint64_t size) override {
    while (::ftruncate(number(), static_cast<off_t>(size)) != 0)
      if (errno != EINTR) fail(uri_, fmt::format("truncate to {} bytes", size), errno);
  }

  void sync() override {
    while (::fdatasync(number()) != 0)
      if (errno != EINTR) fail(uri_, "flush to the device", errno);
  }

  // Never repeated after EINTR: the descriptor is gone by then and its number may be another thread's.
  void close() override {
    if (file_.get() < 0) return;
    if (::close(file_.release()) != 0 && errno != EINTR) fail(uri_, "close", errno);
  }

 private:
  int number() const {
    if (file_.get() < 0)
      throw Error(ErrorKind::usage, "the file is closed already", "use it before close()", {.uri = uri_});
    return file_.get();
  }

  std::string uri_;
  Descriptor file_;
};

void lock_exclusively(const Descriptor& file, const std::string& uri) {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK)
      throw Error(ErrorKind::io, "cannot open for writing: another writer has it open",
                  "close the other writer or write to another file", {.uri = uri});
    if (errno == ENOLCK || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL) return;
    fail(uri, "lock", errno);
  }
}

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text, const std::string& uri) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0 || (high == 0 && low == 0))
      throw Error(ErrorKind::usage, fmt::format("the URI has a broken percent sequence at character {}", i),
                  "write a plain path, or %25 for a percent sign", {.uri = uri});
    result.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return result;
}

}  // namespace

std::string local_path(const std::string& uri) {
  std::string_view rest = uri;
  const std::string_view scheme = "file:";
  const bool is_uri = rest.size() >= scheme.size() &&
                      std::equal(scheme.begin(), scheme.end(), rest.begin(), [](char a, char b) {
                        return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                      });
  if (!is_uri) {
    if (rest.find('\0') != std::string_view::npos)
      throw Error(ErrorKind::usage, "the path contains a zero byte", "check the path");
    return uri;
  }
  rest.remove_prefix(scheme.size());
  if (!rest.starts_with("//")) return std::string(rest);
  rest.remove_prefix(2);
  const std::size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (slash == std::string_view::npos || (!host.empty() && host != "localhost"))
    throw Error(ErrorKind::usage,
                fmt::format("the URI names the host \"{}\" but file: is for local files", host),
                "file:///absolute/path, with three slashes", {.uri = uri});
  return percent_decoded(rest.substr(slash), uri);
}

std::unique_ptr<RandomAccessFile> open_local_for_reading(const std::string& uri, const ReadFileOptions&) {
  struct stat status{};
  Descriptor file = open_regular(uri, O_RDONLY, status);
  return std::make_unique<LocalFile>(uri, std::move(file), static_cast<std::uint64_t>(status.st_size));
}

std::unique_ptr<WritableFile> open_local_for_writing(const std::string& uri, OpenMode mode,
                                                     const WriteFileOptions&) {
  struct stat status{};
  Descriptor file = open_regular(uri, O_RDWR | (mode == OpenMode::create ? O_CREAT : 0), status);
  lock_exclusively(file, uri);
  auto result = std::make_unique<LocalWritableFile>(uri, std::move(file));
  // Only what is there: truncating makes ext4 write the whole file out when it is closed.
  if (mode == OpenMode::create && result->size() > 0) result->truncate(0);
  return result;
}

}  // namespace colonnade::io
