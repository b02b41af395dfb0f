// See daos_transaction.h.
#include "io/daos/daos_transaction.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_transfer.h"

namespace colonnade::io::daos {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t usual_size = 1024;  // larger ones take a second call

}  // namespace

TransactionHandle::TransactionHandle(std::shared_ptr<Session> session) : session_(std::move(session)) {
  session_->check_process();
  if (const int code = session_->api().tx_open(session_->container(), &handle_, 0, nullptr); code != 0)
    throw call_error(session_->uri(), "begin a transaction", code);
}

TransactionHandle::~TransactionHandle() {
  // A local operation, without the servers.
  if (!session_->runtime().forked()) session_->api().tx_close(handle_, nullptr);
}

Transaction::Transaction(std::shared_ptr<Session> session, std::string action)
    : session_(std::move(session)),
      action_(std::move(action)),
      handle_(std::make_shared<const TransactionHandle>(session_)) {}

std::optional<Bytes> Transaction::read(const std::shared_ptr<const Object>& object,
                                       const ValueAddress& address) {
  std::array<std::byte, usual_size> room{};  // only its size matters
  const std::array items{FetchItem{address.akey, 0, room}};
  const auto done =
      session_->run(std::make_unique<Fetch>(object, address.object, address.dkey, items, handle_), action_);
  const auto& fetch = static_cast<const Fetch&>(*done);
  if (fetch.conflict()) throw Conflict{};
  return fetch.whole();
}

void Transaction::write(const std::shared_ptr<const Object>& object, const ValueAddress& address,
                        ByteSpan value) {
  const std::array items{UpdateItem{address.akey, {value}}};
  const auto done = session_->run(
      std::make_unique<Update>(object, address.object, address.dkey, items, 0, handle_), action_);
  const auto& update = static_cast<const Update&>(*done);
  if (update.conflict()) throw Conflict{};
  update.check();
}

void Transaction::commit() {
  int code = 0;
  try {
    code = session_->call(action_, [handle = handle_](const Api& api, Event* event) {
      return api.tx_commit(handle->get(), event);
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    throw Error(error.kind(), error.problem() + "; it may have been done all the same", error.advice(),
                error.context());
  }
  if (code == -der_tx_restart) throw Conflict{};
  if (code != 0) throw call_error(session_->uri(), action_, code);
}

void Transaction::restart() {
  const Clock::time_point now = Clock::now();
  if (!first_conflict_) first_conflict_ = now;
  if (now - *first_conflict_ > session_->runtime().timeout())
    throw Error(ErrorKind::io,
                fmt::format("cannot {}: others kept changing it for {:g} s", action_,
                            session_->runtime().timeout().count()),
                "have fewer processes write this data set at once", {.uri = session_->uri()});
  // libdaos backs off here, ever longer and randomly, so that two do not block each other
  // forever.
  const int code = session_->call(action_, [handle = handle_](const Api& api, Event* event) {
    return api.tx_restart(handle->get(), event);
  });
  if (code != 0) throw call_error(session_->uri(), action_, code);
}

}  // namespace colonnade::io::daos
