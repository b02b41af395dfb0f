// Errors, versions and lists of texts of the C interface.
#include "capi/boundary.h"

#include <new>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace colonnade::capi {
namespace {

// An error that owns its texts, in UTF-8: they may quote bytes of files and of the caller.
struct KeptError {
  bool is_there = false;
  std::string message, problem, advice, uri, data_set, field;
  colonnade_error described{};

  // If memory runs out: static texts.
  void describe(colonnade_status status, const char* text) noexcept {
    is_there = true;
    described = {status, text, text, "", "", "", "", -1, -1, -1, -1};
  }
  void describe(const Error& from) {
    const ErrorContext& at = from.context();
    message = shown_name(from.what());
    problem = shown_name(from.problem());
    advice = shown_name(from.advice());
    uri = shown_name(at.uri);
    data_set = shown_name(at.data_set);
    field = shown_name(at.field);
    const auto number = [](const std::optional<std::uint64_t>& value) {
      return value ? static_cast<std::int64_t>(*value) : -1;
    };
    described = {static_cast<colonnade_status>(static_cast<int>(from.kind()) + 1),
                 message.c_str(),
                 problem.c_str(),
                 advice.c_str(),
                 uri.c_str(),
                 data_set.c_str(),
                 field.c_str(),
                 number(at.column),
                 number(at.cluster),
                 number(at.page),
                 number(at.offset)};
    is_there = true;
  }
};

thread_local KeptError last_error;

static_assert(static_cast<int>(ErrorKind::io) + 1 == COLONNADE_IO);
static_assert(static_cast<int>(ErrorKind::schema) + 1 == COLONNADE_SCHEMA);
static_assert(static_cast<int>(ErrorKind::resource) + 1 == COLONNADE_RESOURCE);

}  // namespace

colonnade_status refuse(const char* problem) noexcept {
  try {
    throw Error(ErrorKind::usage, problem);
  } catch (...) {
    return keep_error();
  }
}

colonnade_status keep_error() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      last_error.describe(error);
    } catch (const std::bad_alloc&) {
      last_error.describe(COLONNADE_RESOURCE, "there is not enough memory");
    } catch (const std::exception& error) {
      last_error.describe(
          Error(ErrorKind::usage, std::string("the library failed: ") + error.what(), "please report this"));
      last_error.described.status = COLONNADE_INTERNAL;
    } catch (...) {
      last_error.describe(COLONNADE_INTERNAL, "the library failed; please report this");
    }
    return last_error.described.status;
  } catch (...) {  // no memory for the description either
    last_error.describe(COLONNADE_RESOURCE, "there is not enough memory");
    return COLONNADE_RESOURCE;
  }
}

void fail_null(const char* what) {
  throw Error(ErrorKind::usage, std::string(what) + " is a null pointer");
}

std::string text_of(const char* text, const char* what) {
  need(text, what);
  return text;
}

std::string text_or(const char* text, std::string_view nothing) {
  return text == nullptr ? std::string(nothing) : std::string(text);
}

std::string new_name(const char* text, const char* what) {
  std::string name = text_or(text, "");
  if (const std::string shown = shown_name(name); shown != name)
    throw Error(ErrorKind::usage, std::string(what) + " '" + shown + "' is not valid UTF-8");
  return name;
}

std::vector<std::string> texts_of(const char* const* texts, std::size_t count, const char* what) {
  if (count > 0) need(texts, what);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(text_of(texts[i], what));
  return result;
}

}  // namespace colonnade::capi

extern "C" {

const colonnade_error* colonnade_last_error(void) {
  const auto& kept = colonnade::capi::last_error;
  return kept.is_there ? &kept.described : nullptr;
}

uint32_t colonnade_abi_version(void) {
  return COLONNADE_ABI_VERSION;
}

const char* colonnade_version(void) {
  return COLONNADE_VERSION;
}

size_t colonnade_strings_size(const colonnade_strings* strings) {
  return strings == nullptr ? 0 : strings->items.size();
}

const char* colonnade_strings_get(const colonnade_strings* strings, size_t index) {
  return index < colonnade_strings_size(strings) ? strings->items[index].c_str() : nullptr;
}

void colonnade_strings_release(colonnade_strings* strings) {
  delete strings;
}

}  // extern "C"
