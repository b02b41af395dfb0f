// What follows a commit. By then everything is in its place and readers find it, whatever fails: see
// decision 79.
#ifndef COLONNADE_BASE_AFTER_COMMIT_H
#define COLONNADE_BASE_AFTER_COMMIT_H

#include <fmt/format.h>

#include <concepts>
#include <new>
#include <string>
#include <string_view>

#include "base/warning.h"
#include "colonnade/error.h"

namespace colonnade {

// Runs `work`, which makes a commit durable or checks it. If a call in it fails, the error says that the
// commit was made, so that the caller does not write it again.
template <std::invocable Work>
void after_commit(Work&& work, std::string_view but = "may not survive a crash of the machine") {
  try {
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io && error.kind() != ErrorKind::resource) throw;
    throw Error(
        error.kind(),
        fmt::format("{}; what was committed is in its place and can be read, but {}", error.problem(), but),
        "`colonnade verify`, rather than the same again, which may add entries twice", error.context());
  }
}

// Runs `work`, which only tidies up. False: it failed, which is a warning, with what is `left`.
template <std::invocable Work>
bool tidy_after_commit(const ErrorContext& context, std::string_view left, Work&& work) {
  const auto warned = [&](const char* problem) {
    warn([&] {
      return fmt::format("{}: the data set \"{}\" was committed, but {} ({})", context.uri, context.data_set,
                         left, problem);
    });
    return false;
  };
  try {
    work();
    return true;
  } catch (const Error& error) {
    return warned(error.problem().c_str());
  } catch (const std::bad_alloc&) {
    return warned("there is not enough memory");
  }
}

}  // namespace colonnade

#endif
