// ChainCursor: a worker's place in a chain; see chain.h.
#ifndef COLONNADE_FRAME_SOURCES_CHAIN_CURSOR_H
#define COLONNADE_FRAME_SOURCES_CHAIN_CURSOR_H

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "frame/sources/chain.h"
#include "frame/sources/data_set_cursor.h"
#include "page/cluster_pool.h"

namespace colonnade::frame {

class ChainCursor final : public Cursor {
 public:
  explicit ChainCursor(std::shared_ptr<const Chain> chain);
  ~ChainCursor() override;

  void start(const Part& part, const Part* next) override;
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) override;
  std::uint64_t row_bytes(std::span<const std::uint32_t> columns) override;
  ReadMetrics metrics() const override;

 private:
  void enter_file();
  void leave_file();
  void open_next_file();
  void look_ahead(bool goes_on);
  void add_stretches(const Part& part, std::vector<page::ClusterPool::Stretch>& stretches) const;

  std::shared_ptr<const Chain> chain_;
  Part part_;
  std::optional<Part> next_;
  bool is_started_ = false;
  std::shared_ptr<const page::PageSource> file_;  // shared with other cursors
  // The file of the next part, being opened while this one is read. Errors come when it is entered.
  std::future<std::shared_ptr<const page::PageSource>> next_file_;
  std::unique_ptr<DataSetCursor> cursor_;  // in it
  ReadMetrics of_files_left_;
};

}  // namespace colonnade::frame

#endif
