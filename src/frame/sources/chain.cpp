// See chain.h.
#include "frame/sources/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>

#include "colonnade/error.h"
#include "dataset/open_source.h"
#include "frame/sources/chain_cursor.h"
#include "frame/sources/file_names.h"
#include "frame/sources/specification.h"
#include "io/transport.h"

namespace colonnade::frame {
namespace {

// Files that a chain keeps open for good.
constexpr std::size_t most_kept_open = 64;
// Bytes of their metadata that it keeps.
constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;
// Files that are opened at the same time: most of that is waiting, of files elsewhere nearly all.
std::size_t most_at_once(const std::string& uri) {
  return io::transport_for(uri).scheme == "file" ? 16 : 64;
}

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

// Opens files in threads and gives them in order; those that are open and not taken are never more than
// `ahead`. The error is that of the first file in order that has one.
class FileOpener {
 public:
  using Opened = std::shared_ptr<const page::PageSource>;

  FileOpener(std::span<const std::string> uris, std::size_t ahead,
             std::function<Opened(const std::string& uri)> open)
      : uris_(uris), ahead_(ahead), open_(std::move(open)), files_(uris.size()) {
    try {
      while (threads_.size() < std::min(ahead, uris.size())) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // fewer will do
      if (threads_.empty()) throw;
    }
  }
  FileOpener(const FileOpener&) = delete;
  FileOpener& operator=(const FileOpener&) = delete;
  ~FileOpener() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
  }

  Opened next() {
    std::unique_lock lock(mutex_);
    File& file = files_[taken_];
    changed_.wait(lock, [&] { return file.is_done; });
    if (file.failure) std::rethrow_exception(file.failure);
    ++taken_;
    changed_.notify_all();
    return std::move(file.source);
  }

 private:
  struct File {
    Opened source;
    std::exception_ptr failure;
    bool is_done = false;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_over_ || begun_ == files_.size() || begun_ < taken_ + ahead_; });
      if (is_over_ || begun_ == files_.size()) return;
      const std::size_t index = begun_++;
      lock.unlock();
      File file{.is_done = true};
      try {
        file.source = open_(uris_[index]);
      } catch (...) {
        file.failure = std::current_exception();
      }
      lock.lock();
      files_[index] = std::move(file);
      changed_.notify_all();
    }
  }

  const std::span<const std::string> uris_;
  const std::size_t ahead_;
  const std::function<Opened(const std::string& uri)> open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<File> files_;
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool is_over_ = false;
  std::vector<std::jthread> threads_;  // end before what they use
};

}  // namespace

// ---- Files

Chain::Chain(std::string name, std::vector<std::string> uris, ReadOptions options)
    : name_(std::move(name)), options_(std::move(options)) {
  if (uris.empty()) throw Error(ErrorKind::usage, "there is no file to read", "name at least one");
  // Every worker decodes what it needs: threads beside them would only take their processors.
  options_.parallel_decompression = false;
  const bool keep = uris.size() <= most_kept_open;
  const auto open = [&](const std::string& uri) { return dataset::open_source(name_, uri, options_); };
  if (uris.size() == 1) {
    add_file(uris[0], open(uris[0]), keep);
  } else {
    FileOpener opener(uris, most_at_once(uris[0]), open);
    for (const std::string& uri : uris) add_file(uri, opener.next(), keep);
  }
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

bool Chain::is_closed(unsigned sample) const {
  const File& file = files_[sample];
  if (file.kept) return false;
  const std::unique_lock lock(file.mutex, std::try_to_lock);  // held: somebody is opening it
  return lock.owns_lock() && file.current.expired();
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
