// The object store in a pool of a Ceph cluster: "rados://pool/namespace". Values are RADOS objects in the
// namespace. Those of group 0, the directory, have the locator key "directory", so that data sets are found
// without listing all objects of the pool; other listings must do that.
#ifndef COLONNADE_IO_RADOS_RADOS_STORE_H
#define COLONNADE_IO_RADOS_RADOS_STORE_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/object_store.h"
#include "io/rados/rados_cluster.h"

namespace colonnade::io {

class RadosStore final : public ObjectStore {
 public:
  explicit RadosStore(const RadosPlace& place);

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
  void sync() override {}  // Ceph answers when a value is on the disks of all replicas

  const RadosPool& pool_of(const ObjectId& object) const noexcept {
    return object.group == 0 ? directory_ : values_;
  }
  bool is_usable() const noexcept { return values_.is_usable(); }
  void require_usable() const;  // throws ErrorKind::usage in a child process

 private:
  void list(const RadosPool& pool, const std::function<void(const ValueAddress&)>& visit) const;

  std::string uri_;
  std::shared_ptr<RadosCluster> cluster_;
  RadosPool values_;
  RadosPool directory_;
};

std::shared_ptr<ObjectStore> open_rados_store(const std::string& uri, const StoreOptions& options);

}  // namespace colonnade::io

#endif
