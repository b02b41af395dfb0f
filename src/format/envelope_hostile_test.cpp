// Truncated, flipped and random bytes. For any input, reading gives an Error or a descriptor that can be
// walked, and takes memory in proportion to the bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <random>

#include "format/envelope.h"
#include "format/envelope_samples.h"
#include "format/frame.h"

namespace {

thread_local bool is_metering = false;
thread_local std::size_t held_bytes = 0;
thread_local std::size_t most_bytes = 0;

void count_new(void* block) {
  if (!is_metering || block == nullptr) return;
  held_bytes += malloc_usable_size(block);
  if (held_bytes > most_bytes) most_bytes = held_bytes;
}

void count_delete(void* block) {
  if (!is_metering || block == nullptr) return;
  const std::size_t bytes = malloc_usable_size(block);
  held_bytes = bytes < held_bytes ? held_bytes - bytes : 0;
}

}  // namespace

// Not inlined, otherwise the compiler warns that free() gets a pointer from operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  count_new(block);
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  count_delete(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}

namespace colonnade::format {

namespace {

// Measures the peak memory of this thread during its lifetime; one at a time.
class AllocationMeter {
 public:
  AllocationMeter() {
    held_bytes = most_bytes = 0;
    is_metering = true;
  }
  ~AllocationMeter() { is_metering = false; }
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;
  std::size_t peak_bytes() const { return most_bytes; }
};

using samples::Envelopes;
using samples::load;
using samples::store;

std::size_t bytes_of(const Envelopes& stored) {
  std::size_t bytes = stored.header.size() + stored.footer.size();
  for (const Bytes& list : stored.page_lists) bytes += list.size();
  return bytes;
}

// Everything that a reader may do with a descriptor.
void walk(const Descriptor& descriptor) {
  for (const FieldDescriptor& field : descriptor.fields) {
    const std::string path = descriptor.path_of(field.id);
    descriptor.find_field(path);
    for (const std::uint32_t child : field.children) ASSERT_EQ(descriptor.fields.at(child).parent, field.id);
    for (const auto& group : field.representations) {
      ASSERT_EQ(group.size(), field.representations.front().size());
      for (const std::uint32_t column : group) ASSERT_LT(column, descriptor.columns.size());
    }
    ASSERT_LT(field.source_field.value_or(0), descriptor.fields.size());
  }
  std::uint64_t entry = 0;
  for (const ClusterDescriptor& cluster : descriptor.clusters) {
    ASSERT_EQ(cluster.first_entry, entry);
    ASSERT_LE(cluster.columns.size(), descriptor.columns.size());
    if (cluster.entries > 0) {
      ASSERT_EQ(descriptor.cluster_of_entry(entry), cluster.id);
    }
    entry += cluster.entries;
  }
  ASSERT_EQ(descriptor.entries(), entry);
}

// Reads and walks; returns false after an Error. Any other exception fails the test.
bool is_readable(const Envelopes& stored) {
  try {
    walk(load(stored));
    return true;
  } catch (const Error& error) {
    EXPECT_FALSE(error.problem().empty());
    EXPECT_LT(error.problem().size(), 1000u);
    return false;
  }
}

void expect_bounded_memory(const Envelopes& stored) {
  const AllocationMeter meter;
  try {
    load(stored);
  } catch (const Error&) {
  }
  EXPECT_LE(meter.peak_bytes(), 64 * bytes_of(stored) + 65536);
}

// Calls `work` with each envelope of the sample, as a reference into the same Envelopes.
void for_each_envelope(Envelopes& stored, const std::function<void(Bytes&)>& work) {
  work(stored.header);
  work(stored.footer);
  for (Bytes& list : stored.page_lists) work(list);
}

Envelopes everything_stored() {
  Descriptor descriptor = samples::everything();
  return store(descriptor);
}

TEST(Hostile, EveryTruncationIsRefused) {
  Envelopes stored = everything_stored();
  for_each_envelope(stored, [&](Bytes& envelope) {
    const Bytes whole = envelope;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      envelope.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(is_readable(stored)) << "at " << size;
    }
    envelope = whole;
  });
}

// With length and checksum corrected, so that the parsers themselves reach the end. In the footer, format
// 1.0.0 ended before the list of attribute sets: a cut there gives another valid footer.
TEST(Hostile, EveryTruncationOfThePayloadIsRefused) {
  Envelopes stored = everything_stored();
  std::size_t readable = 0;
  for_each_envelope(stored, [&](Bytes& envelope) {
    const Bytes whole = envelope;
    for (std::size_t size = 16; size < whole.size(); ++size) {
      envelope.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      store_le(envelope.data() + 2, static_cast<std::uint32_t>(size));
      samples::reseal(stored);
      readable += is_readable(stored);
    }
    envelope = whole;
  });
  EXPECT_EQ(readable, 1u);
}

TEST(Hostile, EveryFlippedByteIsRefused) {
  Envelopes stored = everything_stored();
  for_each_envelope(stored, [&](Bytes& envelope) {
    for (std::byte& byte : envelope) {
      byte ^= std::byte{0x55};
      EXPECT_FALSE(is_readable(stored));
      byte ^= std::byte{0x55};
    }
  });
}

// With the checksums corrected: gives an Error, or a consistent descriptor.
TEST(Hostile, EveryFlippedBitWithACorrectedChecksum) {
  Envelopes stored = everything_stored();
  const Envelopes sound = stored;
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for_each_envelope(stored, [&](Bytes& envelope) {
    const Bytes whole = envelope;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
        envelope[at] ^= static_cast<std::byte>(mask);
        samples::reseal(stored);
        (is_readable(stored) ? accepted : refused) += 1;
        expect_bounded_memory(stored);
        envelope = whole;
      }
  });
  EXPECT_GT(refused, 10000u);
  EXPECT_GT(accepted, 1000u);  // names, versions, offsets: these cannot be checked
}

TEST(Hostile, ManyFlippedBytes) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Descriptor descriptor = samples::random_descriptor(seed % 50);
    Envelopes stored = store(descriptor);
    for_each_envelope(stored, [&](Bytes& envelope) {
      for (int i = 0; i < 3; ++i) {
        const std::size_t at = 8 + random() % (envelope.size() - 8);
        envelope[at] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
      }
    });
    samples::reseal(stored);
    is_readable(stored);
    expect_bounded_memory(stored);
  }
}

Bytes sealed(EnvelopeWriter& writer) {
  std::uint64_t checksum = 0;
  return writer.finish(checksum);
}

// Lists whose items are as small as the format allows cost the most memory per byte.
TEST(Hostile, SmallestRecordsStayWithinTheMemoryBound) {
  Descriptor descriptor;
  for (std::uint32_t i = 0; i < 5000; ++i)
    samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "", "");
  for (std::uint16_t i = 0; i < 5000; ++i) samples::add_column(descriptor, 0, ColumnType::bit, i);
  descriptor.header_fields = 5000;
  descriptor.header_columns = 5000;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ClusterDescriptor cluster;
    for (std::uint32_t column = 0; column < 5000; ++column)
      cluster.columns.push_back(samples::make_suppressed(column));
    descriptor.clusters.push_back(cluster);
  }
  ClusterGroup group;
  group.clusters = 3;
  descriptor.cluster_groups.push_back(group);
  const Envelopes stored = store(descriptor);
  EXPECT_TRUE(is_readable(stored));
  expect_bounded_memory(stored);
}

TEST(Hostile, PagesOfTheSmallestLocatorsStayWithinTheMemoryBound) {
  Descriptor descriptor = samples::small(1);
  PageDescriptor page;
  page.elements = 1;
  page.locator.kind = Locator::Kind::unknown;
  page.locator.raw_type = 0x7f;
  descriptor.clusters[0].columns[2].pages.assign(20000, page);
  const Envelopes stored = store(descriptor);
  EXPECT_TRUE(is_readable(stored));
  expect_bounded_memory(stored);
}

TEST(Hostile, ProjectionsStayWithinTheMemoryBound) {
  Descriptor descriptor;
  const auto source = samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "", "");
  for (std::uint16_t i = 0; i < 100; ++i) samples::add_column(descriptor, source, ColumnType::bit, i);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto field = samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "", "");
    descriptor.fields[field].source_field = source;
    descriptor.aliases.push_back({0, field});
  }
  expect_bounded_memory(store(descriptor));
}

TEST(Hostile, ReasonsOfUnreadableFieldsStayWithinTheMemoryBound) {
  Descriptor descriptor;
  const auto root =
      samples::add_field(descriptor, samples::top_level, FieldRole::record, std::string(100000, 'r'), "");
  descriptor.fields[root].raw_role = 99;
  for (std::uint32_t i = 0; i < 5000; ++i) samples::add_field(descriptor, root, FieldRole::record, "", "");
  const Envelopes stored = store(descriptor);
  EXPECT_TRUE(is_readable(stored));
  expect_bounded_memory(stored);
}

// Counts that the bytes cannot hold must be refused before any allocation.
TEST(Hostile, CountsAreNotBelieved) {
  for (const std::uint32_t count : {1000u, 0x7fffffffu, 0xffffffffu}) {
    EnvelopeWriter writer(EnvelopeType::header);
    writer.out().le(std::uint64_t{0});
    for (int i = 0; i < 3; ++i) writer.string("", "");
    writer.out().le(std::int64_t{-12});
    writer.out().le(count);
    const Bytes header = sealed(writer);
    const AllocationMeter meter;
    EXPECT_THROW(read_header(header), Error);
    EXPECT_LE(meter.peak_bytes(), 65536u);
  }
}

// Many clusters times many later columns: work and memory follow the bytes, not the product.
TEST(Hostile, ManyClustersWithoutColumnsAreCheap) {
  Descriptor descriptor;
  for (std::uint32_t i = 0; i < 20000; ++i)
    samples::add_column(descriptor,
                        samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "", ""),
                        ColumnType::bit);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    ClusterDescriptor cluster;
    cluster.id = i;
    descriptor.clusters.push_back(cluster);
  }
  ClusterGroup group;
  group.clusters = 20000;
  descriptor.cluster_groups.push_back(group);
  const Envelopes stored = store(descriptor);
  EXPECT_TRUE(load(stored).entries() == 0);
  expect_bounded_memory(stored);
}

}  // namespace
}  // namespace colonnade::format
