// See linked.h.
#include "container/linked.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "codec/compression.h"
#include "format/tfile_anchor.h"

namespace colonnade::container {
namespace {

Anchor read_linked_anchor(const ReadContainer& outer, const AttributeSetRecord& link,
                          std::uint64_t max_key_size) {
  const Locator& at = link.anchor;
  const bool is_file = outer.locator_kind() == Locator::Kind::file;
  if (at.kind != outer.locator_kind())
    throw Error(ErrorKind::unsupported,
                fmt::format("the link to the anchor has a locator of type {:#04x}, which points outside of "
                            "the data set's storage",
                            at.raw_type),
                "open the data set through the store that it was written to");
  if (link.anchor_length < format::anchor_size || link.anchor_length > format::largest_anchor ||
      at.size == 0 || at.size > link.anchor_length)
    throw outer.locate(Error(ErrorKind::format, fmt::format("the link claims an anchor of {} bytes in {}",
                                                            link.anchor_length, at.size)),
                       at);
  outer.check_blob(at, max_key_size, "anchor");
  Bytes stored(static_cast<std::size_t>(at.size));
  outer.read_blob(at, max_key_size, stored);
  const std::uint64_t size = is_file ? outer.file().size() : std::numeric_limits<std::uint64_t>::max();
  try {
    if (stored.size() == link.anchor_length) return format::read_anchor(stored, at.offset, size);
    Bytes object(link.anchor_length);
    codec::decompress(stored, object);
    return format::read_anchor(object, at.offset, size);
  } catch (const Error& error) {
    throw outer.locate(error, at);
  }
}

class LinkedReader final : public ReadContainer {
 public:
  LinkedReader(std::shared_ptr<const ReadContainer> outer, const Anchor& anchor)
      : outer_(std::move(outer)), anchor_(anchor) {}

  const std::string& uri() const noexcept override { return outer_->uri(); }
  std::string version() const override { return outer_->version(); }
  Locator::Kind locator_kind() const noexcept override { return outer_->locator_kind(); }
  std::vector<std::string> data_sets() const override { return {}; }
  std::vector<ObjectEntry> objects() const override { return {}; }
  Anchor anchor(std::string_view) const override { return anchor_; }
  void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const override {
    outer_->read_blob(locator, max_key_size, into);
  }
  void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const override {
    outer_->read_blobs(blobs, max_key_size);
  }
  void check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const override {
    outer_->check_blob(locator, max_key_size, what);
  }
  Error locate(const Error& error, const Locator& locator) const override {
    return outer_->locate(error, locator);
  }
  const io::RandomAccessFile& file() const override { return outer_->file(); }
  std::shared_ptr<const ObjectPageFile> object_pages(const Descriptor& descriptor) const override {
    return outer_->object_pages(descriptor);
  }

 private:
  std::shared_ptr<const ReadContainer> outer_;
  Anchor anchor_;
};

}  // namespace

std::shared_ptr<const ReadContainer> open_linked(std::shared_ptr<const ReadContainer> outer,
                                                 const AttributeSetRecord& link, std::uint64_t max_key_size) {
  const Anchor anchor = read_linked_anchor(*outer, link, max_key_size);
  return std::make_shared<LinkedReader>(std::move(outer), anchor);
}

void LinkedWriter::replace(const Link& link, const Anchor& anchor) {
  link_ = link;
  footer_ = {.kind = link.anchor.kind, .size = anchor.footer_size, .offset = anchor.footer_offset};
}

void LinkedWriter::commit(const Anchor& anchor) {
  const Bytes bytes = format::write_anchor(anchor);
  const Locator at = outer_.write_blob(bytes, bytes.size());
  if (link_) {
    outer_.retire_blob(link_->anchor);
    outer_.retire_blob(footer_);
  }
  replace({.anchor = at, .length = static_cast<std::uint32_t>(bytes.size())}, anchor);
}

}  // namespace colonnade::container
