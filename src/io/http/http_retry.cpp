// See http_retry.h.
#include "io/http/http_retry.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace colonnade::io {

std::chrono::milliseconds HttpRetry::elapsed(Clock::time_point now) const noexcept {
  if (!begin_) return std::chrono::milliseconds(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - *begin_);
}

std::chrono::milliseconds HttpRetry::time_left(Clock::time_point now) const noexcept {
  return std::max(policy_.timeout + policy_.transfer - elapsed(now), std::chrono::milliseconds(1));
}

std::optional<std::chrono::milliseconds> HttpRetry::failed(
    Clock::time_point now, std::chrono::milliseconds took,
    std::optional<std::chrono::milliseconds> retry_after, double chance, bool has_moved) noexcept {
  if (!begin_) begin_ = now - took;
  ++attempts_;
  if (attempts_ >= policy_.most_attempts) return std::nullopt;
  const unsigned doublings = std::min(attempts_ - 1, 20u);
  const auto bound = std::min(policy_.first_bound * (std::int64_t{1} << doublings), policy_.largest_bound);
  auto wait =
      std::chrono::milliseconds(static_cast<std::int64_t>(chance * static_cast<double>(bound.count())));
  if (retry_after) wait += *retry_after;
  const auto timeout = has_moved ? policy_.timeout + policy_.transfer : policy_.timeout;
  if (elapsed(now) + wait >= timeout) return std::nullopt;
  return wait;
}

std::string_view certificate_advice(std::string_view problem) noexcept {
  const auto has = [&](std::string_view text) { return problem.find(text) != std::string_view::npos; };
  if (has("has expired")) return "ask those who run the server to have it renewed";
  if (has("not yet valid")) return "check the clock of this machine";
  if (has("does not match") || has("subject name")) return "a name of the server that is in its certificate";
  if (has("wrong version number")) return "http://, if it has no TLS; or check the port";
  return {};
}

bool may_pass(const HttpAnswer& answer) noexcept {
  switch (answer.failure) {
    case HttpFailure::refused:
    case HttpFailure::dropped:
    case HttpFailure::timed_out:
      return true;
    case HttpFailure::none:
      break;
    default:
      return false;
  }
  constexpr std::array statuses{408, 425, 429, 500, 502, 503, 504};
  return std::find(statuses.begin(), statuses.end(), answer.status) != statuses.end();
}

std::optional<std::chrono::milliseconds> retry_after(const HttpAnswer& answer) noexcept {
  const std::string* text = answer.header("retry-after");
  if (text == nullptr) return std::nullopt;
  unsigned seconds = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (code != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, 86'400u));
}

}  // namespace colonnade::io
