// KeptCursors: the cursors of passes over consecutive stretches of a source.
//
// Between two passes they already read what the next one begins with, so that it is on its way while the
// caller uses the rows of the last one.
#ifndef COLONNADE_FRAME_EXECUTOR_KEPT_CURSORS_H
#define COLONNADE_FRAME_EXECUTOR_KEPT_CURSORS_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "frame/sources/source.h"

namespace colonnade::frame {

// One pass at a time; its workers may call take() and give_back() at the same time.
class KeptCursors {
 public:
  // `parts`: those of all stretches.
  KeptCursors(std::shared_ptr<const Source> source, std::vector<Part> parts)
      : source_(std::move(source)), parts_(std::move(parts)) {}

  const Source* source() const noexcept { return source_.get(); }
  // At most so many parts that follow an entry; the first one begins there.
  std::vector<Part> after(std::uint64_t entry, std::size_t most) const;

  // The cursor that was told to go on at this entry; null: there is none.
  std::unique_ptr<Cursor> take(std::uint64_t first);
  // `last`: where it stopped.
  void give_back(std::unique_ptr<Cursor> cursor, std::uint64_t last);
  // The pass is over, and the next one begins at this entry with as many workers: the cursors that came back
  // begin with its first parts. A single one is told of the parts behind, too.
  void go_on_at(std::uint64_t entry, std::size_t workers);
  void clear() noexcept { kept_.clear(); }

 private:
  struct Kept {
    std::unique_ptr<Cursor> cursor;
    std::uint64_t at = 0;
    bool is_told = false;  // that it goes on there
  };

  std::shared_ptr<const Source> source_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace colonnade::frame

#endif
