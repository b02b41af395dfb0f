// Parts of several writers that one process commits: the result, and what is removed, after every failure.
#include "colonnade/shared_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "base/test_environment.h"
#include "base/test_errors.h"
#include "colonnade/attributes.h"
#include "colonnade/garbage.h"
#include "colonnade/reader.h"
#include "colonnade/writer.h"
#include "io/memory/fault_store.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using ::testing::HasSubstr;

class SharedWriterTest : public ::testing::TestWithParam<ObjectMapping> {
 protected:
  SharedWriterTest() {
    io::set_memory_store_traits(uri_, {.best_value = 4096, .ranges = true, .concurrency = 4});
    io::wrap_memory_store(uri_,
                          [faults = faults_](auto store) { return with_faults(std::move(store), faults); });
  }
  ~SharedWriterTest() override { io::remove_memory_store(uri_); }

  WriteOptions options(const std::string& part = {}) const {
    return {.compression = "none", .max_page_size = 256, .object_mapping = GetParam(), .part_of = part};
  }
  std::unique_ptr<SharedWriter> open() const { return SharedWriter::open("Data", uri_, options()); }
  std::string next_part(const SharedWriter& shared) {
    return fmt::format("{}-{:x}", shared.ticket(), ++parts_);
  }

  // A part with numbers from `first` on, in clusters of 100; not closed if `is_closed` is false.
  void write(const std::string& part, std::int64_t first, std::int64_t count, bool is_closed = true) const {
    auto model = Model::create();
    const auto value = model->make_field<std::int64_t>("n");
    const auto writer = Writer::recreate(std::move(model), "Data", uri_, options(part));
    for (std::int64_t i = 0; i < count; ++i) {
      *value = first + i;
      writer->fill();
      if (i % 100 == 99) writer->commit_cluster();
    }
    if (is_closed) return writer->close();
    faults_->lose_server();
    writer->discard();
    faults_->restore();
  }
  void expect_numbers(const std::vector<std::int64_t>& expected) const {
    const auto reader = Reader::open("Data", uri_);
    auto view = reader->view<std::int64_t>("n");
    ASSERT_EQ(view.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(view(i), expected[i]) << "entry " << i;
  }
  static std::unique_ptr<Model> run_model() {
    auto model = Model::create();
    model->make_field<std::int64_t>("run");
    return model;
  }
  static std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(first + i);
    return all;
  }
  // The stored page objects, and those that the data set names.
  std::set<std::uint64_t> stored() const {
    std::set<std::uint64_t> objects;
    for (const io::ValueAddress& address : io::memory_store_addresses(uri_))
      if (address.object.group != 0 && address.object.number != 0) objects.insert(address.object.number);
    return objects;
  }
  std::set<std::uint64_t> named() const {
    std::set<std::uint64_t> objects;
    const auto reader = Reader::open("Data", uri_);
    for (const ClusterDescriptor& cluster : reader->descriptor().clusters)
      for (const ColumnRange& range : cluster.columns)
        for (const PageDescriptor& page : range.pages)
          objects.insert(GetParam() == ObjectMapping::locality ? page.locator.offset >> 40
                                                               : page.locator.offset);
    return objects;
  }
  // All stored pages and blobs of parts belong to a data set.
  void expect_clean() const {
    EXPECT_EQ(stored(), named());
    for (const io::ValueAddress& address : io::memory_store_addresses(uri_))
      EXPECT_TRUE(address.object.group == 0 || address.object.number != 0 || address.dkey == 0);
  }

  TestEnvironment around_;
  std::string uri_ = "memory+obj:shared-" + std::to_string(next_++);
  std::shared_ptr<io::StoreFaults> faults_ = std::make_shared<io::StoreFaults>();
  std::uint64_t parts_ = 0;
  static inline int next_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Mappings, SharedWriterTest,
                         ::testing::Values(ObjectMapping::locality, ObjectMapping::object_per_page),
                         [](const auto& tested) {
                           return tested.param == ObjectMapping::locality ? "Locality" : "ObjectPerPage";
                         });

TEST_P(SharedWriterTest, PartsAreOneDataSetInTheOrderGivenAndNoPageIsMoved) {
  const auto shared = open();
  std::vector<std::string> parts;
  for (int i = 0; i < 4; ++i) {
    parts.push_back(next_part(*shared));
    write(parts.back(), (3 - i) * 1000, i == 1 ? 0 : 350);
  }
  EXPECT_EQ(error_of([&] { Reader::open("Data", uri_); }).kind(), ErrorKind::not_found);
  std::swap(parts[0], parts[3]);
  io::reset_memory_store_counts(uri_);
  EXPECT_EQ(shared->commit(parts), 1050u);
  const io::StoreCounts counts = io::memory_store_counts(uri_);
  EXPECT_LT(counts.updated_bytes, 4000u);  // 8400 bytes are in pages
  EXPECT_LT(counts.fetched_bytes, 4000u);
  std::vector<std::int64_t> expected = numbers(0, 350);
  for (const std::int64_t first : {1000, 3000})
    for (const std::int64_t number : numbers(first, 350)) expected.push_back(number);
  expect_numbers(expected);
  expect_clean();
  EXPECT_TRUE(collect_garbage(uri_).removed.empty());
}

TEST_P(SharedWriterTest, AttributeSetsAreCommittedWithTheParts) {
  const auto commit = [&](const std::function<void(AttributeAppender&)>& add) {
    const auto shared = open();
    const std::vector<std::string> parts{next_part(*shared), next_part(*shared)};
    write(parts[0], 0, 250);
    write(parts[1], 250, 100);
    shared->commit(parts, add);
  };
  const auto fail = [](AttributeAppender& out) {
    out.add_attribute_set(run_model(), "runs");
    throw Error(ErrorKind::usage, "on purpose");
  };
  EXPECT_EQ(error_of([&] { commit(fail); }).problem(), "on purpose");
  EXPECT_EQ(error_of([&] { Reader::open("Data", uri_); }).kind(), ErrorKind::not_found);
  for (int i = 0; i < 2; ++i) {
    commit([&](AttributeAppender& out) {
      AttributeSetWriter& runs = out.add_attribute_set(run_model(), "runs");
      EXPECT_EQ(runs.begin_range(), 350u);
      for (std::int64_t run = 0; run < 300; ++run) {
        *runs.model().default_entry().ptr<std::int64_t>("run") = run + i;
        runs.add({static_cast<std::uint64_t>(run), 350});
      }
    });
    expect_numbers(numbers(0, 350));
    const auto runs = Reader::open("Data", uri_)->attribute_set("runs");
    ASSERT_EQ(runs->num_rows(), 300u);
    EXPECT_EQ(runs->range(299).size(), 51u);
    EXPECT_EQ(runs->view<std::int64_t>("run")(299), 299 + i);
    EXPECT_TRUE(collect_garbage(uri_).removed.empty());
  }
}

TEST_P(SharedWriterTest, WhatWasThereStaysUntilTheCommit) {
  write({}, 0, 50);
  auto shared = open();
  const std::string part = next_part(*shared);
  write(part, 100, 50);
  expect_numbers(numbers(0, 50));
  shared->discard();
  expect_numbers(numbers(0, 50));
  expect_clean();
  shared = open();
  const std::string other = next_part(*shared);
  write(other, 200, 50);
  shared->commit({&other, 1});
  expect_numbers(numbers(200, 50));
  expect_clean();
}

TEST_P(SharedWriterTest, LosersAreRemoved) {
  const auto shared = open();
  const std::string winner = next_part(*shared);
  write(next_part(*shared), 0, 250);         // not committed
  write(next_part(*shared), 0, 250, false);  // killed
  write(winner, 0, 250);
  write(next_part(*shared), 0, 250, false);
  shared->commit({&winner, 1});
  expect_numbers(numbers(0, 250));
  expect_clean();
  // The killed writers may still run, as far as is known: `gc` checks once.
  EXPECT_EQ(collect_garbage(uri_).removed.size(), 1u);
  EXPECT_TRUE(collect_garbage(uri_).removed.empty());
  expect_numbers(numbers(0, 250));
}

TEST_P(SharedWriterTest, APartThatComesLateIsRefused) {
  auto shared = open();
  const std::string part = next_part(*shared);
  const std::string late = next_part(*shared);
  write(part, 0, 10);
  shared->commit({&part, 1});
  const Error error = error_of([&] { write(late, 0, 10); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.what(), HasSubstr("has finished or given up"));
  expect_numbers(numbers(0, 10));
  expect_clean();
}

TEST_P(SharedWriterTest, AWriterThatIsStillAtWorkAfterTheCommitStopsAndRemovesItsOwn) {
  auto shared = open();
  const std::string part = next_part(*shared);
  write(part, 0, 10);
  auto model = Model::create();
  const auto value = model->make_field<std::int64_t>("n");
  const auto late = Writer::recreate(std::move(model), "Data", uri_, options(next_part(*shared)));
  late->fill();
  late->commit_cluster();
  shared->commit({&part, 1});
  late->fill();
  EXPECT_EQ(error_of([&] { late->close(); }).kind(), ErrorKind::io);
  late->discard();
  expect_numbers(numbers(0, 10));
  expect_clean();
}

// The other process commits right before any write of the part, that of its record included.
TEST_P(SharedWriterTest, APartThatIsOvertakenAnywhereLeavesNothing) {
  std::uint64_t writes = 0;
  for (bool is_overtaken = true; is_overtaken; ++writes) {
    is_overtaken = false;
    const auto shared = open();
    const std::string part = next_part(*shared);
    const std::string late = next_part(*shared);
    write(part, 0, 10);
    EXPECT_TRUE(SharedWriter::is_open(uri_, shared->ticket()));
    faults_->before(io::StoreOperation::update, writes, [&] {
      is_overtaken = true;
      shared->commit({&part, 1});
    });
    try {
      write(late, 0, 10);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_TRUE(is_overtaken);
    }
    faults_->restore();
    EXPECT_EQ(SharedWriter::is_open(uri_, shared->ticket()), !is_overtaken);
    if (!is_overtaken) break;
    expect_numbers(numbers(0, 10));
    expect_clean();
  }
  EXPECT_GE(writes, 5u);  // a page, header, page list, footer, record
}

TEST_P(SharedWriterTest, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(error_of([&] { SharedWriter::open("Data", "/tmp/file.root"); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { SharedWriter::is_open(uri_, "1-2"); }).kind(), ErrorKind::usage);
  auto shared = open();
  EXPECT_EQ(error_of([&] { open(); }).kind(), ErrorKind::usage);  // claimed
  EXPECT_EQ(error_of([&] { shared->commit({}); }).kind(), ErrorKind::usage);
  for (const char* name : {"", "1-2-3", "1-2-3-0", "x-1-2-3", "1-2-3-4-5", "1-2-3-4 ", "0-1-2-3"})
    EXPECT_EQ(error_of([&] { write(name == std::string() ? "-" : name, 0, 1); }).kind(), ErrorKind::usage)
        << name;
  EXPECT_EQ(error_of([&] {
              Writer::recreate(Model::create(), "Data", "/tmp/file.root", options("1-2-3-4"));
            }).kind(),
            ErrorKind::usage);
  const std::string missing = next_part(*shared);
  EXPECT_EQ(error_of([&] { shared->commit({&missing, 1}); }).kind(), ErrorKind::not_found);
  shared = open();
  const std::string part = next_part(*shared);
  write(part, 0, 10);
  const std::vector<std::string> twice = {part, part};
  EXPECT_EQ(error_of([&] { shared->commit(twice); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { Reader::open("Data", uri_); }).kind(), ErrorKind::not_found);
  shared = open();
  const std::string first = next_part(*shared);
  const std::string other = next_part(*shared);
  write(first, 0, 10);
  auto model = Model::create();
  model->make_field<float>("n");
  Writer::recreate(std::move(model), "Data", uri_, options(other))->close();
  const std::vector<std::string> mixed = {first, other};
  EXPECT_EQ(error_of([&] { shared->commit(mixed); }).kind(), ErrorKind::schema);
  EXPECT_TRUE(stored().empty());
}

// One operation fails, or loses its answer, at any point: the data set is then in the old or in the new
// state, and `gc` leaves exactly what it needs.
TEST_P(SharedWriterTest, FaultsAnywhereLeaveAllOrNothing) {
  std::mt19937_64 random(7);
  constexpr io::StoreOperation kinds[] = {io::StoreOperation::fetch, io::StoreOperation::update,
                                          io::StoreOperation::get,   io::StoreOperation::put_if,
                                          io::StoreOperation::list,  io::StoreOperation::remove};
  int done = 0;
  int failed = 0;
  for (int round = 0; round < 300; ++round) {
    write({}, -100, 100);  // the old content
    const auto draw = [&](std::uint64_t most) { return random() % most; };
    const io::StoreOperation kind = kinds[draw(std::size(kinds))];
    const bool at_commit = draw(2) == 0;
    const auto harm = [&] {
      const std::uint64_t which = draw(12);
      if (draw(2) == 0)
        faults_->fail(kind, which);
      else
        faults_->lose_answer(kind, which);
    };
    bool is_committed = false;
    std::vector<std::int64_t> expected;
    try {
      const auto shared = open();
      if (!at_commit) harm();
      std::vector<std::string> parts;
      for (std::uint64_t i = 0; i < 3; ++i) {
        const auto count = static_cast<std::int64_t>(draw(300));
        const std::string part = next_part(*shared);
        try {
          write(part, static_cast<std::int64_t>(1000 * i), count);
        } catch (const Error&) {  // a task is retried
          parts.push_back(next_part(*shared));
          write(parts.back(), static_cast<std::int64_t>(1000 * i), count);
          for (const std::int64_t number : numbers(static_cast<std::int64_t>(1000 * i), count))
            expected.push_back(number);
          continue;
        }
        parts.push_back(part);
        for (const std::int64_t number : numbers(static_cast<std::int64_t>(1000 * i), count))
          expected.push_back(number);
      }
      if (at_commit) harm();
      shared->commit(parts);
      is_committed = true;
    } catch (const Error&) {
      ++failed;
    }
    faults_->restore();
    done += is_committed;
    const bool is_new = Reader::open("Data", uri_)->num_entries() != 100 ||
                        (!expected.empty() && expected.size() == 100 && is_committed);
    ASSERT_TRUE(!is_committed || is_new || expected.size() == 100);
    expect_numbers(is_new ? expected : numbers(-100, 100));
    // The writing process has ended, and its claims are void.
    collect_garbage(uri_, {.force = true});
    collect_garbage(uri_, {.force = true});
    expect_numbers(is_new ? expected : numbers(-100, 100));
    expect_clean();
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(done, 50);
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace colonnade
