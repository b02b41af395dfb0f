// Writing an object in S3 as a file. Parts of the file are in one of these states:
//
//   not begun --write()--> in memory --every byte given--> being sent --done--> sent
//
// The first part stays in memory until the file is closed, since formats write the head of a file last; so do
// parts with a hole. Memory is bounded by the parts that are being sent (S3WriteLimits) and by those that are
// being filled: one or two for each thread that writes. A thread that needs a new part while too many are
// being sent waits. Bytes are copied outside of the lock; requests move in the client's engine, without a
// thread here.
//
// A part that could not be sent stays in memory. One of these is sent again with each new part, and all are
// by close(), which can be repeated after it has failed. The file is given up only if they fill the memory.
// If all parts are sent and only their joining fails, a local file says what joins them (decision 83).
#include "io/s3/s3_file_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/process.h"
#include "colonnade/error.h"
#include "io/closing_again.h"
#include "io/kept_file.h"
#include "io/local/local_system.h"

namespace colonnade::io {
namespace {

// Which bytes of a part were given: stretches that do not touch each other.
class Coverage {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    auto next = stretches_.upper_bound(begin);
    if (next != stretches_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != stretches_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = stretches_.erase(next);
    }
    stretches_.emplace_hint(next, begin, end);
  }
  void cut(std::uint64_t end) {
    stretches_.erase(stretches_.lower_bound(end), stretches_.end());
    if (!stretches_.empty() && stretches_.rbegin()->second > end) stretches_.rbegin()->second = end;
  }
  bool is_whole(std::uint64_t size) const noexcept {
    return stretches_.size() == 1 && stretches_.begin()->first == 0 && stretches_.begin()->second == size;
  }
  // Calls with every stretch of [begin, end) that was not given.
  template <class Visit>
  void for_holes(std::uint64_t begin, std::uint64_t end, Visit&& visit) const {
    for (const auto& [first, last] : stretches_) {
      if (last <= begin) continue;
      if (first >= end) break;
      if (first > begin) visit(begin, first);
      begin = last;
    }
    if (begin < end) visit(begin, end);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> stretches_;  // begin: end
};

class S3Writer final : public WritableFile, public ClosingAgain {
 public:
  S3Writer(std::string uri, std::shared_ptr<const S3Client> client, std::string key,
           std::unique_ptr<S3Queue> queue, const S3WriteLimits& limits, S3Condition condition)
      : uri_(std::move(uri)),
        client_(std::move(client)),
        key_(std::move(key)),
        limits_(limits),
        condition_(std::move(condition)),
        queue_(std::move(queue)),
        upload_(with_context({.uri = uri_}, [&] { return client_->create_upload(key_); })) {}

  ~S3Writer() override { S3Writer::discard(); }

  const std::string& uri() const noexcept override { return uri_; }

  std::uint64_t size() const override {
    const std::lock_guard lock(mutex_);
    check_open();
    return size_;
  }

  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void write(std::uint64_t offset, ByteSpan bytes) override { write_vector(offset, {&bytes, 1}); }
  void write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) override;
  void truncate(std::uint64_t size) override;
  void flush() override {
    Lock lock(mutex_);
    check_open();
    take(false);
  }
  void sync() override { flush(); }
  bool appears_at_close() const noexcept override { return true; }
  void close() override;
  bool may_close_again() const noexcept override { return may_close_again_; }
  void discard() noexcept override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct PartBuffer {
    S3PartPlan::PartRange place;
    AlignedBuffer memory;
    Coverage given;
    unsigned fillers = 0;  // threads that copy into it
    bool sent = false;     // given to the queue
    bool failed = false;   // and not taken by the server
    S3Part uploaded = {};
  };

  void check_open() const {
    if (!queue_)
      throw Error(ErrorKind::usage, "the file is already closed", "use it before close()", {.uri = uri_});
  }
  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  void check_end(std::uint64_t offset, std::uint64_t count) const;
  PartBuffer& claim(const S3PartPlan::PartRange& place);
  void send(PartBuffer& part, std::uint64_t size);
  void send_if_whole(PartBuffer& part);
  void take(bool block);
  void keep(const Completion& answer);
  void send_failed(std::size_t most);
  std::uint64_t failed_bytes() const noexcept;
  void drop_behind(std::uint64_t size);
  void send_rest();
  void send_empty();
  void check_met(const std::optional<std::string>& etag) const;
  void complete();
  void keep_upload(std::span<const S3Part> parts);
  void remove_kept() noexcept {
    if (!kept_.empty()) ::unlink(std::exchange(kept_, {}).c_str());
  }
  bool has_upload(const std::string& upload) const;
  void note_if_gone();
  void let_arrive() noexcept;
  void abort(const std::string& upload) const;
  bool is_own() const noexcept { return process_.is_current(); }  // and not left by a parent
  bool is_sent(unsigned number) const noexcept {
    return number <= etags_.size() && etags_[number - 1].has_value();
  }

  const std::string uri_;
  const std::shared_ptr<const S3Client> client_;
  const std::string key_;
  const S3WriteLimits limits_;
  const S3Condition condition_;
  const Process process_;
  mutable std::mutex mutex_;
  std::unique_ptr<S3Queue> queue_;        // null: closed
  std::string upload_;                    // its id
  std::map<unsigned, PartBuffer> parts_;  // in memory, by number
  // By number - 1: of parts that were sent; empty while one is on its way.
  std::vector<std::optional<std::string>> etags_;
  std::vector<AlignedBuffer> spare_;  // of parts that are sent, for the next ones
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t size_ = 0;
  std::exception_ptr failure_;  // of a part
  bool may_close_again_ = false;
  std::string kept_;  // the path of what says how to join the parts
};

void S3Writer::check_end(std::uint64_t offset, std::uint64_t count) const {
  if (count == 0) return;
  const std::uint64_t last = offset + (count - 1);
  if (last < offset || last >= limits_.max_file || limits_.plan.at(last).number == 0)
    throw Error(ErrorKind::resource,
                fmt::format("{} bytes at {} exceed the {} bytes that an object in S3 can have", count, offset,
                            limits_.max_file),
                "several files", {.uri = uri_, .offset = offset});
}

// ---- writing

void S3Writer::write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) {
  std::uint64_t total = 0;
  for (ByteSpan part : parts) total += part.size();
  Lock lock(mutex_);
  check_open();
  take(false);
  check_end(offset, total);
  std::size_t index = 0, done = 0;  // what of `parts` is copied
  for (const std::uint64_t end = offset + total; offset < end;) {
    const S3PartPlan::PartRange place = limits_.plan.at(offset);
    PartBuffer& part = claim(place);
    const std::uint64_t begin = offset - place.begin;
    const std::uint64_t until = std::min(end, place.end()) - place.begin;
    ++part.fillers;
    lock.unlock();
    for (std::uint64_t at = begin; at < until;) {
      const ByteSpan rest = parts[index].subspan(done);
      const std::size_t count = std::min<std::uint64_t>(rest.size(), until - at);
      if (count > 0) std::memcpy(part.memory.data() + at, rest.data(), count);
      at += count;
      done += count;
      if (count == rest.size()) ++index, done = 0;
    }
    lock.lock();
    --part.fillers;
    part.given.add(begin, until);
    offset = place.begin + until;
    size_ = std::max(size_, offset);
    send_if_whole(part);
  }
}

// The part in memory, begun if need be.
S3Writer::PartBuffer& S3Writer::claim(const S3PartPlan::PartRange& place) {
  if (const auto found = parts_.find(place.number); found != parts_.end() && !found->second.sent)
    return found->second;
  if (is_sent(place.number))
    throw Error(ErrorKind::unsupported,
                fmt::format("the bytes from {} to {} were sent already and cannot be changed any more",
                            place.begin, place.end()),
                "write to a local file and copy it", {.uri = uri_, .offset = place.begin});
  const auto too_many = [&] {
    const std::size_t count = queue_->in_flight();
    return count >= limits_.uploads ||
           (count >= 2 && bytes_in_flight_ + failed_bytes() + place.size > limits_.bytes);
  };
  send_failed(1);
  while (too_many()) take(true);
  const auto is_full = [&] {
    const std::uint64_t failed = failed_bytes();
    return failed > 0 && failed + place.size > limits_.bytes;
  };
  if (is_full()) {
    send_failed(limits_.plan.max_parts);
    while (queue_->in_flight() > 0) take(true);
    if (is_full()) throw_failure();
  }
  PartBuffer part{.place = place};
  if (!spare_.empty()) {
    part.memory = std::move(spare_.back());
    spare_.pop_back();
  }
  part.memory.resize(static_cast<std::size_t>(place.size));
  return parts_.insert_or_assign(place.number, std::move(part)).first->second;
}

// The first part may be written again.
void S3Writer::send_if_whole(PartBuffer& part) {
  if (part.place.number > 1 && part.fillers == 0 && !part.failed && part.given.is_whole(part.place.size))
    send(part, part.place.size);
}

// Its first `size` bytes; holes are zeros.
void S3Writer::send(PartBuffer& part, std::uint64_t size) {
  while (queue_->in_flight() >= limits_.uploads) take(true);
  part.given.for_holes(0, size, [&](std::uint64_t begin, std::uint64_t end) {
    std::memset(part.memory.data() + begin, 0, end - begin);
  });
  part.memory.resize(static_cast<std::size_t>(size));
  if (etags_.size() < part.place.number) etags_.resize(part.place.number);
  const ByteSpan bytes = part.memory.span();
  with_context({.uri = uri_, .offset = part.place.begin}, [&] {
    part.uploaded.number = part.place.number;
    queue_->upload_part(part.place.number, key_, upload_, part.uploaded, {&bytes, 1});
  });
  part.sent = true;
  part.failed = false;
  etags_[part.place.number - 1].emplace();
  bytes_in_flight_ += size;
}

// Notes which parts have arrived; with `block` it waits for one.
void S3Writer::take(bool block) {
  std::array<Completion, 16> some;
  while (queue_->in_flight() > 0) {
    const std::size_t count = queue_->wait(some, std::exchange(block, false));
    for (std::size_t i = 0; i < count; ++i) keep(some[i]);
    if (count < some.size()) return;
  }
}

void S3Writer::keep(const Completion& answer) {
  const auto part = parts_.find(static_cast<unsigned>(answer.id));
  bytes_in_flight_ -= part->second.memory.size();
  if (answer.failure) {
    part->second.sent = false;
    part->second.failed = true;
    etags_[answer.id - 1].reset();
    try {
      with_context({.uri = uri_, .offset = part->second.place.begin},
                   [&] { std::rethrow_exception(answer.failure); });
    } catch (...) {
      failure_ = std::current_exception();
    }
    return;
  }
  etags_[answer.id - 1] = part->second.uploaded.etag;
  if (spare_.empty()) spare_.push_back(std::move(part->second.memory));
  parts_.erase(part);
}

// Those that could not be sent; the first ones first.
void S3Writer::send_failed(std::size_t most) {
  std::vector<unsigned> numbers;
  for (const auto& [number, part] : parts_)
    if (part.failed && part.fillers == 0 && numbers.size() < most) numbers.push_back(number);
  for (const unsigned number : numbers) send(parts_.at(number), parts_.at(number).memory.size());
}

std::uint64_t S3Writer::failed_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [number, part] : parts_)
    if (part.failed) bytes += part.memory.size();
  return bytes;
}

void S3Writer::truncate(std::uint64_t size) {
  Lock lock(mutex_);
  check_open();
  check_end(0, size);
  if (size < size_) drop_behind(size);
  size_ = size;
}

// What is behind the end may be sent a second time, as another part of the same number.
void S3Writer::drop_behind(std::uint64_t size) {
  while (queue_->in_flight() > 0) take(true);
  const S3PartPlan::PartRange last = limits_.plan.at(size);  // of the first byte that no longer exists
  const bool is_cut = last.begin < size;
  if (is_cut && is_sent(last.number))
    throw Error(ErrorKind::unsupported,
                fmt::format("the bytes from {} to {} were sent already and cannot be cut to {} any more",
                            last.begin, last.end(), size),
                "write to a local file and copy it", {.uri = uri_, .offset = size});
  const unsigned gone = is_cut ? last.number + 1 : last.number;
  parts_.erase(parts_.lower_bound(gone), parts_.end());
  if (etags_.size() >= gone) etags_.resize(gone - 1);
  if (const auto part = parts_.find(last.number); is_cut && part != parts_.end()) {
    part->second.given.cut(size - last.begin);
    part->second.failed = false;  // it is no longer whole
  }
}

// ---- reading back

void S3Writer::read(std::uint64_t offset, MutableByteSpan into) const {
  const Lock lock(mutex_);
  check_open();
  check_range(uri_, size_, offset, into.size());
  while (!into.empty()) {
    const S3PartPlan::PartRange place = limits_.plan.at(offset);
    const std::uint64_t begin = offset - place.begin;
    const std::size_t count = std::min<std::uint64_t>(into.size(), place.end() - offset);
    const MutableByteSpan piece = into.first(count);
    const auto part = parts_.find(place.number);
    if (part != parts_.end()) {
      std::memcpy(piece.data(), part->second.memory.data() + begin, count);
      part->second.given.for_holes(begin, begin + count, [&](std::uint64_t first, std::uint64_t last) {
        std::memset(piece.data() + (first - begin), 0, last - first);
      });
    } else if (is_sent(place.number)) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("the bytes from {} to {} were sent already and cannot be read before the file "
                              "is closed",
                              place.begin, place.end()),
                  "close the file and open it for reading", {.uri = uri_, .offset = offset});
    } else {
      std::memset(piece.data(), 0, count);
    }
    into = into.subspan(count);
    offset += count;
  }
}

// ---- the end

void S3Writer::close() {
  Lock lock(mutex_);
  if (!queue_) return;
  failure_ = nullptr;
  may_close_again_ = true;
  try {
    with_context({.uri = uri_}, [&] {
      if (size_ == 0)
        send_empty();
      else
        complete();
    });
  } catch (const Error&) {
    if (may_close_again_) throw;
    lock.unlock();
    discard();
    throw;
  } catch (...) {
    lock.unlock();
    discard();
    throw;
  }
  may_close_again_ = false;
  remove_kept();
  upload_.clear();
  queue_.reset();
  parts_.clear();
}

void S3Writer::check_met(const std::optional<std::string>& etag) const {
  if (!etag)
    throw Error(
        ErrorKind::io,
        "another program has created the object since this one was started; its object is left as it is",
        "write to another key, or look at what was written there, and write again to replace it",
        {.uri = uri_});
}

// An upload has at least one byte.
void S3Writer::send_empty() {
  if (!upload_.empty()) client_->abort_upload(key_, upload_);
  upload_.clear();
  check_met(client_->put(key_, {}, condition_));
}

void S3Writer::complete() {
  send_rest();
  while (queue_->in_flight() > 0) take(true);
  note_if_gone();
  throw_failure();
  std::vector<S3Part> parts;
  for (std::size_t i = 0; i < etags_.size(); ++i)
    parts.push_back({.number = static_cast<unsigned>(i + 1),
                     .etag = *etags_[i],
                     .size = limits_.plan.numbered(static_cast<unsigned>(i + 1)).size});
  try {
    check_met(client_->complete_upload(key_, upload_, parts, condition_));
  } catch (const Error& error) {
    keep_upload(parts);
    if (kept_.empty()) throw;
    throw Error(
        error.kind(), fmt::format("{}; the parts of the complete file stay in the bucket", error.problem()),
        fmt::format("{}; \"aws s3api complete-multipart-upload --cli-input-json 'file://{}'\" makes the "
                    "object of them, \"aws s3api abort-multipart-upload\" removes them",
                    error.advice().empty() ? "look at what the bucket has" : error.advice(), kept_),
        error.context());
  }
}

// What is sent completely may not come again. Writes what `aws s3api` needs to join the parts to a local
// file, unless they are gone, or there is no room for it.
void S3Writer::keep_upload(std::span<const S3Part> parts) {
  try {
    may_close_again_ = has_upload(upload_);
  } catch (const Error&) {  // the server may be back later, and has all of it
  }
  if (!may_close_again_) return remove_kept();
  if (!kept_.empty()) return;
  nlohmann::json joined = nlohmann::json::array();
  for (const S3Part& part : parts) joined.push_back({{"ETag", part.etag}, {"PartNumber", part.number}});
  const nlohmann::json request{{"Bucket", client_->bucket()},
                               {"Key", key_},
                               {"UploadId", upload_id_of_server(upload_)},
                               {"MultipartUpload", {{"Parts", std::move(joined)}}}};
  const std::string text = request.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  kept_ = keep_file(uri_, as_bytes(text));
}

// A part that the server refuses because there is no such upload is refused each time. The list of uploads is
// the server's word for it.
void S3Writer::note_if_gone() {
  if (!failure_) return;
  try {
    std::rethrow_exception(failure_);
  } catch (const Error& error) {
    if (error.problem().find(upload_is_gone) == std::string::npos) return;
  } catch (...) {
    return;
  }
  try {
    may_close_again_ = has_upload(upload_);
  } catch (const Error&) {
    return;  // the server may know more later
  }
  if (!may_close_again_) remove_kept();
}

bool S3Writer::has_upload(const std::string& upload) const {
  const auto all = client_->list_uploads(key_);
  return std::any_of(all.begin(), all.end(), [&](const auto& each) {
    return each.first == key_ && each.second == upload_id_of_server(upload);
  });
}

// Parts that were never written are zeros.
void S3Writer::send_rest() {
  const unsigned last = limits_.plan.at(size_ - 1).number;
  for (unsigned number = 1; number <= last && !failure_; ++number) {
    if (is_sent(number)) continue;
    const S3PartPlan::PartRange place = limits_.plan.numbered(number);
    PartBuffer& part = claim(place);
    send(part, std::min(place.size, size_ - place.begin));
  }
}

// Leaves nothing behind, as far as that works: there may be no server any more, and what is left of an upload
// can be found and removed later.
void S3Writer::discard() noexcept {
  const std::lock_guard lock(mutex_);
  if (queue_) let_arrive();
  queue_.reset();
  parts_.clear();
  spare_.clear();
  may_close_again_ = false;
  const std::string upload = std::exchange(upload_, {});
  if (upload.empty() || !kept_.empty() || !is_own()) return;
  try {
    abort(upload);
  } catch (...) {
    return;
  }
}

// An upload that is removed while a part of it arrives may come back with it. So parts are not cancelled but
// waited for, unless something is wrong or it takes long.
void S3Writer::let_arrive() noexcept {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  try {
    while (is_own() && queue_->in_flight() > 0 && !failure_ && std::chrono::steady_clock::now() < deadline) {
      take(false);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    return;
  }
}

// Of parts that were cancelled some may arrive all the same: S3 asks to look, and to abort again.
void S3Writer::abort(const std::string& upload) const {
  constexpr int attempts = 5;
  std::chrono::milliseconds pause{20};
  for (int attempt = 0; attempt < attempts; ++attempt, pause *= 3) {
    client_->abort_upload(key_, upload);
    if (!has_upload(upload)) return;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

S3PartPlan::PartRange S3PartPlan::at(std::uint64_t offset) const noexcept {
  std::uint64_t begin = 0, size = first_size;
  for (unsigned number = 1; number <= max_parts; number += parts_per_size) {
    if (offset - begin < size * parts_per_size) {
      const std::uint64_t index = (offset - begin) / size;
      if (number + index > max_parts) break;
      return {static_cast<unsigned>(number + index), begin + index * size, size};
    }
    begin += size * parts_per_size;
    size *= 2;
  }
  return {};
}

S3PartPlan::PartRange S3PartPlan::numbered(unsigned number) const noexcept {
  std::uint64_t begin = 0, size = first_size;
  unsigned first = 1;
  for (; number - first >= parts_per_size; first += parts_per_size) {
    begin += size * parts_per_size;
    size *= 2;
  }
  return {number, begin + (number - first) * size, size};
}

std::unique_ptr<WritableFile> make_s3_writer(const std::string& uri, std::shared_ptr<const S3Client> client,
                                             const std::string& key, std::unique_ptr<S3Queue> queue,
                                             const S3WriteLimits& limits, const S3Condition& condition) {
  return std::make_unique<S3Writer>(uri, std::move(client), key, std::move(queue), limits, condition);
}

}  // namespace colonnade::io
