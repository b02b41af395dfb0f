// Reserving, writing and finding parts; see part_writer.h.
#include "container/object_store/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

#include "container/object_store/generations.h"
#include "container/object_store/reader.h"

namespace colonnade::container {
namespace {

using namespace std::chrono_literals;

// The maximum age of the last check of the claim when something is written.
constexpr Environment::Clock::duration looks_every = 15s;

// Most parts are small and need one reservation; large ones need few.
std::uint64_t largest_reservation(ObjectMapping mapping) noexcept {
  return mapping == ObjectMapping::locality ? 64 : 16384;
}

std::uint64_t most_objects(ObjectMapping mapping) noexcept {
  return mapping == ObjectMapping::locality ? LocalityLocation::most_objects
                                            : std::numeric_limits<std::uint64_t>::max() / 2;
}

}  // namespace

// ---- Names

std::string PartTicket::text() const {
  return fmt::format("{:x}-{:x}-{:x}", generation, place, writer);
}

PartName PartName::parse(std::string_view text) {
  std::uint64_t numbers[4] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool fits = true;
  for (std::size_t i = 0; i < 4 && fits; ++i) {
    const auto [next, failure] = std::from_chars(at, end, numbers[i], 16);
    fits = failure == std::errc() && (i == 3 ? next == end : next != end && *next == '-');
    at = fits && i < 3 ? next + 1 : next;
  }
  if (!fits || numbers[0] == 0 || numbers[0] > std::numeric_limits<std::uint32_t>::max() || numbers[3] == 0)
    throw Error(ErrorKind::usage, fmt::format("\"{}\" does not name a part of a data set", text),
                "a ticket of SharedWriter, \"-\", and a number of your own");
  return {{static_cast<std::uint32_t>(numbers[0]), numbers[1], numbers[2]}, numbers[3]};
}

// ---- Writing

bool is_claimed(const io::ObjectStore& store, const PartTicket& ticket) {
  const auto found = read_place(store, ticket.place);
  return found && found->record.claim && found->record.claim->writer == ticket.writer;
}

ObjectPartWriter::ObjectPartWriter(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                                   const ContainerOptions& options, const PartName& part)
    : store_(std::move(store)), name_(name), part_(part), durability_(options.durability) {
  plan_.group = part.ticket.generation;
  plan_.mapping = options.object_mapping;
  plan_.traits = store_->traits();
  plan_.value_target = value_target_of(plan_.traits, options.splice_size);
  with_context({.uri = uri(), .data_set = name_}, [&] { look_at_claim(); });
  uploader_ = std::make_unique<ObjectUploader>(store_);
}

ObjectPartWriter::~ObjectPartWriter() {
  try {
    close();
  } catch (const std::exception&) {
    return;  // errors are reported by close() only
  }
}

void ObjectPartWriter::look_at_claim() {
  const Environment::Clock::time_point now = environment().now();
  if (!is_claimed(*store_, part_.ticket))
    throw Error(ErrorKind::io,
                "the writer for which this part of a data set was made has finished or given up",
                "write the data set again, unless it exists");
  looked_ = now.time_since_epoch().count();
}

void ObjectPartWriter::check() {
  if (closed_)
    throw Error(ErrorKind::usage, "the part is already closed", "write before close()", {.uri = uri()});
  const Environment::Clock::time_point looked{Environment::Clock::duration(looked_.load())};
  if (environment().now() - looked > looks_every) look_at_claim();
}

// mutex_ is held.
void ObjectPartWriter::reserve(std::uint64_t count) {
  ObjectRange range;
  change_generation(*store_, part_.ticket.place, plan_.group, [&](GenerationRecord& record) {
    if (record.writer != part_.ticket.writer || !record.in_parts)
      throw Error(ErrorKind::io, "the writer for which this part of a data set was made has given up",
                  "write the data set again");
    const std::uint64_t most = most_objects(plan_.mapping);
    if (record.end_objects > most || count > most - record.end_objects)
      throw Error(ErrorKind::resource,
                  fmt::format("the data set has {} objects and cannot have more", record.end_objects - 1),
                  "larger clusters, or several data sets");
    range = {record.end_objects, record.end_objects + count};
    record.end_objects = range.end;
  });
  // Only now the objects are certain to be known to the committing process and to garbage collection.
  look_at_claim();
  objects_.push_back(range);
  next_object_ = range.first;
}

std::uint64_t ObjectPartWriter::take_objects(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  if (objects_.empty() || next_object_ + count > objects_.back().end) {
    const std::uint64_t before = objects_.empty() ? 0 : objects_.back().end - objects_.back().first;
    reserve(std::max(count, std::min(2 * before, largest_reservation(plan_.mapping))));
  }
  return std::exchange(next_object_, next_object_ + count);
}

Locator ObjectPartWriter::write_blob(ByteSpan payload, std::uint64_t) {
  check();
  const std::lock_guard lock(mutex_);
  const Locator locator{.kind = Locator::Kind::object64, .size = payload.size(), .offset = next_blob_};
  do {
    const ByteSpan chunk = payload.first(std::min(payload.size(), plan_.traits.max_value));
    const io::UpdateItem item{.akey = next_blob_++, .parts = {chunk}};
    store_->update(metadata(), part_.number, {&item, 1});
    payload = payload.subspan(chunk.size());
  } while (!payload.empty());
  return locator;
}

std::vector<std::uint64_t> ObjectPartWriter::write_parts(std::span<const ByteSpan>) {
  throw Error(ErrorKind::usage, "pages of an object store belong to columns", "write_pages()",
              {.uri = uri()});
}

PlannedPages ObjectPartWriter::plan(std::span<const PagePart> pages, ClusterWriteState& cluster) {
  check();
  return plan_updates(plan_, pages, cluster, [this](std::uint64_t count) { return take_objects(count); });
}

std::vector<std::uint64_t> ObjectPartWriter::write_pages(std::span<const PagePart> pages,
                                                         ClusterWriteState& cluster) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->run(planned.updates);
  return std::move(planned.locations);
}

std::vector<std::uint64_t> ObjectPartWriter::begin_pages(std::span<const PagePart> pages,
                                                         ClusterWriteState& cluster,
                                                         std::shared_ptr<PageBytes> memory) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->begin(std::move(planned.updates), std::move(memory));
  return std::move(planned.locations);
}

void ObjectPartWriter::flush() {
  check();
  uploader_->finish();
}

// ---- The end

void ObjectPartWriter::commit(const Anchor& anchor) {
  check();
  with_context({.uri = uri(), .data_set = name_}, [&] {
    uploader_->finish();
    const std::lock_guard lock(mutex_);
    const Bytes record = to_bytes(PartRecord{name_, plan_.group, next_blob_, anchor, objects_});
    const io::UpdateItem item{.akey = part_record_key, .parts = {record}};
    has_record_ = true;
    store_->update(metadata(), part_.number, {&item, 1});
    // The committing process synchronises only its own writes.
    if (durability_ == Durability::machine) store_->sync();
    // Who ends the claim removes the parts that are there then. One that comes later removes itself.
    look_at_claim();
    committed_ = true;
  });
}

// Objects that cannot be removed are abandoned: the committing process or `gc` removes them.
void ObjectPartWriter::remove() noexcept {
  try {
    for (const ObjectRange& range : objects_) store_->remove_objects(plan_.group, range.first, range.end - 1);
    for (std::uint64_t blob = 0; blob < next_blob_; ++blob) store_->remove({metadata(), part_.number, blob});
    if (has_record_) store_->remove({metadata(), part_.number, part_record_key});
  } catch (const std::exception&) {
    return;
  }
}

void ObjectPartWriter::close() {
  if (std::exchange(closed_, true)) return;
  uploader_.reset();
  if (!committed_) remove();
}

// ---- Reading

OpenPart open_part(std::shared_ptr<io::ObjectStore> store, std::string_view name, const PartName& part) {
  const io::ValueAddress address{{part.ticket.generation, metadata_object}, part.number, part_record_key};
  const auto found = store->get(address);
  if (!found)
    throw Error(ErrorKind::not_found,
                fmt::format("a part of the data set is missing ({})", io::to_text(address)),
                "write it again");
  PartRecord record = read_part_record(found->value);
  if (record.generation != part.ticket.generation || record.name != name)
    throw Error(ErrorKind::format, fmt::format("{}: the record of a part of \"{}\" in generation {}",
                                               io::to_text(address), record.name, record.generation));
  AnchorRecord anchor{.name = record.name,
                      .generation = record.generation,
                      .end_objects = record.objects.empty() ? first_page_object : record.objects.back().end,
                      .end_blobs = record.end_blobs,
                      .anchor = record.anchor};
  auto container =
      std::make_shared<ObjectContainerReader>(std::move(store), std::move(anchor), 0, part.number);
  return {std::move(record), std::move(container)};
}

}  // namespace colonnade::container
