// ObjectContainerWriter: one data set being written to an object store. object_layout.h says where what lies.
//
//   claim --> generation --> blobs, page objects ... --> anchor (a conditional put) --> old generations
//   removed
//
// What is written belongs to a generation of its own until the anchor names it, so that nothing is visible
// before the first commit and a data set that is replaced stays as it is until then. Whatever a writer leaves
// behind that ends without close() can be told from its generation record (colonnade/garbage.h).
#ifndef COLONNADE_PAGE_OBJECT_CONTAINER_WRITER_H
#define COLONNADE_PAGE_OBJECT_CONTAINER_WRITER_H

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "page/container.h"
#include "page/object_directory.h"
#include "page/object_updates.h"
#include "page/object_uploader.h"

namespace colonnade::page {

// What is expected of the name that a writer claims.
enum class ObjectTarget {
  any,     // a data set that is there is replaced
  absent,  // there must be none
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
  std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages, ClusterPlace& cluster) override;
  std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterPlace& cluster,
                                         std::shared_ptr<void> memory) override;
  Locator::Kind page_kind() const noexcept override { return Locator::Kind::object64; }
  bool shares_pages() const noexcept override { return plan_.mapping == ObjectMapping::object_per_page; }
  bool keeps_journal() const noexcept override { return false; }
  std::uint64_t max_key_size() const noexcept override { return plan_.traits.max_value; }
  void flush() override;
  void commit(const Anchor& anchor) override;
  void close() override;

 private:
  ObjectContainerWriter(std::shared_ptr<io::ObjectStore> store, std::string_view name,
                        const ContainerOptions& options);

  void check(const ContainerOptions& options) const;
  void claim(ObjectTarget target);
  bool claim_place(ObjectTarget target);
  void begin_generation();
  void continue_generation(const AnchorRecord& anchor);
  std::uint64_t take_objects(std::uint64_t count);
  void reserve(std::uint64_t end);
  PlannedPages plan(std::span<const PagePart> pages, ClusterPlace& cluster);
  void check_open() const;
  AnchorRecord anchor_record(const Anchor& anchor) const;
  void put_anchor(const AnchorRecord& record);
  void refresh_anchor_version();
  void remove_other_generations();
  void remove_uncommitted();
  void finish();

  std::shared_ptr<io::ObjectStore> store_;
  std::string name_;
  Durability durability_;
  std::uint64_t splice_size_;
  ObjectPagePlan plan_;
  std::uint64_t place_ = 0;  // distribution key in the directory
  ClaimRecord claim_;
  bool others_left_generations_ = false;
  std::optional<AnchorRecord> committed_;      // of this generation
  std::optional<std::string> anchor_version_;  // that a commit replaces; nothing: there is no anchor
  bool anchor_is_ours_ = false;                // and its version not known
  std::atomic<std::uint64_t> next_blob_ = 0;
  std::mutex numbers_mutex_;
  std::uint64_t next_object_ = first_page_object;
  GenerationRecord reserved_;
  bool closed_ = false;
  std::unique_ptr<ObjectUploader> uploader_;  // last: it ends first
};

}  // namespace colonnade::page

#endif
