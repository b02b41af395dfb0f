// The part of the C interface of libdaos 2.6 (x86-64) that the back end uses, as own declarations: no
// package registry has DAOS, so the build must not need it. The library is loaded when the first store is
// opened.
#ifndef COLONNADE_IO_DAOS_DAOS_API_H
#define COLONNADE_IO_DAOS_DAOS_API_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace colonnade::io::daos {

struct Handle {
  std::uint64_t cookie = 0;
};
inline constexpr Handle no_transaction{};

// `hi`: its low 32 bits are the user's, obj_generate_oid fills in the others: type 8 bits | redundancy 8 |
// number of groups 16. A class is the lower 24 of these; 0xffff stands for as many groups as there are
// targets up.
struct Oid {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
};

struct Iov {
  void* buffer = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t used = 0;
};

struct SgList {
  std::uint32_t count = 0;
  std::uint32_t count_out = 0;
  Iov* iovs = nullptr;
};

struct Recx {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
};

struct Iod {
  Iov name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  std::uint64_t flags = 0;
  std::uint32_t count = 0;
  Recx* recxs = nullptr;
};

// libdaos requires all of it to be zero initially, so there is no padding.
struct Event {
  std::int32_t error = 0;
  std::uint32_t reserved_too = 0;
  std::uint64_t reserved[21] = {};
};
static_assert(std::has_unique_object_representations_v<Event>);

struct KeyDescriptor {
  std::uint64_t length = 0;
  std::uint32_t value_type = 0;
};

struct Anchor {
  alignas(8) std::byte opaque[120] = {};
};

static_assert(sizeof(Handle) == 8 && offsetof(Handle, cookie) == 0);
static_assert(sizeof(Oid) == 16 && offsetof(Oid, lo) == 0 && offsetof(Oid, hi) == 8);
static_assert(sizeof(Iov) == 24 && offsetof(Iov, buffer) == 0 && offsetof(Iov, capacity) == 8 &&
              offsetof(Iov, used) == 16);
static_assert(sizeof(SgList) == 16 && offsetof(SgList, count) == 0 && offsetof(SgList, count_out) == 4 &&
              offsetof(SgList, iovs) == 8);
static_assert(sizeof(Recx) == 16 && offsetof(Recx, index) == 0 && offsetof(Recx, count) == 8);
static_assert(sizeof(Iod) == 64 && offsetof(Iod, name) == 0 && offsetof(Iod, type) == 24 &&
              offsetof(Iod, size) == 32 && offsetof(Iod, flags) == 40 && offsetof(Iod, count) == 48 &&
              offsetof(Iod, recxs) == 56);
static_assert(sizeof(Event) == 176 && offsetof(Event, error) == 0);
static_assert(sizeof(KeyDescriptor) == 16 && offsetof(KeyDescriptor, length) == 0 &&
              offsetof(KeyDescriptor, value_type) == 8);
static_assert(sizeof(Anchor) == 120);
static_assert(sizeof(int) == 4 && sizeof(void*) == 8);

inline constexpr unsigned open_read_only = 1;  // pools and containers
inline constexpr unsigned open_read_write = 2;
inline constexpr unsigned object_read_only = 2;
inline constexpr unsigned object_read_write = 4;

inline constexpr std::uint32_t single_value = 1;  // of an iod
inline constexpr std::uint32_t array_value = 2;

inline constexpr std::uint64_t if_dkey_absent = 0x2;
inline constexpr std::uint64_t if_dkey_there = 0x8;  // of a fetch
inline constexpr std::uint64_t if_akey_absent = 0x10;
inline constexpr std::uint64_t if_akey_there = 0x40;  // of a fetch

inline constexpr int type_hashed_keys = 0;  // keys of any length
inline constexpr int type_number_akeys = 3;
inline constexpr int type_number_keys = 4;  // distribution and attribute keys are of 8 bytes
inline constexpr std::uint32_t class_by_hints = 0;
// The container's redundancy; one group of targets, or as many as there are targets up.
inline constexpr std::uint32_t hint_one_group = 1 | 16;
inline constexpr std::uint32_t hint_all_groups = 1 | 512;

inline constexpr int der_no_perm = 1001;
inline constexpr int der_no_hdl = 1002;
inline constexpr int der_inval = 1003;
inline constexpr int der_exist = 1004;
inline constexpr int der_nonexist = 1005;
inline constexpr int der_unreach = 1006;
inline constexpr int der_nospace = 1007;
inline constexpr int der_nomem = 1009;
inline constexpr int der_timedout = 1011;
inline constexpr int der_busy = 1012;
inline constexpr int der_uninit = 1015;
inline constexpr int der_rec2big = 2013;
inline constexpr int der_csum = 2021;
inline constexpr int der_tx_restart = 2025;
inline constexpr int der_data_loss = 2026;
inline constexpr int der_agent_incompat = 2029;
inline constexpr int der_rf = 2031;
inline constexpr int der_agent_comm = 2034;
inline constexpr int der_no_cert = 2043;
inline constexpr int der_bad_cert = 2044;

// All return 0 or a negative error; with an event they return once launched. eq_poll returns a count,
// oclass_name2id a class.
struct Api {
  int (*init)() = nullptr;
  int (*fini)() = nullptr;
  int (*pool_connect)(const char* pool, const char* system, unsigned flags, Handle* handle, void* info,
                      Event* event) = nullptr;
  int (*pool_disconnect)(Handle pool, Event* event) = nullptr;
  int (*cont_create)(Handle pool, const char* label, void* properties, unsigned char* uuid,
                     Event* event) = nullptr;
  int (*cont_open)(Handle pool, const char* container, unsigned flags, Handle* handle, void* info,
                   Event* event) = nullptr;
  int (*cont_close)(Handle container, Event* event) = nullptr;
  int (*obj_generate_oid)(Handle container, Oid* oid, int type, std::uint32_t object_class,
                          std::uint32_t hints, std::uint32_t args) = nullptr;
  int (*obj_open)(Handle container, Oid oid, unsigned mode, Handle* handle, Event* event) = nullptr;
  int (*obj_close)(Handle object, Event* event) = nullptr;
  int (*obj_update)(Handle object, Handle transaction, std::uint64_t flags, Iov* dkey, unsigned count,
                    Iod* iods, SgList* lists, Event* event) = nullptr;
  int (*obj_fetch)(Handle object, Handle transaction, std::uint64_t flags, Iov* dkey, unsigned count,
                   Iod* iods, SgList* lists, void* maps, Event* event) = nullptr;
  int (*obj_punch)(Handle object, Handle transaction, std::uint64_t flags, Event* event) = nullptr;
  int (*obj_list_dkey)(Handle object, Handle transaction, std::uint32_t* count, KeyDescriptor* keys,
                       SgList* list, Anchor* anchor, Event* event) = nullptr;
  int (*obj_list_akey)(Handle object, Handle transaction, Iov* dkey, std::uint32_t* count,
                       KeyDescriptor* keys, SgList* list, Anchor* anchor, Event* event) = nullptr;
  int (*tx_open)(Handle container, Handle* transaction, std::uint64_t flags, Event* event) = nullptr;
  int (*tx_commit)(Handle transaction, Event* event) = nullptr;
  int (*tx_restart)(Handle transaction, Event* event) = nullptr;
  int (*tx_close)(Handle transaction, Event* event) = nullptr;
  int (*eq_create)(Handle* queue) = nullptr;
  int (*eq_destroy)(Handle queue, int flags) = nullptr;
  int (*eq_poll)(Handle queue, int wait_running, std::int64_t timeout_us, unsigned count,
                 Event** events) = nullptr;
  int (*event_init)(Event* event, Handle queue, Event* parent) = nullptr;
  int (*event_fini)(Event* event) = nullptr;
  int (*event_parent_barrier)(Event* event) = nullptr;
  int (*oclass_name2id)(const char* name) = nullptr;
};

// The library's file: COLONNADE_LIBDAOS if that is set, else "libdaos.so.2".
std::string library_path();

// Loads the library for the life of the process. Throws ErrorKind::unsupported if the library or one of its
// functions is missing, and names it.
Api load_api(const std::string& path);

// True at the end of a listing. The end may also show as a call that returns nothing and leaves the anchor
// unchanged.
bool at_end(const Anchor& anchor) noexcept;

}  // namespace colonnade::io::daos

#endif
