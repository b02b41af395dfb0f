// The queue of an ObjectPageFile: turns reads into operations of the store. If the store has operations for
// several values, reads that are submitted together under one <object, distribution key> share one.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_READ_QUEUE_H
#define COLONNADE_CONTAINER_OBJECT_STORE_READ_QUEUE_H

#include <memory>

#include "container/object_store/page_file.h"
#include "io/object_store.h"

namespace colonnade::container {

// `operations` must have been opened for `depth` operations. The file must outlive the queue.
std::unique_ptr<io::ReadQueue> make_object_read_queue(const ObjectPageFile& file,
                                                      std::unique_ptr<io::ObjectQueue> operations,
                                                      const io::StoreTraits& traits, unsigned depth);

}  // namespace colonnade::container

#endif
