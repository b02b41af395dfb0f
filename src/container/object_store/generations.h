// Generations of the data sets of an object store: their numbers, and removing what they left.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_GENERATIONS_H
#define COLONNADE_CONTAINER_OBJECT_STORE_GENERATIONS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "container/object_store/directory.h"

namespace colonnade::container {

// A number that no data set of the store has had yet.
std::uint32_t next_generation(io::ObjectStore& store);

// The generations that have a record at the place, in ascending order.
std::vector<std::uint32_t> generations_at(const io::ObjectStore& store, std::uint64_t place);

// Nothing if the generation has no record there.
std::optional<GenerationRecord> find_generation(const io::ObjectStore& store, std::uint64_t place,
                                                std::uint32_t generation);
void write_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record);
// Changes a record that others change, too: `edit` may be called again. Throws ErrorKind::io if the record is
// not there any more, and what `edit` throws.
void change_generation(io::ObjectStore& store, std::uint64_t place, std::uint32_t generation,
                       const std::function<void(GenerationRecord&)>& edit);
// What lies between ranges, within [first, end). Throws ErrorKind::usage if they overlap, or lie outside.
std::vector<ObjectRange> ranges_between(std::vector<ObjectRange> ranges, std::uint64_t first,
                                        std::uint64_t end);

// What is not committed of a generation whose writer does not hold the claim any more can never be: it is
// garbage from then on, which anybody may remove at any time.
struct Garbage {
  std::string name;
  std::uint64_t objects = 0;  // that its writer had reserved
  bool all = false;           // of the generation
};
// Removes what `anchor` does not have of the generation, and says what that was; nothing: there is nothing.
std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      std::uint32_t generation, bool only_look = false);
std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      const GenerationRecord& record, bool only_look = false);

}  // namespace colonnade::container

#endif
