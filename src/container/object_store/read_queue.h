// The queue of an ObjectPageFile: reads become operations of the store, and what is asked for together and
// lies under one <object, distribution key> goes in one, where the store has operations for several values.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_READ_QUEUE_H
#define COLONNADE_CONTAINER_OBJECT_STORE_READ_QUEUE_H

#include <memory>

#include "container/object_store/page_file.h"
#include "io/object_store.h"

namespace colonnade::container {

// `operations` was opened for `depth` operations. The file must outlive the queue.
std::unique_ptr<io::ReadQueue> make_object_read_queue(const ObjectPageFile& file,
                                                      std::unique_ptr<io::ObjectQueue> operations,
                                                      const io::StoreTraits& traits, unsigned depth);

}  // namespace colonnade::container

#endif
