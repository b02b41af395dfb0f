// See rados_api.h.
#include "io/rados/rados_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "base/made_once.h"
#include "colonnade/error.h"

namespace colonnade::io {
namespace {

[[noreturn]] void fail_to_load(const std::string& reason) {
  throw Error(ErrorKind::unsupported,
              fmt::format("librados, the library of Ceph, cannot be used: {}", reason),
              "install it: the package librados2 of Debian and Ubuntu, librados2 of Fedora, or librados of "
              "conda-forge; "
              "LD_LIBRARY_PATH names the folder of one that is elsewhere");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* found = ::dlsym(library, name);
  if (found == nullptr) fail_to_load(fmt::format("it is older than version 14, it has no {}", name));
  function = reinterpret_cast<Function>(found);
}

}  // namespace

RadosApi load_rados(std::span<const char* const> libraries) {
  void* library = nullptr;
  std::string reason;
  for (const char* name : libraries) {
    // Never closed: its threads may be running when the process ends.
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* said = ::dlerror();
    if (reason.empty()) reason = said != nullptr ? said : fmt::format("{} does not exist", name);
  }
  if (library == nullptr) fail_to_load(reason);
  RadosApi api{};
  find(library, "rados_create2", api.create2);
  find(library, "rados_conf_read_file", api.conf_read_file);
  find(library, "rados_conf_parse_env", api.conf_parse_env);
  find(library, "rados_conf_set", api.conf_set);
  find(library, "rados_conf_get", api.conf_get);
  find(library, "rados_connect", api.connect);
  find(library, "rados_shutdown", api.shutdown);
  find(library, "rados_ioctx_create", api.ioctx_create);
  find(library, "rados_ioctx_destroy", api.ioctx_destroy);
  find(library, "rados_ioctx_set_namespace", api.ioctx_set_namespace);
  find(library, "rados_ioctx_locator_set_key", api.ioctx_locator_set_key);
  find(library, "rados_object_list_begin", api.object_list_begin);
  find(library, "rados_object_list_end", api.object_list_end);
  find(library, "rados_object_list_cursor_free", api.object_list_cursor_free);
  find(library, "rados_object_list_cursor_cmp", api.object_list_cursor_cmp);
  find(library, "rados_object_list_slice", api.object_list_slice);
  find(library, "rados_object_list", api.object_list);
  find(library, "rados_object_list_free", api.object_list_free);
  find(library, "rados_aio_create_completion2", api.aio_create_completion2);
  find(library, "rados_aio_get_return_value", api.aio_get_return_value);
  find(library, "rados_aio_get_version", api.aio_get_version);
  find(library, "rados_aio_cancel", api.aio_cancel);
  find(library, "rados_aio_release", api.aio_release);
  find(library, "rados_create_write_op", api.create_write_op);
  find(library, "rados_release_write_op", api.release_write_op);
  find(library, "rados_write_op_create", api.write_op_create);
  find(library, "rados_write_op_assert_version", api.write_op_assert_version);
  find(library, "rados_write_op_write_full", api.write_op_write_full);
  find(library, "rados_write_op_remove", api.write_op_remove);
  find(library, "rados_aio_write_op_operate", api.aio_write_op_operate);
  find(library, "rados_create_read_op", api.create_read_op);
  find(library, "rados_release_read_op", api.release_read_op);
  find(library, "rados_read_op_stat", api.read_op_stat);
  find(library, "rados_read_op_read", api.read_op_read);
  find(library, "rados_aio_read_op_operate", api.aio_read_op_operate);
  return api;
}

const RadosApi& rados_api() {
  static constexpr std::array names{"librados.so.2"};
  static MadeOnce<RadosApi> api;
  return api.get([] { return load_rados(names); });
}

}  // namespace colonnade::io
