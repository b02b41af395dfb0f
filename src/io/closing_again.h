// Files that appear when they are closed, and that are not lost if that fails.
#ifndef COLONNADE_IO_CLOSING_AGAIN_H
#define COLONNADE_IO_CLOSING_AGAIN_H

#include "io/random_access_file.h"

namespace colonnade::io {

class ClosingAgain {
 public:
  virtual ~ClosingAgain() = default;
  // True after a close() that failed, if the whole file is still here: close() can be called again.
  virtual bool may_close_again() const noexcept = 0;
};

inline bool may_close_again(const WritableFile& file) noexcept {
  const auto* const closing = dynamic_cast<const ClosingAgain*>(&file);
  return closing != nullptr && closing->may_close_again();
}

}  // namespace colonnade::io

#endif
