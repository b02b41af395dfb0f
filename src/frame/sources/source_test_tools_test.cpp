// See source_test_tools.h.
#include "frame/sources/source_test_tools.h"

#include <fmt/format.h>

#include <map>

namespace colonnade::frame {
namespace {

std::string hex(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text + " ";
}

// Entry by entry out of whole arrays.
class Arrays {
 public:
  Arrays(Reader& reader, const std::string& path) : descriptor_(reader.descriptor()) {
    const std::vector<std::string> paths = {path};
    for (ColumnArray& array : reader.arrays(paths, 0, reader.num_entries())) {
      const bool is_structure = array.role == ArrayRole::offsets;
      (is_structure ? offsets_ : values_)[array.field] = std::move(array);
    }
  }

  std::string text(std::uint32_t id, std::uint64_t index) const {
    const FieldDescriptor& f = descriptor_.fields[id];
    if (const auto ends = offsets_.find(id); ends != offsets_.end()) {
      const auto offsets = ends->second.view<std::int64_t>();
      const auto begin = static_cast<std::uint64_t>(offsets[index]);
      const auto end = static_cast<std::uint64_t>(offsets[index + 1]);
      if (f.type_name.starts_with("ROOT::RNTupleCardinality")) {
        const std::uint64_t count = end - begin;  // little-endian
        return hex(&count, f.type_name.find("uint64") != std::string::npos ? 8 : 4);
      }
      const bool is_text = f.type_name == "std::string";
      std::string text = is_text ? "'" : "[";
      for (std::uint64_t i = begin; i < end; ++i)
        text += is_text ? element(id, i) : this->text(f.children.front(), i);
      return text + (is_text ? "'" : "]");
    }
    if (f.array_size > 0) {
      std::string text = "[";
      for (std::uint64_t i = 0; i < f.array_size; ++i)
        text += f.children.empty() ? element(id, index * f.array_size + i)
                                   : this->text(f.children.front(), index * f.array_size + i);
      return text + "]";
    }
    if (f.role == FieldRole::record) {
      return "{" + members(f, index) + "}";
    }
    return f.representations.empty() ? text(f.children.front(), index) : element(id, index);
  }

 private:
  // Those of base classes are members, too.
  std::string members(const FieldDescriptor& f, std::uint64_t index) const {
    std::string all;
    for (const std::uint32_t child : f.children) {
      const FieldDescriptor& member = descriptor_.fields[child];
      all += member.name.starts_with(":_") ? members(member, index) : text(child, index);
    }
    return all;
  }
  std::string element(std::uint32_t id, std::uint64_t index) const {
    const ColumnArray& array = values_.at(id);
    const std::size_t width = size_of(array.element);
    return hex(array.data.get() + index * width, width);
  }

  const Descriptor& descriptor_;
  std::map<std::uint32_t, ColumnArray> offsets_;
  std::map<std::uint32_t, ColumnArray> values_;
};

}  // namespace

std::string bits_of(const Values& values, std::size_t index) {
  if (values.constant) index = 0;
  if (values.type.is_scalar()) {
    const std::size_t width = size_of(values.type.element());
    return hex(static_cast<const std::byte*>(values.data) + index * width, width);
  }
  if (values.type.is_record()) {
    std::string text = "{";
    for (const ValuesPtr& member : values.children) text += bits_of(*member, index);
    return text + "}";
  }
  const bool is_text = values.type.is_string();
  std::string text = is_text ? "'" : "[";
  for (auto i = values.offsets[index]; i < values.offsets[index + 1]; ++i)
    text += bits_of(values.items(), static_cast<std::size_t>(i));
  return text + (is_text ? "'" : "]");
}

std::vector<std::string> entries_as_arrays(const std::string& uri, const std::string& field,
                                           const std::string& data_set) {
  const auto reader = Reader::open(data_set, uri);
  const Arrays arrays(*reader, field);
  const std::uint32_t id = reader->descriptor().find_field(field);
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) texts.push_back(arrays.text(id, i));
  return texts;
}

void expect_blocks(const Source& source, std::span<const std::uint32_t> columns,
                   std::span<const std::vector<std::string>> expected, std::size_t block,
                   std::uint64_t seed) {
  testing::Random random(seed);
  const std::vector<Part> parts = source.parts(0, source.entries());
  std::uint64_t covered = 0;
  for (const Part& part : parts) {
    ASSERT_EQ(part.first, covered);
    covered = part.last;
  }
  ASSERT_EQ(covered, source.entries());
  const std::unique_ptr<Cursor> cursor = source.open();
  BlockMemory memory;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    cursor->start(parts[p], std::span(parts).subspan(p + 1, p + 1 < parts.size() ? 1 : 0));
    for (std::uint64_t first = parts[p].first; first < parts[p].last; first += block) {
      const std::size_t size = std::min<std::uint64_t>(block, parts[p].last - first);
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<std::uint32_t> indices;
        const std::uint64_t keep = random() % 4;
        for (std::uint32_t i = 0; i < size; ++i)
          if (random() % 4 <= keep) indices.push_back(i);
        Rows rows{first, size, nullptr};
        if (turn > 0 || keep == 0) rows = {first, indices.size(), indices.data()};
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const ValuesPtr values = cursor->read(columns[c], rows, memory);
          ASSERT_EQ(values->size, rows.size);
          ASSERT_EQ(values->type, source.type(columns[c]));
          for (std::size_t i = 0; i < rows.size; ++i)
            ASSERT_EQ(bits_of(*values, i), expected[c][rows.entry(i)])
                << source.path(columns[c]) << ", entry " << rows.entry(i) << ", blocks of " << block;
        }
      }
    }
  }
}

void expect_same(Source& source, const std::string& path, const std::vector<std::string>& expected) {
  const auto column = source.find(path);
  ASSERT_TRUE(column) << path;
  ASSERT_EQ(expected.size(), source.entries());
  for (const std::size_t block : {1, 3, 16, 1000})
    expect_blocks(source, std::span(&*column, 1), std::span(&expected, 1), block, block);
}

}  // namespace colonnade::frame
