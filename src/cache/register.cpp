// See register.h.
#include "cache/register.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cache/metadata.h"

namespace colonnade::cache {
namespace {

// A damaged record counts as missing: the cache works without it.
template <class Read>
auto read_record(const io::ObjectStore& store, const io::ValueAddress& address, Read&& read)
    -> std::optional<std::invoke_result_t<Read, ByteSpan>> {
  const auto record = store.get(address);
  if (!record) return std::nullopt;
  try {
    return read(record->value);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format) throw;
    return std::nullopt;
  }
}

Pin read_pin(ByteSpan text) {
  try {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    const nlohmann::json json = nlohmann::json::parse(begin, begin + text.size());
    return {.user = json.at("user"), .columns = json.at("columns")};
  } catch (const nlohmann::json::exception&) {
    return {};  // a user has pinned something
  }
}

}  // namespace

bool Pin::holds(std::uint32_t column) const noexcept {
  return columns.empty() || std::ranges::find(columns, column) != columns.end();
}

std::uint64_t RegisterEntry::size() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [column, runs] : columns)
    for (const RunKey& run : runs) sum += run.size();
  return sum;
}

std::optional<std::int64_t> RegisterEntry::last_use(std::uint32_t column, std::uint64_t cluster) const {
  std::optional<std::int64_t> last;
  for (const UserRecord& user : users)
    if (const auto time = user.uses.time_of(column, cluster)) last = std::max(last.value_or(*time), *time);
  return last;
}

std::vector<std::uint64_t> list_numbers(const io::ObjectStore& store) {
  return store.list_akeys(register_object, identity_key);
}

std::optional<Identity> read_identity(const io::ObjectStore& store, std::uint64_t number) {
  return read_record(store, {register_object, identity_key, number}, Identity::from_json);
}

std::optional<Descriptor> read_descriptor(const io::ObjectStore& store, std::uint64_t number) {
  const auto record = store.get({register_object, metadata_key, number});
  if (!record) return std::nullopt;
  try {
    return descriptor_of(read_metadata(record->value));
  } catch (const Error&) {
    return std::nullopt;
  }
}

RegisterEntry read_entry(const io::ObjectStore& store, std::uint64_t number, bool uses) {
  RegisterEntry entry{.number = number};
  entry.identity = read_identity(store, number);
  entry.pin = read_record(store, {register_object, pin_key, number}, read_pin);
  for (const auto& [column, key] : store.list_values({pages_group, number}))
    entry.columns[static_cast<std::uint32_t>(column)].push_back(RunKey::of(key));
  if (!uses) return entry;
  for (const std::uint64_t user : store.list_akeys({uses_group, number}, 0))
    if (auto record = read_record(store, {{uses_group, number}, 0, user}, read_user_record))
      entry.users.push_back(std::move(*record));
  return entry;
}

std::vector<RegisterEntry> read_register(const io::ObjectStore& store, bool uses) {
  std::vector<RegisterEntry> entries;
  for (const std::uint64_t number : list_numbers(store)) entries.push_back(read_entry(store, number, uses));
  return entries;
}

void write_pin(io::ObjectStore& store, std::uint64_t number, const std::optional<Pin>& pin) {
  if (!pin) return store.remove({register_object, pin_key, number});
  const std::string text = nlohmann::json{{"user", pin->user}, {"columns", pin->columns}}.dump();
  const io::UpdateItem item{number, {as_bytes(text)}};
  store.update(register_object, pin_key, {&item, 1});
}

std::uint64_t remove_columns(io::ObjectStore& store, const RegisterEntry& entry,
                             const std::vector<std::uint32_t>& columns) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t column : columns) {
    const auto found = entry.columns.find(column);
    if (found == entry.columns.end()) continue;
    for (const RunKey& run : found->second) {
      store.remove(pages_value(entry.number, column, run));
      bytes += run.size();
    }
  }
  return bytes;
}

// The identity is removed last, so that the rest is still found if this ends in the middle.
std::uint64_t remove_entry(io::ObjectStore& store, const RegisterEntry& entry) {
  std::vector<std::uint32_t> columns;
  for (const auto& [column, runs] : entry.columns) columns.push_back(column);
  const std::uint64_t bytes = remove_columns(store, entry, columns);
  for (const std::uint64_t user : store.list_akeys({uses_group, entry.number}, 0))
    store.remove({{uses_group, entry.number}, 0, user});
  store.remove({register_object, pin_key, entry.number});
  store.remove({register_object, metadata_key, entry.number});
  store.remove({register_object, identity_key, entry.number});
  return bytes;
}

}  // namespace colonnade::cache
