// Kernels that know what they do with the scalars of a row, so that programs of loops over flat arrays can do
// it without Values: see expression/flat_program.h.
#ifndef COLONNADE_FRAME_FUNCTIONS_FLAT_KERNEL_H
#define COLONNADE_FRAME_FUNCTIONS_FLAT_KERNEL_H

#include <optional>
#include <string_view>
#include <vector>

#include "colonnade/block.h"
#include "frame/kernels/kernels.h"

namespace colonnade::frame {

struct FlatCode {
  enum class Kind : std::uint8_t {
    loop,
    item,      // of (list, index of std::int64_t): an error where there is none
    size,      // of (list): std::uint64_t
    is_empty,  // of (list)
    append,    // of (list, item)
    replace    // of (list, index of std::int64_t, item): an error where there is none
  };
  Kind kind = Kind::loop;
  // Of a loop: the types to which arguments are converted first.
  std::vector<ElementType> arguments;
  ElementLoop loop = nullptr;
  ElementType result = ElementType::float64;  // or of the items of the list that it is
  bool may_fail =
      false;  // the loop may throw ElementFault because of its last argument, but not if that is 1
};

class FlatKernel : public Kernel {
 public:
  // Nothing if it works on other arguments.
  virtual std::optional<FlatCode> flat_code() const = 0;
  // The error for an ElementFault.
  [[noreturn]] virtual void fail(const CallContext& context, std::size_t row,
                                 std::string_view problem) const = 0;
};

}  // namespace colonnade::frame

#endif
