// Connections to Ceph clusters. A connection has a dozen threads and takes tens of milliseconds to make, so
// that all stores of a process share it if they look for the cluster in the same way.
#ifndef COLONNADE_IO_RADOS_RADOS_CLUSTER_H
#define COLONNADE_IO_RADOS_RADOS_CLUSTER_H

#include <memory>
#include <string>

#include "base/process.h"
#include "colonnade/error.h"
#include "io/rados/rados_api.h"
#include "io/rados/rados_place.h"

namespace colonnade::io {

// What librados reported: `code` is an error number with a minus. `doing` begins the problem: "object 1:2:
// the value cannot be read".
Error rados_error(int code, const std::string& doing, const std::string& uri);

class RadosCluster {
 public:
  // Throws ErrorKind::unsupported without librados, ErrorKind::io if the cluster cannot be reached, all in
  // bounded time.
  static std::shared_ptr<RadosCluster> connect(const RadosPlace& place);

  RadosCluster(const RadosPlace& place);
  RadosCluster(const RadosCluster&) = delete;
  RadosCluster& operator=(const RadosCluster&) = delete;
  ~RadosCluster();

  const RadosApi& api() const noexcept { return *api_; }
  rados_t handle() const noexcept { return handle_; }
  // The threads of the connection are not in a child process, where it must not even be closed.
  bool is_usable() const noexcept;

 private:
  void configure(const RadosPlace& place);
  void set(const char* option, const std::string& value);

  const RadosApi* api_;
  rados_t handle_ = nullptr;
  const Process process_;
};

// A pool of a cluster, seen through one namespace.
class RadosPool {
 public:
  // Throws ErrorKind::not_found for a pool that is not there. Objects with a `key` lie all at one position of
  // the pool, that of the key; without, each at that of its name.
  RadosPool(std::shared_ptr<RadosCluster> cluster, const RadosPlace& place, std::string name_space,
            std::string key = {});
  RadosPool(const RadosPool&) = delete;
  RadosPool& operator=(const RadosPool&) = delete;
  ~RadosPool();

  const RadosApi& api() const noexcept { return cluster_->api(); }
  rados_ioctx_t handle() const noexcept { return handle_; }
  bool is_usable() const noexcept { return cluster_->is_usable(); }
  const std::string& uri() const noexcept { return uri_; }
  const std::string& name_space() const noexcept { return name_space_; }
  const std::string& key() const noexcept { return key_; }

 private:
  std::shared_ptr<RadosCluster> cluster_;
  rados_ioctx_t handle_ = nullptr;
  std::string uri_;
  std::string name_space_;
  std::string key_;
};

}  // namespace colonnade::io

#endif
