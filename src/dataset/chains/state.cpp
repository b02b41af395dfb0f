// See state.h.
#include "dataset/chains/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "colonnade/error.h"
#include "dataset/schema_walk.h"

namespace colonnade::dataset {
namespace {

ChainFiles::Limits limits_of(const ChainOptions& options) {
  if (options.max_open_files == 0)
    throw Error(ErrorKind::usage, "a chain with no open file cannot be read", "max_open_files of 1 or more");
  return {.kept_open = options.max_open_files};
}

}  // namespace

ChainState::ChainState(std::string_view name, std::span<const NamedFile> files, const ChainOptions& options)
    : max_open_(options.max_open_files),
      missing_(options.missing),
      files_(std::string(name), files, options.read, limits_of(options)),
      schema_(merge_schemas(files_, options.missing)),
      live_(files_.size()),
      of_closed_(std::make_shared<page::ReadCounters>()) {}

ChainState::ChainState(ChainIndex index, const ChainOptions& options)
    : max_open_(options.max_open_files),
      missing_(options.missing),
      files_({}, std::move(index), options.read, limits_of(options)),
      schema_(merge_schemas(files_, options.missing)),
      live_(files_.size()),
      of_closed_(std::make_shared<page::ReadCounters>()) {}

ChainState::ChainState(const std::shared_ptr<const ChainState>& whole, std::string_view attribute_set)
    : max_open_(whole->max_open_),
      missing_(whole->missing_),
      files_(std::shared_ptr<const ChainFiles>(whole, &whole->files_), std::string(attribute_set),
             {.kept_open = max_open_}),
      schema_(merge_schemas(files_, missing_)),
      live_(files_.size()),
      of_closed_(std::make_shared<page::ReadCounters>()) {}

ChainState::~ChainState() = default;

std::shared_ptr<page::PageSource> ChainState::find_open(std::size_t file) {
  return live_[file].lock();
}

ChainFiles::OpenFile ChainState::open(std::size_t file) {
  if (!ahead_.opened.valid() || ahead_.file != file) return files_.acquire(file);
  return std::exchange(ahead_, {}).opened.get();
}

std::shared_ptr<page::PageSource> ChainState::source(std::size_t file) {
  std::shared_ptr<page::PageSource> source = find_open(file);
  if (!source) {
    while (recent_.size() >= max_open_) recent_.pop_front();
    const ChainFiles::OpenFile opened = open(file);
    // The last owner to release it adds its counters.
    source = {opened->open_again(files_.options()).release(), [sum = of_closed_](page::PageSource* done) {
                *sum += done->counters();
                delete done;
              }};
    live_[file] = source;
  }
  remember(file, source);
  return source;
}

void ChainState::remember(std::size_t file, const std::shared_ptr<page::PageSource>& source) {
  if (!recent_.empty() && recent_.back().file == file) return;
  std::erase_if(recent_, [&](const Recent& recent) { return recent.file == file; });
  while (recent_.size() >= max_open_) recent_.pop_front();
  recent_.push_back({file, source});
}

void ChainState::expect(std::size_t file) {
  const bool is_busy = ahead_.opened.valid() && (ahead_.file == file || !ahead_.opened.is_ready());
  if (is_busy || file >= files_.size() || files_[file].entries == 0 || find_open(file) ||
      !files_.is_closed(file))
    return;
  try {
    ahead_ = {file, LaterResult<ChainFiles::OpenFile>::of([this, file] { return files_.acquire(file); })};
  } catch (const std::exception&) {  // no thread: it is opened when it is read
    ahead_ = {};
  }
}

bool ChainState::is_open(std::size_t file) {
  if (find_open(file)) return true;
  if (ahead_.opened.valid() && ahead_.file == file) return ahead_.opened.is_ready();
  return !files_.is_closed(file) && files_.keeps_open();
}

std::uint32_t ChainState::find_field(std::string_view path) const {
  if (!finder_) finder_.emplace(descriptor(), context());
  return finder_->find(path);
}

ErrorContext ChainState::context() const {
  const std::string more = files_.size() > 1 ? fmt::format(" and {} more", files_.size() - 1) : "";
  return {.uri = files_[0].uri + more, .data_set = files_[0].data_set};
}

ReadMetrics ChainState::metrics() const {
  page::ReadCounters sum = *of_closed_;
  std::string cache;
  for (const auto& live : live_) {
    const auto source = live.lock();
    if (!source) continue;
    sum += source->counters();
    if (cache.empty()) cache = source->cache_state();
  }
  return {.requests = sum.requests,
          .bytes = sum.bytes,
          .pages = sum.pages,
          .metadata_bytes = sum.metadata_bytes + files_.metadata_bytes(),
          .read_over_bytes = sum.read_over_bytes,
          .prefetched_used = sum.prefetched_used,
          .prefetched_unused = sum.prefetched_unused,
          .peak_ahead_bytes = sum.peak_ahead_bytes,
          .seconds_waiting = sum.seconds_waiting,
          .seconds_decoding = sum.seconds_decoding,
          .cache_pages = sum.cache_pages,
          .cache_bytes = sum.cache_bytes,
          .cache_added = sum.cache_added,
          .cache_dropped = sum.cache_dropped,
          .cache = std::move(cache)};
}

}  // namespace colonnade::dataset
