// For tests: descriptors of valid data sets, their envelopes, and ways to compare and damage them.
#ifndef COLONNADE_FORMAT_ENVELOPE_SAMPLES_H
#define COLONNADE_FORMAT_ENVELOPE_SAMPLES_H

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "colonnade/descriptor.h"

namespace colonnade::format::samples {

// The envelopes of one data set, as stored in a file.
struct Envelopes {
  Bytes header;
  Bytes footer;
  std::vector<Bytes> page_lists;
};

// Writes all envelopes; the page lists follow the cluster groups. Sets the header checksum in `descriptor`.
Envelopes store(Descriptor& descriptor);
// Reads them all and links the result.
Descriptor load(const Envelopes& stored);

// Corrects the checksums inside of an envelope after its bytes were changed: its own, and in footer and page
// lists that of the header.
void reseal(Bytes& envelope);
void reseal(Envelopes& stored);

// Everything that a descriptor holds as text, one item per line, so that differences are readable.
std::string text_of(const Descriptor& descriptor);

// A data set with one of everything: all roles, an array, several representations, an alias, a schema
// extension with deferred columns, two cluster groups, all kinds of locators, extra type information, an
// attribute set.
Descriptor everything();

// A valid data set generated from a seed: random fields, representations, extension, clusters, pages.
Descriptor random_descriptor(std::uint64_t seed);

// A data set with one float field "x" and a vector field "v", and `clusters` clusters of ten entries in one
// group.
Descriptor small(std::size_t clusters = 2);

// Building blocks; ids are the next free ones.
std::uint32_t add_field(Descriptor& descriptor, std::uint32_t parent, FieldRole role, std::string name,
                        std::string type_name);
inline constexpr std::uint32_t top_level = invalid_id;
std::uint32_t add_column(Descriptor& descriptor, std::uint32_t field, ColumnType type,
                         std::uint16_t representation = 0);
ColumnRange make_range(std::uint32_t column, std::uint64_t first, const std::vector<std::uint32_t>& pages);
ColumnRange make_suppressed(std::uint32_t column);

}  // namespace colonnade::format::samples

#endif
