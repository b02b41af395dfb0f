// Explicit operations on a cache; see colonnade/cache.h.
#include "colonnade/cache.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cache/settings.h"
#include "interruptible.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {

void register_cache(nb::module_& module) {
  nb::class_<CachedColumn>(module, "CachedColumn", "What a cache has of a column.")
      .def_ro("field", &CachedColumn::field)
      .def_ro("column", &CachedColumn::column)
      .def_ro("clusters", &CachedColumn::clusters)
      .def_ro("pages", &CachedColumn::pages)
      .def_ro("bytes", &CachedColumn::bytes)
      .def_ro("pinned", &CachedColumn::pinned)
      .def_ro("last_use", &CachedColumn::last_use);
  nb::class_<CachedDataSet>(module, "CachedDataSet", "What a cache has of a data set.")
      .def_ro("number", &CachedDataSet::number)
      .def_ro("uri", &CachedDataSet::uri)
      .def_ro("name", &CachedDataSet::name)
      .def_ro("version", &CachedDataSet::version)
      .def_ro("bytes", &CachedDataSet::bytes)
      .def_ro("pinned", &CachedDataSet::pinned)
      .def_ro("users", &CachedDataSet::users)
      .def_ro("last_use", &CachedDataSet::last_use)
      .def_ro("columns", &CachedDataSet::columns);
  nb::class_<CacheCheck>(module, "CacheCheck", "What verify_cache found.")
      .def_ro("pages", &CacheCheck::pages)
      .def_ro("bytes", &CacheCheck::bytes)
      .def_ro("damaged", &CacheCheck::damaged)
      .def_ro("unknown", &CacheCheck::unknown);
  nb::class_<CacheGarbage>(module, "CacheGarbage", "What collect_cache_garbage removed.")
      .def_ro("leftovers", &CacheGarbage::leftovers)
      .def_ro("outdated", &CacheGarbage::outdated)
      .def_ro("evicted", &CacheGarbage::evicted)
      .def_ro("bytes", &CacheGarbage::bytes);
  const nb::call_guard<Interruptible> released;
  module.def(
      "cache_home",
      [](const std::string& home, bool is_remote) {
        const CacheHome found = cache_home(home, is_remote);
        return std::make_pair(found.uri, found.budget);
      },
      nb::arg("home"), nb::arg("is_remote"), released, "Where a cache is, and how many bytes it may have.");
  module.def("cached_data_sets", &cached_data_sets, nb::arg("home"), released, "What a cache has.");
  module.def(
      "warm_cache",
      [](const std::string& name, const std::string& uri, const std::vector<std::string>& fields,
         const std::string& home, const std::function<void(double)>& progress) {
        const auto report = [&](double done) {
          const nb::gil_scoped_acquire acquired;
          if (progress) progress(done);
        };
        const Interruptible free;
        return warm_cache(name, uri, fields, home, report);
      },
      nb::arg("name"), nb::arg("uri"), nb::arg("fields"), nb::arg("home"), nb::arg("progress").none(),
      "Read through a cache.");
  module.def("verify_cache", &verify_cache, nb::arg("home"), released, "Check every page of a cache.");
  module.def("pin_cached", &pin_cached, nb::arg("uri"), nb::arg("fields"), nb::arg("home"), released,
             "Keep when room is made.");
  module.def("unpin_cached", &unpin_cached, nb::arg("uri"), nb::arg("home"), released, "Keep no longer.");
  module.def("remove_cached", &remove_cached, nb::arg("uri"), nb::arg("fields"), nb::arg("home"), released,
             "Remove from a cache.");
  module.def("collect_cache_garbage", &collect_cache_garbage, nb::arg("home"), released,
             "Remove what a cache has for nothing.");
  module.def(
      "cache_with_absolute_path",
      [](const std::string& home) { return text(cache::with_absolute_path(home)); }, nb::arg("home"),
      "The same home in every working folder.");
  module.def(
      "cached_origin", [](const std::string& uri) { return text(cache::origin_name(uri)); }, nb::arg("uri"),
      "What a cache calls an origin.");
  module.def("flush_cache", &flush_cache, nb::arg("seconds"), released, "Wait for what is being added.");
}

}  // namespace colonnade::python
