// Trees of arrays, and the structs of the Arrow C data interface made of them.
#include "capi/arrow_column.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/utf8.h"
#include "colonnade/error.h"

namespace colonnade::capi {
namespace {

const char* format_of(ElementType element) {
  switch (element) {
    case ElementType::boolean:
      return "b";
    case ElementType::byte:
    case ElementType::character:
    case ElementType::uint8:
      return "C";
    case ElementType::int8:
      return "c";
    case ElementType::int16:
      return "s";
    case ElementType::uint16:
      return "S";
    case ElementType::int32:
      return "i";
    case ElementType::uint32:
      return "I";
    case ElementType::int64:
      return "l";
    case ElementType::uint64:
    case ElementType::index:
      return "L";
    case ElementType::float32:
      return "f";
    case ElementType::float64:
      return "g";
    case ElementType::switch_:
      break;
  }
  throw Error(ErrorKind::unsupported, "the elements of a variant's column are not values");
}

// The size of a value of a number type; 0 for all other types.
std::size_t width_of(std::string_view format) {
  if (format.size() != 1) return 0;
  switch (format[0]) {
    case 'b':
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'l':
    case 'L':
    case 'g':
      return 8;
    default:
      return 0;
  }
}

template <class T>
std::shared_ptr<T[]> zeros(std::size_t count) {
  return std::make_shared<T[]>(count);
}

void check_utf8(std::string_view text) {
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
  while (!is_ascii && !text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      throw Error(ErrorKind::conversion, "a string is not valid UTF-8, which Arrow requires",
                  "leave the column out, or read it by the C++ or Python interface");
    text.remove_prefix(length);
  }
}

// Repeats each element of `present` for the items of a fixed-size list.
Present repeated(const Present& present, std::size_t times) {
  Present result;
  result.reserve(present.size() * times);
  for (const std::uint8_t here : present) result.insert(result.end(), times, here);
  return result;
}

SharedBytes expand_numbers(const void* values, std::size_t width, const Present& present) {
  auto result = zeros<std::byte>(present.size() * width);
  const auto* from = static_cast<const std::byte*>(values);
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (!present[i]) continue;
    std::memcpy(result.get() + i * width, from, width);
    from += width;
  }
  return result;
}

SharedBytes expand_offsets(const void* offsets, const Present& present) {
  auto result = zeros<std::int64_t>(present.size() + 1);
  const auto* from = static_cast<const std::int64_t*>(offsets);
  result[0] = *from;
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i]) ++from;
    result[i + 1] = *from;
  }
  return result;
}

bool is_union(const ArrowColumn& column) {
  return column.format.starts_with("+us");
}

std::size_t fixed_size(const ArrowColumn& column) {
  return column.format.starts_with("+w:") ? std::stoull(column.format.substr(3)) : 1;
}

}  // namespace

// ---- Making trees

ArrowColumn numbers(ElementType element, std::size_t count, SharedBytes values) {
  return {.format = format_of(element),
          .length = static_cast<std::int64_t>(count),
          .buffers = {std::move(values)}};
}

ArrowColumn texts(std::size_t count, SharedBytes offsets, const char* characters, SharedBytes owner) {
  const auto* ends = static_cast<const std::int64_t*>(offsets.get());
  for (std::size_t i = 0; i < count; ++i)
    check_utf8({characters + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])});
  return {.format = "U",
          .length = static_cast<std::int64_t>(count),
          .buffers = {std::move(offsets), SharedBytes(std::move(owner), characters)}};
}

ArrowColumn lists(std::size_t count, SharedBytes offsets, ArrowColumn items) {
  items.name = "item";
  ArrowColumn list{
      .format = "+L", .length = static_cast<std::int64_t>(count), .buffers = {std::move(offsets)}};
  list.children.push_back(std::move(items));
  return list;
}

ArrowColumn fixed_lists(std::size_t count, std::uint64_t size, ArrowColumn items) {
  items.name = "item";
  ArrowColumn list{.format = "+w:" + std::to_string(size), .length = static_cast<std::int64_t>(count)};
  list.children.push_back(std::move(items));
  return list;
}

ArrowColumn record(std::size_t count, std::vector<std::pair<std::string, ArrowColumn>> members) {
  ArrowColumn result{.format = "+s", .length = static_cast<std::int64_t>(count)};
  for (auto& [name, member] : members) {
    member.name = std::move(name);
    result.children.push_back(std::move(member));
  }
  return result;
}

ArrowColumn optionals(const Present& present, ArrowColumn values) {
  values.nullable = !is_union(values);
  if (std::ranges::all_of(present, [](std::uint8_t here) { return here != 0; })) return values;
  if (is_union(values)) {  // missing values are those of its first alternative
    values.buffers[0] = expand_numbers(values.buffers[0].get(), 1, present);
    for (ArrowColumn& child : values.children) child = optionals(present, std::move(child));
    values.length = static_cast<std::int64_t>(present.size());
    return values;
  }
  if (values.format == "U" || values.format == "+L") {
    values.buffers[0] = expand_offsets(values.buffers[0].get(), present);
  } else if (const std::size_t width = width_of(values.format)) {
    values.buffers[0] = expand_numbers(values.buffers[0].get(), width, present);
  } else {  // records and fixed-size lists
    const Present inside = repeated(present, fixed_size(values));
    for (ArrowColumn& child : values.children) child = optionals(inside, std::move(child));
  }
  if (values.present.empty()) {
    values.present = present;
  } else {
    const auto* here = static_cast<const std::uint8_t*>(values.present.data());
    Present all(present.size());
    for (std::size_t i = 0; i < present.size(); ++i)
      if (present[i]) all[i] = *here++;
    values.present = std::move(all);
  }
  values.length = static_cast<std::int64_t>(present.size());
  return values;
}

ArrowColumn variants(std::span<const std::int32_t> tags, std::vector<ArrowColumn> alternatives) {
  ArrowColumn result{.format = "+us:", .length = static_cast<std::int64_t>(tags.size())};
  auto codes = zeros<std::int8_t>(tags.size());
  for (std::size_t i = 0; i < tags.size(); ++i) codes[i] = static_cast<std::int8_t>(std::max(tags[i] - 1, 0));
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    result.format += (k == 0 ? "" : ",") + std::to_string(k);
    Present here(tags.size());
    for (std::size_t i = 0; i < tags.size(); ++i) here[i] = tags[i] == static_cast<std::int32_t>(k) + 1;
    result.children.push_back(optionals(here, std::move(alternatives[k])));
    result.children.back().name = std::to_string(k);
  }
  result.buffers = {std::move(codes)};
  return result;
}

ArrowColumn column_of(const ValuesPtr& values) {
  const SharedBytes data(values, values->data);
  const SharedBytes offsets(values, values->offsets);
  const ValueType& type = values->type;
  if (values->constant) throw Error(ErrorKind::usage, "constant columns have no arrays");
  switch (type.kind()) {
    case ValueType::Kind::scalar:
      return numbers(type.element(), values->size, data);
    case ValueType::Kind::string:
      return texts(values->size, offsets, values->items().as<char>(), values);
    case ValueType::Kind::list: {
      ArrowColumn items = column_of(values->children.front());
      if (!type.is_optional()) return lists(values->size, offsets, std::move(items));
      Present present(values->size);
      for (std::size_t i = 0; i < values->size; ++i) present[i] = values->offsets[i + 1] > values->offsets[i];
      return optionals(present, std::move(items));
    }
    case ValueType::Kind::record: {
      if (type.is_variant()) {
        std::vector<ArrowColumn> alternatives;
        for (const ValuesPtr& each : values->children)
          alternatives.push_back(column_of(each->children.front()));
        return variants(tags_of(*values), std::move(alternatives));
      }
      std::vector<std::pair<std::string, ArrowColumn>> members;
      for (std::size_t k = 0; k < type.members().size(); ++k)
        members.emplace_back(type.members()[k].first, column_of(values->children[k]));
      return record(values->size, std::move(members));
    }
  }
  throw Error(ErrorKind::unsupported, "the values of type '" + type.name() + "' have no arrays");
}

// ---- Schemas

namespace {

struct SchemaParts {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;

  SchemaParts() = default;
  SchemaParts(const SchemaParts&) = delete;
  SchemaParts& operator=(const SchemaParts&) = delete;
  ~SchemaParts() {
    for (ArrowSchema& child : children)
      if (child.release != nullptr) child.release(&child);  // children that were not moved from
  }
};

void release_schema(ArrowSchema* schema) {
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

}  // namespace

void to_schema(const ArrowColumn& column, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = column.format;
  parts->name = column.name;
  parts->children.resize(column.children.size());
  ArrowSchema schema{};
  for (std::size_t i = 0; i < column.children.size(); ++i) {
    to_schema(column.children[i], &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  schema.format = parts->format.c_str();
  schema.name = parts->name.c_str();
  schema.flags = column.nullable ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = static_cast<std::int64_t>(parts->children.size());
  schema.children = parts->pointers.data();
  schema.release = release_schema;
  schema.private_data = parts.release();
  *out = schema;
}

// ---- Arrays

namespace {

struct ArrayParts {
  std::vector<SharedBytes> owners;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;

  ArrayParts() = default;
  ArrayParts(const ArrayParts&) = delete;
  ArrayParts& operator=(const ArrayParts&) = delete;
  ~ArrayParts() {
    for (ArrowArray& child : children)
      if (child.release != nullptr) child.release(&child);  // children that were not moved from
  }
};

void release_array(ArrowArray* array) {
  delete static_cast<ArrayParts*>(array->private_data);
  array->release = nullptr;
}

SharedBytes bits_of(const std::uint8_t* bytes, std::size_t count) {
  auto bits = zeros<std::uint8_t>((count + 7) / 8);
  for (std::size_t i = 0; i < count; ++i)
    bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (bytes[i] != 0 ? 1u << i % 8 : 0u));
  return bits;
}

}  // namespace

void to_array(ArrowColumn column, ArrowArray* out) {
  // Some programs do not accept a null pointer for a buffer without bytes.
  alignas(64) static const std::array<std::byte, 64> nothing{};
  auto parts = std::make_unique<ArrayParts>();
  const auto count = static_cast<std::size_t>(column.length);
  ArrowArray array{};
  array.length = column.length;
  if (!is_union(column)) {
    array.null_count = std::ranges::count(column.present, 0);
    parts->owners.push_back(array.null_count > 0 ? bits_of(column.present.data(), count) : nullptr);
  }
  if (column.format == "b")
    column.buffers[0] = bits_of(static_cast<const std::uint8_t*>(column.buffers[0].get()), count);
  for (SharedBytes& buffer : column.buffers) {
    if (buffer == nullptr) buffer = SharedBytes(SharedBytes(), nothing.data());
    parts->owners.push_back(std::move(buffer));
  }
  for (const SharedBytes& owner : parts->owners) parts->buffers.push_back(owner.get());
  parts->children.resize(column.children.size());
  for (std::size_t i = 0; i < column.children.size(); ++i) {
    to_array(std::move(column.children[i]), &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  array.n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  array.buffers = parts->buffers.data();
  array.n_children = static_cast<std::int64_t>(parts->children.size());
  array.children = parts->pointers.data();
  array.release = release_array;
  array.private_data = parts.release();
  *out = array;
}

}  // namespace colonnade::capi
