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
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "codec/column_codec.h"
#include "codec/compression.h"
#include "dataset/copy_schema.h"
#include "dataset/copy_values.h"
#include "dataset/writer_schema.h"
#include "io/object_store.h"
#include "page/append_if_repaired.h"
#include "page/page_copy.h"

namespace colonnade {
namespace {

using dataset::CopySchema;
using Clock = std::chrono::steady_clock;

// ---- places ----

std::filesystem::path local_path(const std::string& uri) {
  constexpr std::string_view scheme = "file://";
  return uri.starts_with(scheme) ? uri.substr(scheme.size()) : uri;
}

bool same_place(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code ignored;
  return std::filesystem::equivalent(local_path(a), local_path(b), ignored);
}

std::string without_slash(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

// What is at the destination.
struct Found {
  bool container = false;
  bool data_set = false;
};

Found look_at(const DataSetPlace& place) {
  Found found;
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

// ---- sources ----

struct Source {
  std::unique_ptr<page::PageSource> pages;
  CopySchema schema;
  std::uint64_t first_entry = 0;  // in the destination
  std::size_t first_cluster = 0;  // likewise, where clusters are kept

  const Descriptor& descriptor() const noexcept { return pages->descriptor(); }
  std::uint64_t entries() const { return descriptor().entries(); }
};

std::unique_ptr<page::PageSource> open_once(const DataSetPlace& place, const ReadOptions& options) {
  std::shared_ptr<container::ReadContainer> container =
      container::open_container(place.uri, {.local_io = options.local_io, .direct_io = options.direct_io});
  std::string name = without_slash(place.data_set);
  if (name.empty()) {
    const std::vector<std::string> names = container->data_sets();
    if (names.size() != 1)
      throw Error(names.empty() ? ErrorKind::not_found : ErrorKind::usage,
                  fmt::format("there are {} data sets", names.size()),
                  names.empty() ? "" : fmt::format("name one of: {}", fmt::join(names, ", ")),
                  {.uri = place.uri});
    name = names.front();
  }
  return page::PageSource::open(name, container, options);
}

std::unique_ptr<page::PageSource> open_source(const DataSetPlace& place, ReadOptions options) {
  options.page_checksums = Checksums::on;  // nothing damaged is carried on
  return container::open_while_written([&] { return open_once(place, options); });
}

// The setting that the data set's pages were compressed with.
std::optional<codec::CompressionSettings> compression_of(const Descriptor& descriptor) {
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns) {
      if (range.suppressed || range.pages.empty()) continue;
      try {
        return codec::CompressionSettings::parse(std::to_string(range.compression));
      } catch (const Error&) {
        return std::nullopt;  // a setting of others, which only they know
      }
    }
  return std::nullopt;
}

std::uint64_t page_bytes(const Descriptor& descriptor) {
  std::uint64_t bytes = 0;
  for (const ClusterDescriptor& cluster : descriptor.clusters)
    for (const ColumnRange& range : cluster.columns)
      for (const PageDescriptor& page : range.pages) bytes += page::stored_size(page);
  return bytes;
}

// ---- the copy ----

class Copy {
 public:
  Copy(const std::vector<DataSetPlace>& sources, DataSetPlace destination, const CopyOptions& options,
       const CopyWatch& watch)
      : places_(sources), destination_(std::move(destination)), options_(options), watch_(watch) {}

  CopyReport run() {
    const Clock::time_point begin = Clock::now();
    check_options();
    open_sources();
    choose_mode();
    note_losses();
    number_sources();
    with_context({.uri = destination_.uri, .data_set = destination_.data_set}, [&] { open_destination(); });
    if (sink_) transfer();
    if (!report_.interrupted && options_.verify != CopyVerify::off) verify();
    report_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  // -- before anything is written --

  void check_options() const {
    if (places_.empty()) throw Error(ErrorKind::usage, "there is nothing to copy", "name a source");
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

  void open_sources() {
    for (const DataSetPlace& place : places_)
      sources_.push_back({.pages = open_source(place, options_.reading)});
    destination_.data_set = without_slash(destination_.data_set);
    if (destination_.data_set.empty()) destination_.data_set = sources_.front().pages->data_set();
    report_.data_set = destination_.data_set;
    for (const Source& source : sources_)
      if (same_place(source.pages->uri(), destination_.uri) &&
          (source.pages->data_set() == destination_.data_set ||
           (options_.overwrite && !io::is_object_store(destination_.uri))))
        throw Error(ErrorKind::usage, "the destination would replace the source", "copy to another place",
                    {.uri = destination_.uri, .data_set = destination_.data_set});
  }

  void plan(bool decoded) {
    for (Source& source : sources_) {
      std::vector<bool> fields = dataset::select_fields(*source.pages, options_.columns);
      source.schema = decoded ? dataset::schema_of_values(*source.pages, std::move(fields))
                              : dataset::schema_of_pages(*source.pages, std::move(fields));
    }
  }

  // What keeps the clusters of these sources from following each other as they are.
  std::string obstacle(std::size_t& which) const {
    const Descriptor& first = sources_.front().schema.descriptor;
    for (which = 1; which < sources_.size(); ++which) {
      const Descriptor& other = sources_[which].schema.descriptor;
      if (std::string why = dataset::first_difference(first, other); !why.empty()) return why;
      for (const ColumnDescriptor& column : other.columns)
        if (column.deferred) return fmt::format("the field '{}' was added late", other.path_of(column.field));
    }
    return {};
  }

  void choose_mode() {
    const bool decodes = options_.max_page_size || options_.approximate_cluster_size;
    report_.mode = decodes ? CopyMode::decode : options_.compression ? CopyMode::recompress : CopyMode::pages;
    plan(decodes);
    std::size_t which = 0;
    std::string why = obstacle(which);
    if (!why.empty() && !decodes && can_decode_together()) {
      report_.mode = CopyMode::decode;
      report_.notes.push_back(
          fmt::format("columns were decoded and encoded again, since in {} {}", places_[which].uri, why));
      return;
    }
    if (!why.empty())
      throw Error(ErrorKind::schema, fmt::format("the sources have different schemas: in this one {}", why),
                  "copy them to data sets of their own, or name the columns that all of them have",
                  {.uri = sources_[which].pages->uri(), .data_set = sources_[which].pages->data_set()});
  }

  // Whether the sources follow each other when nothing is late and each field has one representation.
  bool can_decode_together() {
    try {
      plan(true);
      std::size_t which = 0;
      return obstacle(which).empty();
    } catch (const Error&) {
      return false;
    }
  }

  void note_losses() {
    for (const Source& source : sources_) {
      for (const AttributeSetRecord& set : source.descriptor().attribute_sets)
        report_.notes.push_back(
            fmt::format("the attribute set '{}' was left out: its data set lies in {} and was not copied",
                        set.name, source.pages->uri()));
      if (report_.mode == CopyMode::decode &&
          source.descriptor().fields.size() > source.descriptor().header_fields)
        report_.notes.emplace_back(
            "fields that were added late are in the header, with zeros for the entries before");
    }
  }

  void number_sources() {
    std::uint64_t entries = 0;
    std::size_t clusters = 0;
    for (Source& source : sources_) {
      source.first_entry = entries;
      source.first_cluster = clusters;
      entries += source.entries();
      clusters += source.descriptor().clusters.size();
      progress_.total_bytes += page_bytes(source.descriptor());
    }
    progress_.total_entries = entries;
    total_clusters_ = clusters;
  }

  bool keeps_clusters() const noexcept { return !options_.approximate_cluster_size; }

  // -- the destination --

  WriteOptions write_options() const {
    WriteOptions writing = options_.writing;
    const auto stored = compression_of(sources_.front().descriptor());
    if (options_.compression)
      writing.compression = *options_.compression;
    else if (stored)
      writing.compression = Compression(stored->to_string());
    if (options_.max_page_size) writing.max_page_size = *options_.max_page_size;
    if (options_.approximate_cluster_size)
      writing.approximate_cluster_size = *options_.approximate_cluster_size;
    writing.max_uncompressed_cluster_size =
        std::max(writing.max_uncompressed_cluster_size, writing.approximate_cluster_size);
    writing.parallel_sealing = true;
    if (report_.mode != CopyMode::decode) writing.max_page_size = largest_page();
    return writing;
  }

  // Of the sources, in bytes: an object store is told what it has to take.
  std::size_t largest_page() const {
    std::size_t largest = 1;
    for (const Source& source : sources_)
      for (const ClusterDescriptor& cluster : source.descriptor().clusters)
        for (const ColumnRange& range : cluster.columns)
          for (const PageDescriptor& page : range.pages)
            largest = std::max(largest, static_cast<std::size_t>(page.locator.size));
    return largest;
  }

  // What cannot be opened may be replaced, if that is wanted.
  Found look() const {
    try {
      return look_at(destination_);
    } catch (const Error& error) {
      if (!options_.overwrite || error.kind() != ErrorKind::format) throw;
      return {};
    }
  }

  void open_destination() {
    const WriteOptions writing = write_options();
    if (options_.resume || !options_.overwrite) {
      const Found found = look();
      if (found.data_set && !options_.resume)
        throw Error(ErrorKind::usage, "the data set is there already",
                    "another name, or say that it is to be replaced, or that the copy is to be resumed");
      if (found.data_set) return resume(writing);
      container::ContainerOptions how = dataset::container_options(writing);
      how.must_be_new = !options_.overwrite;
      start(found.container && !options_.overwrite
                ? page::append_if_repaired(destination_.uri, destination_.data_set, how,
                                           writing.discard_unrepaired)
                : container::create_container(destination_.uri, destination_.data_set, how),
            writing);
    } else {
      start(container::create_container(destination_.uri, destination_.data_set,
                                        dataset::container_options(writing)),
            writing);
    }
  }

  void start(std::unique_ptr<container::WriteContainer> container, const WriteOptions& writing) {
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    Descriptor whole = sources_.front().schema.descriptor;
    add_type_infos(whole);
    Descriptor& to = sink_->descriptor();
    const std::size_t slash = destination_.data_set.rfind('/');
    to.name = slash == std::string::npos ? destination_.data_set : destination_.data_set.substr(slash + 1);
    to.description = writing.description.empty() ? whole.description : writing.description;
    to.writer = dataset::library_name();
    to.feature_flags = whole.feature_flags;
    // What came late to the source comes late to the copy.
    const auto begin_with = [](auto& into, const auto& all, std::size_t count) {
      into.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())));
    };
    begin_with(to.fields, whole.fields, whole.header_fields);
    begin_with(to.columns, whole.columns, whole.header_columns);
    begin_with(to.aliases, whole.aliases, whole.header_aliases);
    begin_with(to.type_infos, whole.type_infos, whole.header_type_infos);
    sink_->start();
    to.fields = std::move(whole.fields);
    to.columns = std::move(whole.columns);
    to.aliases = std::move(whole.aliases);
    to.type_infos = std::move(whole.type_infos);
  }

  // Those that only later sources have.
  void add_type_infos(Descriptor& whole) const {
    for (const Source& source : sources_)
      for (const ExtraTypeInfo& info : source.schema.descriptor.type_infos) {
        const auto is_same = [&](const ExtraTypeInfo& other) {
          return other.content_id == info.content_id && other.type_version == info.type_version &&
                 other.type_name == info.type_name && other.content == info.content;
        };
        if (std::none_of(whole.type_infos.begin(), whole.type_infos.end(), is_same))
          whole.type_infos.push_back(info);
      }
  }

  // -- going on --

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage,
                fmt::format("what is at the destination is not the beginning of this copy: {}", why),
                "another name, or say that it is to be replaced",
                {.uri = destination_.uri, .data_set = destination_.data_set});
  }

  void resume(WriteOptions writing) {
    // Locked from here on. Nothing changes before the first commit.
    auto container = container::replace_container(destination_.uri, destination_.data_set,
                                                  dataset::container_options(writing));
    const std::unique_ptr<page::PageSource> there = open_target();
    const std::uint64_t limit = there->descriptor().anchor.max_key_size;
    if (limit != 0 && limit != container->max_key_size()) {
      container.reset();
      writing.max_key_size = limit;
      container = container::replace_container(destination_.uri, destination_.data_set,
                                               dataset::container_options(writing));
    }
    if (const std::string why =
            dataset::first_difference(sources_.front().schema.descriptor, there->descriptor());
        !why.empty())
      refuse(why);
    check_beginning(*there);
    report_.resumed_entries = report_.entries = there->descriptor().entries();
    report_.clusters = done_clusters_ = there->descriptor().clusters.size();
    progress_.entries = report_.resumed_entries;
    if (report_.resumed_entries == progress_.total_entries &&
        (report_.mode == CopyMode::decode || done_clusters_ == total_clusters_))
      return;  // it is complete
    sink_ = std::make_shared<page::DataSetSink>(std::move(container), writing);
    sink_->resume(there->descriptor());
  }

  std::unique_ptr<page::PageSource> open_target() const {
    return open_source({destination_.uri, destination_.data_set}, options_.reading);
  }

  page::CopiedClusters clusters_of(const Source& source, const page::PageSource& target, std::size_t first,
                                   std::size_t count) const {
    return {*source.pages, target, source.schema.target_of, first, source.first_cluster + first, count};
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
        if (!has.clusters.empty())
          compare_entries(there, has.clusters.back().first_entry, has.clusters.back().entries);
      } else {
        check_clusters(there);
      }
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
    for (const Source& source : sources_) {
      if (count <= source.first_cluster) break;
      const std::size_t here = std::min(count - source.first_cluster, source.descriptor().clusters.size());
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
    for (const Source& source : sources_) {
      const std::uint64_t begin = std::max(first, source.first_entry);
      const std::uint64_t end = std::min(first + count, source.first_entry + source.entries());
      if (begin >= end) continue;
      const auto on = [&](std::uint64_t done) {
        progress_.entries = begin + done;
        return goes_on();
      };
      if (!dataset::compare_values(
              {*source.pages, source.schema.fields, target, begin - source.first_entry, begin, end - begin},
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
      if (!complete && checkpoints()) sink_->commit_data_set();
      if (complete || (checkpoints() && sink_->has_committed())) {
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

  bool move_pages() {
    page::PageCopyOptions how{.memory = memory(),
                              .add_checksums = options_.writing.page_checksums == Checksums::on};
    if (report_.mode == CopyMode::recompress)
      how.compression = codec::CompressionSettings::parse(options_.compression->text);
    page::PageCopyCounts counts;
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + counts.entries;
      progress_.bytes_read = counts.bytes_read;
      progress_.bytes_written = counts.bytes_written;
      return goes_on();
    };
    bool complete = true;
    for (const Source& source : sources_) {
      const std::size_t clusters = source.descriptor().clusters.size();
      if (source.first_cluster + clusters <= done_clusters_) continue;
      const std::size_t first = done_clusters_ - std::min(done_clusters_, source.first_cluster);
      complete = page::copy_pages(*source.pages, first, source.schema.target_of, *sink_, how, counts, on);
      if (!complete) break;
    }
    on();
    report_.pages = counts.pages;
    report_.bytes_read = counts.bytes_read;
    report_.bytes_written = counts.bytes_written;
    return complete;
  }

  std::uint64_t bytes_read() const {
    std::uint64_t bytes = 0;
    for (const Source& source : sources_) bytes += source.pages->counters().bytes;
    return bytes;
  }

  bool move_values() {
    dataset::ValueCopy copy(sink_, sources_.front().schema.descriptor,
                            {.memory = memory(), .keep_clusters = keeps_clusters()});
    const std::uint64_t read_before = bytes_read();
    const auto on = [&] {
      progress_.entries = report_.resumed_entries + copy.entries();
      progress_.bytes_read = bytes_read() - read_before;
      progress_.bytes_written = copy.bytes_written();
      return goes_on();
    };
    bool complete = true;
    for (const Source& source : sources_) {
      const std::uint64_t done = report_.resumed_entries;
      if (source.first_entry + source.entries() <= done) continue;
      complete = copy.copy(*source.pages, source.schema, done - std::min(done, source.first_entry), on);
      if (!complete) break;
    }
    if (complete) copy.finish();
    on();
    report_.pages = copy.pages();
    report_.bytes_read = bytes_read() - read_before;
    report_.bytes_written = copy.bytes_written();
    return complete;
  }

  // -- comparing --

  void verify() {
    const std::unique_ptr<page::PageSource> target = open_target();
    with_context(target->context(), [&] {
      progress_.verifying = true;
      progress_.entries = progress_.bytes_read = progress_.bytes_written = 0;
      if (const std::string why =
              dataset::first_difference(sources_.front().schema.descriptor, target->descriptor());
          !why.empty())
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
        complete = compare_entries(*target, 0, progress_.total_entries);
      report_.verified = complete;
      report_.interrupted = !complete;
    });
  }

  bool verify_pages(const page::PageSource& target) {
    page::PageCopyCounts counts;
    for (const Source& source : sources_) {
      const auto on = [&] {
        progress_.bytes_read = counts.bytes_read;
        return goes_on();
      };
      if (!page::compare_pages(clusters_of(source, target, 0, source.descriptor().clusters.size()), memory(),
                               counts, on))
        return false;
    }
    return true;
  }

  const std::vector<DataSetPlace>& places_;
  DataSetPlace destination_;
  const CopyOptions& options_;
  const CopyWatch& watch_;
  std::vector<Source> sources_;
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
  return Copy(sources, destination, options, watch).run();
}

}  // namespace colonnade
