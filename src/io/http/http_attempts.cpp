// See http_attempts.h.
#include "io/http/http_attempts.h"

#include <random>
#include <set>
#include <string>

namespace colonnade::io {
namespace {

double random_chance() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

// Whether the server was asked and its answer is not known.
bool is_no_word(const HttpAnswer& answer) noexcept {
  return answer.was_asked && answer.failure != HttpFailure::none;
}

// A mistyped host is reported after about a second, not after the timeout.
constexpr unsigned most_attempts_at_unknown_servers = 5;

// The servers that have answered this thread, which is an engine's.
std::set<std::string>& known_servers() {
  thread_local std::set<std::string> servers;
  return servers;
}

// "https://host:port"
std::string server_of(const std::string& url) {
  const auto host = url.find("://");
  return host == std::string::npos ? url : url.substr(0, url.find('/', host + 3));
}

}  // namespace

void HttpAttempts::send(std::chrono::milliseconds delay) {
  HttpRequest next = request(retry_.time_left(HttpRetry::Clock::now() + delay));
  next.delay = delay;
  server_ = server_of(next.url);
  engine_->start(std::move(next), owner_, [self = shared_from_this()](HttpRequest&&, HttpAnswer&& answer) {
    self->take(std::move(answer));
  });
}

void HttpAttempts::take(HttpAnswer&& answer) {
  Verdict verdict = Verdict::final;
  try {
    if (answer.status != 0) known_servers().insert(server_);
    may_be_done_ = may_be_done_ || is_no_word(answer) || answer.status >= 500;
    verdict = judge(answer);
    if (verdict == Verdict::next) return send(std::chrono::milliseconds(0));
    if (verdict == Verdict::pass) {
      // Only attempts that move bytes get time for them; an answer that refuses moves none.
      const bool has_moved = answer.sent > 0 || (answer.status != 0 && answer.status < 300);
      const auto wait = retry_.failed(HttpRetry::Clock::now(), answer.took, retry_after(answer),
                                      random_chance(), has_moved);
      const bool may_be_none = answer.failure == HttpFailure::refused && !known_servers().contains(server_);
      if (wait && !(may_be_none && retry_.attempts() >= most_attempts_at_unknown_servers)) return send(*wait);
    }
  } catch (const std::bad_alloc&) {
    answer.failure = HttpFailure::no_memory;
  } catch (const std::exception& error) {
    answer.failure = HttpFailure::other;
    answer.problem = error.what();
  }
  HttpOutcome outcome;
  outcome.may_be_done = may_be_done_ || is_no_word(answer);
  outcome.attempts = retry_.attempts() + (verdict == Verdict::pass ? 0 : 1);
  outcome.took = retry_.elapsed(HttpRetry::Clock::now());
  finish(std::move(answer), outcome);
}

}  // namespace colonnade::io
