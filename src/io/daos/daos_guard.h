// A lock between processes, kept in the container: who inserts the token of a guard object has it. It is held
// for two calls, to compare a value and replace it, which DAOS cannot do in one. The token of a process that
// died stays; who sees the same token for as long as a call of its owner may take removes it.
#ifndef COLONNADE_IO_DAOS_DAOS_GUARD_H
#define COLONNADE_IO_DAOS_DAOS_GUARD_H

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "io/daos/daos_objects.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

class Guard {
 public:
  Guard(Session& session, Objects& objects, const ValueAddress& address);  // waits until nobody else has it
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();
  const Bytes& token() const noexcept { return token_; }  // random, of this guard alone

 private:
  bool insert();
  std::optional<Bytes> token_there() const;
  void remove();

  Session* session_;
  std::shared_ptr<const Object> object_;
  ValueAddress address_;
  Bytes token_;
};

}  // namespace colonnade::io::daos

#endif
