// Containers of items whose type is known by name only; see erased.h.
#include "field/erased.h"

#include <algorithm>
#include <memory>
#include <new>

namespace colonnade::field {
namespace {

using colonnade::detail::CollectionProxy;
using colonnade::detail::ValueOps;

std::size_t round_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Memory like std::allocator's: only items with extended alignment use the aligned operator new.
void* allocate(std::size_t bytes, const Field& item) {
  if (item.alignment() <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return ::operator new(bytes);
  return ::operator new(bytes, std::align_val_t(item.alignment()));
}
void deallocate(void* memory, const Field& item) noexcept {
  if (item.alignment() <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return ::operator delete(memory);
  ::operator delete(memory, std::align_val_t(item.alignment()));
}

// std::vector<T>: three pointers. resize() is always followed by a read of all items, so growing does not
// move them.
class VectorProxy final : public CollectionProxy {
 public:
  VectorProxy(const Field& item, bool native) : item_(item.clone("_0")), native_(native) {}

  ValueOps ops() const override { return {.size = sizeof(Vector), .alignment = alignof(Vector)}; }
  bool is_native() const noexcept override { return native_; }
  void construct(void* container) const override { new (container) Vector(); }
  void destroy(void* container) const noexcept override { release(*static_cast<Vector*>(container)); }
  std::size_t size(const void* container) const override {
    const auto& v = *static_cast<const Vector*>(container);
    return static_cast<std::size_t>(v.end - v.begin) / width();
  }
  const void* data(const void* container) const override {
    return static_cast<const Vector*>(container)->begin;
  }
  void* resize(void* container, std::size_t count) const override {
    auto& v = *static_cast<Vector*>(container);
    if (count > static_cast<std::size_t>(v.capacity_end - v.begin) / width()) {
      release(v);
      v.begin = static_cast<std::byte*>(allocate(count * width(), *item_));
      v.end = v.begin;
      v.capacity_end = v.begin + count * width();
    }
    while (size(container) > count) {
      v.end -= width();
      item_->destroy(v.end);
    }
    while (size(container) < count) {
      item_->construct(v.end);
      v.end += width();
    }
    return v.begin;
  }

 private:
  struct Vector {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    std::byte* capacity_end = nullptr;
  };
  std::size_t width() const noexcept { return item_->value_size(); }
  void release(Vector& v) const noexcept {
    while (v.end != v.begin) {
      v.end -= width();
      item_->destroy(v.end);
    }
    deallocate(v.begin, *item_);
    v = Vector();
  }

  std::unique_ptr<Field> item_;
  bool native_;
};

// std::vector<bool> stores bits.
class BoolVectorProxy final : public CollectionProxy {
 public:
  using Vector = std::vector<bool>;
  explicit BoolVectorProxy(bool native) : native_(native) {}
  ValueOps ops() const override { return {.size = sizeof(Vector), .alignment = alignof(Vector)}; }
  bool is_native() const noexcept override { return native_; }
  void construct(void* container) const override { new (container) Vector(); }
  void destroy(void* container) const noexcept override { std::destroy_at(static_cast<Vector*>(container)); }
  std::size_t size(const void* container) const override {
    return static_cast<const Vector*>(container)->size();
  }
  bool is_contiguous() const noexcept override { return false; }
  void for_each(const void* container, const std::function<void(const void*)>& work) const override {
    for (const bool item : *static_cast<const Vector*>(container)) work(&item);
  }
  void clear(void* container) const override { static_cast<Vector*>(container)->clear(); }
  void insert(void* container, void* item) const override {
    static_cast<Vector*>(container)->push_back(*static_cast<bool*>(item));
  }

 private:
  bool native_;
};

// std::optional<T>: the value, then a flag.
class OptionalProxy final : public CollectionProxy {
 public:
  explicit OptionalProxy(const Field& item) : item_(item.clone("_0")) {}
  ValueOps ops() const override {
    return {.size = round_up(item_->value_size() + 1, item_->alignment()), .alignment = item_->alignment()};
  }
  void construct(void* container) const override { flag(container) = false; }
  void destroy(void* container) const noexcept override {
    if (flag(container)) item_->destroy(container);
    flag(container) = false;
  }
  std::size_t size(const void* container) const override {
    return static_cast<const bool*>(container)[item_->value_size()] ? 1 : 0;
  }
  const void* data(const void* container) const override { return container; }
  void* resize(void* container, std::size_t count) const override {
    if (count == 0) {
      destroy(container);
    } else if (!flag(container)) {
      item_->construct(container);
      flag(container) = true;
    }
    return container;
  }

 private:
  bool& flag(void* container) const noexcept { return static_cast<bool*>(container)[item_->value_size()]; }
  std::unique_ptr<Field> item_;
};

// std::unique_ptr<T>: one pointer.
class PointerProxy final : public CollectionProxy {
 public:
  explicit PointerProxy(const Field& item) : item_(item.clone("_0")) {}
  ValueOps ops() const override { return {.size = sizeof(void*), .alignment = alignof(void*)}; }
  void construct(void* container) const override { pointer(container) = nullptr; }
  void destroy(void* container) const noexcept override {
    void*& item = pointer(container);
    if (item != nullptr) {
      item_->destroy(item);
      deallocate(item, *item_);
    }
    item = nullptr;
  }
  std::size_t size(const void* container) const override { return data(container) != nullptr ? 1 : 0; }
  const void* data(const void* container) const override { return *static_cast<void* const*>(container); }
  void* resize(void* container, std::size_t count) const override {
    if (count == 0) {
      destroy(container);
    } else if (pointer(container) == nullptr) {
      void* fresh = allocate(item_->value_size(), *item_);
      try {
        item_->construct(fresh);
      } catch (...) {
        deallocate(fresh, *item_);
        throw;
      }
      pointer(container) = fresh;
    }
    return pointer(container);
  }

 private:
  static void*& pointer(void* container) noexcept { return *static_cast<void**>(container); }
  std::unique_ptr<Field> item_;
};

}  // namespace

std::shared_ptr<const CollectionProxy> make_erased_proxy(std::string_view family, const Field& item) {
  if (family == "std::optional") return std::make_shared<OptionalProxy>(item);
  if (family == "std::unique_ptr") return std::make_shared<PointerProxy>(item);
  const bool native = family.empty() || family == "std::vector" || family == "ROOT::VecOps::RVec";
  const bool is_bool = item.kind() == FieldKind::scalar && item.element(0) == ElementType::boolean;
  if (is_bool) return std::make_shared<BoolVectorProxy>(native);
  return std::make_shared<VectorProxy>(item, native);
}

Layout lay_out(const std::vector<std::unique_ptr<Field>>& members, bool reversed) {
  Layout layout;
  layout.offsets.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t k = reversed ? members.size() - 1 - i : i;
    const Field& member = *members[k];
    layout.offsets[k] = round_up(layout.ops.size, member.alignment());
    layout.ops.size = layout.offsets[k] + member.value_size();
    layout.ops.alignment = std::max(layout.ops.alignment, member.alignment());
  }
  layout.ops.size = std::max<std::size_t>(round_up(layout.ops.size, layout.ops.alignment), 1);
  return layout;
}

detail::VariantOps erased_variant_ops(const std::vector<std::unique_ptr<Field>>& alternatives) {
  ValueOps ops;
  for (const auto& alternative : alternatives) {
    ops.size = std::max(ops.size, alternative->value_size());
    ops.alignment = std::max(ops.alignment, alternative->alignment());
  }
  ops.size = round_up(round_up(ops.size, ops.alignment) + 1, ops.alignment);
  return {.value = ops};
}

detail::BitsetOps erased_bitset_ops(std::size_t bits) {
  // Like std::bitset: machine words, the first flag in the lowest bit of the first word.
  return {.value = {.size = std::max<std::size_t>((bits + 63) / 64, 1) * 8, .alignment = 8},
          .get =
              [](const void* value, std::size_t i) {
                return ((static_cast<const std::uint64_t*>(value)[i / 64] >> (i % 64)) & 1) != 0;
              },
          .set =
              [](void* value, std::size_t i, bool on) {
                std::uint64_t& bits_of = static_cast<std::uint64_t*>(value)[i / 64];
                const std::uint64_t mask = std::uint64_t{1} << (i % 64);
                bits_of = on ? bits_of | mask : bits_of & ~mask;
              }};
}

detail::WrapperOps erased_wrapper_ops(const Field& inner) {
  return {.value = {.size = inner.value_size(), .alignment = inner.alignment()}};
}

}  // namespace colonnade::field
