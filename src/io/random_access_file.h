// Transports: bytes by offset. A back end implements these two classes and declares its numbers in IoTraits;
// it knows nothing of pages. Reading is const and may be done by any number of threads at once; a
// WritableFile may be written by several threads at different offsets.
#ifndef COLONNADE_IO_RANDOM_ACCESS_FILE_H
#define COLONNADE_IO_RANDOM_ACCESS_FILE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"

namespace colonnade::io {

// What the scheduler needs to know of a back end.
struct IoTraits {
  std::size_t max_request = 64u << 20;  // bytes; larger reads are split
  std::size_t worthwhile_gap = 4096;    // bytes worth reading over to save a request
  unsigned concurrency = 1;             // requests in flight that pay
};

struct ReadRequest {
  std::uint64_t offset = 0;
  MutableByteSpan into;
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual const std::string& uri() const noexcept = 0;
  virtual std::uint64_t size() const = 0;  // at open; a file that shrinks later gives an error on read
  virtual IoTraits traits() const noexcept = 0;
  // Fills `into` completely or throws ErrorKind::io / format (past the end) with URI and offset.
  virtual void read(std::uint64_t offset, MutableByteSpan into) const = 0;
  virtual void read_vector(std::span<const ReadRequest> requests) const;  // default: one read() each
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
  virtual void truncate(std::uint64_t size) = 0;
  virtual void sync() = 0;
  virtual void close() = 0;  // reports every error; the destructor reports none
};

// A path, "file:///path" or "memory:name" (a named buffer of this process, for tests). Throws
// ErrorKind::not_found or io; a scheme that no back end serves is ErrorKind::unsupported, naming the schemes
// there are.
std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri);
enum class OpenMode {
  create,
  update
};  // create truncates; update needs an existing file and locks it against a second writer
std::unique_ptr<WritableFile> open_for_writing(const std::string& uri, OpenMode mode);

}  // namespace colonnade::io

#endif
