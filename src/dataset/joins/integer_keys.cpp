// See integer_keys.h.
#include "dataset/joins/integer_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/thread_pool.h"
#include "codec/compression.h"
#include "colonnade/error.h"
#include "dataset/chains/schema.h"
#include "dataset/element_types.h"
#include "dataset/schema_walk.h"

namespace colonnade::dataset {
namespace {

template <class T>
void widen(const ColumnArray& array, std::uint64_t* to) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  std::ranges::transform(array.view<T>(), to,
                         [](T value) { return static_cast<std::uint64_t>(Wide{value}); });
}

}  // namespace

bool is_signed_integer(ElementType element) noexcept {
  return element == ElementType::int8 || element == ElementType::int16 || element == ElementType::int32 ||
         element == ElementType::int64;
}

bool is_integer(ElementType element) noexcept {
  return is_signed_integer(element) || element == ElementType::uint8 || element == ElementType::uint16 ||
         element == ElementType::uint32 || element == ElementType::uint64 ||
         element == ElementType::boolean || element == ElementType::byte || element == ElementType::character;
}

IntegerKeys to_keys(const ColumnArray& array) {
  IntegerKeys keys{.is_signed = is_signed_integer(array.element),
                   .values = std::vector<std::uint64_t>(array.size)};
  std::uint64_t* to = keys.values.data();
  switch (array.element) {
    case ElementType::int8:
      widen<std::int8_t>(array, to);
      break;
    case ElementType::int16:
      widen<std::int16_t>(array, to);
      break;
    case ElementType::int32:
      widen<std::int32_t>(array, to);
      break;
    case ElementType::int64:
      widen<std::int64_t>(array, to);
      break;
    case ElementType::uint8:
    case ElementType::boolean:
    case ElementType::byte:
    case ElementType::character:  // without a sign, as in arrays
      widen<std::uint8_t>(array, to);
      break;
    case ElementType::uint16:
      widen<std::uint16_t>(array, to);
      break;
    case ElementType::uint32:
      widen<std::uint32_t>(array, to);
      break;
    case ElementType::uint64:
      widen<std::uint64_t>(array, to);
      break;
    default:
      throw Error(ErrorKind::type, "keys are integers");
  }
  return keys;
}

std::vector<KeyColumn> columns_of(std::span<const IntegerKeys> keys) {
  std::vector<KeyColumn> columns;
  for (const IntegerKeys& key : keys) columns.push_back({key.is_signed, key.values});
  return columns;
}

void check_key(const Descriptor& descriptor, std::string_view path) {
  const std::uint32_t id = find_field(descriptor, path, {.data_set = descriptor.name});
  const FieldDescriptor* field = &descriptor.fields[id];
  while (form_of(*field) == FieldForm::wrapper && !field->children.empty())
    field = &descriptor.fields[field->children.front()];
  const std::optional<ElementType> element = element_of_type(field->type_name);
  if (form_of(*field) != FieldForm::scalar || !is_per_entry(descriptor, id) || !element ||
      !is_integer(*element))
    throw Error(ErrorKind::type,
                fmt::format("the key '{}' is of type {}; keys are integers", path, field->type_name), "",
                {.data_set = descriptor.name});
}

IntegerKeys read_keys(ChainReader& chain, const std::string& path, std::uint64_t first, std::uint64_t last) {
  return to_keys(chain.arrays({&path, 1}, first, last).back());
}

PackedKeys pack_keys(ChainReader& chain, const std::string& path, JoinMemory& memory) {
  const ColumnArray all = chain.arrays({&path, 1}, 0, chain.num_entries()).back();
  PackedKeys packed(is_signed_integer(all.element), all.size, memory);
  for (std::size_t first = 0; first < all.size; first += PackedKeys::rows_per_piece) {
    ColumnArray some = all;
    some.data = {all.data, all.data.get() + first * size_of(all.element)};
    some.size = std::min(PackedKeys::rows_per_piece, all.size - first);
    packed.write(first, to_keys(some).values);
  }
  return packed;
}

KeyTable table_of_keys(const TableOfKeys& wanted, const std::function<std::vector<PackedKeys>()>& read,
                       JoinMemory& memory) {
  std::string identity;
  if (!wanted.uri.empty()) {
    const std::string text = nlohmann::json{{"source", wanted.source},
                                            {"keys", wanted.names},
                                            {"duplicates", wanted.duplicates == KeyTable::Duplicates::error}}
                                 .dump();
    identity = fmt::format("reader {:016x} {}", codec::xxh3(as_bytes(text)), text.size());
  }
  return KeyTable::load_or_make(wanted.uri, identity, memory, [&] {
    const std::vector<PackedKeys> keys = read();
    return KeyTable(keys, wanted.names, wanted.duplicates, ThreadPool::processors(), memory);
  });
}

}  // namespace colonnade::dataset
