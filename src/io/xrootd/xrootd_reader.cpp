// Reads a file on an XRootD server; see xrootd_file.h. Threads of the library answer requests, so that the
// queue needs none. After a transient failure the thread that waits for the bytes reads them again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/interruption.h"
#include "base/process.h"
#include "io/http/http_ranges.h"
#include "io/local/local_system.h"
#include "io/xrootd/xrootd_client.h"
#include "io/xrootd/xrootd_file.h"

namespace colonnade::io {
namespace {

using Clock = std::chrono::steady_clock;

// Measured, docs/decisions/0043-vector-reads.md.
constexpr IoTraits xrootd_traits{.max_request = std::size_t{2} << 20,
                                 .worthwhile_gap = std::size_t{32} << 10,
                                 .concurrency = 64,
                                 .most_concurrency = 256};
constexpr std::size_t small_range = std::size_t{512} << 10;  // larger ones are requests of their own
constexpr std::size_t vector_bytes = std::size_t{4} << 20;
// Of a file, as much of the end as takes no longer than a round trip: page lists and footer are there.
constexpr std::uint64_t largest_tail = std::uint64_t{1} << 20;
constexpr auto between_checks = std::chrono::seconds(1);  // servers tell the time of a change in seconds

// The file as one process has it open.
struct XrootdSession {
  const Process process;
  std::mutex opening;                    // held while the server is asked; answers never wait for it
  std::mutex mutex;                      // of what follows
  std::shared_ptr<XrootdHandle> handle;  // null: to be opened again
  Clock::time_point next_check = Clock::now() + between_checks;
  bool is_checking = false;
  std::optional<XrootdInfo> changed;    // what it was found to be
  std::shared_ptr<XrootdSession> self;  // until the file is closed; answers may come later

  static XrootdSession* make() {
    auto made = std::make_shared<XrootdSession>();
    made->self = made;
    return made.get();
  }
};

// A writer does not keep readers out: they check what they read.
XrdStatus open_handle(const std::string& url, std::shared_ptr<XrootdHandle>& handle, XrootdInfo& info) {
  XrdStatus status;
  for (const int flags : {XrdOpen::read + 0, XrdOpen::read | XrdOpen::force}) {
    handle = std::make_shared<XrootdHandle>();
    status = XrootdHandle::open_to_read(handle, url, flags);
    if (!is_answer(status, XrdAnswerCode::locked)) break;
  }
  if (status.ok()) status = handle->info(false, info);
  return status;
}

// Where a connection was lost, the library refuses at once what it is asked for within the next second
// (StreamErrorWindow), and does not connect.
XrdStatus open_with_retries(const std::string& url, std::shared_ptr<XrootdHandle>& handle, XrootdInfo& info) {
  constexpr std::chrono::milliseconds pause{250};
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(1500);
  while (true) {
    XrdStatus status = open_handle(url, handle, info);
    if (!is_transient(status) || Clock::now() + pause > deadline) return status;
    Interruption::check();
    std::this_thread::sleep_for(pause);
  }
}

class XrootdFile final : public RandomAccessFile {
 public:
  XrootdFile(std::string uri, std::string url, std::shared_ptr<XrootdHandle> handle, const XrootdInfo& info,
             std::vector<FileWindow> windows, Clock::duration round_trip)
      : uri_(std::move(uri)),
        url_(std::move(url)),
        info_(info),
        windows_(std::move(windows), info.size),
        round_trip_(round_trip),
        session_(XrootdSession::make()) {
    session_.load()->handle = std::move(handle);
  }
  XrootdFile(const XrootdFile&) = delete;
  XrootdFile& operator=(const XrootdFile&) = delete;
  ~XrootdFile() override;

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return info_.size; }
  std::string version() const override {
    return windows_.version(info_.time == 0 ? "" : fmt::format("{}", info_.time));
  }
  IoTraits traits() const noexcept override { return xrootd_traits; }
  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void read_vector(std::span<const ReadRequest> requests) const override;
  std::unique_ptr<ReadQueue> open_queue(unsigned depth) const override;
  Clock::duration round_trip() const noexcept override { return round_trip_; }
  // From now on reads report changes of the file.
  void opened() const noexcept override { windows_.drop(); }
  // Whether the bytes came with the opening. The file must still be the same.
  bool copy_from_windows(std::uint64_t offset, MutableByteSpan into) const;

  // The open file, opened again where it was lost; null with a status that says why. Throws where another
  // file has its name now.
  std::shared_ptr<XrootdHandle> handle(XrdStatus& status) const;
  // The connection is gone.
  void lose(const std::shared_ptr<XrootdHandle>& lost) const;
  // Asks the server in the background whether the file is still the same, now and then.
  void check_later(XrootdHandle& handle) const;
  // Throws once it is known not to be.
  void check() const;
  // Reads, again and again while that may help and the timeout is not over.
  XrdStatus read_with_retries(std::uint64_t offset, MutableByteSpan into) const;
  [[noreturn]] void fail(const XrdStatus& status, std::uint64_t offset, std::size_t size) const;

 private:
  XrootdSession& session() const;
  [[noreturn]] void fail_changed(const XrootdInfo& now) const;
  [[noreturn]] void fail_short(XrootdHandle& handle, std::uint64_t end) const;

  const std::string uri_;
  const std::string url_;
  const XrootdInfo info_;
  mutable FileWindows windows_;
  const Clock::duration round_trip_;
  mutable std::atomic<XrootdSession*> session_;
};

// In a child process the library has threads of its own, but none of what its parent had open.
XrootdSession& XrootdFile::session() const {
  XrootdSession* known = session_.load(std::memory_order_acquire);
  if (known->process.is_current()) return *known;
  XrootdSession* fresh = XrootdSession::make();
  if (session_.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return *fresh;
  fresh->self.reset();
  return *known;
}

XrootdFile::~XrootdFile() {
  XrootdSession* last = session_.load();
  if (!last->process.is_current()) return;
  const std::shared_ptr<XrootdSession> closing = std::move(last->self);
  std::shared_ptr<XrootdHandle> open;
  {
    const std::lock_guard lock(closing->mutex);
    open = std::move(closing->handle);
  }
  XrootdHandle::retire(std::move(open));
}

std::shared_ptr<XrootdHandle> XrootdFile::handle(XrdStatus& status) const {
  XrootdSession& mine = session();
  const auto known = [&] {
    const std::lock_guard lock(mine.mutex);
    if (mine.changed) fail_changed(*mine.changed);
    return mine.handle;
  };
  if (auto open = known()) return open;
  const std::lock_guard alone(mine.opening);
  if (auto open = known()) return open;
  std::shared_ptr<XrootdHandle> fresh;
  XrootdInfo now;
  status = open_handle(url_, fresh, now);
  if (!status.ok()) return nullptr;
  const std::lock_guard lock(mine.mutex);
  if (!info_.is_same_state(now)) {
    mine.changed = now;
    fail_changed(now);
  }
  mine.handle = fresh;
  return fresh;
}

void XrootdFile::lose(const std::shared_ptr<XrootdHandle>& lost) const {
  XrootdSession& mine = session();
  {
    const std::lock_guard lock(mine.mutex);
    if (mine.handle != lost) return;
    mine.handle = nullptr;
  }
  XrootdHandle::retire(lost);
}

void XrootdFile::check_later(XrootdHandle& handle) const {
  XrootdSession& mine = session();
  std::shared_ptr<XrootdSession> kept;
  {
    const std::lock_guard lock(mine.mutex);
    if (mine.is_checking || Clock::now() < mine.next_check) return;
    mine.is_checking = true;
    kept = mine.self;
  }
  handle.info_later([kept, before = info_](const XrdStatus& status, const XrootdInfo& now) {
    const std::lock_guard lock(kept->mutex);
    kept->is_checking = false;
    kept->next_check = Clock::now() + between_checks;
    if (status.ok() && !before.is_same_state(now)) kept->changed = now;
  });
}

void XrootdFile::check() const {
  XrootdSession& mine = session();
  const std::lock_guard lock(mine.mutex);
  if (mine.changed) fail_changed(*mine.changed);
}

// ---- Errors

void XrootdFile::fail(const XrdStatus& status, std::uint64_t offset, std::size_t size) const {
  throw xrootd_error(status, fmt::format("read {} bytes", size), uri_).with({.offset = offset});
}

void XrootdFile::fail_changed(const XrootdInfo& now) const {
  if (now.size < info_.size) fail_truncated(uri_, now.size, info_.size);
  throw Error(ErrorKind::io,
              now.size != info_.size
                  ? fmt::format("the file was changed while it was open: it has {} bytes now, and had {}",
                                now.size, info_.size)
                  : "the file was changed while it was open: it was written to at another time",
              "open it again when it is complete", {.uri = uri_});
}

// Fewer bytes came than were asked for.
void XrootdFile::fail_short(XrootdHandle& handle, std::uint64_t end) const {
  XrootdInfo now;
  const XrdStatus status = handle.info(true, now);
  if (status.ok() && now.size < info_.size) fail_truncated(uri_, now.size, info_.size);
  throw Error(ErrorKind::io, "the server sent fewer bytes than requested", "try again",
              {.uri = uri_, .offset = end});
}

// ---- Reading

bool XrootdFile::copy_from_windows(std::uint64_t offset, MutableByteSpan into) const {
  if (!windows_.copy(offset, into)) return false;
  XrdStatus status;
  if (const std::shared_ptr<XrootdHandle> open = handle(status)) check_later(*open);
  check();
  return true;
}

XrdStatus XrootdFile::read_with_retries(std::uint64_t offset, MutableByteSpan into) const {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(xrootd_timeout());
  std::chrono::milliseconds pause{50};
  constexpr std::chrono::milliseconds longest{2000};
  while (true) {
    XrdStatus status;
    const std::shared_ptr<XrootdHandle> open = handle(status);
    if (open != nullptr) {
      check_later(*open);
      std::uint32_t got = 0;
      std::vector<FileWindow> window{{offset, Bytes(into.size())}};
      status = XrootdHandle::read_windows(open, window, got);
      if (status.ok() && got < into.size()) fail_short(*open, offset + got);
      if (status.ok()) {
        std::copy(window.front().bytes.begin(), window.front().bytes.end(), into.begin());
        check();
        return status;
      }
    }
    if (!is_transient(status) || Clock::now() + pause > deadline) return status;
    if (open != nullptr) lose(open);
    Interruption::check();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
}

void XrootdFile::read(std::uint64_t offset, MutableByteSpan into) const {
  check_range(uri_, info_.size, offset, into.size());
  if (into.empty() || copy_from_windows(offset, into)) return;
  if (into.size() > xrootd_traits.max_request) {
    const ReadRequest request{offset, into};
    return read_vector({&request, 1});
  }
  if (const XrdStatus status = read_with_retries(offset, into); !status.ok())
    fail(status, offset, into.size());
}

void XrootdFile::read_vector(std::span<const ReadRequest> requests) const {
  std::vector<QueuedRead> pieces;
  for (const ReadRequest& request : requests) {
    check_range(uri_, info_.size, request.offset, request.into.size());
    for (std::size_t at = 0; at < request.into.size(); at += xrootd_traits.max_request) {
      const std::size_t count = std::min(request.into.size() - at, xrootd_traits.max_request);
      pieces.push_back({0, request.offset + at, request.into.subspan(at, count)});
    }
  }
  const std::unique_ptr<ReadQueue> queue = open_queue(xrootd_traits.concurrency);
  queue->submit_batch(pieces);
  queue->wait_for_all();
}

// What came back from the library's threads.
struct Answered {
  std::vector<QueuedRead> reads;  // of one request
  std::shared_ptr<XrootdHandle> handle;
  XrdStatus status;
  bool is_short = false;
  Clock::time_point when = {};
};

class XrootdQueue final : public ReadQueue {
 public:
  explicit XrootdQueue(const XrootdFile& file) : file_(file) {}
  XrootdQueue(const XrootdQueue&) = delete;
  XrootdQueue& operator=(const XrootdQueue&) = delete;
  // Memory of the callers is written to until all answers are there, which are not looked at any more.
  ~XrootdQueue() override {
    leaving_ = true;
    std::array<Completion, 16> unheard;
    while (is_of_this_process() && wait(unheard) > 0) continue;
  }

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    const QueuedRead read{id, offset, into};
    submit_batch({&read, 1});
  }
  void submit_batch(std::span<const QueuedRead> reads) override;

 private:
  void send(std::vector<QueuedRead> reads);
  void settle(const Answered& answer);
  void read_again(const QueuedRead& read, const Answered& answer);

  const XrootdFile& file_;
  bool leaving_ = false;
  Clock::time_point gave_up_ = {};  // last, after the timeout of a read
};

// Small ones share a request. They come in the order of need, and so are asked for.
void XrootdQueue::submit_batch(std::span<const QueuedRead> reads) {
  std::vector<QueuedRead> together;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (!together.empty()) send(std::exchange(together, {}));
    bytes = 0;
  };
  for (const QueuedRead& read : reads) {
    try {
      check_range(file_.uri(), file_.size(), read.offset, read.into.size());
      if (read.into.empty() || file_.copy_from_windows(read.offset, read.into)) {
        add_done(read.id);
        continue;
      }
    } catch (...) {  // an Interrupted, too: what was begun must end
      add_done(read.id, std::current_exception());
      continue;
    }
    if (read.into.size() > small_range) {
      send({read});
    } else {
      if (bytes + read.into.size() > vector_bytes || together.size() == XrootdHandle::most_ranges) flush();
      together.push_back(read);
      bytes += read.into.size();
    }
  }
  flush();
}

void XrootdQueue::send(std::vector<QueuedRead> reads) {
  begin(reads.size());
  Answered answer{.reads = std::move(reads)};
  try {
    answer.handle = file_.handle(answer.status);
  } catch (...) {  // an Interrupted, too: what was begun must end
    for (const QueuedRead& read : answer.reads) finish(read.id, std::current_exception());
    return;
  }
  answer.when = Clock::now();
  if (answer.handle == nullptr) return settle(answer);
  XrootdHandle& handle = *answer.handle;
  file_.check_later(handle);
  std::vector<XrdRange> ranges;
  std::size_t bytes = 0;
  for (const QueuedRead& read : answer.reads) {
    ranges.push_back({read.offset, static_cast<std::uint32_t>(read.into.size()), read.into.data()});
    bytes += read.into.size();
  }
  const QueuedRead first = answer.reads.front();
  auto done = [this, bytes, answer = std::move(answer)](const XrdStatus& status, std::uint32_t got) mutable {
    answer.status = status;
    answer.when = Clock::now();
    answer.is_short = answer.reads.size() == 1 && got < bytes;
    post([this, answer = std::move(answer)] { settle(answer); });
  };
  if (ranges.size() == 1)
    handle.read_later(first.offset, first.into, std::move(done));
  else
    handle.read_ranges_later(ranges, std::move(done));
}

// Where the timeout is over for one range, those that were lost before do not wait as long once more.
void XrootdQueue::read_again(const QueuedRead& read, const Answered& answer) {
  const bool is_hopeless = is_transient(answer.status) && answer.when < gave_up_;
  const XrdStatus status = is_hopeless ? answer.status : file_.read_with_retries(read.offset, read.into);
  if (status.ok()) return;
  if (!is_hopeless && is_transient(status)) gave_up_ = Clock::now();
  file_.fail(status, read.offset, read.into.size());
}

// A vector read fails as a whole, whichever of its ranges is to blame.
void XrootdQueue::settle(const Answered& answer) {
  const bool is_good = answer.handle != nullptr && answer.status.ok() && !answer.is_short;
  if (!is_good && is_transient(answer.status) && answer.handle != nullptr) file_.lose(answer.handle);
  for (const QueuedRead& read : answer.reads) {
    std::exception_ptr failure;
    try {
      if (is_good)
        file_.check();
      else if (!leaving_)
        read_again(read, answer);
    } catch (...) {
      failure = std::current_exception();
    }
    finish(read.id, failure, is_good ? answer.when : Clock::time_point{});
  }
}

// The first and the last bytes in one request, which is enough to open most files. Empty on failure: the read
// that needs them reports why.
std::vector<FileWindow> read_windows(const std::shared_ptr<XrootdHandle>& handle, std::uint64_t size) {
  const std::uint64_t head = std::min<std::uint64_t>(size, head_window);
  const std::uint64_t tail =
      std::min(std::clamp<std::uint64_t>(size / 512, tail_window, largest_tail), size - head);
  std::vector<FileWindow> windows{{0, Bytes(head)}};
  if (tail > 0) windows.push_back({size - tail, Bytes(tail)});
  std::uint32_t got = 0;
  const bool is_whole = XrootdHandle::read_windows(handle, windows, got).ok() && (tail > 0 || got == head);
  if (!is_whole) windows.clear();
  return windows;
}

std::unique_ptr<ReadQueue> XrootdFile::open_queue(unsigned) const {
  return std::make_unique<XrootdQueue>(*this);
}

}  // namespace

std::unique_ptr<RandomAccessFile> open_xrootd_for_reading(const std::string& uri) {
  return with_context({.uri = uri}, [&]() -> std::unique_ptr<RandomAccessFile> {
    const XrootdPlace place = parse_xrootd_uri(uri);
    require_host(place);
    std::string url = place.url();
    std::shared_ptr<XrootdHandle> handle;
    XrootdInfo info;
    if (const XrdStatus status = open_with_retries(url, handle, info); !status.ok())
      throw xrootd_error(status, "open", uri);
    if (info.is_folder) throw Error(ErrorKind::io, "cannot open: it is a directory", "name a file inside it");
    const Clock::time_point begin = Clock::now();
    std::vector<FileWindow> windows;
    if (info.size > 0) windows = read_windows(handle, info.size);
    return std::make_unique<XrootdFile>(uri, std::move(url), std::move(handle), info, std::move(windows),
                                        Clock::now() - begin);
  });
}

}  // namespace colonnade::io
