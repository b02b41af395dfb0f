// Cuts the content of a page with a split encoding into pieces for compressors. Its planes (byte 0 of all
// elements, then byte 1, ...) have nothing to do with each other: the low bytes of measured quantities are
// noise, the high bytes take few values. A compressor that searches the whole for repeats spends nearly all
// of its time to find none, or such that cost more than the bytes they replace. So planes are looked at one
// by one, by means of samples, because looking at all bytes would take as long as compressing them. What is
// decided depends on the page's bytes alone: files are the same whoever compresses which page when.
//
// Noise is not searched at all: it goes with the plane behind it, because readers want every chunk to be
// smaller than its content. Neighbours that are to be searched become one piece.
#ifndef COLONNADE_CODEC_PLANES_H
#define COLONNADE_CODEC_PLANES_H

#include <cstddef>
#include <vector>

#include "codec/compressor.h"

namespace colonnade::codec {

// Planes below this size are not worth a chunk.
inline constexpr std::size_t min_plane_size = 8 * 1024;

// What a part of the plane says of all of it; `coded` is 0 if all bytes are equal.
PlaneEstimate estimate_plane(ByteSpan plane);

// The pieces together are the content. Empty if all of it is noise. `scratch` is overwritten; it is as large
// as `content`.
std::vector<Piece> cut_planes(ByteSpan content, std::size_t plane_size, const PlaneUse& use, int level,
                              MutableByteSpan scratch);

}  // namespace colonnade::codec

#endif
