// Listing the keys of an object.
#ifndef COLONNADE_IO_DAOS_DAOS_LIST_H
#define COLONNADE_IO_DAOS_DAOS_LIST_H

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/daos/daos_session.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

// The distribution keys of the object, or the attribute keys under `dkey`, in ascending order; includes keys
// whose values were removed.
std::vector<std::uint64_t> list_keys(Session& session, const std::shared_ptr<const Object>& object,
                                     const ObjectId& id, std::optional<std::uint64_t> dkey);

}  // namespace colonnade::io::daos

#endif
