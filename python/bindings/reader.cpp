// Reading; see shared_reading.h.
#include "colonnade/reader.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "colonnade/attributes.h"
#include "dtypes.h"
#include "register.h"
#include "shared_reading.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<std::byte> span_of(const Bytes& bytes) {
  return {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()};
}

class PyReader : public SharedReading<Reader> {
 public:
  explicit PyReader(std::unique_ptr<Reader> reader) : SharedReading(std::move(reader)) {}
  explicit PyReader(const std::shared_ptr<AttributeSet>& set) : SharedReading({set, &set->reader()}) {}

  nb::typed<nb::list, nb::str> attribute_sets() const {
    nb::list names;
    for (const std::string& name : reader_->attribute_sets()) names.append(text(name));
    return names;
  }
  std::unique_ptr<PyReader> attribute_set(const std::string& name) {
    const Turns::Turn turn(turns_);
    return std::make_unique<PyReader>(std::shared_ptr<AttributeSet>(reader_->attribute_set(name)));
  }
  SealedColumn sealed_column(std::uint32_t field, std::size_t k, std::size_t cluster) {
    const Turns::Turn turn(turns_);
    return reader_->sealed_column(field, k, cluster);
  }
  void read_sealed(const std::vector<SealedColumn>& columns, const std::vector<Bytes>& buffers) {
    std::vector<std::span<std::byte>> spans;
    for (const Bytes& buffer : buffers) spans.push_back(span_of(buffer));
    const Interruptible released;
    const Turns::Turn turn(turns_);
    reader_->read_sealed(columns, spans);
  }
  void verify_sealed(const SealedColumn& column, const Bytes& buffer) {
    const Interruptible released;
    const Turns::Turn turn(turns_);
    reader_->verify_sealed(column, span_of(buffer));
  }
  void decompress_sealed(const SealedColumn& column, const Bytes& buffer, const Bytes& content) {
    const Interruptible released;
    const Turns::Turn turn(turns_);
    reader_->decompress_sealed(column, span_of(buffer), span_of(content));
  }
};

std::unique_ptr<PyReader> open_reader(const std::string& uri, const std::string& name,
                                      const ReadOptions& options) {
  return std::make_unique<PyReader>(Reader::open(name, uri, options));
}

// One thread at a time.
class PyDataSets {
 public:
  PyDataSets(const std::string& uri, const ReadOptions& options) : data_sets_(uri, options) {}
  nb::typed<nb::list, nb::str> names() const {
    nb::list names;
    for (const std::string& name : data_sets_.names()) names.append(text(name));
    return names;
  }
  std::unique_ptr<PyReader> open(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return std::make_unique<PyReader>(data_sets_.open(name));
  }

 private:
  DataSets data_sets_;
  std::mutex mutex_;
};

void register_options(nb::module_& module) {
  nb::enum_<LocalIo>(module, "LocalIo", "How local files are read.")
      .value("automatic", LocalIo::automatic)
      .value("pread", LocalIo::pread)
      .value("threads", LocalIo::threads)
      .value("io_uring", LocalIo::io_uring)
      .value("mmap", LocalIo::mmap);
  nb::class_<ReadOptions>(module, "ReadOptions", "Options of a reader.")
      .def(nb::init<>())
      .def_prop_rw(
          "page_checksums", [](const ReadOptions& self) { return self.page_checksums == Checksums::on; },
          [](ReadOptions& self, bool on) { self.page_checksums = on ? Checksums::on : Checksums::off; })
      .def_rw("read_ahead", &ReadOptions::read_ahead)
      .def_rw("memory_budget", &ReadOptions::memory_budget)
      .def_rw("parallel_decompression", &ReadOptions::parallel_decompression)
      .def_rw("local_io", &ReadOptions::local_io)
      .def_rw("direct_io", &ReadOptions::direct_io)
      .def_rw("cache", &ReadOptions::cache);
}

void register_metrics(nb::module_& module) {
  nb::class_<ReadMetrics>(module, "ReadMetrics", "What a reader has asked of its storage so far.")
      .def_ro("requests", &ReadMetrics::requests)
      .def_ro("bytes", &ReadMetrics::bytes)
      .def_ro("read_over_bytes", &ReadMetrics::read_over_bytes)
      .def_ro("pages", &ReadMetrics::pages)
      .def_ro("metadata_bytes", &ReadMetrics::metadata_bytes)
      .def_ro("prefetched_used", &ReadMetrics::prefetched_used)
      .def_ro("prefetched_unused", &ReadMetrics::prefetched_unused)
      .def_ro("peak_ahead_bytes", &ReadMetrics::peak_ahead_bytes)
      .def_ro("seconds_waiting", &ReadMetrics::seconds_waiting)
      .def_ro("seconds_decoding", &ReadMetrics::seconds_decoding)
      .def_ro("cache_pages", &ReadMetrics::cache_pages)
      .def_ro("cache_bytes", &ReadMetrics::cache_bytes)
      .def_ro("cache_added", &ReadMetrics::cache_added)
      .def_ro("cache_dropped", &ReadMetrics::cache_dropped)
      .def_prop_ro("cache", [](const ReadMetrics& self) { return text(self.cache); });
}

// The places as bytes: Python code views them as NumPy structures.
nb::ndarray<nb::numpy, std::uint8_t> places_of(const SealedColumn& column) {
  using Places = std::vector<SealedPlace>;
  auto places = std::make_unique<Places>(column.pages);
  void* data = places->data();
  const std::size_t size = places->size() * sizeof(SealedPlace);
  nb::capsule owner(places.release(), [](void* p) noexcept { delete static_cast<Places*>(p); });
  static std::uint8_t nothing;
  return {size > 0 ? data : &nothing, {size}, owner};
}

void register_sealed_columns(nb::module_& module) {
  nb::class_<SealedColumn>(module, "SealedColumn", "The pages of a column in a cluster as they are stored.")
      .def_ro("column", &SealedColumn::column)
      .def_ro("cluster", &SealedColumn::cluster)
      .def_ro("encoding", &SealedColumn::encoding)
      .def_ro("element", &SealedColumn::element)
      .def_ro("compression", &SealedColumn::compression)
      .def_ro("elements", &SealedColumn::elements)
      .def_ro("leading_zeros", &SealedColumn::leading_zeros)
      .def_ro("size", &SealedColumn::size)
      .def_ro("content_size", &SealedColumn::content_size)
      .def_prop_ro("places", &places_of, nb::rv_policy::automatic,
                   nb::sig("def places(self, /) -> numpy.typing.NDArray[numpy.uint8]"),
                   "The pages as bytes, 48 each; see colonnade/sealed_columns.h.");
}

}  // namespace

void register_reader(nb::module_& module) {
  register_options(module);
  register_metrics(module);
  register_sealed_columns(module);
  nb::class_<PyReader>(module, "Reader", "A data set opened for reading.")
      .def_prop_ro(
          "descriptor", [](const PyReader& self) -> const Descriptor& { return self.reader().descriptor(); },
          nb::rv_policy::reference_internal)
      .def_prop_ro("name", [](const PyReader& self) { return text(self.reader().name()); })
      .def_prop_ro("uri", [](const PyReader& self) { return text(self.reader().uri()); })
      .def_prop_ro("num_entries", [](const PyReader& self) { return self.reader().num_entries(); })
      .def("metrics", &PyReader::metrics, nb::call_guard<nb::gil_scoped_release>())
      .def("arrays", &PyReader::arrays, nb::arg("paths"), nb::arg("first"), nb::arg("last"),
           nb::arg("ahead") = 0,
           nb::sig("def arrays(self, paths: collections.abc.Sequence[str], first: int, last: int, ahead: int "
                   "= 0) -> "
                   "list[tuple[int, ArrayRole, numpy.typing.NDArray[typing.Any]]]"),
           "Arrays as (field id, role, NumPy array); see colonnade/columnar.h.")
      .def("entry_texts", &PyReader::entry_texts, nb::arg("first"), nb::arg("last"), nb::arg("fields"),
           "Entries in JSON's manner.")
      .def("sealed_column", &PyReader::sealed_column, nb::arg("field"), nb::arg("k"), nb::arg("cluster"),
           nb::call_guard<Interruptible>(), "Where the pages of a column in a cluster are.")
      .def("read_sealed", &PyReader::read_sealed, nb::arg("columns"), nb::arg("buffers"),
           nb::sig("def read_sealed(self, columns: collections.abc.Sequence[SealedColumn], buffers: "
                   "collections.abc.Sequence[numpy.typing.NDArray[numpy.uint8]]) -> None"),
           "Their pages, verified.")
      .def("verify_sealed", &PyReader::verify_sealed, nb::arg("column"), nb::arg("buffer"),
           nb::sig("def verify_sealed(self, column: SealedColumn, buffer: numpy.typing.NDArray[numpy.uint8]) "
                   "-> None"),
           "Compares pages that somebody else read with their checksums.")
      .def("decompress_sealed", &PyReader::decompress_sealed, nb::arg("column"), nb::arg("buffer"),
           nb::arg("content"),
           nb::sig("def decompress_sealed(self, column: SealedColumn, buffer: "
                   "numpy.typing.NDArray[numpy.uint8], content: numpy.typing.NDArray[numpy.uint8]) -> None"),
           "The pages' content end to end.")
      .def("attribute_sets", &PyReader::attribute_sets, "The names of the attribute sets.")
      .def("attribute_set", &PyReader::attribute_set, nb::arg("name"), nb::call_guard<Interruptible>(),
           "One of them, as the data set that it is.")
      .def("verify", &PyReader::verify, nb::arg("progress").none() = nb::none(),
           nb::sig("def verify(self, progress: collections.abc.Callable[[int, int], object] | None = None) "
                   "-> None"),
           "Decodes every page; progress(pages done, pages) is called now and then.");
  nb::class_<PyDataSets>(module, "DataSets",
                         "Opens many data sets of one file; what lists them is read once.")
      .def(nb::init<const std::string&, const ReadOptions&>(), nb::arg("uri"), nb::arg("options"),
           nb::call_guard<Interruptible>())
      .def_prop_ro("names", &PyDataSets::names)
      .def("open", &PyDataSets::open, nb::arg("name"), nb::call_guard<Interruptible>());
  module.def("open", &open_reader, nb::arg("uri"), nb::arg("name"), nb::arg("options"),
             nb::call_guard<Interruptible>());
}

}  // namespace colonnade::python
