// Objects by id. The upper half of an id's high word says how an object is spread over the targets and
// replicated, and libdaos makes it from the class and from how many targets are up at that moment. Each group
// of objects therefore records the high word that its first writer was given, in an object of its own kind
// that everybody finds: all ids of the group are made of it, by whoever comes later, however many targets
// there are then.
//
// The directory (group 0), the records and the versions of values have a rule instead of a record: the
// container's redundancy and one group of targets, which do not depend on what is up.
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
  static constexpr std::size_t most_open = 256;     // handles that are kept
  static constexpr std::uint32_t most_groups = 32;  // by default: docs/decisions/0019-daos-object-ids.md

  // `object_class`: of groups that this process is the first to write; empty: the container's redundancy, and
  // spread over `most_groups` groups of targets or fewer. Throws ErrorKind::usage for a class that libdaos
  // does not know or the pool cannot serve now.
  Objects(std::shared_ptr<Session> session, const std::string& object_class);

  // Null if nothing was ever written to the group.
  std::shared_ptr<const Object> to_read(const ObjectId& id);
  // Records how the group is spread if this is the first time. Throws ErrorKind::io if the container is open
  // for reading alone.
  std::shared_ptr<const Object> to_write(const ObjectId& id);
  // A handle of its own, which is not kept. Null as above.
  std::shared_ptr<const Object> to_remove(const ObjectId& id);
  // The object with the versions of values in `id`, under their keys.
  std::shared_ptr<const Object> versions(const ObjectId& id);

  void check_writable() const;

 private:
  using Kept = std::list<std::pair<ObjectId, std::shared_ptr<const Object>>>;

  std::shared_ptr<const Object> kept(const ObjectId& id);
  void keep(const ObjectId& id, const std::shared_ptr<const Object>& object);
  std::shared_ptr<const Object> records();
  Oid new_id(Oid id, int type, std::uint32_t object_class, std::uint32_t hints) const;
  std::uint64_t new_high_word(std::uint32_t group) const;
  std::optional<std::uint64_t> high_word(std::uint32_t group);
  std::uint64_t high_word_to_write(std::uint32_t group);
  std::uint64_t parse_record(std::uint32_t group, ByteSpan record) const;
  std::shared_ptr<const Object> open(Oid oid, const std::string& what);
  std::shared_ptr<const Object> open_by_rule(Oid oid, int type, const std::string& what);

  std::shared_ptr<Session> session_;
  std::uint32_t class_ = class_by_hints;
  std::mutex mutex_;
  Kept kept_;  // the latest first
  std::map<ObjectId, Kept::iterator> by_id_;
  std::map<std::uint32_t, std::uint64_t> high_words_;  // by group
  std::shared_ptr<const Object> records_;
};

}  // namespace colonnade::io::daos

#endif
