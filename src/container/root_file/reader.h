// Reading data sets that are embedded in a ROOT file.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_READER_H
#define COLONNADE_CONTAINER_ROOT_FILE_READER_H

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/container.h"
#include "format/tfile_records.h"

namespace colonnade::container {

class RootFileReader final : public ReadContainer {
 public:
  explicit RootFileReader(std::unique_ptr<io::RandomAccessFile> file);

  const std::string& uri() const noexcept override { return file_->uri(); }
  // See expect_many() below.
  void keep_keys() { known_.emplace(); }
  std::vector<std::string> data_sets() const override;
  std::vector<ObjectEntry> objects() const override;
  bool lists_objects() const noexcept override { return root_.seek_keys != 0; }
  std::vector<format::ClassInfo> class_infos(
      const std::function<bool(const std::string& name)>& is_wanted) const override;
  Anchor anchor(std::string_view path) const override;
  void visit_anchors(const AnchorVisitor& visitor) const override;
  void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const override;
  void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const override;
  const io::RandomAccessFile& file() const noexcept override { return *file_; }

 private:
  struct Walk;
  using Visitor = std::function<void(const std::string& path, const format::TKey& key)>;

  // A directory's keys by name, in the order of the list.
  struct KnownKeys;
  struct Known {
    std::mutex mutex;
    std::map<std::uint64_t, std::shared_ptr<const KnownKeys>> directories;  // by positions of their lists
  };

  std::vector<format::TKey> read_all_keys(
      const format::TDirectoryRecord& directory,
      const std::function<bool(const format::TKey&)>& is_wanted = {}) const;
  std::vector<format::TKey> keys_named(const format::TDirectoryRecord& directory,
                                       std::span<const std::string_view> names) const;
  std::vector<format::TKey> read_keys(const format::TDirectoryRecord& directory) const;
  format::TDirectoryRecord read_subdirectory(const format::TKey& key) const;
  void visit_all(const Visitor& visitor) const;
  void visit(const format::TDirectoryRecord& directory, const std::string& prefix, Walk& walk) const;
  std::optional<format::TKey> find(const format::TDirectoryRecord& directory, std::string_view path,
                                   std::optional<std::uint16_t> cycle = std::nullopt) const;
  Anchor read_anchor(const format::TKey& key) const;
  [[noreturn]] void fail_not_found(std::string_view path, const std::optional<format::TKey>& other) const;

  std::unique_ptr<io::RandomAccessFile> file_;
  std::uint64_t size_ = 0;
  format::TFileHeader header_;
  format::TDirectoryRecord root_;
  mutable std::optional<Known> known_;  // empty: nothing is kept
};

// Announces anchor() of many data sets: what lists them is kept in memory, instead of read for each. To be
// called before threads share the container.
void expect_many(ReadContainer& container);

}  // namespace colonnade::container

#endif
