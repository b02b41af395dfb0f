// The warning handler of the process.
#include "base/warning.h"

#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "base/redacted.h"

namespace colonnade {
namespace {

std::mutex& handler_mutex() {
  static std::mutex mutex;
  return mutex;
}

WarningHandler& current_handler() {
  static WarningHandler handler;
  return handler;
}

void print(const std::string& message) noexcept {
  std::fprintf(stderr, "colonnade: %s\n", message.c_str());
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
    handler ? handler(message) : print(message);
  } catch (const std::exception& error) {
    print(message);
    print(std::string("the handler of warnings failed: ") + error.what());
  } catch (...) {
    print(message);
  }
}

}  // namespace colonnade
