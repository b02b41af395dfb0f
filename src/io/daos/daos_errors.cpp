// See daos_errors.h.
#include "io/daos/daos_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/daos/daos_api.h"

namespace colonnade::io::daos {
namespace {

struct Row {
  int code;
  ErrorKind kind;
  const char* name;
  const char* meaning;
  const char* advice;
};

constexpr std::array rows{
    Row{der_no_perm, ErrorKind::io, "DER_NO_PERM", "no permission",
        "check the access rights of the pool and the container (daos pool get-acl, daos container get-acl)"},
    Row{der_no_hdl, ErrorKind::io, "DER_NO_HDL", "the handle is not valid any more",
        "open the data set again; an administrator may have evicted the connection"},
    Row{der_inval, ErrorKind::io, "DER_INVAL", "refused as invalid",
        "check the names in the URI and that the pool can serve the object class"},
    Row{der_exist, ErrorKind::io, "DER_EXIST", "already exists", ""},
    Row{der_nonexist, ErrorKind::not_found, "DER_NONEXIST", "does not exist",
        "check the names in the URI (daos pool list, daos container list)"},
    Row{der_unreach, ErrorKind::io, "DER_UNREACH", "the server cannot be reached",
        "check the network and that the engines run (dmg system query)"},
    Row{der_nospace, ErrorKind::io, "DER_NOSPACE", "no space left",
        "free space in the pool or have it grown; the space of removed values comes back only after a while"},
    Row{der_nomem, ErrorKind::resource, "DER_NOMEM", "out of memory", "run with more memory"},
    Row{der_timedout, ErrorKind::io, "DER_TIMEDOUT", "no answer in time",
        "check that the engines run (dmg system query) and that this machine reaches them"},
    Row{der_busy, ErrorKind::io, "DER_BUSY", "in use", "try again later"},
    Row{der_uninit, ErrorKind::io, "DER_UNINIT", "the library is not initialised", ""},
    Row{der_rec2big, ErrorKind::io, "DER_REC2BIG", "the value is larger than the buffer", ""},
    Row{der_csum, ErrorKind::checksum, "DER_CSUM", "the value's checksum is wrong",
        "the value is damaged in the store; restore it from a copy"},
    Row{der_tx_restart, ErrorKind::io, "DER_TX_RESTART", "overtaken by another transaction",
        "try again; have fewer processes write this data set at once"},
    Row{der_data_loss, ErrorKind::io, "DER_DATA_LOSS", "the data are lost or cannot be reached",
        "see which targets are down (dmg pool query); restore the data set from a copy"},
    Row{der_rf, ErrorKind::io, "DER_RF", "more targets are down than the container's redundancy covers",
        "see which targets are down (dmg pool query) and have them reintegrated"},
    Row{der_agent_comm, ErrorKind::io, "DER_AGENT_COMM", "no daos_agent answers on this machine",
        "start it (systemctl start daos_agent); DAOS_AGENT_DRPC_DIR says where its socket is, if it is not "
        "in "
        "/var/run/daos_agent"},
    Row{der_agent_incompat, ErrorKind::io, "DER_AGENT_INCOMPAT",
        "the daos_agent of this machine and libdaos are of versions that do not go together",
        "install the same version of daos-client as the agent and the servers have"},
    Row{der_no_cert, ErrorKind::io, "DER_NO_CERT", "a certificate cannot be read",
        "check the certificates that the configuration of daos_agent names (daos_agent.yml)"},
    Row{der_bad_cert, ErrorKind::io, "DER_BAD_CERT", "a certificate is not valid",
        "check the certificates that the configuration of daos_agent names (daos_agent.yml)"},
};

const Row* row_of(int code) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.code == -code; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::string code_text(int code) {
  if (const Row* row = row_of(code)) return fmt::format("{} {}: {}", row->name, code, row->meaning);
  return fmt::format("DAOS error {}", code);
}

Error call_error(const std::string& uri, std::string_view action, int code) {
  const Row* row = row_of(code);
  return Error(row == nullptr ? ErrorKind::io : row->kind,
               fmt::format("cannot {} ({})", action, code_text(code)),
               row == nullptr ? "the log of libdaos (D_LOG_FILE) may say more" : row->advice, {.uri = uri});
}

Error timeout_error(const std::string& uri, std::string_view action, double seconds) {
  return Error(ErrorKind::io, fmt::format("cannot {}: DAOS gave no answer for {:g} s", action, seconds),
               "check that the engines run (dmg system query); COLONNADE_DAOS_TIMEOUT sets the timeout in "
               "seconds",
               {.uri = uri});
}

}  // namespace colonnade::io::daos
