// ChainCursor: a worker's cursor in a chain; see chain.h.
#ifndef COLONNADE_FRAME_SOURCES_CHAIN_CURSOR_H
#define COLONNADE_FRAME_SOURCES_CHAIN_CURSOR_H

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/later_result.h"
#include "frame/sources/chain.h"
#include "frame/sources/data_set_cursor.h"
#include "page/cluster_pool.h"

namespace colonnade::frame {

class ChainCursor final : public Cursor {
 public:
  explicit ChainCursor(std::shared_ptr<const Chain> chain);
  ~ChainCursor() override;

  void start(const Part& part, std::span<const Part> next) override;
  void expect(std::span<const std::uint32_t> columns, std::span<const std::uint32_t> certain) override;
  void begin() override;
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override;
  std::uint64_t row_bytes(std::span<const std::uint32_t> columns) override;
  ReadMetrics metrics() const override;

 private:
  using NextFile = LaterResult<std::shared_ptr<const page::PageSource>>;

  void enter_file();
  void leave_file();
  // A file and a place in it.
  struct Open {
    std::shared_ptr<const page::PageSource> file;  // shared with other cursors
    std::unique_ptr<DataSetCursor> cursor;
  };
  Open open_file(unsigned sample) const;
  void open_ahead(unsigned sample);
  void open_next_file();
  std::span<const Part> next_in_file() const;
  std::span<const Part> next_in_other_file() const;
  void read_next_file_ahead();
  void look_ahead(bool goes_on);
  static void add_slices(const Descriptor& descriptor, std::uint64_t base, const Part& part,
                         std::vector<page::ClusterPool::ClusterSlice>& slices);

  std::shared_ptr<const Chain> chain_;
  Part part_;
  std::vector<Part> next_;
  bool is_started_ = false;
  Open in_;  // null: in no file
  // The file of the next part, being opened while this one is read, and what is on its way of it. Errors come
  // when it is entered.
  NextFile next_file_;
  std::optional<unsigned> ahead_of_;  // the sample of `ahead_`
  Open ahead_;
  std::vector<std::uint32_t> expected_;  // columns
  std::set<std::uint32_t> certain_;
  std::set<std::uint32_t> used_;
  ReadMetrics of_files_left_;
};

}  // namespace colonnade::frame

#endif
