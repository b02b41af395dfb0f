// Variants: a switch column holds the alternative of a value and its index in that alternative's column.
// Wrappers: enums and atomics, whose only sub-field `_0` holds the value.
#include <fmt/format.h>

#include <algorithm>

#include "field/field_tools.h"
#include "page/column_reader.h"
#include "page/page_sink.h"
#include "page/page_source.h"

namespace colonnade::field {
namespace {

using colonnade::detail::VariantOps;
using colonnade::detail::WrapperOps;

std::string compose(const std::vector<std::unique_ptr<Field>>& alternatives, bool alias) {
  bool has_alias = false;
  std::string list;
  for (const auto& alternative : alternatives) {
    const std::string& own = alternative->type_alias();
    has_alias = has_alias || !own.empty();
    list += (list.empty() ? "" : ",") + (alias && !own.empty() ? own : alternative->type_name());
  }
  return alias && !has_alias ? std::string() : fmt::format("std::variant<{}>", list);
}

class VariantField final : public Field {
 public:
  VariantField(std::string name, VariantOps ops, std::vector<std::unique_ptr<Field>> alternatives)
      : Field(std::move(name), {.kind = FieldKind::variant,
                                .type_name = compose(alternatives, false),
                                .type_alias = compose(alternatives, true),
                                .value_size = ops.value.size,
                                .alignment = ops.value.alignment,
                                .elements = {ElementType::switch_}}),
        ops_(ops),
        written_(alternatives.size(), 0) {
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      alternatives[i]->set_name(fmt::format("_{}", i));
      add_child(std::move(alternatives[i]));
    }
  }

  void construct(void* value) const override {
    if (ops_.value.construct != nullptr) return ops_.value.construct(value);
    children()[0]->construct(value);
    tag(value) = 0;
  }
  void destroy(void* value) const noexcept override {
    if (ops_.value.destroy != nullptr) return ops_.value.destroy(value);
    const int active = this->active(value);
    if (active >= 0) children()[static_cast<std::size_t>(active)]->destroy(value);
  }
  void print(const void* value, std::string& out) const override {
    const int active = this->active(value);
    if (active < 0) {
      out += "null";
      return;
    }
    const auto k = static_cast<std::size_t>(active);
    children()[k]->print(get(value, k), out);
  }
  void append(const void* value) override {
    const int active = this->active(value);
    SwitchElement element;
    if (active >= 0) {
      const auto k = static_cast<std::size_t>(active);
      children()[k]->append(get(value, k));
      element.index = written_[k]++;
      element.tag = static_cast<std::uint32_t>(k + 1);
    }
    writers_[0]->append(element);
  }
  void append_structure(const std::int64_t* tags, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      SwitchElement element;
      element.tag = static_cast<std::uint32_t>(tags[i]);
      if (element.tag > 0) element.index = written_[element.tag - 1]++;
      writers_[0]->append(element);
    }
  }
  void read(ClusterIndex at, void* value) override {
    const SwitchElement element = readers_[0]->at<SwitchElement>(at.cluster, at.index);
    if (element.tag == 0) return reset(value);
    if (element.tag > children().size())
      throw Error(ErrorKind::format,
                  fmt::format("a variant has the tag {}, but there are {} alternatives", element.tag,
                              children().size()),
                  "", {.field = name(), .cluster = at.cluster});
    const std::size_t k = element.tag - 1;
    void* inner = emplace(value, k);
    children()[k]->read({at.cluster, element.index}, inner);
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    std::vector<std::unique_ptr<Field>> alternatives;
    for (const auto& child : children()) alternatives.push_back(child->clone(child->name()));
    return std::make_unique<VariantField>(name(), ops_, std::move(alternatives));
  }
  std::vector<ColumnEncoding> default_encodings(bool) const override {
    return {default_encoding(ColumnType::switch_)};
  }
  void start_cluster() override { std::fill(written_.begin(), written_.end(), 0); }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const std::uint32_t stored = unwrap(source.descriptor(), disk_field);
    const FieldDescriptor& disk = source.descriptor().fields[stored];
    if (disk.role != FieldRole::variant || disk.children.size() != children().size())
      refuse(source, disk_field);
    open_columns(source, stored);
    for (std::size_t i = 0; i < children().size(); ++i) children()[i]->connect(source, disk.children[i]);
  }

 private:
  // The layout of a variant known by name: the alternatives share the first bytes, the index of the current
  // one follows the largest (no value: 255), as in GCC's std::variant.
  static constexpr std::uint8_t no_value = 255;
  std::size_t tag_offset() const {
    std::size_t size = 0;
    for (const auto& child : children()) size = std::max(size, child->value_size());
    return (size + alignment() - 1) / alignment() * alignment();
  }
  std::uint8_t& tag(void* value) const { return static_cast<std::uint8_t*>(value)[tag_offset()]; }
  int active(const void* value) const {
    if (ops_.active != nullptr) return ops_.active(value);
    const std::uint8_t tag = static_cast<const std::uint8_t*>(value)[tag_offset()];
    return tag == no_value ? -1 : tag;
  }
  const void* get(const void* value, std::size_t k) const {
    return ops_.get != nullptr ? ops_.get(value, k) : value;
  }
  void reset(void* value) const {
    if (ops_.reset != nullptr) return ops_.reset(value);
    destroy(value);
    tag(value) = no_value;
  }
  void* emplace(void* value, std::size_t k) const {
    if (ops_.emplace != nullptr) return ops_.emplace(value, k);
    reset(value);
    children()[k]->construct(value);
    tag(value) = static_cast<std::uint8_t>(k);
    return value;
  }

  VariantOps ops_;
  std::vector<std::uint64_t> written_;  // values of each alternative in this cluster
};

enum class WrapperKind { enumeration, atomic };

class WrapperField final : public Field {
 public:
  WrapperField(std::string name, std::string type_name, WrapperKind what, WrapperOps ops,
               std::unique_ptr<Field> inner)
      : Field(std::move(name), {.kind = FieldKind::wrapper,
                                .type_name = std::move(type_name),
                                .type_alias = what == WrapperKind::atomic && !inner->type_alias().empty()
                                                  ? fmt::format("std::atomic<{}>", inner->type_alias())
                                                  : std::string(),
                                .value_size = ops.value.size,
                                .alignment = ops.value.alignment}),
        what_(what),
        ops_(ops) {
    inner->set_name("_0");
    add_child(std::move(inner));
    inner_ = children().front().get();
    if (ops_.load != nullptr || ops_.store != nullptr) scratch_ = inner_->make_value();
  }

  // Without functions of its own the value has the layout of the inner one.
  void construct(void* value) const override {
    ops_.value.construct != nullptr ? ops_.value.construct(value) : inner_->construct(value);
  }
  void destroy(void* value) const noexcept override {
    ops_.value.destroy != nullptr ? ops_.value.destroy(value) : inner_->destroy(value);
  }
  void append(const void* value) override { inner_->append(inner(value)); }
  void read(ClusterIndex at, void* value) override {
    if (ops_.store == nullptr) return inner_->read(at, value);
    inner_->read(at, scratch_.get());
    ops_.store(value, scratch_.get());
  }
  void print(const void* value, std::string& out) const override { inner_->print(inner(value), out); }

 protected:
  std::unique_ptr<Field> copy() const override {
    return std::make_unique<WrapperField>(name(), type_name(), what_, ops_, inner_->clone("_0"));
  }
  std::vector<ColumnEncoding> default_encodings(bool) const override { return {}; }
  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    // The stored field may be the same wrapper, another one, or the plain value.
    inner_->connect(source, unwrap(source.descriptor(), disk_field));
  }

 private:
  const void* inner(const void* value) const {
    if (ops_.load == nullptr) return value;
    ops_.load(value, scratch_.get());
    return scratch_.get();
  }

  WrapperKind what_;
  WrapperOps ops_;
  Field* inner_ = nullptr;
  std::shared_ptr<void> scratch_;  // for wrappers with functions of their own
};

}  // namespace
}  // namespace colonnade::field

namespace colonnade::detail {

std::unique_ptr<Field> variant_field(std::string name, VariantOps ops,
                                     std::vector<std::unique_ptr<Field>> alternatives) {
  return std::make_unique<field::VariantField>(std::move(name), ops, std::move(alternatives));
}

std::unique_ptr<Field> enum_field(std::string name, std::string type_name, WrapperOps ops,
                                  std::unique_ptr<Field> inner) {
  return std::make_unique<field::WrapperField>(std::move(name), std::move(type_name),
                                               field::WrapperKind::enumeration, ops, std::move(inner));
}

std::unique_ptr<Field> atomic_field(std::string name, WrapperOps ops, std::unique_ptr<Field> inner) {
  std::string type_name = "std::atomic<" + inner->type_name() + ">";
  return std::make_unique<field::WrapperField>(std::move(name), std::move(type_name),
                                               field::WrapperKind::atomic, ops, std::move(inner));
}

}  // namespace colonnade::detail
