// Several threads write one data set. Run under ThreadSanitizer.
#include <algorithm>
#include <barrier>
#include <thread>

#include "base/warning.h"
#include "colonnade/attributes.h"
#include "dataset/test_round_trip.h"
#include "page/cluster_journal.h"

namespace parallel_test {

// Determined by the numbers of the thread and the entry.
struct Event {
  std::int32_t thread = 0;
  std::int64_t number = 0;
  std::vector<std::string> names;
  std::vector<std::vector<float>> nested;
  std::optional<double> maybe;
  std::variant<int, std::string> choice;

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace parallel_test

namespace colonnade {
namespace {

using parallel_test::Event;
using testing::error_of;
using testing::MemoryFile;

Event make_event(int thread, std::int64_t number) {
  const auto n = static_cast<std::size_t>(number);
  Event event{.thread = thread, .number = number};
  event.names.assign(n % 3, "name " + std::to_string(thread * 1000 + number));
  for (std::size_t i = 0; i < n % 4; ++i) event.nested.emplace_back(i, static_cast<float>(number) / 2);
  if (n % 2 == 0) event.maybe = static_cast<double>(number) * thread;
  if (n % 5 == 0)
    event.choice = std::to_string(number);
  else
    event.choice = thread;
  return event;
}

std::unique_ptr<Model> event_model() {
  auto model = Model::create();
  model->make_field<Event>("event");
  return model;
}

// Clusters of a few hundred entries, pages of a few.
WriteOptions small_pieces() {
  return {.compression = "zstd:1",
          .approximate_cluster_size = 4000,
          .max_uncompressed_cluster_size = 30000,
          .initial_page_size = 64,
          .max_page_size = 512,
          .clusters_per_group = 5};
}

template <class Work>
void run_together(int threads, Work&& work) {
  std::barrier start(threads);
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << t << ": " << error.what();
      }
    });
}

void fill_events(FillContext& context, int thread, std::int64_t count) {
  const auto entry = context.make_entry();
  const auto event = entry->ptr<Event>("event");
  for (std::int64_t n = 0; n < count; ++n) {
    *event = make_event(thread, n);
    context.fill(*entry);
  }
}

// Each thread's events occur once, in their order; returns their number.
std::uint64_t expect_events(const std::string& uri, int threads) {
  auto reader = Reader::open("Data", uri);
  auto view = reader->view<Event>("event");
  std::vector<std::int64_t> next(static_cast<std::size_t>(threads), 0);
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
    const Event event = view(i);
    EXPECT_EQ(event.number, next.at(static_cast<std::size_t>(event.thread))++);
    EXPECT_EQ(event, make_event(event.thread, event.number));
    if (::testing::Test::HasFailure()) break;
  }
  reader->verify();
  return reader->num_entries();
}

// A descriptor without parts that vary between runs: the positions of pages.
std::string shape_of(const std::string& uri) {
  const auto reader = Reader::open("Data", uri);
  std::string text;
  for (const ClusterDescriptor& cluster : reader->descriptor().clusters) {
    text += "cluster " + std::to_string(cluster.first_entry) + "+" + std::to_string(cluster.entries);
    for (const ColumnRange& range : cluster.columns) {
      text += "\n  " + std::to_string(range.column) + " from " + std::to_string(range.first_element) + ":";
      for (const PageDescriptor& page : range.pages)
        text += " " + std::to_string(page.elements) + "/" + std::to_string(page.locator.size);
    }
    text += '\n';
  }
  return text;
}

TEST(ParallelWriter, EveryThreadsEntriesAreThere) {
  for (const auto container : {Container::root_file, Container::bare_file}) {
    for (const int threads : {1, 2, 4, 8}) {
      const MemoryFile file;
      WriteOptions options = small_pieces();
      options.container = container;
      auto writer = ParallelWriter::recreate(event_model(), "Data", file, options);
      run_together(threads, [&](int t) {
        const auto context = writer->make_fill_context();
        fill_events(*context, t, 700 + 10 * t);
        EXPECT_EQ(context->num_entries(), 700u + 10u * static_cast<unsigned>(t));
        if (t % 2 == 0) context->close();
      });
      writer->close();
      std::uint64_t expected = 0;
      for (int t = 0; t < threads; ++t) expected += 700 + 10 * static_cast<std::uint64_t>(t);
      EXPECT_EQ(writer->num_entries(), expected);
      EXPECT_EQ(expect_events(file, threads), expected);
      EXPECT_GT(Reader::open("Data", file)->descriptor().clusters.size(), static_cast<std::size_t>(threads));
    }
  }
}

TEST(ParallelWriter, StagedClustersGiveTheSameDataSetInEveryRun) {
  constexpr int threads = 4;
  std::string first;
  for (int run = 0; run < 5; ++run) {
    const MemoryFile file;
    WriteOptions options = small_pieces();
    options.cluster_order = ClusterOrder::staged;
    options.parallel_sealing = run % 2 == 1;
    auto writer = ParallelWriter::recreate(event_model(), "Data", file, options);
    std::vector<std::unique_ptr<FillContext>> contexts;
    for (int t = 0; t < threads; ++t) contexts.push_back(writer->make_fill_context());
    run_together(threads, [&](int t) {
      fill_events(*contexts[static_cast<std::size_t>(t)], t, 600);
      contexts[static_cast<std::size_t>(t)]->close();
    });
    writer->close();
    EXPECT_EQ(expect_events(file, threads), 2400u);
    auto view = Reader::open("Data", file)->view<Event>("event");
    for (std::uint64_t i = 0; i < 2400; ++i) ASSERT_EQ(view(i).thread, static_cast<int>(i / 600));
    if (run == 0) first = shape_of(file);
    EXPECT_EQ(shape_of(file), first);
  }
}

TEST(ParallelWriter, OneContextWritesWhatAWriterWrites) {
  const MemoryFile parallel, sequential;
  const auto writer = ParallelWriter::recreate(event_model(), "Data", parallel, small_pieces());
  const auto context = writer->make_fill_context();
  fill_events(*context, 3, 900);
  context->close();
  writer->close();

  auto model = Model::create();
  const auto event = model->make_field<Event>("event");
  const auto other = Writer::recreate(std::move(model), "Data", sequential, small_pieces());
  for (std::int64_t n = 0; n < 900; ++n) {
    *event = make_event(3, n);
    other->fill();
  }
  other->close();
  EXPECT_EQ(shape_of(parallel), shape_of(sequential));
}

TEST(ParallelWriter, StagedClustersAreMergedWhenAsked) {
  const MemoryFile file;
  WriteOptions options = small_pieces();
  options.cluster_order = ClusterOrder::staged;
  options.checkpoint_every = {.clusters = 1};
  const auto writer = ParallelWriter::recreate(event_model(), "Data", file, options);
  const auto first = writer->make_fill_context();
  const auto second = writer->make_fill_context();
  fill_events(*second, 1, 50);
  second->commit_cluster();
  EXPECT_EQ(writer->num_entries(), 50u);
  EXPECT_EQ(expect_events(file, 2), 0u);
  fill_events(*first, 0, 60);
  first->commit_cluster();
  writer->commit_staged();
  EXPECT_EQ(expect_events(file, 2), 110u);
  EXPECT_EQ(Reader::open("Data", file)->view<Event>("event")(0).thread, 0);
  first->close();
  second->close();
  writer->close();
  EXPECT_EQ(expect_events(file, 2), 110u);
}

TEST(ParallelWriter, CheckpointsAreReadableWhileOthersWrite) {
  constexpr int threads = 4;
  for (const auto container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    WriteOptions options = small_pieces();
    options.container = container;
    options.checkpoint_every = {.clusters = 3};
    const auto writer = ParallelWriter::recreate(event_model(), "Data", file, options);
    std::vector<std::uint64_t> seen(threads, 0);
    run_together(threads, [&](int t) {
      const auto context = writer->make_fill_context();
      const auto entry = context->make_entry();
      const auto event = entry->ptr<Event>("event");
      for (std::int64_t n = 0; n < 600; ++n) {
        *event = make_event(t, n);
        context->fill(*entry);
        if (t == 0 && n % 200 == 199) {
          const std::uint64_t now = expect_events(file, threads);
          EXPECT_GE(now, seen[0]);
          seen[0] = now;
        }
      }
    });
    EXPECT_GT(expect_events(file, threads), 0u);
    writer->close();
    EXPECT_EQ(expect_events(file, threads), 600u * threads);
    // The journal has every cluster, in order and without gaps.
    const auto reader = Reader::open("Data", file);
    const auto bytes = io::open_for_reading(file);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> clusters;
    page::scan_journal(*bytes, 0, reader->descriptor(), [&](page::JournalRecord&& record) {
      clusters.emplace_back(record.cluster.first_entry, record.cluster.entries);
    });
    std::sort(clusters.begin(), clusters.end());
    std::uint64_t next = 0;
    for (const auto& [begin, entries] : clusters) {
      EXPECT_EQ(begin, next);
      next += entries;
    }
    EXPECT_EQ(next, 600u * threads);
  }
}

TEST(ParallelWriter, ArraysAreAppendedByManyThreads) {
  constexpr int threads = 4;
  constexpr std::size_t count = 20000;
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<std::int32_t>("thread");
  model->make_field<std::vector<std::int64_t>>("numbers");
  const auto writer = ParallelWriter::recreate(std::move(model), "Data", file,
                                               {.compression = "none", .approximate_cluster_size = 100000});
  run_together(threads, [&](int t) {
    const std::vector<std::int32_t> thread(count, t);
    std::vector<std::int64_t> offsets{0}, numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers.insert(numbers.end(), i % 3, static_cast<std::int64_t>(i) * t);
      offsets.push_back(static_cast<std::int64_t>(numbers.size()));
    }
    const auto context = writer->make_fill_context();
    context->append({{"thread", thread}, {"numbers", ArrayView::offsets(offsets)}, {"numbers._0", numbers}});
    context->close();
  });
  writer->close();
  const auto reader = Reader::open("Data", file);
  EXPECT_EQ(reader->num_entries(), count * threads);
  auto thread = reader->view<std::int32_t>("thread");
  auto numbers = reader->view<std::vector<std::int64_t>>("numbers");
  std::vector<std::size_t> next(threads, 0);
  for (std::uint64_t i = 0; i < reader->num_entries(); ++i) {
    const std::size_t n = next.at(static_cast<std::size_t>(thread(i)))++;
    ASSERT_EQ(numbers(i), std::vector<std::int64_t>(n % 3, static_cast<std::int64_t>(n) * thread(i)));
  }
  EXPECT_GT(reader->descriptor().clusters.size(), 10u);
}

TEST(ParallelWriter, ContextsComeAndGo) {
  const MemoryFile file;
  const auto writer = ParallelWriter::recreate(event_model(), "Data", file, small_pieces());
  run_together(4, [&](int t) {
    for (int round = 0; round < 5; ++round) {
      const auto context = writer->make_fill_context();
      const auto entry = context->make_entry();
      const auto event = entry->ptr<Event>("event");
      for (std::int64_t n = round * 40; n < (round + 1) * 40; ++n) {
        *event = make_event(t, n);
        context->fill(*entry);
      }
    }
  });
  writer->close();
  EXPECT_EQ(expect_events(file, 4), 800u);
}

TEST(ParallelWriter, OpenContextsKeepItFromClosing) {
  const MemoryFile file;
  const auto writer = ParallelWriter::recreate(event_model(), "Data", file, small_pieces());
  auto context = writer->make_fill_context();
  auto other = writer->make_fill_context();
  fill_events(*context, 0, 10);
  other.reset();
  const Error error = error_of([&] { writer->close(); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.problem(), "1 of the writer's fill contexts is still open");
  context->close();
  EXPECT_EQ(error_of([&] { fill_events(*context, 0, 1); }).problem(), "the fill context is closed");
  writer->close();
  EXPECT_EQ(error_of([&] { writer->make_fill_context(); }).problem(), "the writer is closed");
  EXPECT_EQ(expect_events(file, 1), 10u);
}

TEST(ParallelWriter, WithoutCloseWhatIsWrittenIsCommitted) {
  std::string warned;
  const auto former = set_warning_handler([&](const std::string& message) { warned = message; });
  const MemoryFile file;
  auto writer = ParallelWriter::recreate(event_model(), "Data", file, small_pieces());
  auto done = writer->make_fill_context();
  fill_events(*done, 0, 10);
  done.reset();
  auto late = writer->make_fill_context();
  fill_events(*late, 1, 7);
  writer.reset();
  EXPECT_EQ(expect_events(file, 2), 10u);
  EXPECT_EQ(warned, "");
  EXPECT_EQ(error_of([&] { fill_events(*late, 1, 1); }).problem(), "the writer is closed");
  late.reset();
  EXPECT_NE(warned.find("7 entries of it are lost"), std::string::npos) << warned;
  set_warning_handler(former);
}

TEST(ParallelWriter, WhatIsDiscardedIsNotThere) {
  const MemoryFile file;
  const auto writer = ParallelWriter::recreate(event_model(), "Data", file, small_pieces());
  const auto context = writer->make_fill_context();
  fill_events(*context, 0, 10);
  context->commit_cluster();
  writer->commit_data_set();
  fill_events(*context, 0, 5);
  context->discard();
  const auto other = writer->make_fill_context();
  fill_events(*other, 0, 5);
  other->commit_cluster();
  writer->discard();
  EXPECT_EQ(error_of([&] { other->commit_cluster(); }).problem(), "the writer is closed");
  EXPECT_EQ(expect_events(file, 1), 10u);
}

TEST(ParallelWriter, AFailureInOneThreadEndsAll) {
  constexpr int threads = 4;
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<float>("x");
  model->field("x").set_quantized(0, 1, 8);
  const auto writer = ParallelWriter::recreate(std::move(model), "Data", file, small_pieces());
  {
    const auto context = writer->make_fill_context();
    const auto entry = context->make_entry();
    for (int i = 0; i < 20; ++i) context->fill(*entry);
    context->commit_cluster();
    writer->commit_data_set();
  }
  std::barrier filled(threads), failed(threads);
  std::atomic<int> first = 0, later = 0;
  std::string cause;
  run_together(threads, [&](int t) {
    const auto context = writer->make_fill_context();
    const auto entry = context->make_entry();
    *entry->ptr<float>("x") = t == 0 ? 2.F : 0.5F;
    for (int i = 0; i < 10; ++i) context->fill(*entry);
    filled.arrive_and_wait();
    if (t == 0) {
      const Error error = error_of([&] { context->commit_cluster(); });
      EXPECT_EQ(error.kind(), ErrorKind::conversion);
      EXPECT_EQ(error.context().field, "x");
      cause = error.problem();
      ++first;
    }
    failed.arrive_and_wait();
    if (error_of([&] { context->fill(*entry); }).problem() ==
        "an earlier write failed, so nothing can be added any more: " + cause)
      ++later;
  });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(later, threads);
  EXPECT_EQ(error_of([&] { writer->make_fill_context(); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([&] { writer->close(); }).kind(), ErrorKind::usage);
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 20u);
}

TEST(ParallelWriter, EntriesOfOtherModelsAndLateFieldsAreRefused) {
  const MemoryFile file, another;
  auto model = event_model();
  Model& kept = *model;
  const auto writer = ParallelWriter::recreate(std::move(model), "Data", file, small_pieces());
  EXPECT_EQ(error_of([&] { kept.make_field<int>("late"); }).problem(),
            "the model belongs to a reader or writer and takes no more fields");
  const auto other = ParallelWriter::recreate(event_model(), "Data", another, small_pieces());
  const auto entry = other->make_fill_context()->make_entry();
  const auto context = writer->make_fill_context();
  EXPECT_EQ(error_of([&] { context->fill(*entry); }).problem(), "the entry belongs to another model");
  const auto own = writer->make_fill_context()->make_entry();
  *own->ptr<Event>("event") = make_event(0, 0);
  context->fill(*own);
  context->close();
  writer->close();
  other->close();
  EXPECT_EQ(expect_events(file, 1), 1u);
}

TEST(ParallelWriter, AttributesAreAboutTheEntriesOfTheirContext) {
  constexpr int threads = 4;
  for (const ClusterOrder order : {ClusterOrder::as_written, ClusterOrder::staged}) {
    const MemoryFile file;
    WriteOptions options = small_pieces();
    options.cluster_order = order;
    options.checkpoint_every = {.clusters = 3};
    const auto writer = ParallelWriter::recreate(event_model(), "Data", file, options);
    auto fields = Model::create();
    fields->make_field<int>("thread");
    fields->make_field<std::int64_t>("round");
    ParallelAttributeSet& set = writer->add_attribute_set(std::move(fields), "rounds");
    EXPECT_EQ(set.name(), "rounds");
    run_together(threads, [&](int t) {
      const auto context = writer->make_fill_context();
      for (std::int64_t round = 0; round < 10; ++round) {
        const std::uint64_t first = context->num_entries();
        fill_events(*context, t, 60);
        auto values = set.make_entry();
        *values->ptr<int>("thread") = t;
        *values->ptr<std::int64_t>("round") = round;
        context->add_attributes(set, {first, context->num_entries()}, std::move(values));
      }
      context->close();
    });
    writer->close();

    const auto reader = Reader::open("Data", file);
    auto event = reader->view<Event>("event");
    const auto rows = reader->attribute_set("rounds");
    auto thread = rows->view<int>("thread");
    auto round = rows->view<std::int64_t>("round");
    std::vector<std::vector<int>> covered(threads, std::vector<int>(10, 0));
    for (const std::uint64_t row : rows->rows())
      for (const std::uint64_t entry : rows->range(row)) {
        ASSERT_EQ(event(entry).thread, thread(row));
        ++covered[static_cast<std::size_t>(thread(row))][static_cast<std::size_t>(round(row))];
      }
    for (const auto& rounds : covered) EXPECT_EQ(rounds, std::vector<int>(10, 60));
    EXPECT_GE(rows->num_rows(), 40u);
    EXPECT_TRUE(order != ClusterOrder::staged || rows->num_rows() == 40u);
    EXPECT_EQ(error_of([&] { writer->add_attribute_set(Model::create(), "late"); }).kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace colonnade
