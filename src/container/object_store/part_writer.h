// ObjectPartWriter: a part of a data set that one process has claimed and many write.
//
//   claims:  claim --> generation --> begin_parts() ................ take_parts() --> commit --> release
//   others:                            objects reserved, pages, blobs, record: a part
//
// The objects of all parts belong to one generation, so that the commit refers to pages where they are. A
// part reserves its objects by conditional puts of the generation's record. Its blobs and its record are
// stored under a distribution key of its own in the metadata object; parts that the committing process does
// not take are abandoned and removed. A part is written only while the claim exists: once it is gone, the
// claiming process has committed without this part, or given up.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_PART_WRITER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_PART_WRITER_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "container/container.h"
#include "container/object_store/directory.h"
#include "container/object_store/part_ticket.h"
#include "container/object_store/updates.h"
#include "container/object_store/uploader.h"

namespace colonnade::container {

class ObjectPartWriter final : public WriteContainer {
 public:
  // `options` must equal those of the process that claimed the data set `name`.
  ObjectPartWriter(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                   const ContainerOptions& options, const PartName& part);
  ~ObjectPartWriter() override;

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
  void flush() override;
  // Writes the record: from here on, processes that know the part's name can find it.
  void commit(const Anchor& anchor) override;
  // Removes the part unless it was committed.
  void close() override;

 private:
  io::ObjectId metadata() const noexcept { return {plan_.group, metadata_object}; }
  void check();
  void look_at_claim();
  std::uint64_t take_objects(std::uint64_t count);
  void reserve(std::uint64_t count);
  PlannedPages plan(std::span<const PagePart> pages, ClusterWriteState& cluster);
  void remove() noexcept;

  std::shared_ptr<io::ObjectStore> store_;
  std::string name_;
  PartName part_;
  Durability durability_;
  ObjectPagePlan plan_;
  std::atomic<Environment::Clock::rep> looked_{0};  // steady time of the last check of the claim
  std::mutex mutex_;                                // guards the members below
  std::vector<ObjectRange> objects_;
  std::uint64_t next_object_ = 0;  // in the last range
  std::uint64_t next_blob_ = 0;
  bool has_record_ = false;  // perhaps
  bool committed_ = false;
  bool closed_ = false;
  std::unique_ptr<ObjectUploader> uploader_;  // last: destroyed first
};

// Whether the process that gave the ticket still waits for parts.
bool is_claimed(const io::ObjectStore& store, const PartTicket& ticket);

// The record of a part, and the reader of its blobs. Throws ErrorKind::not_found if the part is incomplete.
struct OpenPart {
  PartRecord record;
  std::shared_ptr<const ReadContainer> container;
};
OpenPart open_part(std::shared_ptr<io::ObjectStore> store, std::string_view name, const PartName& part);

}  // namespace colonnade::container

#endif
