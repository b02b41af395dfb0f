// ObjectPageFile: presents the pages of one data set in an object store as a file, which ClusterPool and
// ReadScheduler read like any other.
//
// Its offsets are virtual addresses. When the data set is opened, every value with pages gets a range of
// them, in the order of cluster, column and value:
//
//   - a value begins at a multiple of the read unit, so that what is worth one request lies in one unit: of a
//     value that can be read in parts as much as the pages were spliced for, else all of it;
//   - in stores whose operations take several values, small values of one <object, distribution key> follow
//     one another without a gap instead, so that one request covers many of them.
//
// The descriptor keeps the locators as they were written; place() returns the pages of a column with virtual
// addresses instead. Immutable once made; threads may share it.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_PAGE_FILE_H
#define COLONNADE_CONTAINER_OBJECT_STORE_PAGE_FILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "colonnade/descriptor.h"
#include "container/object_store/directory.h"
#include "io/object_store.h"
#include "io/random_access_file.h"

namespace colonnade::container {

class ObjectPageFile final : public io::RandomAccessFile {
 public:
  ObjectPageFile(std::shared_ptr<io::ObjectStore> store, AnchorRecord anchor, const Descriptor& descriptor);

  const std::string& uri() const noexcept override { return store_->uri(); }
  std::uint64_t size() const override { return end_; }
  io::IoTraits traits() const noexcept override { return io_traits_; }
  void read(std::uint64_t offset, MutableByteSpan into) const override;
  void read_vector(std::span<const io::ReadRequest> requests) const override;
  std::unique_ptr<io::ReadQueue> open_queue(unsigned depth) const override;
  void will_need(std::uint64_t offset, std::uint64_t size) const noexcept override;

  // The pages with their virtual addresses. A page outside of the object store, or with an invalid location,
  // gets a locator of Kind::unknown.
  PageList place(std::size_t cluster, std::uint32_t column, const PageList& pages) const;
  // "object 7:42, distribution key 3, attribute key 0, bytes 0 to 1032"
  std::string to_text(std::uint64_t offset, std::uint64_t size) const;
  // Throws ErrorKind::format if the values are shorter than the range needs, not_found if one is missing.
  void check(std::uint64_t offset, std::uint64_t size) const;

  // A part of a request: bytes of one value.
  struct ValueRange {
    io::ValueAddress value;
    std::uint64_t offset = 0;
    MutableByteSpan into;
  };
  // Throws ErrorKind::format if the range has bytes that are not pages.
  void split(std::uint64_t offset, MutableByteSpan into, std::vector<ValueRange>& parts) const;

 private:
  // A piece of the file: a value with its address in the file, and its location in the store.
  struct MappedValue {
    std::uint64_t begin = 0;
    std::uint64_t location = 0;  // of its first byte
    std::uint32_t length = 0;    // the bytes that hold pages
    std::uint32_t column = 0;
  };
  // The piece that contains a page, and the page's offset.
  struct PagePosition {
    std::uint64_t location = 0;  // of the piece
    std::uint64_t offset = 0;
  };

  bool place_of(const PageDescriptor& page, PagePosition& place) const noexcept;
  std::uint64_t unit_for(const Descriptor& descriptor) const;
  void lay_out(std::uint32_t column, const PageList& pages);
  bool follows(const MappedValue& piece, const MappedValue& previous) const noexcept;
  const MappedValue* piece_at(std::uint64_t offset) const noexcept;
  io::ValueAddress value_of(const MappedValue& piece) const noexcept;

  std::shared_ptr<io::ObjectStore> store_;
  AnchorRecord anchor_;
  io::StoreTraits store_traits_;
  io::IoTraits io_traits_;
  std::vector<MappedValue> pieces_;        // by address
  std::vector<std::size_t> first_column_;  // by cluster, index into first_pieces_
  std::vector<std::size_t> first_pieces_;  // by cluster and column, one more for the end
  std::uint64_t end_ = 0;
};

}  // namespace colonnade::container

#endif
