// See members.h.
#include "frame/expression/members.h"

#include <fmt/format.h>

#include "frame/functions/lists.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

ValuesPtr member_of(const ValuesPtr& values, std::size_t index, const ValueType& result) {
  if (values->type.is_record()) return values->children[index];
  // The same lists with other items.
  auto lists = std::make_shared<Values>(*values);
  lists->type = result;
  lists->children.front() = member_of(values->children.front(), index, result.item());
  return lists;
}

class MemberKernel : public Kernel {
 public:
  MemberKernel(const ValueType& type, std::size_t index)
      : index_(index),
        name_(type.innermost().members()[index].first),
        result_(type.with_innermost(type.innermost().members()[index].second)) {}

  ValuesPtr run(const CallContext&, std::span<const ValuesPtr> arguments) const override {
    return member_of(arguments.front(), index_, result_);
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return fmt::format("member {}", name_); }
  std::size_t index() const noexcept { return index_; }

 private:
  std::size_t index_;
  std::string name_;
  ValueType result_;
};

// No elements, with all arrays that the type requires.
ValuesPtr no_values(const ValueType& type) {
  static const std::int64_t offsets[1] = {0};
  alignas(64) static const std::byte nothing[128] = {};
  auto values = std::make_shared<Values>();
  values->type = type;
  if (type.is_scalar()) {
    values->data = nothing;
  } else if (type.is_record()) {
    for (const auto& [name, member] : type.members()) values->children.push_back(no_values(member));
  } else {
    values->offsets = offsets;
    values->children.push_back(no_values(type.item()));
  }
  return values;
}

}  // namespace

KernelPtr member_kernel(const ValueType& type, std::size_t index) {
  return std::make_shared<MemberKernel>(type, index);
}

std::optional<std::size_t> member_index(const Kernel& kernel) {
  const auto* member = dynamic_cast<const MemberKernel*>(&kernel);
  return member != nullptr ? std::optional(member->index()) : std::nullopt;
}

KernelPtr record_kernel(const ValueType& type) {
  const auto body = [type](const CallContext& context, std::span<const ValuesPtr> arguments) {
    std::vector<ValuesPtr> members;
    for (const ValuesPtr& argument : arguments) members.push_back(spread(argument, context.memory));
    return make_record(type, context.rows.size, std::move(members));
  };
  return lists::make_bound({"record " + type.name(), type, {}, body}).kernel;
}

ValuesPtr empty_list(const ValueType& item) {
  static const std::int64_t offsets[2] = {0, 0};
  auto values = std::make_shared<Values>(*make_list(1, offsets, no_values(item), nullptr));
  values->constant = true;
  return values;
}

ValuesPtr zero_of(const ValueType& type) {
  constexpr std::uint64_t zero = 0;
  if (type.is_scalar()) return make_constant(type.element(), 1, &zero);
  if (type.is_string()) return make_constant_string(1, "");
  if (type.is_list()) return as_type(empty_list(type.item()), type);
  std::vector<ValuesPtr> members;
  for (const auto& [name, member] : type.members()) members.push_back(zero_of(member));
  return make_record(type, 1, std::move(members));
}

}  // namespace colonnade::frame
