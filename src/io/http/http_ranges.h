// Ranges of HTTP: what Content-Range says, and a file that is read by requests for ranges.
#ifndef COLONNADE_IO_HTTP_HTTP_RANGES_H
#define COLONNADE_IO_HTTP_HTTP_RANGES_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/http/http_engine.h"
#include "io/random_access_file.h"

namespace colonnade::io {

std::optional<std::uint64_t> whole_number(std::string_view text) noexcept;

// "bytes 5-9/100", "bytes 5-9/*", "bytes */100".
struct ContentRange {
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;
  std::optional<std::uint64_t> size;  // of the whole
};
std::optional<ContentRange> parse_content_range(std::string_view text) noexcept;

// "bytes=5-9"
std::string range_header(std::uint64_t offset, std::size_t count);
// What is wrong with an answer of success that is not 206; `what` has the range, such as "file".
std::string answered_without_range(int status, std::string_view what);

// The first and the last bytes of a file come with its opening, side by side: most of what says where data
// sets are lies there.
struct FileWindow {
  std::uint64_t offset = 0;
  Bytes bytes;
};
// Those of a file, until what says where its pages are has been read. Any thread may look at them.
class FileWindows {
 public:
  FileWindows(std::vector<FileWindow> windows, std::uint64_t file_size);
  // What a server says of the version, with the checksum of the first bytes: times are in whole seconds, and
  // entity tags may be made of them. Empty if the server says nothing.
  std::string version(std::string said) const;
  // Whether the bytes were there at the opening and are still kept.
  bool copy(std::uint64_t offset, MutableByteSpan into) const;
  // A file that is known as a whole needs no further request, and is not large: it is kept.
  void opened() noexcept;
  void drop() noexcept;

 private:
  using Windows = std::vector<FileWindow>;

  const std::uint64_t file_size_;
  std::string begin_sum_;  // empty: not known
  mutable std::mutex mutex_;
  std::shared_ptr<const Windows> windows_;
};

// A window that an answer brought, of which version of how large a file.
struct FoundWindow {
  FileWindow window;
  std::uint64_t size = 0;
  std::string etag;
};
// nullopt for an answer that is not a range, or is incomplete.
std::optional<FoundWindow> window_in(const HttpAnswer& answer);

inline constexpr std::size_t head_window = std::size_t{64} << 10;
inline constexpr std::size_t tail_window = std::size_t{64} << 10;

// What is asked for small things close together is read together, large things in pieces side by side.
class RangedFile : public RandomAccessFile {
 public:
  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void read_vector(std::span<const ReadRequest> requests) const override;
  std::unique_ptr<ReadQueue> open_queue(unsigned depth) const override;
  void opened() const noexcept override { windows_.opened(); }

  bool copy_from_windows(std::uint64_t offset, MutableByteSpan into) const {
    return windows_.copy(offset, into);
  }

 protected:
  RangedFile(std::string uri, std::uint64_t size, std::vector<FileWindow> windows);
  const FileWindows& windows() const noexcept { return windows_; }
  // Requests for ranges that are not empty and lie in the file.
  virtual std::unique_ptr<ReadQueue> open_requests(unsigned depth) const = 0;

 private:
  const std::string uri_;
  const std::uint64_t size_;
  mutable FileWindows windows_;
};

}  // namespace colonnade::io

#endif
