// Blocks of values: how a DataFrame's expressions see entries - many at once, as flat arrays.
//
// A pass goes through the entries in blocks that fit the cache. For a block an expression is a Values: one
// array per level of nesting, for the rows of the block that survived the filters. A Kernel turns Values into
// Values; every function of the expression language, every C++ lambda and every Python callable is one.
//
//   scalar   data: `size` elements
//   string   offsets: size + 1 numbers from 0 on; children[0]: the characters
//   list     offsets: size + 1 numbers from 0 on; children[0]: the items, offsets[size] of them
//   record   children: one Values per member, each with `size` elements
//
// Values never change once they are made and may be read by any thread; they own, or share, their memory. A
// BlockMemory belongs to one thread at a time, but what it allocated may be freed by any thread.
#ifndef COLONNADE_BLOCK_H
#define COLONNADE_BLOCK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colonnade/column_type.h"
#include "colonnade/columnar.h"

namespace colonnade {

// The type of an expression: a scalar, a string, a list of anything, or a record of named members. Cheap to
// copy.
class ValueType {
 public:
  enum class Kind : std::uint8_t { scalar, string, list, record };
  using Member = std::pair<std::string, ValueType>;

  ValueType() : ValueType(ElementType::float64) {}
  // boolean, character, byte, [u]int8 to [u]int64, float32, float64.
  ValueType(ElementType element);
  static ValueType string();
  static ValueType list(ValueType item);
  // A list of one item or none that stands for a std::optional: equal to the list, but named and stored so.
  static ValueType optional(ValueType item);
  // `class_name` is what type names show ("ROOT::Math::PtEtaPhiMVector"); records of one class and the same
  // members are equal.
  static ValueType record(std::string class_name, std::vector<Member> members);

  Kind kind() const noexcept { return kind_; }
  ElementType element() const noexcept { return element_; }  // of a scalar
  const ValueType& item() const;                             // of a list; of a string: character
  const std::string& class_name() const;                     // of a record
  std::span<const Member> members() const;                   // of a record
  // The place of a member in members(), or members().size().
  std::size_t find_member(std::string_view name) const;

  bool is_scalar() const noexcept { return kind_ == Kind::scalar; }
  bool is_string() const noexcept { return kind_ == Kind::string; }
  bool is_list() const noexcept { return kind_ == Kind::list; }
  bool is_optional() const noexcept { return optional_; }
  bool is_record() const noexcept { return kind_ == Kind::record; }
  bool is_floating() const noexcept {
    return is_scalar() && (element_ == ElementType::float32 || element_ == ElementType::float64);
  }
  bool is_integer() const noexcept;  // with bool, char and byte, as in C++
  // The innermost type of nested lists, and how many lists are around it.
  const ValueType& innermost() const noexcept;
  std::size_t depth() const noexcept;
  // `inner` within the lists and optionals of this type: list<list<float>>.with_innermost(int) =
  // list<list<int>>.
  ValueType with_innermost(ValueType inner) const;

  // As C++ spells it: "float", "std::int32_t", "std::string", "std::vector<float>", the class name.
  std::string name() const;

  friend bool operator==(const ValueType& a, const ValueType& b);

 private:
  struct Parts;
  Kind kind_ = Kind::scalar;
  ElementType element_ = ElementType::float64;
  bool optional_ = false;  // of a list
  std::shared_ptr<const Parts> parts_;
};

struct Values;
using ValuesPtr = std::shared_ptr<const Values>;

struct Values {
  ValueType type;
  std::size_t size = 0;
  // One element stands for all `size`: data has one element, offsets two.
  bool constant = false;
  const void* data = nullptr;
  const std::int64_t* offsets = nullptr;
  std::vector<ValuesPtr> children;
  std::vector<std::shared_ptr<const void>> owners;  // keep data and offsets alive

  template <class T>
  const T* as() const noexcept {
    return static_cast<const T*>(data);
  }
  const Values& items() const noexcept { return *children.front(); }
  // Elements that data really holds, and lists that offsets really delimit.
  std::size_t stored() const noexcept { return constant ? 1 : size; }
};

// Memory for the arrays of blocks: freed arrays are used again, so that a pass allocates only in its first
// blocks.
class BlockMemory {
 public:
  BlockMemory();
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  // At least `bytes`, aligned to 64, readable up to 64 bytes beyond. Throws ErrorKind::resource.
  std::shared_ptr<void> allocate(std::size_t bytes);

  template <class T>
  std::pair<T*, std::shared_ptr<void>> array(std::size_t count) {
    auto memory = allocate(byte_count(count, sizeof(T)));
    return {static_cast<T*>(memory.get()), std::move(memory)};
  }

  // From now on allocate() gives out no more than so many bytes: what would go beyond throws, and
  // is_exhausted() says so. What is freed is not given back to it, so that it follows from what was asked for
  // alone.
  void limit(std::size_t bytes) noexcept {
    left_ = bytes;
    exhausted_ = false;
  }
  std::size_t left() const noexcept { return left_; }
  bool is_exhausted() const noexcept { return exhausted_; }

 private:
  static std::size_t byte_count(std::size_t count, std::size_t size);
  struct Pool;
  std::shared_ptr<Pool> pool_;
  std::size_t left_ = ~std::size_t{0};
  bool exhausted_ = false;
};

// Which rows of a block are looked at: `size` of them, row i is entry `first + indices[i]`, or `first + i`
// where indices is null. Indices grow strictly.
struct Rows {
  std::uint64_t first = 0;
  std::size_t size = 0;
  const std::uint32_t* indices = nullptr;

  std::uint64_t entry(std::size_t row) const noexcept {
    return first + (indices != nullptr ? indices[row] : row);
  }
};

struct CallContext {
  BlockMemory& memory;
  const Rows& rows;     // that the arguments are for
  unsigned slot = 0;    // number of the worker, less than the number of threads
  unsigned sample = 0;  // number of the file that the rows come from
};

// A function with its argument types settled.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // The arguments have context.rows.size elements each, as must the result. Called by several threads at
  // once. Throws Error; anything else that a user's function throws passes through.
  virtual ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const = 0;
  virtual const ValueType& result() const noexcept = 0;

  // Kernels of the same non-empty key give the same results for the same arguments: they are computed once.
  virtual std::string key() const { return {}; }
  // May run() throw because of the values of its arguments, or is it dear? Then it is not run for rows that
  // the expression does not reach (the right side of && and ?:).
  virtual bool only_where_needed() const noexcept { return false; }
  // Should blocks be large, as a call is dear?
  virtual bool takes_large_blocks() const noexcept { return false; }
  // Does the result follow from the arguments alone? Then it is computed in advance if they are constants.
  virtual bool foldable() const noexcept { return true; }
};
using KernelPtr = std::shared_ptr<const Kernel>;

// ---- Making Values

ValuesPtr make_scalars(ElementType element, std::size_t size, const void* data,
                       std::shared_ptr<const void> owner);
ValuesPtr make_list(std::size_t size, const std::int64_t* offsets, ValuesPtr items,
                    std::shared_ptr<const void> owner);
// Lists as a list type that is equal to theirs: an optional, say.
ValuesPtr as_type(ValuesPtr lists, const ValueType& type);
ValuesPtr make_string(std::size_t size, const std::int64_t* offsets, ValuesPtr characters,
                      std::shared_ptr<const void> owner);
ValuesPtr make_record(ValueType type, std::size_t size, std::vector<ValuesPtr> members);
// One element for `size` rows.
ValuesPtr make_constant(ElementType element, std::size_t size, const void* value);
ValuesPtr make_constant_string(std::size_t size, std::string_view text);

template <class T>
ValuesPtr make_constant(std::size_t size, T value) {
  return make_constant(element_of<T>(), size, &value);
}

}  // namespace colonnade

#endif
