// Objects by id. The class of an object (how it is spread and replicated) is part of its id in DAOS, so a
// reader must know it: each group records the class that its first writer chose, in an object of its own kind
// that every reader finds. The directory (group 0) always has the pool's default class.
#ifndef COLONNADE_IO_DAOS_DAOS_OBJECTS_H
#define COLONNADE_IO_DAOS_DAOS_OBJECTS_H

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "io/daos/daos_session.h"

namespace colonnade::io::daos {

// For any number of threads.
class Objects {
 public:
  static constexpr std::size_t most_open = 256;  // handles that are kept

  // `object_class`: of groups that this process is the first to write; empty: the pool's default. Throws
  // ErrorKind::usage for a class that libdaos does not know.
  Objects(std::shared_ptr<Session> session, const std::string& object_class);

  // Null if nothing was ever written to the group.
  std::shared_ptr<const Object> to_read(const ObjectId& id);
  // Records the class of the group if this is the first time. Throws ErrorKind::io if the container is open
  // for reading alone.
  std::shared_ptr<const Object> to_write(const ObjectId& id);
  // A handle of its own, which is not kept. Null as above.
  std::shared_ptr<const Object> to_remove(const ObjectId& id);
  // The object that serves to guard the changes of a value, one for all values with this hash.
  std::shared_ptr<const Object> guard(std::uint64_t hash);

  // The object with the versions of values in `id`, under their keys.
  std::shared_ptr<const Object> versions(const ObjectId& id);

  void check_writable() const;

 private:
  using Kept = std::list<std::pair<ObjectId, std::shared_ptr<const Object>>>;

  std::shared_ptr<const Object> kept(const ObjectId& id);
  void keep(const ObjectId& id, const std::shared_ptr<const Object>& object);
  std::shared_ptr<const Object> records();
  std::optional<std::uint32_t> class_of(std::uint32_t group);
  std::uint32_t class_to_write(std::uint32_t group);
  std::optional<std::uint32_t> recorded_class(std::uint32_t group);
  std::shared_ptr<const Object> open(Oid oid, int type, std::uint32_t object_class, const std::string& what);

  std::shared_ptr<Session> session_;
  std::uint32_t class_ = 0;
  std::string class_name_;
  std::mutex mutex_;
  Kept kept_;  // the latest first
  std::map<ObjectId, Kept::iterator> by_id_;
  std::map<std::uint32_t, std::uint32_t> classes_;  // by group
  std::shared_ptr<const Object> records_;
};

}  // namespace colonnade::io::daos

#endif
