// The descriptor: all metadata of a data set - fields, columns, clusters, pages - as plain
// structs.
//
// A Reader owns one Descriptor and hands it out by const reference for its own lifetime; copies are
// independent. It never changes once it is built, so any number of threads may read it.
#ifndef COLONNADE_DESCRIPTOR_H
#define COLONNADE_DESCRIPTOR_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/column_type.h"
#include "colonnade/detail/inline_vector.h"
#include "colonnade/page_list.h"

namespace colonnade {

inline constexpr std::uint32_t invalid_id = 0xffffffffu;

using FieldIds = detail::InlineVector<std::uint32_t, 2>;
using ColumnIds = detail::InlineVector<std::uint32_t, 2>;

enum class FieldRole : std::uint16_t { leaf = 0, collection = 1, record = 2, variant = 3, streamer = 4 };

struct FieldDescriptor {
  std::uint32_t id = invalid_id;
  std::uint32_t field_version = 0;
  std::uint32_t type_version = 0;
  std::uint32_t parent = invalid_id;  // its own id for a top-level field
  FieldRole role = FieldRole::leaf;
  std::uint16_t raw_role = 0;  // the stored number; differs from `role` only if this version does not know it
  std::string name;
  std::string type_name;
  std::string type_alias;
  std::string description;
  std::uint64_t array_size = 0;                // > 0: a repetitive field (fixed-size array, bitset)
  std::optional<std::uint32_t> source_field;   // set: a projected field
  std::optional<std::uint32_t> type_checksum;  // ROOT's class checksum
  bool soa_collection = false;  // a hint for ROOT: the collection is a structure of arrays in memory
  bool contradicted = false;    // unreadable because page lists lack its data or do not fit it: it is damaged
  FieldIds children;            // sub-field ids, in order
  // Physical column ids, grouped by representation, each group in column order. Projected fields: the aliased
  // columns.
  detail::InlineVector<ColumnIds, 1> representations;
  // Empty if the field can be read; otherwise the reason ("column type 0x42 is unknown to this version").
  std::string unreadable;
};

struct ColumnDescriptor {
  std::uint32_t id = invalid_id;
  std::uint32_t field = invalid_id;
  std::uint16_t raw_type = 0;  // the stored number; may be beyond ColumnType's table
  ColumnEncoding encoding;
  bool has_range = false;
  std::uint16_t representation = 0;
  bool deferred = false;
  bool deferred_suppressed = false;
  std::uint64_t first_element = 0;  // of a deferred column: elements before it are zero / empty
};

struct AliasColumnDescriptor {
  std::uint32_t physical_column = invalid_id;
  std::uint32_t field = invalid_id;
};

struct ExtraTypeInfo {
  std::uint32_t content_id = 0;  // 0: serialised streamer info
  std::uint32_t type_version = 0;
  std::string type_name;
  std::string content;
};

struct EnvelopeLink {
  std::uint64_t length = 0;  // uncompressed
  Locator locator;
};

// The pages of one column in one cluster.
struct ColumnRange {
  std::uint32_t column = invalid_id;
  bool suppressed = false;
  std::int64_t first_element =
      0;  // global element index of the first element in this cluster (raw: negative if suppressed)
  std::uint32_t compression = 0;  // ROOT setting, algorithm * 100 + level
  PageList pages;
};

struct ClusterDescriptor {
  std::uint64_t id = 0;
  std::uint64_t first_entry = 0;
  std::uint64_t entries = 0;
  std::uint8_t flags = 0;
  // Indexed by physical column id; shorter than the list of columns if columns were added after this cluster.
  std::vector<ColumnRange> columns;
};

struct ClusterGroup {
  std::uint64_t min_entry = 0;
  std::uint64_t entry_span = 0;
  std::uint32_t clusters = 0;
  EnvelopeLink page_list;
};

// The version of the attribute set schema that this library reads and writes.
inline constexpr std::uint16_t attribute_schema_major = 1;
inline constexpr std::uint16_t attribute_schema_minor = 0;

// A linked attribute set (format 1.0.1.0), see colonnade/attributes.h.
struct AttributeSetRecord {
  std::uint16_t schema_major = 0;
  std::uint16_t schema_minor = 0;
  std::uint32_t anchor_length = 0;
  Locator anchor;
  std::string name;
};

// The fields of the anchor, see the specification, "Anchor schema".
struct Anchor {
  std::uint16_t epoch = 1;
  std::uint16_t major = 0;
  std::uint16_t minor = 1;
  std::uint16_t patch = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t header_size = 0;    // compressed
  std::uint64_t header_length = 0;  // uncompressed
  std::uint64_t footer_offset = 0;
  std::uint64_t footer_size = 0;
  std::uint64_t footer_length = 0;
  std::uint64_t max_key_size = 0;
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

struct Descriptor {
  std::string name;
  std::string description;
  std::string writer;
  Anchor anchor;
  std::uint64_t feature_flags = 0;
  std::uint64_t header_checksum = 0;  // XXH3 stored at the end of the header envelope
  // The fields and columns of the header come first, those of the schema extension after them.
  std::uint32_t header_fields = 0;
  std::uint32_t header_columns = 0;
  std::uint32_t header_aliases = 0;
  std::uint32_t header_type_infos = 0;
  std::vector<FieldDescriptor> fields;
  std::vector<ColumnDescriptor> columns;
  std::vector<AliasColumnDescriptor> aliases;
  std::vector<ExtraTypeInfo> type_infos;
  std::vector<ClusterGroup> cluster_groups;
  std::vector<ClusterDescriptor> clusters;  // sorted by id; filled from the page lists
  std::vector<AttributeSetRecord> attribute_sets;

  std::uint64_t entries() const noexcept;
  std::vector<std::uint32_t> top_level_fields() const;
  // Field by path: "jets._0.pt" as stored, or "jets.pt" if the collection's items are records. Returns
  // invalid_id if there is no such field.
  std::uint32_t find_field(std::string_view path) const noexcept;
  // The path of a field as RNTuple names it: "jets._0.pt".
  std::string path_of(std::uint32_t field) const;
  // The number of a field's elements before an entry, if the field is not below a collection: what a deferred
  // column that begins at this entry lacks. 0 below collections and variants.
  std::uint64_t elements_before(std::uint32_t field, std::uint64_t entry) const noexcept;
  // The cluster that holds an entry; clusters().size() if no cluster does.
  std::size_t cluster_of_entry(std::uint64_t entry) const noexcept;
};

}  // namespace colonnade

#endif
