// Linked data sets: those that no directory lists, because the footer of another data set in the same file or
// object store says where their anchors lie. Attribute sets are such.
//
//   footer of "Events" --AttributeSetRecord--> anchor, 78 bytes in a blob --> header, footer, page lists,
//   pages
//
// The anchor has the bytes of a ROOT file's, whatever the container is. Header, footer and pages lie where
// those of the data set lie that links to them, with locators of the same kind.
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

// The container of one linked data set: everything is read from `outer`, that of the data set which links to
// it, and only the anchor comes from the link. `max_key_size`: that of the data set which links. Throws
// ErrorKind::format or unsupported for a link that leads to no anchor.
std::shared_ptr<const ReadContainer> open_linked(std::shared_ptr<const ReadContainer> outer,
                                                 const AttributeSetRecord& link, std::uint64_t max_key_size);

// Writes a linked data set into `outer`, which must outlive it. A commit makes nothing visible: it writes the
// anchor, and the link that leads there is for the next commit of `outer`.
class LinkedWriter final : public WriteContainer {
 public:
  explicit LinkedWriter(WriteContainer& outer) : outer_(outer) {}

  struct Link {
    Locator anchor;
    std::uint32_t length = 0;
  };
  // Of the last commit; nothing: there was none.
  const std::optional<Link>& link() const noexcept { return link_; }
  // What was there before, of a data set that goes on: the next commit replaces it.
  void replace(const Link& link, const Anchor& anchor);

  const std::string& uri() const noexcept override { return outer_.uri(); }
  Locator write_blob(ByteSpan payload, std::uint64_t uncompressed_length) override {
    return outer_.write_blob(payload, uncompressed_length);
  }
  std::vector<std::uint64_t> write_parts(std::span<const ByteSpan> parts) override {
    return outer_.write_parts(parts);
  }
  std::vector<std::uint64_t> write_pages(std::span<const PagePart> pages, ClusterPlace& cluster) override {
    return outer_.write_pages(pages, cluster);
  }
  std::vector<std::uint64_t> begin_pages(std::span<const PagePart> pages, ClusterPlace& cluster,
                                         std::shared_ptr<void> memory) override {
    return outer_.begin_pages(pages, cluster, std::move(memory));
  }
  Locator::Kind page_kind() const noexcept override { return outer_.page_kind(); }
  bool shares_pages() const noexcept override { return outer_.shares_pages(); }
  // Of clusters behind the last commit no ranges are known: there is nothing to find again.
  bool keeps_journal() const noexcept override { return false; }
  std::uint64_t max_key_size() const noexcept override { return outer_.max_key_size(); }
  void flush() override { outer_.flush(); }
  void retire_blob(const Locator& blob) override { outer_.retire_blob(blob); }
  void commit(const Anchor& anchor) override;
  void close() override {}

 private:
  WriteContainer& outer_;
  std::optional<Link> link_;
  Locator footer_;  // that the link leads to
};

}  // namespace colonnade::container

#endif
