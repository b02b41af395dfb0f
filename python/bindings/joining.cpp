// Tables of keys: which entry of a data set has the keys that an entry of another one has.
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataset/joins/integer_keys.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using dataset::KeyTable;
using KeyArray = nb::ndarray<const std::uint64_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
// Whether they are signed, and the values as 64 bits.
using Keys = std::vector<std::tuple<bool, KeyArray>>;

class PyKeyTable {
 public:
  PyKeyTable(std::vector<std::string> names, bool takes_first, std::string uri, std::string source,
             const std::function<Keys()>& read)
      : table_(dataset::table_of_keys(
            {.names = std::move(names),
             .duplicates = takes_first ? KeyTable::Duplicates::first : KeyTable::Duplicates::error,
             .uri = std::move(uri),
             .source = std::move(source)},
            [&] {
              std::vector<dataset::PackedKeys> keys;
              const nb::gil_scoped_acquire held;
              for (const auto& [is_signed, values] : read())
                keys.emplace_back(dataset::KeyColumn{is_signed, {values.data(), values.size()}}, memory_);
              return keys;
            },
            memory_)) {}

  nb::ndarray<nb::numpy, std::int64_t> find(const Keys& keys) const {
    std::vector<dataset::KeyColumn> columns;
    for (const auto& [is_signed, values] : keys)
      columns.push_back({is_signed, {values.data(), values.size()}});
    const std::size_t count = columns.empty() ? 0 : columns.front().values.size();
    auto found = std::make_unique<std::int64_t[]>(count);
    std::int64_t* const data = found.get();
    {
      const nb::gil_scoped_release released;
      table_.find(columns, count, data);
    }
    nb::capsule owner(found.release(), [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
    return nb::ndarray<nb::numpy, std::int64_t>(data, {count}, owner);
  }

 private:
  dataset::JoinMemory memory_;
  KeyTable table_;
};

}  // namespace

void register_joining(nb::module_& module) {
  const char* keys =
      "def find(self, keys: collections.abc.Sequence[tuple[bool, numpy.typing.NDArray[numpy.uint64]]]) -> "
      "numpy.typing.NDArray[numpy.int64]";
  nb::class_<PyKeyTable>(module, "KeyTable", "Which entry has a key.")
      .def(nb::init<std::vector<std::string>, bool, std::string, std::string, const std::function<Keys()>&>(),
           nb::arg("names"), nb::arg("takes_first"), nb::arg("uri"), nb::arg("source"), nb::arg("read"),
           nb::call_guard<nb::gil_scoped_release>(),
           nb::sig("def __init__(self, names: collections.abc.Sequence[str], takes_first: bool, uri: str, "
                   "source: str, read: collections.abc.Callable[[], "
                   "collections.abc.Sequence[tuple[bool, numpy.typing.NDArray[numpy.uint64]]]]) -> None"),
           "Found in the file `uri` if it is of `source`; else made of what `read` gives.")
      .def("find", &PyKeyTable::find, nb::arg("keys"), nb::sig(keys),
           "The entry for each key, -1 for none. Keys are whether they are signed, and 64 bits.");
}

}  // namespace colonnade::python
