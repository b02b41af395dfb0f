// Errors: what the library throws, and where in a data set it happened.
//
// Every failure that a caller can meet is a colonnade::Error. It carries a kind (for code), a problem and an
// advice (for people), and the place: URI, data set, field, column, cluster, page, byte offset - whatever is
// known. Layers near the bytes know offsets, layers near the user know names; with() adds what a layer knows
// and keeps what is already there. Errors are values: copy them freely, from any thread.
#ifndef COLONNADE_ERROR_H
#define COLONNADE_ERROR_H

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace colonnade {

enum class ErrorKind {
  io,           // the operating system or a server refused or failed
  format,       // the bytes are not what the format allows
  checksum,     // the bytes are not what was written
  unsupported,  // valid, but this version cannot interpret it
  type,         // the asked type does not fit the stored one
  schema,       // a model or schema that cannot be built
  not_found,    // no such file, data set, field
  conversion,   // a stored value does not fit the asked type
  usage,        // a call that makes no sense in this state
  resource      // memory or another limit
};

const char* name_of(ErrorKind kind) noexcept;

struct ErrorContext {
  std::string uri;
  std::string data_set;
  std::string field;
  std::optional<std::uint64_t> column;
  std::optional<std::uint64_t> cluster;
  std::optional<std::uint64_t> page;
  std::optional<std::uint64_t> offset;
};

class Error : public std::runtime_error {
 public:
  // problem: what is wrong and why, no trailing full stop. advice: what to try, or empty.
  Error(ErrorKind kind, std::string problem, std::string advice = {}, ErrorContext context = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& problem() const noexcept { return problem_; }
  const std::string& advice() const noexcept { return advice_; }
  const ErrorContext& context() const noexcept { return context_; }

  // The same error with the blanks of its context filled from `outer`.
  Error with(const ErrorContext& outer) const;

 private:
  ErrorKind kind_;
  std::string problem_;
  std::string advice_;
  ErrorContext context_;
};

namespace detail {

[[noreturn]] void fail_memory(const ErrorContext& context);

}  // namespace detail

// Runs `work`; an Error that leaves it has the blanks of its context filled from `context`. Memory that
// cannot be had is an Error too.
template <class Work>
decltype(auto) with_context(const ErrorContext& context, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    throw error.with(context);
  } catch (const std::bad_alloc&) {
    detail::fail_memory(context);
  } catch (const std::length_error&) {
    detail::fail_memory(context);
  }
}

}  // namespace colonnade

#endif
