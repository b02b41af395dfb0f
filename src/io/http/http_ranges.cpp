// See http_ranges.h.
#include "io/http/http_ranges.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "base/aligned_buffer.h"
#include "colonnade/error.h"
#include "io/local/local_system.h"
#include "io/read_scheduler.h"

namespace colonnade::io {

std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) noexcept {
  constexpr std::string_view unit = "bytes ";
  const std::size_t slash = text.find('/');
  if (!text.starts_with(unit) || slash == std::string_view::npos) return std::nullopt;
  ContentRange range;
  range.size = whole_number(text.substr(slash + 1));
  const std::string_view part = text.substr(unit.size(), slash - unit.size());
  if (part == "*") return range;
  const std::size_t dash = part.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  range.first = whole_number(part.substr(0, dash));
  range.last = whole_number(part.substr(dash + 1));
  if (!range.first || !range.last || *range.last < *range.first || (range.size && *range.last >= *range.size))
    return std::nullopt;
  return range;
}

std::string range_header(std::uint64_t offset, std::size_t count) {
  return fmt::format("bytes={}-{}", offset, offset + count - 1);
}

std::string answered_without_range(int status, std::string_view what) {
  return fmt::format("the server answered the request for a range with status {}{}", status,
                     status == 200 ? fmt::format(" and the whole {}", what)
                                   : std::string(" in place of 206 (partial content)"));
}

std::optional<FoundWindow> window_in(const HttpAnswer& answer) {
  if (!answer.has_status(206) || answer.cut_off) return std::nullopt;
  const auto range = parse_content_range(answer.header_or_empty("content-range"));
  if (!range || !range->first || !range->size || answer.body.size() != *range->last - *range->first + 1)
    return std::nullopt;
  return FoundWindow{{*range->first, answer.body}, *range->size, answer.header_or_empty("etag")};
}

namespace {

// What made a request fail, with the place that it was for.
std::exception_ptr with_place(const std::exception_ptr& failure, const std::string& uri,
                              std::uint64_t offset) {
  try {
    with_context({.uri = uri, .offset = offset}, [&] { std::rethrow_exception(failure); });
  } catch (...) {
    return std::current_exception();
  }
  return failure;
}

// Checks ranges, answers what needs no request and names the place in errors.
class RangedQueue final : public ReadQueue {
 public:
  RangedQueue(const RangedFile& file, std::unique_ptr<ReadQueue> requests)
      : file_(&file), requests_(std::move(requests)) {}

  void submit(std::uint64_t id, std::uint64_t offset, MutableByteSpan into) override {
    try {
      check_range(file_->uri(), file_->size(), offset, into.size());
    } catch (const Error&) {
      add_done(id, std::current_exception());
      return;
    }
    if (into.empty() || file_->copy_from_windows(offset, into)) {
      add_done(id);
      return;
    }
    begin();
    try {
      asked_.emplace(next_, Asked{id, offset});
      requests_->submit(next_, offset, into);
    } catch (...) {
      asked_.erase(next_);
      withdraw();
      throw;
    }
    ++next_;
  }

 private:
  struct Asked {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
  };

  void fail_in_child() const override {
    with_context({.uri = file_->uri()}, [this] { ReadQueue::fail_in_child(); });
  }

  void progress(bool block) override {
    drain(*requests_, block, [this](const Completion& answer) {
      const auto found = asked_.find(answer.id);
      const Asked asked = found->second;
      asked_.erase(found);
      finish(asked.id, answer.failure ? with_place(answer.failure, file_->uri(), asked.offset) : nullptr,
             answer.when);
    });
  }

  const RangedFile* file_;
  std::unique_ptr<ReadQueue> requests_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by the id in requests_: those of callers may repeat
  std::uint64_t next_ = 0;
};

void read_in_pieces(ReadQueue& queue, const IoTraits& traits, std::uint64_t offset, MutableByteSpan into) {
  for (std::size_t at = 0; at < into.size(); at += traits.max_request) {
    while (queue.in_flight() >= traits.concurrency) queue.wait_for_some();
    const std::size_t count = std::min(into.size() - at, traits.max_request);
    queue.submit(0, offset + at, into.subspan(at, count));
  }
}

}  // namespace

FileWindows::FileWindows(std::vector<FileWindow> windows, std::uint64_t file_size) : file_size_(file_size) {
  if (windows.empty()) return;
  // Of as many bytes whether the server knows ranges or not.
  const Bytes& begin = windows.front().bytes;
  begin_sum_ = fmt::format(" {:016x}", XXH3_64bits(begin.data(), std::min(begin.size(), head_window)));
  windows_ = std::make_shared<const Windows>(std::move(windows));
}

std::string FileWindows::version(std::string said) const {
  return said.empty() ? said : std::move(said) + begin_sum_;
}

void FileWindows::opened() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (windows_ == nullptr || windows_->front().bytes.size() >= file_size_) return;
  }
  drop();
}

void FileWindows::drop() noexcept {
  std::shared_ptr<const Windows> gone;
  const std::lock_guard lock(mutex_);
  gone = std::move(windows_);
}

bool FileWindows::copy(std::uint64_t offset, MutableByteSpan into) const {
  std::shared_ptr<const Windows> windows;
  {
    const std::lock_guard lock(mutex_);
    windows = windows_;
  }
  if (windows == nullptr) return false;
  for (const FileWindow& window : *windows) {
    if (offset < window.offset || offset + into.size() > window.offset + window.bytes.size()) continue;
    std::copy_n(window.bytes.begin() + static_cast<std::ptrdiff_t>(offset - window.offset), into.size(),
                into.begin());
    return true;
  }
  return false;
}

RangedFile::RangedFile(std::string uri, std::uint64_t size, std::vector<FileWindow> windows)
    : uri_(std::move(uri)), size_(size), windows_(std::move(windows), size) {}

void RangedFile::read(std::uint64_t offset, MutableByteSpan into) const {
  check_range(uri_, size_, offset, into.size());
  if (into.empty() || copy_from_windows(offset, into)) return;
  const IoTraits numbers = traits();
  const std::size_t pieces = (into.size() + numbers.max_request - 1) / numbers.max_request;
  const auto depth = static_cast<unsigned>(std::min<std::size_t>(pieces, numbers.concurrency));
  const std::unique_ptr<ReadQueue> queue = open_queue(depth);
  read_in_pieces(*queue, numbers, offset, into);
  queue->wait_for_all();
}

void RangedFile::read_vector(std::span<const ReadRequest> requests) const {
  for (const ReadRequest& request : requests) check_range(uri_, size_, request.offset, request.into.size());
  const IoTraits numbers = traits();
  std::vector<AlignedBuffer> buffers;  // outlive the queue
  const std::unique_ptr<ReadQueue> queue = open_queue(numbers.concurrency);
  std::vector<WantedRange> small;
  std::vector<const ReadRequest*> small_requests;
  for (const ReadRequest& request : requests) {
    if (request.into.empty() || copy_from_windows(request.offset, request.into)) continue;
    if (request.into.size() >= numbers.worthwhile_gap) {
      read_in_pieces(*queue, numbers, request.offset, request.into);
    } else {
      small.push_back({request.offset, request.into.size()});
      small_requests.push_back(&request);
    }
  }
  const ReadPlan plan = plan_reads(small, numbers, numbers.max_request, size_);
  buffers.reserve(plan.extents.size());
  for (const ReadExtent& extent : plan.extents) {
    buffers.emplace_back(extent.size);
    read_in_pieces(*queue, numbers, extent.offset, buffers.back().span());
  }
  queue->wait_for_all();
  for (std::size_t i = 0; i < small.size(); ++i) {
    const ReadPlan::PlannedRange range = plan.ranges[i];
    const std::byte* from = buffers[range.extent].data() + range.position;
    std::copy_n(from, small[i].size, small_requests[i]->into.begin());
  }
}

std::unique_ptr<ReadQueue> RangedFile::open_queue(unsigned depth) const {
  return std::make_unique<RangedQueue>(*this, open_requests(std::max(depth, 1u)));
}

}  // namespace colonnade::io
