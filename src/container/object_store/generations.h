// Generations of the data sets of an object store: numbering and removal.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_GENERATIONS_H
#define COLONNADE_CONTAINER_OBJECT_STORE_GENERATIONS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "container/object_store/directory.h"

namespace colonnade::container {

// Returns a number that no data set of the store has used yet.
std::uint32_t next_generation(io::ObjectStore& store);

// The generations with a record at the place, in ascending order.
std::vector<std::uint32_t> generations_at(const io::ObjectStore& store, std::uint64_t place);

// Empty if the generation has no record there.
std::optional<GenerationRecord> find_generation(const io::ObjectStore& store, std::uint64_t place,
                                                std::uint32_t generation);
// Puts a record where there is none: if an attempt is done late, it changes nothing that came after it.
// Throws ErrorKind::io if there is one.
void add_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record);
void write_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record);
// Changes a record that other processes change, too: `edit` may run several times. Throws ErrorKind::io if
// the record is gone, and what `edit` throws.
void change_generation(io::ObjectStore& store, std::uint64_t place, std::uint32_t generation,
                       const std::function<void(GenerationRecord&)>& edit);
// The gaps between ranges, within [first, end). Throws ErrorKind::usage if ranges overlap or lie outside.
std::vector<ObjectRange> ranges_between(std::vector<ObjectRange> ranges, std::uint64_t first,
                                        std::uint64_t end);

// Once a writer has lost its claim, the uncommitted part of its generation can never be committed: it is
// garbage, which any process may remove at any time.
struct Garbage {
  std::string name;
  std::uint64_t objects = 0;  // reserved by its writer
  bool all = false;           // the whole generation
};
// Removes what `anchor` does not name of the generation; returns a description, empty without
// garbage.
std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      std::uint32_t generation, bool only_look = false);
std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      const GenerationRecord& record, bool only_look = false);

}  // namespace colonnade::container

#endif
