// Converts between keys and file names of a local object store (see local_store.h).
#ifndef COLONNADE_IO_LOCAL_LOCAL_STORE_NAMES_H
#define COLONNADE_IO_LOCAL_LOCAL_STORE_NAMES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/object_store.h"

namespace colonnade::io::local_store {

inline constexpr const char* marker_name = "colonnade-store";
inline constexpr const char* marker_text = "Colonnade object store, layout 1\n";
inline constexpr const char* lock_name = "lock";

// Relative to the folder of the store.
std::string path_of(std::uint32_t group);
std::string path_of(const ObjectId& object);
std::string path_of(const ValueAddress& address);

// A name that is unique among all processes.
std::string temporary_name();
bool is_temporary(std::string_view name) noexcept;

// Empty for names that differ from what path_of() makes.
std::optional<std::uint64_t> number_in(std::string_view name) noexcept;
// Distribution key and attribute key.
std::optional<std::pair<std::uint64_t, std::uint64_t>> keys_in(std::string_view name) noexcept;

}  // namespace colonnade::io::local_store

#endif
