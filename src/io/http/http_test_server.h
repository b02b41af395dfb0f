// A small HTTP server within the test program, for what real servers do not do on demand: refuse, answer too
// much, drop connections in the middle. One thread, one connection at a time.
#ifndef COLONNADE_IO_HTTP_HTTP_TEST_SERVER_H
#define COLONNADE_IO_HTTP_HTTP_TEST_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace colonnade::io {

struct TestRequest {
  std::string method;
  std::string target;  // path and query
  std::string head;    // all header lines, names in lower case
  std::string body;

  // Empty if there is none.
  std::string header(const std::string& lower_case_name) const {
    const std::size_t at = head.find("\n" + lower_case_name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + lower_case_name.size() + 3;
    return head.substr(begin, head.find('\r', begin) - begin);
  }
};

struct TestAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::size_t sent = static_cast<std::size_t>(-1);  // bytes of the body, before the connection is closed
  bool hangs = false;                               // nothing is answered until the client goes
  bool drops = false;                               // nothing is answered, the connection is closed
  bool stays = false;                               // the connection is kept for the next request
  std::string raw = {};                             // sent in place of an answer, if it is not empty
};

// A file as a good server gives it; tests spoil the answer.
struct HttpContent {
  std::string bytes = std::string(200'000, 'x');
  std::string etag = "\"one\"";
  std::string modified = {};

  TestAnswer answer_to(const TestRequest& request) const {
    const std::string range = request.header("range");
    if (range.empty()) return {.headers = {{"ETag", etag}}, .body = bytes};
    std::size_t first = 0;
    std::size_t last = bytes.size() - 1;
    if (range.starts_with("bytes=-")) {
      first = bytes.size() - std::min(bytes.size(), std::size_t{std::stoul(range.substr(7))});
    } else {
      first = std::stoul(range.substr(6));
      last = std::min(std::size_t{std::stoul(range.substr(range.find('-') + 1))}, last);
    }
    TestAnswer answer{.status = 206, .body = bytes.substr(first, last - first + 1)};
    answer.headers = {{"Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                                            std::to_string(bytes.size())}};
    if (!etag.empty()) answer.headers.emplace_back("ETag", etag);
    if (!modified.empty()) answer.headers.emplace_back("Last-Modified", modified);
    return answer;
  }
};

class HttpTestServer {
 public:
  using Handler = std::function<TestAnswer(const TestRequest& request)>;

  explicit HttpTestServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port for a test server");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~HttpTestServer() {
    stopping_ = true;
    thread_.join();
    ::close(listener_);
  }
  HttpTestServer(const HttpTestServer&) = delete;
  HttpTestServer& operator=(const HttpTestServer&) = delete;

  std::string port() const { return std::to_string(port_); }
  std::string url() const { return "http://127.0.0.1:" + port(); }
  std::vector<TestRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  // False when the server is to stop.
  bool wait_for(int descriptor) const {
    while (!stopping_) {
      pollfd what{descriptor, POLLIN, 0};
      if (::poll(&what, 1, 10) > 0) return true;
    }
    return false;
  }

  void run() {
    while (wait_for(listener_)) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      while (serve(connection)) continue;
      ::close(connection);
    }
  }

  bool receive(int connection, std::string& text) const {
    char buffer[65536];
    if (!wait_for(connection)) return false;
    const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  static bool send(int connection, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  bool receive_request(int connection, TestRequest& request) const {
    std::string text;
    std::size_t end = std::string::npos;
    while ((end = text.find("\r\n\r\n")) == std::string::npos)
      if (!receive(connection, text)) return false;
    request.method = text.substr(0, text.find(' '));
    const std::size_t target = request.method.size() + 1;
    request.target = text.substr(target, text.find(' ', target) - target);
    request.head = lower_names(text.substr(0, end + 2));
    const std::string length = request.header("content-length");
    request.body = text.substr(end + 4);
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    if (request.body.size() < size && request.header("expect") == "100-continue" &&
        !send(connection, "HTTP/1.1 100 Continue\r\n\r\n"))
      return false;
    while (request.body.size() < size)
      if (!receive(connection, request.body)) return false;
    return true;
  }

  static std::string lower_names(std::string head) {
    bool in_name = false;
    for (char& letter : head) {
      if (letter == '\n')
        in_name = true;
      else if (letter == ':')
        in_name = false;
      else if (in_name)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return head;
  }

  // True if the connection stays for another request.
  bool serve(int connection) {
    TestRequest request;
    if (!receive_request(connection, request)) return false;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const TestAnswer answer = handler_(request);
    if (answer.drops) return false;
    if (answer.hangs) {
      wait_for(connection);  // until it is closed
      return false;
    }
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " Test\r\n";
    if (!answer.stays) text += "Connection: close\r\n";
    bool has_length = false;
    for (const auto& [name, value] : answer.headers) {
      text += name + ": " + value + "\r\n";
      has_length = has_length || name == "Content-Length";
    }
    if (!has_length) text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
    text += "\r\n";
    if (!answer.raw.empty())
      text = answer.raw;
    else if (request.method != "HEAD")
      text += answer.body.substr(0, std::min(answer.sent, answer.body.size()));
    if (!send(connection, text)) return false;
    if (answer.stays) return true;
    // The client closes first, so that nothing that it sends is answered by a reset.
    ::shutdown(connection, SHUT_WR);
    std::string ignored;
    while (receive(connection, ignored)) {
    }
    return false;
  }

  const Handler handler_;
  int listener_ = -1;
  unsigned port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<TestRequest> requests_;
  std::thread thread_;
};

}  // namespace colonnade::io

#endif
