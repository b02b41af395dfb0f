// See files.h.
#include "dataset/chains/files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cache/settings.h"
#include "colonnade/error.h"
#include "container/container.h"
#include "dataset/attributes/sets.h"
#include "dataset/chains/file_opener.h"
#include "dataset/reading/open_source.h"
#include "io/places.h"
#include "page/remembered_container.h"

namespace colonnade::dataset {
namespace {

// Files that are opened at the same time: opening mostly waits, for remote files nearly always.
std::size_t most_at_once(const std::string& uri) {
  return io::is_local_file(uri) ? 16 : 64;
}

// Files are opened again in whatever working folder.
ReadOptions with_absolute_cache(ReadOptions options) {
  options.cache = cache::with_absolute_path(options.cache);
  return options;
}

// The approximate memory of a descriptor.
std::uint64_t bytes_of(const Descriptor& descriptor) {
  std::uint64_t bytes = descriptor.fields.size() * sizeof(FieldDescriptor) +
                        descriptor.columns.size() * sizeof(ColumnDescriptor);
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns)
      bytes += sizeof(ColumnRange) + (range.pages.size() > 1 ? range.pages.size() * 16 : 0);
  return bytes;
}

}  // namespace

ChainFiles::ChainFiles(std::string name, std::span<const NamedFile> files, ReadOptions options, Limits limits,
                       const Check& check)
    : name_(std::move(name)),
      options_(with_absolute_cache(std::move(options))),
      limits_(limits),
      keeps_open_(files.size() <= limits.kept_open) {
  if (files.empty()) throw Error(ErrorKind::usage, "there is no file to read", "name at least one");
  add_files(
      files.size(), files[0].uri,
      [&](std::size_t i) { return open_source(files[i].data_set, files[i].uri, options_); }, check);
}

ChainFiles::ChainFiles(std::shared_ptr<const ChainFiles> whole, std::string attribute_set, Limits limits)
    : name_(std::move(attribute_set)),
      whole_(std::move(whole)),
      options_(whole_->options()),
      limits_(limits),
      keeps_open_(whole_->size() <= limits.kept_open) {
  options_.cache = "off";  // it knows data sets by name
  add_files(whole_->size(), (*whole_)[0].uri, [&](std::size_t i) { return open_set(i); }, {});
}

void ChainFiles::add_files(std::size_t count, const std::string& first_uri,
                           const std::function<OpenFile(std::size_t)>& open, const Check& check) {
  if (count == 1) return add_file(0, open(0), check);
  FileOpener opener(count, std::clamp<std::size_t>(limits_.kept_open, 1, most_at_once(first_uri)), open);
  for (std::size_t i = 0; i < count; ++i) add_file(i, opener.next(), check);
}

ChainFiles::OpenFile ChainFiles::open_set(std::size_t number) const {
  const OpenFile whole = whole_->acquire(number);
  return with_context(whole->context(), [&]() -> OpenFile {
    const AttributeSetRecord* const record = find_attribute_set(whole->descriptor(), name_);
    if (record == nullptr) return nullptr;
    return open_attribute_set(*whole, *record);
  });
}

ChainFiles::ChainFiles(std::string name, ChainIndex index, ReadOptions options, Limits limits,
                       const Check& check)
    : name_(std::move(name)),
      options_(with_absolute_cache(std::move(options))),
      limits_(limits),
      keeps_open_(index.files.size() <= limits.kept_open) {
  for (Schema& schema : index.schemas) {
    if (check) check(schemas_, schema);
    // Nothing of this version has one twice.
    if (!by_fingerprint_.try_emplace(fingerprint(schema.descriptor), static_cast<unsigned>(schemas_.size()))
             .second)
      throw Error(ErrorKind::format, "the index of a chain has a schema twice");
    schemas_.push_back(std::move(schema));
  }
  for (ChainIndex::File& known : index.files) {
    File file{.uri = std::move(known.uri),
              .data_set = std::move(known.data_set),
              .schema = known.schema,
              .identity = known.identity,
              .parts = known.parts,
              .place = std::move(known.place)};
    if (file.place.empty()) file.place = io::absolute_name(file.uri);
    place(file, known.entries);
    slots_.emplace_back().file = std::move(file);
  }
}

void ChainFiles::place(File& file, std::uint64_t count) const {
  file.first = entries();
  file.entries = count;
  std::uint64_t end = 0;
  if (__builtin_add_overflow(file.first, count, &end))
    throw Error(ErrorKind::format, "the files together have more than 2^64 entries", "", {.uri = file.uri});
}

void ChainFiles::add_file(std::size_t number, const OpenFile& source, const Check& check) {
  if (!source) return;  // it has no such attribute set
  File file{.uri = source->uri(),
            .data_set = source->data_set(),
            .schema = schema_of(*source, check),
            .identity = source->identity(),
            .place = io::absolute_name(source->uri())};
  place(file, source->descriptor().entries());
  FileSlot& slot = slots_.emplace_back();
  slot.file = std::move(file);
  slot.number = number;
  slot.current = source;
  if (keeps_open_) slot.kept = source;
  metadata_bytes_ += source->counters().metadata_bytes;
  keep_descriptor(slot, *source);
}

void ChainFiles::keep_descriptor(const FileSlot& slot, const page::PageSource& source) const {
  if (slot.descriptor) return;
  const std::uint64_t bytes = bytes_of(source.descriptor());
  if (kept_bytes_.fetch_add(bytes) + bytes <= limits_.kept_bytes)
    slot.descriptor = source.shared_descriptor();
  else
    kept_bytes_ -= bytes;
}

unsigned ChainFiles::schema_of(const page::PageSource& source, const Check& check) {
  const Descriptor& whole = source.descriptor();
  const auto [found, is_new] =
      by_fingerprint_.try_emplace(fingerprint(whole), static_cast<unsigned>(schemas_.size()));
  if (!is_new) return found->second;
  Schema schema;
  schema.descriptor.fields = whole.fields;
  schema.descriptor.columns = whole.columns;
  schema.uri = source.uri();
  if (check) check(schemas_, schema);
  schemas_.push_back(std::move(schema));
  return found->second;
}

std::uint64_t ChainFiles::entries() const {
  return slots_.empty() ? 0 : slots_.back().file.first + slots_.back().file.entries;
}

std::size_t ChainFiles::file_of(std::uint64_t entry) const {
  const auto after =
      std::upper_bound(slots_.begin(), slots_.end(), entry, [](std::uint64_t wanted, const FileSlot& slot) {
        return wanted < slot.file.first + slot.file.entries;
      });
  return static_cast<std::size_t>(after - slots_.begin());
}

ChainFiles::OpenFile ChainFiles::open(const FileSlot& slot) const {
  if (whole_) return open_set(slot.number);
  if (!slot.descriptor) return open_source(slot.file.data_set, slot.file.place, options_);
  std::shared_ptr<container::ReadContainer> container =
      page::open_remembered(slot.file.data_set, slot.file.place, options_);
  if (!container)
    container = container::open_container(slot.file.place,
                                          {.local_io = options_.local_io, .direct_io = options_.direct_io});
  return page::PageSource::open(slot.file.data_set, std::move(container), slot.descriptor, options_);
}

ChainFiles::OpenFile ChainFiles::acquire(std::size_t i) const {
  const FileSlot& slot = slots_[i];
  const std::lock_guard lock(slot.mutex);
  if (slot.kept) return slot.kept;
  if (auto current = slot.current.lock()) return current;
  OpenFile source = open(slot);
  const auto has_its_schema = [&] {
    const auto known = by_fingerprint_.find(fingerprint(source->descriptor()));
    return known != by_fingerprint_.end() && known->second == slot.file.schema;
  };
  if (source->identity() != slot.file.identity || source->descriptor().entries() != slot.file.entries ||
      (source->shared_descriptor() != slot.descriptor && !has_its_schema()))
    throw Error(ErrorKind::io, "the data set has been rewritten since the chain was opened",
                "open the chain again, and make its index anew if it has one", source->context());
  metadata_bytes_ += source->counters().metadata_bytes;
  keep_descriptor(slot, *source);
  if (keeps_open_) slot.kept = source;
  slot.current = source;
  return source;
}

bool ChainFiles::is_closed(std::size_t i) const {
  const FileSlot& slot = slots_[i];
  const std::unique_lock lock(slot.mutex, std::try_to_lock);  // held: another thread is opening it
  return lock.owns_lock() && !slot.kept && slot.current.expired();
}

std::shared_ptr<const Descriptor> ChainFiles::known_descriptor(std::size_t i) const {
  const std::lock_guard lock(slots_[i].mutex);
  return slots_[i].descriptor;
}

std::shared_ptr<const Descriptor> ChainFiles::descriptor_of(std::size_t i) const {
  {
    const std::lock_guard lock(slots_[i].mutex);
    if (slots_[i].descriptor) return slots_[i].descriptor;
  }
  return acquire(i)->shared_descriptor();
}

std::vector<std::pair<std::string, std::size_t>> ChainFiles::attribute_sets() const {
  std::vector<std::pair<std::string, std::size_t>> sets;
  const auto count = [&](const Descriptor& descriptor) {
    std::set<std::string> own;
    for (const AttributeSetRecord& record : descriptor.attribute_sets) {
      if (!own.insert(record.name).second) continue;
      const auto found = std::ranges::find(sets, record.name, &std::pair<std::string, std::size_t>::first);
      found == sets.end() ? static_cast<void>(sets.emplace_back(record.name, 1))
                          : static_cast<void>(++found->second);
    }
  };
  FileOpener opener(size(), std::clamp<std::size_t>(limits_.kept_open, 1, most_at_once(slots_[0].file.uri)),
                    [&](std::size_t i) { return known_descriptor(i) ? nullptr : acquire(i); });
  for (std::size_t i = 0; i < size(); ++i) {
    const OpenFile opened = opener.next();
    count(opened ? opened->descriptor() : *descriptor_of(i));
  }
  return sets;
}

ChainIndex ChainFiles::index() const {
  ChainIndex index;
  for (const FileSlot& slot : slots_) {
    const File& file = slot.file;
    index.files.push_back(
        {file.uri, file.data_set, file.entries, file.parts, file.schema, file.identity, file.place});
  }
  index.schemas.assign(schemas_.begin(), schemas_.end());
  return index;
}

}  // namespace colonnade::dataset
