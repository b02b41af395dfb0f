// Cell<T>: a C++ type as one element of Values - its ValueType, a Reader of rows, a Writer of rows. Part of
// colonnade/dataframe.h, which lists the types.
//
// Readers expect Values of exactly Cell<T>::type() without constants, see prepare_argument().
#ifndef COLONNADE_DETAIL_FRAME_CELL_H
#define COLONNADE_DETAIL_FRAME_CELL_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/detail/field_of.h"
#include "colonnade/error.h"
#include "colonnade/reflect.h"
#include "colonnade/types.h"

namespace colonnade::detail {

template <class T>
concept PlainCell = std::is_same_v<T, std::byte> ||
                    (std::is_arithmetic_v<T> && !std::is_same_v<T, long double> && sizeof(T) <= 8);

// An array of unknown length in a block's memory.
template <class T>
class CellBuffer {
 public:
  CellBuffer(BlockMemory& memory, std::size_t expected) : memory_(&memory) { grow(expected); }
  void push(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  template <class Items>
  void append(const Items& items) {
    if (size_ + items.size() > capacity_) grow(size_ + items.size());
    std::copy(items.begin(), items.end(), data_ + size_);
    size_ += items.size();
  }
  std::size_t size() const { return size_; }
  const T* data() const { return data_; }
  std::shared_ptr<const void> owner() const { return owner_; }

 private:
  void grow(std::size_t wanted) {
    const std::size_t capacity = std::max({wanted, 2 * capacity_, std::size_t{64}});
    auto [data, owner] = memory_->array<T>(capacity);
    if (size_ > 0) std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
    data_ = data;
    owner_ = std::move(owner);
    capacity_ = capacity;
  }
  BlockMemory* memory_;
  T* data_ = nullptr;
  std::shared_ptr<void> owner_;
  std::size_t size_ = 0, capacity_ = 0;
};

template <class T>
struct Cell {
  static_assert(always_false<T>,
                "colonnade: this type is not a value of a DataFrame; use numbers, bool, enumerations, "
                "std::string, std::string_view, std::vector, RVec, std::array, std::span<const T>, and plain "
                "structs of these");
};

// ---- Numbers

template <PlainCell T>
struct Cell<T> {
  static ValueType type() { return element_of<T>(); }
  struct Reader {
    explicit Reader(const Values& values) : data(values.as<T>()) {}
    T get(std::size_t i) const { return data[i]; }
    const T* data;
  };
  class Writer {
   public:
    Writer(BlockMemory& memory, std::size_t expected) : buffer_(memory, expected) {}
    void push(T value) { buffer_.push(value); }
    ValuesPtr finish() const {
      return make_scalars(element_of<T>(), buffer_.size(), buffer_.data(), buffer_.owner());
    }

   private:
    CellBuffer<T> buffer_;
  };
};

template <class T>
  requires(std::is_enum_v<T> && !std::is_same_v<T, std::byte>)
struct Cell<T> {
  using Number = Cell<std::underlying_type_t<T>>;
  static ValueType type() { return Number::type(); }
  struct Reader : Number::Reader {
    using Number::Reader::Reader;
    T get(std::size_t i) const { return static_cast<T>(Number::Reader::get(i)); }
  };
  struct Writer : Number::Writer {
    using Number::Writer::Writer;
    void push(T value) { Number::Writer::push(static_cast<std::underlying_type_t<T>>(value)); }
  };
};

// ---- Strings

class StringCellWriter {
 public:
  StringCellWriter(BlockMemory& memory, std::size_t expected)
      : ends_(memory, expected + 1), characters_(memory, 16 * expected) {
    ends_.push(0);
  }
  void push(std::string_view text) {
    characters_.append(text);
    ends_.push(static_cast<std::int64_t>(characters_.size()));
  }
  ValuesPtr finish() const {
    return make_string(
        ends_.size() - 1, ends_.data(),
        make_scalars(ElementType::character, characters_.size(), characters_.data(), characters_.owner()),
        ends_.owner());
  }

 private:
  CellBuffer<std::int64_t> ends_;
  CellBuffer<char> characters_;
};

template <>
struct Cell<std::string_view> {
  static ValueType type() { return ValueType::string(); }
  struct Reader {
    explicit Reader(const Values& values) : offsets(values.offsets), characters(values.items().as<char>()) {}
    std::string_view get(std::size_t i) const {
      return {characters + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
    const std::int64_t* offsets;
    const char* characters;
  };
  using Writer = StringCellWriter;
};

template <>
struct Cell<std::string> {
  static ValueType type() { return ValueType::string(); }
  class Reader {
   public:
    explicit Reader(const Values& values) : reader_(values) {}
    const std::string& get(std::size_t i) {
      text_ = reader_.get(i);
      return text_;
    }

   private:
    Cell<std::string_view>::Reader reader_;
    std::string text_;
  };
  using Writer = StringCellWriter;
};

// ---- Lists

template <class U>
class ListCellWriter {
 public:
  ListCellWriter(BlockMemory& memory, std::size_t expected)
      : ends_(memory, expected + 1), items_(memory, 4 * expected) {
    ends_.push(0);
  }
  template <class List>
  void push(const List& list) {
    for (const auto& item : list) items_.push(item);
    ends_.push(ends_.data()[ends_.size() - 1] + static_cast<std::int64_t>(list.size()));
  }
  ValuesPtr finish() const {
    return make_list(ends_.size() - 1, ends_.data(), items_.finish(), ends_.owner());
  }

 private:
  CellBuffer<std::int64_t> ends_;
  typename Cell<U>::Writer items_;
};

template <class U, class List>
class ListCellReader {
 public:
  explicit ListCellReader(const Values& values) : offsets_(values.offsets), items_(values.items()) {}
  List& get(std::size_t i) {
    list_.clear();
    const auto begin = static_cast<std::size_t>(offsets_[i]), end = static_cast<std::size_t>(offsets_[i + 1]);
    if constexpr (PlainCell<U> && !std::is_same_v<U, bool>) {
      list_.assign(items_.data + begin, items_.data + end);
    } else {
      list_.reserve(end - begin);
      for (std::size_t k = begin; k < end; ++k) list_.push_back(items_.get(k));
    }
    return list_;
  }

 private:
  const std::int64_t* offsets_;
  typename Cell<U>::Reader items_;
  List list_;
};

template <class U, class Allocator>
struct Cell<std::vector<U, Allocator>> {
  static ValueType type() { return ValueType::list(Cell<U>::type()); }
  using Reader = ListCellReader<U, std::vector<U, Allocator>>;
  using Writer = ListCellWriter<U>;
};

template <class U>
struct Cell<RVec<U>> {
  static ValueType type() { return ValueType::list(Cell<U>::type()); }
  using Reader = ListCellReader<U, RVec<U>>;
  using Writer = ListCellWriter<U>;
};

// Numbers are read in place, everything else is gathered first.
template <class U>
struct Cell<std::span<const U>> {
  static ValueType type() { return ValueType::list(Cell<U>::type()); }
  struct Direct {
    explicit Direct(const Values& values) : offsets(values.offsets), items(values.items().as<U>()) {}
    std::span<const U> get(std::size_t i) const {
      return {items + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
    const std::int64_t* offsets;
    const U* items;
  };
  class Copied {
   public:
    explicit Copied(const Values& values) : reader_(values) {}
    std::span<const U> get(std::size_t i) { return reader_.get(i); }

   private:
    ListCellReader<U, std::vector<U>> reader_;
  };
  using Reader = std::conditional_t<PlainCell<U>, Direct, Copied>;
  using Writer = ListCellWriter<U>;
};

template <class U, std::size_t N>
struct Cell<std::array<U, N>> {
  static ValueType type() { return ValueType::list(Cell<U>::type()); }
  class Reader {
   public:
    explicit Reader(const Values& values) : offsets_(values.offsets), items_(values.items()) {}
    std::array<U, N> get(std::size_t i) {
      if (offsets_[i + 1] - offsets_[i] != static_cast<std::int64_t>(N))
        throw Error(ErrorKind::conversion,
                    "a list of " + std::to_string(offsets_[i + 1] - offsets_[i]) +
                        " items is given to a function that takes arrays of " + std::to_string(N),
                    "take a std::span<const T>");
      std::array<U, N> array{};
      for (std::size_t k = 0; k < N; ++k) array[k] = items_.get(static_cast<std::size_t>(offsets_[i]) + k);
      return array;
    }

   private:
    const std::int64_t* offsets_;
    typename Cell<U>::Reader items_;
  };
  using Writer = ListCellWriter<U>;
};

// ---- Structs, member by member

template <class T>
concept StructCell = reflect::is_reflectable<T> && !std::is_empty_v<T>;

struct MembersOf {
  template <class... M>
  constexpr auto operator()(M*...) const {
    return static_cast<std::tuple<Cell<std::remove_cv_t<M>>...>*>(nullptr);
  }
};
template <class Cells>
struct CellParts;
template <class... C>
struct CellParts<std::tuple<C...>*> {
  using Readers = std::tuple<typename C::Reader...>;
  using Writers = std::tuple<typename C::Writer...>;
  static std::vector<ValueType> types() { return {C::type()...}; }
};

template <StructCell T>
struct Cell<T> {
  using Binding = reflect::detail::Binding<reflect::member_count<T>()>;
  using Parts = CellParts<decltype(Binding::apply(std::declval<T&>(), MembersOf{}))>;
  static constexpr auto indices = std::make_index_sequence<reflect::member_count<T>()>();

  static ValueType type() {
    std::vector<ValueType::Member> members;
    for (ValueType& member : Parts::types())
      members.emplace_back(reflect::member_names<T>[members.size()], std::move(member));
    return ValueType::record(reflect::type_name<T>(), std::move(members));
  }

  class Reader {
   public:
    explicit Reader(const Values& values) : Reader(values, indices) {}
    T get(std::size_t i) {
      T value{};
      Binding::apply(value, [&](auto*... member) {
        std::apply([&](auto&... reader) { ((*member = reader.get(i)), ...); }, readers_);
      });
      return value;
    }

   private:
    template <std::size_t... I>
    Reader(const Values& values, std::index_sequence<I...>)
        : readers_(std::tuple_element_t<I, typename Parts::Readers>(*values.children[I])...) {}
    typename Parts::Readers readers_;
  };

  class Writer {
   public:
    Writer(BlockMemory& memory, std::size_t expected) : Writer(memory, expected, indices) {}
    void push(const T& value) {
      ++size_;
      Binding::apply(value, [&](const auto*... member) {
        std::apply([&](auto&... writer) { (writer.push(*member), ...); }, writers_);
      });
    }
    ValuesPtr finish() const {
      std::vector<ValuesPtr> members;
      std::apply([&](const auto&... writer) { (members.push_back(writer.finish()), ...); }, writers_);
      return make_record(type(), size_, std::move(members));
    }

   private:
    template <std::size_t... I>
    Writer(BlockMemory& memory, std::size_t expected, std::index_sequence<I...>)
        : writers_(std::tuple_element_t<I, typename Parts::Writers>(memory, expected)...) {}
    typename Parts::Writers writers_;
    std::size_t size_ = 0;
  };
};

}  // namespace colonnade::detail

#endif
