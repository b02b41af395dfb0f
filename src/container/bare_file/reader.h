// Reading a bare file: one data set without a ROOT file around it.
//
//    0  "rntuple", ROOT version 4, container version 4 (1), compression 4: big-endian
//   19  an anchor without its checksum, all zero but for its lengths
//   89  name: length 1, characters
//       anchor, as in tfile_anchor.h but with a little-endian checksum
//       blobs back to back, without keys
//
// Replacing the anchor is the commit. The anchor lies inside the first sector, so that no crash can tear it;
// a reader that reads it during a commit sees a wrong checksum and tries again.
#ifndef COLONNADE_CONTAINER_BARE_FILE_READER_H
#define COLONNADE_CONTAINER_BARE_FILE_READER_H

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "container/container.h"

namespace colonnade::container {

inline constexpr std::string_view bare_file_magic = "rntuple";
inline constexpr std::uint32_t bare_file_version = 1;
inline constexpr std::size_t bare_file_name_at = 89;

bool is_bare_file(ByteSpan first_bytes) noexcept;
// Whether a file that can be read, or one that is written, is a bare one.
template <class File>
bool begins_bare_file(const File& file) {
  std::array<std::byte, 8> magic{};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), magic.size()));
  file.read(0, MutableByteSpan(magic).first(count));
  return is_bare_file(ByteSpan(magic).first(count));
}

// The bytes before the anchor.
struct BareFileHead {
  std::string name;
  std::uint64_t anchor_at = 0;
};
inline constexpr std::size_t longest_bare_file_head = bare_file_name_at + 255;
// Parses the first bytes of a file, up to `longest_bare_file_head` of them.
BareFileHead read_bare_file_head(ByteSpan first_bytes);

class BareFileReader final : public ReadContainer {
 public:
  explicit BareFileReader(std::unique_ptr<io::RandomAccessFile> file);

  const std::string& uri() const noexcept override { return file_->uri(); }
  std::vector<std::string> data_sets() const override { return {head_.name}; }
  std::vector<ObjectEntry> objects() const override { return {}; }
  Anchor anchor(std::string_view path) const override;
  void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const override;
  void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const override;
  const io::RandomAccessFile& file() const noexcept override { return *file_; }

 private:
  std::unique_ptr<io::RandomAccessFile> file_;
  BareFileHead head_;
};

}  // namespace colonnade::container

#endif
