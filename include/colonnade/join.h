// JoinReader: a chain, and beside each of its entries one of other chains: that of the same number (friends),
// or that with the same keys (joins).
//
//   auto events = colonnade::JoinReader::open(colonnade::ChainReader::open("Events", {"run*.root"}));
//   events->add_friend("weights", colonnade::ChainReader::open("Weights", {"weights.root"}));
//   events->add_join("calibration", colonnade::ChainReader::open("Calibration", {"c.root"}),
//                    {.keys = {"run"}});
//   auto pt = events->view<float>("pt");
//   auto scale = events->view<float>("calibration.scale");
//   for (auto i : events->entries())
//     if (scale.has_value(i)) use(pt(i) * scale(i));
//
// Keys are integers; see docs/joins.md. The first lookup makes the table of keys of the other side, which
// reads all of its files; with a saved table, only files with entries that are read are opened. One thread at
// a time uses a JoinReader and everything made by it.
#ifndef COLONNADE_JOIN_H
#define COLONNADE_JOIN_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/chain.h"

namespace colonnade {

struct ReaderJoinOptions {
  // Fields of the first chain, or of a side that was added before ("weights.run"). An entry without a value
  // has no match.
  std::vector<std::string> keys;
  std::vector<std::string> other_keys = {};  // of the other chain; empty: the same names
  // If several entries there have the same key: an error, or the first one is used.
  bool takes_first = false;
  // A file for the table of keys. It is used if it was made from the same files, and else replaced. Empty:
  // none.
  std::string table = {};
};

namespace detail {

class JoinSide;

// The type-independent part of a view: which entry belongs to which.
class JoinCore {
 public:
  // `element`: of numbers, which are read in blocks.
  JoinCore(std::shared_ptr<JoinSide> side, std::string path, std::optional<ElementType> element);
  ChainReader& reader() const noexcept;
  const std::string& path() const noexcept { return path_; }

  std::int64_t entry(std::uint64_t index);  // -1: none; throws ErrorKind::usage beyond the last entry
  // As entry(), but throws ErrorKind::usage where there is none.
  std::uint64_t entry_or_fail(std::uint64_t index);
  // The address of the number of this entry, which must have a match; null if it is stored as another type.
  const void* number(std::uint64_t index);

 private:
  void read_block(std::uint64_t first);

  std::shared_ptr<JoinSide> side_;
  std::string path_;
  std::optional<ElementType> element_;
  std::uint64_t first_ = 0;
  std::vector<std::int64_t> entries_;     // of the block from first_ on
  std::vector<std::uint32_t> positions_;  // of their numbers
  ColumnArray numbers_;
};

}  // namespace detail

// A field of a side. Values are valid until the view is used again.
template <class T>
class JoinedView {
 public:
  JoinedView(std::shared_ptr<detail::JoinSide> side, std::string path)
      : core_(std::move(side), std::move(path), element()), view_(core_.reader().view<T>(core_.path())) {}

  // Whether the entry has a match on that side. All of these throw ErrorKind::usage beyond the last entry.
  bool has_value(std::uint64_t index) { return core_.entry(index) >= 0; }
  // Throws ErrorKind::usage where there is none.
  const T& operator()(std::uint64_t index) {
    const std::uint64_t entry = core_.entry_or_fail(index);
    if constexpr (detail::is_mapped<T>)
      if (const void* number = core_.number(index)) return *static_cast<const T*>(number);
    return view_(entry);
  }
  // Null where there is none.
  const T* find(std::uint64_t index) { return has_value(index) ? &(*this)(index) : nullptr; }
  // The number of the entry on that side; -1: none.
  std::int64_t entry(std::uint64_t index) { return core_.entry(index); }

 private:
  static std::optional<ElementType> element() {
    if constexpr (detail::is_mapped<T>) return element_of<T>();
    return std::nullopt;
  }

  detail::JoinCore core_;
  ChainView<T> view_;
};

class JoinReader {
 public:
  static std::unique_ptr<JoinReader> open(std::shared_ptr<ChainReader> first);
  ~JoinReader();
  JoinReader(const JoinReader&) = delete;
  JoinReader& operator=(const JoinReader&) = delete;

  // Throws ErrorKind::usage for a name that is in use (by a side, or a field of the first chain) or contains
  // a dot, and for a chain with another number of entries.
  void add_friend(const std::string& name, std::shared_ptr<ChainReader> other);
  // Throws the same, ErrorKind::usage without keys, not_found for missing ones, and type for keys
  // that are not integers.
  void add_join(const std::string& name, std::shared_ptr<ChainReader> other,
                const ReaderJoinOptions& options);

  std::uint64_t num_entries() const noexcept;
  IndexRange entries() const { return {0, num_entries()}; }
  std::vector<std::string> sides() const;
  // One of them; "" is the first chain. Throws ErrorKind::not_found.
  ChainReader& side(std::string_view name) const;

  // "pt" of the first chain, "weights.w" of a side.
  template <class T>
  JoinedView<T> view(std::string_view path) {
    auto [side, rest] = resolve(path);
    return JoinedView<T>(std::move(side), std::move(rest));
  }
  // The numbers of the matches of the entries [first, last) on a side; -1 where there is none. To read their
  // fields, call side(name).arrays_at().
  std::vector<std::int64_t> matches(std::string_view name, std::uint64_t first, std::uint64_t last);

 private:
  explicit JoinReader(std::shared_ptr<ChainReader> first);
  std::pair<std::shared_ptr<detail::JoinSide>, std::string> resolve(std::string_view path) const;
  void check_name(const std::string& name) const;

  std::vector<std::shared_ptr<detail::JoinSide>> sides_;  // the first one is the first chain
};

}  // namespace colonnade

#endif
