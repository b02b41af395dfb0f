// libdaos in this process: loaded and initialised when the first store is opened, finalised when the process
// ends. It does not survive a fork: a child must not call it.
#ifndef COLONNADE_IO_DAOS_DAOS_RUNTIME_H
#define COLONNADE_IO_DAOS_DAOS_RUNTIME_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "io/daos/daos_api.h"

namespace colonnade::io::daos {

class EventQueue;

// Leaks it: libdaos may still use it.
template <class Thing>
void leave_behind(std::unique_ptr<Thing>& thing) noexcept {
  [[maybe_unused]] const Thing* left = thing.release();
}

class Runtime {
 public:
  // Throws ErrorKind::unsupported without the library, ErrorKind::io if daos_init fails, ErrorKind::usage in
  // a child of a process that had initialised it.
  static Runtime& start(const std::string& uri);
  // Calls daos_fini if no store is open and no call is unanswered; the next start() initialises again. Also
  // runs at the end of the process.
  static bool finish() noexcept;

  const Api& api() const noexcept { return api_; }
  using Duration = std::chrono::duration<double>;
  // The timeout of an answer: COLONNADE_DAOS_TIMEOUT (seconds), or 120 s. Restarting engines need up to a
  // minute.
  Duration timeout() const noexcept { return timeout_; }

  // How long closing something waits for an answer. All waits without success since DAOS's last answer share
  // one timeout: with the engines down, a process that closes a hundred data sets waits once.
  Duration closing_time() const noexcept;
  void answered() noexcept { waited_in_vain_ = 0; }
  void waited_in_vain(Duration time) noexcept;

  // True if another process initialised libdaos.
  bool forked() const noexcept;
  void check_process(const std::string& uri) const;  // throws ErrorKind::usage if forked()

  // Counts the owners of handles, which keep libdaos from being finalised.
  void enter() noexcept;
  void leave() noexcept;

  // Keeps a queue with unanswered calls, and thereby the memory that they may still access, until the answers
  // have come or the process ends.
  void abandon(std::unique_ptr<EventQueue> queue) noexcept;
  void drop_answered() noexcept;  // drops those that have been answered

 private:
  explicit Runtime(const std::string& uri);
  struct Global;
  static Global& global();

  Api api_;
  Duration timeout_;
  std::atomic<double> waited_in_vain_ = 0;  // seconds
};

}  // namespace colonnade::io::daos

#endif
