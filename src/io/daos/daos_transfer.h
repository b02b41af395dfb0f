// Fetches and updates of several values of one <object, distribution key>: one call of libdaos with all
// attribute keys, or some calls if there are very many.
//
// All values are single values of DAOS: they are replaced as a whole and know their size, but cannot be read
// in part, so a fetch transfers the whole value. An empty value cannot be stored, since writing one removes
// the value; a reserved value of 16 bytes represents it.
#ifndef COLONNADE_IO_DAOS_DAOS_TRANSFER_H
#define COLONNADE_IO_DAOS_DAOS_TRANSFER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/daos/daos_session.h"
#include "io/daos/daos_transaction.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

inline constexpr std::size_t most_keys_per_call = 128;  // calls with very many attribute keys scale poorly
inline constexpr std::size_t most_bytes_per_call = std::size_t{64} << 20;  // unless one value is larger
inline constexpr std::size_t largest_value = std::size_t{256} << 20;
inline constexpr std::size_t empty_mark_size = 16;

bool is_empty_mark(ByteSpan stored) noexcept;

// Common base of fetches and updates: values, grouped into calls.
class Transfer : public Operation {
 public:
  using InTransaction = std::shared_ptr<const TransactionHandle>;  // null: no transaction

  Transfer(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
           InTransaction transaction = nullptr)
      : object_(std::move(object)), id_(id), dkey_(dkey), transaction_(std::move(transaction)) {}
  std::size_t calls() const override { return pending_.size(); }
  // Throws what went wrong.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  // True if the transaction must restart; there was no other error.
  bool conflict() const noexcept { return conflict_; }

 protected:
  struct Value {
    std::uint64_t akey = 0;
    std::uint64_t size = 0;  // of the value, or requested from a buffer
    std::size_t offset = 0;  // in the buffer of its call
    std::size_t capacity = 0;
    std::uint64_t flags = 0;
  };
  struct Call {
    std::size_t first = 0;
    std::size_t count = 0;
    Buffer buffer;
    bool sizes_only = false;
  };

  ValueAddress address_of(const Value& value) const { return {id_, dkey_, value.akey}; }
  const std::string& uri() const { return object_->session().uri(); }
  Handle transaction() const { return transaction_ ? transaction_->get() : no_transaction; }
  bool is_conflict(int result);
  void split_into_calls();
  void take_buffer(Call& call);
  void prepare(Call& call);
  std::byte* data_of(const Call& call, const Value& value) const { return call.buffer.data() + value.offset; }
  const Call& call_of(std::size_t value) const;

  std::shared_ptr<const Object> object_;
  ObjectId id_;
  std::uint64_t dkey_ = 0;
  InTransaction transaction_;
  Iov dkey_iov_;
  std::vector<Value> values_;
  std::vector<Iod> iods_;
  std::vector<Iov> iovs_;
  std::vector<SgList> lists_;
  std::vector<Call> all_;
  std::vector<std::size_t> pending_;  // of all_: to be launched
  std::exception_ptr failure_;
  bool conflict_ = false;
};

class Update final : public Transfer {
 public:
  Update(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
         std::span<const UpdateItem> items, std::uint64_t flags = 0, InTransaction transaction = nullptr);
  int launch(const Api& api, std::size_t call, Event* event) noexcept override;
  bool finish(std::span<const int> results) override;
  bool refused() const noexcept { return refused_; }  // because the key exists

 private:
  std::uint64_t flags_ = 0;
  bool refused_ = false;
};

class Removal final : public Transfer {
 public:
  Removal(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey, std::uint64_t akey);
  int launch(const Api& api, std::size_t call, Event* event) noexcept override;
  bool finish(std::span<const int> results) override;
};

class Fetch final : public Transfer {
 public:
  Fetch(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
        std::span<const FetchItem> items, InTransaction transaction = nullptr);
  int launch(const Api& api, std::size_t call, Event* event) noexcept override;
  bool finish(std::span<const int> results) override;
  void copy_out() const;  // throws the error, or if a value ends too early
  // For a fetch of one value with an item of any size: nullopt if it does not exist.
  std::optional<Bytes> whole() const;

 private:
  bool grow(Call& call);
  void note_failure(const Call& call, int result);
  bool look_for_missing();
  ByteSpan content(std::size_t value) const;

  std::vector<FetchItem> items_;
  std::vector<std::size_t> value_of_item_;
  unsigned rounds_ = 0;
  bool missing_ = false;
  bool looks_for_missing_ = false;
};

// Sizes of values; 0: missing. An empty value has the size of its mark here.
class SizeQuery final : public Transfer {
 public:
  SizeQuery(std::shared_ptr<const Object> object, const ObjectId& id, std::uint64_t dkey,
            std::span<const std::uint64_t> akeys);
  int launch(const Api& api, std::size_t call, Event* event) noexcept override;
  bool finish(std::span<const int> results) override;
  std::vector<std::uint64_t> sizes() const;
};

}  // namespace colonnade::io::daos

#endif
