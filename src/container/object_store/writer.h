// ObjectContainerWriter: writes one data set to an object store. layout.h defines the layout.
//
//   claim --> generation --> blobs, page objects ... --> commit --> old generations removed --> release
//
// Claim, commit and release are changes of one record (claim.h). Everything written belongs to this
// writer's own generation until the record names it, so that nothing is visible before the first commit, a
// replaced data set stays unchanged until then, and a writer that was considered dead but resumes does no
// harm. What a writer without close() leaves behind is identified by its generation record
// (colonnade/garbage.h).
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_WRITER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_WRITER_H

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/container.h"
#include "container/object_store/claim.h"
#include "container/object_store/directory.h"
#include "container/object_store/part_ticket.h"
#include "container/object_store/updates.h"
#include "container/object_store/uploader.h"

namespace colonnade::container {

// The state that a writer expects of the name that it claims.
enum class ObjectTarget {
  any,     // an existing data set is replaced
  absent,  // no data set may exist
  present  // it is continued
};

class ObjectContainerWriter final : public WriteContainer {
 public:
  static std::unique_ptr<ObjectContainerWriter> open(std::shared_ptr<io::ObjectStore> store,
                                                     std::string_view name, const ContainerOptions& options,
                                                     ObjectTarget target);
  ~ObjectContainerWriter() override;

  const std::string& uri() const noexcept override { return store_->uri(); }
  Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) override;
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override;
  std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages,
                                         ClusterWriteState& cluster) override;
  std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterWriteState& cluster,
                                         std::shared_ptr<PageBytes> memory) override;
  Locator::Kind page_kind() const noexcept override { return Locator::Kind::object64; }
  bool shares_pages() const noexcept override { return plan_.mapping == ObjectMapping::object_per_page; }
  bool keeps_journal() const noexcept override { return false; }
  std::uint64_t max_key_size() const noexcept override { return plan_.traits.max_value; }
  bool replaces() const noexcept override { return replaces_ && !has_committed_; }
  void flush() override;
  bool may_retry() const noexcept override {
    return !closed_ && claim_ && !claim_->lost() && uploader_ && !uploader_->lost();
  }
  void retry(bool waits) override { uploader_->retry(waits); }
  void retire_blob(const Locator& blob) override;
  void commit(const Anchor& anchor) override;
  void close() override;

  // Allows other processes to write parts of this generation (part_writer.h). Returns what they need to know.
  // This writer then writes no pages itself.
  PartTicket begin_parts();
  // Makes the next commit contain exactly these parts. Throws ErrorKind::usage if two have the same objects.
  void take_parts(std::span<const PartRecord> parts);

 private:
  ObjectContainerWriter(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                        const ContainerOptions& options);

  void check(const ContainerOptions& options) const;
  void claim(ObjectTarget target);
  void check_target(ObjectTarget target, const DirectoryPlace& place) const;
  void check_generation(const DirectoryPlace& place) const;
  void begin_generation();
  void continue_data_set(const AnchorRecord& anchor);
  std::uint64_t take_objects(std::uint64_t count);
  void reserve(std::uint64_t end);
  PlannedPages plan(std::span<const PagePart> pages, ClusterWriteState& cluster);
  void check_open() const;
  AnchorRecord anchor_record(const Anchor& anchor) const;
  void remove_older_generations();
  void adopt(AnchorRecord record);
  std::uint64_t blobs_of(std::uint64_t size) const noexcept;
  void remove_retired(std::uint64_t commit);
  void remove_retired_quietly(std::uint64_t commit) noexcept;
  void finish();
  void finish_quietly();

  std::shared_ptr<io::ObjectStore> store_;
  std::string name_;
  Durability durability_;
  std::uint64_t splice_size_;
  ObjectPagePlan plan_;
  std::chrono::milliseconds lease_;
  std::unique_ptr<Claim> claim_;
  bool others_left_generations_ = false;
  bool replaces_ = false;  // readers see another data set until the first commit
  std::atomic<bool> has_committed_ = false;
  std::atomic<bool> is_settled_ = true;  // false while the last commit may not be on the device
  AnchorRecord committed_;               // the last commit; initially that of a continued data set
  std::atomic<std::uint64_t> next_blob_ = 0;
  std::mutex numbers_mutex_;
  std::uint64_t next_object_ = first_page_object;
  GenerationRecord reserved_;
  struct Retired {
    std::uint64_t commit = 0;  // the first commit that does not name it
    Locator blob;
  };
  std::deque<Retired> retired_;
  std::vector<Locator> failed_footers_;  // of commits that failed, or perhaps not
  bool closed_ = false;
  std::unique_ptr<ObjectUploader> uploader_;  // last: destroyed first
};

}  // namespace colonnade::container

#endif
