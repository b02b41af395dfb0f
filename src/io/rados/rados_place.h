// What a URI of rados: says, and what the environment adds to it.
#ifndef COLONNADE_IO_RADOS_RADOS_PLACE_H
#define COLONNADE_IO_RADOS_RADOS_PLACE_H

#include <optional>
#include <string>
#include <string_view>

namespace colonnade::io {

// Which cluster, and as whom; the same for all stores that can share a connection.
struct RadosAccess {
  std::string cluster = "ceph";  // its name, for where its configuration is looked for
  std::string configuration;     // file; empty: where Ceph's tools look for it
  std::string user = "client.admin";
  std::optional<unsigned> timeout;  // seconds; nullopt: what the configuration says, or the default
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

// Of what CEPH_ARGS says, what must be known before there is a handle that can be told: -c, --conf, -n,
// --name,
// --id, --user, --cluster.
void apply_ceph_args(std::string_view arguments, RadosAccess& access);

}  // namespace colonnade::io

#endif
