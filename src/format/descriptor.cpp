// Queries of Descriptor: paths, look-up, entries. They rely on the links that finish() makes.
#include "colonnade/descriptor.h"

#include <algorithm>

namespace colonnade {
namespace {

bool starts_path(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

}  // namespace

std::uint64_t Descriptor::entries() const noexcept {
  if (!clusters.empty()) return clusters.back().first_entry + clusters.back().entries;
  std::uint64_t end = 0;
  for (const ClusterGroup& group : cluster_groups) end = std::max(end, group.min_entry + group.entry_span);
  return end;
}

std::vector<std::uint32_t> Descriptor::top_level_fields() const {
  std::vector<std::uint32_t> ids;
  for (const FieldDescriptor& field : fields)
    if (field.parent == field.id) ids.push_back(field.id);
  return ids;
}

std::uint32_t Descriptor::find_field(std::string_view path) const noexcept {
  std::uint32_t at = invalid_id;
  // Takes `id` if the path starts with its name; if a name contains a full stop, the longest match wins.
  const auto consider = [&](std::uint32_t id) {
    const bool is_longer = at == invalid_id || fields[id].name.size() > fields[at].name.size();
    if (is_longer && starts_path(path, fields[id].name)) at = id;
  };
  for (const FieldDescriptor& field : fields)
    if (field.parent == field.id) consider(field.id);
  while (at != invalid_id && fields[at].name.size() < path.size()) {
    path.remove_prefix(fields[at].name.size() + 1);
    const FieldDescriptor& parent = fields[at];
    at = invalid_id;
    for (const std::uint32_t child : parent.children) consider(child);
    if (at != invalid_id || parent.children.size() != 1 || parent.role == FieldRole::record) continue;
    // "jets.pt": the item of a collection is a record, which paths may leave out.
    const FieldDescriptor& item = fields[parent.children.front()];
    if (item.role != FieldRole::record) continue;
    for (const std::uint32_t member : item.children) consider(member);
  }
  return at;
}

std::string Descriptor::path_of(std::uint32_t field) const {
  if (field >= fields.size()) return {};
  std::vector<std::string_view> names;
  for (std::size_t steps = 0; steps <= fields.size(); ++steps) {
    names.push_back(fields[field].name);
    if (fields[field].parent == field || fields[field].parent >= fields.size()) break;
    field = fields[field].parent;
  }
  std::string path;
  std::reverse(names.begin(), names.end());
  for (const std::string_view part : names) {
    if (!path.empty()) path += '.';
    path += part;
  }
  return path;
}

std::uint64_t Descriptor::elements_before(std::uint32_t field, std::uint64_t entry) const noexcept {
  std::uint64_t elements = entry;
  for (;;) {
    const FieldDescriptor& own = fields[field];
    if (own.array_size > 0) elements *= own.array_size;
    if (own.parent == field) return elements;
    const FieldRole above = fields[own.parent].role;
    if (above == FieldRole::collection || above == FieldRole::variant) return 0;
    field = own.parent;
  }
}

std::size_t Descriptor::cluster_of_entry(std::uint64_t entry) const noexcept {
  const auto after = std::upper_bound(
      clusters.begin(), clusters.end(), entry,
      [](std::uint64_t wanted, const ClusterDescriptor& cluster) { return wanted < cluster.first_entry; });
  if (after == clusters.begin()) return clusters.size();
  const auto found = after - 1;
  const bool holds_it = entry - found->first_entry < found->entries;
  return holds_it ? static_cast<std::size_t>(found - clusters.begin()) : clusters.size();
}

}  // namespace colonnade
