// See schema_walk.h.
#include "dataset/schema_walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/utf8.h"
#include "dataset/nearest.h"

namespace colonnade::dataset {

namespace {

// "jets.pt" for "jets._0.pt" if both name the same field.
std::string short_path(const Descriptor& descriptor, std::uint32_t field) {
  const std::string whole = descriptor.path_of(field);
  std::string shorter = whole;
  for (std::size_t at = 0; (at = shorter.find("._0.", at)) != std::string::npos;) shorter.erase(at, 3);
  return descriptor.find_field(shorter) == field ? shorter : whole;
}

// ":_0", ":_1", ... as ROOT names them.
constexpr std::string_view base_prefix = ":_";

bool starts_path(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

}  // namespace

bool is_base(const FieldDescriptor& field) {
  return field.role == FieldRole::record && field.name.starts_with(base_prefix);
}

std::vector<NamedMember> members_of(const Descriptor& descriptor, std::uint32_t record) {
  std::vector<NamedMember> members;
  std::vector<std::uint32_t> bases;  // of each member: its base, or invalid_id
  for (const std::uint32_t child : descriptor.fields[record].children) {
    const FieldDescriptor& field = descriptor.fields[child];
    std::vector<NamedMember> own;
    if (is_base(field))
      own = members_of(descriptor, child);
    else
      own.push_back({field.name, child});
    bases.insert(bases.end(), own.size(), is_base(field) ? child : invalid_id);
    std::move(own.begin(), own.end(), std::back_inserter(members));
  }
  std::map<std::string_view, std::size_t> uses;
  for (const NamedMember& member : members) ++uses[member.name];
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::string name = members[i].name;
    if (bases[i] != invalid_id && uses[name] > 1) {
      const FieldDescriptor& base = descriptor.fields[bases[i]];
      name = fmt::format("{}::{}", base.type_name.empty() ? base.name : base.type_name, members[i].name);
      if (taken.contains(name)) name = fmt::format("{}::{}", base.name, members[i].name);
    }
    // No class has two members of one name; for a damaged schema the first one is shown.
    if (!taken.insert(name).second) name.clear();
    names.push_back(std::move(name));
  }
  for (std::size_t i = 0; i < members.size(); ++i) members[i].name = std::move(names[i]);
  std::erase_if(members, [](const NamedMember& member) { return member.name.empty(); });
  return members;
}

const NamedMember* find_member(const std::vector<NamedMember>& members, std::string_view path) {
  const NamedMember* found = nullptr;
  for (const NamedMember& member : members)
    if (starts_path(path, member.name) && (found == nullptr || member.name.size() > found->name.size()))
      found = &member;
  if (found != nullptr) return found;
  std::vector<std::string> candidates;
  for (const NamedMember& member : members) {
    const std::size_t colons = member.name.rfind("::");
    if (colons != std::string::npos && starts_path(path, std::string_view(member.name).substr(colons + 2)))
      candidates.push_back(member.name);
  }
  if (candidates.empty()) return nullptr;
  throw Error(ErrorKind::not_found,
              fmt::format("'{}' is inherited more than once", path.substr(0, path.find('.'))),
              fmt::format("one of: {}", fmt::join(candidates, ", ")));
}

namespace {

// Resolves a path that leaves out the bases between an object and its members; invalid_id if it fails.
std::uint32_t find_through_bases(const Descriptor& descriptor, std::string_view path) {
  const auto drop = [&path](std::size_t name) { path.remove_prefix(std::min(path.size(), name + 1)); };
  const std::string_view top = path.substr(0, path.find('.'));
  std::uint32_t at = descriptor.find_field(top);
  drop(top.size());
  while (at != invalid_id && !path.empty()) {
    const FieldDescriptor& field = descriptor.fields[at];
    if (field.role == FieldRole::record) {
      const std::vector<NamedMember> members = members_of(descriptor, at);
      const NamedMember* member = find_member(members, path);
      at = member == nullptr ? invalid_id : member->field;
      if (member != nullptr) drop(member->name.size());
    } else if (field.children.size() == 1) {
      at = field.children.front();
      if (starts_path(path, descriptor.fields[at].name)) drop(descriptor.fields[at].name.size());
    } else {
      at = invalid_id;
    }
  }
  return at;
}

[[noreturn]] void fail_unknown(const Descriptor& descriptor, const std::string& problem,
                               std::string_view path, ErrorContext where) {
  where.field = path;
  std::vector<std::string> names;
  for (const FieldDescriptor& f : descriptor.fields)
    if (f.parent == f.id || path.find('.') != std::string_view::npos)
      names.push_back(short_path(descriptor, f.id));
  throw Error(ErrorKind::not_found, problem, did_you_mean(path, names), std::move(where));
}

}  // namespace

std::uint32_t find_field(const page::PageSource& source, std::string_view path) {
  return find_field(source.descriptor(), path, source.context());
}

std::uint32_t find_field(const Descriptor& descriptor, std::string_view path, ErrorContext where) {
  where.field = path;
  for (const std::string& stored : {std::string(path), stored_name(path)}) {
    std::uint32_t field = descriptor.find_field(stored);
    if (field == invalid_id)
      field = with_context(where, [&] { return find_through_bases(descriptor, stored); });
    if (field != invalid_id) return field;
  }
  fail_unknown(descriptor, fmt::format("there is no field '{}'", path), path, std::move(where));
}

namespace {

// Collects the fields that match a wildcard.
class Matching {
 public:
  Matching(const Descriptor& descriptor, std::string_view path)
      : descriptor_(descriptor), pattern_(with_slashes(stored_name(path))) {}

  std::vector<std::uint32_t> fields() {
    for (const std::uint32_t id : descriptor_.top_level_fields())
      add(id, descriptor_.fields[id].name, descriptor_.fields[id].name);
    return std::move(found_);
  }

 private:
  // fnmatch() knows slashes, not points.
  static std::string with_slashes(std::string path) {
    std::ranges::replace(path, '.', '/');
    return path;
  }

  // A field by its path as it is stored, and by the one without what paths may leave out: bases, and items of
  // collections.
  void add(std::uint32_t id, const std::string& path, const std::string& shorter) {
    if (fits(path) || fits(shorter)) found_.push_back(id);
    const bool is_record = descriptor_.fields[id].role == FieldRole::record;
    for (const std::uint32_t child : descriptor_.fields[id].children) {
      const FieldDescriptor& field = descriptor_.fields[child];
      const std::string below = "/" + field.name;
      add(child, path + below, is_record && !is_base(field) ? shorter + below : shorter);
    }
  }

  bool fits(const std::string& path) const {
    return ::fnmatch(pattern_.c_str(), path.c_str(), FNM_PATHNAME | FNM_NOESCAPE) == 0;
  }

  const Descriptor& descriptor_;
  std::string pattern_;
  std::vector<std::uint32_t> found_;
};

}  // namespace

std::vector<std::uint32_t> find_fields(const page::PageSource& source, std::string_view path) {
  const Descriptor& descriptor = source.descriptor();
  if (path.find_first_of("*?[") == std::string_view::npos || descriptor.find_field(path) != invalid_id)
    return {find_field(source, path)};
  std::vector<std::uint32_t> found = Matching(descriptor, path).fields();
  if (found.empty())
    fail_unknown(descriptor, fmt::format("no field matches '{}'", path), path, source.context());
  return found;
}

FieldFinder::FieldFinder(const Descriptor& descriptor, ErrorContext where)
    : descriptor_(descriptor), where_(std::move(where)) {
  for (const std::uint32_t id : descriptor.top_level_fields())
    top_level_.emplace(descriptor.fields[id].name, id);  // the first of a name, as find_field()
}

std::uint32_t FieldFinder::find(std::string_view path) const {
  const auto found = top_level_.find(path);
  return found != top_level_.end() ? found->second : find_field(descriptor_, path, where_);
}

bool is_per_entry(const Descriptor& descriptor, std::uint32_t field) {
  for (std::uint32_t id = field; descriptor.fields[id].parent != id;) {
    id = descriptor.fields[id].parent;
    const FieldDescriptor& above = descriptor.fields[id];
    if (above.role == FieldRole::collection || above.role == FieldRole::variant || above.array_size > 0)
      return false;
  }
  return true;
}

std::vector<std::uint32_t> columns_of(const FieldDescriptor& field, std::size_t k) {
  std::vector<std::uint32_t> columns;
  for (const auto& group : field.representations)
    if (k < group.size()) columns.push_back(group[k]);
  if (columns.empty())
    throw Error(ErrorKind::format, fmt::format("a {} without its column {}", field.type_name, k), "",
                {.field = field.name});
  return columns;
}

std::optional<CountingColumn> counting_column(const Descriptor& descriptor, std::uint32_t id) {
  const FieldDescriptor& field = descriptor.fields[id];
  if (!field.representations.empty() && !field.representations.front().empty()) {
    const ColumnType type = descriptor.columns[field.representations.front().front()].encoding.type;
    return CountingColumn{columns_of(field, 0), natural_element(type),
                          field.array_size > 0 ? field.array_size : 1};
  }
  for (const std::uint32_t child : field.children) {
    // A member of a record may be unreadable because the number of its elements is wrong.
    if (field.unreadable.empty() && !descriptor.fields[child].unreadable.empty()) continue;
    auto found = counting_column(descriptor, child);
    if (!found) continue;
    if (field.array_size > 0 && __builtin_mul_overflow(found->per_value, field.array_size, &found->per_value))
      throw Error(ErrorKind::format, "the array sizes multiply to more than 2^64", "",
                  {.field = descriptor.path_of(id)});
    return found;
  }
  return std::nullopt;
}

void check_ends(const page::PageSource& source, std::uint32_t field, std::size_t cluster, std::uint64_t begin,
                std::span<const std::uint64_t> ends, std::uint64_t items) {
  std::uint64_t previous = begin;
  for (const std::uint64_t end : ends) {
    if (end < previous || end > items) {
      ErrorContext where = source.context();
      where.field = source.descriptor().path_of(field);
      where.cluster = cluster;
      throw Error(ErrorKind::format,
                  end < previous
                      ? fmt::format("a collection ends at {} before it starts at {}", end, previous)
                      : fmt::format("a collection ends at item {}, but the cluster has {}", end, items),
                  "", where);
    }
    previous = end;
  }
}

void check_switches(const page::PageSource& source, std::uint32_t field, std::size_t cluster,
                    std::span<const SwitchElement> elements, std::span<const std::uint64_t> limits) {
  for (const SwitchElement& element : elements) {
    if (element.tag == 0) continue;
    const bool known = element.tag <= limits.size();
    if (known && element.index < limits[element.tag - 1]) continue;
    ErrorContext where = source.context();
    where.field = source.descriptor().path_of(field);
    where.cluster = cluster;
    throw Error(ErrorKind::format,
                known ? fmt::format("a variant points to value {} of an alternative that has {}",
                                    element.index, limits[element.tag - 1])
                      : fmt::format("a variant has the tag {}, but there are {} alternatives", element.tag,
                                    limits.size()),
                "", where);
  }
}

}  // namespace colonnade::dataset
