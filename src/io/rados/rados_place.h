// The contents of a rados: URI, and what the environment adds to it.
#ifndef COLONNADE_IO_RADOS_RADOS_PLACE_H
#define COLONNADE_IO_RADOS_RADOS_PLACE_H

#include <optional>
#include <string>
#include <string_view>

namespace colonnade::io {

// Cluster and user; equal for all stores that can share a connection.
struct RadosAccess {
  std::string cluster = "ceph";  // its name, which determines the path of its configuration
  std::string configuration;     // file; empty: the default paths of Ceph's tools
  std::string user = "client.admin";
  std::optional<unsigned> timeout;  // seconds; nullopt: from the configuration, or the default
  friend bool operator==(const RadosAccess&, const RadosAccess&) = default;
};

struct RadosPlace {
  std::string uri;
  std::string pool;
  std::string name_space;
  RadosAccess access;
};

// "rados://pool/namespace?conf=/etc/ceph/ceph.conf&id=user&timeout=seconds", percent-encoded where needed;
// the query is optional. Throws ErrorKind::usage.
RadosPlace parse_rados_uri(const std::string& uri);

// Applies the part of CEPH_ARGS that is needed before there
// is a handle: -c, --conf, -n, --name, --id, --user,
// --cluster.
void apply_ceph_args(std::string_view arguments, RadosAccess& access);

}  // namespace colonnade::io

#endif
