// Blocks of values: how a DataFrame's expressions process entries, many at a time, as flat arrays.
//
// A pass goes through the entries in blocks that fit the cache. Within a block, an expression is a Values:
// one array per level of nesting, for the rows of the block that passed the filters. A Kernel maps Values to
// Values; every function of the expression language, every C++ lambda and every Python callable is one.
//
//   scalar   data: `size` elements
//   string   offsets: size + 1 numbers from 0 on; children[0]: the characters
//   list     offsets: size + 1 numbers from 0 on; children[0]: the items, offsets[size] of them
//   record   children: one Values per member, each with `size` elements
//
// Values are immutable, so any thread may read them; they own, or share, their memory. A BlockMemory belongs
// to one thread at a time, but any thread may free what it allocated.
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

// The type of an expression: a scalar, a string, a list of any type, or a record of named members. Cheap to
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
  // A std::optional: a list of zero or one items that compares equal to a list, but keeps its own name.
  static ValueType optional(ValueType item);
  // `class_name` is what type names show ("ROOT::Math::PtEtaPhiMVector"); records of one class and the same
  // members are equal.
  static ValueType record(std::string class_name, std::vector<Member> members);
  // A std::variant: a record whose members "_0", "_1", ... are optionals, of which at most one has a value.
  static ValueType variant(const std::vector<ValueType>& alternatives);

  Kind kind() const noexcept { return kind_; }
  ElementType element() const noexcept { return element_; }  // of a scalar
  const ValueType& item() const;                             // of a list; of a string: character
  const std::string& class_name() const;                     // of a record
  std::span<const Member> members() const;                   // of a record
  // The index of a member in members(), or members().size().
  std::size_t find_member(std::string_view name) const;

  bool is_scalar() const noexcept { return kind_ == Kind::scalar; }
  bool is_string() const noexcept { return kind_ == Kind::string; }
  bool is_list() const noexcept { return kind_ == Kind::list; }
  bool is_optional() const noexcept { return optional_; }
  bool is_record() const noexcept { return kind_ == Kind::record; }
  bool is_variant() const noexcept;  // a record, too
  bool is_floating() const noexcept {
    return is_scalar() && (element_ == ElementType::float32 || element_ == ElementType::float64);
  }
  bool is_integer() const noexcept;  // including bool, char and byte, as in C++
  // The innermost type of nested lists, and the number of lists around it.
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
  // One element stands for all `size` elements: data has one element, offsets two.
  bool constant = false;
  const void* data = nullptr;
  const std::int64_t* offsets = nullptr;
  std::vector<ValuesPtr> children;
  std::vector<std::shared_ptr<const void>> owners;  // keep `data` and `offsets` alive

  template <class T>
  const T* as() const noexcept {
    return static_cast<const T*>(data);
  }
  const Values& items() const noexcept { return *children.front(); }
  // The number of elements that `data` holds, or of lists that `offsets` delimits.
  std::size_t stored() const noexcept { return constant ? 1 : size; }
};

// Memory for the arrays of blocks. Freed arrays are reused, so that a pass allocates only in its first
// blocks.
class BlockMemory {
 public:
  BlockMemory();
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  // Returns at least `bytes`, aligned to 64, readable up to 64 bytes beyond. Throws ErrorKind::resource.
  std::shared_ptr<void> allocate(std::size_t bytes);

  template <class T>
  std::pair<T*, std::shared_ptr<void>> array(std::size_t count) {
    auto memory = allocate(byte_count(count, sizeof(T)));
    return {static_cast<T*>(memory.get()), std::move(memory)};
  }

  // Limits allocate() to `bytes` in total from now on: a call beyond that throws, and is_exhausted()
  // returns true. Freed memory does not count back, so that the outcome depends on the requests
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

// The rows of a block that are processed: `size` of them; row i is entry `first + indices[i]`, or `first + i`
// if indices is null. Indices are strictly increasing.
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
  const Rows& rows;     // the rows of the arguments
  unsigned slot = 0;    // number of the worker, less than the number of threads
  unsigned sample = 0;  // number of the file that holds the rows
};

// A function whose argument types are resolved.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // The arguments have context.rows.size elements each, and so must the result. Called by several threads at
  // once. Throws Error; other exceptions of user functions pass through.
  virtual ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const = 0;
  virtual const ValueType& result() const noexcept = 0;

  // Kernels with the same non-empty key return the same results for the same arguments: they run once.
  virtual std::string key() const { return {}; }
  // True if run() may throw because of argument values, or is expensive. It then runs only for the rows that
  // reach the expression (the right side of && and ?:).
  virtual bool only_where_needed() const noexcept { return false; }
  // True if each call is expensive, so that blocks should be large.
  virtual bool takes_large_blocks() const noexcept { return false; }
  // True if the result depends on the arguments alone. It is then folded if they are constants.
  virtual bool foldable() const noexcept { return true; }
};
using KernelPtr = std::shared_ptr<const Kernel>;

// ---- Making Values

ValuesPtr make_scalars(ElementType element, std::size_t size, const void* data,
                       std::shared_ptr<const void> owner);
ValuesPtr make_list(std::size_t size, const std::int64_t* offsets, ValuesPtr items,
                    std::shared_ptr<const void> owner);
// Of each value of a variant, the number of its alternative, from 1 on; 0: it has none.
std::vector<std::int32_t> tags_of(const Values& variants);
// The lists with another, equal type: as an optional, for example.
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
