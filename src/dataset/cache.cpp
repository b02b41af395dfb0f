// Explicit operations on a cache; see colonnade/cache.h.
#include "colonnade/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "cache/budget.h"
#include "cache/home.h"
#include "cache/register.h"
#include "cache/settings.h"
#include "codec/compression.h"
#include "colonnade/reader.h"

namespace colonnade {
namespace {

cache::Settings settings_of(const std::string& home) {
  cache::Settings settings = cache::settings_for(home, true);
  if (settings.store.empty() && home.empty()) settings = cache::parse_settings("on");
  if (settings.store.empty()) throw Error(ErrorKind::usage, "no cache is named", "give a folder or a store");
  return settings;
}

std::shared_ptr<io::ObjectStore> store_of(const std::string& home) {
  return io::open_object_store(settings_of(home).store);
}

// True if the entry is for the data set at `uri`, whether its path is absolute or relative.
bool is_at(const cache::RegisterEntry& entry, const std::string& uri) {
  return entry.identity && entry.identity->uri == cache::origin_name(uri);
}

std::vector<cache::RegisterEntry> entries_at(const io::ObjectStore& store, const std::string& uri) {
  std::vector<cache::RegisterEntry> found;
  for (cache::RegisterEntry& entry : cache::read_register(store, false))
    if (is_at(entry, uri)) found.push_back(std::move(entry));
  if (found.empty())
    throw Error(ErrorKind::not_found, fmt::format("the cache has nothing of {}", uri),
                "`colonnade cache ls` lists what it has", {.uri = store.uri()});
  return found;
}

bool is_below(std::string_view path, std::string_view field) {
  return path == field || (path.starts_with(field) && path[field.size()] == '.');
}

std::vector<std::uint32_t> columns_of(const cache::RegisterEntry& entry,
                                      const std::vector<std::string>& fields) {
  const std::vector<std::string>& paths = entry.identity->columns;
  std::set<std::uint32_t> columns;
  for (const std::string& field : fields) {
    bool is_known = false;
    for (std::uint32_t column = 0; column < paths.size(); ++column) {
      // The index column of a collection belongs to every column below it.
      const bool is_above = is_below(field, paths[column]);
      is_known = is_known || is_below(paths[column], field);
      if (is_above || is_below(paths[column], field)) columns.insert(column);
    }
    if (!is_known)
      throw Error(ErrorKind::not_found, fmt::format("the data set has no field \"{}\"", field), "",
                  {.uri = entry.identity->uri});
  }
  return {columns.begin(), columns.end()};
}

CachedDataSet describe(const cache::RegisterEntry& entry) {
  CachedDataSet data_set{.number = entry.number, .bytes = entry.size(), .pinned = entry.pin.has_value()};
  if (entry.identity) {
    data_set.uri = entry.identity->uri;
    data_set.name = entry.identity->name;
    data_set.version = entry.identity->version;
  }
  for (const cache::UserRecord& user : entry.users) data_set.users.push_back(user.user);
  for (const auto& [column, runs] : entry.columns) {
    CachedColumn& one = data_set.columns.emplace_back();
    one.column = column;
    if (entry.identity && column < entry.identity->columns.size())
      one.field = entry.identity->columns[column];
    one.pinned = entry.pin && entry.pin->holds(column);
    std::set<std::uint64_t> clusters;
    for (const cache::RunKey& run : runs) {
      one.pages += run.pages;
      one.bytes += run.size();
      if (clusters.insert(run.cluster).second)
        one.last_use = std::max(one.last_use, entry.last_use(column, run.cluster).value_or(0));
    }
    one.clusters = clusters.size();
    data_set.last_use = std::max(data_set.last_use, one.last_use);
  }
  return data_set;
}

enum class Condition { sound, damaged, gone };

// Whether each page of a value has its checksum. Values that were found may be gone: others make room
// meanwhile.
Condition condition_of(const io::ObjectStore& store, const cache::RegisterEntry& entry, std::uint32_t column,
                       const cache::RunKey& run, const PageList& pages, CacheCheck& check) {
  const io::ValueAddress address = cache::pages_value(entry.number, column, run);
  const std::optional<std::uint64_t> size = store.size(address);
  if (!size) return Condition::gone;
  if (run.pages == 0 || run.first >= pages.size() || run.pages > pages.size() - run.first)
    return Condition::damaged;
  std::uint64_t expected = 0;
  for (std::uint32_t i = 0; i < run.pages; ++i)
    expected += pages[run.first + i].locator.size + cache::sum_size;
  if (*size != expected) return Condition::damaged;
  Bytes bytes(*size);
  const io::FetchItem item{address.akey, 0, bytes};
  try {
    store.fetch(address.object, address.dkey, {&item, 1});
  } catch (const Error&) {
    if (!store.size(address)) return Condition::gone;
    throw;
  }
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < run.pages; ++i) {
    const std::size_t length = pages[run.first + i].locator.size;
    const auto sum = load_le<std::uint64_t>(bytes.data() + at + length);
    const std::uint64_t seal = cache::seal_for(entry.number, column, run.cluster, run.first + i);
    if ((codec::xxh3(ByteSpan(bytes).subspan(at, length)) ^ seal) != sum) return Condition::damaged;
    at += length + cache::sum_size;
    ++check.pages;
    check.bytes += length;
  }
  return Condition::sound;
}

void verify_entry(io::ObjectStore& store, const cache::RegisterEntry& entry, CacheCheck& check) {
  const std::optional<Descriptor> descriptor = cache::read_descriptor(store, entry.number);
  for (const auto& [column, runs] : entry.columns)
    for (const cache::RunKey& run : runs) {
      if (!descriptor) {
        ++check.unknown;
        continue;
      }
      const bool is_column = run.cluster < descriptor->clusters.size() &&
                             column < descriptor->clusters[run.cluster].columns.size();
      const PageList& pages =
          is_column ? descriptor->clusters[run.cluster].columns[column].pages : PageList{};
      if (condition_of(store, entry, column, run, pages, check) != Condition::damaged) continue;
      ++check.damaged;
      store.remove(cache::pages_value(entry.number, column, run));
    }
}

}  // namespace

CacheHome cache_home(const std::string& home, bool is_remote) {
  const cache::Settings settings = cache::settings_for(home, is_remote);
  return {settings.store, settings.budget};
}

std::vector<CachedDataSet> cached_data_sets(const std::string& home) {
  std::vector<CachedDataSet> data_sets;
  for (const cache::RegisterEntry& entry : cache::read_register(*store_of(home), true))
    data_sets.push_back(describe(entry));
  std::ranges::sort(data_sets, std::ranges::greater(), &CachedDataSet::last_use);
  return data_sets;
}

std::uint64_t warm_cache(std::string_view name, const std::string& uri,
                         const std::vector<std::string>& fields, const std::string& home,
                         const std::function<void(double)>& progress) {
  constexpr std::uint64_t entries_at_once_bytes = std::uint64_t{32} << 20;
  const std::string text = home.empty() ? settings_of(home).store : home;
  const std::string separator = text.find('?') == std::string::npos ? "?" : "&";
  const auto reader = Reader::open(name, uri, {.cache = text + separator + "bypass=no"});
  const Descriptor& descriptor = reader->descriptor();
  std::vector<std::string> wanted = fields;
  if (wanted.empty())
    for (const std::uint32_t id : descriptor.top_level_fields())
      if (descriptor.fields[id].unreadable.empty()) wanted.push_back(descriptor.fields[id].name);
  const auto check = [&] {
    if (const std::string state = reader->metrics().cache; state != "used")
      throw Error(ErrorKind::io, fmt::format("the cache {} is {}", text, state), "", {.uri = uri});
  };
  check();
  static_cast<void>(reader->arrays(wanted, 0, 0));  // for unknown names, also where there are no entries
  std::uint64_t seen = 0;
  for (std::size_t cluster = 0; cluster < descriptor.clusters.size(); ++cluster) {
    const ClusterDescriptor& of = descriptor.clusters[cluster];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      static_cast<void>(reader->arrays({&wanted[i], 1}, of.first_entry, of.first_entry + of.entries));
      const ReadMetrics now = reader->metrics();
      check();
      // Nothing is dropped as long as the queue stays short.
      if (now.bytes - seen > entries_at_once_bytes) {
        flush_cache();
        seen = now.bytes;
      }
      if (progress)
        progress(
            (static_cast<double>(cluster) + static_cast<double>(i + 1) / static_cast<double>(wanted.size())) /
            static_cast<double>(descriptor.clusters.size()));
    }
  }
  flush_cache();
  check();
  const ReadMetrics all = reader->metrics();
  return all.cache_added == 0 ? 0 : all.bytes - std::min(all.bytes, all.cache_bytes);
}

CacheCheck verify_cache(const std::string& home) {
  const std::shared_ptr<io::ObjectStore> store = store_of(home);
  CacheCheck check;
  for (const cache::RegisterEntry& entry : cache::read_register(*store, false))
    verify_entry(*store, entry, check);
  return check;
}

std::uint64_t pin_cached(const std::string& uri, const std::vector<std::string>& fields,
                         const std::string& home) {
  const std::shared_ptr<io::ObjectStore> store = store_of(home);
  const std::vector<cache::RegisterEntry> entries = entries_at(*store, uri);
  for (const cache::RegisterEntry& entry : entries)
    cache::write_pin(*store, entry.number,
                     cache::Pin{.user = cache::this_user(), .columns = columns_of(entry, fields)});
  return entries.size();
}

std::uint64_t unpin_cached(const std::string& uri, const std::string& home) {
  const std::shared_ptr<io::ObjectStore> store = store_of(home);
  const std::vector<cache::RegisterEntry> entries = entries_at(*store, uri);
  for (const cache::RegisterEntry& entry : entries) cache::write_pin(*store, entry.number, std::nullopt);
  return entries.size();
}

std::uint64_t remove_cached(const std::string& uri, const std::vector<std::string>& fields,
                            const std::string& home) {
  const std::shared_ptr<io::ObjectStore> store = store_of(home);
  std::uint64_t bytes = 0;
  for (const cache::RegisterEntry& entry : entries_at(*store, uri))
    bytes += fields.empty() ? cache::remove_entry(*store, entry)
                            : cache::remove_columns(*store, entry, columns_of(entry, fields));
  return bytes;
}

// Of several states of a data set, the most recently used one counts as current.
CacheGarbage collect_cache_garbage(const std::string& home) {
  const cache::Settings settings = settings_of(home);
  const std::shared_ptr<io::ObjectStore> store = io::open_object_store(settings.store);
  CacheGarbage garbage;
  garbage.leftovers = store->remove_leftovers(false);
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, const cache::RegisterEntry*>> newest;
  const std::vector<cache::RegisterEntry> entries = cache::read_register(*store, true);
  for (const cache::RegisterEntry& entry : entries) {
    if (!entry.identity || entry.pin) continue;
    const std::int64_t last = describe(entry).last_use;
    auto& [time, found] = newest[{entry.identity->uri, entry.identity->name}];
    if (found != nullptr) garbage.outdated += cache::remove_entry(*store, last > time ? *found : entry);
    if (found == nullptr || last > time) {
      time = last;
      found = &entry;
    }
  }
  const cache::Usage usage = cache::evict(*store, settings.budget, settings.budget, nullptr);
  garbage.evicted = usage.before - usage.after;
  garbage.bytes = usage.after;
  return garbage;
}

bool flush_cache(double seconds) {
  return cache::flush(std::chrono::milliseconds(static_cast<std::int64_t>(std::min(seconds, 1e6) * 1000)));
}

}  // namespace colonnade
