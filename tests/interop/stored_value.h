// Values of fields whose C++ type is unknown to the program: walks the memory that colonnade/field.h
// documents for types known by name, and prints it as the JSON of tests/fixtures/README.md.
#ifndef COLONNADE_TESTS_INTEROP_STORED_VALUE_H
#define COLONNADE_TESTS_INTEROP_STORED_VALUE_H

#include <colonnade/colonnade.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "json_text.h"

namespace interop {

// A field with the name of its type (a field made from a stored class has none, so it comes from the
// descriptor), the same for all below it.
struct Shape {
  const colonnade::Field* field = nullptr;
  std::string type;
  std::vector<Shape> children;
  std::vector<std::size_t> offsets;  // of the members of a record

  explicit Shape(const colonnade::Field& made, const colonnade::Descriptor* descriptor = nullptr,
                 std::uint32_t stored = colonnade::invalid_id)
      : field(&made), type(descriptor == nullptr ? made.type_name() : descriptor->fields[stored].type_name) {
    for (const auto& child : made.children()) {
      std::uint32_t below = colonnade::invalid_id;
      if (descriptor != nullptr)
        for (const std::uint32_t id : descriptor->fields[stored].children)
          if (descriptor->fields[id].name == child->name()) below = id;
      children.emplace_back(*child, descriptor, below);
    }
    if (field->kind() == colonnade::FieldKind::record) place_members();
  }
  bool is_map() const { return type.find("map<") != std::string::npos && type.find("map<") < type.find('<'); }

 private:
  void place_members() {
    const bool reversed = type.starts_with("std::tuple<");
    offsets.resize(children.size());
    std::size_t end = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::size_t k = reversed ? children.size() - 1 - i : i;
      const std::size_t alignment = children[k].field->alignment();
      offsets[k] = (end + alignment - 1) / alignment * alignment;
      end = offsets[k] + children[k].field->value_size();
    }
  }
};

template <class T>
const T& value_as(const void* value) {
  return *static_cast<const T*>(value);
}

inline void append_scalar(std::string& out, colonnade::ElementType element, const void* value) {
  using colonnade::ElementType;
  const auto integer = [&]<class T>(T) { out += std::to_string(value_as<T>(value)); };
  switch (element) {
    case ElementType::boolean:
      out += value_as<std::uint8_t>(value) != 0 ? "true" : "false";
      return;
    case ElementType::character:
    case ElementType::int8:
      return integer(std::int8_t());
    case ElementType::byte:
    case ElementType::uint8:
      return integer(std::uint8_t());
    case ElementType::int16:
      return integer(std::int16_t());
    case ElementType::uint16:
      return integer(std::uint16_t());
    case ElementType::int32:
      return integer(std::int32_t());
    case ElementType::uint32:
      return integer(std::uint32_t());
    case ElementType::int64:
      return integer(std::int64_t());
    case ElementType::uint64:
      return integer(std::uint64_t());
    case ElementType::float32:
      return append_real(out, value_as<float>(value));
    case ElementType::float64:
      return append_real(out, value_as<double>(value));
    default:
      throw std::logic_error("not an element of a scalar");
  }
}

void append_value(std::string& out, const Shape& shape, const void* value);

inline void append_items(std::string& out, const Shape& shape, const std::byte* items, std::size_t count) {
  Separator separate(out);
  for (std::size_t i = 0; i < count; ++i) {
    separate();
    const Shape& item = shape.children[0];
    const std::byte* at = items + i * item.field->value_size();
    if (!shape.is_map()) {
      append_value(out, item, at);
      continue;
    }
    out += '[';
    append_value(out, item.children[0], at + item.offsets[0]);
    out += ", ";
    append_value(out, item.children[1], at + item.offsets[1]);
    out += ']';
  }
}

inline void append_collection(std::string& out, const Shape& shape, const void* value) {
  out += '[';
  const colonnade::Field& item = *shape.children[0].field;
  if (item.kind() == colonnade::FieldKind::scalar && item.element(0) == colonnade::ElementType::boolean) {
    Separator separate(out);
    for (const bool flag : value_as<std::vector<bool>>(value)) {
      separate();
      out += flag ? "true" : "false";
    }
  } else {
    const auto* const* ends = static_cast<const std::byte* const*>(value);
    append_items(out, shape, ends[0], static_cast<std::size_t>(ends[1] - ends[0]) / item.value_size());
  }
  out += ']';
}

inline void append_nullable(std::string& out, const Shape& shape, const void* value) {
  const Shape& item = shape.children[0];
  const bool is_pointer = shape.type.starts_with("std::unique_ptr<");
  const void* inner = is_pointer ? value_as<const void*>(value) : value;
  const bool engaged =
      is_pointer ? inner != nullptr : static_cast<const bool*>(value)[item.field->value_size()];
  if (!engaged) {
    out += "null";
    return;
  }
  const bool nested = item.field->kind() == colonnade::FieldKind::nullable;
  if (nested) out += '[';
  append_value(out, item, inner);
  if (nested) out += ']';
}

inline void append_record(std::string& out, const Shape& shape, const void* value) {
  out += '{';
  Separator separate(out);
  for (std::size_t i = 0; i < shape.children.size(); ++i) {
    separate();
    append_text(out, shape.children[i].field->name());
    out += ": ";
    const std::byte* member = static_cast<const std::byte*>(value) + shape.offsets[i];
    if (shape.type == "TObject" && shape.children[i].field->name() == "fBits") {
      out += std::to_string(value_as<std::uint32_t>(member) & ~std::uint32_t{0x03000000});
    } else {
      append_value(out, shape.children[i], member);
    }
  }
  out += '}';
}

inline void append_variant(std::string& out, const Shape& shape, const void* value) {
  std::size_t size = 0;
  for (const Shape& alternative : shape.children) size = std::max(size, alternative.field->value_size());
  const std::size_t alignment = shape.field->alignment();
  const auto tag = static_cast<const std::uint8_t*>(value)[(size + alignment - 1) / alignment * alignment];
  if (tag == 255) {
    out += R"({"tag": 0, "value": null})";
    return;
  }
  out += "{\"tag\": " + std::to_string(tag + 1) + ", \"value\": ";
  append_value(out, shape.children.at(tag), value);
  out += '}';
}

inline void append_value(std::string& out, const Shape& shape, const void* value) {
  using colonnade::FieldKind;
  const colonnade::Field& field = *shape.field;
  switch (field.kind()) {
    case FieldKind::scalar:
      return append_scalar(out, field.element(0), value);
    case FieldKind::string:
      return append_text(out, value_as<std::string>(value));
    case FieldKind::collection:
      return append_collection(out, shape, value);
    case FieldKind::nullable:
      return append_nullable(out, shape, value);
    case FieldKind::array:
      out += '[';
      append_items(out, shape, static_cast<const std::byte*>(value), field.array_size());
      out += ']';
      return;
    case FieldKind::bitset: {
      out += '[';
      Separator separate(out);
      for (std::uint64_t i = 0; i < field.array_size(); ++i) {
        separate();
        out += (static_cast<const std::uint64_t*>(value)[i / 64] >> (i % 64)) & 1 ? '1' : '0';
      }
      out += ']';
      return;
    }
    case FieldKind::record:
      return append_record(out, shape, value);
    case FieldKind::variant:
      return append_variant(out, shape, value);
    case FieldKind::wrapper:
      return append_value(out, shape.children[0], value);
    case FieldKind::cardinality:
      out += field.value_size() == 4 ? std::to_string(value_as<std::uint32_t>(value))
                                     : std::to_string(value_as<std::uint64_t>(value));
      return;
  }
}

}  // namespace interop

#endif
