// Transports: bytes by offset. A back end implements these two classes and declares its numbers in IoTraits;
// it knows nothing of pages. Reading is const, and any number of threads may read at once; several threads
// may write to a WritableFile at different offsets.
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

// The properties of a back end that the scheduler uses.
struct IoTraits {
  std::size_t max_request = 64u << 20;  // bytes; larger reads are split
  // Bytes that are best read at once where reading goes on. 0: as many as the reader asks for.
  std::size_t best_request = 0;
  std::size_t worthwhile_gap = 4096;  // bytes worth reading over to save a request
  unsigned concurrency = 1;           // requests in flight that pay
  // And that pay where the way is long. 0: it never is; nothing is adapted to it.
  unsigned most_concurrency = 0;
  // Bytes are mostly in memory already, so that reading is copying: best done by the thread that uses them,
  // after a will_need().
  bool reads_are_copies = false;
  std::size_t alignment = 1;  // of offsets, lengths and memory, for the fastest requests; a power of 2
  // A power of 2; 1: none. Ranges that begin in the same unit of the file should be read together, ranges
  // that begin in different ones only as a best_request, and without gaps.
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

// Asynchronous reads of one file. One thread at a time; the file must outlive the queue. The destructor waits
// until the callers' memory is no longer written to.
class ReadQueue : public CompletionQueue {
 public:
  using CompletionQueue::CompletionQueue;
  // Starts to fill all of `into`. The completion has this `id`. May block while as many requests are in
  // flight as the queue was opened for.
  virtual void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) = 0;
  // Submits several reads in the order of need; a back end may combine them into one operation. The default
  // submits one after the other.
  virtual void submit_batch(std::span<const QueuedRead> reads);
  // True if submit() returns when the bytes are there, so that submitting early gains nothing.
  virtual bool reads_in_submit() const noexcept { return false; }
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual const std::string& uri() const noexcept = 0;
  virtual std::uint64_t size()
      const = 0;  // at open, or at opened(); if the file shrinks later, reading fails
  // Changes whenever the content does: an entity tag, or the time of the last change, as of open. Empty:
  // unknown.
  virtual std::string version() const { return {}; }
  virtual IoTraits traits() const noexcept = 0;
  // How long the server took to answer when the file was opened. Zero: unknown.
  virtual std::chrono::steady_clock::duration round_trip() const noexcept { return {}; }
  // Fills `into` completely or throws ErrorKind::io / format (past the end) with URI and offset.
  virtual void read(std::uint64_t offset, MutableByteSpan into) const = 0;
  virtual void read_vector(std::span<const ReadRequest> requests) const;  // default: one read() each
  // A queue for `depth` requests in flight. The default reads in up to `depth` threads of its own, started on
  // demand.
  virtual std::unique_ptr<ReadQueue> open_queue(unsigned depth) const;
  // A hint that a range will be read soon; returns at once. Default: does nothing.
  virtual void will_need(std::uint64_t /*offset*/, std::uint64_t /*size*/) const noexcept {}
  // Announces that the metadata have been read. Cached bytes may be dropped, and a file that grew meanwhile
  // updates its size. Default: does nothing.
  virtual void opened() const noexcept {}
  // The file descriptor, for copies by the kernel; -1 if it is not a file of the operating system.
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
  // A hint that bytes up to `size` will be written; size() does not change. Default: does nothing.
  virtual void preallocate(std::uint64_t /*size*/) {}
  // Writes may return before their bytes are in the file. flush() waits until all earlier ones are there, so
  // that they survive a crash of this process and others see them, and reports failures; sync() flushes and
  // waits for the device, including the file's name if it has its final one.
  virtual void flush() {}
  virtual void sync() = 0;
  virtual void close() = 0;  // publishes it; reports every error (the destructor reports none)
  // True if the file is invisible before close(), and never appears without it.
  virtual bool appears_at_close() const noexcept { return false; }
  // Renames a temporary file to its final name, with everything written so far; false: it was before.
  // The replaced file stays until the new one is on the device. Default: the name is final from the
  // start.
  virtual bool publish() { return false; }
  virtual bool is_published() const noexcept { return true; }
  // True if others see what is written.
  bool is_visible() const noexcept { return is_published() && !appears_at_close(); }
  // True if publish() will replace a file.
  virtual bool replaces() const noexcept { return false; }
  // Ends the writing instead of close(): a file without its final name is removed. Default: does nothing.
  virtual void discard() noexcept {}
};

// A path, "file:///path" or "memory:name" (a named buffer of this process, for tests). Throws
// ErrorKind::not_found or io; for an unknown scheme ErrorKind::unsupported, which names the known
// ones.
struct ReadFileOptions {
  LocalIo local_io = LocalIo::automatic;
  bool direct_io = false;
};
std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri,
                                                   const ReadFileOptions& options = {});
// The URIs of all files with this prefix, sorted. Throws ErrorKind::unsupported for a transport that cannot
// list.
std::vector<std::string> list_files(const std::string& prefix);
// create begins a new file, which gets its final name when it is published or closed; create_new requires
// that none exists, and update that one does. All modes exclude other writers. A file that appears under the
// final name meanwhile is never replaced: publish() and close() throw.
enum class OpenMode { create, create_new, update };
struct WriteFileOptions {
  bool direct_io = false;
};
std::unique_ptr<WritableFile> open_for_writing(const std::string& uri, OpenMode mode,
                                               const WriteFileOptions& options = {});
// Throws if a writer has the file open, where the transport can tell. Does not need to write.
void refuse_if_locked(const std::string& uri);

}  // namespace colonnade::io

#endif
