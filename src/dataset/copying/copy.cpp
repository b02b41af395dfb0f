// Copying data sets; see colonnade/copy.h.
//
//   sources --> schemas: the same? page by page or decoded? --> destination: new, another data set, or what
//   an interrupted copy left --> cluster after cluster --> commit --> both sides read again and compared
//
// The destination is not touched before the sources are open, their schemas are compared, and what is there
// is known to be the beginning of this copy.
#include "colonnade/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/after_commit.h"
#include "base/redacted.h"
#include "base/thread_pool.h"
#include "codec/column_codec.h"
#include "codec/compression.h"
#include "colonnade/attributes.h"
#include "dataset/chains/file_names.h"
#include "dataset/copying/attribute_sets.h"
#include "dataset/copying/prepared_copy.h"
#include "dataset/copying/provenance.h"
#include "dataset/copying/schema.h"
#include "dataset/copying/sources.h"
#include "dataset/copying/values.h"
#include "dataset/copying/zeros.h"
#include "dataset/writing/schema.h"
#include "io/object_store.h"
#include "io/places.h"
#include "page/append_if_repaired.h"
#include "page/page_compare.h"
#include "page/page_copy.h"

namespace colonnade {
namespace {

using dataset::CopySchema;
using dataset::CopySource;
using dataset::InputRecord;
using Clock = std::chrono::steady_clock;

// ---- Places

std::string without_slash(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

// What is at the destination.
struct DestinationState {
  bool container = false;
  bool data_set = false;
};

DestinationState look_at(const DataSetPlace& place) {
  DestinationState found;
  try {
    if (!io::is_object_store(place.uri)) static_cast<void>(io::open_for_reading(place.uri));
    const auto container = container::open_container(place.uri);
    found.container = true;
    const std::vector<std::string> names = container->data_sets();
    found.data_set = std::find(names.begin(), names.end(), place.data_set) != names.end();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
  }
  return found;
}

// ---- The copy

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Copy {
 public:
  Copy(const std::vector<DataSetPlace>& sources, DataSetPlace destination, const CopyOptions& options,
       const CopyWatch& watch)
      : destination_(std::move(destination)),
        options_(options),
        watch_(watch),
        sources_(sources, options),
        sets_(options.fields) {}

  void prepare() {
    const Clock::time_point begin = Clock::now();
    check_options();
    survey();
    find_there();
    choose_mode();
    note_losses();
    number_sources();
    collect_attribute_sets();
    report_.seconds = seconds_since(begin);
  }

  CopyReport run() {
    const Clock::time_point begin = Clock::now();
    if (!nothing_to_do_)
      with_context({.uri = destination_.uri, .data_set = destination_.data_set}, [&] { open_destination(); });
    if (sink_) {
      transfer();
      if (!report_.interrupted && options_.provenance) note_equal_inputs();
    }
    if (!report_.interrupted && options_.verify != CopyVerify::off)
      after_commit([&] { verify(); }, "was not compared with its source to the end");
    report_.seconds += seconds_since(begin);
    return std::move(report_);
  }

 private:
  // -- before anything is written --

  void check_options() const {
    if (sources_.all().empty()) throw Error(ErrorKind::usage, "there is nothing to copy", "name a source");
    if (options_.append && options_.overwrite)
      throw Error(ErrorKind::usage, "an existing data set cannot be both kept and replaced",
                  "choose between append and overwrite");
    if (options_.before_commit && (options_.append || options_.resume))
      throw Error(ErrorKind::usage, "nothing can be added to a copy that continues another one",
                  "AttributeAppender::open() once it is complete");
    WriteOptions writing = options_.writing;
    if (options_.compression) writing.compression = *options_.compression;
    if (options_.max_page_size) writing.max_page_size = *options_.max_page_size;
    if (options_.approximate_cluster_size) {
      writing.approximate_cluster_size = *options_.approximate_cluster_size;
      writing.max_uncompressed_cluster_size =
          std::max(writing.max_uncompressed_cluster_size, writing.approximate_cluster_size);
    }
    dataset::check(writing);
    static_cast<void>(codec::CompressionSettings::parse(writing.compression.text));
  }

  void survey() {
    sources_.survey();
    destination_.data_set = without_slash(destination_.data_set);
    if (destination_.data_set.empty()) destination_.data_set = all().front().place.data_set;
    report_.data_set = destination_.data_set;
    for (const CopySource& source : all())
      if (io::is_same_place(source.place.uri, destination_.uri) &&
          (source.place.data_set == destination_.data_set ||
           (options_.overwrite && !io::is_object_store(destination_.uri))))
        throw Error(ErrorKind::usage, "the destination would replace the source", "copy to another place",
                    {.uri = destination_.uri, .data_set = destination_.data_set});
    if (!options_.provenance) return;
    for (CopySource& source : all()) source.record.uri = redacted(io::canonical_name(source.place.uri));
    std::set<std::pair<std::string, std::string>> given;
    for (const CopySource& source : all())
      if (!given.emplace(io::identity_of(source.place.uri), source.place.data_set).second)
        throw Error(ErrorKind::usage, "the same input is given twice", "name each input once",
                    {.uri = source.place.uri, .data_set = source.place.data_set});
  }

  std::vector<CopySource>& all() noexcept { return sources_.all(); }

  // What sources come behind.
  void find_there() {
    if (!options_.append) return;
    with_context({.uri = destination_.uri, .data_set = destination_.data_set}, [&] {
      if (!look().data_set) return;
      there_ = open_target();
      inputs_ = dataset::read_provenance(*there_);
      if (inputs_.empty() && options_.resume) return there_.reset();  // interrupted before it said so
      if (inputs_.empty())
        throw Error(ErrorKind::usage, "the data set does not say what it was made from",
                    "resume to continue an interrupted merge, or merge all inputs into a new file");
    });
    if (!there_) return;
    for (const InputRecord& input : inputs_)
      if (input.depth == 0) {
        base_entries_ += input.entries;
        base_clusters_ += static_cast<std::size_t>(input.clusters);
      }
    if (there_->descriptor().entries() < base_entries_)
      refuse(fmt::format("it has {} entries and says that its inputs have {}", there_->descriptor().entries(),
                         base_entries_));
    leave_out_known();
  }

  void leave_out_known() {
    for (CopySource& source : all()) {
      const InputRecord* known = dataset::find_input(inputs_, source.record);
      if (known == nullptr) continue;
      if (!dataset::is_unchanged(*known, source.record))
        throw Error(ErrorKind::usage, "the input has changed since it was merged",
                    "merge all inputs into a new file",
                    {.uri = source.place.uri, .data_set = source.place.data_set});
      source.is_known = true;
      ++report_.known_sources;
    }
    nothing_to_do_ = report_.known_sources == all().size() && there_->descriptor().entries() == base_entries_;
    if (!nothing_to_do_) return;
    report_.resumed_entries = report_.entries = there_->descriptor().entries();
    report_.clusters = there_->descriptor().clusters.size();
  }

  void choose_mode() {
    if (nothing_to_do_) return;
    const Descriptor* there = there_ ? &there_->descriptor() : nullptr;
    const std::uint64_t behind = there_ ? there_->descriptor().entries() : 0;
    const bool decodes = options_.max_page_size || options_.approximate_cluster_size;
    report_.mode = decodes ? CopyMode::decode : options_.compression ? CopyMode::recompress : CopyMode::pages;
    try {
      sources_.plan(!decodes, there, behind);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::schema) throw;
      if (!decodes && !there_ && can_decode_together()) {
        report_.mode = CopyMode::decode;
        report_.notes.push_back(fmt::format("columns were decoded and encoded again, since in {} {}",
                                            error.context().uri, error.problem()));
        return;
      }
      throw Error(ErrorKind::schema,
                  fmt::format("the sources have different schemas: in this one {}", error.problem()),
                  error.advice(), error.context());
    }
  }

  // Whether the sources follow each other when nothing is late and each field has one representation.
  bool can_decode_together() {
    try {
      sources_.plan(false, nullptr, 0);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void collect_attribute_sets() {
    if (there_) sets_.come_behind(*there_);
    for (CopySource& source : all())
      if (!source.is_known && !source.attribute_sets.empty())
        sets_.add([this, &source]() -> const page::PageSource& { return sources_.open(source); },
                  source.first_entry, report_.notes, options_.provenance ? dataset::provenance_name : "");
  }

  void note_losses() {
    bool has_late = false;
    for (const CopySource& source : all()) {
      if (source.is_known) continue;
      has_late |= sources_.has_late_fields(source);
    }
    if (has_late && !nothing_to_do_ && (report_.mode == CopyMode::decode || all().size() > 1))
      report_.notes.emplace_back(
          "fields that were added late are in the header, with zeros for the entries before");
  }

  void number_sources() {
    std::uint64_t entries = base_entries_;
    std::size_t clusters = base_clusters_;
    for (CopySource& source : all()) {
      if (source.is_known) continue;
      source.first_entry = entries;
      source.first_cluster = clusters;
      entries += source.entries();
      clusters += source.clusters();
      progress_.total_bytes += source.bytes;
    }
    progress_.total_entries = entries;
    total_clusters_ = clusters;
  }

  bool keeps_clusters() const noexcept { return !options_.approximate_cluster_size; }

  // -- the destination --

  WriteOptions write_options() const {
    WriteOptions writing = options_.writing;
    if (options_.compression)
      writing.compression = *options_.compression;
    else if (const auto& stored = sources_.all().front().compression)
      writing.compression = Compression(stored->to_string());
    if (options_.max_page_size) writing.max_page_size = *options_.max_page_size;
    if (options_.approximate_cluster_size)
      writing.approximate_cluster_size = *options_.approximate_cluster_size;
    writing.max_uncompressed_cluster_size =
        std::max(writing.max_uncompressed_cluster_size, writing.approximate_cluster_size);
    writing.parallel_sealing = options_.threads != 1;
    if (report_.mode != CopyMode::decode) writing.max_page_size = largest_page();
    return writing;
  }

  // In bytes: object stores must know the largest page of the sources.
  std::size_t largest_page() const {
    std::size_t largest = sets_.largest_page();
    for (const CopySource& source : sources_.all())
      largest = std::max(largest, static_cast<std::size_t>(source.largest_page));
    return largest;
  }

  // What cannot be opened may be replaced, if that is wanted.
  DestinationState look() const {
    try {
      return look_at(destination_);
    } catch (const Error& error) {
      if (!options_.overwrite || error.kind() != ErrorKind::format) throw;
      return {};
    }
  }

  void open_destination() {
    const WriteOptions writing = write_options();
    if (there_) return resume(writing);
    if (options_.resume || !options_.overwrite) {
      const DestinationState found = look();
      if (found.data_set && !options_.resume)
        throw Error(ErrorKind::usage, "the data set already exists",
                    "another name, overwrite to replace it, or resume to continue an interrupted copy");
      if (found.data_set) return resume(writing);
      dataset::check_new_name(destination_.data_set);
      container::ContainerOptions how = dataset::container_options(writing);
      how.must_be_new = !options_.overwrite;
      start(found.container && !options_.overwrite
                ? page::append_if_repaired(destination_.uri, destination_.data_set, how,
                                           writing.discard_unrepaired)
                : container::create_container(destination_.uri, destination_.data_set, how),
            writing);
    } else {
      dataset::check_new_name(destination_.data_set);
      start(container::create_container(destination_.uri, destination_.data_set,
                                        dataset::container_options(writing)),
            writing);
    }
  }

  void start(std::unique_ptr<container::WriteContainer> container, const WriteOptions& writing) {
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    const Descriptor& whole = sources_.target();
    Descriptor& to = sink_->descriptor();
    to.name = dataset::name_at(destination_.data_set);
    to.description = writing.description.empty() ? whole.description : writing.description;
    to.writer = dataset::library_name();
    to.feature_flags = whole.feature_flags;
    begin_fields(to);
    sink_->start();
    add_fields();
  }

  // Those of the header: what came late to the source comes late to the copy.
  void begin_fields(Descriptor& to) const {
    const Descriptor& whole = sources_.target();
    const auto begin_with = [](auto& into, const auto& all, std::size_t count) {
      into.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())));
    };
    begin_with(to.fields, whole.fields, whole.header_fields);
    begin_with(to.columns, whole.columns, whole.header_columns);
    begin_with(to.aliases, whole.aliases, whole.header_aliases);
    begin_with(to.type_infos, whole.type_infos, whole.header_type_infos);
  }

  // -- going on --

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage,
                fmt::format("the destination does not hold the beginning of this copy: {}", why),
                there_ ? "if appending was interrupted, first append the same inputs again, then others"
                       : "another name, or replace it explicitly",
                {.uri = destination_.uri, .data_set = destination_.data_set});
  }

  void resume(const WriteOptions& writing) {
    // Locked from here on. Nothing changes before the first commit.
    std::unique_ptr<container::WriteContainer> container;
    std::exception_ptr unchangeable;  // such as a file in S3; which may be complete
    try {
      container = container::replace_container(destination_.uri, destination_.data_set,
                                               dataset::container_options(writing));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      unchangeable = std::current_exception();
    }
    const std::unique_ptr<page::PageSource> there = open_target();
    if (there_ && there_->descriptor().anchor != there->descriptor().anchor)
      refuse("another writer has added to it in the meantime");
    const bool has_begun = there_ || !has_header_alone(there->descriptor());
    if (!there_) {
      Descriptor expected = sources_.target();
      if (!has_begun) begin_fields(expected);
      if (const std::string why = dataset::first_difference(expected, there->descriptor()); !why.empty())
        refuse(why);
      inputs_ = options_.provenance ? dataset::read_provenance(*there) : std::vector<InputRecord>();
    }
    check_beginning(*there);
    report_.resumed_entries = report_.entries = there->descriptor().entries();
    report_.clusters = done_clusters_ = there->descriptor().clusters.size();
    progress_.entries = report_.resumed_entries;
    const bool lacks_inputs = options_.provenance && (there_ || inputs_.empty());
    if (has_begun && report_.resumed_entries == progress_.total_entries && !lacks_inputs &&
        (report_.mode == CopyMode::decode || done_clusters_ == total_clusters_) &&
        sets_.are_in(there->descriptor()))
      return check_attribute_sets(*there);  // it is complete
    if (unchangeable) std::rethrow_exception(unchangeable);
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    sink_->resume(there->descriptor());
    if (there_ || !has_begun) add_fields();
  }

  // Interrupted before its first cluster, it has no late fields yet.
  bool has_header_alone(const Descriptor& there) const {
    const Descriptor& whole = sources_.target();
    return there.clusters.empty() && there.fields.size() == whole.header_fields &&
           there.columns.size() == whole.header_columns && there.columns.size() < whole.columns.size();
  }

  // Those that are not in the header, or that only the new sources have.
  void add_fields() {
    Descriptor& to = sink_->descriptor();
    const Descriptor& whole = sources_.target();
    to.fields = whole.fields;
    to.columns = whole.columns;
    to.aliases = whole.aliases;
    to.type_infos = whole.type_infos;
  }

  std::unique_ptr<page::PageSource> open_target() const {
    return dataset::open_to_copy({destination_.uri, destination_.data_set}, options_.reading);
  }

  page::CopiedClusters clusters_of(CopySource& source, const page::PageSource& target, std::size_t first,
                                   std::size_t count) {
    const CopySchema& schema = sources_.schema_of(source);
    return {sources_.open(source),        target, schema.target_of, first,
            source.first_cluster + first, count,  schema.is_mapped};
  }

  // Whether the destination has what the sources begin with. All clusters are compared in number and sizes;
  // of the pages those of the last cluster, which would be torn if any were, and those of the first.
  void check_beginning(page::PageSource& there) {
    const Descriptor& has = there.descriptor();
    if (has.entries() > progress_.total_entries)
      refuse(fmt::format("it has {} entries, the sources {}", has.entries(), progress_.total_entries));
    try {
      if (report_.mode == CopyMode::decode || report_.mode == CopyMode::recompress) {
        if (report_.mode == CopyMode::recompress) check_clusters(there);
        if (!has.clusters.empty() && has.entries() > base_entries_)
          compare_entries(there, has.clusters.back().first_entry, has.clusters.back().entries);
      } else {
        check_clusters(there);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::format) throw;
      refuse(error.problem());
    }
  }

  // They come with the last commit, all at once.
  void check_attribute_sets(const page::PageSource& there) const {
    try {
      sets_.compare(there, memory(), false);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::format) throw;
      refuse(error.problem());
    }
  }

  void check_clusters(const page::PageSource& there) {
    const std::size_t count = there.descriptor().clusters.size();
    if (count > total_clusters_)
      refuse(fmt::format("it has {} clusters, the sources {}", count, total_clusters_));
    const bool as_stored = report_.mode == CopyMode::pages;
    for (CopySource& source : all()) {
      if (source.is_known) continue;
      if (count <= source.first_cluster) break;
      const std::size_t here = std::min(count - source.first_cluster, source.clusters());
      page::compare_structure(clusters_of(source, there, 0, here), as_stored);
      if (!as_stored || here == 0) continue;
      page::PageCopyCounts ignored;
      const auto on = [] { return true; };
      page::compare_pages(clusters_of(source, there, 0, 1), memory(), ignored, on);
      page::compare_pages(clusters_of(source, there, here - 1, 1), memory(), ignored, on);
    }
  }

  // Decoded, over the borders of sources. False: stopped.
  bool compare_entries(page::PageSource& target, std::uint64_t first, std::uint64_t count) {
    for (CopySource& source : all()) {
      if (source.is_known) continue;
      const std::uint64_t begin = std::max(first, source.first_entry);
      const std::uint64_t end = std::min(first + count, source.first_entry + source.entries());
      if (begin >= end) continue;
      const auto on = [&](std::uint64_t done) {
        progress_.entries = begin + done;
        return goes_on();
      };
      if (!dataset::compare_values({sources_.open(source), sources_.schema_of(source), target,
                                    begin - source.first_entry, begin, end - begin},
                                   memory(), on))
        return false;
    }
    return true;
  }

  // -- moving --

  std::size_t memory() const noexcept { return options_.reading.memory_budget; }

  bool goes_on() {
    if (!watch_) return true;
    const Clock::time_point now = Clock::now();
    if (now - looked_at_ < std::chrono::duration<double>(options_.watch_every)) return true;
    looked_at_ = now;
    return watch_(progress_);
  }

  bool checkpoints() const noexcept {
    const CheckpointEvery& every = options_.writing.checkpoint_every;
    return every.clusters > 0 || every.seconds > 0;
  }

  void transfer() {
    const std::uint64_t before = sink_->entries();
    bool complete = false;
    try {
      complete = report_.mode == CopyMode::decode ? move_values() : move_pages();
      if (complete) sets_.write(*sink_, memory(), compression());
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
      throw error.with({.uri = destination_.uri, .data_set = destination_.data_set});
    } catch (...) {
      sink_->abandon();
      throw;
    }
    report_.interrupted = !complete;
    sink_.reset();
    if (watch_ && complete && options_.verify == CopyVerify::off) watch_(progress_);
  }

  // What pages are compressed with again; nothing: they stay as they are.
  std::optional<codec::CompressionSettings> compression() const {
    if (report_.mode != CopyMode::recompress) return std::nullopt;
    return codec::CompressionSettings::parse(options_.compression->text);
  }

  // Those that were there, then those of this copy, each with what it was made from itself.
  void keep_inputs() {
    if (!there_) inputs_.clear();
    for (const CopySource& source : all()) {
      if (source.is_known) continue;
      InputRecord& input = inputs_.emplace_back(source.record);
      input.first_entry = source.first_entry;
      // Where clusters are made anew the last one tells where they end.
      const bool as_they_were = report_.mode != CopyMode::decode || keeps_clusters();
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
    page::PageCopyOptions how{.memory = memory(),
                              .add_checksums = options_.writing.page_checksums == Checksums::on,
                              .check_pages = options_.check_pages,
                              .pool = pool()};
    how.compression = compression();
    page::PageCopyCounts counts;
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + counts.entries;
      progress_.bytes_read = counts.bytes_read;
      progress_.bytes_written = counts.bytes_written;
      return goes_on();
    };
    bool complete = true;
    for (CopySource& source : all()) {
      if (source.is_known || source.first_cluster + source.clusters() <= done_clusters_) continue;
      const std::size_t first = done_clusters_ - std::min(done_clusters_, source.first_cluster);
      const CopySchema& schema = sources_.schema_of(source);
      const page::PageSource& pages = sources_.open(source);
      std::optional<dataset::CopyZeros> zeros;
      how.is_mapped = schema.is_mapped;
      how.fill = {};
      if (schema.is_mapped) {
        zeros.emplace(pages, schema);
        how.fill = [&](std::size_t cluster) { return zeros->of_cluster(cluster); };
      }
      complete = page::copy_pages(pages, first, schema.target_of, *sink_, how, counts, on);
      if (!complete) break;
    }
    on();
    report_.pages = counts.pages;
    report_.bytes_read = counts.bytes_read;
    report_.bytes_written = counts.bytes_written;
    report_.bytes_shared = counts.bytes_shared;
    return complete;
  }

  bool move_values() {
    dataset::ValueCopy copy(sink_, sources_.target(),
                            {.memory = memory(), .keep_clusters = keeps_clusters()});
    std::uint64_t read = 0;  // of sources that are done
    page::PageSource* now = nullptr;
    std::uint64_t read_before = 0;
    const auto bytes_read = [&] { return read + (now != nullptr ? now->counters().bytes - read_before : 0); };
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + copy.entries();
      progress_.bytes_read = bytes_read();
      progress_.bytes_written = copy.bytes_written();
      return goes_on();
    };
    bool complete = true;
    for (CopySource& source : all()) {
      const std::uint64_t done = report_.resumed_entries;
      if (source.is_known || source.first_entry + source.entries() <= done) continue;
      now = &sources_.open(source);
      read_before = now->counters().bytes;
      complete = copy.copy(*now, sources_.schema_of(source), done - std::min(done, source.first_entry), on);
      read = bytes_read();
      now = nullptr;
      if (!complete) break;
    }
    if (complete) copy.finish();
    on();
    report_.pages = copy.pages();
    report_.bytes_read = bytes_read();
    report_.bytes_written = copy.bytes_written();
    return complete;
  }

  // Inputs with the same data are all kept, since files may be equal by intent. Fingerprints tell layouts
  // apart, and so pages decide: a few, as inputs may be many.
  void note_equal_inputs() {
    std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::pair<std::string, std::size_t>>
        known;
    std::unique_ptr<page::PageSource> target;
    std::size_t end = 0;
    for (const InputRecord& input : inputs_) {
      if (input.depth != 0 || input.clusters == 0) continue;
      const std::size_t first = std::exchange(end, end + static_cast<std::size_t>(input.clusters));
      const auto [same, is_new] =
          known.try_emplace({input.data_set, input.size, input.fingerprint}, std::pair(input.uri, first));
      if (is_new || input.first_entry < base_entries_) continue;
      const auto& [uri, cluster] = same->second;
      try {
        if (!target) target = open_target();
        compare_stored(*target, cluster, first);
        compare_stored(*target, cluster + (end - first) - 1, end - 1);
        report_.notes.push_back(
            fmt::format("{} seems to be a copy of {}; the entries of both are there", input.uri, uri));
      } catch (const Error&) {  // they differ; or cannot be read, which is no reason to fail: all is written
      }
    }
  }

  void compare_stored(const page::PageSource& there, std::size_t cluster, std::size_t other) const {
    constexpr std::size_t enough = std::size_t{4} << 20;  // bytes
    std::vector<std::uint32_t> columns(there.descriptor().columns.size());
    std::iota(columns.begin(), columns.end(), 0);
    page::PageCopyCounts counts;
    page::compare_pages({there, there, columns, cluster, other, 1, false}, enough, counts,
                        [&] { return counts.bytes_read < enough; });
  }

  // -- comparing --

  void verify() {
    const std::unique_ptr<page::PageSource> target = open_target();
    with_context(target->context(), [&] {
      progress_.verifying = true;
      progress_.entries = progress_.bytes_read = progress_.bytes_written = 0;
      if (const std::string why = dataset::first_difference(sources_.target(), target->descriptor());
          !why.empty() && !nothing_to_do_)
        throw Error(ErrorKind::format, fmt::format("the copy differs from its source: {}", why),
                    "copy it again");
      if (target->descriptor().entries() != progress_.total_entries)
        throw Error(ErrorKind::format,
                    fmt::format("the copy differs from its source: {} entries for {}",
                                target->descriptor().entries(), progress_.total_entries),
                    "copy it again");
      const bool same_pages = report_.mode == CopyMode::pages;
      bool complete = !same_pages || verify_pages(*target);
      if (complete && (!same_pages || options_.verify == CopyVerify::values))
        complete = compare_entries(*target, base_entries_, progress_.total_entries - base_entries_);
      if (complete) sets_.compare(*target, memory(), static_cast<bool>(options_.before_commit));
      report_.verified = complete;
      report_.interrupted = !complete;
    });
  }

  bool verify_pages(const page::PageSource& target) {
    page::PageCopyCounts counts;
    for (CopySource& source : all()) {
      if (source.is_known) continue;
      const auto on = [&] {
        progress_.bytes_read = counts.bytes_read;
        return goes_on();
      };
      if (!page::compare_pages(clusters_of(source, target, 0, source.clusters()), memory(), counts, on))
        return false;
    }
    return true;
  }

  DataSetPlace destination_;
  const CopyOptions& options_;
  const CopyWatch& watch_;
  dataset::CopySources sources_;
  dataset::AttributeSetCopy sets_;
  std::unique_ptr<page::PageSource> there_;  // that sources come behind
  std::vector<InputRecord> inputs_;          // that what is there was made from
  std::uint64_t base_entries_ = 0;           // of these
  std::size_t base_clusters_ = 0;
  bool nothing_to_do_ = false;
  std::unique_ptr<ThreadPool> pool_;
  std::size_t total_clusters_ = 0;
  std::size_t done_clusters_ = 0;  // that the destination had
  std::shared_ptr<page::DataSetSink> sink_;
  CopyProgress progress_;
  Clock::time_point looked_at_ = Clock::now();
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
  copy->prepare();
  return [copy] { return copy->run(); };
}

}  // namespace colonnade
