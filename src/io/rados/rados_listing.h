// Lists the objects of a namespace. Ceph goes through all objects of a pool to find those of a namespace,
// unless they share a key: then they are at one position of the pool, and listing that is enough.
#ifndef COLONNADE_IO_RADOS_RADOS_LISTING_H
#define COLONNADE_IO_RADOS_RADOS_LISTING_H

#include <cstdint>
#include <functional>
#include <string_view>

#include "io/rados/rados_cluster.h"

namespace colonnade::io {

// Calls `visit` with the name of each object, in no particular order.
void list_rados_objects(const RadosPool& pool, const std::function<void(std::string_view name)>& visit);

// Ceph's hash of strings (Jenkins 1996): the position of an object in its pool is that of
// "<namespace>\x1f<key>". librados offers it only in its C++ interface, which cannot be loaded at run
// time.
std::uint32_t rados_hash(std::string_view text) noexcept;

}  // namespace colonnade::io

#endif
