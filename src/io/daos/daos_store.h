// daos://pool/container: an object store in a DAOS container.
//
// Keys are DAOS's own (objects with 64-bit distribution and attribute keys), values are single values. Values
// are compared and replaced in a transaction.
#ifndef COLONNADE_IO_DAOS_DAOS_STORE_H
#define COLONNADE_IO_DAOS_DAOS_STORE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/daos/daos_objects.h"
#include "io/object_store.h"

namespace colonnade::io {

// For the table of transports.
std::shared_ptr<ObjectStore> open_daos_store(const std::string& uri, const StoreOptions& options);

}  // namespace colonnade::io

namespace colonnade::io::daos {

class DaosStore final : public ObjectStore {
 public:
  DaosStore(const std::string& uri, const StoreOptions& options);
  ~DaosStore() override;

  const std::string& uri() const noexcept override { return uri_; }
  StoreTraits traits() const noexcept override;
  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override;
  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override;
  std::unique_ptr<ObjectQueue> open_queue(unsigned depth) override;
  std::optional<std::uint64_t> size(const ValueAddress& address) const override;
  std::optional<Versioned> get(const ValueAddress& address) const override;
  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override;
  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override;
  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override;
  void remove(const ValueAddress& address) override;
  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override;
  void sync() override;

  Session& session() const noexcept { return *session_; }
  Objects& objects() const noexcept { return *objects_; }

 private:
  std::optional<Bytes> whole(const std::shared_ptr<const Object>& object, const ValueAddress& address) const;
  std::vector<std::uint64_t> live_akeys(const std::shared_ptr<const Object>& object, const ObjectId& id,
                                        std::uint64_t dkey) const;

  const std::string uri_;
  std::shared_ptr<Session> session_;  // other stores of the container may have it, too
  std::unique_ptr<Objects> objects_;  // thread-safe, so const functions use it, too
};

}  // namespace colonnade::io::daos

#endif
