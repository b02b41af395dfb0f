// See chain.h.
#include "frame/sources/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "colonnade/error.h"
#include "dataset/open_source.h"
#include "frame/sources/chain_cursor.h"
#include "frame/sources/file_names.h"
#include "frame/sources/specification.h"

namespace colonnade::frame {
namespace {

// Files that a chain keeps open for good.
constexpr std::size_t most_kept_open = 64;
// Bytes of their metadata that it keeps.
constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;
// Files that are opened at the same time: most of that is waiting.
constexpr std::size_t most_at_once = 16;

// Roughly what a descriptor holds.
std::uint64_t bytes_of(const Descriptor& descriptor) {
  std::uint64_t bytes = descriptor.fields.size() * sizeof(FieldDescriptor) +
                        descriptor.columns.size() * sizeof(ColumnDescriptor);
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns)
      bytes += sizeof(ColumnRange) + (range.pages.size() > 1 ? range.pages.size() * 16 : 0);
  return bytes;
}

[[noreturn]] void fail_types(std::string_view path, const ValueType& a, const std::string& in_a,
                             const ValueType& b, const std::string& in_b) {
  throw Error(ErrorKind::schema,
              fmt::format("the column '{}' is {} in {} and {} in {}, and no type holds both", path, a.name(),
                          in_a, b.name(), in_b),
              "read these files apart", {.uri = in_b, .field = std::string(path)});
}

std::optional<ColumnShape> shape_if_supported(const Descriptor& descriptor, std::string_view path) {
  try {
    return find_shape(descriptor, path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

// ---- Files

Chain::Chain(std::string name, std::vector<std::string> uris, const ReadOptions& options)
    : name_(std::move(name)), options_(options) {
  if (uris.empty()) throw Error(ErrorKind::usage, "there is no file to read", "name at least one");
  // Every worker decodes what it needs: threads beside them would only take their processors.
  options_.parallel_decompression = false;
  for (std::size_t at = 0; at < uris.size(); at += most_at_once) {
    const auto some = std::span(uris).subspan(at, std::min(most_at_once, uris.size() - at));
    const std::vector<OpenFile> opened = open_files(some);
    for (std::size_t i = 0; i < some.size(); ++i) add_file(some[i], opened[i], uris.size() <= most_kept_open);
  }
}

// The error is that of the first file in order that has one.
std::vector<Chain::OpenFile> Chain::open_files(std::span<const std::string> uris) const {
  std::vector<OpenFile> opened(uris.size());
  std::vector<std::exception_ptr> failures(uris.size());
  const auto open_one = [&](std::size_t i) {
    try {
      opened[i] = dataset::open_source(name_, uris[i], options_);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < uris.size(); ++i) others.emplace_back(open_one, i);
    open_one(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return opened;
}

void Chain::add_file(const std::string& uri, const OpenFile& source, bool keep) {
  const std::uint64_t first = entries();
  std::uint64_t end = 0;
  if (__builtin_add_overflow(first, source->descriptor().entries(), &end))
    throw Error(ErrorKind::format, "the files together have more than 2^64 entries", "", source->context());
  File& file = files_.emplace_back();
  file.uri = uri;
  file.data_set = source->data_set();
  file.anchor = source->descriptor().anchor;
  file.schema = schema_of(*source);
  file.current = source;
  if (keep) file.kept = source;
  kept_bytes_ += bytes_of(source->descriptor());
  if (kept_bytes_ <= most_kept_bytes) file.descriptor = source->shared_descriptor();
  samples_.push_back({fmt::format("{}/{}", uri, file.data_set), first, end - first});
}

unsigned Chain::schema_of(const page::PageSource& source) {
  const Descriptor& whole = source.descriptor();
  const auto [found, is_new] =
      by_fingerprint_.try_emplace(fingerprint(whole), static_cast<unsigned>(schemas_.size()));
  if (!is_new) return found->second;
  Schema schema;
  schema.descriptor.fields = whole.fields;
  schema.descriptor.columns = whole.columns;
  schema.uri = source.uri();
  check_compatible(schema);
  schemas_.push_back(std::move(schema));
  return found->second;
}

// Of records that differ the members are compared; they themselves are when somebody asks for them.
void Chain::check_compatible(const Schema& schema) const {
  if (schemas_.empty()) return;
  for (const std::string& path : column_paths(schema.descriptor)) {
    const auto own = shape_if_supported(schema.descriptor, path);
    if (!own || own->type.innermost().is_record()) continue;
    for (const Schema& other : schemas_) {
      const auto before = shape_if_supported(other.descriptor, path);
      if (before && !common_type(before->type, own->type))
        fail_types(path, before->type, other.uri, own->type, schema.uri);
    }
  }
}

std::shared_ptr<const page::PageSource> Chain::acquire(unsigned sample) const {
  const File& file = files_[sample];
  if (file.kept) return file.kept;
  const std::lock_guard lock(file.mutex);
  if (auto open = file.current.lock()) return open;
  OpenFile source;
  if (file.descriptor) {
    std::shared_ptr<container::ReadContainer> container =
        container::open_container(file.uri, {.local_io = options_.local_io, .direct_io = options_.direct_io});
    source = page::PageSource::open(file.data_set, std::move(container), file.descriptor, options_);
  } else {
    source = dataset::open_source(file.data_set, file.uri, options_);
    if (source->descriptor().anchor != file.anchor)
      throw Error(ErrorKind::io, "the data set was written anew since the chain was opened",
                  "open the chain again", source->context());
  }
  file.current = source;
  return source;
}

std::shared_ptr<BorderPages> Chain::borders(unsigned sample) const {
  const File& file = files_[sample];
  const std::lock_guard lock(file.mutex);
  if (auto shared = file.borders.lock()) return shared;
  auto fresh = std::make_shared<BorderPages>();
  file.borders = fresh;
  return fresh;
}

std::shared_ptr<const Descriptor> Chain::descriptor_of(unsigned sample) const {
  const File& file = files_[sample];
  return file.descriptor ? file.descriptor : acquire(sample)->shared_descriptor();
}

// ---- Columns

std::uint64_t Chain::entries() const {
  return samples_.empty() ? 0 : samples_.back().first + samples_.back().entries;
}

std::optional<std::uint32_t> Chain::find(std::string_view path) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  Column column;
  column.path = path;
  column.shapes.resize(schemas_.size());
  const Schema* seen = nullptr;
  for (std::size_t i = 0; i < schemas_.size(); ++i) {
    const Schema& schema = schemas_[i];
    auto& shape = column.shapes[i];
    with_context({.uri = schema.uri}, [&] { shape = find_shape(schema.descriptor, path); });
    if (!shape) continue;
    if (seen == nullptr) {
      seen = &schema;
      column.type = shape->type;
    } else if (auto both = common_type(column.type, shape->type)) {
      column.type = std::move(*both);
    } else {
      fail_types(path, column.type, seen->uri, shape->type, schema.uri);
    }
  }
  auto& number = by_path_[std::string(path)];
  if (seen == nullptr) return number = std::nullopt;
  for (std::size_t i = 0; i < schemas_.size(); ++i) {
    auto& shape = column.shapes[i];
    if (!shape || read_as(*shape, schemas_[i].descriptor, column.type)) continue;
    by_path_.erase(std::string(path));
    throw Error(ErrorKind::unsupported,
                fmt::format("the column's elements cannot be read as {}", column.type.name()), "",
                {.uri = schemas_[i].uri, .field = std::string(path)});
  }
  columns_.push_back(std::move(column));
  return number = static_cast<std::uint32_t>(columns_.size() - 1);
}

const ColumnShape* Chain::shape(std::uint32_t column, unsigned sample) const {
  const auto& shape = columns_[column].shapes[files_[sample].schema];
  return shape ? &*shape : nullptr;
}

bool Chain::has(std::uint32_t column, unsigned sample) const {
  return shape(column, sample) != nullptr;
}

std::vector<std::string> Chain::names() const {
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (const Schema& schema : schemas_)
    for (std::string& path : column_paths(schema.descriptor))
      if (seen.insert(path).second) all.push_back(std::move(path));
  return all;
}

std::vector<LeftOut> Chain::left_out() const {
  std::vector<LeftOut> all;
  std::set<std::string> seen;
  for (const Schema& schema : schemas_)
    for (LeftOut& field : left_out_paths(schema.descriptor))
      if (seen.insert(field.path).second) all.push_back(std::move(field));
  return all;
}

// ---- Work

const std::vector<std::uint64_t>& Chain::part_borders_of(unsigned sample) const {
  const File& file = files_[sample];
  {
    const std::lock_guard lock(file.mutex);
    if (!file.part_borders.empty()) return file.part_borders;
  }
  std::vector<std::uint64_t> borders = part_borders(*descriptor_of(sample), limits_);
  const std::lock_guard lock(file.mutex);
  if (file.part_borders.empty()) file.part_borders = std::move(borders);
  return file.part_borders;
}

// Of the files before `first` only the number of parts counts.
std::vector<Part> Chain::parts(std::uint64_t first, std::uint64_t last) const {
  std::vector<Part> all;
  std::uint64_t number = 0;
  for (unsigned i = 0; i < samples_.size() && samples_[i].first < last; ++i) {
    if (samples_[i].entries == 0) continue;
    const std::vector<std::uint64_t>& borders = part_borders_of(i);
    add_parts(borders, samples_[i].first, i, number, first, last, all);
    number += borders.empty() ? 0 : borders.size() - 1;
  }
  return all;
}

std::unique_ptr<Cursor> Chain::open() const {
  return std::make_unique<ChainCursor>(shared_from_this());
}

std::string Chain::specification() const {
  nlohmann::json uris = nlohmann::json::array();
  for (const File& file : files_) uris.push_back(file.uri);
  return nlohmann::json{
      {"source", "chain"}, {"name", name_}, {"uris", std::move(uris)}, {"options", to_json(options_)}}
      .dump();
}

std::shared_ptr<Source> open_chain(const std::string& name, std::span<const std::string> uris,
                                   const ReadOptions& options) {
  return std::make_shared<Chain>(name, expand_names(uris), options);
}

}  // namespace colonnade::frame
