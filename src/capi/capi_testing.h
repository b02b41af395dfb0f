// Shared by the tests of the C interface: a small data set in memory, and Arrow data that counts its
// releases.
#ifndef COLONNADE_CAPI_TESTING_H
#define COLONNADE_CAPI_TESTING_H

#include <colonnade.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/memory/memory_file.h"

namespace colonnade::capi::testing {

// Arrow data of one entry list: a struct with the columns "x" (int32) and "s" (utf8). Every struct notes how
// often it was released, so that a test sees one that was forgotten, or released twice.
class Table {
 public:
  explicit Table(std::int32_t entries) : entries_(entries) {
    for (std::int32_t i = 0; i < entries; ++i) {
      x_.push_back(i);
      ends_.push_back(static_cast<std::int32_t>(text_.size()));
      text_ += std::string(static_cast<std::size_t>(i % 4), 'a');
    }
    ends_.push_back(static_cast<std::int32_t>(text_.size()));
    text_ += ' ';  // no null pointer without characters
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  ArrowSchema* schema() {
    fields_ = {};
    fields_[0].format = "i";
    fields_[0].name = "x";
    fields_[1].format = "u";
    fields_[1].name = "s";
    for (std::size_t k = 0; k < 2; ++k) {
      fields_[k].release = released_schema;
      field_pointers_[k] = &fields_[k];
    }
    schema_ = {};
    schema_.format = "+s";
    schema_.name = "";
    schema_.n_children = 2;
    schema_.children = field_pointers_.data();
    schema_.release = released_schema;
    schema_.private_data = this;
    return &schema_;
  }
  ArrowArray* array() {
    x_buffers_ = {nullptr, x_.data()};
    s_buffers_ = {nullptr, ends_.data(), text_.data()};
    columns_ = {};
    columns_[0].n_buffers = 2;
    columns_[0].buffers = x_buffers_.data();
    columns_[1].n_buffers = 3;
    columns_[1].buffers = s_buffers_.data();
    for (std::size_t k = 0; k < 2; ++k) {
      columns_[k].length = entries_;
      columns_[k].release = released_array;
      column_pointers_[k] = &columns_[k];
    }
    array_ = {};
    array_.length = entries_;
    array_.n_buffers = 1;
    array_.buffers = no_buffers_.data();
    array_.n_children = 2;
    array_.children = column_pointers_.data();
    array_.release = released_array;
    array_.private_data = this;
    return &array_;
  }

  ArrowArray& column(std::size_t number) { return columns_[number]; }
  std::vector<std::int32_t>& ends() { return ends_; }
  int released() const { return released_; }

  // Returns the table this many times.
  ArrowArrayStream* stream(int batches) {
    left_ = batches;
    stream_ = {get_schema, get_next, last_error, released_stream, this};
    return &stream_;
  }
  int streams_released() const { return streams_released_; }

 private:
  static Table& of(void* data) { return *static_cast<Table*>(data); }
  // By the specification, a consumer releases only the base struct.
  static void released_schema(ArrowSchema* schema) { schema->release = nullptr; }
  static void released_array(ArrowArray* array) {
    if (array->private_data != nullptr) ++of(array->private_data).released_;
    array->release = nullptr;
  }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    *out = *of(stream->private_data).schema();
    return 0;
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    Table& table = of(stream->private_data);
    *out = {};
    if (table.left_-- > 0) *out = *table.array();
    return 0;
  }
  static const char* last_error(ArrowArrayStream*) { return nullptr; }
  static void released_stream(ArrowArrayStream* stream) {
    ++of(stream->private_data).streams_released_;
    stream->release = nullptr;
  }

  std::int32_t entries_;
  std::vector<std::int32_t> x_, ends_;
  std::string text_;
  std::array<const void*, 1> no_buffers_{};
  std::array<const void*, 2> x_buffers_{};
  std::array<const void*, 3> s_buffers_{};
  std::array<ArrowSchema, 2> fields_{};
  std::array<ArrowSchema*, 2> field_pointers_{};
  ArrowSchema schema_{};
  std::array<ArrowArray, 2> columns_{};
  std::array<ArrowArray*, 2> column_pointers_{};
  ArrowArray array_{};
  ArrowArrayStream stream_{};
  int released_ = 0, streams_released_ = 0, left_ = 0;
};

// A data set "E" in memory, which lives as long as this object.
class MemoryDataSet {
 public:
  explicit MemoryDataSet(std::string uri, int batches = 0, std::int32_t entries = 1000)
      : uri_(std::move(uri)) {
    if (batches == 0) return;
    Table table(entries);
    auto given = options();
    given.cluster_size = 4000;
    status_ = colonnade_write_stream("E", uri_.c_str(), table.stream(batches), &given, nullptr);
  }
  ~MemoryDataSet() { io::remove_memory_file(uri_); }
  MemoryDataSet(const MemoryDataSet&) = delete;
  MemoryDataSet& operator=(const MemoryDataSet&) = delete;

  static colonnade_write_options options() {
    colonnade_write_options options{};
    options.struct_size = sizeof options;
    options.mode = COLONNADE_WRITE_REPLACE;
    return options;
  }
  const std::string& uri() const { return uri_; }
  const char* const* uris() const { return &pointer_; }
  colonnade_status status() const { return status_; }

 private:
  std::string uri_;
  const char* pointer_ = uri_.c_str();
  colonnade_status status_ = COLONNADE_OK;
};

}  // namespace colonnade::capi::testing

#endif
