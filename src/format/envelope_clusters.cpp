// finish(), second half: clusters against groups, and column ranges against entries.
//
// Clusters and groups that do not fit together make the data set unusable; a column that does not fit makes
// its field unreadable. (Some releases of ROOT's merger write wrong numbers of elements for fields that one
// of the inputs lacks; everything else in such a file is sound.)
//
// Corresponding columns of a field's representations form a team, named by the member in the first
// representation. In a cluster one representation is active, and over the clusters the active members'
// elements follow each other. The first column of a field with no collection or variant above it holds a
// fixed number of elements per entry (the product of the array sizes on its path); a column that came later
// has less in its first cluster.
#include <fmt/format.h>

#include <optional>

#include "colonnade/error.h"
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
    if (group.entry_span != span ||
        (group.clusters > 0 ? group.min_entry != first_entry : group.min_entry > first_entry))
      throw Error(ErrorKind::format,
                  fmt::format("cluster group {} says {} entries from {} on, its clusters hold {} from {} on",
                              i, group.entry_span, group.min_entry, span, first_entry));
  }
}

class RangeChecker {
 public:
  RangeChecker(Descriptor& descriptor, const FieldOrder& order)
      : descriptor_(descriptor),
        factors_(descriptor.fields.size()),
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
  // Elements per entry of a field's first column; nothing where the data decides.
  using Factor = std::optional<std::uint64_t>;

  struct FieldState {
    std::size_t listed_in = 0;  // the last cluster that lists the field, counted from 1
    std::size_t active_in = 0;  // the last cluster with an active representation, counted from 1
    std::uint16_t active = 0;   // that representation
    std::uint32_t active_columns = 0;
  };
  struct ColumnState {
    std::uint32_t team = invalid_id;
    bool seen = false;               // of the team's first member: has a cluster listed it as active?
    std::uint64_t next_element = 0;  // likewise
  };

  FieldDescriptor& field_of(std::uint32_t column) const {
    return descriptor_.fields[descriptor_.columns[column].field];
  }

  // What is wrong with one column must not keep anyone from the others. The first finding counts.
  void mark(std::size_t cluster, std::uint32_t column, const std::string& why) {
    FieldDescriptor& field = field_of(column);
    if (field.unreadable.empty())
      field.unreadable = fmt::format("column {} in cluster {}: {}", column, cluster, why);
  }

  Factor factor_of(FieldDescriptor& field) {
    std::uint64_t factor = 1;
    if (field.parent != field.id) {
      const FieldDescriptor& parent = descriptor_.fields[field.parent];
      const bool is_flat = parent.raw_role < known_roles &&
                           (parent.role == FieldRole::leaf || parent.role == FieldRole::record);
      if (!is_flat || !factors_[field.parent]) return std::nullopt;
      factor = *factors_[field.parent];
    }
    if (is_empty_array(field)) return 0;
    if (field.array_size == 0) return factor;
    if (factor > max_entries / field.array_size) {
      if (field.unreadable.empty()) field.unreadable = "array sizes on its path multiply to more than 2^63";
      return std::nullopt;
    }
    return factor * field.array_size;
  }

  // ROOT writes std::array<T,0> without the mark of a fixed-size array, and no elements for it.
  static bool is_empty_array(const FieldDescriptor& field) {
    return field.role == FieldRole::leaf && field.array_size == 0 &&
           field.type_name.starts_with("std::array<") && field.type_name.ends_with(",0>");
  }

  Factor factor_of_column(std::uint32_t column) const {
    const FieldDescriptor& field = field_of(column);
    const bool is_principal = columns_[column].team == field.representations.front().front();
    return is_principal ? factors_[field.id] : std::nullopt;
  }

  void check_cluster(std::size_t index) {
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    const auto listed = static_cast<std::uint32_t>(cluster.columns.size());
    if (listed < descriptor_.header_columns || listed > descriptor_.columns.size())
      throw Error(ErrorKind::format,
                  fmt::format("cluster {} lists {} columns, the header has {} and the whole schema {}", index,
                              listed, descriptor_.header_columns, descriptor_.columns.size()),
                  "", {.cluster = index});
    for (std::uint32_t column = 0; column < listed; ++column)
      if (field_of(column).unreadable.empty()) check_range(index, column);
    for (std::uint32_t column = 0; column < listed; ++column)
      if (field_of(column).unreadable.empty()) check_active(index, column);
  }

  void check_range(std::size_t index, std::uint32_t column) {
    const ColumnRange& range = descriptor_.clusters[index].columns[column];
    FieldState& state = fields_[field_of(column).id];
    if (state.listed_in != 0 && state.listed_in < index)
      return mark(state.listed_in, column, "missing, though an earlier and a later cluster have it");
    state.listed_in = index + 1;
    if (range.suppressed) return;
    const std::uint16_t representation = descriptor_.columns[column].representation;
    if (state.active_in != index + 1) {
      state.active_in = index + 1;
      state.active = representation;
      state.active_columns = 0;
    } else if (state.active != representation) {
      return mark(index, column,
                  fmt::format("representations {} and {} are both active", state.active, representation));
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
    if (first + elements > max_entries) return mark(index, column, "element numbers beyond 2^63");
    const std::uint64_t expected = team.seen ? team.next_element : description.first_element;
    if (first != expected)
      return mark(index, column, fmt::format("starts at element {}, not {}", first, expected));
    check_against_entries(index, column, first, elements, !team.seen && description.deferred);
    team.seen = true;
    team.next_element = first + elements;
  }

  void check_against_entries(std::size_t index, std::uint32_t column, std::uint64_t first,
                             std::uint64_t elements, bool may_start_late) {
    const Factor factor = factor_of_column(column);
    if (!factor) return;
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(cluster.first_entry, *factor, &begin) ||
        __builtin_mul_overflow(cluster.first_entry + cluster.entries, *factor, &end))
      return mark(index, column, "element numbers beyond 2^64");
    const bool starts_well = may_start_late ? first >= begin && first <= end : first == begin;
    if (!starts_well)
      return mark(index, column,
                  fmt::format("starts at element {}, its entries have {} to {}", first, begin, end));
    if (elements != end - first)
      mark(index, column,
           fmt::format("{} elements, but {} entries need {}", elements, cluster.entries, end - first));
  }

  void check_active(std::size_t index, std::uint32_t column) {
    const FieldDescriptor& field = field_of(column);
    const FieldState& state = fields_[field.id];
    if (state.active_in != index + 1) return mark(index, column, "all representations are suppressed");
    if (state.active_columns != field.representations.front().size())
      mark(index, column,
           fmt::format("{} of the {} columns of the active representation", state.active_columns,
                       field.representations.front().size()));
  }

  // A field that came after some cluster must be in all clusters from then on, and must say that it is late.
  void check_end(const FieldDescriptor& field) {
    if (field.source_field || !field.unreadable.empty() || field.representations.empty()) return;
    const FieldState& state = fields_[field.id];
    const std::uint32_t column = field.representations.front().front();
    if (state.listed_in == descriptor_.clusters.size()) return;
    if (state.listed_in != 0)
      return mark(state.listed_in, column, "missing, though an earlier cluster has it");
    const Factor factor = factors_[field.id];
    std::uint64_t end = 0;
    if (!factor) return;
    const bool is_too_large = __builtin_mul_overflow(descriptor_.entries(), *factor, &end);
    if (is_too_large || descriptor_.columns[column].first_element < end)
      mark(0, column, "missing, and not deferred beyond the last entry");
  }

  Descriptor& descriptor_;
  std::vector<Factor> factors_;
  std::vector<FieldState> fields_;
  std::vector<ColumnState> columns_;
};

}  // namespace

void check_clusters(Descriptor& descriptor, const FieldOrder& order) {
  check_groups(descriptor);
  RangeChecker(descriptor, order).run();
}

}  // namespace colonnade::format
