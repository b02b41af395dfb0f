// The speed of the column encodings, compared with memcpy over the same bytes: the fast kernels, the plain
// ones, and the whole codec with conversion. Bytes per second count the elements in memory, once.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "codec/column_codec.h"
#include "codec/compression.h"
#include "codec/kernels/kernels.h"

namespace colonnade::codec {
namespace {

// Sizes that fit the first-level cache, a typical page, and more than the inner caches hold.
constexpr std::int64_t sizes[] = {16 << 10, 256 << 10, 64 << 20};

void with_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t size : sizes) benchmark->Arg(size);
}

Bytes random_bytes(std::size_t size) {
  std::mt19937_64 random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void finish(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void copy(benchmark::State& state) {
  const Bytes in = random_bytes(static_cast<std::size_t>(state.range(0)));
  Bytes out(in.size());
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), in.size());
    benchmark::ClobberMemory();
  }
  finish(state);
}
BENCHMARK(copy)->Apply(with_sizes);

void unsplit(benchmark::State& state, std::size_t width, const Kernels& table,
             Kernels::Unsplit* Kernels::* kernel) {
  const Bytes in = random_bytes(static_cast<std::size_t>(state.range(0)));
  Bytes out(in.size());
  const std::size_t count = in.size() / width;
  for (auto _ : state) {
    (table.*kernel)(in.data(), count, count, out.data());
    benchmark::ClobberMemory();
  }
  finish(state);
}

void split(benchmark::State& state, std::size_t width, const Kernels& table,
           Kernels::Split* Kernels::* kernel) {
  const Bytes in = random_bytes(static_cast<std::size_t>(state.range(0)));
  Bytes out(in.size());
  const std::size_t count = in.size() / width;
  for (auto _ : state) {
    (table.*kernel)(in.data(), count, out.data(), count);
    benchmark::ClobberMemory();
  }
  finish(state);
}

#define COLONNADE_PLANES(name, width)                                                            \
  BENCHMARK_CAPTURE(unsplit, un##name, width, kernels(), &Kernels::un##name)->Apply(with_sizes); \
  BENCHMARK_CAPTURE(split, name, width, kernels(), &Kernels::name)->Apply(with_sizes);           \
  BENCHMARK_CAPTURE(unsplit, un##name##_plain, width, reference_kernels(), &Kernels::un##name)   \
      ->Arg(sizes[1]);                                                                           \
  BENCHMARK_CAPTURE(split, name##_plain, width, reference_kernels(), &Kernels::name)->Arg(sizes[1])

COLONNADE_PLANES(split16, 2);
COLONNADE_PLANES(split32, 4);
COLONNADE_PLANES(split64, 8);
COLONNADE_PLANES(split_zigzag16, 2);
COLONNADE_PLANES(split_zigzag32, 4);
COLONNADE_PLANES(split_zigzag64, 8);

// A whole page through the codec; the size is that of the elements in memory.
void decode_page(benchmark::State& state, const ColumnEncoding& encoding, ElementType to) {
  const std::size_t count = static_cast<std::size_t>(state.range(0)) / size_of(to);
  // Small values, so that every conversion succeeds: bytes of 0 or 1 in the first plane, zeros elsewhere.
  Bytes packed(packed_size(encoding, count));
  for (std::size_t i = 0; i < packed.size() && i < count; i += 7) packed[i] = std::byte{1};
  Bytes out(count * size_of(to));
  for (auto _ : state) {
    decode(encoding, packed, count, to, out.data());
    benchmark::ClobberMemory();
  }
  finish(state);
}

void encode_page(benchmark::State& state, const ColumnEncoding& encoding, ElementType from) {
  const std::size_t count = static_cast<std::size_t>(state.range(0)) / size_of(from);
  const Bytes in(count * size_of(from));
  Bytes packed(packed_size(encoding, count));
  for (auto _ : state) {
    encode(encoding, from, in.data(), count, packed);
    benchmark::ClobberMemory();
  }
  finish(state);
}

ColumnEncoding quantised(std::uint16_t bits) {
  return {.type = ColumnType::real32_quant, .bits = bits, .min = -1, .max = 1};
}
ColumnEncoding truncated(std::uint16_t bits) {
  return {.type = ColumnType::real32_trunc, .bits = bits};
}

#define COLONNADE_PAGES(name, encoding, element)                              \
  BENCHMARK_CAPTURE(decode_page, name, encoding, element)->Apply(with_sizes); \
  BENCHMARK_CAPTURE(encode_page, name, encoding, element)->Apply(with_sizes)

COLONNADE_PAGES(split_index32, default_encoding(ColumnType::split_index32), ElementType::index);
COLONNADE_PAGES(split_index64, default_encoding(ColumnType::split_index64), ElementType::index);
COLONNADE_PAGES(split_real32_as_double, default_encoding(ColumnType::split_real32), ElementType::float64);
COLONNADE_PAGES(bit, default_encoding(ColumnType::bit), ElementType::boolean);
COLONNADE_PAGES(real16, default_encoding(ColumnType::real16), ElementType::float32);
COLONNADE_PAGES(truncated_20, truncated(20), ElementType::float32);
COLONNADE_PAGES(quantised_12, quantised(12), ElementType::float32);
COLONNADE_PAGES(quantised_12_as_double, quantised(12), ElementType::float64);
BENCHMARK_CAPTURE(decode_page, split_int32_as_int64, default_encoding(ColumnType::split_int32),
                  ElementType::int64)
    ->Apply(with_sizes);
BENCHMARK_CAPTURE(decode_page, split_int64_as_int16, default_encoding(ColumnType::split_int64),
                  ElementType::int16)
    ->Apply(with_sizes);

void checksum(benchmark::State& state) {
  const Bytes in = random_bytes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(xxh3(in));
  finish(state);
}
BENCHMARK(checksum)->Apply(with_sizes);

}  // namespace
}  // namespace colonnade::codec

BENCHMARK_MAIN();
