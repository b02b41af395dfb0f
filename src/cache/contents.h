// Contents: what a home holds of one data set, as far as this process knows; shared by all readers of the
// data set and by the filler. Any thread may call it.
#ifndef COLONNADE_CACHE_CONTENTS_H
#define COLONNADE_CACHE_CONTENTS_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cache/home.h"
#include "cache/layout.h"
#include "cache/uses.h"

namespace colonnade::cache {

// Identifies a data set in its present state.
struct Identity {
  std::string uri;  // never with secrets
  std::string name;
  std::uint64_t size = 0;
  std::string version;
  std::uint64_t anchor = 0;          // checksum of the locations of its metadata
  std::vector<std::string> columns;  // descriptions of the physical columns, for users

  std::uint64_t number() const;
  std::string to_json() const;
  static Identity from_json(ByteSpan text);  // throws ErrorKind::format
};

class Contents {
 public:
  using Runs = std::map<std::uint64_t, std::vector<RunKey>>;  // by cluster

  // The contents in this process.
  static std::shared_ptr<Contents> of(const std::shared_ptr<Home>& home, const Identity& identity);
  Contents(std::shared_ptr<Home> home, Identity identity);

  std::uint64_t number() const noexcept { return number_; }

  // Of a column in a cluster; the home is queried once per column.
  std::vector<RunKey> runs(std::uint32_t column, std::uint64_t cluster);
  bool has(std::uint32_t column, std::uint64_t cluster, std::uint32_t page);
  void added(std::uint32_t column, const RunKey& run);
  // Called for a run that is damaged or gone: removes it from the home, so that it is filled again.
  void lost(std::uint32_t column, const RunKey& run);

  // To be written together with the identity.
  void set_metadata(Bytes metadata);
  void note_use(std::uint32_t column, std::uint64_t cluster);
  // Writes the identity; called by the filler. Throws what the store throws.
  void write_identity(io::ObjectStore& store);
  // Records that the data set was found at its URI now, unless that was recorded recently. `is_only`: it is
  // the only data set there, and may be opened without its name. Throws what the store throws.
  void write_found(io::ObjectStore& store, bool is_only);
  // Records when data were used, if they were used since; throws what the store throws.
  void write_uses(io::ObjectStore& store);
  void write_uses_now_and_then(io::ObjectStore& store);
  // Of data that this process has used.
  Uses uses();
  // All contents that this process reads from a home.
  static std::vector<std::shared_ptr<Contents>> all_of(const Home& home);

 private:
  Runs& runs_of(std::uint32_t column);
  bool list_all();

  const std::shared_ptr<Home> home_;
  const Identity identity_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::map<std::uint32_t, Runs> runs_;  // by column, of the columns that were queried
  bool is_listed_ = false;              // all columns were queried
  std::uint64_t queried_in_ = 0;        // the opening of the home that was queried; 0: the first one
  std::map<std::uint32_t, std::map<std::uint64_t, std::int64_t>> uses_;  // by column and cluster
  bool has_new_uses_ = false;
  Home::Clock::time_point uses_written_ = Home::Clock::now();
  std::uint64_t registered_in_ = 0;  // the opening of the home that has the identity; 0: none
  Bytes metadata_;
};

struct UserRecord {
  std::string user;  // "name@host"
  Uses uses;
};
std::string to_json(const UserRecord& record);

// Which data set was found at a URI, and when, in Unix seconds.
struct FoundRecord {
  std::uint64_t number = 0;
  std::int64_t time = 0;
};
// Without a name: for the only data set of a file.
io::ValueAddress found_value(const std::string& uri, const std::string& name);
std::string to_json(const FoundRecord& record);
FoundRecord read_found_record(ByteSpan text);  // throws ErrorKind::format
UserRecord read_user_record(ByteSpan text);    // throws ErrorKind::format
// Name and host of the user who runs this process.
std::string this_user();
std::uint64_t number_of(const std::string& text) noexcept;

}  // namespace colonnade::cache

#endif
