// "s3://bucket/prefix": an object store in a bucket. Each value is an object of S3 with the key
//
//   prefix / group / number / distribution key / attribute key
//            8       16       16                 16              lower-case hexadecimal digits, all of them
//
// so that S3's order of keys is the order of numbers, no key is the "folder" of another, and no component is
// long. The version of a value is its ETag: a value that was replaced by the same bytes has not changed.
//
// A store makes nothing: the bucket must be there, the prefix is there as soon as it is named. It may be used
// in a forked child; a queue may not.
#ifndef COLONNADE_IO_S3_S3_STORE_H
#define COLONNADE_IO_S3_S3_STORE_H

#include <memory>
#include <string>

#include "io/object_store.h"

namespace colonnade::io {

std::shared_ptr<ObjectStore> open_s3_store(const std::string& uri, const StoreOptions& options);

}  // namespace colonnade::io

#endif
