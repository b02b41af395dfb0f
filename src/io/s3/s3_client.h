// A bucket of S3: the requests, signed, repeated when that may help, with errors that say what is wrong.
//
// Each operation has an asynchronous form (S3Queue, below) and one that waits. An attempt that fails for a
// reason that may pass (no connection, a dropped one, a timeout, status 429, 500, 502, 503, 504, SlowDown)
// is repeated after a random wait that doubles at most (or after Retry-After), until the timeout.
//
// Errors: ErrorKind::not_found for a bucket or key that is not there; ErrorKind::format for an object that
// ends before the range; ErrorKind::io for all else. They name bucket and key, status, code, request id,
// never what was signed or with what.
#ifndef COLONNADE_IO_S3_S3_CLIENT_H
#define COLONNADE_IO_S3_S3_CLIENT_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "io/completion_queue.h"
#include "io/http/http_ranges.h"

namespace colonnade::io {

struct S3Location {
  std::string bucket;
  std::string key;  // without a leading slash; may be empty
};
// "s3://bucket/key". Throws ErrorKind::usage for what is not.
S3Location parse_s3_uri(const std::string& uri);

struct S3Object {
  std::string key;
  std::uint64_t size = 0;
  std::string etag;  // with its quotes, as it is sent back
};

struct S3Opening {
  S3Object object;
  std::vector<FileWindow> windows;  // its first and last bytes, as far as the server gave them
  std::chrono::milliseconds round_trip{0};
};

struct S3Listing {
  std::vector<S3Object> objects;      // in order of their keys
  std::vector<std::string> prefixes;  // with a delimiter: the "folders", which end with it
};

// What must be so for a PUT to be done.
struct S3Condition {
  enum class Kind { none, absent, etag };
  Kind kind = Kind::none;
  std::string etag = {};
};

struct S3Part {
  unsigned number = 0;  // from 1
  std::string etag;
  std::uint64_t size = 0;  // bytes
};

// In the problem of an error: it stays so, whatever is tried.
inline constexpr const char* upload_is_gone = "the multipart upload no longer exists";

class S3Client {
 public:
  // For the bucket that `uri` names, with what s3_credentials.h finds. Makes no request.
  static std::shared_ptr<const S3Client> open(const std::string& uri);
  virtual ~S3Client() = default;

  virtual const std::string& bucket() const noexcept = 0;

  // Throws ErrorKind::not_found, and so on, if the bucket cannot be used.
  virtual void check_bucket() const = 0;
  virtual std::optional<S3Object> head(const std::string& key) const = 0;  // nullopt: no such key
  // What is there with its first and last bytes, in one round trip; nullopt: no such key.
  virtual std::optional<S3Opening> open_object(const std::string& key) const = 0;
  // Fills `into` from byte `offset` on. With `etag`: fails if the object has another one by now.
  virtual void get_range(const std::string& key, std::uint64_t offset, MutableByteSpan into,
                         const std::string& etag = {}) const = 0;
  struct Small {
    Bytes value;
    std::string etag;
  };
  // The whole object, which must not have more than `max_size` bytes (ErrorKind::resource); nullopt: no such
  // key.
  virtual std::optional<Small> get_small(const std::string& key, std::size_t max_size) const = 0;

  // The parts, end to end, become the object; gives its etag, or nullopt if `condition` was not met.
  virtual std::optional<std::string> put(const std::string& key, std::span<const ByteSpan> parts,
                                         const S3Condition& condition = {}) const = 0;

  // All parts but the last have at least 5 MiB, at most 5 GiB, all of them at most 10 000.
  virtual std::string create_upload(const std::string& key) const = 0;  // its id
  virtual S3Part upload_part(const std::string& key, const std::string& upload, unsigned number,
                             std::span<const ByteSpan> parts) const = 0;
  // Parts in order of their numbers. Gives the etag, or nullopt if `condition` was not met.
  virtual std::optional<std::string> complete_upload(const std::string& key, const std::string& upload,
                                                     std::span<const S3Part> parts,
                                                     const S3Condition& condition = {}) const = 0;
  virtual void abort_upload(const std::string& key, const std::string& upload) const = 0;
  // Uploads that were not completed: (key, id) of those whose keys begin with `prefix`.
  virtual std::vector<std::pair<std::string, std::string>> list_uploads(const std::string& prefix) const = 0;

  // All keys that begin with `prefix` and come after `after`, page by page; `take` ends the listing by
  // returning false.
  virtual void list(const std::string& prefix, const std::string& delimiter, const std::string& after,
                    const std::function<bool(S3Listing&&)>& take) const = 0;

  // Removing what is not there is no error.
  virtual void remove(const std::string& key) const = 0;
  virtual void remove_all(std::span<const std::string> keys) const = 0;
};

// The server's own id of an upload: create_upload() puts a random number before it.
std::string upload_id_of_server(const std::string& upload);

// Operations in flight, of one thread at a time. The memory of ranges and parts must stay until the
// completion is taken or the queue is gone; the destructor cancels.
class S3Queue : public CompletionQueue {
 public:
  using CompletionQueue::CompletionQueue;
  static std::unique_ptr<S3Queue> open(std::shared_ptr<const S3Client> client, unsigned depth);

  // Each may block while `depth` are in flight.
  virtual void get_range(std::uint64_t id, const std::string& key, std::uint64_t offset, MutableByteSpan into,
                         const std::string& etag = {}) = 0;
  virtual void put(std::uint64_t id, const std::string& key, std::span<const ByteSpan> parts) = 0;
  // The part of that number; its etag is there with the completion.
  virtual void upload_part(std::uint64_t id, const std::string& key, const std::string& upload, S3Part& part,
                           std::span<const ByteSpan> parts) = 0;
};

}  // namespace colonnade::io

#endif
