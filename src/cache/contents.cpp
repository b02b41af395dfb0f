// See contents.h.
#include "cache/contents.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/process.h"
#include "codec/compression.h"

namespace colonnade::cache {
namespace {

// Contents live as long as they are in use.
struct Known {
  std::mutex mutex;
  std::map<std::pair<const Home*, std::uint64_t>, std::weak_ptr<Contents>> all;
};

Known& known() {
  static PerProcess<Known> all;
  return all.get();
}

template <class Read>
auto reading_json(ByteSpan text, Read&& read) {
  try {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    return read(nlohmann::json::parse(begin, begin + text.size()));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::format, fmt::format("a record of the cache is damaged: {}", error.what()));
  }
}

}  // namespace

std::uint64_t number_of(const std::string& text) noexcept {
  return codec::xxh3(as_bytes(text));
}

std::string this_user() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, memory.data(), memory.size(), &found);
  const std::string name = found != nullptr ? found->pw_name : fmt::format("{}", ::geteuid());
  return fmt::format("{}@{}", name, host.data());
}

// ---- Identity

std::uint64_t Identity::number() const {
  const std::uint64_t number =
      number_of(fmt::format("{}\n{}\n{}\n{}\n{:016x}", uri, name, size, version, anchor));
  return number == register_object.number ? 1 : number;
}

// For people: names that are not UTF-8 have other letters in it.
std::string Identity::to_json() const {
  return nlohmann::json{{"uri", uri},         {"data_set", name}, {"size", size},
                        {"version", version}, {"anchor", anchor}, {"columns", columns}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Identity Identity::from_json(ByteSpan text) {
  return reading_json(text, [](const nlohmann::json& json) {
    return Identity{.uri = json.at("uri"),
                    .name = json.at("data_set"),
                    .size = json.at("size"),
                    .version = json.at("version"),
                    .anchor = json.at("anchor"),
                    .columns = json.at("columns")};
  });
}

// ---- Uses

std::string to_json(const UserRecord& record) {
  nlohmann::json uses = nlohmann::json::array();
  for (const UseRange& range : record.uses.ranges())
    uses.push_back({range.column, range.first, range.last, range.time});
  return nlohmann::json{{"user", record.user}, {"uses", uses}}.dump();
}

UserRecord read_user_record(ByteSpan text) {
  return reading_json(text, [](const nlohmann::json& json) {
    UserRecord record{.user = json.at("user"), .uses = {}};
    for (const nlohmann::json& line : json.at("uses"))
      if (!record.uses.append(
              {.column = line.at(0), .first = line.at(1), .last = line.at(2), .time = line.at(3)}))
        throw Error(ErrorKind::format, "a record of the cache is damaged: its ranges are not in order");
    return record;
  });
}

// ---- Which data set was found at which URI

io::ValueAddress found_value(const std::string& uri, const std::string& name) {
  return {register_object, found_key, number_of(fmt::format("{}\n{}", uri, name))};
}

std::string to_json(const FoundRecord& record) {
  return nlohmann::json{{"data_set", record.number}, {"time", record.time}}.dump();
}

FoundRecord read_found_record(ByteSpan text) {
  return reading_json(text, [](const nlohmann::json& json) {
    return FoundRecord{.number = json.at("data_set"), .time = json.at("time")};
  });
}

// ---- Contents

std::shared_ptr<Contents> Contents::of(const std::shared_ptr<Home>& home, const Identity& identity) {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.all, [](const auto& entry) { return entry.second.expired(); });
  auto& slot = all.all[{home.get(), identity.number()}];
  std::shared_ptr<Contents> contents = slot.lock();
  if (contents == nullptr) {
    contents = std::make_shared<Contents>(home, identity);
    slot = contents;
  }
  return contents;
}

Contents::Contents(std::shared_ptr<Home> home, Identity identity)
    : home_(std::move(home)), identity_(std::move(identity)), number_(identity_.number()) {}

// Local homes list all columns at once, since they are in one folder. The lock is held.
bool Contents::list_all() {
  if (is_listed_ || !home_->is_near()) return is_listed_;
  const auto keys = home_->ask(
      [number = number_](io::ObjectStore& store) { return store.list_values({pages_group, number}); });
  if (!keys) return false;
  runs_.clear();
  for (const auto& [column, key] : *keys) {
    const RunKey run = RunKey::of(key);
    runs_[static_cast<std::uint32_t>(column)][run.cluster].push_back(run);
  }
  return is_listed_ = true;
}

// The lock is held. A second caller waits for the same answer.
Contents::Runs& Contents::runs_of(std::uint32_t column) {
  const std::uint64_t opening = home_->openings();
  const std::uint64_t before = std::exchange(queried_in_, opening);
  if (before != opening && before != 0) {
    runs_.clear();
    is_listed_ = false;
  }
  if (list_all()) return runs_[column];
  const auto [at, is_new] = runs_.try_emplace(column);
  if (!is_new) return at->second;
  const auto keys = home_->ask([number = number_, column](io::ObjectStore& store) {
    return store.list_akeys({pages_group, number}, column);
  });
  if (!keys) {
    // Queried again when the home is back.
    runs_.erase(at);
    static thread_local Runs nothing;
    nothing.clear();
    return nothing;
  }
  for (const std::uint64_t key : *keys) {
    const RunKey run = RunKey::of(key);
    at->second[run.cluster].push_back(run);
  }
  return at->second;
}

std::vector<RunKey> Contents::runs(std::uint32_t column, std::uint64_t cluster) {
  const std::lock_guard lock(mutex_);
  Runs& all = runs_of(column);
  const auto found = all.find(cluster);
  return found == all.end() ? std::vector<RunKey>() : found->second;
}

bool Contents::has(std::uint32_t column, std::uint64_t cluster, std::uint32_t page) {
  const std::lock_guard lock(mutex_);
  Runs& all = runs_of(column);
  const auto found = all.find(cluster);
  return found != all.end() && std::ranges::any_of(found->second, [&](const RunKey& run) {
           return page >= run.first && page - run.first < run.pages;
         });
}

void Contents::added(std::uint32_t column, const RunKey& run) {
  const std::lock_guard lock(mutex_);
  const auto known_column = is_listed_ ? runs_.try_emplace(column).first : runs_.find(column);
  if (known_column == runs_.end()) return;
  std::vector<RunKey>& there = known_column->second[run.cluster];
  if (std::ranges::find(there, run) == there.end()) there.push_back(run);
}

void Contents::lost(std::uint32_t column, const RunKey& run) {
  {
    const std::lock_guard lock(mutex_);
    const auto known_column = runs_.find(column);
    if (known_column != runs_.end()) std::erase(known_column->second[run.cluster], run);
  }
  const std::shared_ptr<io::ObjectStore> store = home_->store();
  if (store == nullptr) return;
  home_->run([store, address = pages_value(number_, column, run)] {
    try {
      store->remove(address);
    } catch (...) {  // of a home that this user cannot write: it remains a miss
    }
  });
}

void Contents::note_use(std::uint32_t column, std::uint64_t cluster) {
  constexpr std::int64_t fine_enough = 60;  // seconds
  const std::int64_t now = environment().unix_time() / fine_enough * fine_enough;
  const std::lock_guard lock(mutex_);
  std::int64_t& last = uses_[column][cluster];
  if (last == now) return;
  last = now;
  has_new_uses_ = true;
}

void Contents::write_identity(io::ObjectStore& store) {
  const std::uint64_t opening = home_->openings();
  {
    const std::lock_guard lock(mutex_);
    if (registered_in_ == opening) return;
  }
  const std::string text = identity_.to_json();
  const io::UpdateItem item{number_, {as_bytes(text)}};
  if (store.size({register_object, identity_key, number_}) != text.size())
    store.update(register_object, identity_key, {&item, 1});
  Bytes metadata;
  {
    const std::lock_guard lock(mutex_);
    metadata = std::move(metadata_);
  }
  write_found(store, false);
  const io::UpdateItem more{number_, {metadata}};
  if (!metadata.empty() && metadata.size() <= store.traits().max_value &&
      store.size({register_object, metadata_key, number_}) != metadata.size())
    store.update(register_object, metadata_key, {&more, 1});
  const std::lock_guard lock(mutex_);
  registered_in_ = opening;
  has_new_uses_ = !uses_.empty();
}

void Contents::write_found(io::ObjectStore& store, bool is_only) {
  constexpr std::int64_t fine_enough = 1;  // second
  const FoundRecord now{.number = number_, .time = environment().unix_time()};
  const auto is_known = [&](const std::optional<io::ObjectStore::Versioned>& before) {
    if (!before) return false;
    try {
      const FoundRecord last = read_found_record(before->value);
      return last.number == now.number && last.time <= now.time && last.time > now.time - fine_enough;
    } catch (const Error&) {  // rewritten
      return false;
    }
  };
  const std::string text = to_json(now);
  for (const std::string& name : {identity_.name, std::string()}) {
    if (name.empty() && !is_only) break;
    const io::ValueAddress address = found_value(identity_.uri, name);
    if (is_known(store.get(address))) continue;
    const io::UpdateItem item{address.akey, {as_bytes(text)}};
    store.update(address.object, address.dkey, {&item, 1});
  }
}

void Contents::set_metadata(Bytes metadata) {
  const std::lock_guard lock(mutex_);
  if (registered_in_ == 0 || registered_in_ != home_->openings()) metadata_ = std::move(metadata);
}

std::vector<std::shared_ptr<Contents>> Contents::all_of(const Home& home) {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<Contents>> found;
  for (const auto& [key, contents] : all.all)
    if (auto live = contents.lock(); live != nullptr && key.first == &home) found.push_back(std::move(live));
  return found;
}

Uses Contents::uses() {
  const std::lock_guard lock(mutex_);
  Uses all;
  for (const auto& [column, clusters] : uses_)
    for (const auto& [cluster, time] : clusters)
      all.append({.column = column, .first = cluster, .last = cluster, .time = time});
  return all;
}

// A process that is killed has recorded its uses before.
void Contents::write_uses_now_and_then(io::ObjectStore& store) {
  constexpr std::chrono::seconds period(30);
  {
    const std::lock_guard lock(mutex_);
    if (Home::Clock::now() - uses_written_ < period) return;
    uses_written_ = Home::Clock::now();
  }
  write_uses(store);
}

void Contents::write_uses(io::ObjectStore& store) {
  UserRecord record{.user = this_user(), .uses = {}};
  const io::ValueAddress address{{uses_group, number_}, 0, number_of(record.user)};
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(has_new_uses_, false)) return;
  }
  if (const auto before = store.get(address)) {
    try {
      record.uses = read_user_record(before->value).uses;
    } catch (const Error&) {  // rewritten
    }
  }
  record.uses = Uses::merged(record.uses, uses());
  const std::string text = to_json(record);
  const io::UpdateItem item{address.akey, {as_bytes(text)}};
  store.update(address.object, address.dkey, {&item, 1});
}

}  // namespace colonnade::cache
