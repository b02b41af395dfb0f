// See data_set.h.
#include "cache/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/aligned_buffer.h"
#include "cache/filler.h"
#include "cache/home_file.h"
#include "codec/compression.h"

namespace colonnade::cache {
namespace {

// Between runs, so that no request takes in two of them.
constexpr std::uint64_t hole = std::uint64_t{1} << 20;
constexpr std::uint64_t largest_kept = std::uint64_t{64} << 20;  // bytes of a page
// What is compared before the home is called slower than the origin.
constexpr std::uint64_t enough_to_tell = std::uint64_t{32} << 20;
constexpr double clearly_slower = 0.8;

std::uint64_t home_size(const PageDescriptor& page) noexcept {
  return page.locator.size + sum_size;
}

}  // namespace

void DataSet::Rate::add(std::uint64_t more, double seconds) noexcept {
  bytes.fetch_add(more, std::memory_order_relaxed);
  nanoseconds.fetch_add(static_cast<std::uint64_t>(std::max(seconds, 0.) * 1e9), std::memory_order_relaxed);
}

double DataSet::Rate::per_second() const noexcept {
  const std::uint64_t read = bytes.load(std::memory_order_relaxed);
  const std::uint64_t time = nanoseconds.load(std::memory_order_relaxed);
  return read < enough_to_tell || time == 0 ? 0 : static_cast<double>(read) / static_cast<double>(time) * 1e9;
}

std::shared_ptr<DataSet> open_data_set(const Settings& settings, const Identity& identity, Origin origin,
                                       Bytes metadata) {
  if (settings.store.empty() || identity.version.empty()) return nullptr;
  auto data_set = std::make_shared<DataSet>(Home::of(settings), identity, std::move(origin));
  if (!metadata.empty()) data_set->contents_->set_metadata(std::move(metadata));
  return data_set;
}

DataSet::DataSet(const std::shared_ptr<Home>& home, const Identity& identity, Origin origin)
    : home_(home),
      contents_(Contents::of(home, identity)),
      origin_(std::move(origin)),
      file_(make_home_file(*this)) {}

DataSet::~DataSet() {
  if (!home_->is_here()) return;
  try {
    home_->filler().finish(contents_);
  } catch (...) {  // what is not written is read again
  }
}

// ---- Where pages are

std::optional<PageList> DataSet::place(std::uint32_t column, std::size_t cluster) {
  if (cluster >= RunKey::most_clusters || home_->is_lost() || is_bypassed()) return std::nullopt;
  contents_->note_use(column, cluster);
  const std::vector<RunKey> runs = contents_->runs(column, cluster);
  if (runs.empty()) return std::nullopt;
  const PageList pages = origin_.pages(column, cluster);
  if (pages.empty()) return std::nullopt;
  PageList placed = pages;
  for (const RunKey& key : runs) {
    if (key.pages == 0 || key.first >= pages.size() || key.pages > pages.size() - key.first) continue;
    const RunRef run = address_run(column, key, pages);
    if (run->failed.load(std::memory_order_relaxed)) continue;
    std::uint64_t offset = 0;
    for (std::uint32_t i = 0; i < key.pages; ++i) {
      PageDescriptor page = pages[key.first + i];
      page.locator = {.size = page.locator.size, .offset = run->begin + offset};
      page.has_checksum = true;
      placed.set(key.first + i, page);
      offset = run->ends[i];
    }
  }
  return placed;
}

DataSet::RunRef DataSet::address_run(std::uint32_t column, const RunKey& key, const PageList& pages) {
  const std::unique_lock lock(mutex_);
  RunRef& known = by_key_[{column, key}];
  if (known != nullptr) return known;
  auto run = std::make_shared<Run>();
  run->column = column;
  run->key = key;
  run->begin = end_;
  std::uint64_t end = 0;
  run->ends.reserve(key.pages);
  for (std::uint32_t i = 0; i < key.pages; ++i) {
    const PageDescriptor page = pages[key.first + i];
    end += home_size(page);
    run->ends.push_back(end);
    run->origin.push_back(page);
  }
  end_ += (end + 2 * hole - 1) / hole * hole;
  known = run;
  runs_.push_back(std::move(run));
  return known;
}

// Null for an address that none was given.
DataSet::RunRef DataSet::run_at(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto after =
      std::ranges::upper_bound(runs_, address, {}, [](const RunRef& run) { return run->begin; });
  if (after == runs_.begin()) return nullptr;
  const RunRef& run = *(after - 1);
  return address - run->begin < run->ends.back() ? run : nullptr;
}

std::uint64_t DataSet::seal(std::uint64_t address) const {
  const RunRef run = run_at(address);
  if (run == nullptr) return 0;
  const auto page = std::ranges::upper_bound(run->ends, address - run->begin) - run->ends.begin();
  return seal_for(contents_->number(), run->column, run->key.cluster,
                  run->key.first + static_cast<std::uint64_t>(page));
}

bool DataSet::was_served(std::uint64_t address) const {
  const RunRef run = run_at(address);
  return run != nullptr && !run->failed.load(std::memory_order_relaxed);
}

void DataSet::note_damage(std::uint64_t address) {
  const RunRef run = run_at(address);
  if (run == nullptr || run->failed.exchange(true) || !home_->is_here()) return;
  contents_->lost(run->column, run->key);
}

// ---- Filling

std::shared_ptr<const DataSet::Windows> DataSet::windows(std::uint32_t column, std::size_t cluster) {
  constexpr std::size_t most_remembered = 4096;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = windows_.find({column, cluster}); found != windows_.end()) return found->second;
  }
  auto fresh = std::make_shared<Windows>();
  const PageList pages = origin_.pages(column, cluster);
  bool fits = pages.size() < RunKey::most_first;
  for (const PageDescriptor& page : pages) fits = fits && page.locator.size <= largest_kept;
  for (std::uint32_t i = 0; fits && i < pages.size(); ++i) {
    if (fresh->keys.empty() || fresh->ends.back().back() >= window_size ||
        fresh->keys.back().pages == RunKey::most_pages) {
      fresh->keys.push_back({.cluster = cluster, .first = i});
      fresh->ends.emplace_back();
    }
    std::vector<std::uint64_t>& ends = fresh->ends.back();
    ends.push_back((ends.empty() ? 0 : ends.back()) + home_size(pages[i]));
    ++fresh->keys.back().pages;
  }
  const std::unique_lock lock(mutex_);
  if (windows_.size() >= most_remembered) windows_.clear();
  return windows_[{column, cluster}] = std::move(fresh);
}

bool DataSet::keep(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
                   std::optional<std::uint64_t> sum) noexcept {
  try {
    return keep_page(column, cluster, page, content, sum);
  } catch (...) {  // no memory, for one: what was read is right all the same
    return false;
  }
}

bool DataSet::keep_page(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
                        std::optional<std::uint64_t> sum) {
  if (cluster >= RunKey::most_clusters || home_->is_lost() || is_bypassed()) return false;
  const auto number = static_cast<std::uint32_t>(page);
  if (contents_->has(column, cluster, number)) return true;
  const std::shared_ptr<const Windows> all = windows(column, cluster);
  const auto after = std::ranges::upper_bound(all->keys, number, {}, &RunKey::first);
  if (after == all->keys.begin()) return false;
  const auto at = static_cast<std::size_t>(after - all->keys.begin()) - 1;
  if (sum) *sum ^= seal_for(contents_->number(), column, cluster, page);
  return home_->filler().add(contents_,
                             {.column = column,
                              .window = all->keys[at],
                              .number = number,
                              .content = content,
                              .sum = sum ? &*sum : nullptr},
                             all->ends[at]);
}

// ---- Reading the home

std::vector<DataSet::Stretch> DataSet::split(std::uint64_t address, MutableByteSpan into) const {
  std::vector<Stretch> stretches;
  while (!into.empty()) {
    const RunRef run = run_at(address);
    if (run == nullptr)
      throw Error(ErrorKind::format, "bytes are asked for where the cache has no pages", "",
                  {.uri = home_->uri()});
    const std::uint64_t offset = address - run->begin;
    const std::size_t count = std::min<std::uint64_t>(into.size(), run->ends.back() - offset);
    stretches.push_back({run, offset, into.first(count)});
    into = into.subspan(count);
    address += count;
  }
  return stretches;
}

void DataSet::fetch(io::ObjectStore& store, const Stretch& stretch) const {
  const io::ValueAddress address = pages_value(contents_->number(), stretch.run->column, stretch.run->key);
  const io::FetchItem item{address.akey, stretch.offset, stretch.into};
  store.fetch(address.object, address.dkey, {&item, 1});
}

void DataSet::give_up(const Stretch& stretch, const std::exception& error) noexcept {
  try {
    const auto* known = dynamic_cast<const Error*>(&error);
    const bool is_about_value =
        known != nullptr && (known->kind() == ErrorKind::not_found || known->kind() == ErrorKind::format);
    if (is_about_value) {
      note_damage(stretch.run->begin);
    } else {
      stretch.run->failed = true;
      home_->note_failure(error.what());
    }
  } catch (...) {
  }
}

// What a hidden failure of the home costs: whole pages are read, however little of them is asked for.
void DataSet::read_origin(const Stretch& stretch) {
  const Run& run = *stretch.run;
  run.failed = true;
  const auto first =
      static_cast<std::size_t>(std::ranges::upper_bound(run.ends, stretch.offset) - run.ends.begin());
  const std::uint64_t end = stretch.offset + stretch.into.size();
  std::vector<AlignedBuffer> pages;
  std::vector<io::ReadRequest> requests;
  std::size_t last = first;
  for (std::uint64_t begin = stretch.offset; begin < end; begin = run.ends[last++]) {
    const PageDescriptor page = run.origin[last];
    pages.emplace_back(home_size(page));
    requests.push_back({page.locator.offset,
                        pages.back().span().first(page.locator.size + (page.has_checksum ? sum_size : 0))});
  }
  origin_.file->read_vector(requests);
  for (std::size_t page = first; page < last; ++page) {
    AlignedBuffer& bytes = pages[page - first];
    const ByteSpan content = bytes.span().first(bytes.size() - sum_size);
    std::byte* const sum = bytes.data() + content.size();
    const std::uint64_t value =
        run.origin[page].has_checksum ? load_le<std::uint64_t>(sum) : codec::xxh3(content);
    store_le(sum, value ^ seal_for(contents_->number(), run.column, run.key.cluster, run.key.first + page));
    const std::uint64_t begin = run.ends[page] - bytes.size();
    const std::uint64_t from = std::max(begin, stretch.offset);
    const std::uint64_t to = std::min(run.ends[page], end);
    std::memcpy(stretch.into.data() + (from - stretch.offset), bytes.data() + (from - begin), to - from);
  }
}

// Whether all of it came from the home.
bool DataSet::read_home(std::uint64_t address, MutableByteSpan into) {
  bool all = true;
  for (const Stretch& stretch : split(address, into)) {
    const std::shared_ptr<io::ObjectStore> store =
        stretch.run->failed.load(std::memory_order_relaxed) ? nullptr : home_->store();
    bool served = false;
    if (store != nullptr) {
      try {
        fetch(*store, stretch);
        served = true;
      } catch (const std::exception& error) {
        give_up(stretch, error);
      }
    }
    if (!served) read_origin(stretch);
    all = all && served;
  }
  return all;
}

// ---- Is it worth it

void DataSet::note_rate(const io::RandomAccessFile& of, std::uint64_t bytes, double seconds) noexcept {
  (&of == file_.get() ? home_rate_ : origin_rate_).add(bytes, seconds);
}

bool DataSet::is_bypassed() const noexcept {
  if (!home_->settings().bypass) return false;
  const double origin = origin_rate_.per_second();
  const double home = home_rate_.per_second();
  return origin > 0 && home > 0 && home < clearly_slower * origin;
}

std::string DataSet::state() const {
  if (home_->is_here() && home_->is_lost()) return fmt::format("lost: {}", home_->problem());
  if (is_bypassed())
    return fmt::format("bypassed: {:.0f} MB/s, and the origin gives {:.0f} MB/s",
                       home_rate_.per_second() * 1e-6, origin_rate_.per_second() * 1e-6);
  return "used";
}

}  // namespace colonnade::cache
