// See threads.h.
#include "frame/executor/threads.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "base/thread_pool.h"

namespace colonnade::frame {

namespace {

// "max 100000" or "150000 100000": microseconds of processor time per microseconds.
double share_in(const std::string& path, double otherwise) {
  std::ifstream file(path);
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return otherwise;
  try {
    return std::min(otherwise, std::stod(quota) / period);
  } catch (const std::exception&) {  // no known format of the kernel
    return otherwise;
  }
}

// The path of this process in the version 2 hierarchy, as "0::/user.slice/x".
std::string control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return "/";
}

}  // namespace

unsigned usable_processors() {
  double share = ThreadPool::processors();
  std::string group = control_group();
  while (true) {  // a group's share is limited by its ancestors
    share = share_in("/sys/fs/cgroup" + group + "/cpu.max", share);
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos || group == "/" || group.empty()) break;
    group.resize(slash);
  }
  return static_cast<unsigned>(std::max(1.0, std::ceil(share)));
}

}  // namespace colonnade::frame
