// Scalars: bool, char, std::byte, integers, float, double (and Double32_t); one column, one element per
// value.
#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_sink.h"
#include "page/page_source.h"

namespace colonnade::field {
namespace {

// The default column types of the specification's table: split forms, where they exist, for compressed
// data.
ColumnType default_type(ElementType element, bool compressed) {
  switch (element) {
    case ElementType::boolean:
      return ColumnType::bit;
    case ElementType::byte:
      return ColumnType::byte;
    case ElementType::character:
      return ColumnType::character;
    case ElementType::int8:
      return ColumnType::int8;
    case ElementType::uint8:
      return ColumnType::uint8;
    case ElementType::int16:
      return compressed ? ColumnType::split_int16 : ColumnType::int16;
    case ElementType::uint16:
      return compressed ? ColumnType::split_uint16 : ColumnType::uint16;
    case ElementType::int32:
      return compressed ? ColumnType::split_int32 : ColumnType::int32;
    case ElementType::uint32:
      return compressed ? ColumnType::split_uint32 : ColumnType::uint32;
    case ElementType::int64:
      return compressed ? ColumnType::split_int64 : ColumnType::int64;
    case ElementType::uint64:
      return compressed ? ColumnType::split_uint64 : ColumnType::uint64;
    case ElementType::float32:
      return compressed ? ColumnType::split_real32 : ColumnType::real32;
    case ElementType::float64:
      return compressed ? ColumnType::split_real64 : ColumnType::real64;
    case ElementType::index:
      return compressed ? ColumnType::split_index64 : ColumnType::index64;
    case ElementType::switch_:
      return ColumnType::switch_;
  }
  return ColumnType::byte;
}

template <class T>
class ScalarField final : public Field {
 public:
  ScalarField(std::string name, ElementType element, std::string type_name, std::string alias)
      : Field(std::move(name), {.kind = FieldKind::scalar,
                                .type_name = std::move(type_name),
                                .type_alias = std::move(alias),
                                .value_size = sizeof(T),
                                .alignment = alignof(T),
                                .elements = {element}}) {}

  void construct(void* value) const override { std::memset(value, 0, sizeof(T)); }
  void destroy(void*) const noexcept override {}
  void append(const void* value) override { writers_[0]->append(*static_cast<const T*>(value)); }
  void append_many(const void* values, std::size_t count) override { writers_[0]->append(values, count); }
  void read(ClusterIndex at, void* value) override {
    *static_cast<T*>(value) = readers_[0]->template at<T>(at.cluster, at.index);
  }
  void read_many(ClusterIndex first, std::size_t count, void* values) override {
    readers_[0]->read(first.cluster, first.index, count, values);
  }
  void print(const void* value, std::string& out) const override {
    const T& v = *static_cast<const T*>(value);
    if constexpr (std::is_same_v<T, std::byte>) {
      out += std::to_string(static_cast<unsigned>(v));
    } else if constexpr (std::is_same_v<T, char>) {
      field::print_quoted({&v, 1}, out);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      out += fmt::format(
          "{}", static_cast<std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>(v));
    } else {
      out += fmt::format("{}", v);
    }
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    return std::make_unique<ScalarField>(name(), element(0), type_name(), type_alias());
  }
  std::vector<ColumnEncoding> default_encodings(bool compressed) const override {
    // As in ROOT, Double32_t keeps the split form in uncompressed files, too.
    const ColumnType type =
        type_alias() == "Double32_t" ? ColumnType::split_real32 : default_type(element(0), compressed);
    return {default_encoding(type)};
  }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const std::uint32_t stored = unwrap(source.descriptor(), disk_field);
    const FieldDescriptor& disk = source.descriptor().fields[stored];
    if (disk.role != FieldRole::leaf || disk.array_size > 0) refuse(source, disk_field);
    open_columns(source, stored);
  }
};

std::unique_ptr<Field> make_scalar(std::string name, ElementType element, std::string type,
                                   std::string alias) {
  const auto make = [&]<class T>(std::type_identity<T>) -> std::unique_ptr<Field> {
    return std::make_unique<ScalarField<T>>(std::move(name), element, std::move(type), std::move(alias));
  };
  switch (element) {
    case ElementType::boolean:
      return make(std::type_identity<bool>());
    case ElementType::byte:
      return make(std::type_identity<std::byte>());
    case ElementType::character:
      return make(std::type_identity<char>());
    case ElementType::int8:
      return make(std::type_identity<std::int8_t>());
    case ElementType::uint8:
      return make(std::type_identity<std::uint8_t>());
    case ElementType::int16:
      return make(std::type_identity<std::int16_t>());
    case ElementType::uint16:
      return make(std::type_identity<std::uint16_t>());
    case ElementType::int32:
      return make(std::type_identity<std::int32_t>());
    case ElementType::uint32:
      return make(std::type_identity<std::uint32_t>());
    case ElementType::int64:
      return make(std::type_identity<std::int64_t>());
    case ElementType::uint64:
      return make(std::type_identity<std::uint64_t>());
    case ElementType::float32:
      return make(std::type_identity<float>());
    case ElementType::float64:
      return make(std::type_identity<double>());
    default:
      break;
  }
  throw Error(ErrorKind::type, "an index or switch column is not a scalar", "", {.field = name});
}

// The number of items of a collection, read from the collection's own index column.
template <class T>
class CardinalityField final : public Field {
 public:
  explicit CardinalityField(std::string name)
      : Field(std::move(name), {.kind = FieldKind::cardinality,
                                .type_name = sizeof(T) == 4 ? "ROOT::RNTupleCardinality<std::uint32_t>"
                                                            : "ROOT::RNTupleCardinality<std::uint64_t>",
                                .value_size = sizeof(T),
                                .alignment = alignof(T),
                                .elements = {ElementType::index}}) {}

  void construct(void* value) const override { std::memset(value, 0, sizeof(T)); }
  void destroy(void*) const noexcept override {}
  void append(const void*) override {
    throw Error(ErrorKind::usage,
                "a cardinality only shows the size of another collection and cannot be filled",
                "add it with Model::add_projected_field", {.field = name()});
  }
  void read(ClusterIndex at, void* value) override {
    const auto range = readers_[0]->collection(at.cluster, at.index);
    const std::uint64_t size = range.end - range.begin;
    if (size > std::numeric_limits<T>::max())
      throw Error(ErrorKind::conversion, "a collection has more items than a 32-bit cardinality can hold", "",
                  {.field = name(), .cluster = at.cluster});
    *static_cast<T*>(value) = static_cast<T>(size);
  }
  void print(const void* value, std::string& out) const override {
    out += std::to_string(*static_cast<const T*>(value));
  }

 protected:
  std::unique_ptr<Field> copy() const override { return std::make_unique<CardinalityField>(name()); }
  std::vector<ColumnEncoding> default_encodings(bool compressed) const override {
    return {default_encoding(default_type(ElementType::index, compressed))};
  }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const FieldDescriptor& disk = source.descriptor().fields[disk_field];
    const auto& groups = disk.representations;
    if (groups.empty() || is_text(disk) ||
        !is_index(source.descriptor().columns[groups.front().front()].encoding.type))
      refuse(source, disk_field);
    std::vector<std::uint32_t> columns;
    for (const auto& group : groups) columns.push_back(group.front());
    readers_.push_back(std::make_unique<page::ColumnReader>(source, std::move(columns), ElementType::index));
  }
};

// Text: the ends of the strings in an index column, their bytes in a character column.
class StringField final : public Field {
 public:
  explicit StringField(std::string name)
      : Field(std::move(name), {.kind = FieldKind::string,
                                .type_name = "std::string",
                                .value_size = sizeof(std::string),
                                .alignment = alignof(std::string),
                                .elements = {ElementType::index, ElementType::character}}) {}

  void construct(void* value) const override { new (value) std::string(); }
  void destroy(void* value) const noexcept override { std::destroy_at(static_cast<std::string*>(value)); }
  void append(const void* value) override {
    const auto& text = *static_cast<const std::string*>(value);
    writers_[1]->append(text.data(), text.size());
    writers_[0]->append(writers_[1]->in_cluster());
  }
  void append_structure(const std::int64_t* offsets, std::size_t count) override {
    const std::uint64_t shift = writers_[1]->in_cluster() - static_cast<std::uint64_t>(offsets[0]);
    writers_[0]->append_computed(count, [offsets, shift](std::size_t i) {
      return static_cast<std::uint64_t>(offsets[i + 1]) + shift;
    });
  }
  void read(ClusterIndex at, void* value) override {
    auto& text = *static_cast<std::string*>(value);
    const auto range = readers_[0]->collection(at.cluster, at.index);
    const std::uint64_t stored = readers_[1]->elements(at.cluster);
    if (range.end > stored)
      throw Error(ErrorKind::format,
                  "a string ends " + std::to_string(range.end - stored) + " characters past the stored text",
                  "", {.field = name(), .cluster = at.cluster});
    text.resize(range.end - range.begin);
    readers_[1]->read(at.cluster, range.begin, text.size(), text.data());
  }
  void print(const void* value, std::string& out) const override {
    print_quoted(*static_cast<const std::string*>(value), out);
  }

 protected:
  std::unique_ptr<Field> copy() const override { return std::make_unique<StringField>(name()); }
  std::vector<ColumnEncoding> default_encodings(bool compressed) const override {
    return {default_encoding(default_type(ElementType::index, compressed)),
            default_encoding(ColumnType::character)};
  }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const std::uint32_t stored = unwrap(source.descriptor(), disk_field);
    if (!is_text(source.descriptor().fields[stored])) refuse(source, disk_field);
    open_columns(source, stored);
  }
};

// A damaged header must not claim more memory than any set of flags needs.
constexpr std::size_t max_bits = std::size_t{64} << 20;

std::size_t check_bits(std::size_t size) {
  if (size > max_bits)
    throw Error(
        ErrorKind::resource,
        fmt::format("a bitset of {} bits is larger than {}, the most that a value may have", size, max_bits),
        "store it as a collection");
  return size;
}

// One bit per flag, the least significant first.
class BitsetField final : public Field {
 public:
  BitsetField(std::string name, std::size_t size, colonnade::detail::BitsetOps ops)
      : Field(std::move(name), {.kind = FieldKind::bitset,
                                .type_name = "std::bitset<" + std::to_string(size) + ">",
                                .value_size = ops.value.size,
                                .alignment = ops.value.alignment,
                                .array_size = size,
                                .elements = {ElementType::boolean}}),
        ops_(ops),
        bits_(new bool[check_bits(size)]) {}

  void construct(void* value) const override {
    if (ops_.value.construct == nullptr) {
      std::memset(value, 0, value_size());
    } else {
      ops_.value.construct(value);
    }
  }
  void destroy(void* value) const noexcept override {
    if (ops_.value.destroy != nullptr) ops_.value.destroy(value);
  }
  void print(const void* value, std::string& out) const override {
    out += '"';
    for (std::size_t i = array_size(); i > 0; --i) out += ops_.get(value, i - 1) ? '1' : '0';
    out += '"';
  }
  void append(const void* value) override {
    for (std::size_t i = 0; i < array_size(); ++i) bits_[i] = ops_.get(value, i);
    writers_[0]->append(static_cast<const void*>(bits_.get()), array_size());
  }
  void read(ClusterIndex at, void* value) override {
    readers_[0]->read(at.cluster, first_part(at.index, array_size()), array_size(), bits_.get());
    for (std::size_t i = 0; i < array_size(); ++i) ops_.set(value, i, bits_[i]);
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    return std::make_unique<BitsetField>(name(), array_size(), ops_);
  }
  std::vector<ColumnEncoding> default_encodings(bool) const override {
    return {default_encoding(ColumnType::bit)};
  }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const std::uint32_t stored = unwrap(source.descriptor(), disk_field);
    const FieldDescriptor& disk = source.descriptor().fields[stored];
    if (family_of(disk.type_name) != "std::bitset" || disk.array_size != array_size())
      refuse(source, disk_field);
    open_columns(source, stored);
  }

 private:
  colonnade::detail::BitsetOps ops_;
  std::unique_ptr<bool[]> bits_;
};

}  // namespace
}  // namespace colonnade::field

namespace colonnade::detail {

std::unique_ptr<Field> scalar_field(std::string name, ElementType element, std::string type_name) {
  return field::make_scalar(std::move(name), element, std::move(type_name), {});
}

std::unique_ptr<Field> double32_field(std::string name) {
  return field::make_scalar(std::move(name), ElementType::float64, "double", "Double32_t");
}

std::unique_ptr<Field> string_field(std::string name) {
  return std::make_unique<field::StringField>(std::move(name));
}

std::unique_ptr<Field> bitset_field(std::string name, std::size_t size, BitsetOps ops) {
  return std::make_unique<field::BitsetField>(std::move(name), size, ops);
}

std::unique_ptr<Field> cardinality_field(std::string name, ElementType element) {
  if (element == ElementType::uint32)
    return std::make_unique<field::CardinalityField<std::uint32_t>>(std::move(name));
  return std::make_unique<field::CardinalityField<std::uint64_t>>(std::move(name));
}

}  // namespace colonnade::detail
