// Writers in a forked child: it can neither write with them nor harm them, nor does it wait for threads that
// it does not have. The parent is not affected.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/test_child.h"
#include "base/test_folder.h"
#include "colonnade/parallel_writer.h"
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

struct Home {
  const char* name;
  const char* place;  // below a folder
  WriteOptions options;
};

std::vector<Home> homes() {
  const WriteOptions busy = {
      .compression = "zstd:3", .approximate_cluster_size = 256 << 10, .max_page_size = 4096};
  WriteOptions bare = busy, often = busy, plain = busy, direct = busy;
  bare.container = Container::bare_file;
  often.checkpoint_every = {.clusters = 1};
  plain.compression = "none";
  direct.direct_io = true;
  return {{"root file", "f.root", busy}, {"bare file", "f.ntuple", bare}, {"checkpoints", "c.root", often},
          {"plain", "p.root", plain},    {"direct", "d.root", direct},    {"store", "store", busy}};
}

std::string uri_in(const TestFolder& folder, const Home& home) {
  const std::string path = folder.path() / home.place;
  return std::string_view(home.place) == "store" ? "obj://" + path : path;
}

template <class Work>
bool is_refused(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage;
  }
  return false;
}

void expect_values(const std::string& uri, std::size_t entries) {
  const auto reader = Reader::open("Data", uri);
  ASSERT_EQ(reader->num_entries(), entries);
  auto view = reader->view<std::int64_t>("x");
  for (std::size_t i = 0; i < entries; ++i) ASSERT_EQ(view(i), static_cast<std::int64_t>(i * i)) << i;
}

TEST(WriterInAForkedChild, CanOnlyBeForgotten) {
  const TestFolder folder;
  for (const Home& home : homes()) {
    SCOPED_TRACE(home.name);
    const std::string uri = uri_in(folder, home);
    auto model = Model::create();
    const auto x = model->make_field<std::int64_t>("x");
    auto writer = Writer::recreate(std::move(model), "Data", uri, home.options);
    std::int64_t next = 0;
    const auto fill = [&](int count) {
      for (int i = 0; i < count; ++i, ++next) {
        *x = next * next;
        writer->fill();
      }
    };
    for (int round = 0; round < 5; ++round) {
      fill(20'000 + 777 * round);
      EXPECT_EQ(status_of_child([&] { return is_refused([&] { fill(1'000'000); }) ? 7 : 1; }), 7);
      EXPECT_EQ(status_of_child([&] { return is_refused([&] { writer->commit_data_set(); }) ? 7 : 1; }), 7);
      EXPECT_EQ(status_of_child([&] { return is_refused([&] { writer->close(); }) ? 7 : 1; }), 7);
      EXPECT_EQ(status_of_child([&] {
                  writer.reset();
                  return 7;
                }),
                7);
      if (round == 2) writer->commit_data_set();
    }
    writer->close();
    expect_values(uri, static_cast<std::size_t>(next));
  }
}

// A long-lived child has copies of all locks.
TEST(WriterInAForkedChild, HoldsNoLockOfWhatIsClosed) {
  const TestFolder folder;
  for (const Home& home : homes()) {
    SCOPED_TRACE(home.name);
    const std::string uri = uri_in(folder, home);
    std::vector<pid_t> children;
    for (int round = 0; round < 4; ++round) {
      auto model = Model::create();
      const auto x = model->make_field<std::int64_t>("x");
      const auto writer = Writer::recreate(std::move(model), "Data", uri, home.options);
      for (std::int64_t i = 0; i < 1000; ++i) {
        *x = i * i;
        writer->fill();
      }
      writer->commit_data_set();
      children.push_back(::fork());
      if (children.back() == 0) {
        ::alarm(60);
        ::pause();
        ::_exit(0);
      }
      writer->close();
      expect_values(uri, 1000);
    }
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
}

TEST(ParallelWriterInAForkedChild, CanOnlyBeForgotten) {
  const TestFolder folder;
  for (const Home& home : homes()) {
    SCOPED_TRACE(home.name);
    const std::string uri = uri_in(folder, home);
    auto model = Model::create();
    model->make_field<std::int64_t>("x");
    auto writer = ParallelWriter::recreate(std::move(model), "Data", uri, home.options);
    auto context = writer->make_fill_context();
    auto entry = context->make_entry();
    const auto x = entry->ptr<std::int64_t>("x");
    std::int64_t next = 0;
    const auto fill = [&](int count) {
      for (int i = 0; i < count; ++i, ++next) {
        *x = next * next;
        context->fill(*entry);
      }
    };
    for (int round = 0; round < 3; ++round) {
      fill(30'000);
      EXPECT_EQ(status_of_child([&] { return is_refused([&] { fill(1'000'000); }) ? 7 : 1; }), 7);
      EXPECT_EQ(status_of_child([&] {
                  context.reset();
                  writer.reset();
                  return 7;
                }),
                7);
    }
    context->close();
    writer->close();
    expect_values(uri, static_cast<std::size_t>(next));
  }
}

}  // namespace
}  // namespace colonnade
