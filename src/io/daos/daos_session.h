// An open pool and container, and the objects in it. An operation in flight keeps its object alive, and
// objects keep the container and the pool; so handles are closed in order: objects, container, pool.
#ifndef COLONNADE_IO_DAOS_DAOS_SESSION_H
#define COLONNADE_IO_DAOS_DAOS_SESSION_H

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/daos/daos_buffers.h"
#include "io/daos/daos_events.h"
#include "io/object_store.h"

namespace colonnade::io::daos {

struct PoolAddress {
  std::string pool;       // label or uuid
  std::string container;  // label or uuid
  friend auto operator<=>(const PoolAddress&, const PoolAddress&) = default;
};

// "daos://pool/container", percent-encoded. Throws ErrorKind::usage.
PoolAddress parse_daos_uri(const std::string& uri);

// A call that uses only values that it has captured by copy. They live as long as the call.
class SimpleCall final : public Operation {
 public:
  using Function = std::function<int(const Api&, Event*)>;
  explicit SimpleCall(Function function) : function_(std::move(function)) {}
  std::size_t calls() const override { return 1; }
  int launch(const Api& api, std::size_t, Event* event) noexcept override { return function_(api, event); }
  bool finish(std::span<const int> results) override {
    code_ = results[0];
    return false;
  }
  int code() const noexcept { return code_; }

 private:
  Function function_;
  int code_ = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Returns the open session if there is one. Throws ErrorKind::not_found for a missing pool or
  // container.
  static std::shared_ptr<Session> open(const std::string& uri, bool create);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  Runtime& runtime() const noexcept { return *runtime_; }
  const Api& api() const noexcept { return runtime_->api(); }
  const std::string& uri() const noexcept { return uri_; }
  Handle container() const { return container_.value(); }
  bool read_only() const noexcept { return read_only_; }
  Buffers& buffers() noexcept { return buffers_; }
  void check_process() const { runtime_->check_process(uri_); }

  // Event queues are reused and lent, since each has its own network context.
  std::unique_ptr<EventQueue> borrow_queue();
  // Of a queue with operations that timed out, only the memory is kept.
  void give_back(std::unique_ptr<EventQueue> queue) noexcept;

  using Duration = Runtime::Duration;
  // Runs an operation and waits for it. `action` is for messages: "write object 1:2".
  std::unique_ptr<Operation> run(std::unique_ptr<Operation> operation, const std::string& action);
  int call(const std::string& action, SimpleCall::Function function);
  // Checks a result: a session whose handles are no longer valid is not shared with later openers.
  void note(int result) noexcept;

 private:
  std::unique_ptr<Operation> run(std::unique_ptr<Operation> operation, const std::string& action,
                                 Duration timeout);
  Session(Runtime& runtime, std::string uri);
  void connect(const PoolAddress& place, bool create);
  void connect_pool(const PoolAddress& place);
  void open_container(const PoolAddress& place, bool create);
  int try_container(const PoolAddress& place, unsigned flags);

  Runtime* runtime_;
  std::string uri_;
  std::optional<Handle> pool_;
  std::optional<Handle> container_;
  bool read_only_ = false;
  std::atomic<bool> lost_ = false;
  Buffers buffers_;
  std::mutex mutex_;  // guards the queues
  std::vector<std::unique_ptr<EventQueue>> idle_;
};

// An open object.
class Object {
 public:
  Object(std::shared_ptr<Session> session, Handle handle) : session_(std::move(session)), handle_(handle) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();
  Handle handle() const noexcept { return handle_; }
  Session& session() const noexcept { return *session_; }

 private:
  std::shared_ptr<Session> session_;
  Handle handle_;
};

}  // namespace colonnade::io::daos

#endif
