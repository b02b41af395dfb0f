#include "colonnade/error.h"

#include <fmt/format.h>

#include <string_view>

#include "base/redacted.h"

namespace colonnade {
namespace {

// An advice that states a fact continues the sentence: "; did you mean 'pt'?".
bool reads_on(std::string_view advice) {
  for (const std::string_view begin :
       {"did you mean ", "there is ", "there are", "it is ", "it has ", "see "})
    if (advice.starts_with(begin)) return true;
  return false;
}

// "problem; try: advice [uri=..., column=3, offset=17]"
std::string message(const std::string& problem, const std::string& advice, const ErrorContext& context) {
  std::string place;
  auto add = [&place](std::string_view key, const std::string& value) {
    place += fmt::format("{}{}={}", place.empty() ? "" : ", ", key, value);
  };
  if (!context.uri.empty()) add("uri", context.uri);
  if (!context.data_set.empty()) add("data set", context.data_set);
  if (!context.field.empty()) add("field", context.field);
  if (context.column) add("column", std::to_string(*context.column));
  if (context.cluster) add("cluster", std::to_string(*context.cluster));
  if (context.page) add("page", std::to_string(*context.page));
  if (context.offset) add("offset", std::to_string(*context.offset));
  std::string text = problem;
  if (!advice.empty()) text += (reads_on(advice) ? "; " : "; try: ") + advice;
  if (!place.empty()) text += " [" + place + "]";
  return text;
}

ErrorContext redacted(const ErrorContext& context) {
  ErrorContext result = context;
  result.uri = colonnade::redacted(context.uri);
  return result;
}

}  // namespace

void detail::fail_memory(const ErrorContext& context) {
  throw Error(ErrorKind::resource, "there is not enough memory", "less at once, or another machine", context);
}

const char* name_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::io:
      return "io";
    case ErrorKind::format:
      return "format";
    case ErrorKind::checksum:
      return "checksum";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::type:
      return "type";
    case ErrorKind::schema:
      return "schema";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::conversion:
      return "conversion";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::resource:
      return "resource";
  }
  return "unknown";
}

// The arguments may hold secrets, so they are copied without them rather than moved.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Error::Error(ErrorKind kind, std::string problem, std::string advice, ErrorContext context)
    : std::runtime_error(message(redacted(problem), redacted(advice), redacted(context))),
      kind_(kind),
      problem_(redacted(problem)),
      advice_(redacted(advice)),
      context_(redacted(context)) {}

Error Error::with(const ErrorContext& outer) const {
  ErrorContext merged = context_;
  if (merged.uri.empty()) merged.uri = outer.uri;
  if (merged.data_set.empty()) merged.data_set = outer.data_set;
  if (merged.field.empty()) merged.field = outer.field;
  if (!merged.column) merged.column = outer.column;
  if (!merged.cluster) merged.cluster = outer.cluster;
  if (!merged.page) merged.page = outer.page;
  if (!merged.offset) merged.offset = outer.offset;
  return Error(kind_, problem_, advice_, std::move(merged));
}

}  // namespace colonnade
