// Reading data sets from an object store: lists them, and reads the blobs and pages of one. layout.h
// defines the layout. A reader of one data set stays with the generation that was committed when it was
// opened.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_READER_H
#define COLONNADE_CONTAINER_OBJECT_STORE_READER_H

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/container.h"
#include "container/object_store/directory.h"

namespace colonnade::container {

class ObjectContainerReader final : public ReadContainer {
 public:
  explicit ObjectContainerReader(std::shared_ptr<io::ObjectStore> store) : store_(std::move(store)) {}
  // `blobs`: the distribution key of the blobs.
  ObjectContainerReader(std::shared_ptr<io::ObjectStore> store, AnchorRecord record, std::uint64_t stamp = 0,
                        std::uint64_t blobs = 0)
      : store_(std::move(store)), record_(std::move(record)), stamp_(stamp), blobs_(blobs) {}

  const std::string& uri() const noexcept override { return store_->uri(); }
  std::string version() const override;
  Locator::Kind locator_kind() const noexcept override { return Locator::Kind::object64; }
  std::shared_ptr<const ReadContainer> of_data_set(std::string_view path) const override;
  std::vector<std::string> data_sets() const override;
  std::vector<ObjectEntry> objects() const override { return {}; }
  Anchor anchor(std::string_view path) const override;
  void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const override;
  void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const override;
  void check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const override;
  Error locate(const Error& error, const Locator& locator) const override;
  const io::RandomAccessFile& file() const override;
  std::shared_ptr<const ObjectPageFile> object_pages(const Descriptor& descriptor) const override;
  // Throws ErrorKind::not_found if nothing was ever written: object stores have no folder to be
  // missing.
  void check_is_there() const;

 private:
  PlaceRecord find(std::string_view path) const;
  io::ValueAddress blob(std::uint64_t number) const;
  void take_blobs(io::ObjectQueue& queue) const;

  std::shared_ptr<io::ObjectStore> store_;
  std::optional<AnchorRecord> record_;  // of this container's data set
  std::uint64_t stamp_ = 0;             // of its place record
  std::uint64_t blobs_ = 0;
};

}  // namespace colonnade::container

#endif
