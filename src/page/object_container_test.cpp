// Data sets in stores with the traits of S3, DAOS and a folder: values round-trip, operations are counted,
// and errors name missing, short, damaged and unreachable values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_errors.h"
#include "colonnade/repair.h"
#include "container/object_store/page_file.h"
#include "container/object_store/reader.h"
#include "container/object_store/test_tools.h"
#include "format/envelope.h"
#include "page/cluster_pool.h"
#include "page/column_reader.h"
#include "page/page_sink.h"

namespace colonnade::page {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t columns = 3;
constexpr std::uint64_t clusters = 3;
constexpr std::uint64_t per_page = 512;
constexpr std::uint64_t stored = per_page * 8 + 8;  // bytes of a page and its checksum
constexpr std::uint64_t pages = 70;                 // of a column in a cluster
constexpr std::uint64_t per_cluster = pages * per_page;
constexpr std::size_t target = std::size_t{64} << 10;

std::uint64_t value_at(std::uint32_t column, std::uint64_t element) {
  return (std::uint64_t{column} << 40) + element * 0x9e3779b9u;
}

io::StoreTraits like_s3() {
  return {
      .best_value = std::size_t{256} << 10, .concurrency = 6, .most_concurrency = 24, .worthwhile_gap = 1024};
}
io::StoreTraits like_daos() {
  return {.best_value = target, .ranges = false, .vectors = true, .max_items = 100, .concurrency = 4};
}
io::StoreTraits like_folder() {
  return {.best_value = target, .concurrency = 4, .worthwhile_gap = 1024, .reads_are_copies = true};
}

void write(const std::string& uri, const container::ContainerOptions& how, const std::string& name = "Data") {
  const WriteOptions options{
      .compression = "none", .initial_page_size = per_page * 8, .max_page_size = per_page * 8};
  PageSink sink(container::create_container(uri, name, how), options);
  Descriptor& d = sink.descriptor();
  d.name = name;
  for (std::uint32_t i = 0; i < columns; ++i) {
    FieldDescriptor field;
    field.id = i;
    field.parent = i;
    field.name = std::string(1, static_cast<char>('a' + i));
    field.type_name = "std::uint64_t";
    field.representations = {{i}};
    ColumnDescriptor c;
    c.id = i;
    c.field = i;
    c.raw_type = static_cast<std::uint16_t>(ColumnType::uint64);
    c.encoding = default_encoding(ColumnType::uint64);
    d.fields.push_back(field);
    d.columns.push_back(c);
  }
  sink.start();
  std::vector<ColumnWriter*> writers;
  for (std::uint32_t i = 0; i < columns; ++i) writers.push_back(&sink.add_column(i, ElementType::uint64));
  for (std::uint64_t c = 0; c < clusters; ++c) {
    for (std::uint64_t i = 0; i < per_cluster; ++i)
      for (std::uint32_t k = 0; k < columns; ++k) writers[k]->append(value_at(k, c * per_cluster + i));
    sink.commit_cluster(per_cluster);
  }
  sink.commit_data_set();
  sink.close();
}

void one_column(Descriptor& d) {
  d.name = "Data";
  FieldDescriptor field;
  field.id = field.parent = 0;
  field.name = "a";
  field.type_name = "std::uint64_t";
  field.representations = {{0}};
  ColumnDescriptor c;
  c.id = c.field = 0;
  c.raw_type = static_cast<std::uint16_t>(ColumnType::uint64);
  c.encoding = default_encoding(ColumnType::uint64);
  d.fields.push_back(field);
  d.columns.push_back(c);
}

std::unique_ptr<PageSource> open(const std::string& uri, bool helped = false) {
  return PageSource::open("Data", uri, {.parallel_decompression = helped});
}

void read_in_order(PageSource& source, std::uint32_t count = columns) {
  std::vector<std::unique_ptr<ColumnReader>> readers;
  for (std::uint32_t k = 0; k < count; ++k)
    readers.push_back(
        std::make_unique<ColumnReader>(source, std::vector<std::uint32_t>{k}, ElementType::uint64));
  for (std::uint64_t i = 0; i < clusters * per_cluster; ++i)
    for (std::uint32_t k = 0; k < count; ++k)
      ASSERT_EQ(readers[k]->at<std::uint64_t>(i / per_cluster, i % per_cluster), value_at(k, i));
}

void read_in_bulk(PageSource& source) {
  for (std::uint64_t c = 0; c < clusters; ++c)
    for (std::uint32_t k = 0; k < columns; ++k) {
      ColumnReader reader(source, {k}, ElementType::uint64);
      std::vector<std::uint64_t> values(per_cluster);
      reader.read(c, 0, per_cluster, values.data());
      for (std::uint64_t i = 0; i < per_cluster; ++i) ASSERT_EQ(values[i], value_at(k, c * per_cluster + i));
    }
}

struct Store {
  const char* name;
  io::StoreTraits traits;
  friend std::ostream& operator<<(std::ostream& out, const Store& store) { return out << store.name; }
};
struct Mapping {
  const char* name;
  container::ContainerOptions options;
  friend std::ostream& operator<<(std::ostream& out, const Mapping& mapping) { return out << mapping.name; }
};

class ObjectReading : public testing::TestWithParam<std::tuple<Store, Mapping, bool>> {
 protected:
  const io::StoreTraits& traits() const { return std::get<0>(GetParam()).traits; }
  const container::ContainerOptions& options() const { return std::get<1>(GetParam()).options; }
  bool helped() const { return std::get<2>(GetParam()); }
};

TEST_P(ObjectReading, GivesWhatWasWritten) {
  const container::TestStore store(traits());
  write(store, options());
  read_in_order(*open(store, helped()));
  read_in_bulk(*open(store, helped()));
  const auto source = open(store, helped());
  for (const std::uint64_t i :
       {per_cluster * 2 + 5000, std::uint64_t{1}, per_cluster + 77, per_cluster - 1}) {
    ColumnReader reader(*source, {1}, ElementType::uint64);
    EXPECT_EQ(reader.at<std::uint64_t>(i / per_cluster, i % per_cluster), value_at(1, i));
  }
}

// Requests per cluster and column: at most bytes divided by target size, rounded up.
TEST_P(ObjectReading, TakesFewOperations) {
  const container::TestStore store(traits());
  write(store, options());
  const bool is_single = options().object_mapping == ObjectMapping::object_per_page ||
                         (options().splice_size == 0 && !traits().vectors);
  const std::uint64_t most =
      clusters * columns * (is_single ? pages : (pages * stored + target - 1) / target);
  for (const auto& [read, what] : {std::pair{+[](PageSource& source) { read_in_order(source); }, "in order"},
                                   std::pair{+[](PageSource& source) { read_in_bulk(source); }, "in bulk"}}) {
    const auto source = open(store, helped());
    store.reset_counts();
    read(*source);
    EXPECT_LE(store.counts().fetches, most) << what;
    EXPECT_EQ(store.counts().fetched_bytes, clusters * columns * pages * stored) << what;
    EXPECT_EQ(store.counts().sizes, 0u) << what;
  }
}

TEST_P(ObjectReading, ReadsOnePageAloneWhereOneIsNeeded) {
  const container::TestStore store(traits());
  write(store, options());
  const auto source = open(store, helped());
  store.reset_counts();
  ColumnReader reader(*source, {2}, ElementType::uint64);
  std::uint64_t count = 0;
  for (const std::uint64_t page : {170u, 5u, 33u, 104u}) {
    const std::uint64_t i = page * per_page + 9;
    EXPECT_EQ(reader.at<std::uint64_t>(i / per_cluster, i % per_cluster), value_at(2, i));
    ++count;
    EXPECT_EQ(store.counts().fetched_bytes, count * stored);
  }
}

TEST_P(ObjectReading, KeepsTheLocatorsInTheDescriptor) {
  const container::TestStore store(traits());
  write(store, options());
  const auto source = open(store, helped());
  for (std::uint64_t c = 0; c < clusters; ++c)
    for (std::uint32_t k = 0; k < columns; ++k) {
      const PageList& written = source->descriptor().clusters[c].columns[k].pages;
      const PageList placed = source->placed_pages(k, c);
      ASSERT_EQ(written.size(), pages);
      ASSERT_EQ(placed.size(), pages);
      for (std::size_t i = 0; i < pages; ++i) {
        EXPECT_EQ(written[i].locator.kind, Locator::Kind::object64);
        EXPECT_EQ(placed[i].locator.kind, Locator::Kind::file);
        EXPECT_EQ(placed[i].locator.size, written[i].locator.size);
      }
    }
}

TEST_P(ObjectReading, NamesTheValueThatIsSpoilt) {
  const container::TestStore store(traits());
  write(store, options());
  const auto source = open(store, helped());
  const bool single = options().object_mapping == ObjectMapping::object_per_page;
  const std::uint64_t location = source->descriptor().clusters[1].columns[2].pages[3].locator.offset;
  const container::LocalityLocation in = container::LocalityLocation::of(location);
  const std::uint32_t group = *store.groups().begin();
  const io::ValueAddress address =
      single ? io::ValueAddress{{group, location}, 0, 0} : io::ValueAddress{{group, in.object}, 2, in.value};
  const std::uint64_t begin = single ? 0 : in.offset;
  store.faults().corrupt(address, begin + 17);
  for (const auto& read :
       {+[](PageSource& s) { read_in_order(s); }, +[](PageSource& s) { read_in_bulk(s); }}) {
    const Error error = error_of([&] { read(*open(store, helped())); });
    EXPECT_EQ(error.kind(), ErrorKind::checksum);
    EXPECT_THAT(error.problem(), HasSubstr(io::to_text(address) + ", bytes " + std::to_string(begin) +
                                           " to " + std::to_string(begin + stored)));
    EXPECT_EQ(error.context().uri, store.uri());
    EXPECT_EQ(error.context().data_set, "Data");
    EXPECT_EQ(error.context().field, "c");
    EXPECT_EQ(error.context().column, 2u);
    EXPECT_EQ(error.context().cluster, 1u);
    EXPECT_EQ(error.context().page, 3u);
    EXPECT_FALSE(error.context().offset);
  }
}

TEST_P(ObjectReading, NamesTheValueThatIsMissingOrShort) {
  const container::TestStore store(traits());
  write(store, options());
  const bool single = options().object_mapping == ObjectMapping::object_per_page;
  const std::uint64_t location =
      open(store)->descriptor().clusters[2].columns[0].pages[pages - 1].locator.offset;
  const container::LocalityLocation in = container::LocalityLocation::of(location);
  const io::ObjectId object{*store.groups().begin(), single ? location : in.object};
  const io::ValueAddress address{object, 0, single ? 0 : in.value};
  const auto expect_error = [&] {
    const Error error = error_of([&] { read_in_order(*open(store, helped())); });
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.problem(), HasSubstr(io::to_text(address)));
    EXPECT_EQ(error.context().field, "a");
    EXPECT_EQ(error.context().cluster, 2u);
    EXPECT_LT(*error.context().page, pages);
  };
  const Bytes piece(10);
  const io::UpdateItem item{.akey = address.akey, .parts = {piece}};
  store.open()->update(object, 0, {&item, 1});
  expect_error();
  store.open()->remove(address);
  expect_error();
}

TEST_P(ObjectReading, EndsWithAnErrorWhenTheServerIsGone) {
  const container::TestStore store(traits());
  write(store, options());
  for (const auto& read :
       {+[](PageSource& s) { read_in_order(s); }, +[](PageSource& s) { read_in_bulk(s); }}) {
    const auto source = open(store, helped());
    store.faults().lose_server(2);
    const Error error = error_of([&] { read(*source); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr("distribution key"));
    EXPECT_EQ(error.context().uri, store.uri());
    EXPECT_TRUE(error.context().page);
    store.faults().restore();
    read(*source);
  }
}

#ifndef COLONNADE_NO_FORKS
// Like stores that a child cannot use: the child gets an error, and neither hangs nor affects the parent.
TEST_P(ObjectReading, EndsWithAnErrorInAForkedChild) {
  const container::TestStore store(traits());
  write(store, options());
  const auto source = open(store, helped());
  ColumnReader reader(*source, {0}, ElementType::uint64);
  const auto sum = [&](std::uint64_t count) {
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      right += reader.at<std::uint64_t>(i / per_cluster, i % per_cluster) == value_at(0, i);
    return right;
  };
  ASSERT_EQ(sum(per_page), per_page);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // instead of hanging
    store.faults().fail(io::StoreOperation::fetch, 0, io::StoreFaults::all, ErrorKind::usage);
    bool good = false;
    try {
      sum(clusters * per_cluster);
    } catch (const Error& error) {
      good = error.kind() == ErrorKind::usage;
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum(clusters * per_cluster), clusters * per_cluster);
}
#endif

INSTANTIATE_TEST_SUITE_P(
    Stores, ObjectReading,
    testing::Combine(
        testing::Values(Store{"S3", like_s3()}, Store{"Daos", like_daos()}, Store{"Folder", like_folder()}),
        testing::Values(Mapping{"Spliced", {.splice_size = target}}, Mapping{"Apart", {.splice_size = 0}},
                        Mapping{"PerPage", {.object_mapping = ObjectMapping::object_per_page}}),
        testing::Bool()),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + std::get<1>(test.param).name +
             (std::get<2>(test.param) ? "Helped" : "");
    });

// ---- Directory

TEST(ObjectContainerReader, ListsDataSetsByName) {
  const container::TestStore store(like_s3());
  EXPECT_THAT(container::open_container(store)->data_sets(), testing::IsEmpty());
  for (const char* name : {"b", "dir/a", "Data"}) write(store, {.splice_size = target}, name);
  EXPECT_THAT(container::open_container(store)->data_sets(), testing::ElementsAre("Data", "b", "dir/a"));
  EXPECT_THAT(container::open_container(store)->objects(), testing::IsEmpty());
  EXPECT_EQ(PageSource::open("dir/a", store)->descriptor().entries(), clusters * per_cluster);
}

TEST(ObjectContainerReader, SaysWhichDataSetsThereAre) {
  const container::TestStore store(like_s3());
  const auto missing = [&] { return error_of([&] { PageSource::open("None", store); }); };
  static_cast<void>(store.open());
  EXPECT_EQ(missing().kind(), ErrorKind::not_found);
  EXPECT_EQ(missing().advice(), "it has none at all");
  write(store, {.splice_size = target}, "First");
  write(store, {.splice_size = target}, "Second");
  EXPECT_EQ(missing().advice(), "one of: First, Second");
  EXPECT_EQ(missing().context().data_set, "None");
  EXPECT_EQ(missing().context().uri, store.uri());
  const auto writer = container::create_container(store, "None", {});
  EXPECT_EQ(missing().kind(), ErrorKind::not_found);
  EXPECT_THAT(missing().problem(), HasSubstr("is being written"));
  EXPECT_THAT(missing().advice(), HasSubstr("one of: First, Second"));
}

TEST(ObjectContainerReader, StaysWithTheGenerationThatItOpened) {
  const container::TestStore store(like_s3());
  write(store, {.splice_size = target});
  const auto source = open(store);
  const auto later = container::open_container(store)->of_data_set("Data");
  EXPECT_EQ(later->anchor("Data"), source->descriptor().anchor);
  EXPECT_EQ(later->of_data_set("Data"), nullptr);
}

TEST(ObjectContainerReader, HasNothingToRepair) {
  const container::TestStore store(like_s3());
  write(store, {.splice_size = target});
  const Error error = error_of([&] { repair(store, "Data"); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.advice(), HasSubstr("colonnade gc"));
}

// ---- Descriptors that no writer makes

// Rewrites the data set's page lists and footer after `change`.
void rewrite(const container::TestStore& store, const std::function<void(Descriptor&)>& change) {
  Descriptor d = open(store)->descriptor();
  change(d);
  const auto writer = container::replace_container(store, "Data", {.splice_size = target});
  for (std::size_t group = 0, first = 0; group < d.cluster_groups.size(); ++group) {
    const Bytes list = format::write_page_list(d, first, d.cluster_groups[group].clusters).bytes;
    d.cluster_groups[group].page_list = {list.size(), writer->write_blob(list, list.size())};
    first += d.cluster_groups[group].clusters;
  }
  const Bytes footer = format::write_footer(d).bytes;
  const Locator place = writer->write_blob(footer, footer.size());
  d.anchor.footer_offset = place.offset;
  d.anchor.footer_size = d.anchor.footer_length = footer.size();
  writer->commit(d.anchor);
  writer->close();
}

void change_page(const container::TestStore& store, const std::function<void(PageDescriptor&)>& change) {
  rewrite(store, [&](Descriptor& d) {
    PageList& list = d.clusters[1].columns[1].pages;
    PageDescriptor page = list[2];
    change(page);
    list.set(2, page);
  });
}

class HostileObjects : public testing::TestWithParam<Store> {
 protected:
  Error error_of_page(const std::function<void(PageDescriptor&)>& change) {
    const container::TestStore store(GetParam().traits);
    write(store, {.splice_size = target});
    change_page(store, change);
    const Error in_order = error_of([&] { read_in_order(*open(store)); });
    const Error in_bulk = error_of([&] { read_in_bulk(*open(store)); });
    EXPECT_STREQ(in_order.what(), in_bulk.what());
    EXPECT_EQ(in_order.context().field, "b");
    EXPECT_EQ(in_order.context().cluster, 1u);
    EXPECT_EQ(in_order.context().page, 2u);
    return in_order;
  }
};

TEST_P(HostileObjects, PageInAnObjectThatIsNotThere) {
  const Error error = error_of_page([](PageDescriptor& page) {
    page.locator.offset = container::LocalityLocation{0xabcdef, 7, 0}.location();
  });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.problem(), HasSubstr(":11259375, distribution key 1, attribute key 7"));
}

TEST_P(HostileObjects, PageBeyondTheEndOfItsValue) {
  const Error error = error_of_page([](PageDescriptor& page) {
    container::LocalityLocation place = container::LocalityLocation::of(page.locator.offset);
    place.offset = container::LocalityLocation::most_offset - 1;
    page.locator.offset = place.location();
  });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.problem(), HasSubstr("distribution key 1, attribute key 0"));
}

TEST_P(HostileObjects, PageThatIsHalfAnother) {
  const Error error = error_of_page([](PageDescriptor& page) { page.locator.offset += 100; });
  EXPECT_EQ(error.kind(), ErrorKind::checksum);
}

TEST_P(HostileObjects, PageOfImpossibleSize) {
  for (const std::uint64_t size : {std::uint64_t{1} << 33, ~std::uint64_t{0} - 8, std::uint64_t{65} << 20}) {
    const Error error = error_of_page([&](PageDescriptor& page) { page.locator.size = size; });
    EXPECT_EQ(error.kind(), ErrorKind::format) << size;
  }
}

TEST_P(HostileObjects, PageThatClaimsMoreThanThereIsRoomFor) {
  // Within the limits of a value, and of the possible compression.
  const Error error = error_of_page([&](PageDescriptor& page) {
    page.locator.size = std::size_t{40} << 20;
    page.elements = 0x7fffffff;
  });
  EXPECT_EQ(error.kind(), ErrorKind::format);
}

TEST_P(HostileObjects, PageInAFile) {
  const Error error =
      error_of_page([](PageDescriptor& page) { page.locator = {.size = page.locator.size, .offset = 0}; });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.problem(), HasSubstr("outside of the data set"));
}

TEST_P(HostileObjects, EnvelopesThatAreNotThere) {
  const container::TestStore store(GetParam().traits);
  const auto expect = [&](const std::function<void(container::AnchorRecord&)>& change, ErrorKind kind,
                          const char* problem) {
    write(store, {.splice_size = target});
    container::VersionedRecord<container::PlaceRecord> found =
        *container::find_place(*store.open(), "Data").found;
    change(found.record.anchor);
    const io::ValueAddress address =
        container::directory_value(container::first_place_of("Data"), container::place_key);
    ASSERT_TRUE(store.open()->put_if(address, to_bytes(found.record), found.version));
    const Error error = error_of([&] { open(store); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.problem(), HasSubstr(problem));
    EXPECT_THAT(error.problem(), HasSubstr(":0, distribution key 0, attribute key "));
    EXPECT_EQ(error.context().data_set, "Data");
  };
  expect([](container::AnchorRecord& r) { r.anchor.footer_offset = r.end_blobs++; }, ErrorKind::format,
         "attribute key 3");
  expect(
      [](container::AnchorRecord& r) {
        r.anchor.header_size = r.anchor.header_length = std::size_t{1} << 50;
      },
      ErrorKind::format, "the header of");
  expect([](container::AnchorRecord& r) { r.anchor.footer_size = r.anchor.footer_length += 1; },
         ErrorKind::format, "object");
  expect([](container::AnchorRecord& r) { r.anchor.footer_length = std::size_t{1} << 50; }, ErrorKind::format,
         "more than a file of this size can need");
  expect([](container::AnchorRecord& r) { ++r.generation; }, ErrorKind::format, "object");
}

// One by one, each would take a round trip.
TEST(ObjectPageLists, AreReadTogether) {
  const container::TestStore store(like_daos());
  const WriteOptions options{.compression = "none", .clusters_per_group = 1};
  PageSink sink(container::create_container(store, "Data", {}), options);
  one_column(sink.descriptor());
  sink.start();
  ColumnWriter& writer = sink.add_column(0, ElementType::uint64);
  for (std::uint64_t i = 0; i < 300; ++i) {
    writer.append(i);
    sink.commit_cluster(1);
  }
  sink.commit_data_set();
  sink.close();
  store.reset_counts();
  const auto source = open(store);
  EXPECT_EQ(source->descriptor().cluster_groups.size(), 300u);
  EXPECT_EQ(source->descriptor().entries(), 300u);
  EXPECT_LE(store.counts().fetches, 2u + 3);  // header, footer, and what an operation takes of the lists
  // Three round trips: the record of the data set, header with footer, page lists.
  EXPECT_EQ(store.counts().gets, 1u);
  EXPECT_EQ(store.counts().sizes + store.counts().lists, 0u);
  ColumnReader reader(*source, {0}, ElementType::uint64);
  EXPECT_EQ(reader.at<std::uint64_t>(299, 0), 299u);
}

TEST(ObjectRecreating, ReplacesByEntriesOrAtTheEnd) {
  const container::TestStore store(like_s3());
  const auto recreate = [&](std::uint64_t entries, const std::function<void(const char*)>& at) {
    WriteOptions options{.compression = "none"};
    options.checkpoint_every.clusters = 1;
    PageSink sink(container::create_container(store, "Data", {}), options);
    one_column(sink.descriptor());
    sink.start();
    ColumnWriter& writer = sink.add_column(0, ElementType::uint64);
    at("begun");
    for (std::uint64_t i = 0; i < entries; ++i) {
      writer.append(i);
      sink.commit_cluster(1);
      at("written");
    }
    sink.close();
  };
  recreate(5, [](const char*) {});
  EXPECT_EQ(open(store)->descriptor().entries(), 5u);
  std::uint64_t written = 0;
  recreate(3, [&](const char* where) {
    written += where == std::string("written");
    EXPECT_EQ(open(store)->descriptor().entries(), written == 0 ? 5 : written);
  });
  EXPECT_EQ(open(store)->descriptor().entries(), 3u);
  recreate(0, [&](const char*) { EXPECT_EQ(open(store)->descriptor().entries(), 3u); });
  EXPECT_EQ(open(store)->descriptor().entries(), 0u);
}

TEST_P(HostileObjects, PageListsThatShareAPlace) {
  const container::TestStore store(GetParam().traits);
  write(store, {.splice_size = target});
  Descriptor d = open(store)->descriptor();
  const auto writer = container::replace_container(store, "Data", {.splice_size = target});
  d.cluster_groups.push_back(d.cluster_groups.front());
  const Bytes footer = format::write_footer(d).bytes;
  d.anchor.footer_offset = writer->write_blob(footer, footer.size()).offset;
  d.anchor.footer_size = d.anchor.footer_length = footer.size();
  writer->commit(d.anchor);
  writer->close();
  const Error error = error_of([&] { open(store); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
}

INSTANTIATE_TEST_SUITE_P(Stores, HostileObjects,
                         testing::Values(Store{"S3", like_s3()}, Store{"Daos", like_daos()},
                                         Store{"Folder", like_folder()}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace colonnade::page
