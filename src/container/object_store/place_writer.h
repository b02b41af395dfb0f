// PlaceWriter: changes the record of a place (directory.h), each time on condition that nobody else
// has changed it since this read it, and finds out what became of a change whose answer was lost.
//
// A store may apply a put and lose the answer, or apply it late, when whoever asked for it has given up. So a
// put without an answer is open: it may be there, or come. Each later put decides it, as both expect what was
// there before and only one of them can find it. What is found in the record, byte for byte, is what was put:
// the stamp in it is drawn at random for each put.
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
  // `found` is what was read at the place.
  PlaceWriter(io::ObjectStore& store, std::uint64_t place, std::optional<Stored<PlaceRecord>> found);

  // Puts the record as `edit` changes it; where that has to be tried again, of what is there then. False:
  // somebody else has changed it, record() is what is there, and it stays false. Throws what the store says
  // if the change may be made or not.
  bool change(const std::function<void(PlaceRecord&)>& edit);
  // Reads the record again. False: somebody else has changed it.
  bool look();

  // What is at the place, as far as this knows; nothing: no record.
  const std::optional<PlaceRecord>& record() const noexcept { return record_; }
  // No put of this can come to be applied any more, and record() is what all those before have led to.
  bool certain() const noexcept { return open_.empty(); }
  // record() was there when this looked after the last failure, if there was one.
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
  std::vector<PlaceRecord> open_;  // puts whose outcome is not known
};

}  // namespace colonnade::container

#endif
