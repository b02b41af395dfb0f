// finish(), second half: checks clusters against groups, and column ranges against entries.
//
// Clusters and groups that do not match make the data set unusable; a column that does not match makes its
// field unreadable. (Some releases of ROOT's merger write wrong numbers of elements for fields that one of
// the inputs lacks; everything else in such a file is sound.)
//
// Corresponding columns of a field's representations form a team, named by the member in the first
// representation. In each cluster one representation is active, and over the clusters the active members'
// elements follow each other. The first column of a field without a collection or variant above it holds a
// fixed number of elements per entry (the product of the array sizes on its path); a deferred column has
// fewer in its first cluster. Its elements are those of a cluster's last entries, whatever their number in
// the file: ROOT's merger fills clusters before the first element with zeros, of some types with fewer than
// there are entries, but counts from that element on, and ROOT's reader does not look at these numbers.
#include <fmt/format.h>

#include <algorithm>
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
    for (const std::uint32_t id : order) note(descriptor.fields[id]);
  }

  // Returns true if all fields can be read.
  bool run() {
    for (std::size_t i = 0; i < descriptor_.clusters.size(); ++i) check_cluster(i);
    for (std::size_t id = 0; id < fields_.size() && !descriptor_.clusters.empty(); ++id)
      if (fields_[id].has_columns && fields_[id].listed_in != descriptor_.clusters.size())
        check_end(descriptor_.fields[id]);
    return std::none_of(fields_.begin(), fields_.end(),
                        [](const FieldState& state) { return state.unreadable; });
  }

 private:
  // Elements per entry of a field's first column; empty if the data determine it.
  using Factor = std::optional<std::uint64_t>;

  // Clusters are counted from 1 here; the parser refuses more than fit 32 bits.
  struct FieldState {
    std::uint32_t listed_in = 0;  // the last cluster that lists the field
    std::uint32_t active_in = 0;  // the last cluster in which a representation is active
    std::uint32_t active_columns = 0;
    std::uint16_t active = 0;  // that representation
    bool has_columns = false;  // of its own; false for a projected field
    bool unreadable = false;
  };
  // The data of a column for the checks, kept compact: every cluster passes over all of it.
  struct ColumnState {
    std::uint32_t field = invalid_id;
    std::uint32_t team = invalid_id;
    std::uint32_t expected_columns = 0;  // in each representation of its field
    std::uint16_t representation = 0;
    bool has_factor = false;
    bool seen = false;  // in the team's first member: true once a cluster lists it as active
    std::uint64_t factor = 0;
    std::uint64_t next_element = 0;  // in the team's first member: where the next cluster starts
    std::uint64_t listed = 0;        // in the team's first member: its elements in all clusters so far
  };

  // Parents first: factors multiply along the path.
  void note(FieldDescriptor& field) {
    factors_[field.id] = factor_of(field);
    fields_[field.id].unreadable = !field.unreadable.empty();
    if (field.source_field || field.representations.empty()) return;
    fields_[field.id].has_columns = true;
    const ColumnIds& first = field.representations.front();
    for (const ColumnIds& group : field.representations)
      for (std::size_t i = 0; i < group.size(); ++i) {
        const ColumnDescriptor& column = descriptor_.columns[group[i]];
        ColumnState& state = columns_[column.id];
        state.field = field.id;
        state.team = first[i];
        state.expected_columns = static_cast<std::uint32_t>(first.size());
        state.representation = column.representation;
        state.has_factor = i == 0 && factors_[field.id].has_value();
        if (state.has_factor) state.factor = *factors_[field.id];
      }
  }

  // A problem of one column must not affect the others. The first problem of a field counts.
  void mark(std::size_t cluster, std::uint32_t column, const std::string& why) {
    FieldDescriptor& field = descriptor_.fields[columns_[column].field];
    fields_[field.id].unreadable = true;
    if (!field.unreadable.empty()) return;
    field.unreadable = fmt::format("column {} in cluster {}: {}", column, cluster, why);
    field.contradicted = true;
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

  void check_cluster(std::size_t index) {
    ClusterDescriptor& cluster = descriptor_.clusters[index];
    const auto listed = static_cast<std::uint32_t>(cluster.columns.size());
    if (listed < descriptor_.header_columns || listed > descriptor_.columns.size())
      throw Error(ErrorKind::format,
                  fmt::format("cluster {} lists {} columns, the header has {} and the whole schema {}", index,
                              listed, descriptor_.header_columns, descriptor_.columns.size()),
                  "", {.cluster = index});
    for (std::uint32_t column = 0; column < listed; ++column)
      if (!fields_[columns_[column].field].unreadable) check_range(index, column, cluster.columns[column]);
    for (std::uint32_t column = 0; column < listed; ++column)
      if (!fields_[columns_[column].field].unreadable) check_active(index, column);
  }

  void check_range(std::size_t index, std::uint32_t column, ColumnRange& range) {
    const ColumnState& own = columns_[column];
    FieldState& state = fields_[own.field];
    if (state.listed_in != 0 && state.listed_in < index)
      return mark(state.listed_in, column, "missing, though an earlier and a later cluster have it");
    state.listed_in = static_cast<std::uint32_t>(index + 1);
    if (range.suppressed) return;
    if (state.active_in != index + 1) {
      state.active_in = state.listed_in;
      state.active = own.representation;
      state.active_columns = 0;
    } else if (state.active != own.representation) {
      return mark(index, column,
                  fmt::format("representations {} and {} are both active", state.active, own.representation));
    }
    ++state.active_columns;
    check_elements(index, column, range);
  }

  void check_elements(std::size_t index, std::uint32_t column, ColumnRange& range) {
    const ColumnState& own = columns_[column];
    ColumnState& team = columns_[own.team];
    const ColumnDescriptor& description = descriptor_.columns[column];
    const std::uint64_t elements = range.pages.elements();
    const std::uint64_t listed_before = team.listed;
    team.listed += elements;
    if (description.deferred)
      if (const auto begin = begin_of_late(index, column, range, description.first_element + listed_before)) {
        range.first_element = static_cast<std::int64_t>(*begin);
        team.seen = true;
        team.next_element = *begin + elements;
        return;
      }
    const auto first = static_cast<std::uint64_t>(range.first_element);
    if (first + elements > max_entries) return mark(index, column, "element numbers beyond 2^63");
    const std::uint64_t expected = team.seen ? team.next_element : description.first_element;
    if (first != expected)
      return mark(index, column, fmt::format("starts at element {}, not {}", first, expected));
    check_against_entries(index, column, first, elements, !team.seen && description.deferred);
    team.seen = true;
    team.next_element = first + elements;
  }

  // The number of the first element that a cluster has of a deferred column, if it has all elements of its
  // entries, or those from the column's first one on and perhaps zeros before, counted as `numbered`.
  std::optional<std::uint64_t> begin_of_late(std::size_t index, std::uint32_t column,
                                             const ColumnRange& range, std::uint64_t numbered) const {
    const ColumnState& own = columns_[column];
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const bool is_too_large =
        __builtin_mul_overflow(cluster.first_entry, own.factor, &begin) ||
        __builtin_mul_overflow(cluster.first_entry + cluster.entries, own.factor, &end) || end > max_entries;
    const std::uint64_t elements = range.pages.elements();
    if (!own.has_factor || is_too_large || elements > end - begin) return std::nullopt;
    if (elements == end - begin) return begin;
    const std::uint64_t from = std::clamp(descriptor_.columns[column].first_element, begin, end);
    if (elements < end - from || static_cast<std::uint64_t>(range.first_element) != numbered)
      return std::nullopt;
    return end - elements;
  }

  void check_against_entries(std::size_t index, std::uint32_t column, std::uint64_t first,
                             std::uint64_t elements, bool may_start_late) {
    const ColumnState& own = columns_[column];
    if (!own.has_factor) return;
    const ClusterDescriptor& cluster = descriptor_.clusters[index];
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(cluster.first_entry, own.factor, &begin) ||
        __builtin_mul_overflow(cluster.first_entry + cluster.entries, own.factor, &end))
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
    const ColumnState& own = columns_[column];
    const FieldState& state = fields_[own.field];
    if (state.active_in != index + 1) return mark(index, column, "all representations are suppressed");
    if (state.active_columns != own.expected_columns)
      mark(index, column,
           fmt::format("{} of the {} columns of the active representation", state.active_columns,
                       own.expected_columns));
  }

  // A field that is missing in early clusters must be in all later ones, and its columns must be deferred.
  void check_end(const FieldDescriptor& field) {
    const FieldState& state = fields_[field.id];
    if (state.unreadable) return;
    const std::uint32_t column = field.representations.front().front();
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

bool check_clusters(Descriptor& descriptor, const FieldOrder& order) {
  check_groups(descriptor);
  return RangeChecker(descriptor, order).run();
}

}  // namespace colonnade::format
