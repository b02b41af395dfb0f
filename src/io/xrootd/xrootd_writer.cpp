// Writing an open file on an XRootD server. What is written is copied and sent in the background, several
// pieces at once; what overlaps a piece that is under way waits for it, since a server may write them in any
// order. Lost connections are the library's to make again: no other file has the name of the one aside.
#include "io/xrootd/xrootd_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/process.h"
#include "io/local/local_system.h"

namespace colonnade::io {
namespace {

constexpr std::size_t piece_size = std::size_t{4} << 20;
constexpr std::size_t most_under_way = std::size_t{64} << 20;  // under way

struct WriteFailure {
  XrdStatus status;
  std::uint64_t offset;
  std::size_t size;
};

// What is under way; the answers know it longer than the file does.
struct Sending {
  struct PendingWrite {
    std::uint64_t offset;
    Bytes bytes;
    bool overlaps(std::uint64_t from, std::uint64_t to) const noexcept {
      return from < offset + bytes.size() && offset < to;
    }
  };
  std::mutex mutex;
  std::condition_variable arrives;
  std::list<PendingWrite> pieces;
  std::size_t bytes = 0;
  std::optional<WriteFailure> failure;  // the first one; nothing is written after it
  std::uint64_t lost_from = 0;          // the lowest offset of those that failed

  void note(const XrdStatus& status, const PendingWrite& piece) {
    lost_from = failure ? std::min(lost_from, piece.offset) : piece.offset;
    if (!failure) failure = WriteFailure{status, piece.offset, piece.bytes.size()};
  }
  bool is_free(std::uint64_t from, std::uint64_t to) const {
    if (pieces.empty()) return true;
    return bytes + (to - from) <= most_under_way &&
           std::none_of(pieces.begin(), pieces.end(),
                        [&](const PendingWrite& piece) { return piece.overlaps(from, to); });
  }
};

class XrootdWriter final : public WritableFile {
 public:
  XrootdWriter(std::string uri, std::shared_ptr<XrootdHandle> handle, std::uint64_t size,
               std::shared_ptr<void> kept)
      : uri_(std::move(uri)), handle_(std::move(handle)), size_(size), kept_(std::move(kept)) {}
  XrootdWriter(const XrootdWriter&) = delete;
  XrootdWriter& operator=(const XrootdWriter&) = delete;
  ~XrootdWriter() override {
    if (!process_.is_current() || handle_ == nullptr) return;
    wait_for_all();
    if (sending_->failure && is_transient(sending_->failure->status))
      XrootdHandle::retire(std::move(handle_));  // who has waited for the timeout does not wait once more
    else
      handle_->close();  // at once: the next writer may come
  }

  const std::string& uri() const noexcept override { return uri_; }

  std::uint64_t size() const override {
    static_cast<void>(open());
    const std::lock_guard lock(sending_->mutex);
    return size_;
  }

  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void write(std::uint64_t offset, ByteSpan bytes) override { write_vector(offset, {&bytes, 1}); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override;

  // Also after a failed write: if it was behind the new end, nothing is missing any more. A server that did
  // not answer is not asked again.
  void truncate(std::uint64_t size) override {
    static_cast<void>(open());
    wait_for_all();
    {
      const std::lock_guard lock(sending_->mutex);
      if (sending_->failure && is_transient(sending_->failure->status)) throw_failure();
    }
    if (const XrdStatus status = open().truncate(size); !status.ok())
      throw failed(status, fmt::format("set the size to {} bytes", size));
    const std::lock_guard lock(sending_->mutex);
    if (sending_->lost_from >= size) sending_->failure.reset();
    size_ = size;
  }

  void flush() override { flush_all(); }

  void sync() override {
    flush_all();
    if (const XrdStatus status = open().sync(); !status.ok())
      throw failed(status, "flush to the server's device");
  }

  void close() override {
    if (handle_ == nullptr) return;
    flush_all();
    const XrdStatus status = open().close();
    handle_.reset();
    kept_.reset();
    if (!status.ok()) throw failed(status, "close");
  }

 private:
  XrootdHandle& open() const {
    if (!process_.is_current())
      throw Error(ErrorKind::usage, "the file was opened for writing before a fork, by another process",
                  "write it where it was opened, or open another file after the fork", {.uri = uri_});
    if (handle_ == nullptr)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri_});
    return *handle_;
  }

  void wait_for_all() const {
    std::unique_lock lock(sending_->mutex);
    sending_->arrives.wait(lock, [this] { return sending_->pieces.empty(); });
  }

  void flush_all() const {
    static_cast<void>(open());
    wait_for_all();
    const std::lock_guard lock(sending_->mutex);
    throw_failure();
  }

  void throw_failure() const {
    if (!sending_->failure) return;
    const WriteFailure& failure = *sending_->failure;
    throw failed(failure.status, fmt::format("write {} bytes", failure.size))
        .with({.offset = failure.offset});
  }

  // After a lost connection, the library opens the file again by the name that it had aside.
  Error failed(const XrdStatus& status, const std::string& action) const {
    Error error = xrootd_error(status, action, uri_);
    if (error.kind() != ErrorKind::not_found) return error;
    return {ErrorKind::io,
            error.problem() +
                "; the connection was lost, and the file has no longer the name that it was opened by",
            "open the file again", error.context()};
  }

  void send(std::uint64_t offset, Bytes bytes);

  std::string uri_;
  std::shared_ptr<XrootdHandle> handle_;
  std::uint64_t size_;
  std::shared_ptr<void> kept_;
  std::shared_ptr<Sending> sending_ = std::make_shared<Sending>();
  const Process process_;
};

void XrootdWriter::write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) {
  static_cast<void>(open());
  Bytes piece;
  for (ByteSpan part : parts) {
    while (!part.empty()) {
      const std::size_t count = std::min(part.size(), piece_size - piece.size());
      piece.insert(piece.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
      part = part.subspan(count);
      if (piece.size() < piece_size) continue;
      send(offset, std::exchange(piece, {}));
      offset += piece_size;
    }
  }
  if (!piece.empty()) send(offset, std::move(piece));
}

void XrootdWriter::send(std::uint64_t offset, Bytes bytes) {
  const std::uint64_t end = offset + bytes.size();
  std::list<Sending::PendingWrite>::iterator piece;
  {
    std::unique_lock lock(sending_->mutex);
    sending_->arrives.wait(lock, [&] { return sending_->failure || sending_->is_free(offset, end); });
    throw_failure();
    sending_->bytes += bytes.size();
    piece = sending_->pieces.insert(sending_->pieces.end(), {offset, std::move(bytes)});
    size_ = std::max(size_, end);
  }
  const auto forget = [sending = sending_, piece] {
    sending->bytes -= piece->bytes.size();
    sending->pieces.erase(piece);
    sending->arrives.notify_all();
  };
  try {
    handle_->write_later(offset, piece->bytes,
                         [sending = sending_, piece, forget](const XrdStatus& status, std::uint32_t) {
                           const std::lock_guard lock(sending->mutex);
                           if (!status.ok()) sending->note(status, *piece);
                           forget();
                         });
  } catch (...) {  // it was not begun, so no answer will come
    const std::lock_guard lock(sending_->mutex);
    forget();
    throw;
  }
}

void XrootdWriter::read(std::uint64_t offset, MutableByteSpan into) const {
  flush_all();
  check_range(uri_, size(), offset, into.size());
  while (!into.empty()) {
    const MutableByteSpan part = into.first(std::min(into.size(), piece_size));
    std::uint32_t got = 0;
    const XrdStatus status = open().read(offset, part, got);
    if (!status.ok())
      throw failed(status, fmt::format("read {} bytes", part.size())).with({.offset = offset});
    if (got == 0) fail_truncated(uri_, offset, size());
    offset += got;
    into = into.subspan(got);
  }
}

}  // namespace

std::unique_ptr<WritableFile> make_xrootd_writer(const std::string& uri, std::shared_ptr<XrootdHandle> handle,
                                                 std::uint64_t size, std::shared_ptr<void> kept) {
  return std::make_unique<XrootdWriter>(uri, std::move(handle), size, std::move(kept));
}

}  // namespace colonnade::io
