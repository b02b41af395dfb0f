// DataSetSink: the state shared by all writers of one data set - the container, the schema, the list of
// clusters, and the commits that make them readable.
//
//   PageSink --begin_pages--> places of the pages --add_cluster--> [journal] --if due--> commit_data_set
//
// Any number of threads may call write_pages(), begin_pages(), add_cluster(), stage_cluster(),
// commit_staged(), commit_data_set() and entries(); everything else, and changes of the schema, require that
// no other thread is inside.
//
// Attribute sets are data sets with sinks of their own in the same container. A commit of the linking data
// set commits them first, so that every readable entry has its ranges.
#ifndef COLONNADE_PAGE_DATA_SET_SINK_H
#define COLONNADE_PAGE_DATA_SET_SINK_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/writer_preferring_mutex.h"
#include "codec/compression.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "container/container.h"
#include "container/linked.h"
#include "page/cluster_journal.h"

namespace colonnade::page {

class DataSetSink {
 public:
  DataSetSink(std::unique_ptr<container::WriteContainer> container, const WriteOptions& options);

  // False in a forked child: writing throws ErrorKind::usage there, and the sink must not be destroyed, since
  // threads of the parent were using it.
  bool is_of_this_process() const noexcept { return process_.is_current(); }
  void check_process() const;
  const WriteOptions& options() const noexcept { return options_; }
  const codec::CompressionSettings& compression() const noexcept { return compression_; }
  const std::string& uri() const noexcept { return container_->uri(); }
  // The current schema; the writer adds fields and columns to it before start(), or later.
  Descriptor& descriptor() noexcept { return descriptor_; }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

  // Writes the header; fields and columns added to the descriptor afterwards belong to the schema extension.
  void start();
  // Called instead of start(): continues the data set in the container, which has this descriptor.
  void resume(const Descriptor& checkpoint);
  // See WriteContainer.
  std::vector<std::uint64_t> write_pages(std::span<const container::PagePart> pages,
                                         container::ClusterWriteState& cluster);
  std::vector<std::uint64_t> begin_pages(std::span<const container::PagePart> pages,
                                         container::ClusterWriteState& cluster,
                                         std::shared_ptr<container::PageBytes> memory);
  bool may_retry() const noexcept { return container_->may_retry(); }
  void retry(bool waits);
  container::WriteContainer::CopiedRanges copy_ranges(const io::RandomAccessFile& from,
                                                      std::span<const container::FileRange> ranges);
  const container::WriteContainer& container() const noexcept { return *container_; }
  // For data sets that the footer will link to; no other thread may be inside.
  container::WriteContainer& container_to_link() noexcept { return *container_; }
  // Makes the next commit link to this attribute set, replacing one of the same name.
  void link(AttributeSetRecord record);
  const JournalRun& run() const noexcept { return run_; }
  // Appends a cluster whose pages are written: assigns its entries, and the elements of its columns. Makes a
  // checkpoint if one is due. `number`: the writer of the cluster, if that writer needs to know the positions
  // of its clusters.
  static constexpr std::size_t any_number = static_cast<std::size_t>(-1);
  void add_cluster(ClusterDescriptor cluster, std::size_t number = any_number);
  // Keeps a cluster until commit_staged() adds it, ordered by number.
  void stage_cluster(std::size_t number, ClusterDescriptor cluster);
  void commit_staged();
  // Makes the sink of a data set that the footer of this one may link to, without fields yet; this sink must
  // outlive it. After start() or resume(), link() links it: from then on it is committed with this one.
  std::shared_ptr<DataSetSink> make_linked() const;
  // The options of such a data set, also for a sink of its own.
  WriteOptions options_of_linked() const;
  // `flush` writes the open cluster of the linked data set; it is called before each commit, with no other
  // thread inside. Replaces a record of the same name.
  void link(const std::string& name, std::shared_ptr<DataSetSink> linked, std::function<void()> flush);
  bool has_linked(std::string_view name) const;  // in this run, not before resume()
  // One that was linked without `flush`, to which more may be added; null: there is none. more_to() gives it
  // a `flush`.
  std::shared_ptr<DataSetSink> open_linked(std::string_view name) const;
  void more_to(std::string_view name, std::function<void()> flush);
  // The position of a writer's cluster: entries in its own count, and in the data set's. For `flush`.
  struct Placed {
    std::uint64_t own = 0;
    std::uint64_t first = 0;
    std::uint64_t entries = 0;
  };
  std::span<const Placed> placed(std::size_t number) const noexcept;
  // Writes missing page lists, footer and anchor: the file is complete up to the last cluster. Adds
  // staged clusters first. A data set without entries does not replace an existing one here, only in
  // close().
  void commit_data_set();
  // Commits the remaining clusters, and closes the container.
  void close();
  // True if anything was committed, by this sink or before resume().
  bool has_committed() const;
  // Tries to close the file in the state of the last commit.
  void abandon() noexcept;
  std::uint64_t entries() const;  // of added and staged clusters

 private:
  using Clock = std::chrono::steady_clock;
  struct DescriptorCounts {
    std::size_t clusters = 0;
    std::size_t fields = 0;
    std::size_t columns = 0;
    std::size_t aliases = 0;
    std::size_t type_infos = 0;
    bool operator==(const DescriptorCounts&) const = default;
  };

  struct Linked {
    std::string name;
    std::shared_ptr<DataSetSink> sink;
    std::function<void()> flush;
  };

  Locator write_envelope(ByteSpan envelope);
  void add(ClusterDescriptor cluster, std::size_t number);
  void add_staged();
  void checkpoint();
  void commit(bool is_last);
  void flush_linked() const;
  void commit_linked(bool is_last);
  bool linked_changed() const;
  AttributeSetRecord& record_of(const std::string& name);
  container::LinkedWriter& as_linked() const noexcept;
  void group_clusters();
  void merge_groups(bool all);
  void write_group(std::size_t first_cluster, std::size_t count);
  Locator write_footer(bool is_last);
  bool has_groups_to_merge() const noexcept;
  bool keeps_journal() const noexcept;
  std::uint32_t team_of(std::uint32_t column) const;
  void note_teams(std::size_t columns);
  bool checkpoints() const noexcept;
  bool merges_groups() const noexcept;
  bool checkpoint_due() const;
  DescriptorCounts counts() const noexcept;

  const Process process_;
  std::unique_ptr<container::WriteContainer> container_;
  WriteOptions options_;
  codec::CompressionSettings compression_;
  Descriptor descriptor_;
  WriterPreferringMutex container_mutex_;  // shared: writing pages; exclusive: replacing the anchor
  mutable std::mutex mutex_;               // guards all members below, and descriptor_ except its schema
  // By physical column: the corresponding column in the first representation of its field; by that column,
  // the next element. Only one representation is active at a time, and their elements follow each other.
  std::vector<std::uint32_t> teams_;
  std::vector<std::uint64_t> next_elements_;
  std::vector<bool> begun_;  // by the same column: true once a cluster has elements
  std::vector<std::vector<ClusterDescriptor>> staged_;  // by number
  std::uint64_t staged_entries_ = 0;
  std::vector<std::vector<Placed>> placed_;    // by number
  std::size_t grouped_clusters_ = 0;           // clusters that have a cluster group
  std::optional<DescriptorCounts> committed_;  // what the footer contains; empty: no footer yet
  std::optional<Locator> footer_;              // of the last commit, if it was made here
  JournalRun run_;
  bool was_resumed_ = false;
  bool is_linked_ = false;
  std::vector<Linked> linked_;
  bool links_changed_ = false;      // since the last commit
  bool is_half_committed_ = false;  // a commit failed, after the linked data sets, perhaps
  std::size_t groups_before_ = 0;   // cluster groups of earlier runs
  Clock::time_point committed_at_ = Clock::now();
};

}  // namespace colonnade::page

#endif
