// The boundary of the C interface: no exception and no C++ type crosses it.
#ifndef COLONNADE_CAPI_BOUNDARY_H
#define COLONNADE_CAPI_BOUNDARY_H

#include <colonnade.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/floating_point.h"
#include "colonnade/error.h"

struct colonnade_strings {
  std::vector<std::string> items;
};

namespace colonnade::capi {

// Records the exception being handled for colonnade_last_error().
colonnade_status keep_error() noexcept;
// The same without an exception, for an incorrect call.
colonnade_status refuse(const char* problem) noexcept;

template <class Work>
colonnade_status guarded(Work&& work) noexcept {
  const StandardFloatingPoint state;
  try {
    work();
    return COLONNADE_OK;
  } catch (...) {
    return keep_error();
  }
}

[[noreturn]] void fail_null(const char* what);
// Throws ErrorKind::usage for null. `what`: "the reader".
template <class T>
void need(T* pointer, const char* what) {
  if (pointer == nullptr) fail_null(what);
}
std::string text_of(const char* text, const char* what);          // null is an error
std::string text_or(const char* text, std::string_view nothing);  // null is `nothing`
// The name of something new, which results give back; null is none. Throws ErrorKind::usage unless it is
// UTF-8.
std::string new_name(const char* text, const char* what);
std::vector<std::string> texts_of(const char* const* texts, std::size_t count, const char* what);

// Options of a caller that was compiled with an older header: members that it does not know get their
// defaults.
template <class Options>
Options options_of(const Options* given, const char* what) {
  Options options{};
  if (given == nullptr) return options;
  // No struct ends within a member: half of a pointer would be read as one.
  if (given->struct_size < sizeof(std::size_t) || given->struct_size > 4096 ||
      given->struct_size % alignof(Options) != 0)
    throw Error(ErrorKind::usage, std::string("struct_size of ") + what + " is not its size",
                "set it to sizeof of the struct");
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  std::copy_n(bytes, std::min(given->struct_size, sizeof(Options)), reinterpret_cast<std::byte*>(&options));
  return options;
}

}  // namespace colonnade::capi

#endif
