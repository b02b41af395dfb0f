// Writing to files that appear when they are closed, as in S3: only their head is written twice, no matter
// what was committed meanwhile, and a writer without close() leaves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <vector>

#include "container/bare_file/writer.h"
#include "container/root_file/test_tools.h"
#include "container/root_file/writer.h"

namespace colonnade::container {
namespace {

using testing::ElementsAre;

const std::string uri = "memory:closing.root";
constexpr std::uint64_t head_size = 4096;

// Becomes the memory file when it is closed. Rewriting bytes after the head is an error.
class ClosingFile final : public io::WritableFile, public io::ClosingAgain {
 public:
  explicit ClosingFile(bool& discarded, int failing = 0) : failing_(failing), discarded_(discarded) {}
  const std::string& uri() const noexcept override { return container::uri; }
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t, MutableByteSpan) const override {
    throw Error(ErrorKind::unsupported, "what is written cannot be read yet");
  }
  void write(std::uint64_t offset, ByteSpan bytes) override {
    const std::lock_guard lock(mutex_);
    const std::size_t end = offset + bytes.size();
    bytes_.resize(std::max(bytes_.size(), end));
    given_.resize(bytes_.size());
    for (std::size_t at = std::max(offset, head_size); at < end; ++at) {
      if (given_[at]) ADD_FAILURE() << "byte " << at << " is written again";
      given_[at] = true;
    }
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void truncate(std::uint64_t size) override { EXPECT_GE(size, bytes_.size()); }
  void sync() override {}
  void close() override {
    if (failing_ > 0) {
      --failing_;
      has_failed_ = true;
      throw Error(ErrorKind::io, "the server is gone");
    }
    has_failed_ = false;
    io::store_memory_file(container::uri, bytes_);
  }
  bool may_close_again() const noexcept override { return has_failed_; }
  bool appears_at_close() const noexcept override { return true; }
  void discard() noexcept override { discarded_ = true; }

 private:
  std::mutex mutex_;
  Bytes bytes_;
  std::vector<bool> given_;
  int failing_;  // so many calls of close() fail
  bool has_failed_ = false;
  bool& discarded_;
};

class ClosingFiles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { io::remove_memory_file(uri); }
  std::unique_ptr<WriteContainer> create(int failing = 0) {
    auto file = std::make_unique<ClosingFile>(discarded_, failing);
    if (GetParam() == "bare") return std::make_unique<BareFileWriter>(std::move(file), "bare", options_);
    return RootFileWriter::create(std::move(file), GetParam(), options_);
  }

  const ContainerOptions options_;
  bool discarded_ = false;
};

TEST_P(ClosingFiles, AreWrittenFromFrontToBackWithManyCommits) {
  const auto container = create();
  FakeDataSet data(*container);
  for (unsigned seed = 1; seed <= 10; ++seed) data.write(seed, 5000);
  EXPECT_THROW(open_container(uri), Error);
  container->close();
  const auto reader = open_container(uri);
  EXPECT_THAT(reader->data_sets(), ElementsAre(GetParam()));
  EXPECT_EQ(seed_of(*reader, reader->anchor(GetParam()), 5000), 10u);
  if (GetParam() != "bare") const Examination whole(uri);
}

TEST_P(ClosingFiles, DoNotAppearWhenTheyAreLeft) {
  const auto container = create();
  FakeDataSet(*container).write(1);
  container->abandon();
  EXPECT_TRUE(discarded_);
  container->close();
  EXPECT_THROW(open_container(uri), Error);
}

TEST_P(ClosingFiles, AreClosedAgainAfterAFailure) {
  const auto container = create(2);
  FakeDataSet(*container).write(7);
  EXPECT_FALSE(container->may_retry());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(container->close(), Error);
    EXPECT_TRUE(container->may_retry());
    EXPECT_THROW(open_container(uri), Error);
  }
  container->close();
  EXPECT_FALSE(container->may_retry());
  const auto reader = open_container(uri);
  EXPECT_EQ(seed_of(*reader, reader->anchor(GetParam())), 7u);
}

TEST_P(ClosingFiles, AreGivenUpAfterAFailure) {
  const auto container = create(1);
  FakeDataSet(*container).write(7);
  EXPECT_THROW(container->close(), Error);
  container->abandon();
  EXPECT_TRUE(discarded_);
  EXPECT_THROW(open_container(uri), Error);
}

// Such a file needs no journal: after a crash there is nothing to recover.
TEST_P(ClosingFiles, HaveNoJournal) {
  EXPECT_FALSE(create()->keeps_journal());
}

INSTANTIATE_TEST_SUITE_P(All, ClosingFiles, testing::Values("Events", "dir/sub/Events", "bare"),
                         [](const auto& kind) { return "Kind" + std::to_string(kind.index); });

TEST(OtherFiles, StayAsTheLastCommitLeftThem) {
  const auto container = create_container(uri, "Events", {});
  FakeDataSet(*container).write(3);
  container->abandon();
  const auto reader = open_container(uri);
  EXPECT_EQ(seed_of(*reader, reader->anchor("Events")), 3u);
}

}  // namespace
}  // namespace colonnade::container
