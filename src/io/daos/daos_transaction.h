// Reads and writes of a transaction happen at one moment, or not at all: this implements conditional
// replacement. DAOS has no locks. Changes stay in memory until they are committed; a transaction that
// conflicts with another one is refused and restarted from its first call. A transaction whose process dies
// leaves nothing.
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

// The open handle. All calls that use it share ownership: a call that timed out may still run.
class TransactionHandle {
 public:
  explicit TransactionHandle(std::shared_ptr<Session> session);
  TransactionHandle(const TransactionHandle&) = delete;
  TransactionHandle& operator=(const TransactionHandle&) = delete;
  ~TransactionHandle();  // uncommitted changes are lost
  Handle get() const noexcept { return handle_; }

 private:
  std::shared_ptr<Session> session_;
  Handle handle_;
};

class Transaction {
 public:
  // Thrown by all calls after a conflict with another transaction: restart.
  struct Conflict {};

  // `action` is for messages: "replace object 1:2".
  Transaction(std::shared_ptr<Session> session, std::string action);

  // The value at the beginning of the transaction; never one that it wrote itself.
  std::optional<Bytes> read(const std::shared_ptr<const Object>& object, const ValueAddress& address);
  void write(const std::shared_ptr<const Object>& object, const ValueAddress& address, ByteSpan value);
  // Throws ErrorKind::io if the outcome is unknown: it may have been committed.
  void commit();

  // After a conflict. Throws ErrorKind::io if conflicts last longer than the timeout.
  void restart();

 private:
  std::shared_ptr<Session> session_;
  std::string action_;
  std::shared_ptr<const TransactionHandle> handle_;
  std::optional<std::chrono::steady_clock::time_point> first_conflict_;
};

// Calls `work` with a transaction, which it commits or drops, and again after each conflict.
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
