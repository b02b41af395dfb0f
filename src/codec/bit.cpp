// Bit columns: eight booleans per byte, the first one in the least significant bit. Bits after the last
// element are written as zero and ignored when read.
#include "codec/family.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

void unpack_bits(const UnpackRange& range, void* stored) {
  kernels().unpack_bits(range.packed.data() + range.first / 8, range.count,
                        static_cast<std::uint8_t*>(stored));
}

void pack_bits(const PackRange& range, const void* stored) {
  kernels().pack_bits(static_cast<const std::uint8_t*>(stored), range.count,
                      range.packed.data() + range.first / 8);
}

}  // namespace

Family bit_family() {
  return {ElementType::boolean, unpack_bits, pack_bits};
}

}  // namespace colonnade::codec
