// See colonnade/block.h.
#include "colonnade/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>

#include "colonnade/error.h"

namespace colonnade {

// ---- ValueType

namespace {

constexpr std::string_view variant_prefix = "std::variant<";

}  // namespace

struct ValueType::Parts {
  std::string class_name;
  std::vector<Member> members;  // of a record; for a list, only the item
};

ValueType::ValueType(ElementType element) : element_(element) {}

ValueType ValueType::string() {
  static const ValueType type = [] {
    ValueType t = list(ElementType::character);
    t.kind_ = Kind::string;
    return t;
  }();
  return type;
}

ValueType ValueType::list(ValueType item) {
  ValueType type;
  type.kind_ = Kind::list;
  auto parts = std::make_shared<Parts>();
  parts->members.emplace_back("_0", std::move(item));
  type.parts_ = std::move(parts);
  return type;
}

ValueType ValueType::optional(ValueType item) {
  ValueType type = list(std::move(item));
  type.optional_ = true;
  return type;
}

ValueType ValueType::record(std::string class_name, std::vector<Member> members) {
  ValueType type;
  type.kind_ = Kind::record;
  type.parts_ = std::make_shared<Parts>(Parts{std::move(class_name), std::move(members)});
  return type;
}

ValueType ValueType::variant(const std::vector<ValueType>& alternatives) {
  std::string name;
  std::vector<Member> members;
  for (const ValueType& alternative : alternatives) {
    name += fmt::format("{}{}", name.empty() ? "" : ",", alternative.name());
    members.emplace_back(fmt::format("_{}", members.size()), optional(alternative));
  }
  return record(fmt::format("{}{}>", variant_prefix, name), std::move(members));
}

bool ValueType::is_variant() const noexcept {
  return is_record() && parts_->class_name.starts_with(variant_prefix);
}

const ValueType& ValueType::item() const {
  return parts_->members.front().second;
}
const std::string& ValueType::class_name() const {
  return parts_->class_name;
}
std::span<const ValueType::Member> ValueType::members() const {
  return parts_->members;
}

std::size_t ValueType::find_member(std::string_view name) const {
  std::size_t i = 0;
  while (i < parts_->members.size() && parts_->members[i].first != name) ++i;
  return i;
}

bool ValueType::is_integer() const noexcept {
  return is_scalar() && !is_floating() && element_ != ElementType::index && element_ != ElementType::switch_;
}

const ValueType& ValueType::innermost() const noexcept {
  const ValueType* type = this;
  while (type->is_list()) type = &type->item();
  return *type;
}

std::size_t ValueType::depth() const noexcept {
  return is_list() ? 1 + item().depth() : 0;
}

ValueType ValueType::with_innermost(ValueType inner) const {
  if (!is_list()) return inner;
  ValueType around = item().with_innermost(std::move(inner));
  return optional_ ? optional(std::move(around)) : list(std::move(around));
}

namespace {

// As types without a name are called: "{x: float, n: std::int32_t}".
std::string name_of_members(std::span<const ValueType::Member> members) {
  std::string name;
  for (const auto& [member, type] : members)
    name += fmt::format("{}{}: {}", name.empty() ? "" : ", ", member, type.name());
  return "{" + name + "}";
}

}  // namespace

std::string ValueType::name() const {
  switch (kind_) {
    case Kind::string:
      return "std::string";
    case Kind::list:
      return fmt::format("std::{}<{}>", optional_ ? "optional" : "vector", item().name());
    case Kind::record:
      return class_name().empty() ? name_of_members(members()) : class_name();
    case Kind::scalar:
      break;
  }
  switch (element_) {
    case ElementType::boolean:
      return "bool";
    case ElementType::character:
      return "char";
    case ElementType::byte:
      return "std::byte";
    case ElementType::float32:
      return "float";
    case ElementType::float64:
      return "double";
    default:
      return fmt::format("std::{}_t", name_of(element_));
  }
}

bool operator==(const ValueType& a, const ValueType& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.is_scalar()) return a.element_ == b.element_;
  return a.parts_ == b.parts_ ||
         (a.parts_->class_name == b.parts_->class_name && a.parts_->members == b.parts_->members);
}

// ---- BlockMemory

// Free arrays by their power-of-two size. Arrays that outlive the BlockMemory free
// themselves.
struct BlockMemory::Pool {
  static constexpr std::size_t smallest = 256;
  static constexpr std::size_t slack = 64;  // kernels may load whole vectors beyond the end
  static constexpr std::size_t most_kept = std::size_t{64} << 20;

  std::mutex mutex;
  std::array<std::vector<void*>, 64> free;
  std::size_t kept = 0;

  ~Pool() {
    for (const auto& arrays : free)
      for (void* array : arrays) ::operator delete(array, std::align_val_t{64});
  }
  void* take(unsigned power) {
    const std::lock_guard lock(mutex);
    if (free[power].empty()) return nullptr;
    void* array = free[power].back();
    free[power].pop_back();
    kept -= std::size_t{1} << power;
    return array;
  }
  void give(void* array, unsigned power) noexcept {
    try {
      const std::lock_guard lock(mutex);
      if (kept + (std::size_t{1} << power) <= most_kept) {
        free[power].push_back(array);
        kept += std::size_t{1} << power;
        return;
      }
    } catch (...) {  // no memory for the list: the array is freed
    }
    ::operator delete(array, std::align_val_t{64});
  }
};

BlockMemory::BlockMemory() : pool_(std::make_shared<Pool>()) {}
BlockMemory::~BlockMemory() = default;

std::size_t BlockMemory::byte_count(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = ~std::size_t{0};
  return bytes;
}

std::shared_ptr<void> BlockMemory::allocate(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 46;
  void* array = nullptr;
  unsigned power = 0;
  exhausted_ = exhausted_ || bytes > left_;
  if (bytes < most && !exhausted_) {
    left_ -= bytes;
    power = static_cast<unsigned>(std::bit_width(std::max(bytes, Pool::smallest) - 1));
    array = pool_->take(power);
    if (array == nullptr)
      array = ::operator new((std::size_t{1} << power) + Pool::slack, std::align_val_t{64}, std::nothrow);
  }
  if (array == nullptr)
    throw Error(ErrorKind::resource, fmt::format("no memory for an array of {} bytes in a block", bytes),
                "use fewer threads, or collections that are not as large");
  return {array, [pool = pool_, power](void* p) { pool->give(p, power); }};
}

// ---- Making Values

namespace {

std::shared_ptr<Values> make_values(ValueType type, std::size_t size) {
  auto values = std::make_shared<Values>();
  values->type = std::move(type);
  values->size = size;
  return values;
}

void own(Values& values, std::shared_ptr<const void> owner) {
  if (owner != nullptr) values.owners.push_back(std::move(owner));
}

}  // namespace

ValuesPtr make_scalars(ElementType element, std::size_t size, const void* data,
                       std::shared_ptr<const void> owner) {
  auto values = make_values(element, size);
  values->data = data;
  own(*values, std::move(owner));
  return values;
}

ValuesPtr make_list(std::size_t size, const std::int64_t* offsets, ValuesPtr items,
                    std::shared_ptr<const void> owner) {
  auto values = make_values(ValueType::list(items->type), size);
  values->offsets = offsets;
  values->children.push_back(std::move(items));
  own(*values, std::move(owner));
  return values;
}

std::vector<std::int32_t> tags_of(const Values& variants) {
  std::vector<std::int32_t> tags(variants.size);
  for (std::size_t k = 0; k < variants.children.size(); ++k) {
    const Values& alternative = *variants.children[k];
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const std::size_t at = alternative.constant ? 0 : i;
      if (alternative.offsets[at + 1] > alternative.offsets[at]) tags[i] = static_cast<std::int32_t>(k + 1);
    }
  }
  return tags;
}

ValuesPtr as_type(ValuesPtr lists, const ValueType& type) {
  if (lists->type.is_optional() == type.is_optional()) return lists;
  auto values = std::make_shared<Values>(*lists);
  values->type = type;
  return values;
}

ValuesPtr make_string(std::size_t size, const std::int64_t* offsets, ValuesPtr characters,
                      std::shared_ptr<const void> owner) {
  auto values = make_values(ValueType::string(), size);
  values->offsets = offsets;
  values->children.push_back(std::move(characters));
  own(*values, std::move(owner));
  return values;
}

ValuesPtr make_record(ValueType type, std::size_t size, std::vector<ValuesPtr> members) {
  auto values = make_values(std::move(type), size);
  values->children = std::move(members);
  return values;
}

ValuesPtr make_constant(ElementType element, std::size_t size, const void* value) {
  const std::size_t bytes = size_of(element);
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(128, std::align_val_t{64})),
                                    [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); });
  std::memset(memory.get(), 0, 128);
  std::memcpy(memory.get(), value, bytes);
  auto values = make_values(element, size);
  values->constant = true;
  values->data = memory.get();
  own(*values, std::move(memory));
  return values;
}

ValuesPtr make_constant_string(std::size_t size, std::string_view text) {
  auto kept = std::make_shared<std::pair<std::array<std::int64_t, 2>, std::string>>();
  kept->second.assign(text);
  kept->first = {0, static_cast<std::int64_t>(text.size())};
  auto characters = make_scalars(ElementType::character, text.size(), kept->second.data(), kept);
  auto values = make_values(ValueType::string(), size);
  values->constant = true;
  values->offsets = kept->first.data();
  values->children.push_back(std::move(characters));
  own(*values, std::move(kept));
  return values;
}

}  // namespace colonnade
