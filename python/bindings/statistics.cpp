// Sums over page lists, which can be long: bytes per column, bytes per cluster.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "colonnade/descriptor.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

struct ColumnStatistics {
  std::uint64_t pages = 0;
  std::uint64_t elements = 0;
  std::uint64_t stored_bytes = 0;  // shared pages count once
  std::uint64_t packed_bytes = 0;  // before compression
  std::uint32_t compression = 0;   // of the last cluster
};

std::uint64_t packed_size(const ColumnDescriptor& column, std::uint64_t elements) {
  return (elements * column.encoding.bits + 7) / 8;
}

std::vector<ColumnStatistics> column_statistics(const Descriptor& descriptor) {
  std::vector<ColumnStatistics> result(descriptor.columns.size());
  std::unordered_set<std::uint64_t> seen;
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    seen.clear();
    for (const ColumnRange& range : cluster.columns) {
      if (range.suppressed || range.column >= result.size()) continue;
      ColumnStatistics& sum = result[range.column];
      for (const PageDescriptor& page : range.pages) {
        ++sum.pages;
        sum.compression = range.compression;
        sum.elements += page.elements;
        sum.packed_bytes += packed_size(descriptor.columns[range.column], page.elements);
        if (seen.insert(page.locator.offset).second) sum.stored_bytes += page.locator.size;
      }
    }
  }
  return result;
}

// Bytes of the decoded elements of some columns, cluster by cluster.
std::vector<std::uint64_t> cluster_bytes(const Descriptor& descriptor,
                                         const std::vector<std::uint32_t>& columns) {
  // Only these are visited: others ask about one column of thousands after the other.
  std::map<std::uint32_t, std::uint64_t> widths;
  for (const std::uint32_t column : columns)
    if (column < descriptor.columns.size()) {
      const ColumnType type = descriptor.columns[column].encoding.type;
      if (is_known(type)) widths[column] = size_of(natural_element(type));
    }
  std::vector<std::uint64_t> bytes;
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    std::uint64_t sum = 0;
    for (const auto& [column, width] : widths)
      if (column < cluster.columns.size() && !cluster.columns[column].suppressed)
        sum += width * cluster.columns[column].pages.elements();
    bytes.push_back(sum);
  }
  return bytes;
}

std::vector<std::uint64_t> cluster_starts(const Descriptor& descriptor) {
  std::vector<std::uint64_t> starts;
  for (const ClusterDescriptor& cluster : descriptor.clusters) starts.push_back(cluster.first_entry);
  starts.push_back(descriptor.entries());
  return starts;
}

}  // namespace

void register_statistics(nb::module_& module) {
  nb::class_<ColumnStatistics>(module, "ColumnStatistics", "Sums over the pages of a column.")
      .def_ro("pages", &ColumnStatistics::pages)
      .def_ro("elements", &ColumnStatistics::elements)
      .def_ro("stored_bytes", &ColumnStatistics::stored_bytes, "On storage; shared pages count once.")
      .def_ro("packed_bytes", &ColumnStatistics::packed_bytes, "Encoded, before compression.")
      .def_ro("compression", &ColumnStatistics::compression, "ROOT's setting in the last cluster.");
  module.def("column_statistics", &column_statistics, nb::arg("descriptor"),
             nb::call_guard<nb::gil_scoped_release>(), "Sums over the pages, one per physical column.");
  module.def("cluster_bytes", &cluster_bytes, nb::arg("descriptor"), nb::arg("columns"),
             nb::call_guard<nb::gil_scoped_release>(),
             "Bytes of the decoded elements of the columns, one number per cluster.");
  module.def("cluster_starts", &cluster_starts, nb::arg("descriptor"),
             nb::call_guard<nb::gil_scoped_release>(),
             "First entry of each cluster, and the number of entries at the end.");
}

}  // namespace colonnade::python
