// The functions of librados in use, loaded when the first store is opened: only users of rados: need the
// library. The declarations follow its stable C interface (since version 14, "Nautilus").
#ifndef COLONNADE_IO_RADOS_RADOS_API_H
#define COLONNADE_IO_RADOS_RADOS_API_H

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

namespace colonnade::io {

// Handles are opaque pointers, of a type of their own each.
using rados_t = struct RadosClusterHandle*;
using rados_ioctx_t = struct RadosPoolHandle*;
using rados_completion_t = struct RadosCompletionHandle*;
using rados_read_op_t = struct RadosReadHandle*;
using rados_write_op_t = struct RadosWriteHandle*;
using rados_object_list_cursor = struct RadosCursor*;
using rados_callback_t = void (*)(rados_completion_t completion, void* argument);

inline constexpr int rados_create_exclusive = 1;
inline constexpr int rados_full_try = 64;  // of an operation: fail on a full cluster instead of waiting

struct RadosListItem {
  std::size_t name_length;
  char* name;
  std::size_t name_space_length;
  char* name_space;
  std::size_t key_length;
  char* key;
};

struct RadosApi {
  int (*create2)(rados_t*, const char* cluster, const char* name, std::uint64_t flags);
  int (*conf_read_file)(rados_t, const char* path);
  int (*conf_parse_env)(rados_t, const char* variable);
  int (*conf_set)(rados_t, const char* option, const char* value);
  int (*conf_get)(rados_t, const char* option, char* into, std::size_t size);
  int (*connect)(rados_t);
  void (*shutdown)(rados_t);

  int (*ioctx_create)(rados_t, const char* pool, rados_ioctx_t*);
  void (*ioctx_destroy)(rados_ioctx_t);
  void (*ioctx_set_namespace)(rados_ioctx_t, const char* name);

  void (*ioctx_locator_set_key)(rados_ioctx_t, const char* key);

  rados_object_list_cursor (*object_list_begin)(rados_ioctx_t);
  rados_object_list_cursor (*object_list_end)(rados_ioctx_t);
  void (*object_list_cursor_free)(rados_ioctx_t, rados_object_list_cursor);
  int (*object_list_cursor_cmp)(rados_ioctx_t, rados_object_list_cursor, rados_object_list_cursor);
  void (*object_list_slice)(rados_ioctx_t, rados_object_list_cursor first, rados_object_list_cursor last,
                            std::size_t n, std::size_t m, rados_object_list_cursor* slice_first,
                            rados_object_list_cursor* slice_last);
  int (*object_list)(rados_ioctx_t, rados_object_list_cursor first, rados_object_list_cursor last,
                     std::size_t count, const char* filter, std::size_t filter_size, RadosListItem* items,
                     rados_object_list_cursor* next);
  void (*object_list_free)(std::size_t count, RadosListItem* items);

  int (*aio_create_completion2)(void* argument, rados_callback_t, rados_completion_t*);
  int (*aio_get_return_value)(rados_completion_t);
  std::uint64_t (*aio_get_version)(rados_completion_t);
  int (*aio_cancel)(rados_ioctx_t, rados_completion_t);
  void (*aio_release)(rados_completion_t);

  rados_write_op_t (*create_write_op)();
  void (*release_write_op)(rados_write_op_t);
  void (*write_op_create)(rados_write_op_t, int exclusive, const char* category);
  void (*write_op_assert_version)(rados_write_op_t, std::uint64_t version);
  void (*write_op_write_full)(rados_write_op_t, const char*, std::size_t size);
  void (*write_op_remove)(rados_write_op_t);
  int (*aio_write_op_operate)(rados_write_op_t, rados_ioctx_t, rados_completion_t, const char* name,
                              std::time_t*, int flags);

  rados_read_op_t (*create_read_op)();
  void (*release_read_op)(rados_read_op_t);
  void (*read_op_stat)(rados_read_op_t, std::uint64_t* size, std::time_t*, int* code);
  void (*read_op_read)(rados_read_op_t, std::uint64_t offset, std::size_t size, char* into, std::size_t* got,
                       int* code);
  int (*aio_read_op_operate)(rados_read_op_t, rados_ioctx_t, rados_completion_t, const char* name, int flags);
};

// Loads the first available one of `libraries`. Throws ErrorKind::unsupported and names the package to
// install.
RadosApi load_rados(std::span<const char* const> libraries);

// The functions of the system's librados, loaded once.
const RadosApi& rados_api();

}  // namespace colonnade::io

#endif
