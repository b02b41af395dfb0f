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
class ClosingFile final : public io::WritableFile {
 public:
  explicit ClosingFile(bool& discarded) : discarded_(discarded) {}
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
  void close() override { io::store_memory_file(container::uri, bytes_); }
  bool appears_at_close() const noexcept override { return true; }
  void discard() noexcept override { discarded_ = true; }

 private:
  std::mutex mutex_;
  Bytes bytes_;
  std::vector<bool> given_;
  bool& discarded_;
};

class ClosingFiles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { io::remove_memory_file(uri); }
  std::unique_ptr<WriteContainer> create() {
    auto file = std::make_unique<ClosingFile>(discarded_);
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
