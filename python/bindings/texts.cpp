// The different texts of an array.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "colonnade/error.h"
#include "register.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

using Offsets = nb::ndarray<const std::int64_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Characters = nb::ndarray<const std::uint8_t, nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu>;
using Numbers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

// Numbers texts in the order in which they first occur.
class TextTable {
 public:
  // `place` is that of the text in the array.
  std::int64_t number_of(std::string_view text, std::int64_t place) {
    const std::size_t hash = std::hash<std::string_view>()(text);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash && slots_[at].text == text) return slots_[at].number;
    const auto number = static_cast<std::int64_t>(places_.size());
    slots_[at] = {text, hash, number};
    places_.push_back(place);
    if (2 * places_.size() > slots_.size()) grow();
    return number;
  }
  // Where each text is first.
  std::vector<std::int64_t> places() && { return std::move(places_); }

 private:
  struct Slot {
    std::string_view text;
    std::size_t hash = 0;
    std::int64_t number = -1;
  };
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.number < 0) continue;
      std::size_t at = slot.hash & (larger.size() - 1);
      while (larger[at].number >= 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most half full
  std::vector<std::int64_t> places_;
};

Numbers array_of(std::vector<std::int64_t> numbers) {
  auto kept = std::make_unique<std::vector<std::int64_t>>(std::move(numbers));
  std::int64_t* const data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return Numbers(data, {size}, owner);
}

std::pair<Numbers, Numbers> different_texts(const Offsets& offsets, const Characters& characters) {
  std::vector<std::int64_t> numbers(offsets.size() == 0 ? 0 : offsets.size() - 1);
  TextTable table;
  {
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t begin = offsets.data()[i], end = offsets.data()[i + 1];
      if (begin < 0 || end < begin || static_cast<std::size_t>(end) > characters.size())
        throw Error(ErrorKind::usage, "the offsets of texts do not fit their characters");
      const char* text = std::bit_cast<const char*>(characters.data() + begin);
      numbers[i] =
          table.number_of({text, static_cast<std::size_t>(end - begin)}, static_cast<std::int64_t>(i));
    }
  }
  return {array_of(std::move(table).places()), array_of(std::move(numbers))};
}

}  // namespace

void register_texts(nb::module_& module) {
  module.def(
      "different_texts", &different_texts, nb::arg("offsets"), nb::arg("characters"),
      nb::sig("def different_texts(offsets: numpy.typing.NDArray[numpy.int64], characters: "
              "numpy.typing.NDArray[numpy.uint8]) -> tuple[numpy.typing.NDArray[numpy.int64], "
              "numpy.typing.NDArray[numpy.int64]]"),
      "Where each different text is first, and for each text the number of the one that it is equal to.");
}

}  // namespace colonnade::python
