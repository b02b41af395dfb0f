// One operation of the rados store from its caller's view: the values, and the error if it failed.
#ifndef COLONNADE_IO_RADOS_RADOS_OPERATION_H
#define COLONNADE_IO_RADOS_RADOS_OPERATION_H

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/object_store.h"
#include "io/rados/rados_batch.h"

namespace colonnade::io {

// The name of a value's RADOS object: "<group>.<number>.<dkey>.<akey>", hexadecimal, of fixed
// width.
std::string rados_name(const ValueAddress& address);
// The inverse of rados_name(); nullopt for other names.
std::optional<ValueAddress> parse_rados_name(std::string_view name);

// Must live until it is complete, like its batch.
class RadosOperation {
 public:
  RadosOperation(const RadosPool& pool, RadosBatch::Done done)
      : pool_(&pool), batch_(pool, std::move(done)) {}

  // Start the operation; once. They throw only if nothing is in flight.
  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items);
  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items);
  // To be called when it is complete. Throws its error.
  void check() const;
  RadosBatch& batch() noexcept { return batch_; }

 private:
  struct Asked {
    std::uint64_t offset;
    std::uint64_t size;
  };
  struct Value {
    ValueAddress address;
    const RadosBatch::Operation* operation;
    std::vector<Asked> ranges;
  };
  void fetch_value(const ValueAddress& address, std::span<const FetchItem* const> items);
  void check(const Value& value) const;

  const RadosPool* pool_;
  RadosBatch batch_;
  std::vector<Value> values_;
  std::exception_ptr failure_;
};

}  // namespace colonnade::io

#endif
