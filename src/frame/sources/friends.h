// Friends: a source with other sources' columns in addition to its own, entry by entry, as in
// TTrees.
//
// Entries, parts and samples are those of the first source. A friend has equally many entries, but its
// own files, clusters and pages. A column "x" of the friend "f" is "f.x", and also "x" if that name is
// free.
#ifndef COLONNADE_FRAME_SOURCES_FRIENDS_H
#define COLONNADE_FRAME_SOURCES_FRIENDS_H

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frame/sources/source.h"

namespace colonnade::frame {

class Friends final : public Source, public std::enable_shared_from_this<Friends> {
 public:
  // Throws ErrorKind::usage for a friend with another number of entries, or for duplicate names.
  Friends(std::shared_ptr<Source> first, std::vector<NamedSource> others);

  std::uint64_t entries() const override { return first_->entries(); }
  std::span<const Sample> samples() const override { return first_->samples(); }
  // Throws ErrorKind::usage for a name that several friends have, unsupported for a column that some files of
  // a friend lack.
  std::optional<std::uint32_t> find(std::string_view path) override;
  const ValueType& type(std::uint32_t column) const override;
  const std::string& path(std::uint32_t column) const override { return columns_[column].path; }
  std::shared_ptr<const Field> stored_field(std::uint32_t column) const override {
    return sources_[columns_[column].source].source->stored_field(columns_[column].number);
  }
  bool has(std::uint32_t column, unsigned sample) const override;
  std::vector<std::string> names() const override;
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override {
    return first_->parts(first, last);
  }
  std::vector<std::uint64_t> stored_bytes(std::span<const Part> parts,
                                          std::span<const std::uint32_t> columns) const override;
  void prepare(std::span<const std::uint32_t> columns) override;
  std::size_t parts_ahead() const override;
  std::unique_ptr<Cursor> open() const override;
  std::string specification(bool with_index) const override;

  // [0]: the first source.
  const std::vector<NamedSource>& sources() const noexcept { return sources_; }

 private:
  friend class FriendsCursor;
  struct Column {
    std::string path;  // as requested
    std::size_t source = 0;
    std::uint32_t number = 0;  // in its own source
  };
  // Those of one source, by their numbers there.
  std::vector<std::uint32_t> columns_of(std::size_t source, std::span<const std::uint32_t> columns) const;
  std::optional<Column> find_in_friends(std::string_view path);
  std::optional<std::uint32_t> find_in(std::size_t source, std::string_view path);

  std::shared_ptr<Source> first_;
  std::vector<NamedSource> sources_;
  std::deque<Column> columns_;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> by_path_;
};

}  // namespace colonnade::frame

#endif
