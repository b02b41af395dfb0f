// Batches for training: columns side by side as rows of a matrix, and lists in another order. Numbers are
// moved as they are, whatever their type; Python has made the types equal before.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Given = nb::ndarray<nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Matrix = nb::ndarray<nb::c_contig, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::c_contig, nb::ndim<1>, nb::device::cpu>;

struct Column {
  Given values;
  std::optional<Indices> offsets;  // of lists
  std::int64_t width = 1;          // columns of the matrix
  const void* fill = nullptr;
};

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

template <class Array>
std::size_t item_size(const Array& array) {
  return static_cast<std::size_t>(array.dtype().bits) / 8;
}

struct List {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// `items`: those of all lists.
List list_at(const std::int64_t* offsets, std::int64_t row, std::int64_t items) {
  const std::int64_t begin = offsets[row], end = offsets[row + 1];
  require(begin >= 0 && begin <= end && end <= items, "a list is not within its items");
  return {begin, end - begin};
}

std::vector<Column> columns_of(const nb::list& given, const Given& fill, std::size_t rows, std::size_t size) {
  require(fill.size() == given.size() && item_size(fill) == size, "each column has an item that fills it");
  std::vector<Column> columns;
  for (const nb::handle each : given) {
    Column column{nb::cast<Given>(each[0]), nb::cast<std::optional<Indices>>(each[1]),
                  nb::cast<std::int64_t>(each[2])};
    require(item_size(column.values) == size,
            "the items of a column are not as large as those of the matrix");
    require(column.width > 0 && (column.offsets || column.width == 1), "a column has no such width");
    require(column.offsets ? column.offsets->size() == rows + 1 : column.values.size() == rows,
            "a column has other rows than the matrix");
    column.fill = static_cast<const std::byte*>(fill.data()) + columns.size() * size;
    columns.push_back(std::move(column));
  }
  return columns;
}

// Short lists are copied without a branch on their length, which no processor predicts: what lies behind them
// is read, too, and not taken.
template <class T>
void pad(T* __restrict to, std::int64_t width, const T* __restrict items, std::int64_t count,
         std::int64_t readable, T fill) {
  constexpr std::int64_t short_width = 16;
  if (width <= short_width && width <= readable) {
    for (std::int64_t k = 0; k < width; ++k) {
      const T item = items[k];
      to[k] = k < count ? item : fill;
    }
    return;
  }
  const std::int64_t copied = std::min(count, width);
  std::copy_n(items, copied, to);
  std::fill(to + copied, to + width, fill);
}

template <class T>
void fill_column(T* to, std::int64_t stride, const Column& column, std::int64_t first, std::int64_t last) {
  const T* values = static_cast<const T*>(column.values.data());
  if (!column.offsets) {
    for (std::int64_t row = first; row < last; ++row, to += stride) *to = values[row];
    return;
  }
  const std::int64_t* offsets = column.offsets->data();
  const auto items = static_cast<std::int64_t>(column.values.size());
  T fill;
  std::memcpy(&fill, column.fill, sizeof(T));
  for (std::int64_t row = first; row < last; ++row, to += stride) {
    const List list = list_at(offsets, row, items);
    pad(to, column.width, values + list.begin, list.count, items - list.begin, fill);
  }
}

// Block by block, so that the rows of one stay in the innermost cache until all columns have come.
template <class T>
void fill_matrix(T* matrix, std::int64_t rows, std::int64_t width, const std::vector<Column>& columns) {
  constexpr std::int64_t block = 64;
  for (std::int64_t first = 0; first < rows; first += block) {
    T* to = matrix + first * width;
    for (const Column& column : columns) {
      fill_column(to, width, column, first, std::min(first + block, rows));
      to += column.width;
    }
  }
}

// Calls work<T>() with a type of so many bytes.
template <class Work>
void with_size(std::size_t size, Work&& work) {
  switch (size) {
    case 1:
      return work(std::uint8_t{});
    case 2:
      return work(std::uint16_t{});
    case 4:
      return work(std::uint32_t{});
    case 8:
      return work(std::uint64_t{});
    case 16:
      return work(std::array<std::uint64_t, 2>{});
    default:
      throw std::invalid_argument("items have 1, 2, 4, 8 or 16 bytes");
  }
}

void fill_rows(const Matrix& matrix, const nb::list& given, const Given& fill) {
  const std::vector<Column> columns = columns_of(given, fill, matrix.shape(0), item_size(matrix));
  std::int64_t width = 0;
  for (const Column& column : columns) width += column.width;
  require(width == static_cast<std::int64_t>(matrix.shape(1)), "the matrix has another width");
  const nb::gil_scoped_release released;
  with_size(item_size(matrix), [&]<class T>(T) {
    fill_matrix(static_cast<T*>(matrix.data()), static_cast<std::int64_t>(matrix.shape(0)), width, columns);
  });
}

void copy_lists(const Vector& to, const Given& values, const Indices& offsets, const Indices& rows) {
  const std::size_t size = item_size(values);
  require(item_size(to) == size, "the items are not equally large");
  const nb::gil_scoped_release released;
  const auto* from = static_cast<const std::byte*>(values.data());
  auto* out = static_cast<std::byte*>(to.data());
  std::size_t left = to.size();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::int64_t row = rows.data()[at];
    require(row >= 0 && row + 1 < static_cast<std::int64_t>(offsets.size()), "there is no such list");
    const List list = list_at(offsets.data(), row, static_cast<std::int64_t>(values.size()));
    const auto count = static_cast<std::size_t>(list.count);
    require(count <= left, "the lists have more items than there is room for");
    std::memcpy(out, from + static_cast<std::size_t>(list.begin) * size, count * size);
    out += count * size;
    left -= count;
  }
}

}  // namespace

void register_batches(nb::module_& module) {
  module.def(
      "fill_rows", &fill_rows, nb::arg("matrix").noconvert(), nb::arg("columns"), nb::arg("fill"),
      nb::sig("def fill_rows(matrix: numpy.typing.NDArray[typing.Any], columns: "
              "list[tuple[numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[numpy.int64] | None, "
              "int]], fill: numpy.typing.NDArray[typing.Any]) -> None"),
      "Fill a matrix with columns side by side: (values, offsets or None, width) each; lists are cut, or "
      "filled with the item of the column in `fill`.");
  module.def("copy_lists", &copy_lists, nb::arg("to").noconvert(), nb::arg("values"), nb::arg("offsets"),
             nb::arg("rows"),
             nb::sig("def copy_lists(to: numpy.typing.NDArray[typing.Any], values: "
                     "numpy.typing.NDArray[typing.Any], offsets: numpy.typing.NDArray[numpy.int64], "
                     "rows: numpy.typing.NDArray[numpy.int64]) -> None"),
             "Copy the items of these lists, one behind the other.");
}

}  // namespace colonnade::python
