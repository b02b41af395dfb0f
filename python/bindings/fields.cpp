// Fields: what arrays and writers need to know about a type, and the construction of fields from type names.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "colonnade/descriptor.h"
#include "colonnade/error.h"
#include "colonnade/field.h"
#include "format/envelope_check.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

// Clones its arguments: Python keeps its objects, C++ gets its own.
std::unique_ptr<Field> make_record(std::string_view name, const std::vector<const Field*>& members) {
  std::vector<std::unique_ptr<Field>> clones;
  for (const Field* member : members) clones.push_back(member->clone(member->name()));
  return make_record_field(name, std::move(clones));
}

std::unique_ptr<Field> make_collection(std::string_view name, const Field& item) {
  return make_collection_field(name, item.clone("_0"));
}

std::vector<ElementType> elements(const Field& field) {
  std::vector<ElementType> result;
  for (std::size_t column = 0; column < field.column_count(); ++column)
    result.push_back(field.element(column));
  return result;
}

std::vector<Field*> children(const Field& field) {
  std::vector<Field*> result;
  for (const auto& child : field.children()) result.push_back(child.get());
  return result;
}

// The columns as they are, not as a new field of the type would have them.
void take_encodings(Field& field, const Descriptor& there, std::uint32_t id) {
  const FieldDescriptor& stored = there.fields[id];
  if (!stored.representations.empty() && field.column_count() == stored.representations.front().size()) {
    std::vector<ColumnEncoding> encodings;
    for (const std::uint32_t column : stored.representations.front())
      encodings.push_back(there.columns[column].encoding);
    if (!encodings.empty()) field.set_encodings(std::move(encodings));
  }
  for (const auto& child : field.children())
    for (const std::uint32_t below : stored.children)
      if (there.fields[below].name == child->name()) take_encodings(*child, there, below);
}

std::unique_ptr<Field> field_to_continue(const Descriptor& there, std::uint32_t id) {
  if (id >= there.fields.size()) throw Error(ErrorKind::usage, "there is no such field");
  std::unique_ptr<Field> field = make_field(there, id);
  field->set_description(there.fields[id].description);
  take_encodings(*field, there, id);
  return field;
}

}  // namespace

void register_fields(nb::module_& module) {
  module.attr("max_field_depth") = format::max_field_depth;
  nb::class_<Field>(module, "Field", "A type, as a tree of fields.")
      .def_prop_ro("name", [](const Field& self) { return text(self.name()); })
      .def_prop_ro("type_name", [](const Field& self) { return text(self.type_name()); })
      .def_prop_ro("type_alias", [](const Field& self) { return text(self.type_alias()); })
      .def_prop_rw("description", &Field::description, &Field::set_description)
      .def_prop_ro("kind", &Field::kind)
      .def_prop_ro("array_size", &Field::array_size)
      .def_prop_ro("elements", &elements, "Element types of its own columns.")
      .def_prop_ro("children", &children, nb::rv_policy::reference_internal)
      .def(
          "find", [](Field& self, std::string_view path) { return self.find(path); }, nb::arg("path"),
          nb::rv_policy::reference_internal, nb::sig("def find(self, path: str) -> Field | None"),
          "The field at a path below this one, or None.")
      .def("encodings", &Field::encodings, nb::arg("compressed"))
      .def("set_encodings", &Field::set_encodings, nb::arg("encodings"));
  // Lambdas, since Clang does not deduce the type of an overloaded function here.
  module.def(
      "make_field",
      [](std::string_view name, std::string_view type_name) { return make_field(name, type_name); },
      nb::arg("name"), nb::arg("type_name"), "The field of a type name.");
  module.def(
      "stored_field",
      [](const Descriptor& descriptor, std::uint32_t field) { return make_field(descriptor, field); },
      nb::arg("descriptor"), nb::arg("field"),
      "The field that reads a stored field, without the parts that cannot be read.");
  module.def("field_to_continue", &field_to_continue, nb::arg("descriptor"), nb::arg("field"),
             "The same with the encodings of its columns, to write more of it.");
  module.def("make_record", &make_record, nb::arg("name"), nb::arg("members"), "A record without type name.");
  module.def("make_collection", &make_collection, nb::arg("name"), nb::arg("item"),
             "A collection without type name.");
}

}  // namespace colonnade::python
