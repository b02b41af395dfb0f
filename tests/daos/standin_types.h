// The C interface of libdaos as implemented by the stand-in: declared independently of the back end's
// declarations, so that the two check each other.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_TYPES_H
#define COLONNADE_TESTS_DAOS_STANDIN_TYPES_H

#include <cstddef>
#include <cstdint>

extern "C" {

struct daos_handle_t {
  std::uint64_t cookie;
};
struct daos_obj_id_t {
  std::uint64_t lo;
  std::uint64_t hi;
};
struct d_iov_t {
  void* iov_buf;
  std::size_t iov_buf_len;
  std::size_t iov_len;
};
struct d_sg_list_t {
  std::uint32_t sg_nr;
  std::uint32_t sg_nr_out;
  d_iov_t* sg_iovs;
};
struct daos_recx_t {
  std::uint64_t rx_idx;
  std::uint64_t rx_nr;
};
struct daos_iod_t {
  d_iov_t iod_name;
  std::int32_t iod_type;
  std::uint64_t iod_size;
  std::uint64_t iod_flags;
  std::uint32_t iod_nr;
  daos_recx_t* iod_recxs;
};
struct EventState;
struct daos_event_t {
  std::int32_t ev_error;
  EventState* state;
  std::uint64_t unused[20];
};
struct daos_key_desc_t {
  std::uint64_t kd_key_len;
  std::uint32_t kd_val_type;
};
struct daos_anchor_t {
  std::uint16_t kind;  // 0: start, 1: under way, 3: end
  std::uint16_t length;
  std::uint32_t empty_calls;
  std::uint64_t unused;
  unsigned char key[104];
};
}

static_assert(sizeof(daos_iod_t) == 64 && sizeof(daos_event_t) == 176 && sizeof(daos_anchor_t) == 120);
static_assert(sizeof(daos_key_desc_t) == 16 && sizeof(d_sg_list_t) == 16 && sizeof(d_iov_t) == 24);

namespace standin {

inline constexpr int no_perm = -1001;
inline constexpr int no_hdl = -1002;
inline constexpr int inval = -1003;
inline constexpr int exist = -1004;
inline constexpr int nonexist = -1005;
inline constexpr int nospace = -1007;
inline constexpr int already = -1008;
inline constexpr int busy = -1012;
inline constexpr int uninit = -1015;
inline constexpr int rec2big = -2013;
inline constexpr int in_progress = -2018;
inline constexpr int tx_restart = -2025;

inline constexpr int single = 1;
inline constexpr int array = 2;

inline constexpr std::uint64_t dkey_insert = 0x2;
inline constexpr std::uint64_t dkey_update = 0x4;
inline constexpr std::uint64_t dkey_fetch = 0x8;
inline constexpr std::uint64_t akey_insert = 0x10;
inline constexpr std::uint64_t akey_update = 0x20;
inline constexpr std::uint64_t akey_fetch = 0x40;

inline constexpr std::uint64_t tx_read_only = 0x1;
inline constexpr std::uint64_t tx_zero_copy = 0x2;

}  // namespace standin

#endif
