// See place_writer.h.
#include "container/object_store/place_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/environment.h"

namespace colonnade::container {
namespace {

// Per change: a failed put is retried once, and each late put of the past costs one more attempt.
constexpr int most_failures = 2;

}  // namespace

PlaceWriter::PlaceWriter(io::ObjectStore& store, std::uint64_t place,
                         std::optional<VersionedRecord<PlaceRecord>> found)
    : store_(store), place_(place) {
  if (!found) return;
  record_ = std::move(found->record);
  version_ = std::move(found->version);
}

bool PlaceWriter::look() {
  if (lost_) return false;
  current_ = false;
  std::optional<VersionedRecord<PlaceRecord>> found = read_place(store_, place_);
  std::optional<PlaceRecord> there;
  if (found) there = found->record;
  lost_ = there != record_ && (!there || std::find(open_.begin(), open_.end(), *there) == open_.end());
  // Open puts expect a record that is gone for good.
  if (lost_) open_.clear();
  record_ = std::move(there);
  version_.reset();
  if (found) version_ = std::move(found->version);
  current_ = true;
  return !lost_;
}

// Returns false if the put was refused.
bool PlaceWriter::put(const PlaceRecord& record) {
  const Bytes bytes = to_bytes(record);
  const std::optional<std::string> expected = version_;
  open_.push_back(record);
  current_ = false;
  if (!store_.put_if(directory_value(place_, place_key), bytes, expected)) return false;
  record_ = record;
  open_.clear();
  return true;
}

bool PlaceWriter::change(const std::function<void(PlaceRecord&)>& edit) {
  std::vector<PlaceRecord> tried;
  const auto is_done = [&] {
    return record_ && std::find(tried.begin(), tried.end(), *record_) != tried.end();
  };
  for (int failures = 0;;) {
    if (!current_) look();
    if (lost_) return false;
    if (is_done()) return true;
    PlaceRecord next = record_.value_or(PlaceRecord{});
    edit(next);
    next.stamp = environment().random_number();
    tried.push_back(next);
    try {
      if (put(next)) return true;
    } catch (const Error&) {
      const std::exception_ptr failure = std::current_exception();
      try {
        look();
      } catch (const Error&) {
        std::rethrow_exception(failure);
      }
      if (++failures == most_failures && !lost_ && !is_done()) std::rethrow_exception(failure);
    }
  }
}

}  // namespace colonnade::container
