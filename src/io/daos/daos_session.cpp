// See daos_session.h.
#include "io/daos/daos_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/daos/daos_errors.h"

namespace colonnade::io::daos {
namespace {

constexpr std::string_view scheme = "daos://";
constexpr std::size_t longest_label = 127;
constexpr std::size_t most_idle_queues = 16;

[[noreturn]] void fail_uri(const std::string& uri, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("\"{}\" is not a DAOS URI: {}", uri, problem),
              "daos://pool/container, each a label or a uuid", {.uri = uri});
}

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::string decoded(const std::string& uri, std::string_view text, std::string_view what) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) fail_uri(uri, "\"%\" must be followed by two hexadecimal digits");
    name.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (name.empty()) fail_uri(uri, fmt::format("the {} has no name", what));
  if (name.size() > longest_label)
    fail_uri(uri, fmt::format("the name of the {} has {} characters, more than {}", what, name.size(),
                              longest_label));
  const bool plain = std::all_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) > ' ' && letter != 0x7f && letter != '/';
  });
  if (!plain) fail_uri(uri, fmt::format("the name of the {} has a character that names cannot have", what));
  return name;
}

bool is_uuid(std::string_view name) {
  if (name.size() != 36) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? name[i] != '-' : hex_digit(name[i]) < 0) return false;
  }
  return true;
}

}  // namespace

PoolAddress parse_daos_uri(const std::string& uri) {
  std::string_view rest = uri;
  const bool has_scheme = rest.size() >= scheme.size() &&
                          std::equal(scheme.begin(), scheme.end(), rest.begin(), [](char want, char is) {
                            return want == (is >= 'A' && is <= 'Z' ? static_cast<char>(is + 32) : is);
                          });
  if (!has_scheme) fail_uri(uri, "it does not begin with daos://");
  rest.remove_prefix(scheme.size());
  if (rest.find_first_of("?#") != std::string_view::npos) fail_uri(uri, "it cannot have \"?\" or \"#\"");
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) fail_uri(uri, "it names no container");
  std::string_view container = rest.substr(slash + 1);
  if (container.ends_with('/')) container.remove_suffix(1);
  if (container.find('/') != std::string_view::npos) fail_uri(uri, "it has more than a pool and a container");
  return {decoded(uri, rest.substr(0, slash), "pool"), decoded(uri, container, "container")};
}

// Ends a session: closes its container, then its pool, as far as they were opened. Only then may libdaos be
// finalised.
class Closing final : public Operation {
 public:
  Closing(Runtime& runtime, std::optional<Handle> container, std::optional<Handle> pool)
      : runtime_(&runtime), container_(container), pool_(pool) {}
  ~Closing() override {
    if (!container_ && !pool_) runtime_->leave();
  }
  std::size_t calls() const override { return 1; }
  int launch(const Api& api, std::size_t, Event* event) noexcept override {
    if (container_) return api.cont_close(*container_, event);
    return pool_ ? api.pool_disconnect(*pool_, event) : -der_nonexist;
  }
  bool finish(std::span<const int>) override {
    (container_ ? container_ : pool_).reset();
    return pool_.has_value();
  }
  bool must_end() const noexcept override { return true; }

 private:
  Runtime* runtime_;
  std::optional<Handle> container_;
  std::optional<Handle> pool_;
};

// Open sessions are shared: each costs the pool a connection, and closing it a round trip.
class OpenSessions {
 public:
  static OpenSessions& get() {
    static OpenSessions& sessions = *new OpenSessions;  // stores may live as long as the process
    return sessions;
  }
  std::shared_ptr<Session> find(const PoolAddress& place) {
    const std::lock_guard lock(mutex_);
    const auto found = by_address_.find(place);
    return found == by_address_.end() ? nullptr : found->second.lock();
  }
  void add(const PoolAddress& place, const std::shared_ptr<Session>& session) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_address_, [](const auto& row) { return row.second.expired(); });
    by_address_[place] = session;
  }

 private:
  std::mutex mutex_;
  std::map<PoolAddress, std::weak_ptr<Session>> by_address_;
};

Session::Session(Runtime& runtime, std::string uri) : runtime_(&runtime), uri_(std::move(uri)) {
  runtime_->enter();
}

std::shared_ptr<Session> Session::open(const std::string& uri, bool create) {
  const PoolAddress place = parse_daos_uri(uri);
  Runtime& runtime = Runtime::start(uri);
  runtime.drop_answered();
  if (auto known = OpenSessions::get().find(place); known && !known->lost_) return known;
  std::shared_ptr<Session> session(new Session(runtime, uri));
  session->connect(place, create);
  OpenSessions::get().add(place, session);
  return session;
}

void Session::connect(const PoolAddress& place, bool create) {
  connect_pool(place);
  open_container(place, create);
}

void Session::connect_pool(const PoolAddress& place) {
  const std::string action = fmt::format("connect to the DAOS pool \"{}\"", place.pool);
  int code = 0;
  for (const unsigned flags : {open_read_write, open_read_only}) {
    auto memory = std::make_shared<std::pair<std::string, Handle>>(place.pool, Handle{});
    code = call(action, [memory, flags](const Api& api, Event* event) {
      return api.pool_connect(memory->first.c_str(), nullptr, flags, &memory->second, nullptr, event);
    });
    if (code == 0) {
      pool_ = memory->second;
      read_only_ = flags == open_read_only;
      return;
    }
    if (code != -der_no_perm) break;  // otherwise read access may be allowed
  }
  if (code == -der_nonexist)
    throw Error(ErrorKind::not_found, fmt::format("there is no DAOS pool \"{}\"", place.pool),
                "see `daos pool list` for the pools", {.uri = uri_});
  throw call_error(uri_, action, code);
}

int Session::try_container(const PoolAddress& place, unsigned flags) {
  auto memory = std::make_shared<std::pair<std::string, Handle>>(place.container, Handle{});
  const int code =
      call(fmt::format("open the DAOS container \"{}\"", place.container),
           [memory, flags, pool = *pool_](const Api& api, Event* event) {
             return api.cont_open(pool, memory->first.c_str(), flags, &memory->second, nullptr, event);
           });
  if (code == 0) {
    container_ = memory->second;
  }
  return code;
}

void Session::open_container(const PoolAddress& place, bool create) {
  int code = try_container(place, read_only_ ? open_read_only : open_read_write);
  if (code == -der_nonexist && create) {
    if (is_uuid(place.container))
      throw Error(
          ErrorKind::not_found,
          fmt::format("there is no container {} in the DAOS pool \"{}\"", place.container, place.pool),
          "a new container needs a label in place of a uuid", {.uri = uri_});
    auto label = std::make_shared<std::string>(place.container);
    const std::string action =
        fmt::format("create the container \"{}\" in the DAOS pool \"{}\"", place.container, place.pool);
    const int made = call(action, [label, pool = *pool_](const Api& api, Event* event) {
      return api.cont_create(pool, label->c_str(), nullptr, nullptr, event);
    });
    if (made != 0 && made != -der_exist) throw call_error(uri_, action, made);  // another process was faster
    code = try_container(place, open_read_write);
  }
  if (code == -der_no_perm && !read_only_) {
    code = try_container(place, open_read_only);
    read_only_ = true;
  }
  if (code == -der_nonexist)
    throw Error(
        ErrorKind::not_found,
        fmt::format("there is no container \"{}\" in the DAOS pool \"{}\"", place.container, place.pool),
        fmt::format("see `daos container list {}` for the containers", place.pool), {.uri = uri_});
  if (code != 0)
    throw call_error(
        uri_, fmt::format("open the container \"{}\" in the DAOS pool \"{}\"", place.container, place.pool),
        code);
}

Session::~Session() {
  if (!runtime_->forked()) {
    try {
      run(std::make_unique<Closing>(*runtime_, container_, pool_), "close the container",
          runtime_->closing_time());
    } catch (...) {
      // The servers drop the handles of a process that has ended.
    }
  }
  idle_.clear();
}

std::unique_ptr<EventQueue> Session::borrow_queue() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<EventQueue> queue = std::move(idle_.back());
      idle_.pop_back();
      queue->set_timeout(runtime_->timeout());
      return queue;
    }
  }
  return std::make_unique<EventQueue>(*runtime_, uri_);
}

void Session::give_back(std::unique_ptr<EventQueue> queue) noexcept {
  if (runtime_->forked()) {
    leave_behind(queue);
    return;
  }
  queue->drain();
  if (queue->abandoned() != 0) {
    runtime_->abandon(std::move(queue));
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle_queues) idle_.push_back(std::move(queue));
  } catch (const std::bad_alloc&) {
    // destroyed instead
  }
}

std::unique_ptr<Operation> Session::run(std::unique_ptr<Operation> operation, const std::string& action) {
  return run(std::move(operation), action, runtime_->timeout());
}

std::unique_ptr<Operation> Session::run(std::unique_ptr<Operation> operation, const std::string& action,
                                        Duration timeout) {
  check_process();
  std::unique_ptr<EventQueue> queue = borrow_queue();
  queue->set_timeout(timeout);
  std::vector<EventQueue::Finished> finished;
  try {
    finished.reserve(1);
    queue->launch(0, std::move(operation));
    while (finished.empty()) queue->poll(finished, true);
  } catch (...) {
    give_back(std::move(queue));
    throw;
  }
  give_back(std::move(queue));
  if (finished[0].failure) std::rethrow_exception(finished[0].failure);
  if (!finished[0].operation) throw timeout_error(uri_, action, timeout.count());
  return std::move(finished[0].operation);
}

int Session::call(const std::string& action, SimpleCall::Function function) {
  const auto done = run(std::make_unique<SimpleCall>(std::move(function)), action);
  const int code = static_cast<const SimpleCall&>(*done).code();
  note(code);
  return code;
}

void Session::note(int result) noexcept {
  if (result == -der_no_hdl) lost_ = true;
}

Object::~Object() {
  // A local operation, without the servers.
  if (!session_->runtime().forked()) session_->api().obj_close(handle_, nullptr);
}

}  // namespace colonnade::io::daos
