// Values of a DataFrame as NumPy arrays and back: types, and arrays that are shared, not copied.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "colonnade/error.h"
#include "dtypes.h"
#include "frame/expression/expression.h"
#include "frame/expression/function.h"
#include "frame/expression/special_names.h"
#include "frame/values/values.h"
#include "frame_python.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Array = nb::ndarray<nb::numpy, nb::ro>;
using GivenArray = nb::ndarray<nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;

// ---- Types

const char* kind_of(const ValueType& type) {
  switch (type.kind()) {
    case ValueType::Kind::scalar:
      return "scalar";
    case ValueType::Kind::string:
      return "string";
    case ValueType::Kind::list:
      return "list";
    case ValueType::Kind::record:
      break;
  }
  return "record";
}

ValueType item_of(const ValueType& type) {
  if (!type.is_list()) throw Error(ErrorKind::usage, "only lists have items");
  return type.item();
}

std::vector<ValueType::Member> members_of(const ValueType& type) {
  if (!type.is_record()) return {};
  return {type.members().begin(), type.members().end()};
}

ValueType named_type(const std::string& name) {
  if (const auto type = frame::type_of_name(name)) return *type;
  throw Error(ErrorKind::type, fmt::format("'{}' is not a known type of values", name),
              "'float', 'double', 'int', 'bool', 'std::vector<float>', 'std::string'");
}

std::vector<std::pair<std::string, std::string>> expression_functions() {
  std::vector<std::pair<std::string, std::string>> functions;
  for (const frame::Function& each : frame::all_functions())
    functions.emplace_back(each.name, each.signature);
  return functions;
}

void register_value_type(nb::module_& module) {
  nb::class_<ValueType>(module, "ValueType", "The type of an expression.")
      .def_static(
          "scalar", [](ElementType element) { return ValueType(element); }, nb::arg("element"))
      .def_static("string", &ValueType::string)
      .def_static("list_of", &ValueType::list, nb::arg("item"))
      .def_static("optional_of", &ValueType::optional, nb::arg("item"))
      .def_static("record", &ValueType::record, nb::arg("class_name"), nb::arg("members"))
      .def_static("named", &named_type, nb::arg("name"), "The type that C++ spells so.")
      .def_static("variant", &ValueType::variant, nb::arg("alternatives"))
      .def_prop_ro("kind", &kind_of, "'scalar', 'string', 'list' or 'record'.")
      .def_prop_ro("element", &ValueType::element, "Of a scalar.")
      .def_prop_ro("item", &item_of, "Of a list.")
      .def_prop_ro("is_optional", &ValueType::is_optional, "A list that stands for a std::optional.")
      .def_prop_ro("is_variant", &ValueType::is_variant,
                   "A record of optionals, of which at most one has a value.")
      .def_prop_ro("members", &members_of, "Of a record.")
      .def_prop_ro("class_name",
                   [](const ValueType& self) {
                     return text(self.is_record() ? std::string_view(self.class_name()) : "");
                   })
      .def_prop_ro("name", [](const ValueType& self) { return text(self.name()); })
      .def(
          "__eq__",
          [](const ValueType& self, nb::handle other) {
            return nb::isinstance<ValueType>(other) && self == nb::cast<const ValueType&>(other);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const ValueType& self) { return nb::hash(text(self.name())); })
      .def("__repr__", [](const ValueType& self) { return text(self.name()); });
}

// ---- Values to arrays

// An array that keeps the values alive.
Array view_of(const ValuesPtr& values, const void* data, std::size_t size, nb::dlpack::dtype dtype) {
  static const std::int64_t nothing = 0;
  const nb::capsule owner(new ValuesPtr(values), [](void* p) noexcept { delete static_cast<ValuesPtr*>(p); });
  return {data != nullptr && size > 0 ? data : &nothing, {size}, owner, {}, dtype};
}

Array data_of(const PyValues& self) {
  const Values& values = *self.values;
  if (!values.type.is_scalar()) throw Error(ErrorKind::usage, "only scalars have data");
  return view_of(self.values, values.data, values.stored(), dtype_of(values.type.element()));
}

Array offsets_of(const PyValues& self) {
  const Values& values = *self.values;
  if (values.offsets == nullptr) throw Error(ErrorKind::usage, "only lists and strings have offsets");
  return view_of(self.values, values.offsets, values.stored() + 1, nb::dtype<std::int64_t>());
}

std::vector<PyValues> children_of(const PyValues& self) {
  std::vector<PyValues> children;
  for (const ValuesPtr& child : self.values->children) children.push_back({child});
  return children;
}

PyValues spread_out(const PyValues& self) {
  BlockMemory memory;
  return {frame::spread(self.values, memory)};
}

PyValues as_constant(const PyValues& self, std::size_t size) {
  if (self.values->stored() != 1) throw Error(ErrorKind::usage, "a constant is made of one value");
  auto constant = std::make_shared<Values>(*self.values);
  constant->constant = true;
  constant->size = size;
  if (constant->type.is_record())
    for (ValuesPtr& child : constant->children) child = as_constant({child}, size).values;
  return {constant};
}

// ---- Arrays to values

std::shared_ptr<const void> owner_of(const GivenArray& array) {
  return keep_object(nb::cast(array));
}

PyValues scalar_values(ElementType element, const GivenArray& array) {
  if (array.itemsize() != size_of(element))
    throw Error(ErrorKind::usage, "the array's items do not have the size of its element type");
  return {make_scalars(element, array.size(), array.data(), owner_of(array))};
}

using Offsets = nb::ndarray<const std::int64_t, nb::c_contig, nb::ndim<1>, nb::device::cpu>;

// A copy of offsets, since Python code may modify its arrays later. All offsets must be within the
// items.
std::shared_ptr<const std::int64_t[]> checked_offsets(const Offsets& offsets, std::size_t items) {
  const std::shared_ptr<std::int64_t[]> copy(new std::int64_t[offsets.size() + 1]);
  std::copy_n(offsets.data(), offsets.size(), copy.get());
  bool grow = offsets.size() > 0 && copy[0] == 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) grow &= copy[i] >= copy[i - 1];
  if (!grow || static_cast<std::size_t>(copy[offsets.size() - 1]) > items)
    throw Error(ErrorKind::usage,
                fmt::format("offsets of lists do not increase from 0 to at most {}", items));
  return copy;
}

PyValues list_values(const Offsets& offsets, const PyValues& items, bool optional) {
  const auto kept = checked_offsets(offsets, items.values->size);
  auto list = make_list(offsets.size() - 1, kept.get(), items.values, kept);
  return {optional ? as_type(std::move(list), ValueType::optional(items.values->type)) : std::move(list)};
}

PyValues string_values(const Offsets& offsets, const GivenArray& characters) {
  const auto kept = checked_offsets(offsets, characters.size());
  auto items = scalar_values(ElementType::character, characters).values;
  return {make_string(offsets.size() - 1, kept.get(), std::move(items), kept)};
}

PyValues record_values(const ValueType& type, std::size_t size, const std::vector<PyValues>& members) {
  std::vector<ValuesPtr> children;
  for (const PyValues& member : members) children.push_back(member.values);
  bool fit = type.is_record() && type.members().size() == children.size();
  for (std::size_t i = 0; fit && i < children.size(); ++i)
    fit = children[i]->size == size && children[i]->type == type.members()[i].second;
  if (!fit) throw Error(ErrorKind::usage, "the members do not fit the record");
  return {make_record(type, size, std::move(children))};
}

std::vector<std::string_view> special_names() {
  std::vector<std::string_view> names;
  for (const frame::SpecialName& special : frame::special_names) names.push_back(special.name);
  return names;
}

}  // namespace

void register_frame_values(nb::module_& module) {
  register_value_type(module);
  module.def("expression_functions", &expression_functions,
             "Names and signatures of all functions of expressions, operators included.");
  module.def("column_text", &frame::column_text, nb::arg("name"),
             "The expression that is the column of this name.");
  module.def("special_names", &special_names, "Names that are never columns in expressions.");
  const char* array = "def data(self) -> numpy.typing.NDArray[typing.Any]";
  const char* offsets = "def offsets(self) -> numpy.typing.NDArray[numpy.int64]";
  nb::class_<PyValues>(module, "Values", "Values of one type, as flat arrays; see colonnade/block.h.")
      .def_prop_ro("type", [](const PyValues& self) { return self.values->type; })
      .def("__len__", [](const PyValues& self) { return self.values->size; })
      .def_prop_ro(
          "constant", [](const PyValues& self) { return self.values->constant; },
          "One element stands for all.")
      .def("data", &data_of, nb::sig(array), "Elements of scalars.")
      .def("offsets", &offsets_of, nb::sig(offsets), "Where lists and strings begin and end.")
      .def_prop_ro("children", &children_of, "Items of lists, characters of strings, members of records.")
      .def("spread", &spread_out, "With one element per value at every level.")
      .def("as_constant", &as_constant, nb::arg("size"), "One value that stands for many.");
  const char* scalars =
      "def scalar_values(element: ElementType, array: numpy.typing.NDArray[typing.Any]) -> Values";
  const char* lists =
      "def list_values(offsets: numpy.typing.NDArray[numpy.int64], items: Values, optional: bool = False) -> "
      "Values";
  const char* strings =
      "def string_values(offsets: numpy.typing.NDArray[numpy.int64], characters: "
      "numpy.typing.NDArray[typing.Any]) -> Values";
  module.def("scalar_values", &scalar_values, nb::arg("element"), nb::arg("array"), nb::sig(scalars));
  module.def("list_values", &list_values, nb::arg("offsets"), nb::arg("items"), nb::arg("optional") = false,
             nb::sig(lists));
  module.def("string_values", &string_values, nb::arg("offsets"), nb::arg("characters"), nb::sig(strings));
  module.def("record_values", &record_values, nb::arg("type"), nb::arg("size"), nb::arg("members"));
}

}  // namespace colonnade::python
