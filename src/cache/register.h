// The register of a home: which data sets it has, what of them, who used it when, and what shall stay. Read
// from the store itself, so it is never wrong and needs no upkeep.
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

// What of a data set stays when room is made. No columns: all of it.
struct Pin {
  std::string user;
  std::vector<std::uint32_t> columns;
  bool holds(std::uint32_t column) const noexcept;
};

struct Entry {
  std::uint64_t number = 0;
  std::optional<Identity> identity;  // nothing: its record is damaged or missing
  std::map<std::uint32_t, std::vector<RunKey>> columns;
  std::optional<Pin> pin;
  std::vector<UserRecord> users;

  std::uint64_t size() const noexcept;
  // When anybody used it last; nothing: nobody has said so.
  std::optional<std::int64_t> last_use(std::uint32_t column, std::uint64_t cluster) const;
};

std::vector<std::uint64_t> list_numbers(const io::ObjectStore& store);
std::optional<Identity> read_identity(const io::ObjectStore& store, std::uint64_t number);
std::optional<Descriptor> read_descriptor(const io::ObjectStore& store, std::uint64_t number);
// With `uses`: also who used what.
Entry read_entry(const io::ObjectStore& store, std::uint64_t number, bool uses);
std::vector<Entry> read_register(const io::ObjectStore& store, bool uses);

void write_pin(io::ObjectStore& store, std::uint64_t number, const std::optional<Pin>& pin);
// All of it, or some columns. The number of bytes that this gives back.
std::uint64_t remove_entry(io::ObjectStore& store, const Entry& entry);
std::uint64_t remove_columns(io::ObjectStore& store, const Entry& entry,
                             const std::vector<std::uint32_t>& columns);

}  // namespace colonnade::cache

#endif
