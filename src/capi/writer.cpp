// Writes data sets from Arrow data.
#include "colonnade/writer.h"

#include <memory>

#include "capi/arrow_import.h"
#include "capi/boundary.h"
#include "capi/write_options.h"
#include "dataset/writing/open_writer.h"

using namespace colonnade;
using namespace colonnade::capi;

struct colonnade_writer {
  std::vector<ImportType> fields;
  std::unique_ptr<Writer> writer;  // null once it is closed

  Writer& open() const {
    if (!writer) throw Error(ErrorKind::usage, "the writer is closed");
    return *writer;
  }
};

namespace colonnade::capi {
namespace {

// Arrow data that the caller handed over.
template <class Arrow>
struct Release {
  Arrow* arrow;
  ~Release() {
    if (arrow != nullptr && arrow->release != nullptr) arrow->release(arrow);
  }
};

std::unique_ptr<colonnade_writer> make_writer(const char* name, const char* uri, const ArrowSchema* schema,
                                              const colonnade_write_options* given) {
  need(schema, "the schema");
  const auto options = options_of(given, "colonnade_write_options");
  if (options.nulls != COLONNADE_NULLS_REFUSED && options.nulls != COLONNADE_NULLS_OPTIONAL)
    throw Error(ErrorKind::usage, "nulls has no such value", "one of COLONNADE_NULLS_...");
  auto writer = std::make_unique<colonnade_writer>();
  writer->fields = import_schema(*schema, options.nulls == COLONNADE_NULLS_OPTIONAL);
  auto model = Model::create();
  for (const ImportType& field : writer->fields) model->add_field(capi::make_field(field));
  writer->writer =
      dataset::open_writer<Writer>(write_mode(options), std::move(model), text_of(name, "the name"),
                                   text_of(uri, "the URI"), write_options(options));
  return writer;
}

void append(const colonnade_writer& writer, const ArrowArray& entries) {
  const ImportedArrays taken = import_array(writer.fields, entries);
  if (taken.entries == 0) return;
  if (taken.arrays.empty())
    throw Error(ErrorKind::usage, "entries without any field are not counted", "a schema with a field");
  writer.open().append(taken.arrays);
}

void close(colonnade_writer& writer) {
  Writer& open = writer.open();
  try {
    open.close();
  } catch (...) {
    if (open.may_close_again()) throw;
    open.discard();
    writer.writer.reset();
    throw;
  }
  writer.writer.reset();
}

void discard(colonnade_writer& writer) noexcept {
  if (writer.writer) writer.writer->discard();
}

[[noreturn]] void fail_stream(ArrowArrayStream& stream, int code) {
  const char* why = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
  throw Error(ErrorKind::io, "the Arrow stream failed with error " + std::to_string(code) +
                                 (why == nullptr ? "" : std::string(": ") + why));
}

std::uint64_t write_stream(const char* name, const char* uri, ArrowArrayStream& stream,
                           const colonnade_write_options* options) {
  if (stream.release == nullptr || stream.get_schema == nullptr || stream.get_next == nullptr)
    throw Error(ErrorKind::usage, "the Arrow stream was released");
  ArrowSchema schema{};
  if (const int code = stream.get_schema(&stream, &schema)) fail_stream(stream, code);
  const Release<ArrowSchema> released_schema{&schema};
  const auto writer = make_writer(name, uri, &schema, options);
  try {
    for (;;) {
      ArrowArray batch{};
      if (const int code = stream.get_next(&stream, &batch)) fail_stream(stream, code);
      if (batch.release == nullptr) break;
      const Release<ArrowArray> released_batch{&batch};
      append(*writer, batch);
    }
    const std::uint64_t entries = writer->writer->num_entries();
    close(*writer);
    return entries;
  } catch (...) {
    discard(*writer);
    throw;
  }
}

}  // namespace
}  // namespace colonnade::capi

extern "C" {

colonnade_status colonnade_writer_create(const char* name, const char* uri, const struct ArrowSchema* schema,
                                         const colonnade_write_options* options, colonnade_writer** out) {
  return guarded([&] {
    need(out, "out");
    *out = make_writer(name, uri, schema, options).release();
  });
}

colonnade_status colonnade_writer_append(colonnade_writer* writer, struct ArrowArray* entries) {
  const Release<ArrowArray> released{entries};
  return guarded([&] {
    need(writer, "the writer");
    need(entries, "the array");
    writer->open();
    append(*writer, *entries);
  });
}

uint64_t colonnade_writer_num_entries(const colonnade_writer* writer) {
  return writer == nullptr || !writer->writer ? 0 : writer->writer->num_entries();
}

colonnade_status colonnade_writer_commit(colonnade_writer* writer) {
  return guarded([&] {
    need(writer, "the writer");
    writer->open().commit_data_set();
  });
}

colonnade_status colonnade_writer_close(colonnade_writer* writer) {
  return guarded([&] {
    need(writer, "the writer");
    close(*writer);
  });
}

void colonnade_writer_release(colonnade_writer* writer) {
  if (writer != nullptr) discard(*writer);
  delete writer;
}

colonnade_status colonnade_write_stream(const char* name, const char* uri, struct ArrowArrayStream* stream,
                                        const colonnade_write_options* options, uint64_t* num_entries) {
  const Release<ArrowArrayStream> released{stream};
  return guarded([&] {
    need(stream, "the stream");
    const std::uint64_t entries = write_stream(name, uri, *stream, options);
    if (num_entries != nullptr) *num_entries = entries;
  });
}

}  // extern "C"
