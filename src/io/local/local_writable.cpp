// Writing local files through pwritev. A writer takes an exclusive advisory lock (flock) before it changes
// anything, truncation included, so a second writer is refused and the first one's file stays whole. The lock
// goes with the descriptor: a crashed process leaves none. File systems that know no locks are written
// without.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/local/local_file.h"
#include "io/local/local_system.h"

namespace colonnade::io {
namespace {

class LocalWritableFile final : public WritableFile {
 public:
  LocalWritableFile(std::string uri, FileDescriptor file) : uri_(std::move(uri)), file_(std::move(file)) {}

  const std::string& uri() const noexcept override { return uri_; }

  std::uint64_t size() const override {
    struct stat status{};
    if (::fstat(number(), &status) != 0) fail_system(uri_, "examine", errno);
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
        fail_system(uri_, fmt::format("write {} bytes", vectors[first].iov_len), done < 0 ? errno : EIO,
                    offset);
      offset += static_cast<std::uint64_t>(done);
      first = advance(vectors, first, static_cast<std::size_t>(done));
    }
  }

  void truncate(std::uint64_t size) override {
    while (::ftruncate(number(), static_cast<off_t>(size)) != 0)
      if (errno != EINTR) fail_system(uri_, fmt::format("truncate to {} bytes", size), errno);
  }

  void sync() override {
    while (::fdatasync(number()) != 0)
      if (errno != EINTR) fail_system(uri_, "flush to the device", errno);
  }

  // Never repeated after EINTR: the descriptor is gone by then and its number may be another thread's.
  void close() override {
    if (file_.get() < 0) return;
    if (::close(file_.release()) != 0 && errno != EINTR) fail_system(uri_, "close", errno);
  }

 private:
  int number() const {
    if (file_.get() < 0)
      throw Error(ErrorKind::usage, "the file is closed already", "use it before close()", {.uri = uri_});
    return file_.get();
  }

  std::string uri_;
  FileDescriptor file_;
};

void lock_exclusively(const FileDescriptor& file, const std::string& uri) {
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK)
      throw Error(ErrorKind::io, "cannot open for writing: another writer has it open",
                  "close the other writer or write to another file", {.uri = uri});
    if (errno == ENOLCK || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL) return;
    fail_system(uri, "lock", errno);
  }
}

}  // namespace

std::unique_ptr<WritableFile> open_local_for_writing(const std::string& uri, OpenMode mode,
                                                     const WriteFileOptions&) {
  struct stat status{};
  FileDescriptor file = open_regular(uri, O_RDWR | (mode == OpenMode::create ? O_CREAT : 0), status);
  lock_exclusively(file, uri);
  auto result = std::make_unique<LocalWritableFile>(uri, std::move(file));
  // Only what is there: truncating makes ext4 write the whole file out when it is closed.
  if (mode == OpenMode::create && result->size() > 0) result->truncate(0);
  return result;
}

}  // namespace colonnade::io
