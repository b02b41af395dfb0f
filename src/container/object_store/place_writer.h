// PlaceWriter: changes the record of a place (directory.h) by conditional puts, which fail if another process
// has changed it, and determines the outcome of puts whose answers were lost.
//
// A store may apply a put and lose the answer, or apply it late, after the caller has given up. A put without
// an answer is therefore open: it may be applied already, or later. The next put settles it, as both expect
// the same previous record and only one of them can find it. If the record read back has the same bytes, the
// put was applied: its stamp is random for each put.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_PLACE_WRITER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_PLACE_WRITER_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "container/object_store/directory.h"

namespace colonnade::container {

class PlaceWriter {
 public:
  // `found`: the record that was read at the place.
  PlaceWriter(io::ObjectStore& store, std::uint64_t place, std::optional<VersionedRecord<PlaceRecord>> found);

  // Puts the record as changed by `edit`; a retry applies `edit` to the record found then. Returns false,
  // from now on always, if another process has changed the record; record() then returns it. Throws the
  // store's error if the outcome is unknown.
  bool change(const std::function<void(PlaceRecord&)>& edit);
  // Reads the record again. Returns false if another process has changed it.
  bool look();

  // The last known record of the place; empty: none.
  const std::optional<PlaceRecord>& record() const noexcept { return record_; }
  // True if record() was read after the last failure, if there was one.
  bool seen() const noexcept { return current_; }
  bool lost() const noexcept { return lost_; }
  std::uint64_t place() const noexcept { return place_; }

 private:
  bool put(const PlaceRecord& record);

  io::ObjectStore& store_;
  std::uint64_t place_;
  std::optional<PlaceRecord> record_;
  std::optional<std::string> version_;
  bool current_ = true;  // version_ is that of record_
  bool lost_ = false;
  std::vector<PlaceRecord> open_;  // puts with unknown outcome
};

}  // namespace colonnade::container

#endif
