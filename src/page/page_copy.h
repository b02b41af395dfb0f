// Page copy: the sealed pages of one data set into another one, cluster by cluster, without decoding them.
//
//   SealedPageStream (reads ahead, verifies in the thread pool) --> queue --> writing thread: write_pages,
//   add_cluster
//
// Between files of the system pages that lie together, and stay as they are, are copied by the system, which
// shares their blocks where its file system can: they are read to be verified, and not written. Where they
// are not to be verified they are not even read.
//
// Reading and writing overlap; the thread that runs the copy also calls its watch.
#ifndef COLONNADE_PAGE_PAGE_COPY_H
#define COLONNADE_PAGE_PAGE_COPY_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "codec/compression.h"
#include "page/data_set_sink.h"
#include "page/page_copy_stream.h"

namespace colonnade::page {

// Elements of a column that a cluster of the source has not, and that are zero in the copy. They come before
// those that it has.
struct FilledColumn {
  std::uint32_t column = 0;  // of the sink
  std::uint64_t elements = 0;
};

struct PageCopyOptions {
  std::size_t memory = std::size_t{256} << 20;                 // bytes of pages under way
  bool add_checksums = true;                                   // to pages without
  std::optional<codec::CompressionSettings> compression = {};  // compress again
  // Where the sink has columns that the source has not, or has them in another order: all clusters get all
  // columns, those of no other name suppressed.
  bool is_mapped = false;
  // Then: what is to be filled in a cluster of the source. Called by the thread that writes, which is the
  // only one that calls it.
  std::function<std::vector<FilledColumn>(std::size_t cluster)> fill = {};
  // False: pages that the system copies as they are need not be read and compared with their checksums. What
  // passes through the process is checked in any case: it may get a new checksum, which would hide damage.
  bool check_pages = true;
  // Whose threads verify and compress; null: the one that all share.
  ThreadPool* pool = nullptr;
};

struct PageCopyCounts {
  std::uint64_t entries = 0;
  std::uint64_t clusters = 0;
  std::uint64_t pages = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;  // those included that the system copied
  std::uint64_t bytes_shared = 0;   // of them, those that both files have in the same blocks
};

// Copies the clusters from `first_cluster` on. `target_of`: by physical column of the source the column of
// the sink, which is in the same order unless they are mapped; invalid_id: not copied. Whatever fails in
// reading or writing is thrown when the other side has come to rest. False: `goes_on`, which is called
// several times per second, said so; the clusters that are complete by then are in the sink.
bool copy_pages(const PageSource& source, std::size_t first_cluster,
                const std::vector<std::uint32_t>& target_of, DataSetSink& sink,
                const PageCopyOptions& options, PageCopyCounts& counts, const std::function<bool()>& goes_on);

// Whether pages of this column can be compressed again: what they hold must be known.
bool can_recompress(const ColumnDescriptor& column) noexcept;

}  // namespace colonnade::page

#endif
