// The Ceph that tests/servers/run_with.py has started, and what tests do to it.
#ifndef COLONNADE_IO_RADOS_RADOS_TEST_TOOLS_H
#define COLONNADE_IO_RADOS_RADOS_TEST_TOOLS_H

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "io/object_store.h"

namespace colonnade::io {

// Of a namespace that nobody has used; `options` such as "?timeout=2".
std::string fresh_rados_uri(const std::string& name, const std::string& options = {});
std::string ceph_pool();
std::string ceph_configuration();
pid_t ceph_osd();

// Runs a command; what it printed. Fails the test if it fails.
std::string output_of(const std::string& command);
// By the OSD's own count since it started: operations of clients.
struct CephCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};
CephCounts count_ceph_operations();

// The OSD answers nothing while this lives, with its connections open.
class StoppedOsd {
 public:
  StoppedOsd();
  StoppedOsd(const StoppedOsd&) = delete;
  StoppedOsd& operator=(const StoppedOsd&) = delete;
  ~StoppedOsd() { resume(); }
  void resume();
};

// The cluster believes that it has no space while this lives.
class FullCluster {
 public:
  FullCluster();
  FullCluster(const FullCluster&) = delete;
  FullCluster& operator=(const FullCluster&) = delete;
  ~FullCluster() { end(); }
  void end();

 private:
  bool is_over_ = false;
};

void put(ObjectStore& store, const ValueAddress& address, ByteSpan value);
Bytes read(const ObjectStore& store, const ValueAddress& address, std::size_t size, std::uint64_t offset = 0);

}  // namespace colonnade::io

#endif
