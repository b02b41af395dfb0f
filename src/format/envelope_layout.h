// Constants that reading and writing of envelopes share: flag bits, minimum sizes of records, limits.
#ifndef COLONNADE_FORMAT_ENVELOPE_LAYOUT_H
#define COLONNADE_FORMAT_ENVELOPE_LAYOUT_H

#include <cstdint>

#include "colonnade/column_type.h"
#include "colonnade/descriptor.h"
#include "format/locator.h"

namespace colonnade::format {

// Bit 0, nested deferred columns: a merge gave a field inside of a collection another column representation
// from some cluster on. Readers only need to choose the active representation per cluster; finish() checks
// that there is one.
inline constexpr std::uint64_t flag_nested_deferred_columns = 1;
inline constexpr std::uint64_t known_feature_flags = flag_nested_deferred_columns;

inline constexpr std::uint16_t field_is_repetitive = 0x01;
inline constexpr std::uint16_t field_is_projected = 0x02;
inline constexpr std::uint16_t field_has_checksum = 0x04;
inline constexpr std::uint16_t field_is_soa = 0x08;

inline constexpr std::uint16_t column_is_deferred = 0x01;
inline constexpr std::uint16_t column_has_range = 0x02;

inline constexpr std::uint8_t cluster_is_sharded = 0x01;
inline constexpr std::uint64_t max_cluster_entries = (std::uint64_t{1} << 56) - 1;

// The minimum size of an item of each list, frame included: bounds a list's count by its bytes.
inline constexpr std::uint64_t min_field_bytes = 8 + 16 + 4 * 4;
inline constexpr std::uint64_t min_column_bytes = 8 + 12;
inline constexpr std::uint64_t min_alias_bytes = 8 + 8;
inline constexpr std::uint64_t min_type_info_bytes = 8 + 8 + 2 * 4;
inline constexpr std::uint64_t min_group_bytes = 8 + 20 + min_link_bytes;
inline constexpr std::uint64_t min_attribute_set_bytes = 8 + 8 + min_locator_bytes + 4;
inline constexpr std::uint64_t min_summary_bytes = 8 + 16;
inline constexpr std::uint64_t min_column_list_bytes = 12;
inline constexpr std::uint64_t min_range_bytes = 12 + 8;
inline constexpr std::uint64_t min_page_bytes = 4 + min_locator_bytes;

// The memory for a record after reading, including what its checks and the opening of the data set need. An
// overestimate, so that a MemoryLimit covers all of that.
inline constexpr std::uint64_t field_memory = 2 * sizeof(FieldDescriptor) + 768;
inline constexpr std::uint64_t column_memory = 2 * sizeof(ColumnDescriptor) + 128;
inline constexpr std::uint64_t alias_memory = 2 * sizeof(AliasColumnDescriptor) + 64;
inline constexpr std::uint64_t type_info_memory = 2 * sizeof(ExtraTypeInfo);
inline constexpr std::uint64_t group_memory = 2 * sizeof(ClusterGroup);
inline constexpr std::uint64_t attribute_set_memory = 2 * sizeof(AttributeSetRecord);
inline constexpr std::uint64_t cluster_memory = 3 * sizeof(ClusterDescriptor) + 64;
inline constexpr std::uint64_t plain_page_memory = 16;
inline constexpr std::uint64_t other_page_memory = 3 * sizeof(PageDescriptor);

inline constexpr std::uint16_t known_roles = 5;
inline constexpr std::uint32_t known_field_version = 0;

}  // namespace colonnade::format

#endif
