// Views: the values of one field, by index. For top-level fields the index is the
// entry. For fields below a collection ("jets._0.pt", "jets.pt") it counts the
// items of the whole data set, and CollectionView tells which of them belong to an
// entry.
//
// A view is made by Reader::view() and stays valid after the reader is gone. What it returns (a reference or
// a span) points into the view's current page or value and is valid until the view is used again. One thread
// at a time uses a view.
#ifndef COLONNADE_VIEW_H
#define COLONNADE_VIEW_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/field_types.h"

namespace colonnade {

namespace page {
class PageSource;
}

// A half-open range of indices for range-for.
class IndexRange {
 public:
  class Iterator {
   public:
    using difference_type = std::int64_t;
    using value_type = std::uint64_t;
    using reference = std::uint64_t;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(std::uint64_t index) : index_(index) {}
    std::uint64_t operator*() const noexcept { return index_; }
    Iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    Iterator operator++(int) noexcept { return Iterator(index_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    std::uint64_t index_;
  };
  IndexRange(std::uint64_t first, std::uint64_t last) : first_(first), last_(last) {}
  Iterator begin() const noexcept { return Iterator(first_); }
  Iterator end() const noexcept { return Iterator(last_); }
  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t last() const noexcept { return last_; }
  std::uint64_t size() const noexcept { return last_ - first_; }

 private:
  std::uint64_t first_;
  std::uint64_t last_;
};

namespace detail {

// The type-independent part of a view: a field connected to a source, and the mapping from a global index to
// <cluster, index>.
class ViewCore {
 public:
  // `stored`: the number of the stored field, if it is known: a search for each of many fields takes long.
  ViewCore(std::shared_ptr<page::PageSource> source, std::string_view path, std::unique_ptr<Field> field,
           std::optional<std::uint32_t> stored = std::nullopt);
  ViewCore(ViewCore&&) noexcept;
  ViewCore& operator=(ViewCore&&) noexcept;
  ~ViewCore();

  const Field& field() const noexcept { return *field_; }
  std::uint64_t size();  // number of values in the data set
  void check_range(std::uint64_t first, std::uint64_t count);
  void read(std::uint64_t index, void* value);

  // Elements around `index`, contiguous in memory: data[0] is element `first`.
  struct MappedElements {
    const void* data = nullptr;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  MappedElements map(std::uint64_t index);
  void read_scalars(std::uint64_t first, std::uint64_t count, void* out);
  // Reads the items of `count` collections; offsets gets count + 1 numbers from 0. `width`: bytes of an item.
  void read_collections(std::uint64_t first, std::uint64_t count, std::size_t width,
                        std::vector<std::uint64_t>& offsets, std::vector<std::byte>& items);
  IndexRange collection(std::uint64_t index);

 private:
  struct CountingReaders;
  ClusterIndex locate(std::uint64_t index);
  std::uint64_t first_of(std::size_t cluster);
  std::uint64_t count_of(std::size_t cluster);
  std::uint64_t first_item_of(std::size_t cluster);
  void enter(std::size_t cluster);
  [[noreturn]] void out_of_range(std::uint64_t index);
  template <class Work>
  decltype(auto) placed(Work&& work);

  std::shared_ptr<page::PageSource> source_;
  std::unique_ptr<Field> field_;
  std::uint32_t disk_field_ = invalid_id;
  bool per_entry_ = false;                     // values are numbered by entry
  std::unique_ptr<CountingReaders> counting_;  // counts the values (and the items) of a cluster
  std::size_t cluster_ = static_cast<std::size_t>(-1);
  std::uint64_t cluster_first_ = 0;  // the current cluster's first value, and its number of values
  std::uint64_t cluster_count_ = 0;
};

template <class T>
inline constexpr bool is_mapped = std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>;

template <class T>
struct Sequence : std::false_type {};
template <class T>
struct Sequence<std::vector<T>> : std::bool_constant<is_mapped<T> && !std::is_same_v<T, bool>> {
  using Item = T;
};
template <class T>
struct Sequence<RVec<T>> : Sequence<std::vector<T>> {};

// The values that a view of T gives for consecutive indices.
template <class ViewOfT, class T>
class ViewIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = const T&;

  ViewIterator() = default;
  ViewIterator(ViewOfT& view, std::uint64_t index) : view_(&view), index_(index) {}
  const T& operator*() const { return (*view_)(index_); }
  ViewIterator& operator++() {
    ++index_;
    return *this;
  }
  void operator++(int) { ++index_; }
  friend bool operator==(const ViewIterator& a, const ViewIterator& b) { return a.index_ == b.index_; }

 private:
  ViewOfT* view_ = nullptr;
  std::uint64_t index_ = 0;
};

}  // namespace detail

// Collections as one array of items and their offsets: collection i has items [offsets[i], offsets[i +
// 1]).
template <class T>
struct CollectionBlock {
  std::span<const std::uint64_t> offsets;
  std::span<const T> values;
};

template <class T>
class View {
 public:
  View(std::shared_ptr<page::PageSource> source, std::string_view path,
       std::optional<std::uint32_t> stored = std::nullopt)
      : core_(std::move(source), path, make_field<T>(path), stored), value_(make_value()) {}

  std::uint64_t size() { return core_.size(); }
  const Field& field() const noexcept { return core_.field(); }

  // The value at an index. Throws ErrorKind::usage beyond size().
  const T& operator()(std::uint64_t index) {
    if constexpr (detail::is_mapped<T>) {
      if (index - first_ >= count_) [[unlikely]]
        map(index);
      return data_[index - first_];
    } else {
      core_.read(index, value_.get());
      return *value_;
    }
  }

  // for (const float pt : view). A value is valid until the iterator moves on; one loop at a time.
  using Iterator = detail::ViewIterator<View, T>;
  Iterator begin() { return {*this, 0}; }
  Iterator end() { return {*this, size()}; }

  // Many values at once: scalars as an array, vectors of scalars as offsets and values. Points into the page
  // if the range lies within one page.
  auto bulk(std::uint64_t first, std::uint64_t count) {
    if constexpr (detail::is_mapped<T>) {
      return bulk_scalars(first, count);
    } else {
      static_assert(detail::Sequence<T>::value,
                    "bulk() reads numbers and vectors of numbers; use a view on the members of a record");
      using Item = typename detail::Sequence<T>::Item;
      core_.read_collections(first, count, sizeof(Item), offsets_, bytes_);
      const auto* items = static_cast<const Item*>(static_cast<const void*>(bytes_.data()));
      return CollectionBlock<Item>{offsets_, {items, offsets_.back()}};
    }
  }

 private:
  static std::unique_ptr<T> make_value() {
    if constexpr (detail::is_mapped<T>) {
      return nullptr;
    } else {
      return std::make_unique<T>();
    }
  }
  [[gnu::noinline]] void map(std::uint64_t index) {
    count_ = 0;
    const auto stretch = core_.map(index);
    data_ = static_cast<const T*>(stretch.data);
    first_ = stretch.first;
    count_ = stretch.count;
  }
  std::span<const T> bulk_scalars(std::uint64_t first, std::uint64_t count) {
    if (count == 0) return {};
    if (first - first_ >= count_) map(first);
    if (count <= count_ - (first - first_)) return {data_ + (first - first_), count};
    core_.check_range(first, count);
    count_ = 0;  // data_ points into a page that may be released, even if reading fails
    bytes_.resize(count * sizeof(T));
    core_.read_scalars(first, count, bytes_.data());
    return {static_cast<const T*>(static_cast<const void*>(bytes_.data())), count};
  }

  detail::ViewCore core_;
  const T* data_ = nullptr;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::unique_ptr<T> value_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::byte> bytes_;
};

// A view of a type known by name, or of the stored type: values through void*.
template <>
class View<void> {
 public:
  View(std::shared_ptr<page::PageSource> source, std::string_view path, std::unique_ptr<Field> field,
       std::optional<std::uint32_t> stored = std::nullopt);

  std::uint64_t size() { return core_.size(); }
  const Field& field() const noexcept { return core_.field(); }
  const void* operator()(std::uint64_t index) {
    core_.read(index, value_.get());
    return value_.get();
  }
  // The same as T, which must be the view's type.
  template <class T>
  const T& as(std::uint64_t index) {
    check_type(*make_field<T>("type"));
    return *static_cast<const T*>((*this)(index));
  }
  std::string text(std::uint64_t index) { return to_text(core_.field(), (*this)(index)); }

 private:
  void check_type(const Field& type) const;
  detail::ViewCore core_;
  std::shared_ptr<void> value_;
};

// Which items of the data set belong to an entry (or to an outer item): for (auto j : jets(i))
// use(jet_pt(j));
class CollectionView {
 public:
  CollectionView(std::shared_ptr<page::PageSource> source, std::string_view path,
                 std::optional<std::uint32_t> stored = std::nullopt);
  std::uint64_t size() { return core_.size(); }
  IndexRange operator()(std::uint64_t index) { return core_.collection(index); }

 private:
  detail::ViewCore core_;
};

}  // namespace colonnade

#endif
