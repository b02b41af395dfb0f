// See http_transfer.h.
#ifdef COLONNADE_HAS_HTTP
#include "io/http/http_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/lower_case.h"

namespace colonnade::io {
namespace {

// Of a transfer, in bytes. What 16 of them receive into should stay in the cache until it is copied out.
constexpr long receive_buffer = 128 << 10;
constexpr long send_buffer = 512 << 10;
constexpr std::size_t most_headers = 256;

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

// What the other side says the next time, too. libcurl has one code for it and for a connection that was
// lost.
bool is_refusal_of_tls(std::string_view problem) noexcept {
  constexpr std::array<std::string_view, 10> refusals{
      "wrong version number", "alert handshake failure", "alert certificate", "alert bad certificate",
      "alert unknown ca", "alert protocol version",
      // ours, of what the server offers
      "unsupported protocol", "legacy sigalg", "key too small", "md too weak"};
  return std::ranges::any_of(
      refusals, [&](std::string_view refusal) { return problem.find(refusal) != std::string_view::npos; });
}

}  // namespace

HttpEnvironment HttpEnvironment::read() {
  const auto get = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  HttpEnvironment environment;
  environment.ca_file = get("SSL_CERT_FILE");
  if (environment.ca_file.empty()) environment.ca_file = get("CURL_CA_BUNDLE");
  environment.ca_folder = get("SSL_CERT_DIR");
  return environment;
}

HttpTransfer::HttpTransfer(HttpRequest&& the_request, const void* the_owner, HttpEngine::Done&& the_done)
    : request(std::move(the_request)),
      owner(the_owner),
      done(std::move(the_done)),
      ready(Clock::now() + request.delay) {}

// ---- The request

void HttpTransfer::configure(const HttpEnvironment& environment) {
  ::curl_easy_reset(easy);
  ::curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  ::curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  ::curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, problem_);
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  ::curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is a name like others
  ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  ::curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, receive_buffer);
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  if (request.direct) ::curl_easy_setopt(easy, CURLOPT_PROXY, "");
  set_method();
  set_headers();
  set_security(environment);
  set_timeouts();
}

void HttpTransfer::set_method() {
  const HttpMethod method = request.method;
  if (method == HttpMethod::get) return;
  if (method == HttpMethod::head) {
    ::curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, name_of(method));
  if (method == HttpMethod::remove || method == HttpMethod::move) return;
  ::curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  ::curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, send_buffer);
  ::curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body_size()));
  ::curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
  ::curl_easy_setopt(easy, CURLOPT_READDATA, this);
  ::curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
  ::curl_easy_setopt(easy, CURLOPT_SEEKDATA, this);
}

void HttpTransfer::set_headers() {
  const auto add = [&](const std::string& line) {
    curl_slist* longer = ::curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers_ = longer;
  };
  // "Name;" is how libcurl is told to send an empty one.
  for (const auto& [name, value] : request.headers)
    add(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  // Waiting for a "100 Continue" costs a round trip.
  add(request.waits_for_go_ahead ? "Expect: 100-continue" : "Expect:");
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
}

void HttpTransfer::set_security(const HttpEnvironment& environment) const {
#if LIBCURL_VERSION_NUM >= 0x075500
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  const std::string& file = request.ca_file.empty() ? environment.ca_file : request.ca_file;
  if (!file.empty()) ::curl_easy_setopt(easy, CURLOPT_CAINFO, file.c_str());
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

void HttpTransfer::set_timeouts() const {
  const auto at_least_one = [](auto duration) {
    return static_cast<long>(std::max<decltype(duration.count())>(duration.count(), 1));
  };
  const auto stall = std::chrono::ceil<std::chrono::seconds>(request.stall_timeout);
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, at_least_one(request.connect_timeout));
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, at_least_one(stall));
  ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, at_least_one(request.timeout));
}

// ---- What libcurl calls

std::size_t HttpTransfer::on_body(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  try {
    return static_cast<HttpTransfer*>(transfer)->take(data, count);
  } catch (...) {  // the transfer fails
    static_cast<HttpTransfer*>(transfer)->lacks_memory_ = true;
    return 0;
  }
}

std::size_t HttpTransfer::on_header(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  try {
    static_cast<HttpTransfer*>(transfer)->take_header({data, count});
    return count;
  } catch (...) {  // the transfer fails
    static_cast<HttpTransfer*>(transfer)->lacks_memory_ = true;
    return 0;
  }
}

std::size_t HttpTransfer::on_upload(char* data, std::size_t, std::size_t count, void* transfer) noexcept {
  return static_cast<HttpTransfer*>(transfer)->give(data, count);
}

// libcurl begins again when a kept connection turns out to be closed.
int HttpTransfer::on_rewind(void* transfer, curl_off_t offset, int origin) noexcept {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<HttpTransfer*>(transfer)->sent_ = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t HttpTransfer::body_size() const noexcept {
  std::size_t size = request.text.size();
  for (ByteSpan part : request.parts) size += part.size();
  return size;
}

void HttpTransfer::begin_body() {
  body_begun_ = true;
  long status = 0;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_off_t length = -1;
  ::curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  const bool fits = request.into_status == 206 && status == 200 && length >= 0 &&
                    static_cast<std::uint64_t>(length) == request.into.size();
  goes_into_ = !request.into.empty() && (status == request.into_status || fits);
  if (!goes_into_ && request.whole_body && length > 0 &&
      static_cast<std::uint64_t>(length) > request.max_body)
    request.max_body = 0;
  else if (!goes_into_ && length > 0)
    answer.body.reserve(std::min<std::size_t>(static_cast<std::size_t>(length), request.max_body));
}

// The bytes that were taken; fewer than all end the transfer.
std::size_t HttpTransfer::take(const char* data, std::size_t size) {
  if (!body_begun_) begin_body();
  if (goes_into_ && size > request.into.size() - answer.written) {
    too_large_ = true;
    return 0;
  }
  if (goes_into_) {
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

std::size_t HttpTransfer::give(char* data, std::size_t size) {
  std::size_t given = 0;
  std::size_t begin = 0;  // of the part within the body
  const auto copy = [&](ByteSpan part) {
    const std::size_t end = begin + part.size();
    if (sent_ < end && given < size) {
      const std::size_t count = std::min(end - sent_, size - given);
      std::memcpy(data + given, part.data() + (sent_ - begin), count);
      given += count;
      sent_ += count;
    }
    begin = end;
  };
  copy(as_bytes(request.text));
  for (ByteSpan part : request.parts) copy(part);
  return given;
}

void HttpTransfer::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // what came before was of an interim answer
    answer.headers.clear();
    has_head_ = false;
  }
  if (line == "\r\n" || line == "\n") has_head_ = true;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || answer.headers.size() >= most_headers) return;
  std::string name = lower_case(line.substr(0, colon));
  line.remove_prefix(colon + 1);
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  answer.headers.emplace_back(std::move(name), first == std::string_view::npos
                                                   ? std::string()
                                                   : std::string(line.substr(first, last - first + 1)));
}

// ---- The answer

// Bytes of the request, on whatever connection. (libcurl has one code for an address that it does not know to
// use and for an answer that is not HTTP.)
bool HttpTransfer::was_sent() const noexcept {
  long size = 0;
  ::curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &size);
  return size > 0;
}

void HttpTransfer::conclude(CURLcode code) noexcept {
  try {
    take_outcome(code);
  } catch (const std::exception&) {
    lacks_memory_ = true;
  }
  if (lacks_memory_) answer.failure = HttpFailure::no_memory;
}

void HttpTransfer::take_outcome(CURLcode code) {
  long status = 0;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  answer.failure = failure_of(code);
  answer.was_asked = was_sent();
  if (code == CURLE_UNSUPPORTED_PROTOCOL && answer.was_asked) answer.failure = HttpFailure::dropped;
  // To libcurl, a head that breaks off is an answer with the lines that came, and without a body.
  const bool breaks_off = code == CURLE_OK && !has_head_;
  if (breaks_off) answer.failure = HttpFailure::dropped;
  answer.sent = sent_;
  answer.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
  if (too_large_) {
    answer.failure = HttpFailure::too_large;
    answer.problem = fmt::format("more than the {} bytes that were requested", request.into.size());
    return;
  }
  // A server that refuses may stop listening before all was sent.
  if (answer.cut_off || (code == CURLE_SEND_ERROR && status >= 400)) answer.failure = HttpFailure::none;
  if (code == CURLE_OUT_OF_MEMORY)  // older versions of libcurl say so of a header that they find too long
    answer.problem = "there is no memory for the answer, or a line of its head is too long";
  else if (breaks_off)
    answer.problem = "the connection was closed within the head of the answer";
  else if (answer.failure != HttpFailure::none)
    answer.problem = problem_[0] != '\0' ? problem_ : ::curl_easy_strerror(code);
  if (answer.failure == HttpFailure::dropped && is_refusal_of_tls(answer.problem))
    answer.failure = HttpFailure::tls;
}

}  // namespace colonnade::io

#endif
