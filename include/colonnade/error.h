// Errors: what the library throws, and where in a data set it happened.
//
// Every failure is reported as a colonnade::Error. It carries a kind (for code), a problem and an advice (for
// people), and a context: URI, data set, field, column, cluster, page, byte offset, as far as known. Layers
// near the bytes know offsets, layers near the user know names; with() adds what a layer knows and keeps what
// is already there. Errors are values: copy them freely, from any thread.
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
  type,         // the requested type does not fit the stored one
  schema,       // a model or schema that cannot be built
  not_found,    // no such file, data set, field
  conversion,   // a stored value does not fit the requested type
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
  // problem: what is wrong and why, without a full stop. advice: what to try, or empty.
  Error(ErrorKind kind, std::string problem, std::string advice = {}, ErrorContext context = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& problem() const noexcept { return problem_; }
  const std::string& advice() const noexcept { return advice_; }
  const ErrorContext& context() const noexcept { return context_; }

  // A copy of this error; empty parts of its context are filled from `outer`.
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

// Runs `work`; empty parts of the context of an Error that leaves it are filled from `context`. Failed
// allocations become an Error, too.
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
