// Repair when memory is short: it fails, or recovers all that it would with more memory. A cluster that it
// took for damaged would be lost.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/test_folder.h"
#include "base/test_short_memory.h"
#include "colonnade/reader.h"
#include "colonnade/repair.h"
#include "colonnade/view.h"
#include "colonnade/writer.h"

namespace colonnade {
namespace {

using testing::ShortMemory;

constexpr std::int64_t clusters = 12;
constexpr std::int64_t per_cluster = 50;

// A file whose writer was killed after it wrote all clusters, behind a checkpoint without entries.
void make_crashed_file(const std::filesystem::path& to, const std::filesystem::path& open, Checksums sums) {
  auto model = Model::create();
  const auto number = model->make_field<std::int64_t>("number");
  WriteOptions options{.page_checksums = sums};
  options.checkpoint_every.clusters = 1u << 30;
  const auto writer = Writer::recreate(std::move(model), "Events", open, options);
  for (std::int64_t i = 0; i < clusters * per_cluster; ++i) {
    *number = i;
    writer->fill();
    if ((i + 1) % per_cluster == 0) writer->commit_cluster();
  }
  std::filesystem::copy_file(open, to);
}

class ShortMemoryRepair : public ::testing::TestWithParam<Checksums> {};

TEST_P(ShortMemoryRepair, LosesNoCluster) {
  const TestFolder folder;
  const std::filesystem::path crashed = folder.path() / "crashed.root";
  const std::filesystem::path file = folder.path() / "file.root";
  make_crashed_file(crashed, folder.path() / "open.root", GetParam());
  long allocations = 0;
  for (bool failed = true; failed; ++allocations) {
    std::filesystem::copy_file(crashed, file, std::filesystem::copy_options::overwrite_existing);
    try {
      const ShortMemory memory({.allocations = allocations});
      repair(file);
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::resource) << error.what();
    }
    failed = ShortMemory::failed();
    const RepairReport report = repair(file);
    EXPECT_EQ(report.entries + report.recovered_entries, clusters * per_cluster) << allocations;
    EXPECT_EQ(report.dropped.size(), 0) << allocations;
    const auto reader = Reader::open("Events", file.string());
    auto view = reader->view<std::int64_t>("number");
    ASSERT_EQ(reader->num_entries(), clusters * per_cluster) << allocations;
    for (std::int64_t i = 0; i < clusters * per_cluster; ++i)
      ASSERT_EQ(view(static_cast<std::uint64_t>(i)), i);
  }
  EXPECT_GT(allocations, 100);
}

INSTANTIATE_TEST_SUITE_P(Checksums, ShortMemoryRepair, ::testing::Values(Checksums::on, Checksums::off));

}  // namespace
}  // namespace colonnade
