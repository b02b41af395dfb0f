// Reading local files with system calls, through the page cache or past it (direct I/O). The queues keep
// requests in flight, see LocalIo.
#ifndef COLONNADE_IO_LOCAL_LOCAL_READER_H
#define COLONNADE_IO_LOCAL_LOCAL_READER_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/local/file_mapping.h"
#include "io/local/local_system.h"
#include "io/local/read_calls.h"
#include "io/random_access_file.h"

namespace colonnade::io {

class LocalFile final : public RandomAccessFile {
 public:
  // `size`: at opening; see opened().
  LocalFile(std::string uri, FileDescriptor file, std::uint64_t size, const ReadFileOptions& options,
            ReadCalls calls);

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return size_; }
  std::string version() const override { return version_; }
  IoTraits traits() const noexcept override;
  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void read_vector(std::span<const ReadRequest> requests) const override;
  std::unique_ptr<ReadQueue> open_queue(unsigned depth) const override;
  void will_need(std::uint64_t offset, std::uint64_t size) const noexcept override;
  // Updates the size: data that a running writer has just committed may lie behind the size at opening.
  void opened() const noexcept override;

  const ReadCalls& calls() const noexcept { return calls_; }
  int descriptor() const noexcept override { return file_.get(); }
  // Whether requests must be aligned to alignment() in offset, length and memory. Once false it stays so.
  bool is_direct() const noexcept { return direct_.load(std::memory_order_relaxed); }
  std::size_t alignment() const noexcept { return alignment_; }

 private:
  LocalIo method() const noexcept;  // never `automatic`
  void start_direct();
  void stop_direct(int code) const;
  void read_buffered(std::uint64_t offset, MutableByteSpan into) const;
  void read_direct(std::uint64_t offset, MutableByteSpan into) const;
  bool read_aligned(std::uint64_t offset, MutableByteSpan into, std::size_t needed) const;

  std::string uri_;
  FileDescriptor file_;
  mutable std::atomic<std::uint64_t> size_;
  std::string version_;  // inode number (0: none that lasts), times of the last changes
  ReadCalls calls_;
  LocalIo method_;
  std::size_t alignment_ = 4096;
  mutable std::atomic<bool> direct_ = false;
  FileMapping mapping_;  // for LocalIo::mmap
};

}  // namespace colonnade::io

#endif
