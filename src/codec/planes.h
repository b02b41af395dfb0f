// Cuts the content of a page with a split encoding into pieces for compressors. Its planes (byte 0 of all
// elements, then byte 1, ...) are independent: the low bytes of measured quantities are noise, the high bytes
// take few values. A compressor that searches the whole page for repeats spends nearly all of its time
// finding none, or repeats that cost more than the bytes they replace. So each plane is classified by
// samples, because examining all bytes would take as long as compressing them. The decision depends on the
// page's bytes alone, so that files do not depend on threads or timing.
//
// Noise is not searched at all: it joins the plane behind it, because readers want every chunk to be smaller
// than its content. Adjacent searched planes become one piece.
#ifndef COLONNADE_CODEC_PLANES_H
#define COLONNADE_CODEC_PLANES_H

#include <cstddef>
#include <vector>

#include "codec/compressor.h"

namespace colonnade::codec {

// Planes below this size are not worth a chunk.
inline constexpr std::size_t min_plane_size = 8 * 1024;

// Estimates a plane from a sample; `coded` is 0 if all bytes are equal.
PlaneEstimate estimate_plane(ByteSpan plane);

// The pieces together are the content. Empty if all of it is noise. `scratch` is as large as `content` and is
// overwritten.
std::vector<ChunkContent> cut_planes(ByteSpan content, std::size_t plane_size, const PlaneUse& use, int level,
                                     MutableByteSpan scratch);

}  // namespace colonnade::codec

#endif
