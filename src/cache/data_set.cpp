// See data_set.h.
#include "cache/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/process.h"
#include "base/warning.h"
#include "cache/filler.h"
#include "cache/home_file.h"
#include "cache/wait_policy.h"
#include "codec/compression.h"

namespace colonnade::cache {
namespace {

// Between runs, so that no request spans two of them.
constexpr std::uint64_t hole = std::uint64_t{1} << 20;
constexpr std::uint64_t largest_kept = std::uint64_t{64} << 20;  // bytes of a page
// Bytes to compare before the home counts as slower than the origin.
constexpr std::uint64_t enough_to_tell = std::uint64_t{32} << 20;
constexpr double clearly_slower = 0.8;
std::uint64_t home_size(const PageDescriptor& page) noexcept {
  return page.locator.size + sum_size;
}

// Once for each home.
void warn_of_no_version(const Settings& settings, const Identity& identity) {
  struct Told {
    std::mutex mutex;
    std::set<std::string> homes;
  };
  static PerProcess<Told> told;
  {
    const std::lock_guard lock(told.get().mutex);
    if (!told.get().homes.insert(settings.store).second) return;
  }
  warn(fmt::format("the cache {} keeps nothing of {}: {}", settings.store, identity.uri, no_version));
}

// Reads pages of an origin; adjacent ones with one request.
class OriginPages {
 public:
  OriginPages(const io::RandomAccessFile& file, const PageList& pages, std::size_t first, std::size_t last)
      : first_(first) {
    for (std::size_t page = first; page < last; ++page) {
      const PageDescriptor& of = pages[page];
      const std::uint64_t stored = of.locator.size + (of.has_checksum ? sum_size : 0);
      const bool is_next = !reads_.empty() && reads_.back().offset + reads_.back().size == of.locator.offset;
      if (!is_next) reads_.push_back({.offset = of.locator.offset});
      pages_.push_back({reads_.size() - 1, reads_.back().size, of.locator.size});
      reads_.back().size += stored;
    }
    std::vector<io::ReadRequest> requests;
    for (OriginRead& read : reads_) {
      read.bytes.resize(read.size);
      requests.push_back({read.offset, read.bytes.span()});
    }
    file.read_vector(requests);
  }

  // Its checksum, if there is one, follows it.
  ByteSpan content(std::size_t page) const {
    const PageInRead& where = pages_[page - first_];
    return reads_[where.read].bytes.span().subspan(where.begin, where.size);
  }

 private:
  struct OriginRead {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    AlignedBuffer bytes = {};
  };
  struct PageInRead {
    std::size_t read = 0;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  std::size_t first_;
  std::vector<OriginRead> reads_;
  std::vector<PageInRead> pages_;
};

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
  if (settings.store.empty()) return nullptr;
  if (identity.version.empty()) {
    warn_of_no_version(settings, identity);
    return nullptr;
  }
  auto data_set = std::make_shared<DataSet>(Home::of(settings), identity, std::move(origin));
  if (!metadata.empty()) data_set->contents_->set_metadata(std::move(metadata));
  return data_set;
}

std::optional<Metadata> kept_metadata(const Settings& settings, const Identity& identity) {
  if (settings.store.empty() || identity.version.empty()) return std::nullopt;
  const std::shared_ptr<Home> home = Home::of(settings);
  if (!home->is_near()) return std::nullopt;
  const auto record = home->ask([number = identity.number()](io::ObjectStore& store) {
    return store.get({register_object, metadata_key, number});
  });
  if (!record || !*record) return std::nullopt;
  try {
    return read_metadata((*record)->value);
  } catch (const Error&) {  // damaged: it is read from the origin
    return std::nullopt;
  }
}

DataSet::DataSet(const std::shared_ptr<Home>& home, const Identity& identity, Origin origin)
    : home_(home),
      reader_(home->claims().add_reader()),
      contents_(Contents::of(home, identity)),
      origin_(std::move(origin)),
      is_origin_near_(origin_.file->traits().reads_are_copies),
      file_(make_home_file(*this)),
      awaited_(make_awaited_file(*this)) {}

DataSet::~DataSet() {
  if (!home_->is_here()) return;
  try {
    home_->filler().finish(contents_, reader_);
  } catch (...) {  // what could not be written is read again
    home_->claims().release_all(reader_);
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
    for (std::uint32_t i = 0; i < key.pages; ++i) placed.set(key.first + i, page_in(*run, i));
  }
  return placed;
}

// The layout in the home.
PageDescriptor DataSet::page_in(const Run& run, std::size_t page) {
  PageDescriptor placed = run.origin[page];
  placed.locator = {.size = placed.locator.size, .offset = run.begin + (page == 0 ? 0 : run.ends[page - 1])};
  placed.has_checksum = true;
  return placed;
}

DataSet::RunRef DataSet::address_run(std::uint32_t column, const RunKey& key, const PageList& pages,
                                     const std::optional<Claim>& awaited) {
  const std::unique_lock lock(mutex_);
  Space& space = spaces_[awaited ? 1 : 0];
  const auto known = space.by_key.find({column, key});
  if (known != space.by_key.end()) return known->second;
  auto run = std::make_shared<Run>();
  run->column = column;
  run->key = key;
  run->awaited = awaited;
  run->begin = space.end;
  std::uint64_t end = 0;
  run->ends.reserve(key.pages);
  for (std::uint32_t i = 0; i < key.pages; ++i) {
    const PageDescriptor page = pages[key.first + i];
    end += home_size(page);
    run->ends.push_back(end);
    run->origin.push_back(page);
  }
  space.runs.push_back(run);
  space.end += (end + 2 * hole - 1) / hole * hole;
  space.by_key.emplace(std::pair(column, key), run);
  return run;
}

// Null for an unknown address.
DataSet::RunRef DataSet::run_at(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const std::vector<RunRef>& runs = spaces_[is_awaited(address) ? 1 : 0].runs;
  const auto after =
      std::ranges::upper_bound(runs, address, {}, [](const RunRef& run) { return run->begin; });
  if (after == runs.begin()) return nullptr;
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

void DataSet::note_damage(std::uint64_t address) noexcept {
  const RunRef run = run_at(address);
  if (run == nullptr || run->failed.exchange(true) || !home_->is_here()) return;
  try {
    contents_->lost(run->column, run->key);
  } catch (const std::exception&) {  // readers that open it later find the damage themselves
  }
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
  fresh->pages = pages;
  const std::unique_lock lock(mutex_);
  if (windows_.size() >= most_remembered) windows_.clear();
  return windows_[{column, cluster}] = std::move(fresh);
}

bool DataSet::keep(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
                   std::optional<std::uint64_t> sum) noexcept {
  try {
    return keep_page(column, cluster, page, content, sum);
  } catch (...) {  // for example without memory; what was read is still right
    return false;
  }
}

// The window of a page; empty for a page that is not kept.
std::optional<DataSet::WindowRef> DataSet::window_of(std::uint32_t column, std::size_t cluster,
                                                     std::size_t page) {
  std::shared_ptr<const Windows> all = windows(column, cluster);
  const auto after = std::ranges::upper_bound(all->keys, page, {}, &RunKey::first);
  if (after == all->keys.begin()) return std::nullopt;
  const auto at = static_cast<std::size_t>(after - all->keys.begin()) - 1;
  const Claim claim = claim_of(contents_->number(), column, cluster, at, all->keys.size());
  return WindowRef{std::move(all), at, claim};
}

bool DataSet::keep_page(std::uint32_t column, std::size_t cluster, std::size_t page, ByteSpan content,
                        std::optional<std::uint64_t> sum) {
  if (cluster >= RunKey::most_clusters || home_->is_lost() || is_bypassed()) return false;
  const auto number = static_cast<std::uint32_t>(page);
  if (contents_->has(column, cluster, number)) return true;
  const std::optional<WindowRef> window = window_of(column, cluster, page);
  if (!window) return false;
  const RunKey& key = window->all->keys[window->at];
  if (is_origin_near_ && !sum) sum = codec::xxh3(content);
  if (sum) *sum ^= seal_for(contents_->number(), column, cluster, page);
  Filler::VerifiedPage kept{.column = column,
                            .window = key,
                            .claim = window->claim,
                            .number = number,
                            .content = content,
                            .sum = sum ? &*sum : nullptr};
  if (is_origin_near_) {
    const PageDescriptor& there = window->all->pages[page];
    kept.origin = origin_.file;
    kept.offset = there.locator.offset;
    kept.sum_is_behind = there.has_checksum;
  }
  const bool is_kept = home_->filler().add(contents_, kept, window->all->ends[window->at]);
  // Others need not wait for it.
  if (!is_kept) home_->claims().release(window->claim);
  return is_kept;
}

bool DataSet::has_all(std::uint32_t column, std::size_t clusters) {
  for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
    const std::size_t pages = origin_.pages(column, cluster).size();
    for (std::size_t page = 0; page < pages; ++page)
      if (!contents_->has(column, cluster, static_cast<std::uint32_t>(page))) return false;
  }
  return true;
}

void DataSet::note_found(bool is_only) {
  if (!home_->is_here() || home_->is_lost()) return;
  home_->run_awaited([home = home_, contents = contents_, is_only] {
    try {
      if (const auto store = home->store()) contents->write_found(*store, is_only);
    } catch (const std::exception&) {  // a home that this user cannot write
    }
  });
}

// ---- One download for all

std::optional<PageDescriptor> DataSet::share(std::uint32_t column, std::size_t cluster,
                                             std::size_t page) noexcept {
  try {
    // Waiting for another reader of the same disk gains nothing.
    if (is_origin_near_ || cluster >= RunKey::most_clusters || !home_->is_here() || home_->is_lost() ||
        is_bypassed())
      return std::nullopt;
    return share_page(column, cluster, page);
  } catch (...) {  // it is read as if there were no other reader
    return std::nullopt;
  }
}

std::optional<PageDescriptor> DataSet::share_page(std::uint32_t column, std::size_t cluster,
                                                  std::size_t page) {
  const std::optional<WindowRef> window = window_of(column, cluster, page);
  if (!window) return std::nullopt;
  const RunKey& key = window->all->keys[window->at];
  const Claims::Turn turn = home_->claims().take(window->claim, reader_);
  if (turn == Claims::Turn::ours) return std::nullopt;
  if (turn == Claims::Turn::others && !home_->wait_policy().may_wait()) return std::nullopt;
  const RunKey whole = key.with_size(window->all->ends[window->at].back());
  if (turn == Claims::Turn::ours_now) {
    // Another reader may have added it since the home was listed.
    if (!is_there_by_now(pages_value(contents_->number(), column, whole))) return std::nullopt;
    home_->claims().release(window->claim);
    contents_->added(column, whole);
  }
  const bool is_others = turn == Claims::Turn::others;
  const RunRef run = address_run(column, whole, origin_.pages(column, cluster),
                                 is_others ? std::optional(window->claim) : std::nullopt);
  if (run->failed.load(std::memory_order_relaxed)) return std::nullopt;
  return page_in(*run, page - key.first);
}

// A near home answers in microseconds; another one is asked only if somebody may have added to it lately.
bool DataSet::is_there_by_now(const io::ValueAddress& address) {
  if (home_->is_near()) {
    const std::shared_ptr<io::ObjectStore> store = home_->store();
    return store != nullptr && store->size(address).has_value();
  }
  if (!home_->claims().has_company(reader_)) return false;
  const auto size = home_->ask([address](io::ObjectStore& store) { return store.size(address); });
  return size && *size;
}

// Waits until the value exists. False: the origin must be read.
bool DataSet::await(const RunRange& range) {
  const Run& run = *range.run;
  WaitPolicy& policy = home_->wait_policy();
  if (policy.is_trial_due()) return false;
  const Home::Clock::time_point begin = Home::Clock::now();
  const std::chrono::milliseconds step(home_->is_near() ? 2 : 20);
  while (policy.may_continue(begin) && !run.failed.load(std::memory_order_relaxed)) {
    const std::shared_ptr<io::ObjectStore> store = home_->store();
    if (store == nullptr) return false;
    const bool comes = home_->claims().is_others(*run.awaited, reader_);
    try {
      fetch(*store, range);
      policy.note_arrival(Home::Clock::now() - begin);
      contents_->added(run.column, run.key);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) {
        give_up(range);
        return false;
      }
    }
    if (!comes) return false;
    std::this_thread::sleep_for(step);
  }
  return false;
}

// ---- Reading the home

std::vector<DataSet::RunRange> DataSet::split(std::uint64_t address, MutableByteSpan into) const {
  std::vector<RunRange> ranges;
  while (!into.empty()) {
    const RunRef run = run_at(address);
    if (run == nullptr)
      throw Error(ErrorKind::format, "bytes were requested where the cache has no pages", "",
                  {.uri = home_->uri()});
    const std::uint64_t offset = address - run->begin;
    const std::size_t count = std::min<std::uint64_t>(into.size(), run->ends.back() - offset);
    ranges.push_back({run, offset, into.first(count)});
    into = into.subspan(count);
    address += count;
  }
  return ranges;
}

void DataSet::fetch(io::ObjectStore& store, const RunRange& range) const {
  const io::ValueAddress address = pages_value(contents_->number(), range.run->column, range.run->key);
  const io::FetchItem item{address.akey, range.offset, range.into};
  store.fetch(address.object, address.dkey, {&item, 1});
}

// To be called in a handler: the exception says what of the home cannot be used.
void DataSet::give_up(const RunRange& range) noexcept {
  const std::exception_ptr failure = std::current_exception();
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_found || error.kind() == ErrorKind::format)
      return note_damage(range.run->begin);
  } catch (...) {
  }
  range.run->failed = true;
  home_->note_failure(failure);
}

// The cost of a hidden failure of the home: whole pages are read, even if a part is requested.
void DataSet::read_origin(const RunRange& range) {
  const Run& run = *range.run;
  run.failed = true;
  const auto first =
      static_cast<std::size_t>(std::ranges::upper_bound(run.ends, range.offset) - run.ends.begin());
  const std::uint64_t end = range.offset + range.into.size();
  std::size_t last = first + 1;
  while (run.ends[last - 1] < end) ++last;
  const OriginPages pages(*origin_.file, run.origin, first, last);
  AlignedBuffer sealed;
  for (std::size_t page = first; page < last; ++page) {
    const ByteSpan content = pages.content(page);
    sealed.resize(content.size() + sum_size);
    std::memcpy(sealed.data(), content.data(), content.size());
    const std::uint64_t sum = run.origin[page].has_checksum
                                  ? load_le<std::uint64_t>(content.data() + content.size())
                                  : codec::xxh3(content);
    store_le(sealed.data() + content.size(),
             sum ^ seal_for(contents_->number(), run.column, run.key.cluster, run.key.first + page));
    const std::uint64_t begin = run.ends[page] - sealed.size();
    const std::uint64_t from = std::max(begin, range.offset);
    const std::uint64_t to = std::min(run.ends[page], end);
    std::memcpy(range.into.data() + (from - range.offset), sealed.data() + (from - begin), to - from);
  }
}

void DataSet::read_home(std::uint64_t address, MutableByteSpan into) {
  for (const RunRange& range : split(address, into)) {
    if (range.run->awaited) {
      if (await(range)) continue;
      const Home::Clock::time_point begin = Home::Clock::now();
      read_origin(range);
      home_->wait_policy().note_download(Home::Clock::now() - begin);
      continue;
    }
    const std::shared_ptr<io::ObjectStore> store =
        range.run->failed.load(std::memory_order_relaxed) ? nullptr : home_->store();
    bool served = false;
    if (store != nullptr) {
      try {
        fetch(*store, range);
        served = true;
      } catch (const std::exception&) {
        give_up(range);
      }
    }
    if (!served) read_origin(range);
  }
}

// ---- Whether the cache pays

void DataSet::note_rate(const io::RandomAccessFile& of, std::uint64_t bytes, double seconds) noexcept {
  if (&of == awaited_.get()) return;  // that is the speed of other readers
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
  if (home_->is_here())
    if (const std::string why = home_->filler().refusal(); !why.empty())
      return fmt::format("only read: {}", why);
  return "used";
}

}  // namespace colonnade::cache
