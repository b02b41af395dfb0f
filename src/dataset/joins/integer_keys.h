// Reads the keys of joins from data sets, and makes their table or loads it from a file.
#ifndef COLONNADE_DATASET_JOINS_INTEGER_KEYS_H
#define COLONNADE_DATASET_JOINS_INTEGER_KEYS_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/chain.h"
#include "dataset/joins/key_table.h"

namespace colonnade::dataset {

// Values as 64 bits, signed ones extended by their sign.
struct IntegerKeys {
  bool is_signed = true;
  std::vector<std::uint64_t> values;
};
bool is_signed_integer(ElementType element) noexcept;
bool is_integer(ElementType element) noexcept;

// Throws ErrorKind::type for numbers that are not integers.
IntegerKeys to_keys(const ColumnArray& array);
std::vector<KeyColumn> columns_of(std::span<const IntegerKeys> keys);
// Throws ErrorKind::not_found, and ErrorKind::type unless it is one integer per entry.
void check_key(const Descriptor& descriptor, std::string_view path);
IntegerKeys read_keys(ChainReader& chain, const std::string& path, std::uint64_t first, std::uint64_t last);
// Of all entries.
PackedKeys pack_keys(ChainReader& chain, const std::string& path, JoinMemory& memory);

struct TableOfKeys {
  std::vector<std::string> names;  // of the keys
  KeyTable::Duplicates duplicates = KeyTable::Duplicates::error;
  std::string uri = {};     // a file for the table; empty: none
  std::string source = {};  // with a file: the identity of the source of the keys
};
// The table in the file if it is one of these keys; else one of the columns that `read` returns for the
// names, which is saved there. A failure to save is a warning.
KeyTable table_of_keys(const TableOfKeys& wanted, const std::function<std::vector<PackedKeys>()>& read,
                       JoinMemory& memory);

}  // namespace colonnade::dataset

#endif
