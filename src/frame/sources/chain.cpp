// See chain.h.
#include "frame/sources/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "colonnade/error.h"
#include "dataset/chains/file_names.h"
#include "dataset/chains/offline_names.h"
#include "frame/sources/chain_cursor.h"
#include "frame/sources/specification.h"
#include "io/places.h"

namespace colonnade::frame {
namespace {

struct OfFile {
  const ValueType& type;
  const std::string& uri;
};

// Which member types of a column differ in, as classes of one name may; empty for other types.
std::string differing_member(const OfFile& a, const OfFile& b, const std::string& path) {
  if (a.type.is_list() && b.type.is_list())
    return differing_member({a.type.item(), a.uri}, {b.type.item(), b.uri}, path);
  if (!a.type.is_record() || !b.type.is_record()) return "";
  for (const auto& [mine, others] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (const auto& [name, type] : mine->type.members())
      if (others->type.find_member(name) == others->type.members().size())
        return fmt::format("'{}.{}' is only in {}", path, name, mine->uri);
  for (const auto& [name, type] : a.type.members()) {
    const ValueType& other = b.type.members()[b.type.find_member(name)].second;
    if (common_type(type, other)) continue;
    const std::string member = fmt::format("{}.{}", path, name);
    std::string inner = differing_member({type, a.uri}, {other, b.uri}, member);
    if (!inner.empty()) return inner;
    return fmt::format("'{}' is {} in {} and {} in {}", member, type.name(), a.uri, other.name(), b.uri);
  }
  return "";
}

[[noreturn]] void fail_types(const std::string& path, const OfFile& a, const OfFile& b) {
  const std::string member = differing_member(a, b, path);
  throw Error(ErrorKind::schema,
              fmt::format("the column '{}' is {} in {} and {} in {}, and no type holds both{}{}", path,
                          a.type.name(), a.uri, b.type.name(), b.uri, member.empty() ? "" : ": ", member),
              member.empty() ? "read these files separately"
                             : "use the members that all files have, or read these files separately",
              {.uri = b.uri, .field = path});
}

bool is_same_type(const Field& a, const Field& b) {
  const auto are_same = [](const std::unique_ptr<Field>& x, const std::unique_ptr<Field>& y) {
    return x->name() == y->name() && is_same_type(*x, *y);
  };
  return a.kind() == b.kind() && a.type_name() == b.type_name() && a.type_alias() == b.type_alias() &&
         a.type_version() == b.type_version() && a.array_size() == b.array_size() &&
         std::ranges::equal(a.children(), b.children(), are_same);
}

std::optional<ColumnShape> shape_if_supported(const ColumnFinder& columns, std::string_view path) {
  try {
    return columns.find(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Records that differ are compared member by member; the records themselves only when they are used.
void check_compatible(const dataset::ChainFiles::Schemas& before, const dataset::ChainIndex::Schema& schema) {
  if (before.empty()) return;
  const ColumnFinder columns(schema.descriptor);
  std::vector<ColumnFinder> columns_before;
  for (const auto& other : before) columns_before.emplace_back(other.descriptor);
  for (const std::string& path : column_paths(schema.descriptor)) {
    const auto own = shape_if_supported(columns, path);
    if (!own || own->type.innermost().is_record()) continue;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto shape = shape_if_supported(columns_before[i], path);
      if (shape && !common_type(shape->type, own->type))
        fail_types(path, {shape->type, before[i].uri}, {own->type, schema.uri});
    }
  }
}

// Each worker decodes its own pages: additional threads would only compete for processors.
ReadOptions for_workers(ReadOptions options) {
  options.parallel_decompression = false;
  return options;
}

}  // namespace

// ---- Files

Chain::Chain(std::string name, std::span<const dataset::NamedFile> files, ReadOptions options)
    : files_(std::move(name), files, for_workers(std::move(options)), {}, check_compatible) {
  add_samples();
}

Chain::Chain(std::string name, dataset::ChainIndex index, ReadOptions options)
    : files_(std::move(name), std::move(index), for_workers(std::move(options)), {}, check_compatible) {
  add_samples();
}

Chain::Chain(std::string name, ChainSurvey survey, ReadOptions options)
    : Chain(std::move(name), survey.index, std::move(options)) {
  const auto check = [](bool holds, const std::string& uri) {
    if (!holds) throw Error(ErrorKind::format, "the survey of the file contradicts itself", "", {.uri = uri});
  };
  check(survey.part_borders.size() == files_.size(), files_.name());
  std::vector<double> entries(files_.schemas().size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& file = files_[i];
    std::vector<std::uint64_t>& borders = survey.part_borders[i];
    entries[file.schema] += static_cast<double>(file.entries);
    check(
        borders.empty()
            ? file.entries == 0 && file.parts == 0
            : borders.front() == 0 && borders.back() == file.entries && borders.size() == file.parts + 1 &&
                  std::adjacent_find(borders.begin(), borders.end(), std::greater_equal<>()) == borders.end(),
        file.uri);
    states_[i].part_borders = std::move(borders);
  }
  check(survey.column_bytes.size() == files_.schemas().size(), files_.name());
  for (std::size_t i = 0; i < survey.column_bytes.size(); ++i) {
    check(survey.column_bytes[i].size() == files_.schemas()[i].descriptor.columns.size(), files_.name());
    std::vector<double>& per_entry = bytes_per_entry_.emplace_back();
    for (const std::uint64_t bytes : survey.column_bytes[i])
      per_entry.push_back(entries[i] == 0 ? 0 : static_cast<double>(bytes) / entries[i]);
  }
}

void Chain::add_samples() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& file = files_[i];
    samples_.push_back(
        {fmt::format("{}/{}", file.uri, file.data_set), file.first, file.entries, file.uri, file.data_set});
    states_.emplace_back();
  }
}

std::shared_ptr<BorderPages> Chain::borders(unsigned sample) const {
  const State& state = states_[sample];
  const std::lock_guard lock(state.mutex);
  if (auto shared = state.borders.lock()) return shared;
  auto fresh = std::make_shared<BorderPages>();
  state.borders = fresh;
  return fresh;
}

// ---- Columns

std::uint64_t Chain::entries() const {
  return files_.entries();
}

std::optional<std::uint32_t> Chain::find(std::string_view path) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  while (finders_.size() < files_.schemas().size())
    finders_.emplace_back(files_.schemas()[finders_.size()].descriptor);
  Column column;
  column.path = path;
  column.shapes.resize(files_.schemas().size());
  const Schema* seen = nullptr;
  for (std::size_t i = 0; i < files_.schemas().size(); ++i) {
    const Schema& schema = files_.schemas()[i];
    auto& shape = column.shapes[i];
    with_context({.uri = schema.uri}, [&] { shape = finders_[i].find(path); });
    if (!shape) continue;
    if (seen == nullptr) {
      seen = &schema;
      column.type = shape->type;
    } else if (auto both = common_type(column.type, shape->type)) {
      column.type = std::move(*both);
    } else {
      fail_types(column.path, {column.type, seen->uri}, {shape->type, schema.uri});
    }
  }
  auto& number = by_path_[std::string(path)];
  if (seen == nullptr) return number = std::nullopt;
  for (std::size_t i = 0; i < files_.schemas().size(); ++i) {
    auto& shape = column.shapes[i];
    if (!shape || read_as(*shape, files_.schemas()[i].descriptor, column.type)) continue;
    by_path_.erase(std::string(path));
    throw Error(ErrorKind::unsupported,
                fmt::format("the column's elements cannot be read as {}", column.type.name()), "",
                {.uri = files_.schemas()[i].uri, .field = std::string(path)});
  }
  columns_.push_back(std::move(column));
  return number = static_cast<std::uint32_t>(columns_.size() - 1);
}

const ColumnShape* Chain::shape(std::uint32_t column, unsigned sample) const {
  const auto& shape = columns_[column].shapes[files_[sample].schema];
  return shape ? &*shape : nullptr;
}

std::shared_ptr<const Field> Chain::stored_field(std::uint32_t column) const {
  std::shared_ptr<const Field> field;
  for (std::size_t i = 0; i < files_.schemas().size(); ++i) {
    const auto& shape = columns_[column].shapes[i];
    if (!shape) continue;
    std::shared_ptr<const Field> own = frame::stored_field(files_.schemas()[i].descriptor, *shape);
    if (own == nullptr || (field != nullptr && !is_same_type(*field, *own))) return nullptr;
    if (field == nullptr) field = std::move(own);
  }
  return field;
}

std::vector<unsigned> Chain::one_of_each_schema() const {
  std::vector<unsigned> first;
  std::vector<bool> seen(files_.schemas().size());
  for (unsigned i = 0; i < files_.size(); ++i) {
    if (!seen[files_[i].schema]) first.push_back(i);
    seen[files_[i].schema] = true;
  }
  return first;
}

bool Chain::has(std::uint32_t column, unsigned sample) const {
  return shape(column, sample) != nullptr;
}

std::vector<std::string> Chain::names() const {
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (const Schema& schema : files_.schemas())
    for (std::string& path : column_paths(schema.descriptor))
      if (seen.insert(path).second) all.push_back(std::move(path));
  return all;
}

std::vector<LeftOut> Chain::left_out() const {
  std::vector<LeftOut> all;
  std::set<std::string> seen;
  for (const Schema& schema : files_.schemas())
    for (LeftOut& field : left_out_paths(schema.descriptor))
      if (seen.insert(field.path).second) all.push_back(std::move(field));
  return all;
}

// ---- Work

const std::vector<std::uint64_t>& Chain::part_borders_of(unsigned sample) const {
  const State& state = states_[sample];
  {
    const std::lock_guard lock(state.mutex);
    if (!state.part_borders.empty()) return state.part_borders;
  }
  const auto& file = files_[sample];
  std::vector<std::uint64_t> borders = part_borders(*files_.descriptor_of(sample), limits_);
  if (file.parts != 0 && borders.size() != file.parts + 1)
    throw Error(ErrorKind::usage,
                fmt::format("the file is cut into {} parts here, but the plan says {}", borders.size() - 1,
                            file.parts),
                "use the same version of Colonnade", {.uri = file.uri});
  const std::lock_guard lock(state.mutex);
  if (state.part_borders.empty()) state.part_borders = std::move(borders);
  return state.part_borders;
}

// For the files before `first`, only the number of parts matters.
std::vector<Part> Chain::parts(std::uint64_t first, std::uint64_t last) const {
  std::vector<Part> all;
  std::uint64_t number = 0;
  for (unsigned i = 0; i < samples_.size() && samples_[i].first < last; ++i) {
    if (samples_[i].entries == 0) continue;
    if (files_[i].parts != 0 && samples_[i].first + samples_[i].entries <= first) {
      number += files_[i].parts;
      continue;
    }
    const std::vector<std::uint64_t>& borders = part_borders_of(i);
    add_parts(borders, samples_[i].first, i, number, first, last, all);
    number += borders.empty() ? 0 : borders.size() - 1;
  }
  return all;
}

namespace {

// The stored bytes of a column's pages in a cluster, including its offsets and everything below.
std::uint64_t stored_bytes_in(const ClusterDescriptor& cluster, const ColumnShape& shape) {
  std::uint64_t bytes = 0;
  const auto add = [&](const ColumnShape::StoredColumn& stored) {
    for (const std::uint32_t column : stored.columns)
      if (column < cluster.columns.size() && !cluster.columns[column].suppressed)
        for (const PageDescriptor& page : cluster.columns[column].pages) bytes += page.locator.size;
  };
  add(shape.stored);
  add(shape.characters);
  for (const ColumnShape& child : shape.children) bytes += stored_bytes_in(cluster, child);
  return bytes;
}

// Of entries [first, last), counted from the beginning of the file: each cluster contributes its share.
std::uint64_t bytes_between(const Descriptor& descriptor, const std::vector<std::uint64_t>& of_clusters,
                            std::uint64_t first, std::uint64_t last) {
  double bytes = 0;
  for (std::size_t i = descriptor.cluster_of_entry(first); i < of_clusters.size(); ++i) {
    const ClusterDescriptor& cluster = descriptor.clusters[i];
    if (cluster.first_entry >= last) break;
    const std::uint64_t begin = std::max(first, cluster.first_entry);
    const std::uint64_t end = std::min(last, cluster.first_entry + cluster.entries);
    if (begin < end)
      bytes += static_cast<double>(of_clusters[i]) * static_cast<double>(end - begin) /
               static_cast<double>(cluster.entries);
  }
  return static_cast<std::uint64_t>(bytes);
}

double bytes_per_entry_of(std::span<const double> of_columns, const ColumnShape& shape) {
  double bytes = 0;
  for (const ColumnShape::StoredColumn* stored : {&shape.stored, &shape.characters})
    for (const std::uint32_t column : stored->columns)
      if (column < of_columns.size()) bytes += of_columns[column];
  for (const ColumnShape& child : shape.children) bytes += bytes_per_entry_of(of_columns, child);
  return bytes;
}

}  // namespace

// For a file that was not opened here: estimated from other files of its schema.
std::uint64_t Chain::estimated_bytes(const Part& part, std::span<const std::uint32_t> columns) const {
  constexpr double bytes_of_a_value = 4;
  double per_entry = 0;
  for (const std::uint32_t column : columns)
    if (const ColumnShape* found = shape(column, part.sample))
      per_entry += bytes_per_entry_.empty()
                       ? bytes_of_a_value
                       : bytes_per_entry_of(bytes_per_entry_[files_[part.sample].schema], *found);
  return static_cast<std::uint64_t>(static_cast<double>(part.last - part.first) * per_entry);
}

std::vector<std::uint64_t> Chain::stored_bytes(std::span<const Part> parts,
                                               std::span<const std::uint32_t> columns) const {
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> of_clusters;  // of the previous part's file
  std::shared_ptr<const Descriptor> descriptor;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Part& part = parts[k];
    if (k == 0 || part.sample != parts[k - 1].sample) {
      of_clusters.clear();
      descriptor = files_.known_descriptor(part.sample);
      if (descriptor)
        for (const ClusterDescriptor& cluster : descriptor->clusters) {
          of_clusters.push_back(0);
          for (const std::uint32_t column : columns)
            if (const ColumnShape* found = shape(column, part.sample))
              of_clusters.back() += stored_bytes_in(cluster, *found);
        }
    }
    const std::uint64_t base = samples_[part.sample].first;
    bytes.push_back(descriptor ? bytes_between(*descriptor, of_clusters, part.first - base, part.last - base)
                               : estimated_bytes(part, columns));
  }
  return bytes;
}

std::size_t Chain::parts_ahead() const {
  constexpr std::size_t of_server = 8;  // the memory budget and the line limit what is read of them
  return io::is_local(files_[0].uri) ? 1 : of_server;
}

std::unique_ptr<Cursor> Chain::open() const {
  return std::make_unique<ChainCursor>(shared_from_this());
}

dataset::ChainIndex Chain::index_with_parts() const {
  dataset::ChainIndex index = files_.index();
  for (unsigned i = 0; i < files_.size(); ++i)
    if (index.files[i].parts == 0 && index.files[i].entries != 0)
      index.files[i].parts = part_borders_of(i).size() - 1;
  return index;
}

ChainSurvey Chain::survey() const {
  ChainSurvey found{.index = index_with_parts(), .part_borders = {}, .column_bytes = {}};
  for (const Schema& schema : files_.schemas())
    found.column_bytes.emplace_back(schema.descriptor.columns.size());
  for (unsigned i = 0; i < files_.size(); ++i) {
    found.part_borders.push_back(part_borders_of(i));
    std::vector<std::uint64_t>& bytes = found.column_bytes[files_[i].schema];
    const auto descriptor = files_.descriptor_of(i);
    for (const ClusterDescriptor& cluster : descriptor->clusters)
      for (std::size_t column = 0; column < std::min(cluster.columns.size(), bytes.size()); ++column)
        if (!cluster.columns[column].suppressed)
          for (const PageDescriptor& page : cluster.columns[column].pages) bytes[column] += page.locator.size;
  }
  return found;
}

void ChainSurvey::append(ChainSurvey more) {
  const std::vector<unsigned> places = index.append(std::move(more.index));
  column_bytes.resize(index.schemas.size());
  for (std::size_t i = 0; i < std::min(places.size(), more.column_bytes.size()); ++i) {
    std::vector<std::uint64_t>& bytes = column_bytes[places[i]];
    bytes.resize(std::max(bytes.size(), more.column_bytes[i].size()));
    for (std::size_t k = 0; k < more.column_bytes[i].size(); ++k) bytes[k] += more.column_bytes[i][k];
  }
  std::move(more.part_borders.begin(), more.part_borders.end(), std::back_inserter(part_borders));
}

std::string Chain::specification(bool with_index) const {
  nlohmann::json made = {
      {"source", "chain"}, {"name", files_.name()}, {"options", to_json(files_.options())}};
  if (with_index) {
    if (auto described = dataset::to_json(index_with_parts())) {
      made["index"] = std::move(*described);
      return made.dump();
    }
  }
  made["uris"] = made["data_sets"] = nlohmann::json::array();
  for (std::size_t i = 0; i < files_.size(); ++i) {
    made["uris"].push_back(files_[i].place);
    made["data_sets"].push_back(files_[i].data_set);
  }
  return made.dump();
}

std::shared_ptr<Source> open_chain(const std::string& name, std::span<const std::string> uris,
                                   const ReadOptions& options) {
  dataset::refuse_offline_wildcards(uris, options.cache);
  return std::make_shared<Chain>(name, dataset::expand_names(name, uris), options);
}

std::shared_ptr<Source> open_chain(std::span<const dataset::NamedFile> files, const ReadOptions& options) {
  const auto is_other = [&](const dataset::NamedFile& file) {
    return file.data_set != files.front().data_set;
  };
  const bool has_one_name = !files.empty() && std::none_of(files.begin(), files.end(), is_other);
  return std::make_shared<Chain>(has_one_name ? files.front().data_set : "", files, options);
}

}  // namespace colonnade::frame
