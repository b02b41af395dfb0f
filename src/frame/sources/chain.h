// Chain: data sets one behind the other as one source.
//
// Each file is opened once for its schema and its number of entries. Files of the same schema share what was
// found out about it. Of short chains all files stay open; of long ones a file is open while some cursor is
// in it, and its metadata are kept as long as they are not too large all together.
#ifndef COLONNADE_FRAME_SOURCES_CHAIN_H
#define COLONNADE_FRAME_SOURCES_CHAIN_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/sources/border_pages.h"
#include "frame/sources/column_shape.h"
#include "frame/sources/parts.h"
#include "frame/sources/source.h"
#include "page/page_source.h"

namespace colonnade::frame {

class Chain final : public Source, public std::enable_shared_from_this<Chain> {
 public:
  // `uris` without wildcards.
  Chain(std::string name, std::vector<std::string> uris, ReadOptions options);

  std::uint64_t entries() const override;
  std::span<const Sample> samples() const override { return samples_; }
  std::optional<std::uint32_t> find(std::string_view path) override;
  const ValueType& type(std::uint32_t column) const override { return columns_[column].type; }
  const std::string& path(std::uint32_t column) const override { return columns_[column].path; }
  bool has(std::uint32_t column, unsigned sample) const override;
  std::vector<std::string> names() const override;
  std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const override;
  std::unique_ptr<Cursor> open() const override;
  std::string specification() const override;

  // Fields of any file that no column shows.
  std::vector<LeftOut> left_out() const;

  // The shape of a column in a sample; null where it is not there.
  const ColumnShape* shape(std::uint32_t column, unsigned sample) const;
  // A file for one more thread: opened if nobody has it open.
  std::shared_ptr<const page::PageSource> acquire(unsigned sample) const;
  // Whether acquire() would have to open the file.
  bool is_closed(unsigned sample) const;
  // What the cursors that are in the file have in common.
  std::shared_ptr<BorderPages> borders(unsigned sample) const;
  const ReadOptions& options() const noexcept { return options_; }

 private:
  struct File {
    std::string uri;
    std::string data_set;
    unsigned schema = 0;
    Anchor anchor;
    std::shared_ptr<Descriptor> descriptor;  // null: it would take too much memory
    std::shared_ptr<const page::PageSource> kept;
    mutable std::mutex mutex;  // for what follows
    mutable std::weak_ptr<const page::PageSource> current;
    mutable std::weak_ptr<BorderPages> borders;
    mutable std::vector<std::uint64_t> part_borders;  // empty: not known yet
  };
  struct Schema {
    Descriptor descriptor;  // fields and columns alone
    std::string uri;        // of the first file that has it
  };
  struct Column {
    std::string path;
    ValueType type;
    std::vector<std::optional<ColumnShape>> shapes;  // by schema
  };

  using OpenFile = std::shared_ptr<const page::PageSource>;
  void add_file(const std::string& uri, const OpenFile& source, bool keep);
  std::shared_ptr<const Descriptor> descriptor_of(unsigned sample) const;
  const std::vector<std::uint64_t>& part_borders_of(unsigned sample) const;
  unsigned schema_of(const page::PageSource& source);
  void check_compatible(const Schema& schema) const;

  std::string name_;
  std::uint64_t kept_bytes_ = 0;  // of descriptors
  PartLimits limits_ = PartLimits::of_process();
  ReadOptions options_;
  std::deque<File> files_;
  std::vector<Sample> samples_;
  std::deque<Schema> schemas_;
  std::map<std::string, unsigned> by_fingerprint_;
  std::deque<Column> columns_;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> by_path_;
};

}  // namespace colonnade::frame

#endif
