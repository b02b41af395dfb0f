// See http_engine.h. The loop owns libcurl's handles; all other threads only leave things in its inbox.
#include "io/http/http_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <list>
#include <mutex>
#include <thread>

#include "base/fork_pause.h"
#include "base/process.h"
#include "base/start_thread.h"
#include "io/http/http_attempts.h"

#ifdef COLONNADE_HAS_HTTP
#include "io/http/http_transfer.h"
#endif

namespace colonnade::io {

const char* name_of(HttpMethod method) noexcept {
  switch (method) {
    case HttpMethod::get:
      return "GET";
    case HttpMethod::head:
      return "HEAD";
    case HttpMethod::put:
      return "PUT";
    case HttpMethod::post:
      return "POST";
    case HttpMethod::remove:
      return "DELETE";
    case HttpMethod::move:
      return "MOVE";
  }
  return "";
}

const std::string* HttpAnswer::header(std::string_view lower_case_name) const noexcept {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return &value;
  return nullptr;
}

std::string HttpAnswer::header_or_empty(std::string_view lower_case_name) const {
  const std::string* value = header(lower_case_name);
  return value == nullptr ? std::string() : *value;
}

#ifndef COLONNADE_HAS_HTTP

class HttpEngine::Loop {};

HttpEngine::HttpEngine() : HttpEngine(0) {}
HttpEngine::HttpEngine(unsigned) {
  throw Error(ErrorKind::unsupported,
              "this build of Colonnade has no HTTP: it was built without libcurl or OpenSSL",
              "install libcurl4-openssl-dev and libssl-dev and build again, not with the preset minimal");
}
HttpEngine::~HttpEngine() = default;
HttpEngine& HttpEngine::shared() {
  static HttpEngine engine;
  return engine;
}
bool HttpEngine::is_built_in() noexcept {
  return false;
}
void HttpEngine::start(HttpRequest, const void*, Done) {}
void HttpEngine::cancel(const void*) noexcept {}
std::pair<HttpRequest, HttpAnswer> HttpEngine::perform(HttpRequest) {
  return {};
}
HttpCounters HttpEngine::counters() const noexcept {
  return {};
}

#else

namespace {

using Clock = HttpTransfer::Clock;

constexpr std::size_t most_spare_handles = 64;

void initialise_curl() {
  const ForkPause pause;
  static const CURLcode code = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw Error(ErrorKind::resource, fmt::format("cannot start libcurl: {}", ::curl_easy_strerror(code)));
}

// What ends a line would begin another header.
void check_headers(const HttpHeaders& headers) {
  const auto is_one_line = [](const std::string& text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  };
  for (const auto& [name, value] : headers)
    if (!is_one_line(name) || !is_one_line(value))
      throw Error(ErrorKind::usage, fmt::format("the header {} of a request has a line break in it", name),
                  "a value of one line");
}

}  // namespace

class HttpEngine::Loop {
 public:
  explicit Loop(unsigned max_active)
      : max_active_(std::max(max_active, 1u)), environment_(HttpEnvironment::read()) {
    initialise_curl();
    spare_.reserve(most_spare_handles);
    multi_ = ::curl_multi_init();
    if (multi_ == nullptr) throw Error(ErrorKind::resource, "cannot start libcurl: no memory");
    ::curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(max_active_));
    ::curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, static_cast<long>(max_active_));
  }

  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ::curl_multi_wakeup(multi_);
    if (thread_.joinable()) thread_.join();
    for (CURL* easy : spare_) ::curl_easy_cleanup(easy);
    ::curl_multi_cleanup(multi_);
  }

  bool is_of_this_process() const noexcept { return process_.is_current(); }

  void start(HttpRequest&& request, const void* owner, Done&& done) {
    if (!is_of_this_process())
      throw Error(ErrorKind::usage,
                  "an HTTP connection cannot be used in a fork of the process that opened it",
                  "open it in the child");
    Transfers transfer;
    transfer.emplace_back(std::move(request), owner, std::move(done));
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) start_thread();
      wake = inbox_.empty() && std::this_thread::get_id() != thread_.get_id();
      inbox_.splice(inbox_.end(), transfer);
    }
    // The caller that makes the inbox non-empty wakes the loop, once for all its requests.
    if (wake) ::curl_multi_wakeup(multi_);
  }

  void cancel(const void* owner) noexcept {
    Cancel asked{.owner = owner};
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    asked.next = std::exchange(cancels_, &asked);
    ::curl_multi_wakeup(multi_);
    cancelled_.wait(lock, [&] { return asked.is_done; });
  }

  HttpCounters counters() const noexcept {
    return {requests_.load(std::memory_order_relaxed), connections_.load(std::memory_order_relaxed),
            received_.load(std::memory_order_relaxed)};
  }

 private:
  // Between lists, transfers move without the need for memory.
  using Transfers = std::list<HttpTransfer>;
  // On the stack of the thread that waits for it.
  struct Cancel {
    const void* owner = nullptr;
    Cancel* next = nullptr;
    bool is_done = false;
  };

  // Signals are for the threads of the program: a handler must not interrupt this one, and a lost TLS
  // connection must not end the process (SIGPIPE).
  void start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = colonnade::start_thread([this] { run(); });
    } catch (...) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    while (take_inbox()) {
      begin_waiting();
      int running = 0;
      {
        const ForkPause pause;  // children need the same locks of OpenSSL
        ::curl_multi_perform(multi_, &running);
      }
      if (collect()) continue;  // there may be new ones
      ::curl_multi_poll(multi_, nullptr, 0, milliseconds_to_sleep(), nullptr);
    }
    for (HttpTransfer& transfer : active_) release(transfer);
    active_.clear();
  }

  // False if it is time to end.
  bool take_inbox() {
    Transfers arrived;
    Cancel* cancels = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      arrived.swap(inbox_);
      cancels = std::exchange(cancels_, nullptr);
    }
    while (!arrived.empty()) {
      Transfers& to = arrived.front().request.delay.count() > 0 ? delayed_ : waiting_;
      to.splice(to.end(), arrived, arrived.begin());
    }
    if (cancels == nullptr) return true;
    for (const Cancel* cancel = cancels; cancel != nullptr; cancel = cancel->next) drop(cancel->owner);
    const std::lock_guard lock(mutex_);
    // The thread that waits for it may take it away as soon as the lock is free.
    for (Cancel* cancel = cancels; cancel != nullptr; cancel = cancel->next) cancel->is_done = true;
    cancelled_.notify_all();
    return true;
  }

  void drop(const void* owner) {
    const auto is_of_owner = [&](const HttpTransfer& transfer) { return transfer.owner == owner; };
    waiting_.remove_if(is_of_owner);
    delayed_.remove_if(is_of_owner);
    for (HttpTransfer& transfer : active_)
      if (is_of_owner(transfer)) release(transfer);
    active_.remove_if(is_of_owner);
  }

  void begin_waiting() {
    const auto now = Clock::now();
    for (auto next = delayed_.begin(); next != delayed_.end();) {
      const auto transfer = next++;
      if (transfer->ready <= now) waiting_.splice(waiting_.end(), delayed_, transfer);
    }
    while (!waiting_.empty() && active_.size() < max_active_) {
      active_.splice(active_.begin(), waiting_, waiting_.begin());
      if (begin(active_.front())) continue;
      active_.front().answer.failure = HttpFailure::no_memory;
      tell_last(active_.begin());
    }
  }

  bool begin(HttpTransfer& transfer) {
    requests_.fetch_add(1, std::memory_order_relaxed);
    transfer.begun = Clock::now();
    if (spare_.empty()) {
      const ForkPause pause;
      transfer.easy = ::curl_easy_init();
    } else {
      transfer.easy = spare_.back();
      spare_.pop_back();
    }
    if (transfer.easy == nullptr) return false;
    try {
      transfer.configure(environment_);
      if (::curl_multi_add_handle(multi_, transfer.easy) == CURLM_OK) return true;
    } catch (const std::bad_alloc&) {
    }
    ::curl_easy_cleanup(std::exchange(transfer.easy, nullptr));
    return false;
  }

  // Whether any transfer ended.
  bool collect() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = ::curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode code = message->data.result;
      const auto transfer = std::ranges::find(active_, message->easy_handle, &HttpTransfer::easy);
      transfer->conclude(code);
      count(*transfer);
      release(*transfer);
      tell_last(transfer);
    }
    return any;
  }

  void count(const HttpTransfer& transfer) {
    long connections = 0;
    ::curl_easy_getinfo(transfer.easy, CURLINFO_NUM_CONNECTS, &connections);
    connections_.fetch_add(static_cast<std::uint64_t>(connections), std::memory_order_relaxed);
    received_.fetch_add(transfer.answer.written + transfer.answer.body.size(), std::memory_order_relaxed);
  }

  // Takes it from libcurl, which touches its memory no more.
  void release(HttpTransfer& transfer) noexcept {
    CURL* easy = std::exchange(transfer.easy, nullptr);
    ::curl_multi_remove_handle(multi_, easy);
    if (spare_.size() < spare_.capacity())
      spare_.push_back(easy);
    else
      ::curl_easy_cleanup(easy);
  }

  void tell_last(Transfers::iterator transfer) {
    Transfers ended;
    ended.splice(ended.end(), active_, transfer);
    transfer->done(std::move(transfer->request), std::move(transfer->answer));
  }

  int milliseconds_to_sleep() const {
    constexpr std::chrono::milliseconds longest{60'000};
    if (delayed_.empty()) return static_cast<int>(longest.count());
    const auto first = std::ranges::min_element(delayed_, {}, &HttpTransfer::ready)->ready;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count());
  }

  const Process process_;
  const unsigned max_active_;
  const HttpEnvironment environment_;
  CURLM* multi_ = nullptr;

  std::mutex mutex_;
  std::condition_variable cancelled_;
  Transfers inbox_;
  Cancel* cancels_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;

  // Of the thread alone.
  Transfers waiting_;
  Transfers delayed_;
  Transfers active_;
  std::vector<CURL*> spare_;  // as many as there is room for

  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> received_{0};
};

HttpEngine::HttpEngine() : HttpEngine(64) {}
HttpEngine::HttpEngine(unsigned max_active) : loop_(std::make_unique<Loop>(max_active)) {}

HttpEngine::~HttpEngine() {
  // A child has the memory of the loop, but not its thread: nothing can be ended there.
  if (loop_->is_of_this_process()) return;
  const Loop* const left_alone = loop_.release();
  static_cast<void>(left_alone);
}

HttpEngine& HttpEngine::shared() {
  static PerProcess<HttpEngine> engine;
  return engine.get();
}

bool HttpEngine::is_built_in() noexcept {
  return true;
}

void HttpEngine::start(HttpRequest request, const void* owner, Done done) {
  check_headers(request.headers);
  loop_->start(std::move(request), owner, std::move(done));
}

void HttpEngine::cancel(const void* owner) noexcept {
  if (loop_->is_of_this_process()) loop_->cancel(owner);
}

std::pair<HttpRequest, HttpAnswer> HttpEngine::perform(HttpRequest request) {
  using Result = std::pair<HttpRequest, HttpAnswer>;
  const void* const owner = &request;
  return wait_for_answer<Result>(*this, owner, [&](auto done) {
    start(std::move(request), owner, [done](HttpRequest&& back, HttpAnswer&& answer) {
      done(Result(std::move(back), std::move(answer)));
    });
  });
}

HttpCounters HttpEngine::counters() const noexcept {
  return loop_->counters();
}

#endif

}  // namespace colonnade::io
