// See read_ahead.h.
#include "page/read_ahead.h"

#include <algorithm>

namespace colonnade::page {
namespace {

// Decoded pages that wait per thread that makes them: enough that none of them runs dry.
constexpr std::size_t decoded_ahead_per_thread = std::size_t{16} << 20;
constexpr std::size_t most_depth = 16;

}  // namespace

ReadAhead::ReadAhead(const ReadOptions& options, std::size_t best_request, unsigned helpers)
    : read_ahead_(options.read_ahead),
      memory_budget_(options.memory_budget),
      best_request_(best_request),
      decode_ahead_(helpers > 0),
      decoded_for_all_threads_(decoded_ahead_per_thread * (helpers + 1)) {}

void ReadAhead::add(Size page) noexcept {
  planned_.sealed += page.sealed;
  planned_.decoded += page.decoded;
}

void ReadAhead::remove(Size page) noexcept {
  planned_.sealed -= page.sealed;
  planned_.decoded -= page.decoded;
}

void ReadAhead::clear() noexcept {
  planned_ = {};
  restart();
}

bool ReadAhead::has_room_for(Size page) const noexcept {
  if (planned_.sealed + page.sealed > most_.sealed) return false;
  return !decode_ahead_ || planned_.decoded + page.decoded <= most_.decoded;
}

bool ReadAhead::has_room_in_request(Size page, std::size_t planned, std::size_t streams) const noexcept {
  const std::size_t budget = memory_budget_ / 2;
  return planned_.sealed + page.sealed <= budget &&
         (!decode_ahead_ || planned_.decoded + page.decoded <= budget) &&
         planned + page.sealed <= budget / std::max<std::size_t>(streams, 1);
}

bool ReadAhead::is_low() const noexcept {
  return planned_.sealed <= most_.sealed / 2 && (!decode_ahead_ || planned_.decoded <= most_.decoded / 2);
}

std::size_t ReadAhead::request_size(std::size_t best) const noexcept {
  return std::min(best, depth_ * read_ahead_);
}

// The depth at which requests have the size that is best for the file. Reading that goes on has it at once:
// large requests cost a server much less per byte.
std::size_t ReadAhead::depth_of_requests() const noexcept {
  return std::min(best_request_ / std::max<std::size_t>(read_ahead_, 1), most_depth);
}

void ReadAhead::adapt(bool goes_on, std::size_t streams, std::uint64_t waits,
                      std::size_t line_needs) noexcept {
  bool more = goes_on && decode_ahead_;
  if (waits > waits_seen_ + streams) {
    waits_seen_ = waits;
    more = true;
  }
  if (more) depth_ = std::min(2 * depth_, most_depth);
  if (goes_on) depth_ = std::max(depth_, depth_of_requests());
  std::size_t wanted = 0;
  if (__builtin_mul_overflow(read_ahead_, depth_ * streams, &wanted)) wanted = memory_budget_;
  const std::size_t most = memory_budget_ / 2;
  most_.sealed = std::min(std::max(wanted, line_needs), most);
  most_.decoded = std::min<std::uint64_t>(most_.sealed, decoded_for_all_threads_);
  // Pages that are still on their way count as decoded ones.
  if (line_needs > decoded_for_all_threads_ / 4) most_.decoded = std::min(4 * line_needs, most);
}

}  // namespace colonnade::page
