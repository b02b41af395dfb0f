// Transactions of the stand-in, as in libdaos: changes stay with the client until they are committed; reads
// return the server's values at the transaction's epoch. If a later transaction has written or relied on a
// value, an earlier one cannot change it any more and must restart.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_TRANSACTIONS_H
#define COLONNADE_TESTS_DAOS_STANDIN_TRANSACTIONS_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "standin_data.h"

namespace standin {

class Transaction {
 public:
  Transaction(std::shared_ptr<Container> container, bool read_only);

  int fetch(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
            daos_iod_t* iods, d_sg_list_t* lists, std::uint64_t& bytes);
  int update(const ObjectHandle& object, std::uint64_t flags, const d_iov_t* dkey, unsigned count,
             daos_iod_t* iods, const d_sg_list_t* lists, std::uint64_t& bytes);
  int punch(const ObjectHandle& object);
  int commit();
  int abort();
  int restart();
  int close();  // 0: the handle is gone

 private:
  enum class State { open, committing, committed, aborted, failed };

  int check(const ObjectHandle& object, bool writes) const;
  int check_existence(const Change& change);
  bool may_write(const Change& change) const;
  int apply_all();
  Epoch epoch();

  std::mutex mutex_;
  std::shared_ptr<Container> container_;
  const bool read_only_;
  State state_ = State::open;
  Epoch epoch_ = 0;  // chosen at the first request to a server
  std::vector<Change> changes_;
};

}  // namespace standin

#endif
