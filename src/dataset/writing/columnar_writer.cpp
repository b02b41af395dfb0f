// See columnar_writer.h.
#include "dataset/writing/columnar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "codec/convert.h"
#include "page/page_sink.h"

namespace colonnade::dataset {
namespace {

constexpr std::size_t conversion_block = 4096;  // elements converted at a time

[[noreturn]] void fail(const std::string& path, const std::string& problem, const std::string& advice = {}) {
  throw Error(ErrorKind::usage, problem, advice, {.field = path});
}

codec::Convert conversion(ElementType from, ElementType to) {
  if (const codec::Convert rounding = codec::rounding_conversion(from, to)) return rounding;
  return codec::checked_conversion(from, to);
}

// False if an offset is negative or less than the one before or, `nullable`, more than one larger. Looks at
// all offsets without a branch: a loop that vectorises.
bool are_offsets(const std::int64_t* offsets, std::uint64_t count, bool nullable) noexcept {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const std::uint64_t too_large = nullable ? ~std::uint64_t{1} : sign;
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto end = static_cast<std::uint64_t>(offsets[i + 1]);
    found |= (end & sign) | ((end - static_cast<std::uint64_t>(offsets[i])) & too_large);
  }
  return found == 0;
}

}  // namespace

bool has_arrays(const Field& field) {
  if (field.kind() != FieldKind::record && field.kind() != FieldKind::array &&
      field.kind() != FieldKind::wrapper)
    return true;
  return std::ranges::any_of(field.children(), [](const auto& child) { return has_arrays(*child); });
}

// A field and its arrays in the batch.
struct ColumnarInput::FieldInput {
  Field* field = nullptr;
  std::string path;
  ArrayView structure;  // offsets or tags
  ArrayView values;
  codec::Convert convert = nullptr;  // null: the values have the column's element type
  std::size_t column = 0;            // of the values
  std::uint64_t cursor = 0;          // values of this field taken so far
  std::uint64_t value_cursor = 0;    // elements of `values` taken so far
  std::vector<std::unique_ptr<FieldInput>> children;

  const std::int64_t* numbers() const { return static_cast<const std::int64_t*>(structure.data); }
  std::vector<std::int64_t> tags;

  void append_values(std::uint64_t count) {
    page::ColumnWriter& writer = field->writer(column);
    const auto* from = static_cast<const std::byte*>(values.data) + value_cursor * size_of(values.element);
    if (convert == nullptr) {
      writer.append_lent(from, count);
    } else {
      alignas(16) std::array<std::byte, conversion_block * 16> block;
      for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t step = std::min<std::uint64_t>(count - done, conversion_block);
        with_context({.field = path}, [&] {
          convert(from + done * size_of(values.element), step, value_cursor + done, block.data());
        });
        writer.append(static_cast<const void*>(block.data()), step);
        done += step;
      }
    }
    value_cursor += count;
  }

  // Bytes of elements for the values [begin, end) of this field, and of all fields below it.
  std::uint64_t bytes(std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t count = end - begin;
    switch (field->kind()) {
      case FieldKind::scalar:
        return count * size_of(field->element(0));
      case FieldKind::bitset:
        return count * field->array_size() * size_of(field->element(0));
      case FieldKind::string:
      case FieldKind::collection:
      case FieldKind::nullable: {
        const auto first = static_cast<std::uint64_t>(numbers()[begin]);
        const auto last = static_cast<std::uint64_t>(numbers()[end]);
        const std::uint64_t items =
            field->kind() == FieldKind::string ? last - first : children.front()->bytes(first, last);
        return count * size_of(ElementType::index) + items;
      }
      case FieldKind::variant: {
        std::uint64_t sum = count * size_of(ElementType::switch_);
        for (std::size_t k = 0; k < children.size(); ++k) {
          const auto tag = static_cast<std::int64_t>(k + 1);
          const auto first = children[k]->cursor + count_of(tag, cursor, begin);
          sum += children[k]->bytes(first, first + count_of(tag, begin, end));
        }
        return sum;
      }
      default: {
        const std::uint64_t factor = field->kind() == FieldKind::array ? field->array_size() : 1;
        std::uint64_t sum = 0;
        for (const auto& child : children) sum += child->bytes(begin * factor, end * factor);
        return sum;
      }
    }
  }
  std::uint64_t count_of(std::int64_t tag, std::uint64_t begin, std::uint64_t end) const {
    const auto at = tags.begin();
    return static_cast<std::uint64_t>(
        std::count(at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end), tag));
  }

  void append(std::uint64_t count) {
    switch (field->kind()) {
      case FieldKind::scalar:
        append_values(count);
        break;
      case FieldKind::bitset:
        append_values(count * field->array_size());
        break;
      case FieldKind::string:
      case FieldKind::collection:
      case FieldKind::nullable: {
        const std::int64_t* offsets = numbers() + cursor;
        const auto items = static_cast<std::uint64_t>(offsets[count] - offsets[0]);
        // The index of a string counts the characters written so far, so it goes first.
        field->append_structure(offsets, count);
        if (field->kind() == FieldKind::string) {
          append_values(items);
        } else {
          children.front()->append(items);
        }
        break;
      }
      case FieldKind::variant: {
        const std::int64_t* own = tags.data() + cursor;
        field->append_structure(own, count);
        for (std::size_t k = 0; k < children.size(); ++k)
          children[k]->append(
              static_cast<std::uint64_t>(std::count(own, own + count, static_cast<std::int64_t>(k + 1))));
        break;
      }
      default:
        for (const auto& child : children)
          child->append(field->kind() == FieldKind::array ? count * field->array_size() : count);
    }
    cursor += count;
  }
};

// Matches arrays with fields and checks that they are consistent.
class ColumnarInput::Matcher {
 public:
  explicit Matcher(std::span<const NamedArray> arrays) {
    for (const NamedArray& named : arrays) {
      auto& group = arrays_[named.path];
      const bool is_structure = named.array.role != ArrayRole::values;
      ArrayView*& place = is_structure ? group.structure : group.values;
      if (place != nullptr) fail(named.path, "two arrays of the same kind are given for the field");
      views_.push_back(std::make_unique<ArrayView>(named.array));
      place = views_.back().get();
    }
  }

  std::unique_ptr<FieldInput> match(Field& field, const std::string& path,
                                    std::optional<std::uint64_t> expected, std::uint64_t& found) {
    auto node = std::make_unique<FieldInput>();
    node->field = &field;
    node->path = path;
    const unsigned wrappers =
        std::exchange(wrappers_, field.kind() == FieldKind::wrapper ? wrappers_ + 1 : wrappers_);
    switch (field.kind()) {
      case FieldKind::scalar:
        found = take_values(*node, 0, 1);
        break;
      case FieldKind::bitset:
        found = take_values(*node, 0, field.array_size());
        break;
      case FieldKind::string:
      case FieldKind::collection:
      case FieldKind::nullable:
        wrappers_ = 0;
        found = take_collection(*node);
        break;
      case FieldKind::variant:
        wrappers_ = 0;
        found = take_variant(*node);
        break;
      case FieldKind::cardinality:
        fail(path, "a cardinality cannot be filled", "add it as a projected field");
      default:
        if (field.kind() != FieldKind::wrapper) wrappers_ = 0;
        found = take_parts(*node, expected);
    }
    wrappers_ = wrappers;
    if (expected && found != *expected)
      fail(path, fmt::format("{} values are given, but {} are needed", found, *expected));
    return node;
  }

  // Matches fields that have equally many values. Arrays of one tell how many: those that have none come
  // last.
  std::vector<std::unique_ptr<FieldInput>> match_all(const std::vector<std::unique_ptr<Field>>& fields,
                                                     const std::string& prefix,
                                                     std::optional<std::uint64_t>& count) {
    std::vector<std::unique_ptr<FieldInput>> nodes(fields.size());
    for (const bool counted : {true, false})
      for (std::size_t k = 0; k < fields.size(); ++k) {
        if (has_arrays(*fields[k]) != counted) continue;
        std::uint64_t found = 0;
        nodes[k] = match(*fields[k], prefix + fields[k]->name(), count, found);
        count = found;
      }
    return nodes;
  }

  void check_all_used() const {
    for (const auto& [path, group] : arrays_)
      if ((group.values != nullptr && !group.values_used) ||
          (group.structure != nullptr && !group.structure_used))
        fail(path, "the model has no such field, or none that takes an array here", "see Model::fields()");
  }

 private:
  struct Group {
    ArrayView* values = nullptr;
    ArrayView* structure = nullptr;
    bool values_used = false;
    bool structure_used = false;
  };

  const ArrayView* values_at(const std::string& path) {
    Group& found = arrays_[path];
    found.values_used = true;
    return found.values;
  }
  const ArrayView* structure_at(const std::string& path, ArrayRole role) {
    Group& found = arrays_[path];
    if (found.structure == nullptr || found.structure->role != role) return nullptr;
    const ElementType needed = role == ArrayRole::tags ? ElementType::int32 : ElementType::int64;
    if (found.structure->element != needed)
      throw Error(ErrorKind::type,
                  fmt::format("an array of {} is given, but numbers of type {} are needed",
                              name_of(found.structure->element), name_of(needed)),
                  "", {.field = path});
    found.structure_used = true;
    return found.structure;
  }

  std::uint64_t take_values(FieldInput& node, std::size_t column, std::uint64_t per_value) {
    const ArrayView* own = values_at(node.path);
    // An enum's or atomic's values may be given at its own path.
    std::string above = node.path;
    for (unsigned up = wrappers_; own == nullptr && up > 0; --up) {
      above.resize(above.size() - std::string_view("._0").size());
      own = values_at(above);
    }
    if (own == nullptr)
      fail(node.path, fmt::format("no array is given for this field of type {}", node.field->type_name()));
    node.values = *own;
    node.column = column;
    const ElementType to = node.field->element(column);
    if (node.values.element != to) {
      node.convert = conversion(node.values.element, to);
      if (node.convert == nullptr)
        throw Error(ErrorKind::type,
                    fmt::format("an array of {} cannot fill a field of type {}", name_of(node.values.element),
                                node.field->type_name()),
                    "", {.field = node.path});
    }
    if (node.values.size % per_value != 0)
      fail(node.path,
           fmt::format("the number of elements, {}, is not a multiple of {}", node.values.size, per_value));
    return node.values.size / per_value;
  }

  std::uint64_t take_collection(FieldInput& node) {
    const ArrayView* own = structure_at(node.path, ArrayRole::offsets);
    if (own == nullptr)
      fail(node.path, fmt::format("no offsets are given for this field of type {}", node.field->type_name()));
    node.structure = *own;
    if (node.structure.size == 0)
      fail(node.path, "offsets need one number more than there are collections, so at least one");
    const std::uint64_t count = node.structure.size - 1;
    const std::int64_t* offsets = node.numbers();
    // Only if something is wrong, what it is.
    const bool correct = are_offsets(offsets, count, node.field->kind() == FieldKind::nullable);
    for (std::uint64_t i = 0; !correct && i < count; ++i) {
      if (offsets[i + 1] < offsets[i])
        fail(node.path,
             fmt::format("offset {} is {}, less than the one before, {}", i + 1, offsets[i + 1], offsets[i]));
      if (node.field->kind() == FieldKind::nullable && offsets[i + 1] - offsets[i] > 1)
        fail(node.path, fmt::format("value {} has {} items, but at most one is possible", i,
                                    offsets[i + 1] - offsets[i]));
    }
    if (offsets[0] != 0)
      fail(node.path, fmt::format("the first offset is {}, not 0", offsets[0]),
           "slice the items to start there");
    const auto items = static_cast<std::uint64_t>(offsets[count]);
    if (node.field->kind() == FieldKind::string) {
      const std::uint64_t characters = take_values(node, 1, 1);
      if (characters != items)
        fail(node.path, fmt::format("the offsets end at {} but {} characters are given", items, characters));
      return count;
    }
    std::uint64_t found = 0;
    node.children.push_back(match(*node.field->children().front(), node.path + "._0", items, found));
    return count;
  }

  std::uint64_t take_variant(FieldInput& node) {
    const ArrayView* own = structure_at(node.path, ArrayRole::tags);
    if (own == nullptr) fail(node.path, "no tags are given for this variant");
    const auto* given = static_cast<const std::int32_t*>(own->data);
    node.tags.assign(given, given + own->size);
    const auto alternatives = static_cast<std::int64_t>(node.field->children().size());
    for (const std::int64_t tag : node.tags)
      if (tag < 0 || tag > alternatives)
        fail(node.path, fmt::format("the tag {} is not within 0 to {}", tag, alternatives));
    for (std::int64_t k = 0; k < alternatives; ++k) {
      std::uint64_t found = 0;
      const auto expected = static_cast<std::uint64_t>(std::count(node.tags.begin(), node.tags.end(), k + 1));
      node.children.push_back(match(*node.field->children()[static_cast<std::size_t>(k)],
                                    fmt::format("{}._{}", node.path, k), expected, found));
    }
    return node.tags.size();
  }

  // Records, arrays, enums and atomics have no arrays of their own.
  std::uint64_t take_parts(FieldInput& node, std::optional<std::uint64_t> expected) {
    const std::uint64_t factor = node.field->kind() == FieldKind::array ? node.field->array_size() : 1;
    std::optional<std::uint64_t> items;
    if (expected) items = *expected * factor;
    node.children = match_all(node.field->children(), node.path + ".", items);
    if (!items) fail(node.path, "the number of values of a record without members is unknown");
    if (*items % factor != 0)
      fail(node.path, fmt::format("the number of items, {}, is not a multiple of {}", *items, factor));
    return *items / factor;
  }

  std::map<std::string, Group> arrays_;
  unsigned wrappers_ = 0;  // enums and atomics directly above the field
  std::vector<std::unique_ptr<ArrayView>> views_;
};

ColumnarInput::ColumnarInput(const std::vector<std::unique_ptr<Field>>& fields,
                             std::span<const NamedArray> arrays) {
  Matcher matcher(arrays);
  std::optional<std::uint64_t> entries;
  nodes_ = matcher.match_all(fields, "", entries);
  matcher.check_all_used();
  entries_ = entries.value_or(0);
}

ColumnarInput::~ColumnarInput() = default;

std::uint64_t ColumnarInput::bytes(std::uint64_t count) const {
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) sum += node->bytes(node->cursor, node->cursor + count);
  return sum;
}

void ColumnarInput::append(std::uint64_t count) {
  for (const auto& node : nodes_) node->append(count);
  position_ += count;
}

}  // namespace colonnade::dataset
