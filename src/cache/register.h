// The register of a home: its data sets, their contents, who used them when, and what is pinned. Read
// from the store itself, so it is never wrong and needs no maintenance.
#ifndef COLONNADE_CACHE_REGISTER_H
#define COLONNADE_CACHE_REGISTER_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/contents.h"
#include "colonnade/descriptor.h"

namespace colonnade::cache {

// The pinned part of a data set. No columns: all of it.
struct Pin {
  std::string user;
  std::vector<std::uint32_t> columns;
  bool holds(std::uint32_t column) const noexcept;
};

struct RegisterEntry {
  std::uint64_t number = 0;
  std::optional<Identity> identity;  // empty: its record is damaged or missing
  std::map<std::uint32_t, std::vector<RunKey>> columns;
  std::optional<Pin> pin;
  std::vector<UserRecord> users;

  std::uint64_t size() const noexcept;
  // When it was last used; empty: unknown.
  std::optional<std::int64_t> last_use(std::uint32_t column, std::uint64_t cluster) const;
};

std::vector<std::uint64_t> list_numbers(const io::ObjectStore& store);
std::optional<Identity> read_identity(const io::ObjectStore& store, std::uint64_t number);
std::optional<Descriptor> read_descriptor(const io::ObjectStore& store, std::uint64_t number);
// With `uses`: also who used which columns.
RegisterEntry read_entry(const io::ObjectStore& store, std::uint64_t number, bool uses);
std::vector<RegisterEntry> read_register(const io::ObjectStore& store, bool uses);

void write_pin(io::ObjectStore& store, std::uint64_t number, const std::optional<Pin>& pin);
// Removes all of it, or some columns. Returns the number of bytes removed.
std::uint64_t remove_entry(io::ObjectStore& store, const RegisterEntry& entry);
std::uint64_t remove_columns(io::ObjectStore& store, const RegisterEntry& entry,
                             const std::vector<std::uint32_t>& columns);

}  // namespace colonnade::cache

#endif
