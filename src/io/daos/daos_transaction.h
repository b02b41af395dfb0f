// What is read and written in a transaction happens at one moment, or not at all: that is how a value is
// compared and replaced. DAOS has no locks. Changes stay here until they are committed; a transaction that
// another one has overtaken is refused, and done again from its first call on. One whose process dies leaves
// nothing.
#ifndef COLONNADE_IO_DAOS_DAOS_TRANSACTION_H
#define COLONNADE_IO_DAOS_DAOS_TRANSACTION_H

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "io/daos/daos_session.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

// The open handle. Belongs to all calls that use it: one that was given up may still be served.
class TransactionHandle {
 public:
  explicit TransactionHandle(std::shared_ptr<Session> session);
  TransactionHandle(const TransactionHandle&) = delete;
  TransactionHandle& operator=(const TransactionHandle&) = delete;
  ~TransactionHandle();  // what was not committed never was
  Handle get() const noexcept { return handle_; }

 private:
  std::shared_ptr<Session> session_;
  Handle handle_;
};

class Transaction {
 public:
  // Thrown by all calls: another one was in the way, start again.
  struct Conflict {};

  // `action` is for messages: "replace object 1:2".
  Transaction(std::shared_ptr<Session> session, std::string action);

  // What was there when the transaction began; never what it wrote itself.
  std::optional<Bytes> read(const std::shared_ptr<const Object>& object, const ValueAddress& address);
  void write(const std::shared_ptr<const Object>& object, const ValueAddress& address, ByteSpan value);
  // Throws ErrorKind::io where nobody can say whether it was done: then it may have been.
  void commit();

  // After a conflict. Throws ErrorKind::io once they go on for longer than the timeout.
  void restart();

 private:
  std::shared_ptr<Session> session_;
  std::string action_;
  std::shared_ptr<const TransactionHandle> handle_;
  std::optional<std::chrono::steady_clock::time_point> first_conflict_;
};

// Calls `work` with a transaction, which it commits or leaves, again after each conflict.
template <class Work>
auto transact(std::shared_ptr<Session> session, std::string action, Work&& work) {
  Transaction transaction(std::move(session), std::move(action));
  while (true) {
    try {
      return work(transaction);
    } catch (const Transaction::Conflict&) {
      transaction.restart();
    }
  }
}

}  // namespace colonnade::io::daos

#endif
