// The bytes of a saved accumulator: a header that identifies it, then numbers. Readers trust nothing:
// everything invalid throws ErrorKind::format.
#ifndef COLONNADE_FRAME_RESULTS_SAVED_H
#define COLONNADE_FRAME_RESULTS_SAVED_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "frame/results/exact_sum.h"

namespace colonnade::frame {

// `what` identifies compatible accumulators: "histogram of 102 bins".
class SavedWriter {
 public:
  explicit SavedWriter(std::string_view what);
  template <Scalar T>
  void number(T value) {
    bytes_.le(value);
  }
  template <Scalar T>
  void array(std::span<const T> values) {
    number<std::uint64_t>(values.size());
    bytes_.append(std::as_bytes(values));
  }
  template <int factors>
  void sum(const ExactSum<factors>& sum) {
    const auto chunks = sum.settled();
    number(sum.special());
    chunks_of_sum(chunks);
  }
  std::vector<std::byte> take() { return bytes_.take(); }

 private:
  void chunks_of_sum(std::span<const std::int64_t> chunks);
  ByteWriter bytes_;
};

class SavedReader {
 public:
  SavedReader(std::span<const std::byte> bytes, std::string_view what);
  template <Scalar T>
  T number() {
    return bytes_.le<T>("a saved result");
  }
  bool flag();
  // At most `most` elements.
  template <Scalar T>
  std::vector<T> array(std::uint64_t most = ~std::uint64_t{0}) {
    const auto size = number<std::uint64_t>();
    if (size > most || size > bytes_.remaining() / sizeof(T)) fail("an array that is too long");
    std::vector<T> values(static_cast<std::size_t>(size));
    const ByteSpan from = bytes_.take(size * sizeof(T), "a saved result");
    if (size != 0) std::memcpy(values.data(), from.data(), from.size());
    return values;
  }
  template <int factors>
  ExactSum<factors> sum() {
    const auto special = number<std::uint8_t>();
    std::array<std::int64_t, ExactSum<factors>::chunks> chunks{};
    chunks_of_sum(chunks);
    if (special > 7) fail("a sum of a kind that does not exist");
    return ExactSum<factors>::from(chunks, special);
  }
  void done() const;
  [[noreturn]] static void fail(std::string_view why);

 private:
  void chunks_of_sum(std::span<std::int64_t> chunks);
  ByteReader bytes_;
};

}  // namespace colonnade::frame

#endif
