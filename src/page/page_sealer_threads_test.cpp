// Pages sealed in the pool come back in order, each as if it had been sealed alone. Run under
// ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codec/column_codec.h"
#include "colonnade/error.h"
#include "page/page_sealer.h"

namespace colonnade::page {
namespace {

const codec::CompressionSettings settings = codec::CompressionSettings::parse("zstd:1");

std::vector<std::uint32_t> values_of(std::size_t number) {
  std::vector<std::uint32_t> values(100 + number * 37 % 3000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint32_t>((i + number) * (i % 7));
  return values;
}

PageBeingSealed page_of(std::size_t number, const ColumnEncoding& encoding) {
  const auto values = values_of(number);
  PageBeingSealed page;
  page.column = static_cast<std::uint32_t>(number % 5);
  page.number = number;
  page.memory.resize(values.size() * sizeof values[0]);
  std::memcpy(page.memory.data(), values.data(), page.memory.size());
  page.values = page.memory.data();
  page.elements = values.size();
  page.element = ElementType::uint32;
  page.encoding = encoding;
  return page;
}

void expect_sealed(const PageBeingSealed& page, std::size_t number, const ColumnEncoding& encoding) {
  ASSERT_EQ(page.number, number);
  ASSERT_FALSE(page.failure);
  EXPECT_EQ(page.sum, codec::xxh3(page.block.span()));
  Bytes packed(codec::packed_size(encoding, page.elements));
  codec::decompress(page.block.span(), packed);
  std::vector<std::uint32_t> values(page.elements);
  codec::decode(encoding, packed, page.elements, ElementType::uint32, values.data());
  EXPECT_EQ(values, values_of(number));
}

TEST(PageSealer, PagesComeBackInOrder) {
  for (const ColumnType type : {ColumnType::split_uint32, ColumnType::uint32}) {
    for (const unsigned threads : {1u, 2u, 7u}) {
      ThreadPool pool(threads);
      const ColumnEncoding encoding = default_encoding(type);
      PageSealer sealer(settings, pool);
      std::size_t taken = 0, most = 0;
      for (std::size_t number = 0; number < 500; ++number) {
        sealer.submit(page_of(number, encoding));
        EXPECT_EQ(sealer.newest().number, number);
        most = std::max(most, number + 1 - taken);
        for (; sealer.full(); ++taken) expect_sealed(sealer.take(), taken, encoding);
      }
      for (; !sealer.empty(); ++taken) expect_sealed(sealer.take(), taken, encoding);
      EXPECT_EQ(taken, 500u);
      EXPECT_EQ(most, 4 * (threads + 1));
    }
  }
}

TEST(PageSealer, WhatFailsSaysSoInItsPlace) {
  ThreadPool pool(2);
  PageSealer sealer(settings, pool);
  const ColumnEncoding good = default_encoding(ColumnType::uint32);
  // No column of that type accepts these values.
  const ColumnEncoding bad = default_encoding(ColumnType::real32_quant);
  for (std::size_t number = 0; number < 5; ++number) sealer.submit(page_of(number, number == 3 ? bad : good));
  for (std::size_t number = 0; number < 5; ++number) {
    const PageBeingSealed page = sealer.take();
    if (number != 3) {
      expect_sealed(page, number, good);
      continue;
    }
    ASSERT_TRUE(page.failure);
    EXPECT_THROW(std::rethrow_exception(page.failure), Error);
  }
}

TEST(PageSealer, GivingItUpAtAnyTimeDoesNotCrash) {
  ThreadPool pool(3);
  for (std::size_t pages = 0; pages < 40; ++pages) {
    PageSealer sealer(settings, pool);
    for (std::size_t number = 0; number < pages; ++number)
      sealer.submit(page_of(number, default_encoding(ColumnType::split_uint32)));
  }
}

TEST(PageSealer, NeedsNoFreeThread) {
  std::atomic<bool> released = false;
  ThreadPool pool(1);
  pool.submit([&] { released.wait(false); });
  {
    PageSealer sealer(settings, pool);
    const ColumnEncoding encoding = default_encoding(ColumnType::split_uint32);
    for (std::size_t number = 0; number < 3; ++number) sealer.submit(page_of(number, encoding));
    for (std::size_t number = 0; number < 3; ++number) expect_sealed(sealer.take(), number, encoding);
  }
  released = true;
  released.notify_all();
}

}  // namespace
}  // namespace colonnade::page
