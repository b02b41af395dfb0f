// The Ceph cluster started by tests/servers/run_with.py, and operations of tests on it.
#ifndef COLONNADE_IO_RADOS_RADOS_TEST_TOOLS_H
#define COLONNADE_IO_RADOS_RADOS_TEST_TOOLS_H

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "io/object_store.h"

namespace colonnade::io {

// The URI of an unused namespace; `options` such as "?timeout=2".
std::string fresh_rados_uri(const std::string& name, const std::string& options = {});
std::string ceph_pool();
std::string ceph_configuration();
pid_t ceph_osd();

// Runs a command and returns its output. Fails the test if it fails.
std::string output_of(const std::string& command);
// Client operations, counted by the OSD since it started.
struct CephCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};
CephCounts count_ceph_operations();

// While this lives, the OSD answers nothing, but keeps its connections open.
class StoppedOsd {
 public:
  StoppedOsd();
  StoppedOsd(const StoppedOsd&) = delete;
  StoppedOsd& operator=(const StoppedOsd&) = delete;
  ~StoppedOsd() { resume(); }
  void resume();
};

// While this lives, the cluster reports that it is full.
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
