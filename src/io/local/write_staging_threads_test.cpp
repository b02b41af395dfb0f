// Many threads write pieces of all sizes through few windows, so that blocks are shared, evicted and
// rewritten; the file must have every byte.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "io/local/write_staging.h"
#include "io/local/write_test_tools.h"

namespace colonnade::io {
namespace {

using testing_tools::scrambled;

// A file with a staging of reduced limits.
class StagedFile {
 public:
  StagedFile(const std::string& name, const WriteStaging::Limits& limits)
      : path_((testing_tools::scratch() / name).string()),
        file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666)) {
    calls_.set_direct(file_, true);  // if refused, the same goes through the page cache
    staging_ = std::make_unique<WriteStaging>(calls_, file_, path_, 0, limits);
  }
  ~StagedFile() {
    staging_.reset();
    ::close(file_);
    ::unlink(path_.c_str());
  }
  WriteStaging& staging() { return *staging_; }
  void drop_cache() const { ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED); }
  const std::string& path() const { return path_; }

 private:
  WriteCalls calls_ = WriteCalls::of_system();
  std::string path_;
  int file_;
  std::unique_ptr<WriteStaging> staging_;
};

struct Piece {
  std::size_t offset = 0, size = 0;
};

// The range [0, size) in pieces, most of them smaller than a block, some over a window, in random order.
std::vector<Piece> pieces_of(std::size_t size, std::mt19937& random) {
  const std::vector<std::size_t> most{10, 100, 3000, 9000, 100'000, 6'000'000};
  std::vector<Piece> pieces;
  for (std::size_t offset = 0; offset < size;) {
    const std::size_t kind = std::discrete_distribution<std::size_t>{4, 4, 4, 4, 3, 0.2}(random);
    const std::size_t count = std::min(size - offset, 1 + random() % most[kind]);
    pieces.push_back({offset, count});
    offset += count;
  }
  // Not wholly random: neighbours are written at about the same time, as in practice.
  for (std::size_t i = 0; i < pieces.size(); i += 16)
    std::shuffle(pieces.begin() + static_cast<std::ptrdiff_t>(i),
                 pieces.begin() + static_cast<std::ptrdiff_t>(std::min(i + 16, pieces.size())), random);
  return pieces;
}

void write_in_threads(WriteStaging& staging, ByteSpan whole, const std::vector<Piece>& pieces) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < pieces.size(); i = next++) {
        const ByteSpan bytes = whole.subspan(pieces[i].offset, pieces[i].size);
        const std::array<ByteSpan, 3> parts{bytes.first(bytes.size() / 3), ByteSpan{},
                                            bytes.subspan(bytes.size() / 3)};
        staging.write(pieces[i].offset, parts);
        if (i % 200 == 0) staging.flush();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

void expect_same(ByteSpan found, ByteSpan expected) {
  ASSERT_EQ(found.size(), expected.size());
  if (std::memcmp(found.data(), expected.data(), found.size()) == 0) return;
  const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
  ASSERT_EQ(differs, found.end()) << "byte " << differs - found.begin();
}

TEST(WriteStaging, ThreadsThatShareBlocksLoseNothing) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    const std::size_t size = 9'000'000 + random() % 4'000'000;
    StagedFile file("shared", {.windows = 2, .open_blocks = 4, .threads = 1 + seed % 3});
    // Twice, so that the second round overwrites the file's content.
    for (unsigned round = 0; round < 2; ++round) {
      const Bytes whole = scrambled(size, 10 * seed + round);
      write_in_threads(file.staging(), whole, pieces_of(size, random));
      file.staging().flush();
      expect_same(testing_tools::content(file.path()), whole);
      file.drop_cache();
      expect_same(testing_tools::content(file.path()), whole);
      Bytes back(size);
      file.staging().read(0, back);
      expect_same(back, whole);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(WriteStaging, EachThreadReadsWhatItWrote) {
  StagedFile file("readers", {.windows = 3, .open_blocks = 8, .threads = 2});
  constexpr std::size_t stretch = 1'000'003;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      Bytes mine(stretch);
      file.staging().write(t * stretch, std::array{ByteSpan(mine)});
      for (int i = 0; i < 60; ++i) {
        const std::size_t first = random() % stretch;
        const std::size_t count =
            random() % std::min<std::size_t>(stretch - first, i % 2 == 0 ? 200 : 50'000);
        const MutableByteSpan piece = MutableByteSpan(mine).subspan(first, count);
        testing_tools::scramble(piece, random());
        file.staging().write(t * stretch + first, std::array{ByteSpan(piece)});
        Bytes back(stretch);
        if (i % 5 == 0) {
          file.staging().read(t * stretch, back);
          if (back != mine) ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace colonnade::io
