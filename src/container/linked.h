// Linked data sets: no directory lists them; the footer of another data set in the same file or object store
// points to their anchors. Attribute sets are linked data sets.
//
//   footer of "Events" --AttributeSetRecord--> anchor, 78 bytes in a blob --> header, footer, page lists,
//   pages
//
// The anchor has the same bytes as in a ROOT file, in any container. Header, footer and pages are stored like
// those of the linking data set, with locators of the same kind.
#ifndef COLONNADE_CONTAINER_LINKED_H
#define COLONNADE_CONTAINER_LINKED_H

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/container.h"

namespace colonnade::container {

// The container of one linked data set: everything is read from `outer`, the container of the linking data
// set; only the anchor comes from the link. `max_key_size` is that of the linking data set. Throws
// ErrorKind::format or unsupported if the link does not lead to an anchor.
std::shared_ptr<const ReadContainer> open_linked(std::shared_ptr<const ReadContainer> outer,
                                                 const AttributeSetRecord& link, std::uint64_t max_key_size);

// Writes a linked data set into `outer`, which must outlive it. A commit writes the anchor and updates
// link(), but makes nothing visible; the next commit of `outer` publishes the link.
class LinkedWriter final : public WriteContainer {
 public:
  explicit LinkedWriter(WriteContainer& outer) : outer_(outer) {}

  struct Link {
    Locator anchor;
    std::uint32_t length = 0;
  };
  // The link of the last commit; empty before the first.
  const std::optional<Link>& link() const noexcept { return link_; }
  // Sets the existing state of a resumed data set, which the next commit replaces.
  void replace(const Link& link, const Anchor& anchor);

  const std::string& uri() const noexcept override { return outer_.uri(); }
  Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) override {
    return outer_.write_blob(payload, uncompressed_length);
  }
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override {
    return outer_.write_parts(parts);
  }
  std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages,
                                         ClusterWriteState& cluster) override {
    return outer_.write_pages(pages, cluster);
  }
  std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterWriteState& cluster,
                                         std::shared_ptr<PageBytes> memory) override {
    return outer_.begin_pages(pages, cluster, std::move(memory));
  }
  Locator::Kind page_kind() const noexcept override { return outer_.page_kind(); }
  bool shares_pages() const noexcept override { return outer_.shares_pages(); }
  // A cluster after the last commit has no known ranges, so recovering it is useless.
  bool keeps_journal() const noexcept override { return false; }
  std::uint64_t max_key_size() const noexcept override { return outer_.max_key_size(); }
  void flush() override { outer_.flush(); }
  bool may_retry() const noexcept override { return outer_.may_retry(); }
  void retry(bool waits) override { outer_.retry(waits); }
  void retire_blob(const Locator& blob) override { outer_.retire_blob(blob); }
  void commit(const Anchor& anchor) override;
  void close() override {}

 private:
  WriteContainer& outer_;
  std::optional<Link> link_;
  Locator footer_;  // that the link points to
};

}  // namespace colonnade::container

#endif
