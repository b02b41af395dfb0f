// The callbacks of an Arrow stream.
#include "capi/stream.h"

#include <cerrno>
#include <new>
#include <string>

#include "capi/boundary.h"

namespace colonnade::capi {
namespace {

struct Stream {
  std::unique_ptr<Batches> batches;
  std::string error;
  const char* message = nullptr;  // of the last error: `error`, or a constant where there is no memory for it
};

Stream& stream_of(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

// The errno values of the kinds of errors, which streams return.
int number_of(colonnade_status status) {
  switch (status) {
    case COLONNADE_OK:
      return 0;
    case COLONNADE_RESOURCE:
      return ENOMEM;
    case COLONNADE_UNSUPPORTED:
      return ENOSYS;
    case COLONNADE_IO:
    case COLONNADE_FORMAT:
    case COLONNADE_CHECKSUM:
      return EIO;
    default:
      return EINVAL;
  }
}

template <class Work>
int answer(ArrowArrayStream* stream, Work&& work) noexcept {
  Stream& state = stream_of(stream);
  const colonnade_status status = guarded([&] { work(*state.batches); });
  if (status == COLONNADE_OK) return 0;
  try {
    state.error = colonnade_last_error()->message;
    state.message = state.error.c_str();
    return number_of(status);
  } catch (const std::bad_alloc&) {
    state.message = "there is not enough memory";
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return answer(stream, [&](Batches& batches) { to_schema(batches.schema(), out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  return answer(stream, [&](Batches& batches) {
    if (auto batch = batches.next()) {
      to_array(std::move(*batch), out);
    } else {
      *out = {};
    }
  });
}

const char* get_last_error(ArrowArrayStream* stream) {
  return stream_of(stream).message;
}

void release(ArrowArrayStream* stream) {
  delete &stream_of(stream);
  stream->release = nullptr;
}

}  // namespace

void to_stream(std::unique_ptr<Batches> batches, ArrowArrayStream* out) {
  auto state = std::make_unique<Stream>();
  state->batches = std::move(batches);
  *out = {get_schema, get_next, get_last_error, release, state.release()};
}

}  // namespace colonnade::capi
