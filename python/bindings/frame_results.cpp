// Values of a DataFrame's results: plain structs with NumPy arrays.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frame/results/result.h"
#include "frame_python.h"
#include "register.h"
#include "text.h"
#include "writer_handles.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Doubles = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

Doubles to_numpy(const std::vector<double>& values) {
  auto* copy = new std::vector<double>(values);
  const nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {copy->data(), {copy->size()}, owner};
}

// A property that is an array of numbers.
template <auto Member, class Class>
void array_property(Class& cls, const char* name) {
  using Value = typename Class::Type;
  cls.def_prop_ro(
      name, [](const Value& self) { return to_numpy(self.*Member); }, nb::rv_policy::move,
      nb::sig((std::string("def ") + name + "(self) -> numpy.typing.NDArray[numpy.float64]").c_str()));
}
template <auto Member, class Class>
void text_property(Class& cls, const char* name) {
  using Value = typename Class::Type;
  cls.def_prop_ro(name, [](const Value& self) { return text(self.*Member); });
}

void register_histograms(nb::module_& module) {
  using frame::AxisValue, frame::HistogramValue, frame::Moments, frame::ProfileValue;
  nb::class_<AxisValue> axis(module, "AxisValue", "An axis of a histogram.");
  text_property<&AxisValue::name>(axis, "name");
  array_property<&AxisValue::edges>(axis, "edges");
  axis.def_ro("regular", &AxisValue::regular)
      .def_prop_ro("bins", [](const AxisValue& self) { return self.edges.size() - 1; })
      .def_prop_ro("range",
                   [](const AxisValue& self) { return std::pair(self.edges.front(), self.edges.back()); });

  nb::class_<Moments> moments(module, "Moments", "Sums over the fills that are in range on every axis.");
  moments.def_ro("sum_w", &Moments::sum_w).def_ro("sum_w2", &Moments::sum_w2);
  array_property<&Moments::sum_wx>(moments, "sum_wx");
  array_property<&Moments::sum_wxx>(moments, "sum_wxx");

  nb::class_<HistogramValue> histogram(module, "HistogramValue", "Bins, the first axis running fastest.");
  text_property<&HistogramValue::name>(histogram, "name");
  text_property<&HistogramValue::title>(histogram, "title");
  histogram.def_ro("axes", &HistogramValue::axes)
      .def_ro("weighted", &HistogramValue::weighted)
      .def_ro("entries", &HistogramValue::entries)
      .def_ro("moments", &HistogramValue::moments);
  array_property<&HistogramValue::values>(histogram, "values");
  array_property<&HistogramValue::variances>(histogram, "variances");

  nb::class_<ProfileValue> profile(module, "ProfileValue", "Sums per bin, the first axis running fastest.");
  text_property<&ProfileValue::name>(profile, "name");
  text_property<&ProfileValue::title>(profile, "title");
  text_property<&ProfileValue::spread>(profile, "spread");
  profile.def_ro("axes", &ProfileValue::axes).def_ro("entries", &ProfileValue::entries);
  array_property<&ProfileValue::sum_w>(profile, "sum_w");
  array_property<&ProfileValue::sum_w2>(profile, "sum_w2");
  array_property<&ProfileValue::sum_wy>(profile, "sum_wy");
  array_property<&ProfileValue::sum_wyy>(profile, "sum_wyy");
  array_property<&ProfileValue::sum_wx>(profile, "sum_wx");
  array_property<&ProfileValue::sum_wxx>(profile, "sum_wxx");
}

}  // namespace

void register_frame_results(nb::module_& module) {
  using frame::GraphValue, frame::StatsValue;
  nb::class_<StatsValue>(module, "StatsValue", "Number, sum, mean, spread and range of values.")
      .def_ro("count", &StatsValue::count)
      .def_ro("sum", &StatsValue::sum)
      .def_ro("mean", &StatsValue::mean)
      .def_ro("stddev", &StatsValue::stddev)
      .def_ro("min", &StatsValue::min)
      .def_ro("max", &StatsValue::max)
      .def_ro("sum_of_weights", &StatsValue::sum_of_weights)
      .def_ro("sum_of_squared_weights", &StatsValue::sum_of_squared_weights);
  register_histograms(module);
  nb::class_<GraphValue> graph(module, "GraphValue", "Points.");
  text_property<&GraphValue::name>(graph, "name");
  text_property<&GraphValue::title>(graph, "title");
  array_property<&GraphValue::x>(graph, "x");
  array_property<&GraphValue::y>(graph, "y");
  graph.def_prop_ro(
      "errors",
      [](const GraphValue& self) {
        nb::list errors;
        for (const auto& error : self.errors) errors.append(to_numpy(error));
        return errors;
      },
      nb::sig("def errors(self) -> list[numpy.typing.NDArray[numpy.float64]]"));
  nb::class_<frame::ArraysValue>(module, "ArraysValue", "Columns.")
      .def_prop_ro("columns", [](const frame::ArraysValue& self) {
        std::vector<std::pair<std::string, PyValues>> columns;
        for (const auto& column : self.columns) columns.emplace_back(column.name, PyValues{column.values});
        return columns;
      });
  nb::class_<frame::SnapshotValue> snapshot(module, "SnapshotValue", "A data set that was written.");
  text_property<&frame::SnapshotValue::uri>(snapshot, "uri");
  text_property<&frame::SnapshotValue::name>(snapshot, "name");
  snapshot.def_ro("entries", &frame::SnapshotValue::entries);
  snapshot.def_prop_ro(
      "writer", [](const frame::SnapshotValue& self) { return to_python(self.writer); },
      nb::sig("def writer(self) -> Writer | None"));
}

}  // namespace colonnade::python
