// XrdCl, the client library of XRootD, found when the first root: URI is used: nothing else needs it. It has
// a C++ interface, whose classes are described here as far as they are used, so that no headers are needed
// and one program works with XRootD 5 (libXrdCl.so.3: Debian, conda-forge, ROOT) and 6 (libXrdCl.so.6: the
// package "xrootd" of PyPI). Why not its POSIX layer: docs/decisions/0042-xrdcl-without-headers.md.
#ifndef COLONNADE_IO_XROOTD_XROOTD_LIBRARY_H
#define COLONNADE_IO_XROOTD_XROOTD_LIBRARY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace colonnade::io {

// XrdCl::XRootDStatus. Answers that are errors of the server have code 400 and the server's number (kXR_...).
struct XrdStatus {
  std::uint16_t status = 0;
  std::uint16_t code = 0;
  std::uint32_t number = 0;
  std::string message;
  bool ok() const noexcept { return status == 0; }
};

// XrdCl::AnyObject: the content of an answer.
class XrdAnswer {
 public:
  XrdAnswer(const XrdAnswer&) = delete;
  XrdAnswer& operator=(const XrdAnswer&) = delete;
  ~XrdAnswer();
  void* content() const;

 private:
  class Holder;
  Holder* holder_;
  [[maybe_unused]] const std::type_info* type_;
  bool owns_;
};

// XrdCl::ResponseHandler: a thread of the library delivers the answer, and the receiver deletes it.
class XrdHandler {
 public:
  XrdHandler() = default;
  XrdHandler(const XrdHandler&) = delete;
  XrdHandler& operator=(const XrdHandler&) = delete;
  virtual ~XrdHandler();
  virtual void answer_with_hosts(XrdStatus* status, XrdAnswer* answer, void* hosts);
  virtual void answer(XrdStatus* status, XrdAnswer* answer) = 0;
};

struct XrdRange {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  void* into = nullptr;
};

// XrdCl::DirectoryList is an opaque object with a vector of these, as far as they are read.
struct XrdListEntry {
  std::string host;
  std::string name;
  void* info;
};
struct XrdOpen {
  enum Flags : int {
    force = 0x4,
    make_new = 0x8,
    read = 0x10,
    update = 0x20,
    make_path = 0x100,
  };
};
struct XrdListing {
  enum Flags : int {
    kinds = 1,           // with what is known of each
    everywhere = 2 | 8,  // ask all servers of a cluster, without repetitions
  };
};

// A ForkPause (base/fork_pause.h) of its own: a fork waits for it before the library's handlers stop its
// threads. For calls that take locks which the library does not release in a forked child: those that look
// for plug-ins or send requests. Its own threads never wait here, since fork() waits for them.
class XrdForkPause {
 public:
  XrdForkPause();
  XrdForkPause(const XrdForkPause&) = delete;
  XrdForkPause& operator=(const XrdForkPause&) = delete;
  ~XrdForkPause();

 private:
  bool holds_;
};

// In a thread of the library, while it delivers an answer.
class XrdAnswering {
 public:
  XrdAnswering() noexcept;
  XrdAnswering(const XrdAnswering&) = delete;
  XrdAnswering& operator=(const XrdAnswering&) = delete;
  ~XrdAnswering();
};

// What the member functions of XrdCl::File, FileSystem, StatInfo and URL are called with: first the object.
// Objects are made in memory of at least object_size bytes. Timeouts are in seconds.
struct XrdApi {
  static constexpr std::size_t object_size = 4096;  // URL, the largest, has less than 1000 bytes

  void (*make_file)(void* file, bool plug_ins);
  void (*destroy_file)(void* file);
  bool (*set_property)(void* file, const std::string& name, const std::string& value);
  bool (*get_property)(const void* file, const std::string& name, std::string& value);
  XrdStatus (*open_later)(void* file, const std::string& url, int flags, int mode, XrdHandler*, long timeout);
  XrdStatus (*stat)(void* file, bool force, void*& info, long timeout);
  XrdStatus (*stat_later)(void* file, bool force, XrdHandler*, long timeout);
  XrdStatus (*read)(void* file, std::uint64_t offset, std::uint32_t size, void* into, std::uint32_t& got,
                    long timeout);
  XrdStatus (*read_later)(void* file, std::uint64_t offset, std::uint32_t size, void* into, XrdHandler*,
                          long timeout);
  XrdStatus (*read_vector_later)(void* file, const void* chunks, void* into, XrdHandler*, long timeout);
  XrdStatus (*write_later)(void* file, std::uint64_t offset, std::uint32_t size, const void* from,
                           XrdHandler*, long timeout);
  XrdStatus (*truncate)(void* file, std::uint64_t size, long timeout);
  XrdStatus (*sync)(void* file, long timeout);
  XrdStatus (*close)(void* file, long timeout);
  XrdStatus (*close_later)(void* file, XrdHandler*, long timeout);

  void (*make_url)(void* url, const std::string& text);
  void (*destroy_url)(void* url);
  void (*make_system)(void* system, const void* url, bool plug_ins);
  void (*destroy_system)(void* system);
  XrdStatus (*system_stat)(void* system, const std::string& path, void*& info, long timeout);
  XrdStatus (*move)(void* system, const std::string& from, const std::string& to, long timeout);
  XrdStatus (*remove)(void* system, const std::string& path, long timeout);
  XrdStatus (*list)(void* system, const std::string& path, int flags, void*& list, long timeout);
  void (*destroy_list)(void* list);

  void (*destroy_info)(void* info);
  std::uint64_t (*info_size)(const void* info);
  std::uint64_t (*info_time)(const void* info);
  std::uint32_t (*info_flags)(const void* info);
  bool (*info_is_extended)(const void* info);
  const std::string& (*info_mode)(const void* info);

  void* (*environment)();
  bool (*get_integer)(void* environment, const std::string& name, int& value);
  bool (*put_integer)(void* environment, const std::string& name, int value);
  std::string (*status_text)(const void* status);
  void (*drop_hosts)(XrdHandler*, XrdStatus*, XrdAnswer*, void* hosts);

  // Of XrdCl::ChunkInfo and DirectoryList, which have virtual functions since version 6; null before.
  const void* chunk_functions;
  const void* list_functions;

  // Fills as one request.
  XrdStatus read_ranges_later(void* file, std::span<const XrdRange> ranges, XrdHandler* handler,
                              long timeout) const;
  // How many bytes the answer to read_later() says.
  std::uint32_t bytes_of(const XrdAnswer* answer) const;
  const std::vector<XrdListEntry*>& entries_of(const void* listing) const;
};

// Loads the first of `libraries` that there is. Throws ErrorKind::unsupported saying which packages there
// are.
XrdApi load_xrootd(std::span<const std::string> libraries);

// The library of this process: that of COLONNADE_XRDCL, or else one that is loaded already, one in a folder
// that was added, or the system's.
const XrdApi& xrd_api();
void add_xrootd_folder(std::string_view folder);

// Seconds that an operation may take: COLONNADE_XROOTD_TIMEOUT, XRD_REQUESTTIMEOUT, or 60. Throws
// ErrorKind::usage for what the first cannot be.
long xrootd_timeout();

}  // namespace colonnade::io

#endif
