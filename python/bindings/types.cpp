// The enumerations of the interface, and the names of column types.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "colonnade/column_type.h"
#include "colonnade/columnar.h"
#include "colonnade/descriptor.h"
#include "colonnade/field.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

std::optional<ColumnType> column_type_by_name(std::string_view name) {
  for (std::uint16_t number = 0; number < column_type_count; ++number) {
    const auto type = static_cast<ColumnType>(number);
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

void register_elements(nb::module_& module) {
  nb::enum_<ElementType>(module, "ElementType", "What the elements of an array are in memory.")
      .value("boolean", ElementType::boolean)
      .value("byte", ElementType::byte)
      .value("character", ElementType::character)
      .value("int8", ElementType::int8)
      .value("uint8", ElementType::uint8)
      .value("int16", ElementType::int16)
      .value("uint16", ElementType::uint16)
      .value("int32", ElementType::int32)
      .value("uint32", ElementType::uint32)
      .value("int64", ElementType::int64)
      .value("uint64", ElementType::uint64)
      .value("float32", ElementType::float32)
      .value("float64", ElementType::float64)
      .value("index", ElementType::index)
      .value("switch", ElementType::switch_);
  nb::enum_<ArrayRole>(module, "ArrayRole", "What an array is for its field.")
      .value("values", ArrayRole::values)
      .value("offsets", ArrayRole::offsets)
      .value("tags", ArrayRole::tags);
}

void register_kinds(nb::module_& module) {
  nb::enum_<FieldKind>(module, "FieldKind", "What a field is, for code that walks over schemas.")
      .value("scalar", FieldKind::scalar)
      .value("string", FieldKind::string)
      .value("collection", FieldKind::collection)
      .value("nullable", FieldKind::nullable)
      .value("array", FieldKind::array)
      .value("bitset", FieldKind::bitset)
      .value("record", FieldKind::record)
      .value("variant", FieldKind::variant)
      .value("wrapper", FieldKind::wrapper)
      .value("cardinality", FieldKind::cardinality);
  nb::enum_<FieldRole>(module, "FieldRole", "The structural role of a stored field.")
      .value("leaf", FieldRole::leaf)
      .value("collection", FieldRole::collection)
      .value("record", FieldRole::record)
      .value("variant", FieldRole::variant)
      .value("streamer", FieldRole::streamer);
}

}  // namespace

void register_types(nb::module_& module) {
  register_elements(module);
  register_kinds(module);
  nb::class_<ColumnEncoding>(module, "ColumnEncoding", "How the elements of a column are stored.")
      .def(
          "__init__",
          [](ColumnEncoding* self, std::string_view type, std::optional<std::uint16_t> bits, double minimum,
             double maximum) {
            const auto known = column_type_by_name(type);
            if (!known) throw nb::value_error("unknown column type");
            ColumnEncoding encoding = default_encoding(*known);
            if (bits) encoding.bits = *bits;
            encoding.min = minimum;
            encoding.max = maximum;
            new (self) ColumnEncoding(encoding);
          },
          nb::arg("type"), nb::arg("bits") = nb::none(), nb::arg("minimum") = 0.0, nb::arg("maximum") = 0.0)
      .def_prop_ro("type", [](const ColumnEncoding& self) { return name_of(self.type); })
      .def_ro("bits", &ColumnEncoding::bits)
      .def_ro("minimum", &ColumnEncoding::min)
      .def_ro("maximum", &ColumnEncoding::max);
}

}  // namespace colonnade::python
