// Records: user classes with their bases (sub-fields `:_0`, `:_1`), pairs, tuples, untyped records. No
// columns of their own.
#include <fmt/format.h>

#include <algorithm>

#include "field/field_tools.h"
#include "page/page_source.h"

namespace colonnade::field {
namespace {

using colonnade::detail::Member;
using colonnade::detail::ReadRuleHook;
using colonnade::detail::ValueOps;
using RuleMaker = std::shared_ptr<const std::function<ReadRuleHook()>>;

std::string compose(std::string_view family, const std::string& class_name,
                    const std::vector<Member>& members, bool alias) {
  if (family == "class") return alias ? std::string() : class_name;
  if (family.empty()) return {};
  bool has_alias = false;
  std::string list;
  for (const Member& member : members) {
    const std::string& own = member.field->type_alias();
    has_alias = has_alias || !own.empty();
    list += (list.empty() ? "" : ",") + (alias && !own.empty() ? own : member.field->type_name());
  }
  return alias && !has_alias ? std::string() : fmt::format("{}<{}>", family, list);
}

bool is_base(const std::string& member) {
  return member.starts_with(":_");
}

class RecordField final : public Field {
 public:
  RecordField(std::string name, std::string_view family, std::string class_name, ValueOps ops,
              std::vector<Member> members, std::uint32_t version, RuleMaker rule)
      : Field(std::move(name), {.kind = FieldKind::record,
                                .type_name = compose(family, class_name, members, false),
                                .type_alias = compose(family, class_name, members, true),
                                .value_size = ops.size,
                                .alignment = ops.alignment,
                                .type_version = version}),
        family_(family),
        class_name_(std::move(class_name)),
        ops_(ops),
        rule_maker_(std::move(rule)) {
    for (Member& member : members) {
      offsets_.push_back(member.offset);
      add_child(std::move(member.field));
    }
  }

  void construct(void* value) const override {
    if (ops_.construct != nullptr) return ops_.construct(value);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      try {
        children()[i]->construct(at(value, i));
      } catch (...) {
        while (i > 0) {
          --i;
          children()[i]->destroy(at(value, i));
        }
        throw;
      }
    }
  }
  void destroy(void* value) const noexcept override {
    if (ops_.destroy != nullptr) return ops_.destroy(value);
    for (std::size_t i = offsets_.size(); i > 0; --i) children()[i - 1]->destroy(at(value, i - 1));
  }
  void append(const void* value) override {
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      children()[i]->append(static_cast<const std::byte*>(value) + offsets_[i]);
  }
  void print(const void* value, std::string& out) const override {
    const bool named = family_ != "std::pair" && family_ != "std::tuple";
    out += named ? '{' : '[';
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      if (i > 0) out += ", ";
      if (named) {
        print_quoted(children()[i]->name(), out);
        out += ": ";
      }
      children()[i]->print(static_cast<const std::byte*>(value) + offsets_[i], out);
    }
    out += named ? '}' : ']';
  }
  void read(ClusterIndex index, void* value) override {
    for (const auto& [field, offset] : bound_) field->read(index, static_cast<std::byte*>(value) + offset);
    if (!rule_) return;
    rule_->source->read(index, rule_value_.get());
    rule_->apply(rule_value_.get(), value);
  }

 protected:
  std::unique_ptr<Field> copy() const override {
    std::vector<Member> members;
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      members.push_back({offsets_[i], children()[i]->clone(children()[i]->name())});
    return std::make_unique<RecordField>(name(), family_, class_name_, ops_, std::move(members),
                                         type_version(), rule_maker_);
  }
  std::vector<ColumnEncoding> default_encodings(bool) const override { return {}; }

  void bind(page::PageSource& source, std::uint32_t disk_field) override {
    const Descriptor& descriptor = source.descriptor();
    const std::uint32_t stored = unwrap(descriptor, disk_field);
    const FieldDescriptor& disk = descriptor.fields[stored];
    if (disk.role != FieldRole::record) refuse(source, disk_field);
    if (family_ == "std::pair" || family_ == "std::tuple") {
      const std::string_view stored_family = family_of(disk.type_name);
      if ((stored_family != "std::pair" && stored_family != "std::tuple") ||
          disk.children.size() != children().size())
        refuse(source, disk_field);
    }
    if (rule_maker_) adopt_rule(disk);
    const bool renamed = rule_ && !rule_->source_class.empty() && rule_->source_class == disk.type_name;
    if (family_ == "class" && !disk.type_name.empty() && disk.type_name != class_name_ && !renamed)
      refuse(source, disk_field, "the class names differ");
    bind_members(source, disk);
    if (rule_) {
      rule_value_ = rule_->source->make_value();
      rule_->source->connect(source, disk_field);
    }
  }

 private:
  void* at(void* value, std::size_t i) const { return static_cast<std::byte*>(value) + offsets_[i]; }

  void adopt_rule(const FieldDescriptor& disk) {
    ReadRuleHook rule = (*rule_maker_)();
    const bool name_fits =
        disk.type_name == class_name_ || disk.type_name.empty() || disk.type_name == rule.source_class;
    if (name_fits && disk.type_version >= rule.min_version && disk.type_version <= rule.max_version)
      rule_ = std::move(rule);
  }

  // Members are matched by name. Members that the file lacks keep their values from the constructor, and so
  // do bases that the file lacks entirely.
  void bind_members(page::PageSource& source, const FieldDescriptor& disk) {
    const Descriptor& descriptor = source.descriptor();
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      Field& member = *children()[i];
      const auto found = std::find_if(disk.children.begin(), disk.children.end(), [&](std::uint32_t id) {
        return descriptor.fields[id].name == member.name();
      });
      if (found == disk.children.end()) {
        const bool other_bases =
            is_base(member.name()) &&
            std::any_of(disk.children.begin(), disk.children.end(),
                        [&](std::uint32_t id) { return is_base(descriptor.fields[id].name); });
        if (other_bases) refuse(source, disk.id, "the base classes differ");
        continue;
      }
      member.connect(source, *found);
      bound_.emplace_back(&member, offsets_[i]);
    }
  }

  std::string family_;
  std::string class_name_;
  ValueOps ops_;
  std::vector<std::size_t> offsets_;
  std::vector<std::pair<Field*, std::size_t>> bound_;
  RuleMaker rule_maker_;
  std::optional<ReadRuleHook> rule_;
  std::shared_ptr<void> rule_value_;
};

}  // namespace
}  // namespace colonnade::field

namespace colonnade::detail {

std::unique_ptr<Field> record_field(std::string name, std::string_view family, std::string class_name,
                                    ValueOps ops, std::vector<Member> members, std::uint32_t version,
                                    std::shared_ptr<const std::function<ReadRuleHook()>> rule) {
  return std::make_unique<field::RecordField>(std::move(name), family, std::move(class_name), ops,
                                              std::move(members), version, std::move(rule));
}

}  // namespace colonnade::detail
