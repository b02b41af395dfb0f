// See xrootd_client.h.
#include "io/xrootd/xrootd_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/interruption.h"
#include "base/process.h"

namespace colonnade::io {
namespace {

struct XrdMeaning {
  std::uint32_t number;
  ErrorKind kind;
  const char* advice;
};

constexpr const char* check_server = "check that the server runs and can be reached, then try again";
constexpr const char* check_rights =
    "check your credentials (a token, X509_USER_PROXY, a Kerberos ticket, XrdSecSSSKT) and your rights there";
constexpr const char* free_space = "free space or choose another server";

// kXR_ numbers.
constexpr std::array meanings{
    XrdMeaning{3000, ErrorKind::usage,
               "check the path: root://host//folder/name.root has two slashes before it"},
    XrdMeaning{3002, ErrorKind::usage, "choose a shorter name"},
    XrdMeaning{3003, ErrorKind::io, "close the other writer or write to another file"},
    XrdMeaning{3005, ErrorKind::io, "see the server's log"},
    XrdMeaning{3007, ErrorKind::io, "see the server's log"},
    XrdMeaning{3009, ErrorKind::io, free_space},
    XrdMeaning{3010, ErrorKind::io, check_rights},
    XrdMeaning{3011, ErrorKind::not_found, "check the path, upper and lower case included"},
    XrdMeaning{3012, ErrorKind::io, check_server},
    XrdMeaning{3014, ErrorKind::io, check_server},
    XrdMeaning{3016, ErrorKind::io, "name a file inside it"},
    XrdMeaning{3021, ErrorKind::io, "free space within the quota, have it raised, or choose another server"},
    XrdMeaning{3025, ErrorKind::io, "choose a place that can be written"},
    XrdMeaning{3028, ErrorKind::io, "use roots:// in place of root://"},
    XrdMeaning{3030, ErrorKind::io, check_rights},
};

// Without an answer: XrdCl's own codes.
constexpr std::uint16_t invalid_address = 101;
constexpr std::uint16_t tls_failed = 110;
constexpr std::uint16_t login_failed = 203;
constexpr std::uint16_t authentication_failed = 204;
constexpr std::uint16_t request_expired = 206;

XrdMeaning meaning_of(const XrdStatus& status) {
  if (status.code == XrdAnswerCode::of_server) {
    const auto* const found = std::find_if(
        meanings.begin(), meanings.end(), [&](const XrdMeaning& row) { return row.number == status.number; });
    return found != meanings.end() ? *found
                                   : XrdMeaning{status.number, ErrorKind::io, "see the server's log"};
  }
  if (status.code == authentication_failed || status.code == login_failed)
    return {0, ErrorKind::io, check_rights};
  if (status.code == invalid_address)
    return {0, ErrorKind::io, "check the name of the server, and the network"};
  if (status.code == tls_failed)
    return {0, ErrorKind::io, "check the server's certificate and X509_CERT_DIR or X509_CERT_FILE"};
  if (status.code == request_expired)
    return {0, ErrorKind::io,
            "check that the server answers; COLONNADE_XROOTD_TIMEOUT sets the timeout in seconds"};
  return {0, ErrorKind::io, check_server};
}

// What the library says has line ends, and the server's answer may repeat the path.
std::string xrd_text(const XrdStatus& status) {
  std::string text = status.code == XrdAnswerCode::of_server && !status.message.empty()
                         ? fmt::format("the server says: {}", status.message)
                         : xrd_api().status_text(&status);
  if (status.code != XrdAnswerCode::of_server && !status.message.empty()) text += ": " + status.message;
  for (const std::string_view kind : {"[ERROR] ", "[FATAL] "})
    if (text.starts_with(kind)) text.erase(0, kind.size());
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

XrootdInfo info_of(const XrdApi& api, const void* info) {
  constexpr std::uint32_t is_folder = 2;
  XrootdInfo found{.size = api.info_size(info),
                   .time = api.info_time(info),
                   .is_folder = (api.info_flags(info) & is_folder) != 0};
  if (api.info_is_extended(info)) found.mode = permissions_in(api.info_mode(info));
  return found;
}

void destroy_info(const XrdApi& api, void* info) {
  api.destroy_info(info);
  ::operator delete(info);
}

XrdStatus take_info(const XrdApi& api, XrdStatus status, void* info, XrootdInfo& found) {
  if (info == nullptr) return status;
  if (status.ok()) found = info_of(api, info);
  destroy_info(api, info);
  return status;
}

// Hands an answer to a function and goes.
class Answer final : public XrdHandler {
 public:
  Answer(const XrdApi& api, XrootdHandle::Done done, std::uint32_t expected)
      : api_(&api), done_(std::move(done)), expected_(expected) {}
  Answer(const XrdApi& api, XrootdHandle::DoneInfo done) : api_(&api), done_info_(std::move(done)) {}

  // `expected`: the bytes of an answer that says none.
  void answer(XrdStatus* status, XrdAnswer* content) override {
    const XrdAnswering answering;
    const std::unique_ptr<XrdStatus> taken(status);
    const std::unique_ptr<XrdAnswer> bytes(content);
    tell(*taken, bytes.get());
    delete this;
  }
  // What was never sent.
  void refuse(const XrdStatus& status) {
    tell(status, nullptr);
    delete this;
  }

 private:
  void tell(const XrdStatus& status, const XrdAnswer* content) {
    if (done_info_) {
      const void* info = content != nullptr ? content->content() : nullptr;
      done_info_(status, status.ok() && info != nullptr ? info_of(*api_, info) : XrootdInfo{});
      return;
    }
    const bool counts = expected_ == counted;
    done_(status, !status.ok() ? 0 : counts ? api_->bytes_of(content) : expected_);
  }

 public:
  static constexpr std::uint32_t counted = ~std::uint32_t{0};

 private:
  const XrdApi* api_;
  XrootdHandle::Done done_;
  XrootdHandle::DoneInfo done_info_;
  std::uint32_t expected_ = 0;
};

template <class Request>
void begin(Answer* handler, Request request) {
  XrdStatus status;
  {
    const XrdForkPause pause;
    status = request(handler);
  }
  if (!status.ok()) handler->refuse(status);
}

// Objects of the library that are no longer used. Its threads let go of one only after its last answer, and
// if they are the last to do so, they wait for a fork(), which in XrdCl 6 waits for them. So objects stay
// here until no thread can have them, and are never destroyed by a thread of the library.
class Retired {
 public:
  using Destroy = void (*)(void* object);

  void add(std::unique_ptr<std::byte[]> object, Destroy destroy) {
    const XrdForkPause pause;  // so that no child finds the mutex locked
    const std::lock_guard lock(mutex_);
    objects_.push_back({Clock::now(), {}, std::move(object), destroy});
  }

  void destroy_old() {
    std::vector<Object> old;
    {
      const XrdForkPause pause;
      const std::lock_guard lock(mutex_);
      const Clock::time_point latest = Clock::now() - std::chrono::seconds(3);
      while (!objects_.empty() && objects_.front().time < latest) {
        old.push_back(std::move(objects_.front()));
        objects_.pop_front();
      }
    }
    for (Object& object : old) {
      if (object.process.is_current())
        object.destroy(object.memory.get());
      else
        static_cast<void>(object.memory.release());
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Object {
    Clock::time_point time;
    Process process;
    std::unique_ptr<std::byte[]> memory;
    Destroy destroy;
  };

  std::mutex mutex_;
  std::deque<Object> objects_;
};

Retired& retired() {
  static auto& all = *new Retired;  // threads of the library may use the objects while the process ends
  return all;
}

// An answer that a thread waits for. It may come when the thread has left.
class Awaited {
 public:
  void answer(const XrdStatus& status, std::uint32_t bytes) {
    std::function<void()> left;
    {
      const std::lock_guard lock(mutex_);
      status_ = status;
      bytes_ = bytes;
      left.swap(left_);
      arrives_.notify_all();
    }
    if (left) left();
  }
  // If the wait is interrupted, `left` is called when the answer comes.
  XrdStatus wait(std::uint32_t& bytes, std::function<void()> left) {
    std::unique_lock lock(mutex_);
    try {
      Interruption::wait(arrives_, lock, [this] { return status_.has_value(); });
    } catch (const Interrupted&) {
      left_ = std::move(left);
      throw;
    }
    bytes = bytes_;
    return *status_;
  }
  // Until the answer has come.
  XrdStatus wait() {
    std::unique_lock lock(mutex_);
    arrives_.wait(lock, [this] { return status_.has_value(); });
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrives_;
  std::optional<XrdStatus> status_;
  std::uint32_t bytes_ = 0;
  std::function<void()> left_;
};

// Names of servers that were found: a chain has a thousand files of one.
class KnownHosts {
 public:
  bool has(const std::string& host) {
    const XrdForkPause pause;  // so that no child finds the mutex locked
    const std::lock_guard lock(mutex_);
    return hosts_.contains(host);
  }
  void add(const std::string& host) {
    const XrdForkPause pause;
    const std::lock_guard lock(mutex_);
    hosts_.insert(host);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> hosts_;
};

}  // namespace

bool is_answer(const XrdStatus& status, std::uint32_t number) noexcept {
  return status.code == XrdAnswerCode::of_server && status.number == number;
}

int permissions_in(std::string_view text) noexcept {
  unsigned bits = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, failure] = std::from_chars(begin, end, bits, 8);
  return failure == std::errc() && rest == end ? static_cast<int>(bits & 0777) : 0;
}

bool is_transient(const XrdStatus& status) noexcept {
  if (status.ok()) return false;
  if (status.code == XrdAnswerCode::of_server) {
    // Of a server that has just been started, is overloaded, or has lost the session.
    constexpr std::array<std::uint32_t, 6> passing{3004, 3012, 3014, 3024, 3029, 3034};
    return std::find(passing.begin(), passing.end(), status.number) != passing.end();
  }
  // 202 is a connection that was lost before both had introduced themselves.
  constexpr std::array<std::uint16_t, 14> passing{1,   3,   10,  102, 103, 104, 105,
                                                  107, 108, 109, 202, 206, 207, 301};
  return std::find(passing.begin(), passing.end(), status.code) != passing.end();
}

Error xrootd_error(const XrdStatus& status, std::string_view action, const std::string& uri) {
  XrdMeaning meaning = meaning_of(status);
  // With one slash the path has none, which most servers refuse for one reason or another.
  const bool is_relative =
      status.code == XrdAnswerCode::of_server && !parse_xrootd_uri(uri).path.starts_with('/');
  if (is_relative) meaning.advice = "write two slashes before the path: root://host//folder/name.root";
  return {meaning.kind, fmt::format("cannot {}: {}", action, xrd_text(status)), meaning.advice, {.uri = uri}};
}

void require_host(const XrootdPlace& place) {
  static_cast<void>(xrd_api());                // from here on a fork waits for XrdForkPause
  static KnownHosts& known = *new KnownHosts;  // threads may use it while the process ends
  const std::string host = place.host();
  if (known.has(host)) return;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (code == 0) {
    ::freeaddrinfo(found);
    known.add(host);
  } else if (code == EAI_NONAME) {
    throw Error(ErrorKind::io, fmt::format("there is no server '{}': no machine has this name", host),
                "check the name of the server");
  }
}

XrootdHandle::XrootdHandle()
    : api_(&xrd_api()),
      timeout_(xrootd_timeout()),
      memory_(std::make_unique<std::byte[]>(XrdApi::object_size)) {
  retired().destroy_old();
  api_->make_file(self(), true);
}

XrootdHandle::~XrootdHandle() {
  if (!process_.is_current()) {
    static_cast<void>(memory_.release());
    return;
  }
  close();
  retired().add(std::move(memory_), api_->destroy_file);
}

std::string XrootdHandle::data_server() {
  std::string server;
  api_->get_property(self(), "DataServer", server);
  return server;
}

void XrootdHandle::open_later(const std::string& url, int flags, int mode, Done done) {
  begin(new Answer(*api_, std::move(done), 0),
        [&](XrdHandler* handler) { return api_->open_later(self(), url, flags, mode, handler, timeout_); });
}

XrdStatus XrootdHandle::open(const std::string& url, int flags, int mode) {
  const auto awaited = std::make_shared<Awaited>();
  open_later(url, flags, mode,
             [awaited](const XrdStatus& status, std::uint32_t) { awaited->answer(status, 0); });
  return awaited->wait();
}

XrdStatus XrootdHandle::open_to_read(const std::shared_ptr<XrootdHandle>& handle, const std::string& url,
                                     int flags) {
  XrootdHandle& file = *handle;
  file.api_->set_property(file.self(), "ReadRecovery", "false");
  const auto awaited = std::make_shared<Awaited>();
  file.open_later(url, flags, 0,
                  [awaited](const XrdStatus& status, std::uint32_t) { awaited->answer(status, 0); });
  std::uint32_t ignored = 0;
  return awaited->wait(ignored, [handle = handle]() mutable { retire(std::move(handle)); });
}

XrdStatus XrootdHandle::read_windows(const std::shared_ptr<XrootdHandle>& handle,
                                     std::vector<FileWindow>& windows, std::uint32_t& got) {
  const auto awaited = std::make_shared<Awaited>();
  const auto into = std::make_shared<std::vector<FileWindow>>(std::move(windows));
  const Done done = [awaited, into](const XrdStatus& status, std::uint32_t bytes) {
    awaited->answer(status, bytes);
  };
  if (into->size() == 1) {
    handle->read_later(into->front().offset, into->front().bytes, done);
  } else {
    std::vector<XrdRange> ranges;
    for (FileWindow& window : *into)
      ranges.push_back({window.offset, static_cast<std::uint32_t>(window.bytes.size()), window.bytes.data()});
    handle->read_ranges_later(ranges, done);
  }
  XrdStatus status = awaited->wait(got, [handle = handle]() mutable { retire(std::move(handle)); });
  windows = std::move(*into);
  return status;
}

XrdStatus XrootdHandle::info(bool ask_server, XrootdInfo& info) {
  void* found = nullptr;
  XrdStatus status = api_->stat(self(), ask_server, found, timeout_);
  return take_info(*api_, std::move(status), found, info);
}

XrdStatus XrootdHandle::read(std::uint64_t offset, MutableByteSpan into, std::uint32_t& got) {
  return api_->read(self(), offset, static_cast<std::uint32_t>(into.size()), into.data(), got, timeout_);
}

XrdStatus XrootdHandle::truncate(std::uint64_t size) {
  return api_->truncate(self(), size, timeout_);
}

XrdStatus XrootdHandle::sync() {
  return api_->sync(self(), timeout_);
}

XrdStatus XrootdHandle::close() {
  if (!process_.is_current()) return {};
  return api_->close(self(), timeout_);
}

void XrootdHandle::info_later(DoneInfo done) {
  begin(new Answer(*api_, std::move(done)),
        [&](XrdHandler* handler) { return api_->stat_later(self(), true, handler, timeout_); });
}

void XrootdHandle::read_later(std::uint64_t offset, MutableByteSpan into, Done done) {
  begin(new Answer(*api_, std::move(done), Answer::counted), [&](XrdHandler* handler) {
    return api_->read_later(self(), offset, static_cast<std::uint32_t>(into.size()), into.data(), handler,
                            timeout_);
  });
}

void XrootdHandle::read_ranges_later(std::span<const XrdRange> ranges, Done done) {
  begin(new Answer(*api_, std::move(done), 0),
        [&](XrdHandler* handler) { return api_->read_ranges_later(self(), ranges, handler, timeout_); });
}

void XrootdHandle::write_later(std::uint64_t offset, ByteSpan bytes, Done done) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  begin(new Answer(*api_, std::move(done), size), [&](XrdHandler* handler) {
    return api_->write_later(self(), offset, size, bytes.data(), handler, timeout_);
  });
}

void XrootdHandle::retire(std::shared_ptr<XrootdHandle> handle) {
  if (handle == nullptr || !handle->process_.is_current()) return;
  XrootdHandle& closing = *handle;
  begin(new Answer(
            *closing.api_, [kept = std::move(handle)](const XrdStatus&, std::uint32_t) {}, 0),
        [&](XrdHandler* handler) {
          return closing.api_->close_later(closing.self(), handler, closing.timeout_);
        });
}

XrootdServer::XrootdServer(const XrootdPlace& place)
    : api_(&xrd_api()),
      timeout_(xrootd_timeout()),
      url_(std::make_unique<std::byte[]>(XrdApi::object_size)),
      system_(std::make_unique<std::byte[]>(XrdApi::object_size)) {
  retired().destroy_old();
  api_->make_url(url_.get(), place.server);
  const XrdForkPause pause;
  api_->make_system(system_.get(), url_.get(), true);
}

XrootdServer::~XrootdServer() {
  retired().add(std::move(system_), api_->destroy_system);
  api_->destroy_url(url_.get());
}

XrdStatus XrootdServer::info(const std::string& path, XrootdInfo& info) {
  void* found = nullptr;
  XrdStatus status = api_->system_stat(system_.get(), path, found, timeout_);
  return take_info(*api_, std::move(status), found, info);
}

XrdStatus XrootdServer::move(const std::string& from, const std::string& to) {
  return api_->move(system_.get(), from, to, timeout_);
}

XrdStatus XrootdServer::remove(const std::string& path, long most_seconds) {
  return api_->remove(system_.get(), path, std::min(timeout_, most_seconds));
}

XrdStatus XrootdServer::list(const std::string& path, std::vector<XrootdName>& names) {
  // A server that cannot say where else the folder is has all of it.
  XrdStatus status;
  for (const int flags : {XrdListing::kinds | XrdListing::everywhere, XrdListing::kinds + 0}) {
    void* found = nullptr;
    status = api_->list(system_.get(), path, flags, found, timeout_);
    const bool is_final = status.ok() || is_answer(status, XrdAnswerCode::missing) || is_transient(status);
    if (found != nullptr && status.ok())
      for (const XrdListEntry* entry : api_->entries_of(found))
        names.push_back({entry->name, entry->info != nullptr && info_of(*api_, entry->info).is_folder});
    if (found != nullptr) {
      api_->destroy_list(found);
      ::operator delete(found);
    }
    if (is_final) break;
  }
  return status;
}

}  // namespace colonnade::io
