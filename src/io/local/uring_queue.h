// A ReadQueue over the kernel's own queue (io_uring): many requests in flight without a thread.
#ifndef COLONNADE_IO_LOCAL_URING_QUEUE_H
#define COLONNADE_IO_LOCAL_URING_QUEUE_H

#include <memory>

#include "io/local/local_reader.h"
#include "io/random_access_file.h"

namespace colonnade::io {

// Null if the kernel has no io_uring, denies it, or this library was built without; `code` (an errno) has the
// reason.
std::unique_ptr<ReadQueue> make_uring_queue(const LocalFile& file, unsigned depth, int& code);

}  // namespace colonnade::io

#endif
