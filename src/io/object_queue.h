// An ObjectQueue for stores whose operations block: each operation in flight has a thread.
#ifndef COLONNADE_IO_OBJECT_QUEUE_H
#define COLONNADE_IO_OBJECT_QUEUE_H

#include <memory>

#include "io/object_store.h"

namespace colonnade::io {

// What it does is `store`'s fetch() and update(). With `depth` 1 or less they are called in submit_*(),
// without a thread.
std::unique_ptr<ObjectQueue> make_object_queue(ObjectStore& store, unsigned depth);

}  // namespace colonnade::io

#endif
