// Copying data sets; see colonnade/copy.h.
//
//   CopyPlan: sources, schemas, what is there --> destination: new, another data set, or what an interrupted
//   copy left --> cluster after cluster --> commit --> CopyCheck: both sides read again and compared
//
// The destination is not touched before the plan is made, and what is there is known to be the beginning of
// this copy.
#include "colonnade/copy.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/after_commit.h"
#include "base/thread_pool.h"
#include "codec/compression.h"
#include "colonnade/attributes.h"
#include "dataset/chains/file_names.h"
#include "dataset/copying/copy_check.h"
#include "dataset/copying/copy_plan.h"
#include "dataset/copying/prepared_copy.h"
#include "dataset/copying/provenance.h"
#include "dataset/copying/schema.h"
#include "dataset/copying/values.h"
#include "dataset/copying/zeros.h"
#include "dataset/writing/schema.h"
#include "page/append_if_repaired.h"
#include "page/page_copy.h"

namespace colonnade {
namespace {

using dataset::CopyCheck;
using dataset::CopyPlan;
using dataset::CopySchema;
using dataset::CopySource;
using dataset::DestinationState;
using dataset::InputRecord;
using dataset::WatchedProgress;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Copy {
 public:
  Copy(const std::vector<DataSetPlace>& sources, const DataSetPlace& destination, const CopyOptions& options,
       const CopyWatch& watch)
      : options_(options),
        plan_(sources, destination, options),
        progress_(watch, options.watch_every),
        check_(plan_, progress_),
        inputs_(plan_.inputs_there()) {
    progress_.total_entries = plan_.entries();
    progress_.total_bytes = plan_.bytes();
    report_.data_set = place().data_set;
    report_.mode = plan_.mode();
    report_.notes = plan_.notes();
    report_.known_sources = plan_.known_sources();
    report_.seconds = seconds_since(begin_);
  }

  CopyReport run() {
    const Clock::time_point begin = Clock::now();
    if (plan_.is_done()) {
      note_there(plan_.there()->descriptor());
    } else {
      with_context({.uri = place().uri, .data_set = place().data_set}, [&] { open_destination(); });
    }
    if (sink_) {
      transfer();
      if (!report_.interrupted && options_.provenance)
        for (std::string& note : check_.notes_on_equal_inputs(inputs_))
          report_.notes.push_back(std::move(note));
    }
    if (!report_.interrupted && options_.verify != CopyVerify::off)
      after_commit([&] { verify(); }, "was not compared with its source to the end");
    report_.seconds += seconds_since(begin);
    return std::move(report_);
  }

 private:
  const DataSetPlace& place() const noexcept { return plan_.destination(); }

  void verify() {
    report_.verified = check_.compare_all(*plan_.open_destination());
    report_.interrupted = !report_.verified;
  }

  // -- the destination --

  WriteOptions write_options() const {
    WriteOptions writing = options_.writing;
    if (options_.compression)
      writing.compression = *options_.compression;
    else if (const auto& stored = plan_.sources().front().compression)
      writing.compression = Compression(stored->to_string());
    if (options_.max_page_size) writing.max_page_size = *options_.max_page_size;
    if (options_.approximate_cluster_size)
      writing.approximate_cluster_size = *options_.approximate_cluster_size;
    writing.max_uncompressed_cluster_size =
        std::max(writing.max_uncompressed_cluster_size, writing.approximate_cluster_size);
    writing.parallel_sealing = options_.threads != 1;
    if (plan_.mode() != CopyMode::decode) writing.max_page_size = plan_.largest_page();
    return writing;
  }

  container::ContainerOptions container_options(const WriteOptions& writing) const {
    container::ContainerOptions how = dataset::container_options(writing);
    how.class_infos = plan_.class_infos();
    return how;
  }

  void open_destination() {
    const WriteOptions writing = write_options();
    if (plan_.there() != nullptr) return resume(writing);
    if (options_.resume || !options_.overwrite) {
      const DestinationState found = plan_.look_at_destination();
      if (found.data_set && !options_.resume)
        throw Error(ErrorKind::usage, "the data set already exists",
                    "another name, overwrite to replace it, or resume to continue an interrupted copy");
      if (found.data_set && resumes(writing)) return;
      dataset::check_new_name(place().data_set);
      container::ContainerOptions how = container_options(writing);
      how.must_be_new = !options_.overwrite;
      start(found.container && !options_.overwrite
                ? page::append_if_repaired(place().uri, place().data_set, how, writing.discard_unrepaired)
                : container::create_container(place().uri, place().data_set, how),
            writing);
    } else {
      dataset::check_new_name(place().data_set);
      start(container::create_container(place().uri, place().data_set, container_options(writing)), writing);
    }
  }

  void start(std::unique_ptr<container::WriteContainer> container, const WriteOptions& writing) {
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    const Descriptor& whole = plan_.target();
    Descriptor& to = sink_->descriptor();
    to.name = dataset::name_at(place().data_set);
    to.description = writing.description.empty() ? whole.description : writing.description;
    to.writer = dataset::library_name();
    to.feature_flags = whole.feature_flags;
    begin_fields(to);
    sink_->start();
    add_fields();
  }

  // Those of the header: what came late to the source comes late to the copy.
  void begin_fields(Descriptor& to) const {
    const Descriptor& whole = plan_.target();
    const auto begin_with = [](auto& into, const auto& all, std::size_t count) {
      into.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())));
    };
    begin_with(to.fields, whole.fields, whole.header_fields);
    begin_with(to.columns, whole.columns, whole.header_columns);
    begin_with(to.aliases, whole.aliases, whole.header_aliases);
    begin_with(to.type_infos, whole.type_infos, whole.header_type_infos);
  }

  // -- going on --

  // False if something else is there that is to be replaced.
  bool resumes(const WriteOptions& writing) {
    try {
      resume(writing);
    } catch (const dataset::NotTheBeginning&) {
      inputs_.clear();
      return false;
    }
    return true;
  }

  // What is there, before anything is added.
  void note_there(const Descriptor& there) {
    report_.resumed_entries = report_.entries = there.entries();
    report_.clusters = there.clusters.size();
  }

  void resume(const WriteOptions& writing) {
    // Locked from here on. Nothing changes before the first commit.
    const bool goes_behind = plan_.there() != nullptr;
    std::unique_ptr<container::WriteContainer> container;
    std::exception_ptr unchangeable;  // such as a file in S3; which may be complete
    try {
      container = container::replace_container(place().uri, place().data_set, container_options(writing));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      unchangeable = std::current_exception();
    }
    const std::unique_ptr<page::PageSource> there = plan_.open_destination();
    if (goes_behind && plan_.there()->descriptor().anchor != there->descriptor().anchor)
      plan_.refuse("another writer has added to it in the meantime");
    const bool has_begun = goes_behind || !has_header_alone(there->descriptor());
    if (!goes_behind) {
      Descriptor expected = plan_.target();
      if (!has_begun) begin_fields(expected);
      if (const std::string why = dataset::first_difference(expected, there->descriptor()); !why.empty())
        plan_.refuse(why);
      inputs_ = options_.provenance ? dataset::read_provenance(*there) : std::vector<InputRecord>();
    }
    check_.compare_beginning(*there);
    const std::uint64_t entries = there->descriptor().entries();
    const std::size_t clusters = there->descriptor().clusters.size();
    const bool lacks_inputs = options_.provenance && (goes_behind || inputs_.empty());
    const bool is_complete = has_begun && entries == plan_.entries() && !lacks_inputs &&
                             (plan_.mode() == CopyMode::decode || clusters == plan_.clusters()) &&
                             plan_.attribute_sets().are_in(there->descriptor());
    if (is_complete) check_.compare_attribute_sets(*there);
    // From here on it is not replaced.
    note_there(there->descriptor());
    done_clusters_ = clusters;
    progress_.entries = entries;
    if (is_complete) return;
    if (unchangeable) std::rethrow_exception(unchangeable);
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    sink_->resume(there->descriptor());
    if (goes_behind || !has_begun) add_fields();
  }

  // Interrupted before its first cluster, it has no late fields yet.
  bool has_header_alone(const Descriptor& there) const {
    const Descriptor& whole = plan_.target();
    return there.clusters.empty() && there.fields.size() == whole.header_fields &&
           there.columns.size() == whole.header_columns && there.fields.size() < whole.fields.size();
  }

  // Those that are not in the header, or that only the new sources have.
  void add_fields() {
    Descriptor& to = sink_->descriptor();
    const Descriptor& whole = plan_.target();
    to.fields = whole.fields;
    to.columns = whole.columns;
    to.aliases = whole.aliases;
    to.type_infos = whole.type_infos;
  }

  // -- moving --

  bool checkpoints() const noexcept {
    const CheckpointEvery& every = options_.writing.checkpoint_every;
    return every.clusters > 0 || every.seconds > 0;
  }

  void transfer() {
    const std::uint64_t before = sink_->entries();
    bool complete = false;
    try {
      complete = plan_.mode() == CopyMode::decode ? move_values() : move_pages();
      if (complete) plan_.attribute_sets().write(*sink_, plan_.memory(), compression());
      if (!complete && checkpoints()) sink_->commit_data_set();
      if (complete || (checkpoints() && sink_->has_committed())) {
        if (complete && options_.provenance) keep_inputs();
        const auto added = complete ? dataset::add_before_commit(sink_, options_.before_commit) : nullptr;
        sink_->close();
        report_.entries = sink_->entries();
        report_.clusters = sink_->descriptor().clusters.size();
      } else {
        report_.entries = before;
        sink_->abandon();
      }
    } catch (const Error& error) {
      sink_->abandon();
      throw error.with({.uri = place().uri, .data_set = place().data_set});
    } catch (...) {
      sink_->abandon();
      throw;
    }
    report_.interrupted = !complete;
    sink_.reset();
    if (complete && options_.verify == CopyVerify::off) progress_.tell();
  }

  // What pages are compressed with again; nothing: they stay as they are.
  std::optional<codec::CompressionSettings> compression() const {
    if (plan_.mode() != CopyMode::recompress) return std::nullopt;
    return codec::CompressionSettings::parse(options_.compression->text);
  }

  // Those that were there, then those of this copy, each with what it was made from itself.
  void keep_inputs() {
    if (plan_.there() == nullptr) inputs_.clear();
    for (const CopySource& source : plan_.sources()) {
      if (source.is_known) continue;
      InputRecord& input = inputs_.emplace_back(source.record);
      input.first_entry = source.first_entry;
      // Where clusters are made anew the last one tells where they end.
      const bool as_they_were = plan_.mode() != CopyMode::decode || plan_.keeps_clusters();
      if (!as_they_were) input.clusters = 0;
      for (InputRecord inner : source.inputs) {
        inner.first_entry += source.first_entry;
        ++inner.depth;
        inputs_.push_back(std::move(inner));
      }
    }
    const std::size_t clusters = sink_->descriptor().clusters.size();
    std::size_t counted = 0;
    for (const InputRecord& input : inputs_)
      if (input.depth == 0) counted += static_cast<std::size_t>(input.clusters);
    for (auto last = inputs_.rbegin(); last != inputs_.rend() && counted < clusters; ++last)
      if (last->depth == 0) {
        last->clusters += clusters - counted;
        counted = clusters;
      }
    sink_->link(dataset::write_provenance(sink_->container_to_link(), sink_->options_of_linked(),
                                          sink_->descriptor().writer, inputs_));
  }

  // Null: the one that all share.
  ThreadPool* pool() {
    if (options_.threads == 0) return nullptr;
    // The thread that waits works, too.
    if (!pool_) pool_ = std::make_unique<ThreadPool>(std::max(options_.threads, 2U) - 1);
    return pool_.get();
  }

  bool move_pages() {
    page::PageCopyOptions how{.memory = plan_.memory(),
                              .add_checksums = options_.writing.page_checksums == Checksums::on,
                              .check_pages = options_.check_pages,
                              .pool = pool()};
    how.compression = compression();
    page::PageCopyCounts counts;
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + counts.entries;
      progress_.bytes_read = counts.bytes_read;
      progress_.bytes_written = counts.bytes_written;
      return progress_.goes_on();
    };
    const bool complete = plan_.each_source([&](CopySource& source) {
      if (source.first_cluster + source.clusters() <= done_clusters_) return true;
      const std::size_t first = done_clusters_ - std::min(done_clusters_, source.first_cluster);
      const CopySchema& schema = plan_.schema_of(source);
      const page::PageSource& pages = plan_.open(source);
      std::optional<dataset::CopyZeros> zeros;
      how.is_mapped = schema.is_mapped;
      how.fill = {};
      if (schema.is_mapped) {
        zeros.emplace(pages, schema);
        how.fill = [&](std::size_t cluster) { return zeros->of_cluster(cluster); };
      }
      return page::copy_pages(pages, first, schema.target_of, *sink_, how, counts, on);
    });
    on();
    report_.pages = counts.pages;
    report_.bytes_read = counts.bytes_read;
    report_.bytes_written = counts.bytes_written;
    report_.bytes_shared = counts.bytes_shared;
    return complete;
  }

  bool move_values() {
    dataset::ValueCopy copy(sink_, plan_.target(),
                            {.memory = plan_.memory(), .keep_clusters = plan_.keeps_clusters()});
    std::uint64_t read = 0;  // of sources that are done
    page::PageSource* now = nullptr;
    std::uint64_t read_before = 0;
    const auto bytes_read = [&] { return read + (now != nullptr ? now->counters().bytes - read_before : 0); };
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + copy.entries();
      progress_.bytes_read = bytes_read();
      progress_.bytes_written = copy.bytes_written();
      return progress_.goes_on();
    };
    const bool complete = plan_.each_source([&](CopySource& source) {
      const std::uint64_t done = report_.resumed_entries;
      if (source.first_entry + source.entries() <= done) return true;
      now = &plan_.open(source);
      read_before = now->counters().bytes;
      const bool went_on =
          copy.copy(*now, plan_.schema_of(source), done - std::min(done, source.first_entry), on);
      read = bytes_read();
      now = nullptr;
      return went_on;
    });
    if (complete) copy.finish();
    on();
    report_.pages = copy.pages();
    report_.bytes_read = bytes_read();
    report_.bytes_written = copy.bytes_written();
    return complete;
  }

  const CopyOptions& options_;
  const Clock::time_point begin_ = Clock::now();
  CopyPlan plan_;
  WatchedProgress progress_;
  CopyCheck check_;
  std::vector<InputRecord> inputs_;  // that what is there was made from
  std::unique_ptr<ThreadPool> pool_;
  std::size_t done_clusters_ = 0;  // that the destination had
  std::shared_ptr<page::DataSetSink> sink_;
  CopyReport report_;
};

}  // namespace

CopyReport copy(const DataSetPlace& source, const DataSetPlace& destination, const CopyOptions& options,
                const CopyWatch& watch) {
  return concatenate({source}, destination, options, watch);
}

CopyReport concatenate(const std::vector<DataSetPlace>& sources, const DataSetPlace& destination,
                       const CopyOptions& options, const CopyWatch& watch) {
  std::vector<DataSetPlace> places;
  for (const DataSetPlace& source : sources)
    for (std::string& uri : dataset::expand_names(std::span(&source.uri, 1)))
      places.push_back({std::move(uri), source.data_set});
  return dataset::prepare_copy(places, destination, options, watch)();
}

std::function<CopyReport()> dataset::prepare_copy(const std::vector<DataSetPlace>& sources,
                                                  const DataSetPlace& destination, const CopyOptions& options,
                                                  const CopyWatch& watch) {
  auto copy = std::make_shared<Copy>(sources, destination, options, watch);
  return [copy] { return copy->run(); };
}

}  // namespace colonnade
