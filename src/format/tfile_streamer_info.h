// The record of streamer infos, which describe the classes in a ROOT file. ROOT uses them to read objects of
// classes that are not compiled in, and complains about files without them.
//
// The record is a serialised TList of TStreamerInfo. Each entry starts with its class: 0xffffffff and a name
// for the first occurrence, later the position of that occurrence, counted from two bytes before the start of
// the record's key. So entries can be appended to a list, but its key must keep its length.
#ifndef COLONNADE_FORMAT_TFILE_STREAMER_INFO_H
#define COLONNADE_FORMAT_TFILE_STREAMER_INFO_H

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "format/tfile_records.h"

namespace colonnade::format {

// A list with nothing but the info of ROOT::RNTuple, class version 2.
Bytes write_streamer_infos(std::size_t key_length);

// `list` with the info of ROOT::RNTuple appended; empty if the list has it already. Throws ErrorKind::format
// if the bytes are not such a list.
std::optional<Bytes> add_rntuple_info(ByteSpan list, std::size_t key_length);

}  // namespace colonnade::format

#endif
