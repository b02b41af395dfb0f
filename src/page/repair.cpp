// Repair of one data set:
//
//   last checkpoint --> descriptor --> journal records behind it --> whole clusters, checked page by page,
//   numbered on from the checkpoint --> page lists, footer, commit
//
// Nothing in the file is trusted: positions and sizes are compared with the file, every page with its
// checksum, and the clusters with the schema, by reading back what would be written.
#include "colonnade/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/environment.h"
#include "base/interruption.h"
#include "codec/column_codec.h"
#include "codec/compression.h"
#include "container/root_file/reader.h"
#include "format/envelope.h"
#include "io/object_store.h"
#include "page/append_if_repaired.h"
#include "page/cluster_journal.h"
#include "page/page_source.h"

namespace colonnade {
namespace {

using page::JournalRecord;

constexpr std::size_t clusters_per_group = 1024;

// ---- Pages

// Reads pages and verifies their checksums; throws the error of the first damaged one.
class PageChecker {
 public:
  PageChecker(const container::ReadContainer& container, const Descriptor& descriptor)
      : container_(container), descriptor_(descriptor), budget_(2 * container.file().size()) {}

  void check(const ClusterDescriptor& cluster) {
    // Equal pages share their bytes.
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (const ColumnRange& range : cluster.columns) {
      std::size_t index = 0;
      for (const PageDescriptor& page : range.pages) {
        with_context({.column = range.column, .page = index++, .offset = page.locator.offset}, [&] {
          if (seen.emplace(page.locator.offset, page::stored_size(page)).second || !page.has_checksum)
            check(page, descriptor_.columns[range.column]);
        });
      }
    }
  }

 private:
  [[noreturn]] static void fail(std::string problem) { throw Error(ErrorKind::format, std::move(problem)); }

  void check(const PageDescriptor& page, const ColumnDescriptor& column) {
    Interruption::check_now_and_then();
    const std::uint64_t size = page::stored_size(page);
    const std::uint64_t file_size = container_.file().size();
    if (page.locator.kind != Locator::Kind::file || size > file_size ||
        page.locator.size > page::largest_page)
      fail(fmt::format("a page of {} bytes in a file of {}", page.locator.size, file_size));
    // Valid pages do not overlap: all of them together are no longer than the file.
    if (size > budget_) fail("the pages overlap");
    budget_ -= size;
    Locator whole = page.locator;
    whole.size = size;
    stored_.resize(static_cast<std::size_t>(size));
    container_.read_blob(whole, descriptor_.anchor.max_key_size, stored_.span());
    const ByteSpan block = stored_.span().first(static_cast<std::size_t>(page.locator.size));
    if (!page.has_checksum) return decode(block, page, column);
    if (load_le<std::uint64_t>(stored_.data() + block.size()) != codec::xxh3(block))
      throw Error(ErrorKind::checksum, "the page's checksum is wrong");
  }

  // A page without a checksum can only be tested by decoding it.
  void decode(ByteSpan block, const PageDescriptor& page, const ColumnDescriptor& column) {
    if (column.raw_type >= column_type_count || !is_valid(column.encoding))
      fail("the page has no checksum and a type that is unknown to this version");
    const ElementType element = natural_element(column.encoding.type);
    const std::uint64_t in_memory = std::uint64_t{page.elements} * size_of(element);
    const std::size_t packed_size = codec::packed_size(column.encoding, page.elements);
    if (in_memory > page::largest_page || packed_size > page::largest_page ||
        !page::is_plausible_length(block.size(), packed_size))
      fail(fmt::format("a page of {} elements in {} bytes", page.elements, block.size()));
    ByteSpan packed = block;
    if (packed_size != block.size()) {
      try {
        codec::decompress_growing(block, packed_size, packed_);
      } catch (const Error& error) {  // LZMA that asks for more than any page needs is damaged
        fail(error.problem());
      }
      packed = packed_.span();
    }
    elements_.resize(static_cast<std::size_t>(in_memory));
    codec::decode(column.encoding, packed, page.elements, element, elements_.data());
  }

  const container::ReadContainer& container_;
  const Descriptor& descriptor_;
  std::uint64_t budget_;
  AlignedBuffer stored_;
  AlignedBuffer packed_;
  AlignedBuffer elements_;
};

// ---- Clusters

// The position of a cluster's first page, which identifies it. Empty if it has no pages.
std::optional<std::uint64_t> first_page_of(const ClusterDescriptor& cluster) {
  std::optional<std::uint64_t> first;
  for (const ColumnRange& range : cluster.columns)
    for (const PageDescriptor& page : range.pages)
      if (!first || page.locator.offset < *first) first = page.locator.offset;
  return first;
}

std::uint64_t elements_of(const ColumnRange& range) {
  std::uint64_t elements = 0;
  for (const PageDescriptor& page : range.pages) elements += page.elements;
  return elements;
}

// Numbers clusters on from the checkpoint.
class Numbering {
 public:
  explicit Numbering(const Descriptor& checkpoint)
      : next_id_(checkpoint.clusters.size()), next_entry_(checkpoint.entries()) {
    for (const ColumnDescriptor& column : checkpoint.columns)
      next_element_.push_back(column.deferred ? column.first_element : 0);
    for (const ClusterDescriptor& cluster : checkpoint.clusters)
      for (const ColumnRange& range : cluster.columns)
        if (!range.suppressed)
          next_element_[range.column] = static_cast<std::uint64_t>(range.first_element) + elements_of(range);
  }

  void number(ClusterDescriptor& cluster) {
    cluster.id = next_id_++;
    cluster.first_entry = std::exchange(next_entry_, next_entry_ + cluster.entries);
    for (ColumnRange& range : cluster.columns) {
      std::uint64_t& next = next_element_[range.column];
      range.first_element = static_cast<std::int64_t>(next);
      next += elements_of(range);
    }
  }

 private:
  std::uint64_t next_id_;
  std::uint64_t next_entry_;
  std::vector<std::uint64_t> next_element_;
};

// ---- One data set

class Repair {
 public:
  // Without a target a dry run: it only reads the file, which may be locked.
  Repair(const std::string& uri, std::string_view path,
         std::unique_ptr<container::WriteContainer> target = nullptr)
      : path_(path),
        target_(std::move(target)),
        source_(page::PageSource::open(path, uri)),
        container_(container::open_container(uri)) {
    if (container_->anchor(path) != checkpoint().anchor)
      throw Error(ErrorKind::io, "the file was changed while it was being opened", "try again");
    commit_ = page::read_commit_record(container_->file(), checkpoint().anchor);
    if (const std::uint64_t limit = checkpoint().anchor.max_key_size; limit != 0 && target_ != nullptr)
      target_->use_max_key_size(limit);
  }

  // A dry run in a file that is open.
  Repair(const std::shared_ptr<container::ReadContainer>& container, std::string_view path)
      : path_(path),
        source_(page::PageSource::open(path, container)),
        container_(container),
        commit_(page::read_commit_record(container->file(), checkpoint().anchor)) {}

  // Where run() begins to search, and what it searches for.
  struct Wanted {
    std::uint64_t begin = 0;
    std::uint64_t header_offset = 0;
    std::uint64_t header_checksum = 0;
    std::optional<page::CommitRecord> commit;
  };
  Wanted wanted() const {
    return {begin_of_scan(), checkpoint().anchor.header_offset, checkpoint().header_checksum, commit_};
  }

  // True if clusters of a run can follow the checkpoint: those of the run that made it, unless that run
  // ended with it, and of runs that began after that one. A new run gives up what earlier runs did not
  // commit.
  static bool may_follow(const std::optional<page::JournalRun>& run,
                         const std::optional<page::CommitRecord>& commit) {
    if (!commit) return true;
    if (!run) return false;
    return run->begin > commit->run.begin || (*run == commit->run && !commit->is_last);
  }

  RepairReport run() {
    report_.data_set = path_;
    report_.entries = checkpoint().entries();
    report_.clusters = checkpoint().clusters.size();
    find();
    check_pages();
    drop_overlaps();
    number();
    check_together();
    for (const JournalRecord& record : found_) report_.recovered_entries += record.cluster.entries;
    report_.recovered_clusters = found_.size();
    if (!found_.empty() && target_ != nullptr) write();
    return std::move(report_);
  }

 private:
  const Descriptor& checkpoint() const noexcept { return source_->descriptor(); }

  void drop(const JournalRecord& record, std::string reason) {
    report_.dropped.push_back(
        {record.offset, record.cluster.first_entry, record.cluster.entries, std::move(reason)});
  }

  // Why a cluster cannot belong to the data set of the checkpoint; empty if it can.
  std::string misfit(const ClusterDescriptor& cluster) const {
    const std::size_t columns = checkpoint().columns.size();
    if (cluster.columns.size() != columns)
      return fmt::format("it has {} columns where the checkpoint has {}", cluster.columns.size(), columns);
    if (cluster.entries == 0) return "it has no entries";
    for (const ColumnRange& range : cluster.columns)
      if (range.suppressed) return "one of its columns is suppressed";
    return {};
  }

  // A checkpoint may be written while other threads write clusters: a record that it does not cover can
  // precede its footer, but not the pages that it covers. In a file that had other content before, blobs of
  // version 1 may be in gaps anywhere.
  std::uint64_t begin_of_scan() const {
    constexpr std::uint64_t longest_skeleton = 65536;
    std::uint64_t begin = checkpoint().anchor.header_offset;
    if (!commit_ && begin > longest_skeleton) return 0;
    for (const ClusterDescriptor& cluster : checkpoint().clusters)
      begin = std::max(begin, first_page_of(cluster).value_or(0));
    return std::min(begin, container_->file().size());
  }

  bool may_follow(const std::optional<page::JournalRun>& run) const { return may_follow(run, commit_); }

  // Finds the records of clusters that the checkpoint lacks, of the latest run that left any, in the order of
  // their entries.
  void find() {
    std::set<std::uint64_t> known;
    for (const ClusterDescriptor& cluster : checkpoint().clusters)
      if (const auto first = first_page_of(cluster)) known.insert(*first);
    bool is_ambiguous = false;
    const auto take = [&](JournalRecord&& record) {
      if (!may_follow(record.run)) return;
      if (record.problem.empty()) {
        const auto first = first_page_of(record.cluster);
        if (first && !known.insert(*first).second) return;
        if (record.cluster.first_entry < report_.entries) {
          is_ambiguous = is_ambiguous || first.has_value();
          return;
        }
      }
      found_.push_back(std::move(record));
    };
    const page::JournalScan scan =
        page::scan_journal(container_->file(), begin_of_scan(), checkpoint(), take);
    report_.scanned_bytes = scan.bytes;
    if (scan.given_up)
      throw Error(ErrorKind::format,
                  "there are too many places that look like records of clusters and are not",
                  "keep the file as it is: it opens up to its last checkpoint");
    keep_latest_run(scan);
    std::sort(found_.begin(), found_.end(), [](const JournalRecord& a, const JournalRecord& b) {
      return std::tie(a.cluster.first_entry, a.offset) < std::tie(b.cluster.first_entry, b.offset);
    });
    if (!found_.empty() && !found_.front().run && (is_ambiguous || has_overlap()))
      return drop_all(
          "the file holds clusters of several writers of version 0.1, which does not tell them apart");
    drop_misfits();
  }

  void keep_latest_run(const page::JournalScan& scan) {
    std::optional<page::JournalRun> latest;
    for (const JournalRecord& record : found_) latest = std::max(latest, record.run);
    std::erase_if(found_, [&](const JournalRecord& record) { return record.run != latest; });
    for (const page::JournalRun& run : scan.torn)
      if (may_follow(run) && (found_.empty() || run == latest)) ++report_.torn_records;
  }

  bool has_overlap() const {
    for (std::size_t i = 1; i < found_.size(); ++i) {
      const ClusterDescriptor& before = found_[i - 1].cluster;
      if (found_[i].cluster.first_entry < before.first_entry + before.entries) return true;
    }
    return false;
  }

  void drop_all(const std::string& reason) {
    for (const JournalRecord& record : found_) drop(record, reason);
    found_.clear();
  }

  // Keeps the clusters for which `why_not` returns no reason.
  template <class WhyNot>
  void keep_if_none(WhyNot&& why_not) {
    std::vector<JournalRecord> kept;
    for (JournalRecord& record : found_) {
      if (std::string reason = why_not(record); !reason.empty())
        drop(record, std::move(reason));
      else
        kept.push_back(std::move(record));
    }
    found_ = std::move(kept);
  }

  void drop_misfits() {
    keep_if_none([&](const JournalRecord& record) {
      return record.problem.empty() ? misfit(record.cluster) : record.problem;
    });
  }

  // No entry may occur twice, whatever the file claims.
  void drop_overlaps() {
    std::uint64_t next = report_.entries;
    keep_if_none([&](const JournalRecord& record) -> std::string {
      if (record.cluster.first_entry < next) return "its entries are those of another cluster";
      next = record.cluster.first_entry + record.cluster.entries;
      return {};
    });
  }

  void check_pages() {
    PageChecker checker(*container_, checkpoint());
    std::vector<JournalRecord> whole;
    for (JournalRecord& record : found_) {
      try {
        checker.check(record.cluster);
        whole.push_back(std::move(record));
      } catch (const Error& error) {
        // Neither says that the cluster is damaged, and no later repair finds a dropped cluster again.
        if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::resource) throw;
        drop(record, fmt::format("column {}, page {}: {}", error.context().column.value_or(0),
                                 error.context().page.value_or(0), error.problem()));
      }
    }
    found_ = std::move(whole);
  }

  void number() {
    Numbering numbering(checkpoint());
    for (JournalRecord& record : found_) {
      const std::uint64_t before = record.cluster.first_entry;
      numbering.number(record.cluster);
      if (record.cluster.first_entry != before) ++report_.renumbered_clusters;
    }
  }

  // The data set with the first `count` clusters; the page lists of the new groups are not written
  // yet.
  Descriptor with_clusters(std::size_t count) const {
    Descriptor repaired = checkpoint();
    for (std::size_t first = 0; first < count; first += clusters_per_group) {
      const std::size_t end = std::min(count, first + clusters_per_group);
      ClusterGroup group;
      group.min_entry = found_[first].cluster.first_entry;
      group.clusters = static_cast<std::uint32_t>(end - first);
      for (std::size_t i = first; i < end; ++i) {
        group.entry_span += found_[i].cluster.entries;
        repaired.clusters.push_back(found_[i].cluster);
      }
      repaired.cluster_groups.push_back(group);
    }
    return repaired;
  }

  // True if a reader would accept the data set as it will be written, with all fields that are readable now.
  bool reads_back(std::size_t count) const {
    try {
      const Descriptor repaired = with_clusters(count);
      Descriptor read = format::read_header(format::write_header(repaired).bytes);
      read.anchor = repaired.anchor;
      read.header_checksum = repaired.header_checksum;
      format::read_footer(format::write_footer(repaired).bytes, read);
      std::size_t first = 0;
      for (std::size_t group = 0; group < repaired.cluster_groups.size(); ++group) {
        const std::size_t clusters = repaired.cluster_groups[group].clusters;
        format::read_page_list(format::write_page_list(repaired, first, clusters).bytes, group, read);
        first += clusters;
      }
      format::finish(read);
      for (std::size_t i = 0; i < read.fields.size(); ++i)
        if (!read.fields[i].unreadable.empty() && checkpoint().fields[i].unreadable.empty()) return false;
      return read.entries() == repaired.entries();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;
      return false;
    }
  }

  void check_together() {
    if (found_.empty() || reads_back(found_.size())) return;
    std::size_t good = 0, bad = found_.size();
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      (reads_back(middle) ? good : bad) = middle;
    }
    for (std::size_t i = good; i < found_.size(); ++i)
      drop(found_[i], i == good ? "its columns and its entries do not agree with those before"
                                : "it follows a cluster that does not agree with those before");
    found_.resize(good);
    report_.renumbered_clusters = std::min<std::uint64_t>(report_.renumbered_clusters, good);
  }

  Locator write_envelope(ByteSpan envelope) {
    AlignedBuffer block;
    codec::compress(compression_, envelope, block);
    return target_->write_blob(block.span(), envelope.size());
  }

  // Clusters that are not recovered now are given up: this run ends with its commit.
  void write_footer(Descriptor& repaired) {
    const format::EnvelopeBytes footer = format::write_footer(repaired);
    AlignedBuffer block;
    codec::compress(compression_, footer.bytes, block);
    const page::JournalRun run{target_->size_before(), environment().random_number()};
    const Bytes blob =
        page::footer_blob(repaired, {.run = run, .is_last = true}, block.span(), target_->max_key_size());
    const std::uint64_t length = footer.bytes.size() + blob.size() - block.size();
    repaired.anchor.footer_offset = target_->write_at_end(blob, length).offset;
    repaired.anchor.footer_size = block.size();
    repaired.anchor.footer_length = footer.bytes.size();
  }

  void write() {
    const Uninterruptible whole;
    for (const ColumnRange& range : found_.front().cluster.columns)
      if (!range.pages.empty()) compression_ = codec::CompressionSettings::from_root(range.compression);
    Descriptor repaired = with_clusters(found_.size());
    std::size_t first = checkpoint().clusters.size();
    for (std::size_t i = checkpoint().cluster_groups.size(); i < repaired.cluster_groups.size(); ++i) {
      ClusterGroup& group = repaired.cluster_groups[i];
      const format::EnvelopeBytes list = format::write_page_list(repaired, first, group.clusters);
      group.page_list = {.length = list.bytes.size(), .locator = write_envelope(list.bytes)};
      first += group.clusters;
    }
    write_footer(repaired);
    target_->commit(repaired.anchor);
    report_.written = true;
    target_->close();
  }

  std::string path_;
  std::unique_ptr<container::WriteContainer> target_;
  std::unique_ptr<page::PageSource> source_;
  std::shared_ptr<container::ReadContainer> container_;
  codec::CompressionSettings compression_;
  std::optional<page::CommitRecord> commit_;  // of the checkpoint
  std::vector<JournalRecord> found_;
  RepairReport report_;
};

// ---- Many data sets

// Those of the data sets that repair may bring something back for, or that it fails for: the file is searched
// once, not once for each.
std::vector<std::string> worth_a_repair(const std::shared_ptr<container::ReadContainer>& container,
                                        std::span<const std::string> paths) {
  if (paths.size() < 2) return {paths.begin(), paths.end()};
  std::vector<bool> is_worth(paths.size());
  std::vector<Repair::Wanted> wanted(paths.size());
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_offset, by_checksum;
  std::unordered_set<std::uint64_t> old_checksums;
  std::uint64_t begin = container->file().size();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Interruption::check_now_and_then();
    try {
      wanted[i] = Repair(container, paths[i]).wanted();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::resource) throw;
      is_worth[i] = true;
      continue;
    }
    begin = std::min(begin, wanted[i].begin);
    by_offset[wanted[i].header_offset].push_back(i);
    if (wanted[i].commit) continue;
    by_checksum[wanted[i].header_checksum].push_back(i);
    old_checksums.insert(wanted[i].header_checksum);
  }
  page::trace_journal(container->file(), begin, old_checksums, [&](const page::JournalTrace& trace) {
    const auto& places = trace.header_offset ? by_offset : by_checksum;
    const auto found = places.find(trace.header_offset ? *trace.header_offset : *trace.header_checksum);
    if (found == places.end()) return;
    for (const std::size_t i : found->second)
      if (Repair::may_follow(trace.run, wanted[i].commit)) is_worth[i] = true;
  });
  std::vector<std::string> worth;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (is_worth[i]) worth.push_back(paths[i]);
  return worth;
}

}  // namespace

RepairReport repair(const std::string& uri, std::string_view data_set, const RepairOptions& options) {
  if (io::is_object_store(uri))
    throw Error(ErrorKind::usage,
                "an object store has nothing to repair: a data set is complete as of its last commit",
                "`colonnade gc` removes what writers that crashed have left", {.uri = uri});
  const auto repair_one = [&](const std::string& path) {
    return with_context({.uri = uri, .data_set = path}, [&] {
      // Locked from here on: a file that a writer has open is refused.
      if (!options.dry_run)
        return Repair(uri, path, container::replace_container(uri, path, {.durability = Durability::machine}))
            .run();
      io::refuse_if_locked(uri);
      return Repair(uri, path).run();
    });
  };
  data_set.remove_prefix(std::min(data_set.find_first_not_of('/'), data_set.size()));
  if (!data_set.empty()) return repair_one(std::string(data_set));
  const std::shared_ptr<container::ReadContainer> container = container::open_container(uri);
  container::expect_many(*container);
  const std::vector<std::string> paths = container->data_sets();
  if (paths.empty())
    throw Error(ErrorKind::not_found, "the file has no data set",
                "write it again: its writer made no checkpoint", {.uri = uri});
  const auto has_found = [](const RepairReport& report) {
    return report.recovered_clusters > 0 || !report.dropped.empty();
  };
  RepairReport first = repair_one(paths.front());
  if (has_found(first)) return first;
  for (const std::string& path : worth_a_repair(container, std::span(paths).subspan(1)))
    if (RepairReport report = repair_one(path); has_found(report)) return report;
  return first;
}

namespace page {
namespace {

// What repair would recover in a ROOT file, as text; empty: nothing. `has_tail`: there are bytes behind the
// file's end.
std::string unrepaired(const std::string& uri, bool has_tail) {
  const std::shared_ptr<container::ReadContainer> container = container::open_container(uri);
  std::vector<std::string> open_ended;
  const auto unless_damaged = [](const auto& look) {
    try {
      look();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;  // any other error: not repairable either
    }
  };
  container->visit_anchors([&](const std::string& path, const std::function<Anchor()>& anchor) {
    unless_damaged([&] {
      const auto commit = read_commit_record(container->file(), anchor());
      // What lies behind a last commit may be of a later run, which resumed the data set.
      if (has_tail || (commit && !commit->is_last)) open_ended.push_back(path);
    });
  });
  if (open_ended.size() > 1) container::expect_many(*container);
  std::string lost;
  for (const std::string& path : worth_a_repair(container, open_ended)) {
    unless_damaged([&] {
      const RepairReport report = Repair(uri, path).run();
      if (report.recovered_clusters > 0)
        lost = fmt::format("{} entries of the data set \"{}\"", report.recovered_entries, path);
    });
    if (!lost.empty()) break;
  }
  return lost;
}

}  // namespace

std::unique_ptr<container::WriteContainer> append_if_repaired(const std::string& uri, std::string_view path,
                                                              const container::ContainerOptions& options,
                                                              bool discard_unrepaired) {
  auto writer = container::append_container(uri, path, options);
  if (discard_unrepaired || io::is_object_store(uri)) return writer;
  if (const std::string lost = unrepaired(uri, writer->cuts_tail()); !lost.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("the file was not closed by its writer: adding to it would lose {} that repair can bring "
                    "back",
                    lost),
        "`colonnade repair` first, or the option discard_unrepaired", {.uri = uri});
  return writer;
}

}  // namespace page

}  // namespace colonnade
