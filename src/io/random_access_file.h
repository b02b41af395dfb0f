// Transports: bytes by offset. A back end implements these two classes and declares its numbers in IoTraits;
// it knows nothing of pages. Reading is const and may be done by any number of threads at once; a
// WritableFile may be written by several threads at different offsets.
#ifndef COLONNADE_IO_RANDOM_ACCESS_FILE_H
#define COLONNADE_IO_RANDOM_ACCESS_FILE_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "colonnade/options.h"
#include "io/completion_queue.h"

namespace colonnade::io {

// What the scheduler needs to know of a back end.
struct IoTraits {
  std::size_t max_request = 64u << 20;  // bytes; larger reads are split
  std::size_t worthwhile_gap = 4096;    // bytes worth reading over to save a request
  unsigned concurrency = 1;             // requests in flight that pay
  // And that pay where the way is long. 0: it never is; nothing is adapted to it.
  unsigned most_concurrency = 0;
  // Bytes are mostly in memory already, so that reading is copying: best done by the thread that uses them,
  // after a will_need().
  bool reads_are_copies = false;
  std::size_t alignment = 1;  // of offsets, lengths and memory of the requests that are fastest; a power of 2
  // A power of 2; 1: none. What begins in the same unit of the file is best read together, and what begins in
  // different ones never is.
  std::uint64_t read_unit = 1;
};

struct ReadRequest {
  std::uint64_t offset = 0;
  MutableByteSpan into;
};

struct QueuedRead {
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  MutableByteSpan into;
};

// Asynchronous reads of one file. Belongs to one thread at a time; lives at most as long as its file. The
// destructor waits until nothing is written to the callers' memory any more.
class ReadQueue : public CompletionQueue {
 public:
  using CompletionQueue::CompletionQueue;
  // Starts to fill `into` (all of it, or it fails). `id` comes back with the completion. May block while as
  // many requests are in flight as the queue was opened for.
  virtual void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) = 0;
  // Several at once, in the order of need: what a back end can put into one operation, it may. The default
  // submits one after the other.
  virtual void submit_batch(std::span<const QueuedRead> reads);
  // Whether submit() returns when the bytes are there, so that nothing is gained by submitting early.
  virtual bool reads_in_submit() const noexcept { return false; }
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual const std::string& uri() const noexcept = 0;
  virtual std::uint64_t size()
      const = 0;  // at open, or at opened(); a file that shrinks later gives an error on read
  // What changes whenever the content does, as it was at open: an entity tag, the time of the last change.
  // Empty: unknown.
  virtual std::string version() const { return {}; }
  virtual IoTraits traits() const noexcept = 0;
  // How long the server took to answer when the file was opened. Zero: unknown.
  virtual std::chrono::steady_clock::duration round_trip() const noexcept { return {}; }
  // Fills `into` completely or throws ErrorKind::io / format (past the end) with URI and offset.
  virtual void read(std::uint64_t offset, MutableByteSpan into) const = 0;
  virtual void read_vector(std::span<const ReadRequest> requests) const;  // default: one read() each
  // A queue for `depth` requests in flight. The default reads in as many threads of its own, started as they
  // are needed.
  virtual std::unique_ptr<ReadQueue> open_queue(unsigned depth) const;
  // A hint that a stretch will be read soon; returns at once. Default: nothing.
  virtual void will_need(std::uint64_t /*offset*/, std::uint64_t /*size*/) const noexcept {}
  // Says that what tells where the pages are has been read. What was kept of the file for that may go, and a
  // file that grew meanwhile has its new size. Default: nothing.
  virtual void opened() const noexcept {}
  // What the system knows the open file by, for copies that it makes itself. -1: it is no file of the system.
  virtual int descriptor() const noexcept { return -1; }
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual const std::string& uri() const noexcept = 0;
  virtual std::uint64_t size() const = 0;
  virtual void read(std::uint64_t offset, MutableByteSpan into) const = 0;
  virtual void write(std::uint64_t offset, ByteSpan bytes) = 0;
  virtual void write_vector(std::uint64_t offset,
                            std::span<const ByteSpan> parts);  // contiguous; default: one write() each
  // Bytes of another file, which can_copy() must take, copied by the system. Where its file system can, the
  // two files share whole blocks then; so many bytes are returned. For that `offset` and `begin` must be
  // equal modulo sharing_unit.
  static constexpr std::uint64_t sharing_unit = 4096;
  virtual bool can_copy(const RandomAccessFile& /*from*/) const noexcept { return false; }
  virtual std::uint64_t copy(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin,
                             std::uint64_t size);
  virtual void truncate(std::uint64_t size) = 0;
  // A hint that bytes up to `size` will be written; size() does not change. Default: nothing.
  virtual void preallocate(std::uint64_t /*size*/) {}
  // Writes may return before their bytes are in the file. flush() waits until all earlier ones are there, so
  // that other processes and a crash of this one find them, and reports what failed; sync() flushes and waits
  // for the device, to have the name of the file as well if it is in its place.
  virtual void flush() {}
  virtual void sync() = 0;
  virtual void close() = 0;  // publishes it; reports every error, the destructor reports none
  // Whether nobody sees anything of the file before close(), and nothing at all if there is none.
  virtual bool appears_at_close() const noexcept { return false; }
  // A new file that is written aside takes its place, with everything written so far; true: now, false: it
  // has before. What it replaces stays until it is on the device. Default: it is in its place.
  virtual bool publish() { return false; }
  virtual bool is_published() const noexcept { return true; }
  // Whether publish() will replace a file.
  virtual bool replaces() const noexcept { return false; }
  // Ends the writing in place of close(): a file that is not in its place yet never is. Default: nothing.
  virtual void discard() noexcept {}
};

// A path, "file:///path" or "memory:name" (a named buffer of this process, for tests). Throws
// ErrorKind::not_found or io; a scheme that no back end serves is ErrorKind::unsupported, naming the schemes
// there are.
struct ReadFileOptions {
  LocalIo local_io = LocalIo::automatic;
  bool direct_io = false;
};
std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                   const ReadFileOptions& options = {});
// The URIs of all files that begin so, in order. Throws ErrorKind::unsupported for a transport that cannot
// list.
std::vector<std::string> list_files(const std::string& prefix);
// create begins a new file, which takes its place when it is published or closed; create_new the same where
// no file is, and update needs an existing one. All keep a second writer away. A file that comes to be in the
// place of a new one while that is written is never replaced: publish() and close() throw.
enum class OpenMode { create, create_new, update };
struct WriteFileOptions {
  bool direct_io = false;
};
std::unique_ptr<WritableFile> open_for_writing(const std::string& uri, OpenMode mode,
                                               const WriteFileOptions& options = {});

}  // namespace colonnade::io

#endif
