// Collecting garbage; see colonnade/garbage.h.
//
// A writer puts its claim before its generation record and takes it back after its anchor; here the records
// are listed first, then the claim is read and the anchor last. So a generation that was in the list is
// either claimed, or its anchor is there to be seen.
#include "colonnade/garbage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/environment.h"
#include "colonnade/error.h"
#include "page/object_claim.h"
#include "page/object_generations.h"

namespace colonnade {
namespace {

using page::AnchorRecord;
using page::ClaimRecord;
using page::Stored;
using page::WriterState;

std::shared_ptr<io::ObjectStore> open_store(const std::string& uri) {
  if (!io::is_object_store(uri))
    throw Error(ErrorKind::usage, "this is no object store", "a URI like obj:///path or s3://bucket/prefix",
                {.uri = uri});
  return io::open_object_store(uri);
}

template <class Record, class Read>
std::optional<Stored<Record>> get(const io::ObjectStore& store, std::uint64_t place, std::uint64_t akey,
                                  Read read) {
  const auto found = store.get(page::directory_value(place, akey));
  if (!found) return std::nullopt;
  return Stored<Record>{read(found->value), found->version};
}

// One place of the directory.
class PlaceCollector {
 public:
  PlaceCollector(io::ObjectStore& store, std::uint64_t place, const GarbageOptions& options,
                 GarbageReport& report)
      : store_(store), place_(place), options_(options), report_(report) {}

  void run() {
    generations_ = page::generations_at(store_, place_);
    claim_ = read_claim();
    anchor_ = get<AnchorRecord>(store_, place_, page::anchor_key, page::read_anchor_record);
    const bool at_work = claim_ && is_at_work(claim_->record);
    if (claim_) (at_work ? report_.kept : report_.released).push_back(described(claim_->record));
    // Without a claim of its own somebody else could take over what is removed here.
    if (!at_work && (claim_ || has_garbage()) && !options_.dry_run) {
      if (!take_over()) return;
      anchor_ = get<AnchorRecord>(store_, place_, page::anchor_key, page::read_anchor_record);
    }
    try {
      for (const std::uint32_t generation : generations_) collect(generation, at_work);
      if (taken_) page::release_place(store_, place_, own_);
    } catch (...) {
      if (taken_) page::leave_claim(own_.writer);
      throw;
    }
  }

 private:
  // One that cannot be read is nobody's who could be asked.
  std::optional<Stored<ClaimRecord>> read_claim() const {
    try {
      return get<ClaimRecord>(store_, place_, page::claim_key, page::read_claim_record);
    } catch (const Error& error) {
      if (!options_.force || error.kind() == ErrorKind::io) throw;
      ClaimRecord unknown;
      unknown.name = "(unknown)";
      return get<ClaimRecord>(store_, place_, page::claim_key, [&](ByteSpan) { return unknown; });
    }
  }

  static GarbageClaim described(const ClaimRecord& claim) {
    return {claim.name, page::describe_writer(claim)};
  }

  bool is_at_work(const ClaimRecord& claim) const {
    if (options_.force) return false;
    switch (page::state_of(claim)) {
      case WriterState::running:
        return true;
      case WriterState::dead:
        return false;
      case WriterState::unknown:
        return !options_.older_than ||
               static_cast<double>(environment().unix_time() - claim.since) < *options_.older_than;
    }
    return true;
  }

  bool is_committed(std::uint32_t generation) const {
    return anchor_ && anchor_->record.generation == generation;
  }

  bool has_garbage() const {
    return std::any_of(generations_.begin(), generations_.end(), [&](std::uint32_t generation) {
      return !is_committed(generation) || has_uncommitted_part(generation);
    });
  }

  bool has_uncommitted_part(std::uint32_t generation) const {
    const auto record = page::find_generation(store_, place_, generation);
    return record && record->end_objects > anchor_->record.end_objects;
  }

  std::string name_of(std::uint32_t generation) const {
    const auto record = page::find_generation(store_, place_, generation);
    return record ? record->name : std::string("(unknown)");
  }

  // False: a writer was faster, and all that is here is its own affair now.
  bool take_over() {
    const std::string name = claim_    ? claim_->record.name
                             : anchor_ ? anchor_->record.name
                                       : name_of(generations_.front());
    own_ = page::claim_of_this_process(name, 0);
    taken_ = page::put_claim(store_, place_, own_, claim_);
    if (!taken_ && claim_) report_.released.pop_back();
    return taken_;
  }

  void collect(std::uint32_t generation, bool at_work) {
    if (at_work && generation == claim_->record.generation) return;
    if (is_committed(generation)) {
      if (!at_work) collect_uncommitted_part(generation);
      return;
    }
    const auto record = page::find_generation(store_, place_, generation);
    if (!record) return;  // removed by its writer meanwhile
    report_.removed.push_back({record->name, generation, record->end_objects - page::first_page_object});
    if (!options_.dry_run) page::remove_generation(store_, place_, generation);
  }

  // What the writer of the data set wrote after its last commit.
  void collect_uncommitted_part(std::uint32_t generation) {
    const AnchorRecord& anchor = anchor_->record;
    std::optional<page::GenerationRecord> record = page::find_generation(store_, place_, generation);
    if (!record || record->end_objects <= anchor.end_objects) return;
    report_.removed.push_back({record->name, generation, record->end_objects - anchor.end_objects, true});
    if (options_.dry_run) return;
    store_.remove_objects(generation, anchor.end_objects, record->end_objects - 1);
    page::remove_blobs(store_, generation, anchor.end_blobs);
    record->end_objects = anchor.end_objects;
    page::write_generation(store_, place_, *record);
  }

  io::ObjectStore& store_;
  std::uint64_t place_;
  const GarbageOptions& options_;
  GarbageReport& report_;
  std::vector<std::uint32_t> generations_;
  std::optional<Stored<ClaimRecord>> claim_;
  std::optional<Stored<AnchorRecord>> anchor_;
  ClaimRecord own_;
  bool taken_ = false;
};

}  // namespace

GarbageReport collect_garbage(const std::string& uri, const GarbageOptions& options) {
  const std::shared_ptr<io::ObjectStore> store = open_store(uri);
  return with_context({.uri = uri}, [&] {
    GarbageReport report;
    for (const std::uint64_t place : store->list_dkeys(page::directory_object)) {
      if (place == page::counter_place) continue;
      try {
        PlaceCollector(*store, place, options, report).run();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::io) throw;
        report.problems.push_back(error.problem());
      }
    }
    return report;
  });
}

namespace {

void take_apart(io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim) {
  // Nobody is to find the data set meanwhile.
  AnchorRecord removed;
  removed.name = claim.name;
  const Bytes bytes = page::to_bytes(removed);
  const io::UpdateItem item{.akey = page::anchor_key, .parts = {bytes}};
  store.update(page::directory_object, place, {&item, 1});
  for (const std::uint32_t generation : page::generations_at(store, place))
    page::remove_generation(store, place, generation);
  page::release_place(store, place, claim);
}

}  // namespace

void remove_data_set(const std::string& uri, std::string_view data_set) {
  const std::shared_ptr<io::ObjectStore> store = open_store(uri);
  with_context({.uri = uri, .data_set = std::string(data_set)}, [&] {
    const page::DirectoryPlace place = page::find_place(*store, data_set, true);
    if (place.claim && page::state_of(place.claim->record) != WriterState::dead)
      throw page::claimed_by_another(place.claim->record);
    if (!place.committed())
      throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", data_set));
    const ClaimRecord claim = page::claim_of_this_process(data_set, 0);
    if (!page::put_claim(*store, place.dkey, claim, place.claim))
      throw Error(ErrorKind::usage, fmt::format("somebody has begun to write \"{}\"", data_set),
                  "wait until that is done");
    try {
      take_apart(*store, place.dkey, claim);
    } catch (...) {
      page::leave_claim(claim.writer);
      throw;
    }
  });
}

}  // namespace colonnade
