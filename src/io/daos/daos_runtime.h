// libdaos in this process: loaded and initialised when the first store is opened, finished when the process
// ends. It does not survive a fork: in a child nothing of it may be called.
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

// Never frees it: libdaos may still use it.
template <class Thing>
void leave_behind(std::unique_ptr<Thing>& thing) noexcept {
  [[maybe_unused]] const Thing* left = thing.release();
}

class Runtime {
 public:
  // Throws ErrorKind::unsupported without the library, ErrorKind::io if daos_init fails, ErrorKind::usage in
  // a child of a process that had initialised it.
  static Runtime& start(const std::string& uri);
  // daos_fini, if no store is open and no call is unanswered; the next start() initialises again. Runs at the
  // end of the process, too.
  static bool finish() noexcept;

  const Api& api() const noexcept { return api_; }
  using Duration = std::chrono::duration<double>;
  // How long an answer may take: COLONNADE_DAOS_TIMEOUT (seconds), or 120 s. Engines that restart need up to
  // a minute.
  Duration timeout() const noexcept { return timeout_; }

  // How long who closes something waits for the answer. All waiting in vain since the last answer of DAOS
  // counts against one timeout: with the engines gone, whoever closes a hundred data sets waits once.
  Duration closing_time() const noexcept;
  void answered() noexcept { waited_in_vain_ = 0; }
  void waited_in_vain(Duration time) noexcept;

  // Whether this is not the process that initialised libdaos.
  bool forked() const noexcept;
  void check_process(const std::string& uri) const;  // throws ErrorKind::usage then

  // Who has handles keeps libdaos from being finished.
  void enter() noexcept;
  void leave() noexcept;

  // Keeps a queue with unanswered calls, and with it the memory that they may still touch, until the answers
  // have come or the process ends.
  void bury(std::unique_ptr<EventQueue> queue) noexcept;
  void visit_graves() noexcept;  // drops those that have got their answers
  std::size_t graves() const noexcept;

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
