// See daos_api.h.
#include "io/daos/daos_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "colonnade/error.h"

namespace colonnade::io::daos {
namespace {

std::string loader_text() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

template <class Function>
void find(void* library, const std::string& path, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  if (function == nullptr)
    throw Error(ErrorKind::unsupported, fmt::format("the library {} has no function {}", path, symbol),
                "install the package daos-client of DAOS 2.4 or later, or set COLONNADE_LIBDAOS to its "
                "libdaos.so.2");
}

}  // namespace

std::string library_path() {
  const char* path = std::getenv("COLONNADE_LIBDAOS");
  return path != nullptr && *path != '\0' ? path : "libdaos.so.2";
}

Api load_api(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorKind::unsupported,
                fmt::format("DAOS needs the library {}, which cannot be loaded ({})", path, loader_text()),
                "install the package daos-client, or set COLONNADE_LIBDAOS to the path of its libdaos.so.2");
  Api api;
  find(library, path, "daos_init", api.init);
  find(library, path, "daos_fini", api.fini);
  find(library, path, "daos_pool_connect2", api.pool_connect);
  find(library, path, "daos_pool_disconnect", api.pool_disconnect);
  find(library, path, "daos_cont_create_with_label", api.cont_create);
  find(library, path, "daos_cont_open2", api.cont_open);
  find(library, path, "daos_cont_close", api.cont_close);
  find(library, path, "daos_obj_generate_oid2", api.obj_generate_oid);
  find(library, path, "daos_obj_open", api.obj_open);
  find(library, path, "daos_obj_close", api.obj_close);
  find(library, path, "daos_obj_update", api.obj_update);
  find(library, path, "daos_obj_fetch", api.obj_fetch);
  find(library, path, "daos_obj_punch", api.obj_punch);
  find(library, path, "daos_obj_list_dkey", api.obj_list_dkey);
  find(library, path, "daos_obj_list_akey", api.obj_list_akey);
  find(library, path, "daos_tx_open", api.tx_open);
  find(library, path, "daos_tx_commit", api.tx_commit);
  find(library, path, "daos_tx_restart", api.tx_restart);
  find(library, path, "daos_tx_close", api.tx_close);
  find(library, path, "daos_eq_create", api.eq_create);
  find(library, path, "daos_eq_destroy", api.eq_destroy);
  find(library, path, "daos_eq_poll", api.eq_poll);
  find(library, path, "daos_event_init", api.event_init);
  find(library, path, "daos_event_fini", api.event_fini);
  find(library, path, "daos_event_parent_barrier", api.event_parent_barrier);
  find(library, path, "daos_oclass_name2id", api.oclass_name2id);
  return api;
}

bool at_end(const Anchor& anchor) noexcept {
  // libdaos 2.x keeps the kind of position in the first two bytes; 3 is the end.
  std::uint16_t kind = 0;
  std::memcpy(&kind, anchor.opaque, sizeof kind);
  return kind == 3;
}

}  // namespace colonnade::io::daos
