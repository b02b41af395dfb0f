// Claiming, writing, committing; see writer.h.
#include "container/object_store/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/after_commit.h"
#include "base/warning.h"
#include "container/object_store/generations.h"

namespace colonnade::container {
namespace {

constexpr std::size_t checksum_size = sizeof(std::uint64_t);

// The number of older states that stay readable while a writer runs: a reader that has read a record has the
// time of this many commits to read header, footer and page lists.
constexpr std::uint64_t kept_commits = 16;

// Object numbers reserved at once: fewer requests, but `gc` may have to look for this many objects in vain.
std::uint64_t reservation_step(ObjectMapping mapping) noexcept {
  return mapping == ObjectMapping::locality ? 64 : 16384;
}

Error exists_already(std::string_view name) {
  return Error(ErrorKind::usage, fmt::format("there is already a data set \"{}\"", name),
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
      splice_size_(options.splice_size),
      lease_(options.claim_lease) {
  plan_.mapping = options.object_mapping;
  plan_.traits = store_->traits();
  plan_.value_target = value_target_of(plan_.traits, splice_size_);
}

ObjectContainerWriter::~ObjectContainerWriter() {
  try {
    close();
  } catch (const std::exception&) {
    return;  // errors are reported by close() only
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

// ---- Claiming

void ObjectContainerWriter::check_target(ObjectTarget target, const DirectoryPlace& place) const {
  if (target == ObjectTarget::absent && place.committed()) throw exists_already(name_);
  if (target == ObjectTarget::present && !place.committed())
    throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", name_));
}

void ObjectContainerWriter::claim(ObjectTarget target) {
  constexpr int most_attempts = 16;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const DirectoryPlace place = find_place(*store_, name_);
    check_target(target, place);
    const ClaimRecord* other = place.claim();
    if (other != nullptr && !is_gone(*store_, place.dkey, *other)) throw claimed_by_another(name_, *other);
    // Drawn after the place was read, it is larger than the numbers of all earlier writers of the place.
    plan_.group = next_generation(*store_);
    check_generation(place);
    claim_ = Claim::put(store_, name_, place, plan_.group, lease_);
    if (!claim_) continue;  // another process was faster
    others_left_generations_ = place.found.has_value();
    replaces_ = place.committed() && target != ObjectTarget::present;
    if (target == ObjectTarget::present) continue_data_set(place.found->record.anchor);
    begin_generation();
    return;
  }
  throw Error(ErrorKind::io, "other writers kept taking over the data set", "try again");
}

void ObjectContainerWriter::check_generation(const DirectoryPlace& place) const {
  const std::uint32_t latest = std::max(place.found ? place.found->record.anchor.generation : 0,
                                        place.claim() != nullptr ? place.claim()->generation : 0);
  if (plan_.group <= latest)
    throw Error(ErrorKind::format,
                fmt::format("{}: it counts {} generations, but the data set has number {}",
                            io::to_text(directory_value(counter_place, counter_key)), plan_.group, latest),
                "somebody has changed the counter; copy the data sets to another store");
}

void ObjectContainerWriter::begin_generation() {
  reserved_ = {.name = name_,
               .generation = plan_.group,
               .writer = claim_->writer(),
               .end_objects = next_object_,
               .first_object = next_object_};
  add_generation(*store_, claim_->place(), reserved_);
}

// Existing generations stay unchanged: this writer makes its own, which continues their numbering.
void ObjectContainerWriter::continue_data_set(const AnchorRecord& anchor) {
  committed_ = anchor;
  committed_.earlier.push_back({anchor.generation, anchor.end_objects, anchor.end_blobs});
  if (committed_.earlier.size() > most_earlier_generations)
    throw Error(ErrorKind::resource,
                fmt::format("the data set was continued {} times and cannot be again", anchor.earlier.size()),
                "copy it, and continue the copy");
  plan_.mapping = anchor.mapping;
  plan_.value_target = std::min<std::uint64_t>(anchor.value_target, plan_.traits.max_value);
  splice_size_ = anchor.splice_size;
  next_blob_ = anchor.end_blobs;
  next_object_ = anchor.end_objects;
}

// ---- Writing

void ObjectContainerWriter::check_open() const {
  if (closed_)
    throw Error(ErrorKind::usage, "the data set is already closed", "write before close()", {.uri = uri()});
}

// numbers_mutex_ is held.
void ObjectContainerWriter::reserve(std::uint64_t end) {
  GenerationRecord record = reserved_;
  record.end_objects = end;
  write_generation(*store_, claim_->place(), record);
  reserved_ = std::move(record);
}

std::uint64_t ObjectContainerWriter::take_objects(std::uint64_t count) {
  const std::lock_guard lock(numbers_mutex_);
  const std::uint64_t most = plan_.mapping == ObjectMapping::locality
                                 ? LocalityLocation::most_objects
                                 : std::numeric_limits<std::uint64_t>::max() / 2;
  if (count > most - next_object_)
    throw Error(ErrorKind::resource,
                fmt::format("the data set has {} objects and cannot have more", next_object_ - 1),
                "larger clusters, or several data sets", {.uri = uri()});
  if (next_object_ + count > reserved_.end_objects)
    reserve(std::min(most, next_object_ + count - 1 + reservation_step(plan_.mapping)));
  return std::exchange(next_object_, next_object_ + count);
}

std::uint64_t ObjectContainerWriter::blobs_of(std::uint64_t size) const noexcept {
  return std::max<std::uint64_t>(1, (size + max_key_size() - 1) / max_key_size());
}

Locator ObjectContainerWriter::write_blob(ByteSpan payload, std::uint64_t) {
  check_open();
  claim_->check();
  const std::uint64_t chunks = blobs_of(payload.size());
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

PlannedPages ObjectContainerWriter::plan(std::span<const PagePart> pages, ClusterWriteState& cluster) {
  check_open();
  claim_->check();
  return plan_updates(plan_, pages, cluster, [this](std::uint64_t count) { return take_objects(count); });
}

std::vector<std::uint64_t> ObjectContainerWriter::write_pages(std::span<const PagePart> pages,
                                                              ClusterWriteState& cluster) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->run(planned.updates);
  return std::move(planned.locations);
}

std::vector<std::uint64_t> ObjectContainerWriter::begin_pages(std::span<const PagePart> pages,
                                                              ClusterWriteState& cluster,
                                                              std::shared_ptr<PageBytes> memory) {
  PlannedPages planned = plan(pages, cluster);
  uploader_->begin(std::move(planned.updates), std::move(memory));
  return std::move(planned.locations);
}

void ObjectContainerWriter::flush() {
  check_open();
  uploader_->finish();
}

// ---- Parts of others

PartTicket ObjectContainerWriter::begin_parts() {
  check_open();
  const std::lock_guard lock(numbers_mutex_);
  // On condition: if it is done late, it must not take back what others have reserved.
  change_generation(*store_, claim_->place(), plan_.group, [&](GenerationRecord& record) {
    record.in_parts = true;
    reserved_ = record;
  });
  return {.generation = plan_.group, .place = claim_->place(), .writer = claim_->writer()};
}

// Abandoned ranges are recorded before the commit, whose objects surround them: `gc` could not tell later.
void ObjectContainerWriter::take_parts(std::span<const PartRecord> parts) {
  check_open();
  std::vector<ObjectRange> taken;
  for (const PartRecord& part : parts) taken.insert(taken.end(), part.objects.begin(), part.objects.end());
  const std::lock_guard lock(numbers_mutex_);
  change_generation(*store_, claim_->place(), plan_.group, [&](GenerationRecord& record) {
    record.abandoned = ranges_between(taken, record.first_object, record.end_objects);
    reserved_ = record;
  });
  next_object_ = reserved_.end_objects;
}

// ---- Committing

AnchorRecord ObjectContainerWriter::anchor_record(const Anchor& anchor) const {
  return {.name = name_,
          .generation = plan_.group,
          .mapping = plan_.mapping,
          .value_target = plan_.value_target,
          .splice_size = splice_size_,
          .commit = committed_.commit + 1,
          .end_objects = next_object_,
          .end_blobs = next_blob_,
          .anchor = anchor,
          .earlier = committed_.earlier,
          .identity = environment().random_number()};
}

void ObjectContainerWriter::commit(const Anchor& anchor) {
  check_open();
  with_context({.uri = uri(), .data_set = name_}, [&] {
    uploader_->finish();
    if (durability_ == Durability::machine) store_->sync();
    AnchorRecord record;
    {
      const std::lock_guard lock(numbers_mutex_);
      record = anchor_record(anchor);
    }
    try {
      claim_->commit(record);
    } catch (const Error&) {
      const std::lock_guard lock(numbers_mutex_);
      failed_footers_.push_back({.size = anchor.footer_size, .offset = anchor.footer_offset});
      throw;
    }
    adopt(std::move(record));
    if (durability_ == Durability::machine) {
      is_settled_ = false;
      after_commit([&] { store_->sync(); });
      is_settled_ = true;
    }
    if (!has_committed_.exchange(true) && others_left_generations_) remove_older_generations();
    if (committed_.commit > kept_commits) remove_retired_quietly(committed_.commit - kept_commits);
  });
}

void ObjectContainerWriter::retire_blob(const Locator& blob) {
  const std::lock_guard lock(numbers_mutex_);
  retired_.push_back({committed_.commit + 1, blob});
}

// Called after a commit: it names another footer than the one before, and perhaps one that was retired.
void ObjectContainerWriter::adopt(AnchorRecord record) {
  const std::lock_guard lock(numbers_mutex_);
  const Anchor& before = committed_.anchor;
  if (committed_.generation != 0)
    retired_.push_back({record.commit, {.size = before.footer_size, .offset = before.footer_offset}});
  for (const Locator& footer : std::exchange(failed_footers_, {}))
    retired_.push_back({record.commit, footer});
  std::erase_if(retired_, [&](const Retired& each) {
    return each.blob.offset == record.anchor.header_offset || each.blob.offset == record.anchor.footer_offset;
  });
  committed_ = std::move(record);
}

// Removes blobs that neither this commit, which is certain, nor later ones name.
void ObjectContainerWriter::remove_retired(std::uint64_t commit) {
  for (;;) {
    Retired next;
    {
      const std::lock_guard lock(numbers_mutex_);
      if (retired_.empty() || retired_.front().commit > commit) return;
      next = retired_.front();
    }
    for (std::uint64_t i = 0; i < blobs_of(next.blob.size); ++i) {
      const std::uint64_t number = next.blob.offset + i;
      store_->remove({{group_of_blob(committed_, number), metadata_object}, 0, number});
    }
    const std::lock_guard lock(numbers_mutex_);
    retired_.pop_front();
  }
}

void ObjectContainerWriter::remove_retired_quietly(std::uint64_t commit) noexcept {
  try {
    remove_retired(commit);
  } catch (const std::exception&) {
    return;  // retried after the next commit, or at the end
  }
}

// Older generations that the commit does not name can never return, even if another process writes the data
// set by now; later generations may be another writer's. Of those that this one continues, only the last may
// have more than the commit names: each writer looks at the one before. A failure here does not affect the
// data set.
void ObjectContainerWriter::remove_older_generations() {
  const std::uint32_t last = committed_.earlier.empty() ? 0 : committed_.earlier.back().generation;
  try {
    for (const std::uint32_t generation : generations_at(*store_, claim_->place())) {
      const bool is_done = generation < last && part_of(committed_, generation);
      if (generation < plan_.group && !is_done)
        remove_garbage(*store_, claim_->place(), committed_, generation);
    }
  } catch (const Error& error) {
    warn(
        fmt::format("the previous content of data set \"{}\" in {} could not be removed ({}); `colonnade gc` "
                    "will remove it",
                    name_, uri(), error.problem()));
  }
}

// ---- The end

// Uncommitted data can never be committed after this point. They are removed only if the committed state is
// certain: `gc` may have removed the generation's record and its data.
void ObjectContainerWriter::finish() {
  const AnchorRecord anchor = claim_->release();
  // Writers of parts may have reserved more objects until now, but not after this.
  if (reserved_.in_parts)
    reserved_ = find_generation(*store_, claim_->place(), plan_.group).value_or(GenerationRecord{});
  if (reserved_.generation != 0) remove_garbage(*store_, claim_->place(), anchor, reserved_);
  if (const auto kept = part_of(anchor, reserved_.generation); kept && !reserved_.abandoned.empty()) {
    // Their writers may still run: `gc` checks again later.
    reserved_.end_objects = kept->end_objects;
    write_generation(*store_, claim_->place(), reserved_);
  }
  // A commit that may go with the machine leaves behind what the one before it names.
  if (anchor.generation == plan_.group && is_settled_) remove_retired(anchor.commit);
}

// What is left is there for `gc`; a record that somebody has removed, or damaged, is an error.
void ObjectContainerWriter::finish_quietly() {
  if (!has_committed_) return finish();
  std::exception_ptr failure;
  tidy_after_commit({.uri = uri(), .data_set = name_},
                    "not everything that is no longer needed could be removed; `colonnade gc` will remove it",
                    [&] {
                      try {
                        finish();
                      } catch (const Error& error) {
                        if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::resource) throw;
                        failure = std::current_exception();
                      }
                    });
  if (failure) std::rethrow_exception(failure);
}

void ObjectContainerWriter::close() {
  if (std::exchange(closed_, true)) return;
  if (!claim_ || !claim_->is_own()) return;  // never opened, or opened by the parent before a fork
  with_context({.uri = uri(), .data_set = name_}, [&] {
    std::exception_ptr failure;
    try {
      if (uploader_) uploader_->finish();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      finish_quietly();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    claim_.reset();  // if it could not be released, others see that its writer has ended
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace colonnade::container
