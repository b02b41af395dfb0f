// The kernels for this processor.
#include "codec/kernels/kernels.h"

namespace colonnade::codec {

const Kernels& kernels() noexcept {
  return reference_kernels();
}

}  // namespace colonnade::codec
