// The functions of libdaos, except for events: handles, and the checks of each call before it becomes a
// request.
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "standin.h"
#include "standin_data.h"
#include "standin_knobs.h"
#include "standin_server.h"
#include "standin_transactions.h"

namespace standin {
namespace {

struct PoolHandle {
  std::shared_ptr<Pool> pool;
  bool writable = false;
  std::atomic<int> containers{0};
};

struct ContHandle {
  std::shared_ptr<Container> container;
  std::shared_ptr<PoolHandle> pool;
  bool writable = false;
  std::atomic<int> objects{0};
};

struct OpenObject {
  ObjectHandle object;
  std::shared_ptr<ContHandle> container;
};

using Any = std::variant<std::shared_ptr<PoolHandle>, std::shared_ptr<ContHandle>,
                         std::shared_ptr<OpenObject>, std::shared_ptr<Transaction>>;

struct Handles {
  std::shared_mutex mutex;
  std::unordered_map<std::uint64_t, Any> all;
  std::uint64_t next = 0x1000;
};

Handles& handles() {
  static Handles& handles = *new Handles;
  return handles;
}

template <class Kind>
daos_handle_t add(std::shared_ptr<Kind> what) {
  const std::unique_lock lock(handles().mutex);
  handles().all[++handles().next] = std::move(what);
  return {handles().next};
}

template <class Kind>
std::shared_ptr<Kind> find(daos_handle_t handle) {
  const std::shared_lock lock(handles().mutex);
  const auto found = handles().all.find(handle.cookie);
  if (found == handles().all.end()) return nullptr;
  const auto* kind = std::get_if<std::shared_ptr<Kind>>(&found->second);
  return kind == nullptr ? nullptr : *kind;
}

void drop(daos_handle_t handle) {
  const std::unique_lock lock(handles().mutex);
  handles().all.erase(handle.cookie);
}

std::atomic<pid_t> process{0};  // that is initialised

// libdaos does not work in a child process; the real one hangs there, this one reports an error.
bool ready() {
  if (process != 0 && process != ::getpid()) {
    std::fprintf(stderr, "libdaos stand-in: used in a forked process\n");
    std::abort();
  }
  return process != 0;
}

void add_pools_of_environment() {
  const char* text = std::getenv("COLONNADE_STANDIN_POOLS");
  if (text == nullptr) return;
  std::istringstream list(text);
  for (std::string label; std::getline(list, label, ',');) Data::get().add_pool(label, new_uuid());
}

// Labels that look like a uuid, or have invalid characters, are refused.
bool is_label(const std::string& label) {
  if (label.empty() || label.size() > 127) return false;
  const bool dashes = label.size() == 36 && label[8] == '-' && label[13] == '-' && label[18] == '-';
  for (char letter : label)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && std::strchr("._:-", letter) == nullptr)
      return false;
  return !dashes;
}

int create_container(Pool& pool, const std::string& label) {
  if (!is_label(label)) return inval;
  if (find_container(pool, label)) return exist;
  auto container = std::make_shared<Container>();
  container->label = label;
  container->uuid = new_uuid();
  for (const auto& owner : Data::get().pools())
    if (owner.get() == &pool) container->pool = owner;
  const std::lock_guard lock(pool.mutex);
  for (const auto& other : pool.containers)
    if (other->label == label) return exist;
  pool.containers.push_back(std::move(container));
  return 0;
}

int destroy_container(Pool& pool, const std::string& name, bool force) {
  const auto container = find_container(pool, name);
  if (!container) return nonexist;
  if (container->open > 0 && !force) return busy;
  const std::lock_guard lock(pool.mutex);
  std::erase(pool.containers, container);
  pool.used -= container->used;
  return 0;
}

// Needs no engine, but has an event like other requests.
int local_request(const char* call, daos_event_t* event, Work work) {
  if (event != nullptr) return request(call, event, std::move(work));
  std::uint64_t bytes = 0;
  const int code = fault(call);
  return code != 0 ? code : work(bytes);
}

}  // namespace
}  // namespace standin

using namespace standin;

extern "C" {

int daos_init() {
  read_environment();
  if (const int code = fault("init"); code != 0) return code;
  if (process.exchange(::getpid()) == 0) {
    Memory::get().prefault(static_cast<std::size_t>(knobs().prefault_mb) << 20U);
    if (const char* file = std::getenv("COLONNADE_STANDIN_FILE")) Data::get().load(file);
    add_pools_of_environment();
  }
  ++counters().inits;
  return 0;
}

int daos_fini() {
  if (!ready()) return uninit;
  if (const char* file = std::getenv("COLONNADE_STANDIN_FILE")) Data::get().save(file);
  process = 0;
  ++counters().finis;
  return 0;
}

int daos_pool_connect2(const char* name, const char*, unsigned flags, daos_handle_t* handle, void*,
                       daos_event_t* event) {
  if (!ready()) return uninit;
  if (name == nullptr || handle == nullptr || (flags != 1 && flags != 2)) return inval;
  return request("pool_connect", event, [name, flags, handle](std::uint64_t&) {
    const auto pool = Data::get().find_pool(name);
    if (!pool) return nonexist;
    if (flags == 2 && knobs().pool_read_only != 0) return no_perm;
    auto opened = std::make_shared<PoolHandle>();
    opened->pool = pool;
    opened->writable = flags == 2;
    *handle = add(std::move(opened));
    ++counters().pools_open;
    return 0;
  });
}

int daos_pool_disconnect(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return request("pool_disconnect", event, [handle](std::uint64_t&) {
    const auto pool = find<PoolHandle>(handle);
    if (!pool) return no_hdl;
    if (pool->containers > 0) return busy;
    drop(handle);
    --counters().pools_open;
    return 0;
  });
}

int daos_cont_create_with_label(daos_handle_t handle, const char* label, void*, unsigned char*,
                                daos_event_t* event) {
  if (!ready()) return uninit;
  if (label == nullptr) return inval;
  return request("cont_create", event, [handle, label](std::uint64_t&) {
    const auto pool = find<PoolHandle>(handle);
    if (!pool) return no_hdl;
    if (!pool->writable) return no_perm;
    return create_container(*pool->pool, label);
  });
}

int daos_cont_open2(daos_handle_t handle, const char* name, unsigned flags, daos_handle_t* out, void*,
                    daos_event_t* event) {
  if (!ready()) return uninit;
  if (name == nullptr || out == nullptr || (flags != 1 && flags != 2)) return inval;
  return request("cont_open", event, [=](std::uint64_t&) {
    const auto pool = find<PoolHandle>(handle);
    if (!pool) return no_hdl;
    auto container = find_container(*pool->pool, name);
    if (!container) return nonexist;
    if (flags == 2 && (!pool->writable || knobs().cont_read_only != 0)) return no_perm;
    auto opened = std::make_shared<ContHandle>();
    ++container->open;
    opened->container = std::move(container);
    opened->pool = pool;
    opened->writable = flags == 2;
    ++pool->containers;
    *out = add(std::move(opened));
    ++counters().conts_open;
    return 0;
  });
}

int daos_cont_close(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return request("cont_close", event, [handle](std::uint64_t&) {
    const auto container = find<ContHandle>(handle);
    if (!container) return no_hdl;
    if (container->objects > 0) ++counters().order_violations;
    --container->container->open;
    --container->pool->containers;
    drop(handle);
    --counters().conts_open;
    return 0;
  });
}

int daos_cont_destroy2(daos_handle_t handle, const char* name, int force, daos_event_t* event) {
  if (!ready()) return uninit;
  if (name == nullptr) return inval;
  return request("cont_destroy", event, [=](std::uint64_t&) {
    const auto pool = find<PoolHandle>(handle);
    if (!pool) return no_hdl;
    return pool->writable ? destroy_container(*pool->pool, name, force != 0) : no_perm;
  });
}

int daos_obj_generate_oid2(daos_handle_t handle, daos_obj_id_t* oid, int type, std::uint32_t object_class,
                           std::uint16_t hints, std::uint32_t args) {
  if (!ready()) return uninit;
  if (const int code = fault("generate_oid"); code != 0) return code;
  if (!find<ContHandle>(handle)) return no_hdl;
  if (oid == nullptr || args != 0) return inval;
  ++counters().oids;
  return generate(*oid, type, object_class, hints);
}

int daos_obj_open(daos_handle_t handle, daos_obj_id_t oid, unsigned mode, daos_handle_t* out,
                  daos_event_t* event) {
  if (!ready()) return uninit;
  if (out == nullptr || (mode != 2 && mode != 4)) return inval;
  return local_request("obj_open", event, [=](std::uint64_t&) {
    const auto container = find<ContHandle>(handle);
    if (!container) return no_hdl;
    if (!was_generated(oid)) return inval;
    if (mode == 4 && !container->writable) return no_perm;
    auto object = std::make_shared<OpenObject>();
    object->object = {container->container, oid, mode == 4};
    object->container = container;
    ++container->objects;
    *out = add(std::move(object));
    ++counters().objects_open;
    return 0;
  });
}

int daos_obj_close(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return local_request("obj_close", event, [handle](std::uint64_t&) {
    const auto object = find<OpenObject>(handle);
    if (!object) return no_hdl;
    --object->container->objects;
    drop(handle);
    --counters().objects_open;
    return 0;
  });
}

int daos_obj_update(daos_handle_t handle, daos_handle_t th, std::uint64_t flags, d_iov_t* dkey,
                    unsigned count, daos_iod_t* iods, d_sg_list_t* lists, daos_event_t* event) {
  if (!ready()) return uninit;
  auto object = find<OpenObject>(handle);
  auto transaction = find<Transaction>(th);
  if (!object || (th.cookie != 0 && !transaction)) return no_hdl;
  ++counters().updates;
  counters().update_iods += count;
  return request("update", event, [=, object = std::move(object)](std::uint64_t& bytes) {
    const int code = transaction ? transaction->update(object->object, flags, dkey, count, iods, lists, bytes)
                                 : update(object->object, flags, dkey, count, iods, lists, bytes);
    counters().bytes_written += static_cast<std::int64_t>(bytes);
    return code;
  });
}

int daos_obj_fetch(daos_handle_t handle, daos_handle_t th, std::uint64_t flags, d_iov_t* dkey, unsigned count,
                   daos_iod_t* iods, d_sg_list_t* lists, void*, daos_event_t* event) {
  if (!ready()) return uninit;
  auto object = find<OpenObject>(handle);
  auto transaction = find<Transaction>(th);
  if (!object || (th.cookie != 0 && !transaction)) return no_hdl;
  ++counters().fetches;
  counters().fetch_iods += count;
  return request("fetch", event, [=, object = std::move(object)](std::uint64_t& bytes) {
    const int code = transaction ? transaction->fetch(object->object, flags, dkey, count, iods, lists, bytes)
                                 : fetch(object->object, flags, dkey, count, iods, lists, bytes, 0);
    counters().bytes_read += static_cast<std::int64_t>(bytes);
    return code;
  });
}

int daos_obj_punch(daos_handle_t handle, daos_handle_t th, std::uint64_t, daos_event_t* event) {
  if (!ready()) return uninit;
  auto object = find<OpenObject>(handle);
  auto transaction = find<Transaction>(th);
  if (!object || (th.cookie != 0 && !transaction)) return no_hdl;
  ++counters().punches;
  return request("punch", event, [=, object = std::move(object)](std::uint64_t&) {
    return transaction ? transaction->punch(object->object) : punch(object->object);
  });
}

int daos_obj_list_dkey(daos_handle_t handle, daos_handle_t th, std::uint32_t* count, daos_key_desc_t* keys,
                       d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* event) {
  if (!ready()) return uninit;
  if (th.cookie != 0) return inval;  // DAOS lists in transactions; unused here
  auto object = find<OpenObject>(handle);
  if (!object) return no_hdl;
  ++counters().lists;
  return request("list", event, [=, object = std::move(object)](std::uint64_t&) {
    return list(object->object, nullptr, count, keys, sgl, anchor);
  });
}

int daos_obj_list_akey(daos_handle_t handle, daos_handle_t th, d_iov_t* dkey, std::uint32_t* count,
                       daos_key_desc_t* keys, d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* event) {
  if (!ready()) return uninit;
  if (th.cookie != 0) return inval;
  auto object = find<OpenObject>(handle);
  if (!object) return no_hdl;
  ++counters().lists;
  return request("list", event, [=, object = std::move(object)](std::uint64_t&) {
    return dkey == nullptr ? inval : list(object->object, dkey, count, keys, sgl, anchor);
  });
}

int daos_tx_open(daos_handle_t container, daos_handle_t* handle, std::uint64_t flags, daos_event_t* event) {
  if (!ready()) return uninit;
  if (handle == nullptr || (flags & ~(tx_read_only | tx_zero_copy)) != 0) return inval;
  return local_request("tx_open", event, [=](std::uint64_t&) {
    const auto opened = find<ContHandle>(container);
    if (!opened) return no_hdl;
    *handle = add(std::make_shared<Transaction>(opened->container, (flags & tx_read_only) != 0));
    ++counters().transactions_open;
    return 0;
  });
}

int daos_tx_commit(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return request("commit", event, [transaction = find<Transaction>(handle)](std::uint64_t&) {
    return transaction ? transaction->commit() : no_hdl;
  });
}

int daos_tx_abort(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return local_request("tx_abort", event, [transaction = find<Transaction>(handle)](std::uint64_t&) {
    return transaction ? transaction->abort() : no_hdl;
  });
}

int daos_tx_restart(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return local_request("tx_restart", event, [transaction = find<Transaction>(handle)](std::uint64_t&) {
    return transaction ? transaction->restart() : no_hdl;
  });
}

int daos_tx_close(daos_handle_t handle, daos_event_t* event) {
  if (!ready()) return uninit;
  return local_request("tx_close", event, [handle](std::uint64_t&) {
    const auto transaction = find<Transaction>(handle);
    if (!transaction) return no_hdl;
    if (const int code = transaction->close(); code != 0) return code;
    drop(handle);
    --counters().transactions_open;
    return 0;
  });
}

// "S4", "SX", "RP_2G1", "RP_2GX".
int daos_oclass_name2id(const char* name) {
  const std::string_view text(name);
  const bool replicated = text.starts_with("RP_2G");
  if (!replicated && !text.starts_with("S")) return 0;
  const std::string groups(text.substr(replicated ? 5 : 1));
  const int redundancy = (replicated ? 8 : 1) << 24;
  if (groups == "X") return redundancy | 0xffff;
  for (const int known : {1, 2, 4, 6, 8, 12, 16, 32})
    if (groups == std::to_string(known)) return redundancy | known;
  return 0;
}

}  // extern "C"
