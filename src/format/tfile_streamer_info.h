// The record of streamer infos, which describe the classes in a ROOT file. ROOT uses them to read objects of
// classes that are not compiled in, and complains about files without them.
//
// The record is a serialised TList of TStreamerInfo. Each entry starts with its class: 0xffffffff and a name
// for the first occurrence, later the position of that occurrence, counted from two bytes before the start of
// the record's key. So entries can be appended to a list, but its key must keep its length.
#ifndef COLONNADE_FORMAT_TFILE_STREAMER_INFO_H
#define COLONNADE_FORMAT_TFILE_STREAMER_INFO_H

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "format/tfile_records.h"

namespace colonnade::format {

// The description of one version of a class. `entry` is what a list holds of it, without references to other
// parts of the list, so that it fits into any.
struct ClassInfo {
  std::string name;  // as ROOT spells it: "Box<vector<float> >"
  std::uint32_t checksum = 0;
  std::uint32_t version = 0;
  Bytes entry;
};

// The infos of a list whose names are wanted. Those that hold more than members, or that are unusual in
// another way, are left out, and so are all behind the place where the list breaks off. Throws
// ErrorKind::format if the bytes are not such a list.
std::vector<ClassInfo> read_class_infos(ByteSpan list, std::size_t key_length,
                                        const std::function<bool(const std::string& name)>& is_wanted);

// A list with the info of ROOT::RNTuple, class version 2, and with `classes`.
Bytes write_streamer_infos(std::size_t key_length, std::span<const ClassInfo> classes = {});

// `list` with the same appended; empty if the list has them already. Throws ErrorKind::format if the bytes
// are not such a list.
std::optional<Bytes> add_streamer_infos(ByteSpan list, std::size_t key_length,
                                        std::span<const ClassInfo> classes = {});

}  // namespace colonnade::format

#endif
