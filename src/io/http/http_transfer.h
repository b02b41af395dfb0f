// HttpTransfer: one request on its way, as libcurl sees it: its options, and what its callbacks take and
// give.
#ifndef COLONNADE_IO_HTTP_HTTP_TRANSFER_H
#define COLONNADE_IO_HTTP_HTTP_TRANSFER_H

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "io/http/http_engine.h"

namespace colonnade::io {

// Where certificates of authorities are, unless a request says so.
struct HttpEnvironment {
  std::string ca_file;
  std::string ca_folder;
  static HttpEnvironment read();
};

class HttpTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  HttpTransfer(HttpRequest&& the_request, const void* the_owner, HttpEngine::Done&& the_done);
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;
  ~HttpTransfer() { ::curl_slist_free_all(headers_); }

  // Gives `easy` the options of the request; it refers to the transfer until it is reset.
  void configure(const HttpEnvironment& environment);
  // Completes the answer.
  void conclude(CURLcode code) noexcept;

  HttpRequest request;
  const void* owner = nullptr;
  HttpEngine::Done done;
  Clock::time_point ready;  // earliest begin
  Clock::time_point begun;
  CURL* easy = nullptr;
  HttpAnswer answer;

 private:
  static std::size_t on_body(char* data, std::size_t, std::size_t count, void* transfer) noexcept;
  static std::size_t on_header(char* data, std::size_t, std::size_t count, void* transfer) noexcept;
  static std::size_t on_upload(char* data, std::size_t, std::size_t count, void* transfer) noexcept;
  static int on_rewind(void* transfer, curl_off_t offset, int origin) noexcept;

  void set_method();
  void set_headers();
  void set_security(const HttpEnvironment& environment) const;
  void set_timeouts() const;
  std::size_t body_size() const noexcept;
  void begin_body();
  std::size_t take(const char* data, std::size_t size);
  std::size_t give(char* data, std::size_t size);
  void take_header(std::string_view line);
  bool was_sent() const noexcept;
  void take_outcome(CURLcode code);

  curl_slist* headers_ = nullptr;
  bool has_head_ = false;  // the answer's head has come to its end
  bool body_begun_ = false;
  bool goes_into_ = false;  // the answer's body, rather than to answer.body
  bool too_large_ = false;
  bool lacks_memory_ = false;
  std::size_t sent_ = 0;  // bytes of the request's body
  char problem_[CURL_ERROR_SIZE] = {};
};

}  // namespace colonnade::io

#endif
