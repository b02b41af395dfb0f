// Connections to Ceph clusters. A connection has a dozen threads and takes tens of milliseconds to make, so
// all stores of a process with the same access parameters share one.
#ifndef COLONNADE_IO_RADOS_RADOS_CLUSTER_H
#define COLONNADE_IO_RADOS_RADOS_CLUSTER_H

#include <memory>
#include <string>

#include "base/process.h"
#include "colonnade/error.h"
#include "io/rados/rados_api.h"
#include "io/rados/rados_place.h"

namespace colonnade::io {

// An error of librados: `code` is a negative errno. `doing` begins the problem: "object 1:2: the value cannot
// be read".
Error rados_error(int code, const std::string& doing, const std::string& uri);

class RadosCluster {
 public:
  // Throws ErrorKind::unsupported without librados, ErrorKind::io if the cluster cannot be reached, within a
  // timeout.
  static std::shared_ptr<RadosCluster> connect(const RadosPlace& place);

  RadosCluster(const RadosPlace& place);
  RadosCluster(const RadosCluster&) = delete;
  RadosCluster& operator=(const RadosCluster&) = delete;
  ~RadosCluster();

  const RadosApi& api() const noexcept { return *api_; }
  rados_t handle() const noexcept { return handle_; }
  // False in a child process, which lacks the connection's threads and must not even close it.
  bool is_usable() const noexcept;

 private:
  void configure(const RadosPlace& place);
  void set(const char* option, const std::string& value);

  const RadosApi* api_;
  rados_t handle_ = nullptr;
  const Process process_;
};

// A pool of a cluster, accessed through one namespace.
class RadosPool {
 public:
  // Throws ErrorKind::not_found for a missing pool. Objects with a `key` are all at the key's position in the
  // pool; without one, each is at the position of its name.
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
