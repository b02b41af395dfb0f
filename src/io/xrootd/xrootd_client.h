// Files and names on an XRootD server, through XrdCl: what the library's functions need to be called safely.
#ifndef COLONNADE_IO_XROOTD_XROOTD_CLIENT_H
#define COLONNADE_IO_XROOTD_XROOTD_CLIENT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/process.h"
#include "colonnade/error.h"
#include "io/http/http_ranges.h"
#include "io/xrootd/xrootd_library.h"
#include "io/xrootd/xrootd_place.h"

namespace colonnade::io {

// Of the server, which says (kXR_...).
struct XrdAnswerCode {
  static constexpr std::uint16_t of_server = 400;  // XrdStatus::code, where `number` is one of these
  static constexpr std::uint32_t locked = 3003, not_open = 3004, denied = 3010, missing = 3011,
                                 is_folder = 3016, exists = 3018;
};
bool is_answer(const XrdStatus& status, std::uint32_t number) noexcept;

// Whether the connection or the server failed, so that the same may work a moment later.
bool is_transient(const XrdStatus& status) noexcept;

// "cannot read 5 bytes: ..."; `action` is "read 5 bytes".
Error xrootd_error(const XrdStatus& status, std::string_view action, const std::string& uri);

// Throws ErrorKind::io where no machine has the name of the server, which the library tries again for long.
void require_host(const XrootdPlace& place);

struct XrootdInfo {
  std::uint64_t size = 0;
  std::uint64_t time = 0;  // of the last change, in seconds
  bool is_folder = false;
  int mode = 0;  // permissions; 0: the server does not say

  bool is_same_state(const XrootdInfo& other) const noexcept {
    return size == other.size && time == other.time;
  }
};
// Of a mode as servers say it, "0644"; 0: it is none.
int permissions_in(std::string_view text) noexcept;

// An open file. Any thread may call anything but the opening. Memory that is read into or written from must
// stay until `done` was called, which is in a thread of the library, exactly once. In a forked child nothing
// works, and the destructor does nothing.
class XrootdHandle {
 public:
  using Done = std::function<void(const XrdStatus& status, std::uint32_t bytes)>;
  using DoneInfo = std::function<void(const XrdStatus& status, const XrootdInfo& info)>;

  XrootdHandle();
  XrootdHandle(const XrootdHandle&) = delete;
  XrootdHandle& operator=(const XrootdHandle&) = delete;
  ~XrootdHandle();

  // "host:port" of where an open file is: a cluster sends clients on to one of its servers. Empty: unknown.
  std::string data_server();
  // A connection that is lost is made again by the library, with whatever file then has the name.
  XrdStatus open(const std::string& url, int flags, int mode);
  XrdStatus info(bool ask_server, XrootdInfo& info);
  XrdStatus read(std::uint64_t offset, MutableByteSpan into, std::uint32_t& got);
  XrdStatus truncate(std::uint64_t size);
  XrdStatus sync();
  XrdStatus close();

  void info_later(DoneInfo done);
  void read_later(std::uint64_t offset, MutableByteSpan into, Done done);
  // At most most_ranges of at most most_range bytes; all or nothing. The bytes are not counted.
  void read_ranges_later(std::span<const XrdRange> ranges, Done done);
  void write_later(std::uint64_t offset, ByteSpan bytes, Done done);

  // For a file that is only read: a lost connection stays lost. If the wait is interrupted, the
  // library goes on with the request, and the file is closed when it is open.
  static XrdStatus open_to_read(const std::shared_ptr<XrootdHandle>& handle, const std::string& url,
                                int flags);
  // Fills one window and says how many bytes came, or fills several with one request. If the wait is
  // interrupted, the windows are left to the library.
  static XrdStatus read_windows(const std::shared_ptr<XrootdHandle>& handle, std::vector<FileWindow>& windows,
                                std::uint32_t& got);

  static constexpr std::size_t most_ranges = 1024;
  static constexpr std::size_t most_range = 2'097'136;  // bytes: 2 MiB without a header

  // Closes it without waiting, once it is no longer used.
  static void retire(std::shared_ptr<XrootdHandle> handle);

 private:
  void* self() noexcept { return memory_.get(); }
  void open_later(const std::string& url, int flags, int mode, Done done);

  const XrdApi* api_;
  long timeout_;
  std::unique_ptr<std::byte[]> memory_;
  const Process process_;
};

struct XrootdName {
  std::string name;
  bool is_folder = false;
};

// The names on a server.
class XrootdServer {
 public:
  explicit XrootdServer(const XrootdPlace& place);
  XrootdServer(const XrootdServer&) = delete;
  XrootdServer& operator=(const XrootdServer&) = delete;
  ~XrootdServer();

  XrdStatus info(const std::string& path, XrootdInfo& info);
  XrdStatus move(const std::string& from, const std::string& to);
  XrdStatus remove(const std::string& path, long most_seconds = std::numeric_limits<long>::max());
  XrdStatus list(const std::string& path, std::vector<XrootdName>& names);

 private:
  const XrdApi* api_;
  long timeout_;
  std::unique_ptr<std::byte[]> url_;
  std::unique_ptr<std::byte[]> system_;
};

}  // namespace colonnade::io

#endif
