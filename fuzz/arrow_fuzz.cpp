// Fuzzes Arrow schemas and arrays passed to the C interface. Pointers are valid, as the interface
// requires; formats, counts, lengths, offsets and contents are arbitrary. Accepted data are written and
// read back.
#include <colonnade.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "io/memory/memory_file.h"

namespace {

constexpr const char* uri = "memory:arrow-fuzz";

void require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // Mostly small and valid, sometimes anything.
  std::int64_t number(std::int64_t usual) {
    const std::uint8_t first = byte();
    if (first < 0xe0) return usual;
    if (first < 0xf0) return byte();
    std::int64_t value = 0;
    for (int i = 0; i < 8; ++i)
      value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 8 | byte());
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// Arrow data that owns its memory.
class Tree {
 public:
  explicit Tree(Input& input) : in_(input) {}

  ArrowSchema* schema(int depth) {
    static constexpr std::array formats = {"c",    "C",  "s",       "S",       "i",   "I",      "l",  "L",
                                           "f",    "g",  "e",       "b",       "u",   "U",      "z",  "Z",
                                           "vu",   "vz", "tdD",     "tsu:UTC", "tDn", "+l",     "+L", "+m",
                                           "+w:2", "+s", "+us:0,1", "+ud:0,5", "n",   "d:10,2", "+r"};
    ArrowSchema& made = schemas_.emplace_back();
    const std::uint8_t kind = in_.byte();
    std::string& format = texts_.emplace_back();
    if (depth == 0) {
      format = "+s";
    } else if (kind < 0xe0) {
      format = formats[kind % formats.size()];
    } else {
      for (int i = kind % 8; i > 0; --i) format += static_cast<char>(in_.byte());
    }
    if (depth > 6) format = "i";
    made.format = format.c_str();
    made.name = texts_.emplace_back("f" + std::to_string(schemas_.size())).c_str();
    made.flags = in_.byte() % 4;
    const bool is_pair = format.starts_with("+u") || format == "+s";
    const std::int64_t children = format[0] != '+' ? 0 : is_pair ? 2 : 1;
    made.n_children = in_.number(children);
    std::vector<ArrowSchema*>& below = schema_lists_.emplace_back();
    for (std::int64_t i = 0; i < children; ++i) below.push_back(schema(depth + 1));
    if (made.n_children > children) made.n_children = children;
    made.children = below.data();
    if (depth > 0 && in_.byte() > 0xf0) made.dictionary = schema(6);
    made.release = [](ArrowSchema* released) { released->release = nullptr; };
    return &made;
  }

  ArrowArray* array(const ArrowSchema& of, int depth) {
    ArrowArray& made = arrays_.emplace_back();
    made.length = in_.number(8);
    made.offset = in_.number(0);
    made.null_count = in_.number(-1);
    // Large enough for all lengths and offsets accepted here: see buffer().
    if (made.length > 255 || made.offset > 255)
      made.length = made.length < 0 ? made.length : 0, made.offset = 0;
    made.n_buffers = in_.number(buffers_of(of.format));
    std::vector<const void*>& buffers = buffer_lists_.emplace_back();
    for (int i = 0; i < 4; ++i) buffers.push_back(in_.byte() > 0xf8 ? nullptr : buffer());
    if (made.n_buffers > 4) made.n_buffers = 4;
    made.buffers = buffers.data();
    std::vector<ArrowArray*>& below = array_lists_.emplace_back();
    for (std::int64_t i = 0; i < of.n_children; ++i) below.push_back(array(*of.children[i], depth + 1));
    made.n_children = std::min(in_.number(of.n_children), of.n_children);
    made.children = below.data();
    if (of.dictionary != nullptr) made.dictionary = array(*of.dictionary, depth + 1);
    made.release = [](ArrowArray* released) { released->release = nullptr; };
    return &made;
  }

 private:
  static std::int64_t buffers_of(std::string_view format) {
    if (format == "u" || format == "U" || format == "z" || format == "Z" || format == "vu" || format == "vz")
      return 3;
    if (format == "+s" || format.starts_with("+w") || format.starts_with("+us")) return 1;
    return 2;
  }

  // 64 KiB in which 32-bit and 64-bit numbers are below 256, so that offsets stay inside.
  const void* buffer() {
    std::vector<std::uint64_t>& words = memory_.emplace_back(8192);
    const bool rises = in_.byte() < 0x80;
    std::uint8_t last = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const auto step = static_cast<std::uint8_t>(in_.byte() % (rises ? 4 : 200));
      last = rises ? static_cast<std::uint8_t>(std::min(255, last + step)) : step;
      words[i] = last;
    }
    return words.data();
  }

  Input& in_;
  std::deque<ArrowSchema> schemas_;
  std::deque<ArrowArray> arrays_;
  std::deque<std::string> texts_;
  std::deque<std::vector<ArrowSchema*>> schema_lists_;
  std::deque<std::vector<ArrowArray*>> array_lists_;
  std::deque<std::vector<const void*>> buffer_lists_;
  std::deque<std::vector<std::uint64_t>> memory_;
};

void read_back(std::uint64_t entries) {
  colonnade_reader* reader = nullptr;
  require(colonnade_open("E", &uri, 1, nullptr, &reader) == COLONNADE_OK);
  require(colonnade_reader_num_entries(reader) == entries);
  ArrowArrayStream stream{};
  require(colonnade_reader_stream(reader, nullptr, 0, 0, UINT64_MAX, 3, &stream) == COLONNADE_OK);
  std::uint64_t seen = 0;
  for (;;) {
    ArrowArray batch{};
    if (stream.get_next(&stream, &batch) != 0) break;  // texts may not be UTF-8
    if (batch.release == nullptr) {
      require(seen == entries);
      break;
    }
    seen += static_cast<std::uint64_t>(batch.length);
    batch.release(&batch);
  }
  stream.release(&stream);
  colonnade_reader_release(reader);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Tree tree(input);
  colonnade_write_options options{};
  options.struct_size = sizeof options;
  options.mode = COLONNADE_WRITE_REPLACE;
  options.nulls = input.byte() % 2;
  options.compression = "none";
  const ArrowSchema* schema = tree.schema(0);
  colonnade_writer* writer = nullptr;
  if (colonnade_writer_create("E", uri, schema, &options, &writer) == COLONNADE_OK) {
    for (int batch = 0; batch < 2; ++batch) {
      ArrowArray* array = tree.array(*schema, 0);
      const colonnade_status status = colonnade_writer_append(writer, array);
      require(array->release == nullptr);
      require(status == COLONNADE_OK || colonnade_last_error()->problem[0] != '\0');
    }
    const std::uint64_t entries = colonnade_writer_num_entries(writer);
    if (colonnade_writer_close(writer) == COLONNADE_OK) read_back(entries);
    colonnade_writer_release(writer);
  }
  colonnade::io::remove_memory_file(uri);
  return 0;
}
