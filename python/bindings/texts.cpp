// The different texts of an array.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Offsets = nb::ndarray<const std::int64_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Characters = nb::ndarray<const std::uint8_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Views = nb::ndarray<std::uint64_t, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Numbers = Output<std::int64_t>;
using Bytes = Output<std::uint8_t>;

// Numbers texts in the order in which they first occur.
class TextTable {
 public:
  explicit TextTable(std::string_view characters) : end_(characters.data() + characters.size()) {}
  // The text must be part of the characters. `place` is that of the text in the array.
  std::int64_t number_of(std::string_view text, std::int64_t place) {
    const Key key = key_of(text);
    std::size_t at = key.hash() & (slots_.size() - 1);
    for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      const bool is_short = text.size() <= longest_in_key;
      if (slot.key == key && (is_short || texts_[static_cast<std::size_t>(slot.number)] == text))
        return slot.number;
    }
    const auto number = static_cast<std::int64_t>(places_.size());
    slots_[at] = {key, number};
    texts_.push_back(text);
    places_.push_back(place);
    if (2 * places_.size() > slots_.size()) grow();
    return number;
  }
  // Where each text is first.
  std::vector<std::int64_t> places() && { return std::move(places_); }

 private:
  static std::uint64_t mix(std::uint64_t bits) {
    bits *= 0x9e3779b97f4a7c15;
    return bits ^ (bits >> 32U);
  }
  // A short text as a whole, with its size behind it: two words are hashed and compared without a branch that
  // depends on the size. Of longer texts the hash.
  static constexpr std::size_t longest_in_key = 15;
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Key&) const = default;
    // Mixed twice behind the last word: its first bits then count in the last ones of the hash.
    std::size_t hash() const { return mix(mix(mix(low) ^ high)); }
  };
  struct Slot {
    Key key;
    std::int64_t number = -1;
  };

  Key key_of(std::string_view text) const {
    if (text.size() > longest_in_key) return {std::hash<std::string_view>()(text), ~std::uint64_t{0}};
    Key key;
    if (static_cast<std::size_t>(end_ - text.data()) >= sizeof(Key)) {
      static constexpr std::array<std::uint64_t, 4> bytes_to_keep{~std::uint64_t{0}, ~std::uint64_t{0}};
      Key mask;
      std::memcpy(&key, text.data(), sizeof(Key));
      std::memcpy(&mask, std::bit_cast<const char*>(&bytes_to_keep) + sizeof(Key) - text.size(), sizeof(Key));
      key = {key.low & mask.low, key.high & mask.high};
    } else {
      text.copy(std::bit_cast<char*>(&key), text.size());
    }
    key.high |= std::uint64_t{text.size()} << 56U;
    return key;
  }
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.number < 0) continue;
      std::size_t at = slot.key.hash() & (larger.size() - 1);
      while (larger[at].number >= 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_ = std::move(larger);
  }

  const char* end_;                                  // of all characters
  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most half full
  std::vector<std::string_view> texts_;
  std::vector<std::int64_t> places_;
};

template <class T>
Output<T> array_of(std::vector<T> values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Output<T>(data, {size}, owner);
}

std::string_view text_at(std::string_view all, std::int64_t begin, std::int64_t end) {
  if (begin < 0 || end < begin || static_cast<std::size_t>(end) > all.size())
    throw Error(ErrorKind::usage, "the offsets of texts do not fit their characters");
  return {all.data() + begin, static_cast<std::size_t>(end - begin)};
}

std::string_view text_at(const Characters& characters, std::int64_t begin, std::int64_t end) {
  return text_at({std::bit_cast<const char*>(characters.data()), characters.size()}, begin, end);
}

std::pair<Numbers, Numbers> different_texts(const Offsets& offsets, const Characters& characters) {
  std::vector<std::int64_t> numbers(offsets.size() == 0 ? 0 : offsets.size() - 1);
  const std::string_view all(std::bit_cast<const char*>(characters.data()), characters.size());
  TextTable table(all);
  {
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = table.number_of(text_at(characters, offsets.data()[i], offsets.data()[i + 1]),
                                   static_cast<std::int64_t>(i));
  }
  return {array_of(std::move(table).places()), array_of(std::move(numbers))};
}

// The different texts with their counts.
std::tuple<Numbers, Bytes, Numbers> count_texts(const Offsets& offsets, const Characters& characters,
                                                const Offsets& counts) {
  const std::size_t size = offsets.size() == 0 ? 0 : offsets.size() - 1;
  const bool is_counted = counts.size() > 0;
  if (is_counted && counts.size() != size) throw Error(ErrorKind::usage, "each text needs one count");
  TextTable table(std::string_view(std::bit_cast<const char*>(characters.data()), characters.size()));
  std::vector<std::int64_t> totals, ends{0};
  std::vector<std::uint8_t> kept;
  {
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string_view text = text_at(characters, offsets.data()[i], offsets.data()[i + 1]);
      const auto number = static_cast<std::size_t>(table.number_of(text, static_cast<std::int64_t>(i)));
      if (number == totals.size()) {
        totals.push_back(0);
        kept.insert(kept.end(), text.begin(), text.end());
        ends.push_back(static_cast<std::int64_t>(kept.size()));
      }
      // Counts of a state from elsewhere may be anything: they wrap around.
      const auto count = static_cast<std::uint64_t>(is_counted ? counts.data()[i] : 1);
      totals[number] = static_cast<std::int64_t>(static_cast<std::uint64_t>(totals[number]) + count);
    }
  }
  return {array_of(std::move(ends)), array_of(std::move(kept)), array_of(std::move(totals))};
}

// A text of Arrow's type utf8_view: size and characters of a short one, or size, prefix, buffer and offset.
// Without a branch that depends on the size: which texts are short, no processor predicts.
std::array<std::uint64_t, 2> view_of(std::string_view text, std::string_view all) {
  struct Head {
    std::uint64_t low = 0;
    std::uint32_t high = 0;
  };
  static constexpr std::size_t longest = sizeof(Head::low) + sizeof(Head::high);
  static constexpr std::array<std::uint64_t, 3> bytes_to_keep{~std::uint64_t{0}, 0xffffffff};
  const auto load = [](const char* from, Head& to) {
    std::memcpy(&to.low, from, sizeof(to.low));
    std::memcpy(&to.high, from + sizeof(to.low), sizeof(to.high));
  };
  const auto offset = static_cast<std::size_t>(text.data() - all.data());
  Head head, mask;
  if (all.size() - offset >= longest) {
    load(text.data(), head);
  } else {
    std::array<char, longest> end{};
    text.copy(end.data(), longest);
    load(end.data(), head);
  }
  load(std::bit_cast<const char*>(&bytes_to_keep) + longest - std::min(text.size(), longest), mask);
  const std::uint64_t low = head.low & mask.low, high = head.high & mask.high;
  const std::uint64_t is_long = text.size() > longest ? ~std::uint64_t{0} : 0;
  return {low << 32U | text.size(),
          (((low >> 32U) | (high << 32U)) & ~is_long) | (std::uint64_t{offset} << 32U & is_long)};
}

void fill_text_views(const Views& views, const Offsets& offsets, const Characters& characters) {
  if (2 * (offsets.size() - 1) != views.size()) throw Error(ErrorKind::usage, "each text needs one view");
  if (characters.size() > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, "views reach 2 GiB of characters");
  const std::string_view all(std::bit_cast<const char*>(characters.data()), characters.size());
  const nb::gil_scoped_release released;
  std::uint64_t* to = views.data();
  const std::int64_t* at = offsets.data();
  for (const std::int64_t* const last = at + offsets.size() - 1; at != last; ++at, to += 2) {
    const auto view = view_of(text_at(all, at[0], at[1]), all);
    std::copy(view.begin(), view.end(), to);
  }
}

nb::list texts(const Offsets& begins, const Offsets& ends, const Characters& characters) {
  if (begins.size() != ends.size()) throw Error(ErrorKind::usage, "texts have as many ends as begins");
  auto all = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(begins.size())));
  if (!all.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::string_view text = text_at(characters, begins.data()[i], ends.data()[i]);
    PyObject* const decoded =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (decoded == nullptr) throw nb::python_error();
    if (PyList_SetItem(all.ptr(), static_cast<Py_ssize_t>(i), decoded) != 0) throw nb::python_error();
  }
  return all;
}

}  // namespace

void register_texts(nb::module_& module) {
  module.def(
      "different_texts", &different_texts, nb::arg("offsets"), nb::arg("characters"),
      nb::sig("def different_texts(offsets: numpy.typing.NDArray[numpy.int64], characters: "
              "numpy.typing.NDArray[numpy.uint8]) -> tuple[numpy.typing.NDArray[numpy.int64], "
              "numpy.typing.NDArray[numpy.int64]]"),
      "Where each different text is first, and for each text the number of the one that it is equal to.");
  module.def("count_texts", &count_texts, nb::arg("offsets"), nb::arg("characters"), nb::arg("counts"),
             nb::sig("def count_texts(offsets: numpy.typing.NDArray[numpy.int64], characters: "
                     "numpy.typing.NDArray[numpy.uint8], counts: numpy.typing.NDArray[numpy.int64]) -> "
                     "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint8], "
                     "numpy.typing.NDArray[numpy.int64]]"),
             "The different texts, as offsets and characters, each with the sum of its counts; without "
             "`counts`, each "
             "text is there once.");
  module.def(
      "fill_text_views", &fill_text_views, nb::arg("views").noconvert(), nb::arg("offsets"),
      nb::arg("characters"),
      nb::sig("def fill_text_views(views: numpy.typing.NDArray[numpy.uint64], offsets: "
              "numpy.typing.NDArray[numpy.int64], characters: numpy.typing.NDArray[numpy.uint8]) -> None"),
      "Fill an array with the views of Arrow's texts of the type utf8_view, two words for each text.");
  module.def("texts", &texts, nb::arg("begins"), nb::arg("ends"), nb::arg("characters"),
             nb::sig("def texts(begins: numpy.typing.NDArray[numpy.int64], ends: "
                     "numpy.typing.NDArray[numpy.int64], characters: numpy.typing.NDArray[numpy.uint8]) -> "
                     "list[str]"),
             "Texts as Python's; bytes that are not UTF-8 become surrogates.");
}

}  // namespace colonnade::python
