// Queues for files and stores whose operations block: each operation in flight has a thread, and a waiting
// owner runs requests that no thread has begun.
#ifndef COLONNADE_IO_THREAD_QUEUE_H
#define COLONNADE_IO_THREAD_QUEUE_H

#include <memory>

#include "io/object_store.h"
#include "io/random_access_file.h"

namespace colonnade::io {

// They call read(), or fetch() and update(). With `depth` 1 or less, submit() does that itself, without
// threads.
std::unique_ptr<ReadQueue> make_thread_queue(const RandomAccessFile& file, unsigned depth);
std::unique_ptr<ObjectQueue> make_thread_queue(ObjectStore& store, unsigned depth);

}  // namespace colonnade::io

#endif
