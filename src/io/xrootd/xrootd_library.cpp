// See xrootd_library.h. Functions are found by their names as GCC and Clang form them, in which the
// type of timeouts tells the versions apart.
#include "io/xrootd/xrootd_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>

#include "base/writer_preferring_mutex.h"
#include "colonnade/error.h"

namespace colonnade::io {

// As the library's own: two functions for destruction come first.
class XrdAnswer::Holder {
 public:
  virtual ~Holder() = default;
  virtual void destroy_content() = 0;
  virtual void* content() = 0;
};

// To UBSan the library's class is another one.
__attribute__((no_sanitize("undefined"))) XrdAnswer::~XrdAnswer() {
  if (holder_ == nullptr) return;
  if (owns_) holder_->destroy_content();
  delete holder_;
}

__attribute__((no_sanitize("undefined"))) void* XrdAnswer::content() const {
  return holder_ != nullptr ? holder_->content() : nullptr;
}

XrdHandler::~XrdHandler() = default;

void XrdHandler::answer_with_hosts(XrdStatus* status, XrdAnswer* content, void* hosts) {
  xrd_api().drop_hosts(this, status, content, hosts);  // goes on with answer()
}

namespace {

// XrdCl::ChunkInfo of both versions.
struct Chunk5 {
  std::uint64_t offset;
  std::uint32_t size;
  void* into;
};
struct Chunk6 {
  const void* functions;
  Chunk5 chunk;
};

#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define LATER "PNS_15ResponseHandlerE"

[[noreturn]] void fail_to_load_xrootd(const std::string& reason) {
  throw Error(
      ErrorKind::unsupported, fmt::format("XrdCl, the client library of XRootD, cannot be used: {}", reason),
      "install it: the package libxrdcl3 of Debian and Ubuntu (xrootd-client-libs of Fedora, xrootd of "
      "conda-forge), or the Python package: pip install xrootd; COLONNADE_XRDCL names a libXrdCl.so "
      "that is elsewhere");
}

class SymbolFinder {
 public:
  explicit SymbolFinder(void* library) : library_(library) {
    for (const char type : {'t', 'l'})
      if (symbol(std::string("_ZN5XrdCl4File4SyncE") + type) != nullptr) timeout_ = type;
    if (timeout_ == 0) fail_to_load_xrootd("it is neither of version 5 nor of version 6");
  }

  void* symbol(const std::string& name) const { return ::dlsym(library_, name.c_str()); }

  template <class Function>
  void find(const char* name, Function& function) const {
    void* found = symbol(name);
    if (found == nullptr) fail_to_load_xrootd(fmt::format("it has no {}", name));
    function = reinterpret_cast<Function>(found);
  }
  // Of one whose last parameter is a timeout.
  template <class Function>
  void find_timed(const char* name, Function& function) const {
    find((std::string(name) + timeout_).c_str(), function);
  }

 private:
  void* library_;
  char timeout_ = 0;
};

void find_file(const SymbolFinder& in, XrdApi& api) {
  in.find("_ZN5XrdCl4FileC1Eb", api.make_file);
  in.find("_ZN5XrdCl4FileD1Ev", api.destroy_file);
  in.find("_ZN5XrdCl4File11SetPropertyERK" STRING "S8_", api.set_property);
  in.find("_ZNK5XrdCl4File11GetPropertyERK" STRING "RS6_", api.get_property);
  in.find_timed("_ZN5XrdCl4File4OpenERK" STRING "NS_9OpenFlags5FlagsENS_6Access4ModeE" LATER, api.open_later);
  in.find_timed("_ZN5XrdCl4File4StatEbRPNS_8StatInfoE", api.stat);
  in.find_timed("_ZN5XrdCl4File4StatEb" LATER, api.stat_later);
  in.find_timed("_ZN5XrdCl4File4ReadEmjPvRj", api.read);
  in.find_timed("_ZN5XrdCl4File4ReadEmjPv" LATER, api.read_later);
  in.find_timed("_ZN5XrdCl4File10VectorReadERKSt6vectorINS_9ChunkInfoESaIS2_EEPv" LATER,
                api.read_vector_later);
  in.find_timed("_ZN5XrdCl4File5WriteEmjPKv" LATER, api.write_later);
  in.find_timed("_ZN5XrdCl4File8TruncateEm", api.truncate);
  in.find_timed("_ZN5XrdCl4File4SyncE", api.sync);
  in.find_timed("_ZN5XrdCl4File5CloseE", api.close);
  in.find_timed("_ZN5XrdCl4File5CloseE" LATER, api.close_later);
  api.chunk_functions = in.symbol("_ZTVN5XrdCl9ChunkInfoE");
}

void find_system(const SymbolFinder& in, XrdApi& api) {
  in.find("_ZN5XrdCl3URLC1ERK" STRING, api.make_url);
  in.find("_ZN5XrdCl3URLD1Ev", api.destroy_url);
  in.find("_ZN5XrdCl10FileSystemC1ERKNS_3URLEb", api.make_system);
  in.find("_ZN5XrdCl10FileSystemD1Ev", api.destroy_system);
  in.find_timed("_ZN5XrdCl10FileSystem4StatERK" STRING "RPNS_8StatInfoE", api.system_stat);
  in.find_timed("_ZN5XrdCl10FileSystem2MvERK" STRING "S8_", api.move);
  in.find_timed("_ZN5XrdCl10FileSystem2RmERK" STRING, api.remove);
  in.find_timed("_ZN5XrdCl10FileSystem7DirListERK" STRING "NS_12DirListFlags5FlagsERPNS_13DirectoryListE",
                api.list);
  in.find("_ZN5XrdCl13DirectoryListD1Ev", api.destroy_list);
  api.list_functions = in.symbol("_ZTVN5XrdCl13DirectoryListE");
  in.find("_ZN5XrdCl8StatInfoD1Ev", api.destroy_info);
  in.find("_ZNK5XrdCl8StatInfo7GetSizeEv", api.info_size);
  in.find("_ZNK5XrdCl8StatInfo10GetModTimeEv", api.info_time);
  in.find("_ZNK5XrdCl8StatInfo8GetFlagsEv", api.info_flags);
  in.find("_ZNK5XrdCl8StatInfo14ExtendedFormatEv", api.info_is_extended);
  in.find("_ZNK5XrdCl8StatInfo15GetModeAsStringB5cxx11Ev", api.info_mode);
  in.find("_ZN5XrdCl10DefaultEnv6GetEnvEv", api.environment);
  in.find("_ZN5XrdCl3Env6GetIntERK" STRING "Ri", api.get_integer);
  in.find("_ZN5XrdCl3Env6PutIntERK" STRING "i", api.put_integer);
  in.find("_ZNK5XrdCl6Status8ToStringB5cxx11Ev", api.status_text);
  in.find(
      "_ZN5XrdCl15ResponseHandler23HandleResponseWithHostsEPNS_12XRootDStatusEPNS_9AnyObjectEPSt6vectorINS_"
      "8HostInfoESaIS6_EE",
      api.drop_hosts);
}

struct Setting {
  const char* name;
  int usual;  // the library's own default
  int ours;
};

// Who waits half an hour has long given up. What the user, an administrator or another part of the program
// has set is not touched.
constexpr long longest_timeout = 65535;  // seconds: the library takes 16 bits

constexpr std::array xrd_settings{
    Setting{"RequestTimeout", 1800, 60},
    // Between two attempts to connect, and how many.
    Setting{"ConnectionWindow", 120, 10},
    Setting{"ConnectionRetry", 5, 3},
    // How long a server that was gone is not even tried again.
    Setting{"StreamErrorWindow", 1800, 1},
    // How often timeouts are looked at.
    Setting{"TimeoutResolution", 15, 1},
};

void set_timeouts(const XrdApi& api) {
  void* environment = api.environment();
  for (const Setting& setting : xrd_settings) {
    int value = 0;
    if (api.get_integer(environment, setting.name, value) && value == setting.usual)
      api.put_integer(environment, setting.name, setting.ours);
  }
}

const char* xrd_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Nothing if the variable is not set; 0 for a value that is not understood.
std::optional<long> seconds_in(const char* name) {
  const char* text = xrd_variable(name);
  if (text == nullptr) return std::nullopt;
  long seconds = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, failure] = std::from_chars(text, end, seconds);
  if (failure != std::errc() || stop != end || seconds < 1 || seconds > longest_timeout) return 0;
  return seconds;
}

// Made again in each child: the parent's threads may be waiting for it.
alignas(WriterPreferringMutex) std::array<std::byte, sizeof(WriterPreferringMutex)> fork_memory;

const auto* const first_fork_mutex = new (fork_memory.data()) WriterPreferringMutex();

WriterPreferringMutex& fork_mutex() {
  return *std::launder(reinterpret_cast<WriterPreferringMutex*>(fork_memory.data()));
}

// Called after the library has registered its own handlers, so that a fork waits here before it stops the
// library's threads.
void pause_forks_on_request() {
  const int failure = ::pthread_atfork([] { fork_mutex().lock(); }, [] { fork_mutex().unlock(); },
                                       [] { new (fork_memory.data()) WriterPreferringMutex(); });
  if (failure != 0)
    throw Error(ErrorKind::resource, fmt::format("forks cannot be watched: {}", std::strerror(failure)),
                "free memory");
}

thread_local bool is_answering = false;

constexpr std::array library_names{"libXrdCl.so.6", "libXrdCl.so.3"};

struct AddedFolders {
  std::mutex mutex;
  std::vector<std::string> names;
};

AddedFolders& added_folders() {
  static AddedFolders instance;
  return instance;
}

std::vector<std::string> candidates() {
  if (const char* named = xrd_variable("COLONNADE_XRDCL")) return {named};
  std::vector<std::string> found;
  for (const char* name : library_names) {
    void* loaded = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded == nullptr) continue;
    found.emplace_back(name);
    ::dlclose(loaded);
  }
  AddedFolders& added = added_folders();
  const std::lock_guard lock(added.mutex);
  for (const std::string& folder : added.names)
    for (const char* name : library_names) found.push_back(fmt::format("{}/{}", folder, name));
  found.insert(found.end(), library_names.begin(), library_names.end());
  return found;
}

// The library crashes where its threads cannot open what they need to begin.
void check_free_files() {
  std::array<int, 32> files;
  for (int& file : files) file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool is_enough = files.back() >= 0;
  for (const int file : files)
    if (file >= 0) ::close(file);
  if (!is_enough)
    throw Error(
        ErrorKind::resource,
        fmt::format("the library of XRootD needs {} files at first, and fewer can be opened", files.size()),
        "close other files or raise the limit of open files (ulimit -n)");
}

}  // namespace

XrdForkPause::XrdForkPause() : holds_(!is_answering) {
  if (holds_) fork_mutex().lock_shared();
}

XrdForkPause::~XrdForkPause() {
  if (holds_) fork_mutex().unlock_shared();
}

XrdAnswering::XrdAnswering() noexcept {
  is_answering = true;
}

XrdAnswering::~XrdAnswering() {
  is_answering = false;
}

XrdStatus XrdApi::read_ranges_later(void* file, std::span<const XrdRange> ranges, XrdHandler* handler,
                                    long timeout) const {
  if (chunk_functions == nullptr) {
    std::vector<Chunk5> chunks;
    chunks.reserve(ranges.size());
    for (const XrdRange& range : ranges) chunks.push_back({range.offset, range.size, range.into});
    return read_vector_later(file, &chunks, nullptr, handler, timeout);
  }
  // Behind the two words that every table of virtual functions begins with.
  const void* functions = static_cast<const std::byte*>(chunk_functions) + 2 * sizeof(void*);
  std::vector<Chunk6> chunks;
  chunks.reserve(ranges.size());
  for (const XrdRange& range : ranges) chunks.push_back({functions, {range.offset, range.size, range.into}});
  return read_vector_later(file, &chunks, nullptr, handler, timeout);
}

std::uint32_t XrdApi::bytes_of(const XrdAnswer* answer) const {
  const void* content = answer != nullptr ? answer->content() : nullptr;
  if (content == nullptr) return 0;
  if (chunk_functions == nullptr) return static_cast<const Chunk5*>(content)->size;
  return static_cast<const Chunk6*>(content)->chunk.size;
}

const std::vector<XrdListEntry*>& XrdApi::entries_of(const void* listing) const {
  const auto* begin = static_cast<const std::byte*>(listing);
  if (list_functions != nullptr) begin += sizeof(void*);
  return *reinterpret_cast<const std::vector<XrdListEntry*>*>(begin);
}

XrdApi load_xrootd(std::span<const std::string> libraries) {
  check_free_files();
  void* library = nullptr;
  std::string reason;
  for (const std::string& name : libraries) {
    // Never closed: its threads may be running when the process ends.
    library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* said = ::dlerror();
    if (reason.empty()) reason = said != nullptr ? said : fmt::format("{} does not exist", name);
  }
  if (library == nullptr) fail_to_load_xrootd(reason);
  const SymbolFinder finder(library);
  XrdApi api{};
  find_file(finder, api);
  find_system(finder, api);
  set_timeouts(api);
  return api;
}

const XrdApi& xrd_api() {
  static const XrdApi api = [] {
    XrdApi loaded = load_xrootd(candidates());
    pause_forks_on_request();
    return loaded;
  }();
  return api;
}

void add_xrootd_folder(std::string_view folder) {
  AddedFolders& added = added_folders();
  const std::lock_guard lock(added.mutex);
  added.names.emplace_back(folder);
}

long xrootd_timeout() {
  constexpr long usual = 60;
  constexpr const char* own = "COLONNADE_XROOTD_TIMEOUT";
  if (const auto seconds = seconds_in(own)) {
    if (*seconds > 0) return *seconds;
    throw Error(ErrorKind::usage, fmt::format("{} is \"{}\"", own, xrd_variable(own)),
                fmt::format("a whole number of seconds from 1 to {}", longest_timeout));
  }
  // XRootD ignores what it does not understand.
  const long seconds = seconds_in("XRD_REQUESTTIMEOUT").value_or(0);
  return seconds > 0 ? seconds : usual;
}

#undef LATER
#undef STRING

}  // namespace colonnade::io
