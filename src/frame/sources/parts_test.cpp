// Where data sets are cut into parts, and that a part reads only its own pages.
#include "frame/sources/parts.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "dataset/test_values.h"

namespace colonnade::frame {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MemoryFile;

std::shared_ptr<Source> open(const std::string& uri, const ReadOptions& options = {}) {
  return open_chain("Data", std::span(&uri, 1), options);
}

std::vector<std::uint64_t> borders_of(const std::vector<Part>& parts) {
  std::vector<std::uint64_t> borders;
  for (const Part& part : parts) borders.push_back(part.first);
  if (!parts.empty()) borders.push_back(parts.back().last);
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i].last, borders[i + 1]);
  return borders;
}

// `entries` of a double x, a float y and a list of floats v with two items each.
void write(const std::string& uri, std::span<const std::uint64_t> clusters, const WriteOptions& options) {
  auto model = Model::create();
  auto x = model->make_field<double>("x");
  auto y = model->make_field<float>("y");
  auto v = model->make_field<std::vector<float>>("v");
  auto writer = Writer::recreate(std::move(model), "Data", uri, options);
  std::uint64_t entry = 0;
  for (const std::uint64_t entries : clusters) {
    for (std::uint64_t i = 0; i < entries; ++i, ++entry) {
      *x = static_cast<double>(entry);
      *y = static_cast<float>(entry);
      v->assign(2, static_cast<float>(entry));
      writer->fill();
    }
    writer->commit_cluster();
  }
  writer->close();
}

WriteOptions pages_of(std::size_t bytes) {
  return {.compression = "none", .initial_page_size = bytes, .max_page_size = bytes};
}

std::vector<Part> parts_of(const Source& source, std::uint64_t first = 0,
                           std::uint64_t last = ~std::uint64_t{0}) {
  return source.parts(first, last);
}

TEST(Parts, OfALargeClusterEndWherePagesEnd) {
  const MemoryFile file;
  const std::uint64_t clusters[] = {700'000};
  write(file, clusters, pages_of(64 << 10));
  const auto source = open(file);
  const auto borders = borders_of(parts_of(*source));
  ASSERT_EQ(borders.size(), 5u);
  EXPECT_EQ(borders.front(), 0u);
  EXPECT_EQ(borders.back(), 700'000u);
  // Pages of y have twice as many entries as those of x; where they end, pages of x end as well.
  for (std::size_t i = 1; i + 1 < borders.size(); ++i) {
    EXPECT_EQ(borders[i] % 16384, 0u);
    EXPECT_NEAR(static_cast<double>(borders[i]), static_cast<double>(i) * 175'000, 8192 + 1);
  }
}

// Columns of elements without any value; `pages`: elements of each.
Descriptor descriptor_of(std::uint64_t entries, const std::vector<std::vector<std::uint32_t>>& pages) {
  Descriptor descriptor;
  ClusterDescriptor cluster;
  cluster.entries = entries;
  for (std::uint32_t i = 0; i < pages.size(); ++i) {
    FieldDescriptor field;
    field.id = field.parent = i;
    field.representations.push_back({i});
    descriptor.fields.push_back(field);
    ColumnDescriptor column;
    column.id = column.field = i;
    column.encoding.bits = 64;
    descriptor.columns.push_back(column);
    ColumnRange range;
    for (const std::uint32_t elements : pages[i]) range.pages.push_back({.elements = elements});
    cluster.columns.push_back(range);
  }
  descriptor.clusters.push_back(cluster);
  return descriptor;
}

TEST(Parts, LargePagesDecideOverSmallOnes) {
  const std::vector<std::uint32_t> small(400, 1000), large(5, 80'000);
  EXPECT_THAT(part_borders(descriptor_of(400'000, {small, large})),
              ElementsAre(0u, 80'000u, 160'000u, 320'000u, 400'000u));
  EXPECT_THAT(part_borders(descriptor_of(400'000, {small})),
              ElementsAre(0u, 100'000u, 200'000u, 300'000u, 400'000u));
}

// Entries of a record without members, or before a field that was added late, take no space in a file.
TEST(Parts, OfAsManyEntriesAsAFileMayClaimAreFew) {
  constexpr std::uint64_t many = std::uint64_t{1} << 62;
  EXPECT_THAT(part_borders(descriptor_of(many, {})), ElementsAre(0u, many));
  EXPECT_THAT(part_borders(descriptor_of(many, {{1000, 1'000'000}})),
              ElementsAre(0u, many - 1'000'000, many));
}

TEST(Parts, OfLongListsHaveFewerEntries) {
  // 5000 entries with 32 MiB in one column.
  std::vector<std::uint32_t> pages(5, 1000), items(64, 65'536);
  Descriptor descriptor = descriptor_of(5000, {pages, items});
  descriptor.fields[1].parent = 0;
  descriptor.fields[0].role = FieldRole::collection;
  EXPECT_THAT(part_borders(descriptor), ElementsAre(0u, 1000u, 2000u, 4000u, 5000u));
  EXPECT_THAT(part_borders(descriptor, {.most_bytes = 64 << 20, .least_bytes = 64 << 20}),
              ElementsAre(0u, 5000u));
}

TEST(Parts, HaveTheNumbersThatTheyHaveInTheWholeSource) {
  const MemoryFile a, b;
  const std::uint64_t clusters[] = {300'000, 50'000, 300'000};
  write(a, clusters, pages_of(64 << 10));
  write(b, clusters, pages_of(32 << 10));
  const std::vector<std::string> uris = {a, b, a};
  const auto source = open_chain("Data", uris);
  const auto whole = source->parts(0, source->entries());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i].number, i);
  testing::Random random(5);
  for (int turn = 0; turn < 50; ++turn) {
    const std::uint64_t first = random() % source->entries();
    const std::uint64_t last = first + 1 + random() % (source->entries() - first);
    for (const Part& part : source->parts(first, last)) {
      const Part& same = whole[part.number];
      EXPECT_EQ(part.first, std::max(first, same.first));
      EXPECT_EQ(part.last, std::min(last, same.last));
      EXPECT_EQ(part.sample, same.sample);
    }
  }
  for (const auto& [from, size] : {std::pair{empty_source(1'000'000), 65'536u}, {array_source({}), 1u}}) {
    const auto all = from->parts(0, from->entries());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].number, i);
    if (!all.empty()) {
      EXPECT_EQ(from->parts(70'000, 80'000).front().number, 70'000 / size);
    }
  }
}

TEST(Parts, AreAsSmallAsATestAsksFor) {
  ::setenv("COLONNADE_TEST_PART_ENTRIES", "70", 1);
  const MemoryFile file;
  const std::uint64_t clusters[] = {100, 20, 10, 300};
  write(file, clusters, {});
  const auto borders = borders_of(parts_of(*open(file)));
  const auto entries = empty_source(150)->parts(0, 150);
  ::unsetenv("COLONNADE_TEST_PART_ENTRIES");
  EXPECT_THAT(borders, ElementsAre(0u, 70u, 100u, 130u, 200u, 270u, 340u, 410u, 430u));
  EXPECT_THAT(borders_of(entries), ElementsAre(0u, 70u, 140u, 150u));
}

TEST(Parts, SmallClustersGoTogether) {
  const MemoryFile file;
  const std::vector<std::uint64_t> clusters(20, 1000);
  write(file, clusters, pages_of(64 << 10));
  const auto source = open(file);
  EXPECT_THAT(borders_of(parts_of(*source)), ElementsAre(0u, 20'000u));
  // Medium ones are not joined.
  const std::vector<std::uint64_t> medium(3, 50'000);
  write(file, medium, pages_of(64 << 10));
  EXPECT_THAT(borders_of(parts_of(*open(file))), ElementsAre(0u, 50'000u, 100'000u, 150'000u));
}

TEST(Parts, CoverTheRangeAndNothingElse) {
  const MemoryFile file;
  const std::uint64_t clusters[] = {300'000, 50'000, 300'000};
  write(file, clusters, pages_of(64 << 10));
  const auto source = open(file);
  const auto whole = borders_of(parts_of(*source));
  for (const auto& [first, last] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {5, 300'000}, {299'999, 300'001}, {100'000, 640'000}, {649'999, 650'000}}) {
    const auto borders = borders_of(parts_of(*source, first, last));
    EXPECT_EQ(borders.front(), first);
    EXPECT_EQ(borders.back(), last);
    // Within the range the borders are those for all entries.
    for (std::size_t i = 1; i + 1 < borders.size(); ++i) EXPECT_THAT(whole, ::testing::Contains(borders[i]));
  }
  EXPECT_THAT(parts_of(*source, 7, 7), IsEmpty());
  EXPECT_THAT(parts_of(*source, 650'000), IsEmpty());
}

TEST(Parts, OfAFileWithoutEntriesAreNone) {
  const MemoryFile file;
  write(file, {}, {});
  const auto source = open(file);
  EXPECT_EQ(source->entries(), 0u);
  EXPECT_THAT(parts_of(*source), IsEmpty());
}

// ---- The cost of reading a part

// Reads in threads, so that read-ahead takes place.
class PartCosts : public ::testing::Test {
 protected:
  PartCosts() {
    const std::uint64_t clusters[] = {280'000, 280'000};
    write(path_, clusters, pages_of(32 << 10));
    source_ = open(path_, {.local_io = LocalIo::threads});
  }
  ~PartCosts() override { std::filesystem::remove(path_); }

  // Bytes of the pages of a flat column that have entries of the part.
  std::uint64_t bytes_of(const std::string& field, const Part& part) {
    const auto reader = Reader::open("Data", path_);
    const Descriptor& descriptor = reader->descriptor();
    const std::uint32_t column =
        descriptor.fields[descriptor.find_field(field)].representations.front().front();
    std::uint64_t bytes = 0;
    for (const ClusterDescriptor& cluster : descriptor.clusters) {
      std::uint64_t at = cluster.first_entry;
      for (const PageDescriptor& page : cluster.columns[column].pages) {
        if (at < part.last && at + page.elements > part.first) bytes += page.locator.size + 8;
        at += page.elements;
      }
    }
    return bytes;
  }
  void read(Cursor& cursor, const std::vector<std::uint32_t>& columns, const Part& part) {
    for (std::uint64_t first = part.first; first < part.last; first += 4096)
      for (const std::uint32_t column : columns)
        static_cast<void>(
            cursor.read(column, {first, std::min<std::uint64_t>(4096, part.last - first), nullptr}, memory_));
  }

  std::string path_ =
      std::filesystem::temp_directory_path() / ("colonnade-parts-" + std::to_string(::getpid()) + ".root");
  std::shared_ptr<Source> source_;
  BlockMemory memory_;
};

TEST_F(PartCosts, APartCostsItsOwnPages) {
  const std::vector<std::uint32_t> columns = {*source_->find("x"), *source_->find("y")};
  const auto parts = source_->parts(0, source_->entries());
  ASSERT_EQ(parts.size(), 8u);
  for (const Part& part : parts) {
    const auto cursor = source_->open();
    cursor->start(part, {});
    read(*cursor, columns, part);
    const ReadMetrics metrics = cursor->metrics();
    EXPECT_EQ(metrics.bytes - metrics.read_over_bytes, bytes_of("x", part) + bytes_of("y", part));
    EXPECT_EQ(metrics.prefetched_unused, 0u);
    EXPECT_GT(metrics.prefetched_used, 0u);
  }
}

TEST_F(PartCosts, TheNextPartIsReadAhead) {
  const std::vector<std::uint32_t> columns = {*source_->find("x")};
  const auto parts = source_->parts(0, source_->entries());
  const auto cursor = source_->open();
  // Parts 1 and 5 are in different clusters.
  cursor->start(parts[1], std::span(&parts[5], 1));
  read(*cursor, columns, parts[1]);
  EXPECT_EQ(cursor->metrics().bytes, bytes_of("x", parts[1]) + bytes_of("x", parts[5]));
  cursor->start(parts[5], {});
  read(*cursor, columns, parts[5]);
  EXPECT_EQ(cursor->metrics().bytes, bytes_of("x", parts[1]) + bytes_of("x", parts[5]));
  EXPECT_EQ(cursor->metrics().prefetched_unused, 0u);
}

TEST_F(PartCosts, ListsCostAPageMoreAtABorder) {
  const std::uint32_t column = *source_->find("v");
  const auto parts = source_->parts(0, source_->entries());
  std::uint64_t pages = 0;
  for (const Part& part : parts) {
    const auto cursor = source_->open();
    cursor->start(part, {});
    read(*cursor, {column}, part);
    EXPECT_LE(cursor->metrics().prefetched_unused, 1u);
    pages += cursor->metrics().pages;
  }
  // One cursor for all parts decodes no page twice.
  const auto cursor = source_->open();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    cursor->start(parts[i], std::span(parts).subspan(i + 1, i + 1 < parts.size() ? 1 : 0));
    read(*cursor, {column}, parts[i]);
  }
  const std::uint64_t ends = 2 * (280'000 / 4096 + 1);
  const std::uint64_t items = 2 * (2 * 280'000 / 8192 + 1);
  EXPECT_EQ(cursor->metrics().pages, ends + items);
  EXPECT_LE(pages, ends + items + 2 * parts.size());
}

TEST_F(PartCosts, CursorsThatTakeTurnsDecodeNoPageTwice) {
  const std::vector<std::uint32_t> columns = {*source_->find("v"), *source_->find("x"), *source_->find("y")};
  const auto parts = source_->parts(0, source_->entries());
  const auto pages_with = [&](std::size_t count, bool backwards) {
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (std::size_t i = 0; i < count; ++i) cursors.push_back(source_->open());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::size_t i = backwards ? parts.size() - 1 - k : k;
      cursors[i % count]->start(parts[i], {});
      read(*cursors[i % count], columns, parts[i]);
    }
    // The last page of a part is passed on when its cursor leaves it.
    std::uint64_t pages = 0;
    for (const auto& cursor : cursors) pages += cursor->metrics().pages;
    return pages;
  };
  const std::uint64_t alone = pages_with(1, false);
  EXPECT_EQ(pages_with(parts.size(), true), alone);
  EXPECT_LE(pages_with(2, false), alone + 2 * parts.size());
}

TEST_F(PartCosts, PartsInAnyOrderAreReadRight) {
  const std::uint32_t column = *source_->find("v");
  const auto parts = source_->parts(0, source_->entries());
  testing::Random random(3);
  const auto cursor = source_->open();
  for (int turn = 0; turn < 30; ++turn) {
    const Part& part = parts[random() % parts.size()];
    const Part& next = parts[random() % parts.size()];
    cursor->start(part, std::span(&next, random() % 3 == 0 || next.first < part.first ? 0 : 1));
    const std::uint64_t first = part.first + random() % (part.last - part.first - 500);
    const auto values = cursor->read(column, {first, 500, nullptr}, memory_);
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(values->items().as<float>()[i], static_cast<float>(first + i / 2));
  }
}

}  // namespace
}  // namespace colonnade::frame
