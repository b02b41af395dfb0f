// Generations of the data sets of an object store: their numbers, and removing what they left.
#ifndef COLONNADE_PAGE_OBJECT_GENERATIONS_H
#define COLONNADE_PAGE_OBJECT_GENERATIONS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "page/object_directory.h"

namespace colonnade::page {

// A number that no data set of the store has had yet.
std::uint32_t next_generation(io::ObjectStore& store);

// The generations that have a record at the place, in ascending order.
std::vector<std::uint32_t> generations_at(const io::ObjectStore& store, std::uint64_t place);

// Nothing if the generation has no record there.
std::optional<GenerationRecord> find_generation(const io::ObjectStore& store, std::uint64_t place,
                                                std::uint32_t generation);
void write_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record);

// Removes all values of the generation, and its record after them.
void remove_generation(io::ObjectStore& store, std::uint64_t place, std::uint32_t generation);

// Removes the blobs from number `end` on.
void remove_blobs(io::ObjectStore& store, std::uint32_t generation, std::uint64_t end);

// To be called by who holds the claim of a place: releases it, and the place itself if no data set is there.
// One that the search for another name passes is kept by an anchor of generation 0.
void release_place(io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim);

}  // namespace colonnade::page

#endif
