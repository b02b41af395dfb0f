// finish(), second half: clusters against groups, and column ranges against entries.
//
// Corresponding columns of a field's representations form a team, named by the member in the first
// representation. In a cluster one representation is active, and over the clusters the active members'
// elements follow each other. The first column of a field with no collection or variant above it holds a
// fixed number of elements per entry (the product of the array sizes on its path); a column that came later
// has less in its first cluster.
#include <fmt/format.h>

#include "format/envelope_check.h"
#include "format/envelope_layout.h"

namespace colonnade::format {
namespace {

constexpr std::uint64_t max_entries = std::uint64_t{1} << 63;

void check_groups(const Descriptor& descriptor) {
  std::uint64_t declared = 0;
  for (const ClusterGroup& group : descriptor.cluster_groups) declared += group.clusters;
  if (declared != descriptor.clusters.size())
    throw Error(ErrorKind::format, fmt::format("cluster groups declare {} clusters, the page lists have {}",
                                               declared, descriptor.clusters.size()));
  std::size_t next_cluster = 0;
  std::uint64_t next_entry = 0;
  for (std::size_t i = 0; i < descriptor.cluster_groups.size(); ++i) {
    const ClusterGroup& group = descriptor.cluster_groups[i];
    const std::uint64_t first_entry = next_entry;
    for (std::uint32_t k = 0; k < group.clusters; ++k, ++next_cluster) {
      const ClusterDescriptor& cluster = descriptor.clusters[next_cluster];
      if (cluster.first_entry != next_entry)
        throw Error(ErrorKind::format,
                    fmt::format("cluster {} starts at entry {}, not {}", next_cluster, cluster.first_entry,
                                next_entry),
                    "", {.cluster = next_cluster});
      next_entry += cluster.entries;
      if (next_entry > max_entries)
        throw Error(ErrorKind::format, fmt::format("cluster {} ends beyond entry 2^63", next_cluster), "",
                    {.cluster = next_cluster});
    }
    const std::uint64_t span = next_entry - first_entry;
    if (group.entry_span != span || (group.clusters > 0 && group.min_entry != first_entry))
      throw Error(ErrorKind::format,
                  fmt::format("cluster group {} says {} entries from {} on, its clusters hold {} from {} on",
                              i, group.entry_span, group.min_entry, span, first_entry));
  }
}

class RangeChecker {
 public:
  RangeChecker(const Descriptor& descriptor, const FieldOrder& order)
      : descriptor_(descriptor),
        factors_(descriptor.fields.size(), 0),
        fields_(descriptor.fields.size()),
        columns_(descriptor.columns.size()) {
    for (const std::uint32_t id : order) factors_[id] = factor_of(descriptor.fields[id]);
    for (const FieldDescriptor& field : descriptor.fields) {
      if (field.source_field) continue;
      for (const auto& group : field.representations)
        for (std::size_t i = 0; i < group.size(); ++i)
          columns_[group[i]].team = field.representations.front()[i];
    }
  }

  void run() {
    for (std::size_t i = 0; i < descriptor_.clusters.size(); ++i) check_cluster(i);
    if (descriptor_.clusters.empty()) return;
    for (const FieldDescriptor& field : descriptor_.fields) check_end(field);
  }

 private:
  struct FieldState {
    std::size_t listed_in = 0;  // the last cluster that lists the field, counted from 1
    std::size_t active_in = 0;  // the last cluster with an active representation, counted from 1
    std::uint16_t active = 0;   // that representation
    std::uint32_t active_columns = 0;
  };
  struct ColumnState {
    std::uint32_t team = invalid_id;
    bool seen = false;               // of the team's first member: has it had elements?
    std::uint64_t next_element = 0;  // likewise
  };

  [[noreturn]] void fail(std::size_t cluster, std::uint32_t column, const std::string& why) const {
    const std::uint32_t field = descriptor_.columns[column].field;
    throw Error(ErrorKind::format, fmt::format("column {} in cluster {}: {}", column, cluster, why), "",
                {.field = descriptor_.path_of(field), .column = column, .cluster = cluster});
  }

  // Elements per entry of a field's first column; 0 where the data decides.
  std::uint64_t factor_of(const FieldDescriptor& field) const {
    std::uint64_t factor = 1;
    if (field.parent != field.id) {
      const FieldDescriptor& parent = descriptor_.fields[field.parent];
      if (parent.role == FieldRole::collection || parent.role == FieldRole::variant) return 0;
      factor = factors_[field.parent];
    }
    if (field.array_size > 0 && factor > max_entries / field.array_size)
      throw Error(ErrorKind::format,
                  fmt::format("field {} {}: array sizes on its path multiply to more than 2^63", field.id,
                              quoted(field.name)));
    return field.array_size > 0 ? factor * field.array_size : factor;
  }

  const FieldDescriptor& field_of(std::uint32_t column) const {
    return descriptor_.fields[descriptor_.columns[column].field];
  }

  std::uint64_t factor_of_column(std::uint32_t column) const {
    const FieldDescriptor& field = field_of(column);
    const bool is_principal = columns_[column].team == field.representations.front().front();
    return is_principal ? factors_[field.id] : 0;
  }

  void check_cluster(std::size_t index) {
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    const auto listed = static_cast<std::uint32_t>(cluster.columns.size());
    if (listed < descriptor_.header_columns || listed > descriptor_.columns.size())
      throw Error(ErrorKind::format,
                  fmt::format("cluster {} lists {} columns, the header has {}", index, listed,
                              descriptor_.header_columns),
                  "", {.cluster = index});
    for (std::uint32_t column = 0; column < listed; ++column)
      if (field_of(column).unreadable.empty()) check_range(index, column);
    for (std::uint32_t column = 0; column < listed; ++column)
      if (field_of(column).unreadable.empty()) check_active(index, column);
  }

  void check_range(std::size_t index, std::uint32_t column) {
    const ColumnRange& range = descriptor_.clusters[index].columns[column];
    const FieldDescriptor& field = field_of(column);
    FieldState& state = fields_[field.id];
    if (state.listed_in != 0 && state.listed_in < index)
      fail(index, column, fmt::format("listed again after it was left out of cluster {}", state.listed_in));
    state.listed_in = index + 1;
    if (range.suppressed) return;
    const std::uint16_t representation = descriptor_.columns[column].representation;
    if (state.active_in != index + 1) {
      state.active_in = index + 1;
      state.active = representation;
      state.active_columns = 0;
    } else if (state.active != representation) {
      fail(index, column,
           fmt::format("representations {} and {} of the field are both active", state.active,
                       representation));
    }
    ++state.active_columns;
    check_elements(index, column, range);
  }

  void check_elements(std::size_t index, std::uint32_t column, const ColumnRange& range) {
    ColumnState& team = columns_[columns_[column].team];
    const ColumnDescriptor& description = descriptor_.columns[column];
    const auto first = static_cast<std::uint64_t>(range.first_element);
    std::uint64_t elements = 0;
    for (const PageDescriptor& page : range.pages) elements += page.elements;
    if (first + elements > max_entries) fail(index, column, "element numbers beyond 2^63");
    const std::uint64_t expected = team.seen ? team.next_element : description.first_element;
    if (first != expected) fail(index, column, fmt::format("starts at element {}, not {}", first, expected));
    check_against_entries(index, column, first, elements, !team.seen && description.deferred);
    team.seen = true;
    team.next_element = first + elements;
  }

  void check_against_entries(std::size_t index, std::uint32_t column, std::uint64_t first,
                             std::uint64_t elements, bool may_start_late) const {
    const std::uint64_t factor = factor_of_column(column);
    if (factor == 0) return;
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(cluster.first_entry, factor, &begin) ||
        __builtin_mul_overflow(cluster.first_entry + cluster.entries, factor, &end))
      fail(index, column, "element numbers beyond 2^64");
    const bool starts_well = may_start_late ? first >= begin && first <= end : first == begin;
    if (!starts_well)
      fail(index, column, fmt::format("starts at element {}, but the cluster's entries at {}", first, begin));
    if (elements != end - first)
      fail(index, column,
           fmt::format("{} elements, but {} entries need {}", elements, cluster.entries, end - first));
  }

  void check_active(std::size_t index, std::uint32_t column) const {
    const FieldDescriptor& field = field_of(column);
    const FieldState& state = fields_[field.id];
    if (state.active_in != index + 1) fail(index, column, "every representation of the field is suppressed");
    if (state.active_columns != field.representations.front().size())
      fail(index, column,
           fmt::format("only {} of the {} columns of the active representation are there",
                       state.active_columns, field.representations.front().size()));
  }

  // A field that came after some cluster must be in all clusters from then on, and must say that it is late.
  void check_end(const FieldDescriptor& field) const {
    if (field.source_field || !field.unreadable.empty() || field.representations.empty()) return;
    const std::size_t clusters = descriptor_.clusters.size();
    const FieldState& state = fields_[field.id];
    const std::uint32_t column = field.representations.front().front();
    if (state.listed_in != 0 && state.listed_in < clusters)
      fail(state.listed_in, column, "missing, though an earlier cluster has it");
    const std::uint64_t factor = factors_[field.id];
    const ColumnDescriptor& description = descriptor_.columns[column];
    if (state.listed_in != 0 || factor == 0) return;
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(descriptor_.entries(), factor, &end))
      fail(0, column, "element numbers beyond 2^64");
    if (end > 0 && description.first_element < end)
      fail(0, column, "missing, and not deferred beyond the last entry");
  }

  const Descriptor& descriptor_;
  std::vector<std::uint64_t> factors_;
  std::vector<FieldState> fields_;
  std::vector<ColumnState> columns_;
};

// With the feature flag set, a column inside of a collection may start late only as one more representation
// of a field that has data before.
void check_nested_deferred(const Descriptor& descriptor) {
  if ((descriptor.feature_flags & flag_nested_deferred_columns) == 0) return;
  for (const ColumnDescriptor& column : descriptor.columns) {
    if (!column.deferred || column.deferred_suppressed || column.first_element == 0) continue;
    for (std::uint32_t at = column.field; descriptor.fields[at].parent != at;) {
      at = descriptor.fields[at].parent;
      const FieldRole role = descriptor.fields[at].role;
      if (role == FieldRole::collection || role == FieldRole::variant)
        throw Error(ErrorKind::unsupported,
                    fmt::format("column {} starts at element {} inside of {}, which this version cannot read",
                                column.id, column.first_element, quoted(descriptor.fields[at].name)),
                    "a newer version of the library",
                    {.field = descriptor.path_of(column.field), .column = column.id});
    }
  }
}

}  // namespace

void check_clusters(const Descriptor& descriptor, const FieldOrder& order) {
  check_nested_deferred(descriptor);
  check_groups(descriptor);
  RangeChecker(descriptor, order).run();
}

}  // namespace colonnade::format
