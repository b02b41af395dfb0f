// Failing writes: a full disk at every byte, values that cannot be stored, misuse, refused targets. Earlier
// commits stay readable, and every error is reported.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

class LocalFile {
 public:
  LocalFile()
      : path_(std::filesystem::temp_directory_path() /
              ("colonnade-failure-test-" + std::to_string(::getpid()) + ".root")) {}
  ~LocalFile() { std::filesystem::remove(path_); }
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Limits the files of this process to `bytes`: like a full disk, at an exact byte.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

std::unique_ptr<Writer> make_writer(const std::string& uri,
                                    const WriteOptions& options = {.compression = "none"}) {
  auto model = Model::create();
  model->make_field<std::int64_t>("x");
  model->make_field<std::vector<int>>("v")->assign(3, 5);
  return Writer::recreate(std::move(model), "Data", uri, options);
}

void fill(Writer& writer, int entries) {
  auto x = writer.model().default_entry().ptr<std::int64_t>("x");
  for (int i = 0; i < entries; ++i) {
    *x = static_cast<std::int64_t>(writer.num_entries());
    writer.fill();
  }
}

void expect_entries(const std::string& uri, std::uint64_t entries) {
  auto reader = Reader::open("Data", uri);
  ASSERT_EQ(reader->num_entries(), entries);
  auto x = reader->view<std::int64_t>("x");
  auto v = reader->view<std::vector<int>>("v");
  for (std::uint64_t i = 0; i < entries; ++i) {
    ASSERT_EQ(x(i), static_cast<std::int64_t>(i));
    ASSERT_EQ(v(i), std::vector<int>(3, 5));
  }
}

TEST(WriterFailures, AFullDiskIsReportedAndTheLastCommitStays) {
  for (const auto& [container, direct] : {std::pair{Container::root_file, false},
                                          {Container::bare_file, false},
                                          {Container::root_file, true}}) {
    const LocalFile file;
    const WriteOptions options{.compression = "none", .container = container, .direct_io = direct};
    std::uint64_t committed_size = 0, whole_size = 0;
    {
      auto writer = make_writer(file.name(), options);
      fill(*writer, 20);
      writer->commit_data_set();
      committed_size = std::filesystem::file_size(file.name());
      fill(*writer, 20);
      writer->close();
      whole_size = std::filesystem::file_size(file.name());
    }
    int failures = 0;
    for (std::uint64_t space = committed_size; space < whole_size; space += 7) {
      std::filesystem::remove(file.name());  // replacing it would synchronise the device
      {
        auto writer = make_writer(file.name(), options);
        fill(*writer, 20);
        writer->commit_data_set();
        fill(*writer, 20);
        const FullDisk full(space);
        const Error error = error_of([&] { writer->close(); });
        EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
        EXPECT_EQ(error.context().uri, file.name());
        EXPECT_EQ(error.context().data_set, "Data");
        ++failures;
        EXPECT_EQ(error_of([&] { writer->fill(); }).problem(),
                  "an earlier write failed, so nothing can be added any more: " + error.problem());
        EXPECT_EQ(error_of([&] { writer->close(); }).kind(), ErrorKind::usage);
      }
      if (container == Container::root_file) expect_entries(file.name(), 20);
      if (HasFailure()) return;
    }
    EXPECT_GT(failures, 20);
  }
}

TEST(WriterFailures, NoRoomForTheFirstByte) {
  const LocalFile file;
  const FullDisk full(0);
  const Error error = error_of([&] { make_writer(file.name()); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.context().uri, file.name());
}

TEST(WriterFailures, AddingToAFileThatBecomesFullLeavesItsDataSets) {
  const LocalFile file;
  {
    auto writer = make_writer(file.name());
    fill(*writer, 30);
    writer->close();
  }
  const std::uint64_t size = std::filesystem::file_size(file.name());
  for (std::uint64_t more = 0; more < 2000; more += 111) {
    {
      const FullDisk full(size + more);
      try {
        auto model = Model::create();
        auto text = model->make_field<std::string>("text");
        auto writer = Writer::add_to(std::move(model), "Second", file.name(), {.compression = "none"});
        text->assign(3000, 'x');
        writer->fill();
        writer->close();
        ADD_FAILURE() << "there was room";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_EQ(error.context().data_set, "Second");
      }
    }
    EXPECT_EQ(data_sets(file.name()), std::vector<std::string>{"Data"});
    expect_entries(file.name(), 30);
    if (HasFailure()) return;
  }
}

TEST(WriterFailures, TheDestructorCommitsAndReportsFailuresOnStandardError) {
  const LocalFile file;
  {
    auto writer = make_writer(file.name());
    fill(*writer, 7);
  }
  expect_entries(file.name(), 7);

  auto writer = make_writer(file.name());
  fill(*writer, 7);
  ::testing::internal::CaptureStderr();
  {
    // Room for the test's output, not for the rest of the file.
    const FullDisk full(1000);
    writer.reset();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("colonnade: a writer was destroyed without close(), and closing it failed: "), 0u)
      << said;
  EXPECT_NE(said.find(file.name()), std::string::npos) << said;
}

TEST(WriterFailures, AnExceptionOnItsWayKeepsTheDestructorFromCommitting) {
  const MemoryFile file;
  auto first = make_writer(file);
  fill(*first, 2);
  first->commit_data_set();
  first->close();
  try {
    auto model = Model::create();
    model->make_field<int>("y");
    auto writer = Writer::add_to(std::move(model), "Half", file);
    writer->fill();
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(data_sets(file), std::vector<std::string>{"Data"});
  expect_entries(file, 2);
}

TEST(WriterFailures, DiscardingDropsWhatIsNotCommitted) {
  const LocalFile file;
  auto writer = make_writer(file.name());
  fill(*writer, 20);
  writer->commit_data_set();
  fill(*writer, 20);
  writer->commit_cluster();
  fill(*writer, 5);
  writer->discard();
  expect_entries(file.name(), 20);
  EXPECT_EQ(error_of([&] { writer->fill(); }).problem(), "the writer is closed");
  writer->close();
  writer->discard();
  // Others can lock the file.
  fill(*make_writer(file.name()), 3);
  expect_entries(file.name(), 3);
}

TEST(WriterFailures, AfterCloseNothingCanBeAddedAndClosingAgainIsAllowed) {
  const MemoryFile file;
  auto writer = make_writer(file);
  fill(*writer, 3);
  writer->close();
  writer->close();
  const auto closed = [&](auto&& work) {
    const Error error = error_of(work);
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.problem(), "the writer is closed");
    EXPECT_EQ(error.context().uri, file.uri());
  };
  closed([&] { writer->fill(); });
  closed([&] { writer->append({}); });
  closed([&] { writer->flush_columns(); });
  closed([&] { writer->commit_cluster(); });
  closed([&] { writer->commit_data_set(); });
  closed([&] { writer->extend<int>("late"); });
  closed([&] { writer->extend("late", "int"); });
  closed([&] { writer->extend_projected<std::int64_t>("late", {{"late", "x"}}); });
  EXPECT_EQ(writer->num_entries(), 3u);
  expect_entries(file, 3);
}

TEST(WriterFailures, ASecondWriterOnTheFileIsRefused) {
  const LocalFile local;
  const MemoryFile memory;
  for (const std::string& uri : {local.name(), memory.uri()}) {
    auto writer = make_writer(uri);
    fill(*writer, 4);
    writer->commit_data_set();
    for (const bool recreate : {true, false}) {
      const Error error = error_of([&] {
        recreate ? Writer::recreate(Model::create(), "Other", uri)
                 : Writer::add_to(Model::create(), "Other", uri);
      });
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(error.context().uri, uri);
      EXPECT_NE(error.problem().find("another"), std::string::npos) << error.problem();
    }
    fill(*writer, 4);
    writer->close();
    expect_entries(uri, 8);
    EXPECT_NO_THROW(Writer::add_to(Model::create(), "Other", uri)->close());
  }
}

TEST(WriterFailures, ANewFileReplacesNothing) {
  const auto make = [](const std::string& uri, const WriteOptions& options) {
    auto model = Model::create();
    model->make_field<std::int64_t>("x");
    model->make_field<std::vector<int>>("v")->assign(3, 5);
    return Writer::create(std::move(model), "Data", uri, options);
  };
  for (const Container container : {Container::root_file, Container::bare_file}) {
    const LocalFile file;
    const WriteOptions options{.compression = "none", .container = container};
    {
      auto writer = make(file.name(), options);
      fill(*writer, 3);
      // A program that takes no lock.
      std::filesystem::copy_file("/proc/self/exe", file.name());
      EXPECT_EQ(error_of([&] { writer->close(); }).kind(), ErrorKind::io);
    }
    EXPECT_EQ(std::filesystem::file_size(file.name()), std::filesystem::file_size("/proc/self/exe"));
    std::filesystem::remove(file.name());
    {
      auto writer = make(file.name(), options);
      fill(*writer, 5);
      writer->close();
    }
    const Error error = error_of([&] { make(file.name(), options); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.context().uri, file.name());
    expect_entries(file.name(), 5);
  }
}

TEST(WriterFailures, TargetsThatCannotBeWrittenAreNamed) {
  const auto refused = [](const std::string& uri, ErrorKind kind) {
    const Error error = error_of([&] { make_writer(uri); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.context().uri, uri);
    EXPECT_EQ(error.context().data_set, "Data");
  };
  refused("/no/such/directory/f.root", ErrorKind::not_found);
  refused(std::filesystem::temp_directory_path().string(), ErrorKind::io);
  refused("gopher://host/f.root", ErrorKind::unsupported);
  const Error missing = error_of([&] { Writer::add_to(Model::create(), "Data", "memory:never-written"); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  const MemoryFile text;
  text.store(as_bytes(
      "this is no ROOT file, but it is long enough to be one: ............................................"));
  const Error other = error_of([&] { Writer::add_to(Model::create(), "Data", text); });
  EXPECT_EQ(other.kind(), ErrorKind::format);
  EXPECT_EQ(text.content().size(), 99u);
}

TEST(WriterFailures, AFailureInTheMiddleOfAnEntryEndsTheWriter) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<int>("first");
  auto half = model->make_field<float>("half");
  model->field("half").set_quantized(0, 1, 8);
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  writer->fill();
  writer->commit_data_set();
  *half = 5;
  const Error error = error_of([&] {
    for (int i = 0; i < 1000; ++i) writer->fill();
  });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.context().field, "half");
  EXPECT_EQ(error.context().column, 1u);
  EXPECT_EQ(error.context().uri, file.uri());
  EXPECT_THROW(writer->commit_cluster(), Error);
  writer.reset();
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), 1u);
}

}  // namespace
}  // namespace colonnade
