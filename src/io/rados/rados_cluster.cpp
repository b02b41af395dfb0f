// See rados_cluster.h.
#include "io/rados/rados_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "base/process.h"

namespace colonnade::io {
namespace {

// Long enough for a cluster that moves its data after a loss, short enough for a user to wait.
constexpr unsigned default_timeout = 60;  // seconds
constexpr unsigned connect_timeout = 30;

// An error before there is a connection, so that the configuration is the likely reason.
Error connect_error(int code, const RadosPlace& place) {
  const std::string problem = "the Ceph cluster cannot be reached";
  if (code == -ENOENT)
    return Error(
        ErrorKind::io, problem + ": no monitor is configured, or the user has no key there",
        "name a configuration file with \"mon host\" and \"keyring\" by CEPH_CONF or ?conf=, and the "
        "user by ?id=",
        {.uri = place.uri});
  return rados_error(code, problem, place.uri);
}

struct Advice {
  int code;
  ErrorKind kind;
  const char* name;
  const char* advice;
};

constexpr std::array advice_table{
    Advice{ENOENT, ErrorKind::not_found, "ENOENT", "check the pool and the namespace"},
    Advice{EPERM, ErrorKind::io, "EPERM", "check the user's capabilities with `ceph auth get client.USER`"},
    Advice{EACCES, ErrorKind::io, "EACCES",
           "check the user (?id=), its key (\"keyring\" in the configuration) and its capabilities"},
    Advice{ENOSPC, ErrorKind::io, "ENOSPC", "free space in the cluster (`ceph df`), then write again"},
    Advice{EDQUOT, ErrorKind::io, "EDQUOT",
           "the pool is full: remove data, raise its quota (`ceph osd pool get-quota`) or add space"},
    Advice{
        ETIMEDOUT, ErrorKind::io, "ETIMEDOUT",
        "check that monitors and OSDs are up (`ceph -s`) and can be reached; ?timeout= sets the timeout in "
        "seconds"},
    Advice{EIO, ErrorKind::io, "EIO",
           "the cluster could not read or write its disks: see `ceph health detail`"},
    Advice{EBUSY, ErrorKind::io, "EBUSY", "try again"},
    Advice{EAGAIN, ErrorKind::io, "EAGAIN", "try again"},
    Advice{ECANCELED, ErrorKind::io, "ECANCELED", "the operation was given up, or another writer was faster"},
    Advice{ESHUTDOWN, ErrorKind::io, "EBLOCKLISTED", "an administrator has shut this client out"},
    Advice{EMSGSIZE, ErrorKind::io, "EMSGSIZE",
           "raise osd_max_write_size and osd_max_object_size of the cluster"},
    Advice{EFBIG, ErrorKind::io, "EFBIG", "raise osd_max_write_size and osd_max_object_size of the cluster"},
    Advice{EOPNOTSUPP, ErrorKind::unsupported, "EOPNOTSUPP", "use a replicated pool"},
    Advice{ENOMEM, ErrorKind::resource, "ENOMEM", "close other data sets or use smaller values"},
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<RadosCluster>> clusters;
};

Registry& registry() {
  static PerProcess<Registry> registries;
  return registries.get();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string key_of(const RadosAccess& access) {
  const std::string seconds = access.timeout ? std::to_string(*access.timeout) : "";
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", access.cluster, access.configuration, access.user, seconds,
                     variable("CEPH_CONF"), variable("CEPH_ARGS"));
}

}  // namespace

Error rados_error(int code, const std::string& doing, const std::string& uri) {
  const int number = code < 0 ? -code : code;
  const auto* const known = std::find_if(advice_table.begin(), advice_table.end(),
                                         [&](const Advice& row) { return row.code == number; });
  const bool is_known = known != advice_table.end();
  const std::string name = is_known ? known->name : fmt::format("error {}", number);
  return Error(is_known ? known->kind : ErrorKind::io,
               fmt::format("{}: {} ({})", doing, std::generic_category().message(number), name),
               is_known ? known->advice : "see the state of the cluster with `ceph -s`", {.uri = uri});
}

std::shared_ptr<RadosCluster> RadosCluster::connect(const RadosPlace& place) {
  Registry& shared = registry();
  const std::string key = key_of(place.access);
  {
    const std::lock_guard lock(shared.mutex);
    if (const auto found = shared.clusters.find(key); found != shared.clusters.end())
      if (std::shared_ptr<RadosCluster> cluster = found->second.lock()) return cluster;
  }
  // Outside of the lock, since it may take long; two threads at the same time make two connections.
  auto cluster = std::make_shared<RadosCluster>(place);
  const std::lock_guard lock(shared.mutex);
  std::erase_if(shared.clusters, [](const auto& entry) { return entry.second.expired(); });
  shared.clusters[key] = cluster;
  return cluster;
}

RadosCluster::RadosCluster(const RadosPlace& place)
    : api_(&with_context({.uri = place.uri}, []() -> const RadosApi& { return rados_api(); })) {
  const RadosAccess& access = place.access;
  if (const int code = api_->create2(&handle_, access.cluster.c_str(), access.user.c_str(), 0); code != 0)
    throw rados_error(code, fmt::format("no connection can be made as \"{}\"", access.user), place.uri);
  try {
    configure(place);
    if (const int code = api_->connect(handle_); code != 0) throw connect_error(code, place);
  } catch (...) {
    api_->shutdown(handle_);
    throw;
  }
}

RadosCluster::~RadosCluster() {
  if (is_usable()) api_->shutdown(handle_);
}

bool RadosCluster::is_usable() const noexcept {
  return process_.is_current();
}

void RadosCluster::configure(const RadosPlace& place) {
  const std::string& file = place.access.configuration;
  const int code = api_->conf_read_file(handle_, file.empty() ? nullptr : file.c_str());
  const std::string named = file.empty() ? variable("CEPH_CONF") : file;
  // Without any file the environment may suffice; a file that was named must exist.
  if (code != 0 && !(code == -ENOENT && named.empty())) {
    const std::string problem = fmt::format("the configuration file \"{}\" of Ceph cannot be read: {}", named,
                                            std::generic_category().message(-code));
    throw Error(code == -ENOENT ? ErrorKind::not_found : ErrorKind::io, problem,
                "check CEPH_CONF, CEPH_ARGS or ?conf=", {.uri = place.uri});
  }
  api_->conf_parse_env(handle_, nullptr);
  // Errors are thrown, not printed.
  for (const char* option : {"log_to_stderr", "err_to_stderr"}) set(option, "false");
  const auto& timeout = place.access.timeout;
  set("client_mount_timeout", std::to_string(timeout.value_or(connect_timeout)));
  // By default Ceph never times out.
  for (const char* option : {"rados_osd_op_timeout", "rados_mon_op_timeout"}) {
    std::array<char, 64> configured{};
    double seconds = 0;
    const bool is_set =
        api_->conf_get(handle_, option, configured.data(), configured.size()) == 0 &&
        std::from_chars(configured.data(), configured.data() + configured.size(), seconds).ec ==
            std::errc() &&
        seconds > 0;
    if (timeout || !is_set) set(option, std::to_string(timeout.value_or(default_timeout)));
  }
}

void RadosCluster::set(const char* option, const std::string& value) {
  // Ignores options that this version of Ceph does not have.
  api_->conf_set(handle_, option, value.c_str());
}

RadosPool::RadosPool(std::shared_ptr<RadosCluster> cluster, const RadosPlace& place, std::string name_space,
                     std::string key)
    : cluster_(std::move(cluster)),
      uri_(place.uri),
      name_space_(std::move(name_space)),
      key_(std::move(key)) {
  const int code = cluster_->api().ioctx_create(cluster_->handle(), place.pool.c_str(), &handle_);
  if (code == -ENOENT)
    throw Error(
        ErrorKind::not_found, fmt::format("the Ceph cluster has no pool \"{}\"", place.pool),
        fmt::format(
            "`ceph osd pool ls` shows those that there are; an administrator creates one with `ceph osd "
            "pool create {}`",
            place.pool),
        {.uri = uri_});
  if (code != 0) throw rados_error(code, fmt::format("the pool \"{}\" cannot be opened", place.pool), uri_);
  api().ioctx_set_namespace(handle_, name_space_.c_str());
  if (!key_.empty()) api().ioctx_locator_set_key(handle_, key_.c_str());
}

RadosPool::~RadosPool() {
  if (is_usable()) api().ioctx_destroy(handle_);
}

}  // namespace colonnade::io
