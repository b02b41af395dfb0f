// DataSetCursor: the columns of one open data set as Values, block by block.
//
// Rows become spans of elements per cluster; a list maps its spans to spans of its items, and so on
// down to the stored columns. The items of a list in a block are cached for other columns with the same
// ends.
#ifndef COLONNADE_FRAME_SOURCES_DATA_SET_CURSOR_H
#define COLONNADE_FRAME_SOURCES_DATA_SET_CURSOR_H

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "frame/sources/column_shape.h"
#include "frame/sources/page_reader.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

class DataSetCursor {
 public:
  DataSetCursor(std::unique_ptr<page::PageSource> source, std::shared_ptr<BorderPages> borders);
  ~DataSetCursor();
  DataSetCursor(const DataSetCursor&) = delete;
  DataSetCursor& operator=(const DataSetCursor&) = delete;

  page::PageSource& source() noexcept { return *source_; }
  void start(const PartEnds& part, bool goes_on);
  // Its first pages come with those of other columns; with `is_certain`, all that comes next does.
  void expect(const ColumnShape& shape, bool is_certain);
  // Rows of entries counted from the start of the data set. `column` is a number of the caller's for the
  // shape, which must stay.
  ValuesPtr read(std::uint32_t column, const ColumnShape& shape, const Rows& rows, std::uint64_t first,
                 BlockMemory& memory);

 private:
  using WantedRef = std::shared_ptr<const Wanted>;
  // The ends of some rows' lists, and their items.
  struct Lists {
    WantedRef of;
    const std::int64_t* offsets = nullptr;  // one more than `of` has elements, from 0 on
    std::shared_ptr<const void> owner;
    WantedRef items;
  };
  struct EndsReader {
    std::unique_ptr<PageReader> pages;
    PageReader* items = nullptr;  // gives the number of items; null: unknown
    std::uint64_t items_per_value = 1;
    std::uint32_t field = 0;
    std::vector<Lists> recent;  // in this block
  };
  // A shape with its readers.
  struct Bound {
    const ColumnShape* shape = nullptr;
    PageReader* pages = nullptr;  // of a scalar; of a text, the characters
    EndsReader* ends = nullptr;
    std::vector<Bound> children;
  };
  struct KnownRows {
    Rows rows;  // without indices
    std::vector<std::uint32_t> indices;
    WantedRef wanted;
  };

  PageReader& pages_of(const ColumnShape::StoredColumn& stored);
  EndsReader& ends_of(const ColumnShape& shape);
  Bound bind(const ColumnShape& shape);
  void begin_block(std::uint64_t first);
  WantedRef wanted_for(const Rows& rows, std::uint64_t first);

  ValuesPtr read(Bound& bound, const WantedRef& wanted, BlockMemory& memory);
  ValuesPtr read_scalars(PageReader& pages, const Wanted& wanted, BlockMemory& memory);
  ValuesPtr read_array(Bound& bound, const WantedRef& wanted, BlockMemory& memory);
  ValuesPtr read_variants(Bound& bound, const Wanted& wanted, BlockMemory& memory);
  [[noreturn]] void fail_variant(std::size_t cluster, const std::string& problem) const;
  ValuesPtr read_counts(Bound& bound, const WantedRef& wanted, BlockMemory& memory);
  const Lists& lists(EndsReader& reader, const WantedRef& wanted, BlockMemory& memory);
  std::uint64_t items_in(EndsReader& reader, std::size_t cluster);
  void add_scattered(EndsReader& reader, const Wanted& wanted, std::int64_t* out, Wanted& items);
  void add_lists(EndsReader& reader, const Span& span, std::int64_t*& out, std::int64_t& base, Wanted& items);

  std::unique_ptr<page::PageSource> source_;
  std::shared_ptr<BorderPages> borders_;
  PartEnds part_;
  using Key = std::pair<std::vector<std::uint32_t>, ElementType>;
  std::map<Key, std::unique_ptr<PageReader>> pages_;
  std::map<std::vector<std::uint32_t>, std::unique_ptr<EndsReader>> ends_;
  std::vector<std::unique_ptr<Bound>> columns_;
  std::uint64_t block_ = ~std::uint64_t{0};  // first entry
  std::vector<KnownRows> known_;             // of this block
};

}  // namespace colonnade::frame

#endif
