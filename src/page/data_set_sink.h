// DataSetSink: what all writers of one data set share - the container, the schema, the list of clusters, and
// the commits that make them readable.
//
//   PageSink --begin_pages--> places of the pages --add_cluster--> [journal] --if due--> commit_data_set
//
// write_pages(), begin_pages(), add_cluster(), stage_cluster(), commit_staged(), commit_data_set() and
// entries() may be called by any number of threads; everything else, and changes of the schema, by one while
// no other is inside.
//
// Attribute sets are data sets with sinks of their own in the same container. A commit of the data set that
// links to them commits them before, so that what is read has their ranges as far as it has entries.
#ifndef COLONNADE_PAGE_DATA_SET_SINK_H
#define COLONNADE_PAGE_DATA_SET_SINK_H

#include <chrono>
#include <condition_variable>
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
#include "codec/compression.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "container/container.h"
#include "container/linked.h"
#include "page/cluster_journal.h"

namespace colonnade::page {

// Many may be inside, or one who wants to be alone; who wants that is not kept waiting by those who come
// later.
class Gate {
 public:
  class Shared {
   public:
    explicit Shared(Gate& gate);
    ~Shared();
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    Gate& gate_;
  };
  class Alone {
   public:
    explicit Alone(Gate& gate);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  bool closed_ = false;
};

class DataSetSink {
 public:
  DataSetSink(std::unique_ptr<container::WriteContainer> container, const WriteOptions& options);

  // False in a forked child: there, writing throws ErrorKind::usage and the sink must not be destroyed, since
  // threads of the parent were in it.
  bool is_of_this_process() const noexcept { return process_.is_current(); }
  void check_process() const;
  const WriteOptions& options() const noexcept { return options_; }
  const codec::CompressionSettings& compression() const noexcept { return compression_; }
  const std::string& uri() const noexcept { return container_->uri(); }
  // The schema so far; the writer adds fields and columns to it before start(), or later.
  Descriptor& descriptor() noexcept { return descriptor_; }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

  // Writes the header; fields and columns added to the descriptor afterwards belong to the schema extension.
  void start();
  // In place of start(): goes on with the data set that the container has already, whose descriptor this is.
  void resume(const Descriptor& checkpoint);
  // As those of WriteContainer.
  std::vector<std::uint64_t> write_pages(std::span<const container::PagePart> pages,
                                         container::ClusterPlace& cluster);
  std::vector<std::uint64_t> begin_pages(std::span<const container::PagePart> pages,
                                         container::ClusterPlace& cluster, std::shared_ptr<void> memory);
  container::WriteContainer::CopiedRanges copy_ranges(const io::RandomAccessFile& from,
                                                      std::span<const container::FileRange> ranges);
  const container::WriteContainer& container() const noexcept { return *container_; }
  // For what the footer is to link to; no other thread may be inside.
  container::WriteContainer& container_to_link() noexcept { return *container_; }
  // The next commit links to this attribute set, in place of one of the same name.
  void link(AttributeSetRecord record);
  const JournalRun& run() const noexcept { return run_; }
  // Appends a cluster whose pages are written: gives it its entries, and its columns their elements. Makes a
  // checkpoint if one is due. `number`: of the writer that it is from, if somebody wants to know where its
  // clusters are.
  static constexpr std::size_t any_number = static_cast<std::size_t>(-1);
  void add_cluster(ClusterDescriptor cluster, std::size_t number = any_number);
  // Keeps a cluster until commit_staged() adds it, those of lower numbers first.
  void stage_cluster(std::size_t number, ClusterDescriptor cluster);
  void commit_staged();
  // The sink of a data set that the footer of this one may link to, without fields yet; this one must outlive
  // it. After start() or resume(), link() does it: from then on it is committed whenever this one is.
  std::shared_ptr<DataSetSink> make_linked() const;
  // `flush` writes the open cluster of the linked one; it is called before each commit, with no other thread
  // inside. A record of this name is replaced.
  void link(const std::string& name, std::shared_ptr<DataSetSink> linked, std::function<void()> flush);
  bool has_linked(std::string_view name) const;  // here, not before resume()
  // Where the clusters of a writer are: entries as it counts them, and those of the data set. For `flush`.
  struct Placed {
    std::uint64_t own = 0;
    std::uint64_t first = 0;
    std::uint64_t entries = 0;
  };
  std::span<const Placed> placed(std::size_t number) const noexcept;
  // Writes page lists still missing, footer and anchor: the file is complete up to the last cluster. Staged
  // clusters are added before. What is there already is not replaced by a data set without entries: that is
  // left to close().
  void commit_data_set();
  // Commits what is not committed yet, and closes the container.
  void close();
  // Whether anything has been committed, here or before resume().
  bool has_committed() const;
  // Closes the file as the last commit left it, as far as that works.
  void abandon() noexcept;
  std::uint64_t entries() const;  // of added and staged clusters

 private:
  using Clock = std::chrono::steady_clock;
  struct Contents {
    std::size_t clusters = 0;
    std::size_t fields = 0;
    std::size_t columns = 0;
    std::size_t aliases = 0;
    std::size_t type_infos = 0;
    bool operator==(const Contents&) const = default;
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
  Contents contents() const noexcept;

  const Process process_;
  std::unique_ptr<container::WriteContainer> container_;
  WriteOptions options_;
  codec::CompressionSettings compression_;
  Descriptor descriptor_;
  Gate gate_;                 // of the container: pages are written, or the anchor is replaced
  mutable std::mutex mutex_;  // guards everything below, and descriptor_ but for its schema
  // By physical column: the corresponding one in the first representation of its field, and by that the next
  // element. Representations take turns, and their elements follow each other.
  std::vector<std::uint32_t> teams_;
  std::vector<std::uint64_t> next_elements_;
  std::vector<bool> begun_;                             // likewise: has a cluster any?
  std::vector<std::vector<ClusterDescriptor>> staged_;  // by number
  std::uint64_t staged_entries_ = 0;
  std::vector<std::vector<Placed>> placed_;  // by number
  std::size_t grouped_clusters_ = 0;         // clusters that a cluster group covers already
  std::optional<Contents> committed_;        // what the footer knows; nothing: there is none yet
  std::optional<Locator> footer_;            // of the last commit, if it was made here
  JournalRun run_;
  bool was_resumed_ = false;
  bool is_linked_ = false;
  std::vector<Linked> linked_;
  bool links_changed_ = false;     // since the last commit
  std::size_t groups_before_ = 0;  // cluster groups that were there; they stay as they are
  Clock::time_point committed_at_ = Clock::now();
};

}  // namespace colonnade::page

#endif
