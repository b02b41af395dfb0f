// Objects by id. The upper half of an id's high word determines how an object is spread over the targets
// and replicated; libdaos derives it from the class and from the number of targets that are up at that
// moment. Each group of objects therefore records the high word that its first writer got, in an object
// that every process finds: later processes use it for all ids of the group, however many targets are up
// then.
//
// The directory (group 0), the records and the versions of values follow a rule instead of a record: the
// container's redundancy and one group of targets, which do not depend on the targets that are up.
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

// Thread-safe.
class Objects {
 public:
  static constexpr std::size_t most_open = 256;     // handles kept open
  static constexpr std::uint32_t most_groups = 32;  // by default: docs/decisions/0019-daos-object-ids.md

  // `object_class`: for groups that this process is the first to write; empty: the container's redundancy,
  // spread over `most_groups` groups of targets or fewer. Throws ErrorKind::usage for a class that libdaos
  // does not know or the pool cannot serve now.
  Objects(std::shared_ptr<Session> session, const std::string& object_class);

  // Null if the group was never written to.
  std::shared_ptr<const Object> to_read(const ObjectId& id);
  // Records the spread of the group on first use. Throws ErrorKind::io if the container is open
  // read-only.
  std::shared_ptr<const Object> to_write(const ObjectId& id);
  // A separate handle, which is not kept. Null if the group was never written to.
  std::shared_ptr<const Object> to_remove(const ObjectId& id);
  // The object with the versions of the values in `id`, under the same keys.
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
  Kept kept_;  // most recently used first
  std::map<ObjectId, Kept::iterator> by_id_;
  std::map<std::uint32_t, std::uint64_t> high_words_;  // by group
  std::shared_ptr<const Object> records_;
};

}  // namespace colonnade::io::daos

#endif
