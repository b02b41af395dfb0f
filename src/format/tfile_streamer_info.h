// The record of streamer infos: what the classes in a ROOT file look like. ROOT reads an object of a class it
// does not have compiled in through it, and complains about files without one.
//
// The record is a serialised TList of TStreamerInfo. Each entry starts with the class it is of: 0xffffffff
// and a name the first time, later the position of that first time, counted from two bytes before the start
// of the record's key. So a list can be continued, but it must stay behind a key of the same length.
#ifndef COLONNADE_FORMAT_TFILE_STREAMER_INFO_H
#define COLONNADE_FORMAT_TFILE_STREAMER_INFO_H

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "format/tfile_records.h"

namespace colonnade::format {

// A list with the info of ROOT::RNTuple, class version 2, and nothing else.
Bytes write_streamer_infos(std::size_t key_length);

// `list` with the info of ROOT::RNTuple added behind all others; nothing if it is in there already. Throws
// ErrorKind::format if the bytes are no such list.
std::optional<Bytes> add_rntuple_info(ByteSpan list, std::size_t key_length);

}  // namespace colonnade::format

#endif
