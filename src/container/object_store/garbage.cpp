// Collecting garbage; see colonnade/garbage.h.
//
// A writer claims a place before it writes its generation record, and what it has not committed when it loses
// the claim can never be committed, as a commit expects the record that contains the claim. So if a
// generation was listed, and the record read afterwards neither names it nor holds a claim for it, it is
// garbage forever, and removing it needs no claim. A claim whose writer is dead, or considered dead, is
// removed first, which makes all updates in flight of that writer fail.
#include "colonnade/garbage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "colonnade/error.h"
#include "container/object_store/claim.h"
#include "container/object_store/generations.h"

namespace colonnade {
namespace {

using container::AnchorRecord;
using container::ClaimRecord;
using container::PlaceRecord;
using container::VersionedRecord;

std::shared_ptr<io::ObjectStore> open_store(const std::string& uri) {
  if (!io::is_object_store(uri))
    throw Error(ErrorKind::usage, "this is not an object store",
                "a URI like obj:///path or s3://bucket/prefix", {.uri = uri});
  return io::open_object_store(uri);
}

// After a crash of the machine, an older record must not return: the values that it names are about to be
// removed.
void keep_record(io::ObjectStore& store, std::uint64_t place) {
  store.sync_with(container::directory_value(place, container::place_key));
}

// Removes those listed generations that are garbage according to the record.
void remove_garbage_at(io::ObjectStore& store, std::uint64_t place,
                       const std::vector<std::uint32_t>& generations, const PlaceRecord& record,
                       bool only_look, GarbageReport* report) {
  bool is_kept = only_look;
  for (const std::uint32_t generation : generations) {
    // The claim's writer makes its own generation, and later writers make unknown ones.
    if (record.claim && generation >= record.claim->generation) continue;
    auto garbage = container::remove_garbage(store, place, record.anchor, generation, true);
    if (garbage && !std::exchange(is_kept, true)) {
      keep_record(store, place);
      store.sync();
    }
    if (garbage && !only_look)
      garbage = container::remove_garbage(store, place, record.anchor, generation, false);
    if (garbage && report != nullptr)
      report->removed.push_back({garbage->name, generation, garbage->objects, !garbage->all});
  }
}

// Bounds the attempts against a writer that keeps renewing its claim.
constexpr int most_attempts = 16;

class Collector {
 public:
  Collector(io::ObjectStore& store, const GarbageOptions& options)
      : store_(store), options_(options), watch_(store) {}

  GarbageReport run() {
    // Before the records: a writer creates values only after its claim and generation are recorded.
    const std::vector<std::uint32_t> groups =
        options_.force ? store_.list_groups() : std::vector<std::uint32_t>();
    const std::vector<std::uint64_t> places = store_.list_dkeys(container::directory_object);
    for (const std::uint64_t place : places) at(place, [&] { visit(place); });
    for (const auto& [place, claim] : watch_.wait()) {
      waiting_.erase(place);
      at(place, [&] { collect(place, &claim); });
    }
    // Claims that changed: their writers run, or have just ended.
    for (const std::uint64_t place : waiting_) at(place, [&] { collect(place, nullptr); });
    if (!groups.empty() && report_.problems.empty()) remove_unspoken(groups);
    report_.leftovers = store_.remove_leftovers(options_.dry_run);
    return std::move(report_);
  }

 private:
  // An error at one place does not affect the others, unless the whole store is unavailable.
  template <class Work>
  void at(std::uint64_t place, Work&& work) {
    if (place == container::counter_place) return;
    try {
      work();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io)
        static_cast<void>(
            store_.get(container::directory_value(container::counter_place, container::counter_key)));
      report_.problems.push_back(error.problem());
    }
  }

  void visit(std::uint64_t place) {
    const auto found = container::read_place(store_, place);
    if (!found || !found->record.claim) return collect(place, nullptr);
    const ClaimRecord& claim = *found->record.claim;
    const Life life = options_.force ? Life::ended : environment().life_of(claim.writer);
    if (life != Life::unknown) return collect(place, life == Life::ended ? &claim : nullptr);
    std::optional<std::chrono::milliseconds> time;
    if (options_.older_than)
      time = std::chrono::milliseconds(static_cast<std::int64_t>(*options_.older_than * 1000));
    watch_.add(place, claim, time);
    waiting_.insert(place);
  }

  // Values of generations whose records are lost, with the data set's record or later.
  void remove_unspoken(const std::vector<std::uint32_t>& groups) {
    std::set<std::uint32_t> spoken;
    for (const std::uint64_t place : store_.list_dkeys(container::directory_object)) {
      if (place == container::counter_place) continue;
      for (const std::uint32_t generation : container::generations_at(store_, place))
        spoken.insert(generation);
      keep_record(store_, place);
      const auto found = container::read_place(store_, place);
      if (!found) continue;
      spoken.insert(found->record.anchor.generation);
      for (const auto& earlier : found->record.anchor.earlier) spoken.insert(earlier.generation);
      if (found->record.claim) spoken.insert(found->record.claim->generation);
    }
    if (std::includes(spoken.begin(), spoken.end(), groups.begin(), groups.end())) return;
    if (!options_.dry_run) store_.sync();
    for (const std::uint32_t group : groups) {
      if (spoken.contains(group)) continue;
      if (!options_.dry_run) store_.remove_objects(group, 0, ~std::uint64_t{0});
      report_.removed.push_back({{}, group, 0, false});
    }
  }

  // `gone`: the claim of a dead writer, if it is still there.
  void collect(std::uint64_t place, const ClaimRecord* gone) {
    const std::vector<std::uint32_t> generations = container::generations_at(store_, place);
    auto found = container::read_place(store_, place);
    if (!found) {
      if (generations.empty()) return;
      throw Error(ErrorKind::format,
                  fmt::format("{}: the record of a data set is missing, but {} generations of it exist",
                              io::to_text(container::directory_value(place, container::place_key)),
                              generations.size()));
    }
    const std::optional<ClaimRecord> claim = found->record.claim;
    const PlaceRecord record = gone != nullptr ? release(place, std::move(*found), *gone) : found->record;
    if (claim) {
      auto& list = record.claim ? report_.kept : report_.released;
      list.push_back({record.anchor.name, container::describe_writer(*claim)});
    }
    remove_garbage_at(store_, place, generations, record, options_.dry_run, &report_);
  }

  // Removes the claim unless its writer is faster; returns the resulting record.
  PlaceRecord release(std::uint64_t place, VersionedRecord<PlaceRecord> found, const ClaimRecord& gone) {
    const auto is_gone = [&](const std::optional<ClaimRecord>& claim) {
      return claim && (options_.force || container::is_same_claim(*claim, gone));
    };
    for (int attempt = 0; attempt < most_attempts && is_gone(found.record.claim); ++attempt) {
      const std::uint64_t writer_number = found.record.claim->writer;
      if (options_.dry_run) {
        found.record.claim.reset();
        break;
      }
      container::PlaceWriter writer(store_, place, found);
      const bool done = writer.change([](PlaceRecord& record) { record.claim.reset(); });
      if (done) environment().forget_life(writer_number);
      auto now = container::read_place(store_, place);
      if (now) found = std::move(*now);
      if (done || !now) break;
    }
    return std::move(found.record);
  }

  io::ObjectStore& store_;
  const GarbageOptions& options_;
  container::ClaimWatch watch_;
  std::set<std::uint64_t> waiting_;
  GarbageReport report_;
};

}  // namespace

GarbageReport collect_garbage(const std::string& uri, const GarbageOptions& options) {
  const std::shared_ptr<io::ObjectStore> store = open_store(uri);
  return with_context({.uri = uri}, [&] { return Collector(*store, options).run(); });
}

void remove_data_set(const std::string& uri, std::string_view data_set) {
  const std::shared_ptr<io::ObjectStore> store = open_store(uri);
  with_context({.uri = uri, .data_set = std::string(data_set)}, [&] {
    const container::DirectoryPlace place = container::find_place(*store, data_set);
    const ClaimRecord* claim = place.claim();
    if (claim != nullptr && !container::is_gone(*store, place.dkey, *claim))
      throw container::claimed_by_another(data_set, *claim);
    if (!place.committed())
      throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", data_set));
    container::PlaceWriter writer(*store, place.dkey, place.found);
    const bool done = writer.change([](PlaceRecord& record) {
      record.anchor = {.name = record.anchor.name};
      record.claim.reset();
    });
    if (!done)
      throw Error(ErrorKind::usage, fmt::format("another writer has begun to write \"{}\"", data_set),
                  "wait until that is done");
    // After a crash of the machine, the record of values that are removed next must not return.
    store->sync();
    const std::vector<std::uint32_t> generations = container::generations_at(*store, place.dkey);
    if (const auto now = container::read_place(*store, place.dkey))
      remove_garbage_at(*store, place.dkey, generations, now->record, false, nullptr);
  });
}

}  // namespace colonnade
