// Contents: what a home has of one data set, as far as this process knows; shared by all readers of the data
// set and by what fills the cache. Any thread may call.
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

namespace colonnade::cache {

// What tells a data set, in this state, from all others.
struct Identity {
  std::string uri;  // never with secrets
  std::string name;
  std::uint64_t size = 0;
  std::string version;
  std::uint64_t anchor = 0;          // checksum of where its metadata are
  std::vector<std::string> columns;  // what each physical column holds, for people

  std::uint64_t number() const;
  std::string to_json() const;
  static Identity from_json(ByteSpan text);  // throws ErrorKind::format
};

class Contents {
 public:
  using Runs = std::map<std::uint64_t, std::vector<RunKey>>;  // by cluster

  // The one of this process.
  static std::shared_ptr<Contents> of(const std::shared_ptr<Home>& home, const Identity& identity);
  Contents(std::shared_ptr<Home> home, Identity identity);

  Home& home() const noexcept { return *home_; }
  std::uint64_t number() const noexcept { return number_; }
  const Identity& identity() const noexcept { return identity_; }

  // Of a column in a cluster; the home is asked once per column.
  std::vector<RunKey> runs(std::uint32_t column, std::uint64_t cluster);
  bool has(std::uint32_t column, std::uint64_t cluster, std::uint32_t page);
  void added(std::uint32_t column, const RunKey& run);
  // It was damaged or is gone. What the home still has of it is removed, so that it is filled anew.
  void lost(std::uint32_t column, const RunKey& run);

  // To be written with the identity.
  void set_metadata(Bytes metadata);
  void note_use(std::uint32_t column, std::uint64_t cluster);
  // Writes what makes the data set known; by who fills the cache. Throws what the store does.
  void write_identity(io::ObjectStore& store);
  // Writes that the data set was found at its URI now, unless somebody has lately. `is_only`: it is the only
  // one there, which may be opened without its name. Throws what the store does.
  void write_found(io::ObjectStore& store, bool is_only);
  // Writes when what was used, if it was used since; throws what the store does.
  void write_uses(io::ObjectStore& store);
  void write_uses_now_and_then(io::ObjectStore& store);
  // What was used by this process.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> uses();
  // Those that this process reads from a home.
  static std::vector<std::shared_ptr<Contents>> all_of(const Home& home);

 private:
  Runs& runs_of(std::uint32_t column);
  bool list_all();

  const std::shared_ptr<Home> home_;
  const Identity identity_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::map<std::uint32_t, Runs> runs_;  // by column, of those that were asked for
  bool is_listed_ = false;              // all of them
  std::map<std::uint32_t, std::map<std::uint64_t, std::int64_t>> uses_;  // by column and cluster
  bool has_new_uses_ = false;
  Home::Clock::time_point uses_written_ = Home::Clock::now();
  bool is_registered_ = false;
  Bytes metadata_;
};

// When the columns of the clusters of a data set were used last, in seconds of 1970.
using Uses = std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t>;
struct UserRecord {
  std::string user;  // "name@host"
  Uses uses;
};
std::string to_json(const UserRecord& record);

// Which data set was found at a URI, and when, in seconds of 1970.
struct FoundRecord {
  std::uint64_t number = 0;
  std::int64_t time = 0;
};
// Without a name: of the only data set there.
io::ValueAddress found_value(const std::string& uri, const std::string& name);
std::string to_json(const FoundRecord& record);
FoundRecord read_found_record(ByteSpan text);  // throws ErrorKind::format
UserRecord read_user_record(ByteSpan text);    // throws ErrorKind::format
// Name and host of whoever runs this.
std::string this_user();
std::uint64_t number_of(const std::string& text) noexcept;

}  // namespace colonnade::cache

#endif
