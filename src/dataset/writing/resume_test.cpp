// Continuing a data set after its last commit: the model must match, and the result shows no trace of the
// interruption.
#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <random>

#include "base/test_folder.h"
#include "colonnade/attributes.h"
#include "colonnade/repair.h"
#include "dataset/test_round_trip.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

constexpr const char* store = "memory+obj:resumed";

std::unique_ptr<Model> model_of(std::shared_ptr<std::int32_t>& x, std::shared_ptr<std::vector<float>>& v) {
  auto model = Model::create();
  x = model->make_field<std::int32_t>("x");
  v = model->make_field<std::vector<float>>("v");
  model->add_projected_field(make_field("n", "ROOT::RNTupleCardinality<std::uint32_t>"), {{"n", "v"}});
  return model;
}

void fill(Writer& writer, std::int32_t& x, std::vector<float>& v, int count) {
  for (int i = 0; i < count; ++i) {
    x = static_cast<std::int32_t>(writer.num_entries());
    v.assign(static_cast<std::size_t>(x % 4), static_cast<float>(x));
    writer.fill();
  }
}

std::uint64_t good_entries(const std::string& uri) {
  auto reader = Reader::open("Data", uri);
  auto x = reader->view<std::int32_t>("x");
  auto v = reader->view<std::vector<float>>("v");
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
    EXPECT_EQ(x(i), static_cast<std::int32_t>(i));
    EXPECT_EQ(v(i), std::vector<float>(i % 4, static_cast<float>(i)));
  }
  return reader->num_entries();
}

// Commits 10 entries, drops 5 more, then writes 20 in two steps.
void pause_and_go_on(const std::string& uri, const WriteOptions& options) {
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", uri, options);
  fill(*writer, *x, *v, 10);
  writer->commit_data_set();
  fill(*writer, *x, *v, 5);
  writer->commit_cluster();
  writer->discard();
  ASSERT_EQ(good_entries(uri), 10u);
  for (const std::uint64_t before : {10u, 20u}) {
    writer = Writer::resume(model_of(x, v), "Data", uri, options);
    ASSERT_EQ(writer->num_entries(), before);
    fill(*writer, *x, *v, 10);
    ASSERT_EQ(good_entries(uri), before);
    writer->close();
    ASSERT_EQ(good_entries(uri), before + 10);
  }
}

TEST(ResumedWriter, GoesOnInFiles) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    pause_and_go_on(file, {.container = container});
  }
}

TEST(ResumedWriter, KeepsTheLimitOfKeys) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file, {.max_key_size = 4096});
  fill(*writer, *x, *v, 10);
  writer->close();
  writer = Writer::resume(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  EXPECT_EQ(good_entries(file), 20u);
  EXPECT_EQ(Reader::open("Data", file)->descriptor().anchor.max_key_size, 4096u);
}

// Another writer would add to it meanwhile, and what that has committed would be lost.
TEST(ResumedWriter, KeepsItsLockWhateverTheLimitOfKeys) {
  const TestFolder folder;
  const std::string file = (folder.path() / "f.root").string();
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file, {.max_key_size = 4096});
  fill(*writer, *x, *v, 10);
  writer->close();
  const int watch = ::inotify_init1(IN_NONBLOCK);
  ASSERT_GE(::inotify_add_watch(watch, file.c_str(), IN_CLOSE_WRITE), 0);
  std::array<char, 4096> events;
  const auto writer_again = Writer::resume(model_of(x, v), "Data", file);
  EXPECT_EQ(::read(watch, events.data(), events.size()), -1) << "it was closed";
  writer_again->close();
  const auto appender = AttributeAppender::open("Data", file);
  EXPECT_GT(::read(watch, events.data(), events.size()), 0);
  EXPECT_EQ(::read(watch, events.data(), events.size()), -1) << "it was closed";
  appender->close();
  ::close(watch);
}

TEST(ResumedWriter, GoesOnInObjectStores) {
  pause_and_go_on(store, {});
  io::remove_memory_store(store);
}

// Or each run would write a footer that lists all runs before.
TEST(ResumedWriter, JoinsTheGroupsOfEarlierRuns) {
  const MemoryFile root_file, bare_file;
  for (const std::string& uri : {root_file.uri(), bare_file.uri(), std::string(store)}) {
    std::shared_ptr<std::int32_t> x;
    std::shared_ptr<std::vector<float>> v;
    const WriteOptions options{
        .clusters_per_group = 64,
        .container = uri == bare_file.uri() ? Container::bare_file : Container::root_file};
    auto writer = Writer::recreate(model_of(x, v), "Data", uri, options);
    for (std::size_t run = 1; run <= 100; ++run) {
      fill(*writer, *x, *v, 3);
      writer->close();
      ASSERT_LE(Reader::open("Data", uri)->descriptor().cluster_groups.size(), 9u) << run;
      writer = Writer::resume(model_of(x, v), "Data", uri, options);
    }
    writer->close();
    EXPECT_EQ(good_entries(uri), 300u);
    const auto groups = Reader::open("Data", uri)->descriptor().cluster_groups;
    EXPECT_EQ(groups.front().clusters, 64u);
  }
  io::remove_memory_store(store);
}

TEST(ResumedWriter, LateFieldsBeginWhereTheyAreAdded) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  writer = Writer::resume(model_of(x, v), "Data", file);
  const auto late = writer->extend<std::int32_t>("late");
  *late = 7;
  fill(*writer, *x, *v, 2);
  writer->close();
  auto reader = Reader::open("Data", file);
  auto values = reader->view<std::int32_t>("late");
  EXPECT_EQ(values(9), 0);
  EXPECT_EQ(values(10), 7);
  EXPECT_EQ(good_entries(file), 12u);
}

// Fields are added at any time, also right before a writer ends; every run has those of the runs before it.
TEST(ResumedWriter, GoesOnWithFieldsThatWereAddedLater) {
  using List = std::vector<std::int32_t>;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const MemoryFile root_file;
    const std::string uri = seed % 3 == 0 ? std::string(store) : root_file.uri();
    WriteOptions options{.container = seed % 3 == 1 ? Container::bare_file : Container::root_file};
    options.checkpoint_every.clusters = static_cast<std::uint32_t>(random() % 2);
    std::vector<std::uint64_t> begins{0};  // of list number k: the entry before which it was added
    std::uint64_t entries = 0;
    for (int run = 0; run < 5; ++run) {
      auto model = Model::create();
      std::vector<std::shared_ptr<List>> lists;
      // In another order than in the data set, too.
      for (std::size_t k = 0; k < begins.size(); ++k) {
        lists.push_back(model->make_field<List>("list" + std::to_string(k)));
        const std::string name = "list" + std::to_string(k);
        model->add_projected_field(
            make_field("n" + std::to_string(k), "ROOT::RNTupleCardinality<std::uint32_t>"),
            {{"n" + std::to_string(k), name}});
      }
      auto writer = run == 0 ? Writer::recreate(std::move(model), "Data", uri, options)
                             : Writer::resume(std::move(model), "Data", uri, options);
      ASSERT_EQ(writer->num_entries(), entries);
      for (int step = 0; step < 4; ++step) {
        if (random() % 3 == 0) {
          const std::string number = std::to_string(begins.size());
          begins.push_back(entries);
          lists.push_back(writer->extend<List>("list" + number));
          writer->extend_projected(make_field("n" + number, "ROOT::RNTupleCardinality<std::uint32_t>"),
                                   {{"n" + number, "list" + number}});
        }
        for (std::uint64_t count = random() % 4; count > 0; --count, ++entries) {
          for (std::size_t k = 0; k < lists.size(); ++k)
            lists[k]->assign((entries + k) % 3, static_cast<std::int32_t>(entries));
          writer->fill();
        }
        if (random() % 2 == 0) writer->commit_cluster();
      }
      if (random() % 2 == 0) writer->commit_data_set();
      writer->close();
      auto reader = Reader::open("Data", uri);
      ASSERT_EQ(reader->num_entries(), entries);
      for (std::size_t k = 0; k < begins.size(); ++k) {
        auto list = reader->view<List>("list" + std::to_string(k));
        auto size = reader->view<Cardinality<std::uint32_t>>("n" + std::to_string(k));
        for (std::uint64_t i = 0; i < entries; ++i) {
          const std::size_t count = i < begins[k] ? 0 : (i + k) % 3;
          ASSERT_EQ(list(i), List(count, static_cast<std::int32_t>(i))) << k << " " << i;
          ASSERT_EQ(std::uint64_t{size(i)}, count);
        }
      }
    }
    io::remove_memory_store(store);
  }
}

TEST(ResumedWriter, RefusesAnotherSchema) {
  const MemoryFile file;
  std::shared_ptr<std::int32_t> x;
  std::shared_ptr<std::vector<float>> v;
  auto writer = Writer::recreate(model_of(x, v), "Data", file);
  fill(*writer, *x, *v, 10);
  writer->close();
  auto other = Model::create();
  other->make_field<std::int64_t>("x");
  const Error error = error_of([&] { static_cast<void>(Writer::resume(std::move(other), "Data", file)); });
  EXPECT_EQ(error.kind(), ErrorKind::schema);
  EXPECT_THAT(error.problem(), ::testing::HasSubstr("the schema differs from that of the existing data set"));
  const auto missing = error_of([&] { static_cast<void>(Writer::resume(model_of(x, v), "Other", file)); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_EQ(good_entries(file), 10u);
}

// A data set whose writers are killed, resumed and closed in any order, with occasional repairs. Each entry
// has its number and that of its writer.
class Runs {
 public:
  Runs(unsigned seed, std::string uri) : random_(seed), uri_(std::move(uri)) {
    options_.container = random_() % 2 == 0 ? Container::root_file : Container::bare_file;
    options_.compression = random_() % 2 == 0 ? "none" : "zstd:1";
    // Behind other data, in a ROOT file.
    if (options_.container == Container::root_file && random_() % 2 == 0) {
      is_added_ = true;
      auto model = Model::create();
      const auto noise = model->make_field<std::uint64_t>("noise");
      auto writer = Writer::recreate(std::move(model), "Other", uri_, {.compression = "none"});
      for (int i = 0; i < 12000; ++i) {
        *noise = random_();
        writer->fill();
      }
      writer->close();
    }
  }

  void step() {
    run();
    if (random_() % 3 == 0) mend();
  }

  // Closes it, and checks that nothing needs repair.
  void finish() {
    mend();
    write(2, true);
    const Bytes before = io::memory_file_content(uri_);
    const RepairReport report = repair(uri_, "Data", {.dry_run = true});
    EXPECT_EQ(report.recovered_clusters, 0u);
    EXPECT_EQ(report.torn_records, 0u);
    EXPECT_TRUE(report.dropped.empty());
    EXPECT_FALSE(repair(uri_, "Data").written);
    EXPECT_EQ(io::memory_file_content(uri_), before);
    examine(committed_, committed_);
  }

 private:
  void run() { write(random_() % 7, random_() % 4 == 0); }

  void write(std::size_t clusters, bool closes) {
    options_.checkpoint_every.clusters = static_cast<std::uint32_t>(1 + random_() % 4);
    auto model = Model::create();
    const auto x = model->make_field<std::uint64_t>("x");
    const auto run = model->make_field<std::uint64_t>("run");
    ++run_;
    auto writer = run_ > 1    ? Writer::resume(std::move(model), "Data", uri_, options_)
                  : is_added_ ? Writer::add_to(std::move(model), "Data", uri_, options_)
                              : Writer::recreate(std::move(model), "Data", uri_, options_);
    ASSERT_EQ(writer->num_entries(), committed_);
    std::size_t since = 0;
    std::uint64_t written = committed_;
    for (std::size_t i = 0; i < clusters; ++i) {
      for (const std::uint64_t count = 1 + random_() % 5, end = written + count; written < end; ++written) {
        *x = written;
        *run = run_;
        runs_.resize(written + 1);
        runs_[written] = run_;
        writer->fill();
      }
      writer->commit_cluster();
      if (++since != options_.checkpoint_every.clusters) continue;
      since = 0;
      committed_ = written;
    }
    if (clusters > 0 || closes) latest_ = {run_, written};
    if (closes) {
      writer->close();
      committed_ = written;
      return examine(committed_, committed_);
    }
    const Bytes killed = io::memory_file_content(uri_);
    writer->discard();
    writer.reset();
    io::store_memory_file(uri_, killed);
    examine(committed_, committed_);
  }

  void mend() {
    const RepairReport report = repair(uri_, "Data");
    EXPECT_EQ(report.entries, committed_);
    EXPECT_TRUE(report.dropped.empty());
    // All entries of the latest writer, if it continued from the last checkpoint.
    const std::uint64_t expected = std::max(committed_, latest_.second);
    examine(expected, committed_);
    committed_ = expected;
    EXPECT_FALSE(repair(uri_, "Data").written);
  }

  void examine(std::uint64_t entries, std::uint64_t committed) {
    auto reader = Reader::open("Data", uri_);
    ASSERT_EQ(reader->num_entries(), entries);
    auto x = reader->view<std::uint64_t>("x");
    auto run = reader->view<std::uint64_t>("run");
    for (std::uint64_t i = 0; i < entries; ++i) {
      ASSERT_EQ(x(i), i);
      ASSERT_EQ(run(i), runs_[i]) << i << " of " << committed;
    }
  }

  std::mt19937 random_;
  std::string uri_;
  WriteOptions options_;
  bool is_added_ = false;
  std::uint64_t run_ = 0;
  std::uint64_t committed_ = 0;
  std::vector<std::uint64_t> runs_;  // by entry, as written last
  std::pair<std::uint64_t, std::uint64_t> latest_{
      0, 0};  // the last writer that wrote anything, and the end of its entries
};

TEST(ResumedWriter, LeavesNothingForRepairThatAnEarlierOneHadGivenUp) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    const MemoryFile file;
    Runs runs(seed, file.uri());
    for (int step = 0; step < 6; ++step) {
      runs.step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    runs.finish();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace colonnade
