// A job is in the deque of its sealer and in a task of the pool; the thread that claims it first seals
// it.
#include "page/page_sealer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "codec/column_codec.h"

namespace colonnade::page {
namespace {

constexpr std::size_t pages_per_thread = 4;
constexpr std::size_t most_pages = 64;
constexpr std::size_t most_bytes = std::size_t{64} << 20;

}  // namespace

PageSealer::PageSealer(const codec::CompressionSettings& compression, ThreadPool& pool)
    : compression_(compression), pool_(pool) {}

PageSealer::~PageSealer() {
  for (const auto& job : jobs_)
    if (!job->claim()) job->state.wait(State::taken);
}

bool PageSealer::Job::claim() noexcept {
  State expected = State::waiting;
  return state.compare_exchange_strong(expected, State::taken);
}

void PageSealer::Job::seal() noexcept {
  try {
    thread_local AlignedBuffer packed;
    ByteSpan content{page.values, codec::packed_size(page.encoding, page.elements)};
    if (!codec::is_memory_image(page.encoding, page.element)) {
      packed.resize(content.size());
      codec::encode(page.encoding, page.element, page.values, page.elements, packed.span());
      content = packed.span();
    }
    codec::compress(compression, content, page.block, codec::plane_size(page.encoding, page.elements));
    page.sum = codec::xxh3(page.block.span());
  } catch (...) {
    page.failure = std::current_exception();
  }
  state = State::done;
  state.notify_all();
}

void PageSealer::submit(PageBeingSealed page) {
  auto job = std::make_shared<Job>();
  job->page = std::move(page);
  job->compression = compression_;
  bytes_ += job->page.memory.size();
  jobs_.push_back(job);
  try {
    pool_.submit([job = std::move(job)] {
      if (job->claim()) job->seal();
    });
  } catch (const std::exception&) {  // take() seals it
  }
}

bool PageSealer::full() const noexcept {
  const std::size_t most = std::min(most_pages, pages_per_thread * (pool_.size() + std::size_t{1}));
  return jobs_.size() >= most || bytes_ >= most_bytes;
}

PageBeingSealed& PageSealer::newest() noexcept {
  return jobs_.back()->page;
}

PageBeingSealed PageSealer::take() {
  const std::shared_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  if (job->claim())
    job->seal();
  else
    job->state.wait(State::taken);
  bytes_ -= job->page.memory.size();
  return std::move(job->page);
}

}  // namespace colonnade::page
