// See http_engine.h. The loop owns libcurl's handles; all other threads only leave things in its inbox.
#include "io/http/http_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "base/process.h"
#include "io/http/http_attempts.h"

#ifdef COLONNADE_HAS_HTTP
#include <curl/curl.h>
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
  throw Error(ErrorKind::unsupported, "this build of Colonnade has no HTTP: libcurl or OpenSSL was missing",
              "install libcurl4-openssl-dev and libssl-dev and build again");
}
HttpEngine::~HttpEngine() = default;
HttpEngine& HttpEngine::shared() {
  static HttpEngine engine;
  return engine;
}
bool HttpEngine::is_built_in() noexcept {
  return false;
}
bool HttpEngine::is_of_this_process() const noexcept {
  return true;
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

using Clock = std::chrono::steady_clock;

// Of a transfer, in bytes. What 16 of them receive into should stay in the cache until it is copied out.
constexpr long receive_buffer = 128 << 10;
constexpr long send_buffer = 512 << 10;
constexpr std::size_t most_headers = 256;
constexpr std::size_t most_spare_handles = 64;

struct Environment {
  std::string ca_file;
  std::string ca_folder;

  static Environment read() {
    const auto get = [](const char* name) -> std::string {
      const char* value = std::getenv(name);
      return value == nullptr ? "" : value;
    };
    Environment environment;
    environment.ca_file = get("SSL_CERT_FILE");
    if (environment.ca_file.empty()) environment.ca_file = get("CURL_CA_BUNDLE");
    environment.ca_folder = get("SSL_CERT_DIR");
    return environment;
  }
};

void initialise_curl() {
  static const CURLcode code = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw Error(ErrorKind::resource, fmt::format("cannot start libcurl: {}", ::curl_easy_strerror(code)));
}

HttpFailure failure_of(CURLcode code) noexcept {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::refused;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFailure::timed_out;
    case CURLE_SSL_CONNECT_ERROR:  // most often a connection that was lost in the handshake
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY:
      return HttpFailure::dropped;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFailure::tls;
    default:
      return HttpFailure::other;
  }
}

// One request on its way, with what libcurl's callbacks need.
struct Transfer {
  HttpRequest request;
  const void* owner = nullptr;
  HttpEngine::Done done;
  Clock::time_point ready;  // earliest begin
  Clock::time_point begun;

  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  HttpAnswer answer;
  bool body_begun = false;
  bool goes_into = false;  // the answer's body, rather than to answer.body
  bool too_large = false;
  bool lacks_memory = false;
  std::size_t sent = 0;  // bytes of the request's body
  char problem[CURL_ERROR_SIZE] = {};

  Transfer(HttpRequest&& the_request, const void* the_owner, HttpEngine::Done&& the_done)
      : request(std::move(the_request)),
        owner(the_owner),
        done(std::move(the_done)),
        ready(Clock::now() + request.delay) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { ::curl_slist_free_all(headers); }

  std::size_t body_size() const noexcept {
    std::size_t size = request.text.size();
    for (ByteSpan part : request.parts) size += part.size();
    return size;
  }

  void begin_body() {
    body_begun = true;
    long status = 0;
    ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_off_t length = -1;
    ::curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    const bool fits = request.into_status == 206 && status == 200 && length >= 0 &&
                      static_cast<std::uint64_t>(length) == request.into.size();
    goes_into = !request.into.empty() && (status == request.into_status || fits);
    if (!goes_into && request.whole_body && length > 0 &&
        static_cast<std::uint64_t>(length) > request.max_body)
      request.max_body = 0;
    else if (!goes_into && length > 0)
      answer.body.reserve(std::min<std::size_t>(static_cast<std::size_t>(length), request.max_body));
  }

  // The bytes that were taken; fewer than all end the transfer.
  std::size_t take(const char* data, std::size_t size) {
    if (!body_begun) begin_body();
    if (goes_into && size > request.into.size() - answer.written) {
      too_large = true;
      return 0;
    }
    if (goes_into) {
      std::memcpy(request.into.data() + answer.written, data, size);
      answer.written += size;
      return size;
    }
    const std::size_t fits = std::min(size, request.max_body - answer.body.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    answer.body.insert(answer.body.end(), bytes, bytes + fits);
    answer.cut_off = fits < size;
    return fits;
  }

  std::size_t give(char* data, std::size_t size) {
    std::size_t given = 0;
    std::size_t begin = 0;  // of the part within the body
    const auto copy = [&](ByteSpan part) {
      const std::size_t end = begin + part.size();
      if (sent < end && given < size) {
        const std::size_t count = std::min(end - sent, size - given);
        std::memcpy(data + given, part.data() + (sent - begin), count);
        given += count;
        sent += count;
      }
      begin = end;
    };
    copy(as_bytes(request.text));
    for (ByteSpan part : request.parts) copy(part);
    return given;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) answer.headers.clear();  // of an interim answer
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || answer.headers.size() >= most_headers) return;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    line.remove_prefix(colon + 1);
    const std::size_t first = line.find_first_not_of(" \t");
    const std::size_t last = line.find_last_not_of(" \t\r\n");
    answer.headers.emplace_back(std::move(name), first == std::string_view::npos
                                                     ? std::string()
                                                     : std::string(line.substr(first, last - first + 1)));
  }

  void conclude(CURLcode code) noexcept {
    try {
      take_outcome(code);
    } catch (const std::exception&) {
      lacks_memory = true;
    }
    if (lacks_memory) answer.failure = HttpFailure::no_memory;
  }

  void take_outcome(CURLcode code) {
    long status = 0;
    ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    answer.failure = failure_of(code);
    answer.sent = sent;
    answer.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
    if (too_large) {
      answer.failure = HttpFailure::too_large;
      answer.problem = fmt::format("more than the {} bytes that were requested", request.into.size());
      return;
    }
    // A server that refuses may stop listening before all was sent.
    if (answer.cut_off || (code == CURLE_SEND_ERROR && status >= 400)) answer.failure = HttpFailure::none;
    if (answer.failure != HttpFailure::none)
      answer.problem = problem[0] != '\0' ? problem : ::curl_easy_strerror(code);
  }
};

std::size_t on_body(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  try {
    return static_cast<Transfer*>(transfer)->take(data, count);
  } catch (...) {  // the transfer fails
    static_cast<Transfer*>(transfer)->lacks_memory = true;
    return 0;
  }
}

std::size_t on_header(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  try {
    static_cast<Transfer*>(transfer)->take_header({data, count});
    return count;
  } catch (...) {  // the transfer fails
    static_cast<Transfer*>(transfer)->lacks_memory = true;
    return 0;
  }
}

std::size_t on_upload(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  return static_cast<Transfer*>(transfer)->give(data, count);
}

// libcurl begins again when a kept connection turns out to be closed.
int on_rewind(void* transfer, curl_off_t offset, int origin) noexcept {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Transfer*>(transfer)->sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

void set_method(CURL* easy, Transfer& transfer) {
  const HttpMethod method = transfer.request.method;
  if (method == HttpMethod::get) return;
  if (method == HttpMethod::head) {
    ::curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, name_of(method));
  if (method == HttpMethod::remove || method == HttpMethod::move) return;
  ::curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  ::curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, send_buffer);
  ::curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(transfer.body_size()));
  ::curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
  ::curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
  ::curl_easy_setopt(easy, CURLOPT_SEEKDATA, &transfer);
}

void set_headers(CURL* easy, Transfer& transfer) {
  const auto add = [&](const std::string& line) {
    curl_slist* longer = ::curl_slist_append(transfer.headers, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    transfer.headers = longer;
  };
  // "Name;" is how libcurl is told to send an empty one.
  for (const auto& [name, value] : transfer.request.headers)
    add(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  // Waiting for a "100 Continue" costs a round trip.
  add(transfer.request.waits_for_go_ahead ? "Expect: 100-continue" : "Expect:");
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
}

void set_security(CURL* easy, const Transfer& transfer, const Environment& environment) {
#if LIBCURL_VERSION_NUM >= 0x075500
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  const std::string& file = transfer.request.ca_file.empty() ? environment.ca_file : transfer.request.ca_file;
  if (!file.empty()) ::curl_easy_setopt(easy, CURLOPT_CAINFO, file.c_str());
  const HttpRequest& request = transfer.request;
  const std::string& folder = request.ca_folder.empty() ? environment.ca_folder : request.ca_folder;
  if (!folder.empty()) ::curl_easy_setopt(easy, CURLOPT_CAPATH, folder.c_str());
  if (!request.client_certificate.empty()) {
    ::curl_easy_setopt(easy, CURLOPT_SSLCERT, request.client_certificate.c_str());
    ::curl_easy_setopt(easy, CURLOPT_SSLKEY, request.client_key.c_str());
  }
  if (!request.netrc_file.empty()) {
    ::curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    ::curl_easy_setopt(easy, CURLOPT_NETRC_FILE, request.netrc_file.c_str());
  }
}

void set_timeouts(CURL* easy, const HttpRequest& request) {
  const auto at_least_one = [](auto duration) {
    return static_cast<long>(std::max<decltype(duration.count())>(duration.count(), 1));
  };
  const auto stall = std::chrono::ceil<std::chrono::seconds>(request.stall_timeout);
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, at_least_one(request.connect_timeout));
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, at_least_one(stall));
  ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, at_least_one(request.timeout));
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

void configure(Transfer& transfer, const Environment& environment) {
  CURL* easy = transfer.easy;
  ::curl_easy_reset(easy);
  ::curl_easy_setopt(easy, CURLOPT_URL, transfer.request.url.c_str());
  ::curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.problem);
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  ::curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is a name like others
  ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  ::curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, receive_buffer);
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  if (transfer.request.direct) ::curl_easy_setopt(easy, CURLOPT_PROXY, "");
  set_method(easy, transfer);
  set_headers(easy, transfer);
  set_security(easy, transfer, environment);
  set_timeouts(easy, transfer.request);
}

}  // namespace

class HttpEngine::Loop {
 public:
  explicit Loop(unsigned max_active)
      : max_active_(std::max(max_active, 1u)), environment_(Environment::read()) {
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
  using Transfers = std::list<Transfer>;
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
      thread_ = std::thread([this] { run(); });
    } catch (const std::exception& error) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw Error(ErrorKind::resource, fmt::format("cannot start the thread for HTTP: {}", error.what()),
                  "more threads or memory for this process (ulimit -u)");
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    while (take_inbox()) {
      begin_waiting();
      int running = 0;
      ::curl_multi_perform(multi_, &running);
      if (collect()) continue;  // there may be new ones
      ::curl_multi_poll(multi_, nullptr, 0, milliseconds_to_sleep(), nullptr);
    }
    for (Transfer& transfer : active_) release(transfer);
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
    const auto is_of_owner = [&](const Transfer& transfer) { return transfer.owner == owner; };
    waiting_.remove_if(is_of_owner);
    delayed_.remove_if(is_of_owner);
    for (Transfer& transfer : active_)
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

  bool begin(Transfer& transfer) {
    requests_.fetch_add(1, std::memory_order_relaxed);
    transfer.begun = Clock::now();
    if (spare_.empty()) {
      transfer.easy = ::curl_easy_init();
    } else {
      transfer.easy = spare_.back();
      spare_.pop_back();
    }
    if (transfer.easy == nullptr) return false;
    try {
      configure(transfer, environment_);
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
      const auto transfer = std::ranges::find(active_, message->easy_handle, &Transfer::easy);
      transfer->conclude(code);
      count(*transfer);
      release(*transfer);
      tell_last(transfer);
    }
    return any;
  }

  void count(const Transfer& transfer) {
    long connections = 0;
    ::curl_easy_getinfo(transfer.easy, CURLINFO_NUM_CONNECTS, &connections);
    connections_.fetch_add(static_cast<std::uint64_t>(connections), std::memory_order_relaxed);
    received_.fetch_add(transfer.answer.written + transfer.answer.body.size(), std::memory_order_relaxed);
  }

  // Takes it from libcurl, which touches its memory no more.
  void release(Transfer& transfer) noexcept {
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
    const auto first = std::ranges::min_element(delayed_, {}, &Transfer::ready)->ready;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count());
  }

  const Process process_;
  const unsigned max_active_;
  const Environment environment_;
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

bool HttpEngine::is_of_this_process() const noexcept {
  return loop_->is_of_this_process();
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
  return wait_for_answer<Result>([&](auto done) {
    start(std::move(request), nullptr, [done](HttpRequest&& back, HttpAnswer&& answer) {
      done(Result(std::move(back), std::move(answer)));
    });
  });
}

HttpCounters HttpEngine::counters() const noexcept {
  return loop_->counters();
}

#endif

}  // namespace colonnade::io
