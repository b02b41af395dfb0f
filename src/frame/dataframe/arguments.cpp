// Columns as arguments of C++ functions: converts them to the parameter types.
#include <fmt/format.h>

#include <algorithm>

#include "colonnade/detail/frame_graph.h"
#include "colonnade/error.h"
#include "frame/expression/function.h"
#include "frame/values/values.h"

namespace colonnade::detail {

namespace {

bool holds_record(const ValueType& type) {
  return type.innermost().is_record();
}

// Converts records member by member, by name, whatever their class.
class Reshape final : public Kernel {
 public:
  Reshape(const ValueType& from, const ValueType& to) : result_(to) {
    if (from.is_list() && to.is_list()) {
      parts_.push_back(part(from.item(), to.item()));
    } else if (from.is_record() && to.is_record()) {
      for (const auto& [name, type] : to.members()) {
        const std::size_t place = from.find_member(name);
        if (place == from.members().size()) throw Missing{};
        places_.push_back(place);
        parts_.push_back(part(from.members()[place].second, type));
      }
    } else {
      throw Missing{};
    }
  }

  // The conversion from `from` to `to`; null if they are the same. Throws Missing if there is none.
  struct Missing {};
  static KernelPtr part(const ValueType& from, const ValueType& to) {
    if (from == to) return nullptr;
    if (holds_record(to)) return std::make_shared<Reshape>(from, to);
    KernelPtr kernel = frame::conversion(from, to);
    if (kernel == nullptr) throw Missing{};
    return kernel;
  }

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    const ValuesPtr values = frame::spread(arguments[0], context.memory);
    if (result_.is_list()) {
      ValuesPtr items = convert(context, values->children.front(), 0);
      auto list = std::make_shared<Values>(*values);
      list->type = result_;
      list->children = {std::move(items)};
      return list;
    }
    std::vector<ValuesPtr> members;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      members.push_back(convert(context, values->children[places_[i]], i));
    return make_record(result_, values->size, std::move(members));
  }
  const ValueType& result() const noexcept override { return result_; }

 private:
  ValuesPtr convert(const CallContext& context, const ValuesPtr& values, std::size_t part) const {
    if (parts_[part] == nullptr) return values;
    const Rows rows{0, values->size, nullptr};
    const CallContext of_items{context.memory, rows, context.slot, context.sample};
    return parts_[part]->run(of_items, std::span(&values, 1));
  }

  ValueType result_;
  std::vector<std::size_t> places_;
  std::vector<KernelPtr> parts_;
};

std::string shown(const ValueType& type) {
  if (!type.is_record()) return type.name();
  std::string text = type.class_name().empty() ? "record" : type.class_name();
  for (std::size_t i = 0; i < type.members().size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? " {" : ", ", type.members()[i].second.name(),
                        type.members()[i].first);
  return text + "}";
}

bool has_constant(const Values& values) {
  return values.constant ||
         std::ranges::any_of(values.children, [](const ValuesPtr& child) { return has_constant(*child); });
}

}  // namespace

std::vector<KernelPtr> argument_conversions(std::span<const std::string> columns,
                                            std::span<const ValueType> given,
                                            std::span<const ValueType> taken) {
  std::vector<KernelPtr> kernels;
  for (std::size_t i = 0; i < taken.size(); ++i) try {
      kernels.push_back(Reshape::part(given[i], taken[i]));
    } catch (const Reshape::Missing&) {
      throw Error(ErrorKind::type,
                  fmt::format("argument {} of the function is a {}, but '{}' is a {}", i + 1, shown(taken[i]),
                              columns[i], shown(given[i])),
                  "take what the column holds: lists as std::span<const T>, texts as std::string_view, "
                  "records as structs with members of the same names");
    }
  return kernels;
}

ValuesPtr prepare_argument(const CallContext& context, const ValuesPtr& values, const Kernel* conversion) {
  ValuesPtr ready = conversion == nullptr ? values : conversion->run(context, std::span(&values, 1));
  return has_constant(*ready) ? frame::spread(ready, context.memory) : ready;
}

ValuesPtr repeat_element(const ValuesPtr& values, std::size_t size) {
  auto repeated = std::make_shared<Values>(*values);
  repeated->size = size;
  repeated->constant = true;
  if (values->type.is_record())
    for (ValuesPtr& member : repeated->children) member = repeat_element(member, size);
  return repeated;
}

void throw_wrong_arity(std::size_t taken, std::size_t given) {
  throw Error(ErrorKind::usage,
              fmt::format("the function takes {} argument{}, but {} column{} given", taken,
                          taken == 1 ? "" : "s", given, given == 1 ? " is" : "s are"),
              "name one column per argument");
}

}  // namespace colonnade::detail
