// A ReadQueue for files that can only read one request at a time per thread: each request in flight has a
// thread, and who waits for one reads meanwhile what no thread has begun.
#ifndef COLONNADE_IO_THREAD_QUEUE_H
#define COLONNADE_IO_THREAD_QUEUE_H

#include <memory>

#include "io/random_access_file.h"

namespace colonnade::io {

// With `depth` 1 or less it reads in submit(), without a thread.
std::unique_ptr<ReadQueue> make_thread_queue(const RandomAccessFile& file, unsigned depth);

}  // namespace colonnade::io

#endif
