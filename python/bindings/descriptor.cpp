// The descriptor as read-only objects. They refer to the descriptor of their reader, which they keep alive.
#include "colonnade/descriptor.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "dataset/chains/index.h"
#include "dataset/schema_walk.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

template <std::string FieldDescriptor::* member>
nb::str field_text(const FieldDescriptor& self) {
  return text(self.*member);
}

template <class Ids>
std::vector<std::uint32_t> to_vector(const Ids& ids) {
  return {ids.begin(), ids.end()};
}

void register_schema(nb::module_& module) {
  nb::class_<FieldDescriptor>(module, "FieldDescriptor", "A stored field.")
      .def_ro("id", &FieldDescriptor::id)
      .def_ro("type_version", &FieldDescriptor::type_version)
      .def_ro("parent", &FieldDescriptor::parent, "Its own id for a top-level field.")
      .def_ro("role", &FieldDescriptor::role)
      .def_prop_ro("name", field_text<&FieldDescriptor::name>)
      .def_prop_ro("type_name", field_text<&FieldDescriptor::type_name>)
      .def_prop_ro("type_alias", field_text<&FieldDescriptor::type_alias>)
      .def_prop_ro("description", field_text<&FieldDescriptor::description>)
      .def_prop_ro("unreadable", field_text<&FieldDescriptor::unreadable>,
                   "Why the field cannot be read; empty if it can.")
      .def_ro("array_size", &FieldDescriptor::array_size)
      .def_ro("source_field", &FieldDescriptor::source_field, "Set for a projected field.")
      .def_ro("type_checksum", &FieldDescriptor::type_checksum)
      .def_prop_ro("children", [](const FieldDescriptor& self) { return to_vector(self.children); })
      .def_prop_ro(
          "representations",
          [](const FieldDescriptor& self) {
            std::vector<std::vector<std::uint32_t>> groups;
            for (const ColumnIds& group : self.representations) groups.push_back(to_vector(group));
            return groups;
          },
          "Physical columns, one list per representation.");
  nb::class_<ColumnDescriptor>(module, "ColumnDescriptor", "A stored column.")
      .def_ro("id", &ColumnDescriptor::id)
      .def_ro("field", &ColumnDescriptor::field)
      .def_ro("encoding", &ColumnDescriptor::encoding)
      .def_ro("representation", &ColumnDescriptor::representation)
      .def_ro("deferred", &ColumnDescriptor::deferred)
      .def_ro("first_element", &ColumnDescriptor::first_element);
}

void register_pages(nb::module_& module) {
  nb::class_<PageDescriptor>(module, "PageDescriptor", "A page of a column.")
      .def_ro("elements", &PageDescriptor::elements)
      .def_ro("has_checksum", &PageDescriptor::has_checksum)
      .def_prop_ro(
          "size", [](const PageDescriptor& self) { return self.locator.size; }, "Bytes on storage.")
      .def_prop_ro("offset", [](const PageDescriptor& self) { return self.locator.offset; });
  nb::class_<ColumnRange>(module, "ColumnRange", "The pages of a column in a cluster.")
      .def_ro("column", &ColumnRange::column)
      .def_ro("first_element", &ColumnRange::first_element)
      .def_ro("compression", &ColumnRange::compression, "ROOT's setting, algorithm * 100 + level.")
      .def_prop_ro("pages", [](const ColumnRange& self) {
        return std::vector<PageDescriptor>(self.pages.begin(), self.pages.end());
      });
  nb::class_<ClusterDescriptor>(module, "ClusterDescriptor", "A range of entries that is stored together.")
      .def_ro("id", &ClusterDescriptor::id)
      .def_ro("first_entry", &ClusterDescriptor::first_entry)
      .def_ro("entries", &ClusterDescriptor::entries)
      .def_ro("columns", &ClusterDescriptor::columns, nb::rv_policy::reference_internal);
}

}  // namespace

// Everything that a schema in Python shows: descriptors with the same key have the same schema.
nb::bytes schema_key(const Descriptor& descriptor) {
  std::string key = dataset::fingerprint(descriptor);
  for (const FieldDescriptor& field : descriptor.fields) {
    for (const std::string* text : {&field.type_alias, &field.description}) {
      key += std::to_string(text->size()) + ' ';
      key += *text;
    }
    key += field.source_field ? std::to_string(*field.source_field) + ' ' : "- ";
  }
  return nb::bytes(key.data(), key.size());
}

void register_descriptor(nb::module_& module) {
  register_schema(module);
  register_pages(module);
  nb::class_<Descriptor>(module, "Descriptor", "Everything that a data set says about itself.")
      .def_prop_ro("name", [](const Descriptor& self) { return text(self.name); })
      .def_prop_ro("description", [](const Descriptor& self) { return text(self.description); })
      .def_prop_ro("writer", [](const Descriptor& self) { return text(self.writer); })
      .def_ro("fields", &Descriptor::fields, nb::rv_policy::reference_internal)
      .def_ro("columns", &Descriptor::columns, nb::rv_policy::reference_internal)
      .def_ro("clusters", &Descriptor::clusters, nb::rv_policy::reference_internal)
      .def_prop_ro("entries", &Descriptor::entries)
      .def("top_level_fields", &Descriptor::top_level_fields)
      .def("schema_key", schema_key, "Bytes that descriptors with the same schema share, in this process.")
      .def(
          "find_field",
          [](const Descriptor& self, std::string_view path) -> std::optional<std::uint32_t> {
            const std::uint32_t id = self.find_field(path);
            if (id == invalid_id) return std::nullopt;
            return id;
          },
          nb::arg("path"), "The field at a path as stored ('jets._0.pt') or through collections ('jets.pt').")
      .def(
          "path_of",
          [](const Descriptor& self, std::uint32_t field) {
            if (field >= self.fields.size()) throw nb::index_error("no such field");
            return text(self.path_of(field));
          },
          nb::arg("field"));
  module.def(
      "members_of",
      [](const Descriptor& descriptor, std::uint32_t record) {
        if (record >= descriptor.fields.size()) throw nb::index_error("no such field");
        nb::typed<nb::list, nb::typed<nb::tuple, nb::str, std::uint32_t>> named;
        for (const dataset::NamedMember& member : dataset::members_of(descriptor, record))
          named.append(nb::make_tuple(text(member.name), member.field));
        return named;
      },
      nb::arg("descriptor"), nb::arg("record"),
      "Members of a record as programs name them, those of base classes among them, with their fields.");
}

}  // namespace colonnade::python
