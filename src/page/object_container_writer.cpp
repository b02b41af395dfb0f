// Claiming, writing, committing; see object_container_writer.h.
#include "page/object_container_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/warning.h"
#include "page/object_claim.h"
#include "page/object_generations.h"

namespace colonnade::page {
namespace {

constexpr std::size_t checksum_size = sizeof(std::uint64_t);

// Object numbers reserved at once: so many requests fewer, and at most so many too many for `gc` to look for.
std::uint64_t reservation_step(ObjectMapping mapping) noexcept {
  return mapping == ObjectMapping::locality ? 64 : 16384;
}

Error exists_already(std::string_view name) {
  return Error(ErrorKind::usage, fmt::format("there is a data set \"{}\" already", name),
               "another name, or recreate() to replace it");
}

}  // namespace

std::unique_ptr<ObjectContainerWriter> ObjectContainerWriter::open(std::shared_ptr<io::ObjectStore> store,
                                                                   std::string_view name,
                                                                   const ContainerOptions& options,
                                                                   ObjectTarget target) {
  return with_context({.uri = store->uri(), .data_set = std::string(name)}, [&] {
    std::unique_ptr<ObjectContainerWriter> writer(new ObjectContainerWriter(std::move(store), name, options));
    writer->check(options);
    writer->claim(target);
    writer->uploader_ = std::make_unique<ObjectUploader>(writer->store_);
    return writer;
  });
}

ObjectContainerWriter::ObjectContainerWriter(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                                             const ContainerOptions& options)
    : store_(std::move(store)),
      name_(name),
      durability_(options.durability),
      splice_size_(options.splice_size) {
  plan_.mapping = options.object_mapping;
  plan_.traits = store_->traits();
  plan_.value_target = value_target_of(plan_.traits, splice_size_);
}

ObjectContainerWriter::~ObjectContainerWriter() {
  try {
    close();
  } catch (const std::exception&) {
    return;  // whoever wants to know calls close()
  }
}

void ObjectContainerWriter::check(const ContainerOptions& options) const {
  if (name_.empty() || name_.size() > longest_name)
    throw Error(ErrorKind::usage,
                fmt::format("an object store cannot hold a data set whose name has {} bytes", name_.size()),
                fmt::format("a name of 1 to {} bytes", longest_name));
  if (options.kind == ContainerKind::bare_file)
    throw Error(ErrorKind::usage, "an object store cannot hold a bare file",
                "leave the container at its default");
  const std::uint64_t largest = plan_.largest_page();
  if (options.max_page_size + checksum_size > largest)
    throw Error(ErrorKind::usage,
                fmt::format("pages of up to {} bytes and a checksum do not fit into values of this store, "
                            "which have {} bytes at most",
                            options.max_page_size, largest),
                fmt::format("a max_page_size of at most {}", largest - std::min(largest, checksum_size)));
}

// ---- claiming ----

void ObjectContainerWriter::claim(ObjectTarget target) {
  constexpr int most_attempts = 16;
  for (int attempt = 0; attempt < most_attempts; ++attempt)
    if (claim_place(target)) return;
  throw Error(ErrorKind::io, "other writers took the data set again and again", "try again");
}

// False: somebody else was faster.
bool ObjectContainerWriter::claim_place(ObjectTarget target) {
  const auto check_target = [&](const DirectoryPlace& place) {
    if (target == ObjectTarget::absent && place.committed()) throw exists_already(name_);
    if (target == ObjectTarget::present && !place.committed())
      throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", name_));
  };
  const DirectoryPlace place = find_place(*store_, name_, true);
  check_target(place);
  if (place.claim && state_of(place.claim->record) != WriterState::dead)
    throw claimed_by_another(place.claim->record);
  const bool continues = target == ObjectTarget::present;
  plan_.group = continues ? place.anchor->record.generation : next_generation(*store_);
  claim_ = claim_of_this_process(name_, plan_.group);
  if (!put_claim(*store_, place.dkey, claim_, place.claim)) return false;
  place_ = place.dkey;
  // From here on nobody else changes what is at the place.
  const DirectoryPlace now = find_place(*store_, name_, true);
  const bool moved =
      now.dkey != place_ || (continues && now.committed() && now.anchor->record.generation != plan_.group);
  if (moved || !now.claim || now.claim->record.writer != claim_.writer) {
    release_claim(*store_, place_, claim_.writer);
    return false;
  }
  try {
    check_target(now);
    if (now.anchor) anchor_version_ = now.anchor->version;
    others_left_generations_ = now.anchor.has_value() || place.claim.has_value();
    continues ? continue_generation(now.anchor->record) : begin_generation();
  } catch (...) {
    release_claim(*store_, place_, claim_.writer);
    throw;
  }
  return true;
}

void ObjectContainerWriter::begin_generation() {
  reserved_ = {.name = name_, .generation = plan_.group, .writer = claim_.writer};
  write_generation(*store_, place_, reserved_);
}

// What a writer before left behind its last commit is removed.
void ObjectContainerWriter::continue_generation(const AnchorRecord& anchor) {
  committed_ = anchor;
  plan_.mapping = anchor.mapping;
  plan_.value_target = std::min<std::uint64_t>(anchor.value_target, plan_.traits.max_value);
  splice_size_ = anchor.splice_size;
  next_blob_ = anchor.end_blobs;
  next_object_ = anchor.end_objects;
  const std::optional<GenerationRecord> reserved = find_generation(*store_, place_, plan_.group);
  reserved_ = reserved.value_or(GenerationRecord{.name = name_, .generation = plan_.group});
  reserved_.writer = claim_.writer;
  if (reserved_.end_objects > next_object_)
    store_->remove_objects(plan_.group, next_object_, reserved_.end_objects - 1);
  remove_blobs(*store_, plan_.group, anchor.end_blobs);
}

// ---- writing ----

void ObjectContainerWriter::check_open() const {
  if (closed_)
    throw Error(ErrorKind::usage, "the data set is closed already", "write before close()", {.uri = uri()});
}

// numbers_mutex_ is held.
void ObjectContainerWriter::reserve(std::uint64_t end) {
  GenerationRecord record = reserved_;
  record.end_objects = end;
  write_generation(*store_, place_, record);
  reserved_ = std::move(record);
}

std::uint64_t ObjectContainerWriter::take_objects(std::uint64_t count) {
  const std::lock_guard lock(numbers_mutex_);
  const std::uint64_t most = plan_.mapping == ObjectMapping::locality
                                 ? LocalityPlace::most_objects
                                 : std::numeric_limits<std::uint64_t>::max() / 2;
  if (count > most - next_object_)
    throw Error(ErrorKind::resource,
                fmt::format("the data set has {} objects and cannot have more", next_object_ - 1),
                "larger clusters, or several data sets", {.uri = uri()});
  if (next_object_ + count > reserved_.end_objects)
    reserve(std::min(most, next_object_ + count - 1 + reservation_step(plan_.mapping)));
  return std::exchange(next_object_, next_object_ + count);
}

Locator ObjectContainerWriter::write_blob(ByteSpan payload, std::uint64_t) {
  check_open();
  const std::uint64_t chunks =
      std::max<std::uint64_t>(1, (payload.size() + max_key_size() - 1) / max_key_size());
  const std::uint64_t first = next_blob_.fetch_add(chunks);
  for (std::uint64_t i = 0; i < chunks; ++i) {
    const ByteSpan rest = payload.subspan(static_cast<std::size_t>(i * max_key_size()));
    const io::UpdateItem item{.akey = first + i,
                              .parts = {rest.first(std::min<std::size_t>(rest.size(), max_key_size()))}};
    store_->update({plan_.group, metadata_object}, 0, {&item, 1});
  }
  return {.kind = Locator::Kind::object64, .size = payload.size(), .offset = first};
}

std::vector<std::uint64_t> ObjectContainerWriter::write_parts(std::span<const ByteSpan>) {
  throw Error(ErrorKind::usage, "pages of an object store belong to columns", "write_pages()",
              {.uri = uri()});
}

PlannedPages ObjectContainerWriter::plan(std::span<const PagePart> pages, ClusterPlace& cluster) {
  check_open();
  return plan_updates(plan_, pages, cluster, [this](std::uint64_t count) { return take_objects(count); });
}

std::vector<std::uint64_t> ObjectContainerWriter::write_pages(std::span<const PagePart> pages,
                                                              ClusterPlace& cluster) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->run(planned.updates);
  return std::move(planned.locations);
}

std::vector<std::uint64_t> ObjectContainerWriter::begin_pages(std::span<const PagePart> pages,
                                                              ClusterPlace& cluster,
                                                              std::shared_ptr<void> memory) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->begin(std::move(planned.updates), std::move(memory));
  return std::move(planned.locations);
}

void ObjectContainerWriter::flush() {
  check_open();
  uploader_->finish();
}

// ---- committing ----

AnchorRecord ObjectContainerWriter::anchor_record(const Anchor& anchor) const {
  return {.name = name_,
          .generation = plan_.group,
          .mapping = plan_.mapping,
          .value_target = plan_.value_target,
          .splice_size = splice_size_,
          .commit = committed_ ? committed_->commit + 1 : 1,
          .end_objects = next_object_,
          .end_blobs = next_blob_,
          .anchor = anchor};
}

void ObjectContainerWriter::commit(const Anchor& anchor) {
  check_open();
  with_context({.uri = uri(), .data_set = name_}, [&] {
    uploader_->finish();
    if (durability_ == Durability::machine) store_->sync();
    // Who was declared dead although it was not must not name objects that may be gone.
    if (!holds_claim(*store_, place_, claim_.writer))
      throw Error(ErrorKind::io, "another writer, or `colonnade gc`, has taken over the data set",
                  "write it again; what was committed before is as it was");
    const bool first = !committed_;
    AnchorRecord record;
    {
      const std::lock_guard lock(numbers_mutex_);
      record = anchor_record(anchor);
    }
    put_anchor(record);
    if (durability_ == Durability::machine) store_->sync();
    if (first && others_left_generations_) remove_other_generations();
  });
}

// Learns the version of the anchor that this writer put last.
void ObjectContainerWriter::refresh_anchor_version() {
  if (!anchor_is_ours_) return;
  const auto found = store_->get(directory_value(place_, anchor_key));
  if (!found || found->value != to_bytes(*committed_))
    throw Error(ErrorKind::io, "another writer has committed the data set meanwhile",
                "one writer at a time; write it again");
  anchor_version_ = found->version;
  anchor_is_ours_ = false;
}

void ObjectContainerWriter::put_anchor(const AnchorRecord& record) {
  refresh_anchor_version();
  const io::ValueAddress address = directory_value(place_, anchor_key);
  const Bytes bytes = to_bytes(record);
  if (!store_->put_if(address, bytes, anchor_version_)) {
    // A store that repeats a request whose answer was lost may have been refused because of itself.
    const auto found = store_->get(address);
    if (!found || found->value != bytes)
      throw Error(ErrorKind::io, "another writer has committed the data set meanwhile",
                  "one writer at a time; write it again");
  }
  committed_ = record;
  anchor_is_ours_ = true;
}

// The data set is complete whether that succeeds or not.
void ObjectContainerWriter::remove_other_generations() {
  try {
    for (const std::uint32_t generation : generations_at(*store_, place_))
      if (generation != plan_.group) remove_generation(*store_, place_, generation);
  } catch (const Error& error) {
    warn(fmt::format("what data set \"{}\" in {} held before could not be removed ({}); `colonnade gc` will",
                     name_, uri(), error.problem()));
  }
}

// ---- the end ----

// Of this generation, what the last commit does not name.
void ObjectContainerWriter::remove_uncommitted() {
  if (!committed_) {
    remove_generation(*store_, place_, plan_.group);
    return;
  }
  if (next_object_ > committed_->end_objects)
    store_->remove_objects(plan_.group, committed_->end_objects, next_object_ - 1);
  if (next_blob_ > committed_->end_blobs) remove_blobs(*store_, plan_.group, committed_->end_blobs);
  if (reserved_.end_objects != committed_->end_objects) reserve(committed_->end_objects);
}

void ObjectContainerWriter::finish() {
  if (place_ == 0 || !holds_claim(*store_, place_, claim_.writer)) return;
  remove_uncommitted();
  release_place(*store_, place_, claim_);
}

void ObjectContainerWriter::close() {
  if (std::exchange(closed_, true)) return;
  if (!uploader_) return leave_claim(claim_.writer);  // never opened; whether it was put is not known
  with_context({.uri = uri(), .data_set = name_}, [&] {
    std::exception_ptr failure;
    try {
      uploader_->finish();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      finish();
    } catch (...) {
      leave_claim(claim_.writer);
      if (!failure) failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace colonnade::page
