// SealedPageStream: the sealed pages of a data set in bulk, cluster by cluster and column by column, each
// compared with its checksum.
//
//   cluster --plan--> pieces --(few large requests, ahead)--> bytes --threads--> verified [, converted] -->
//   next()
//
// A piece is some pages of one cluster that are moved together. Pages of a cluster that share their place are
// one part. Belongs to one thread at a time; the source must outlive it.
#ifndef COLONNADE_PAGE_PAGE_COPY_STREAM_H
#define COLONNADE_PAGE_PAGE_COPY_STREAM_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "io/read_scheduler.h"
#include "page/page_buffers.h"
#include "page/page_source.h"

namespace colonnade::page {

struct SealedPage {
  std::uint32_t column = 0;  // of the source
  std::uint32_t number = 0;  // among the pages of its column and cluster
  PageDescriptor description;
  ByteSpan stored;      // the block, and its checksum behind it if it has one
  AlignedBuffer other;  // memory for who changes `stored`
};

// The parts of a cluster, numbered in the order of columns and pages: `part_of` has one number per page.
struct ClusterParts {
  std::size_t cluster = 0;
  std::size_t parts = 0;
  std::vector<std::uint32_t> part_of;
};

struct SealedPiece {
  std::shared_ptr<const ClusterParts> cluster;
  std::size_t first_part = 0;  // that of pages[0]; the others follow
  bool ends_cluster = false;
  std::uint64_t stored_bytes = 0;
  std::vector<SealedPage> pages;
  std::vector<PageBuffers::Loan> memory;
};

struct StreamOptions {
  std::size_t first_cluster = 0;
  std::size_t end_cluster = 0;
  std::vector<bool> columns = {};   // which are wanted, by physical column
  bool shares_over_columns = true;  // pages of one place, whatever their columns, are one part
  bool merges = true;               // pages of one place are one part; else each page is
  bool reads = true;                // else pages have no bytes, and are not verified
  std::size_t piece_bytes = std::size_t{32} << 20;
  std::size_t pieces_ahead = 2;
  // Run for each page by any thread, after it was verified; may point `stored` to its `other`.
  std::function<void(SealedPage&)> convert = {};
  ThreadPool* pool = nullptr;  // null: the one that all share
  // Bytes that converting a page may need; 0 if it keeps the page as it is.
  std::function<std::uint64_t(std::uint32_t column, const PageDescriptor&)> converted_bytes = {};
};

// Pieces that wait for the thread that writes them.
inline constexpr std::size_t most_queued_pieces = 1;
// How a copy shares its memory: pieces being read, one that is handed over, and those being written.
StreamOptions stream_within(std::size_t memory, const PageSource& source, bool into_file,
                            bool compresses = false);
// The columns that have a target other than invalid_id.
std::vector<bool> wanted_columns(const std::vector<std::uint32_t>& target_of);

class SealedPageStream {
 public:
  SealedPageStream(const PageSource& source, StreamOptions options);
  ~SealedPageStream();
  SealedPageStream(const SealedPageStream&) = delete;
  SealedPageStream& operator=(const SealedPageStream&) = delete;

  // The next piece; null at the end. Throws what is wrong with the first page that cannot be had.
  std::shared_ptr<SealedPiece> next();
  // Keeps reading under way. Call it now and then while working on other things.
  void poll();

 private:
  struct Batch;
  template <class Work>
  void in_page(std::size_t cluster, std::uint32_t column, std::uint32_t number, Work&& work) const;
  void plan_cluster();
  void check_size(const PageDescriptor& page) const;
  bool start_piece();
  std::shared_ptr<SealedPiece> next_piece();
  io::ReadPlan plan_reads(Batch& batch) const;
  void start_reads(Batch& batch, const io::ReadPlan& plan);
  void fill();
  void read_and_check(Batch& batch, std::size_t extent);
  void check(SealedPage& page) const;
  void read_one(Batch& batch, SealedPage& page);

  const PageSource& source_;
  const StreamOptions options_;
  std::shared_ptr<PageBuffers> buffers_;
  std::unique_ptr<io::ReadScheduler> scheduler_;  // null: who checks pages reads them
  std::size_t next_cluster_;
  std::shared_ptr<ClusterParts> parts_;  // of the cluster that is being planned; null: none
  std::vector<SealedPage> planned_;      // its parts
  std::size_t next_part_ = 0;
  std::deque<std::unique_ptr<Batch>> ahead_;
};

}  // namespace colonnade::page

#endif
