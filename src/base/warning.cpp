// The warning handler of the process.
#include "base/warning.h"

#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "base/process.h"
#include "base/redacted.h"

namespace colonnade {
namespace {

std::mutex& handler_mutex() {
  static PerProcess<std::mutex> mutex;
  return mutex.get();
}

WarningHandler& current_handler() {
  static WarningHandler handler;
  return handler;
}

void print(const char* message, const char* more = "") noexcept {
  std::fprintf(stderr, "colonnade: %s%s\n", message, more);
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard lock(handler_mutex());
  return std::exchange(current_handler(), std::move(handler));
}

// The handler is copied, so that it may replace itself or warn.
void warn(const std::string& text) noexcept {
  std::string message;
  try {
    message = redacted(text);
    WarningHandler handler;
    {
      const std::lock_guard lock(handler_mutex());
      handler = current_handler();
    }
    handler ? handler(message) : print(message.c_str());
  } catch (const std::exception& error) {
    if (message.empty()) return detail::warn_of_memory();
    print(message.c_str());
    print("the handler of warnings failed: ", error.what());
  } catch (...) {
    print(message.c_str());
  }
}

void detail::warn_of_memory() noexcept {
  print("there is not enough memory for a warning");
}

}  // namespace colonnade
