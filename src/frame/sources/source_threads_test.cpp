// Several workers in one source at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dataset/test_values.h"
#include "frame/sources/source.h"

namespace colonnade::frame {
namespace {

using testing::MemoryFile;

class Workers : public ::testing::Test {
 protected:
  static constexpr int files = 3;
  static constexpr std::uint64_t entries = 20'000;  // per file
  Workers() {
    std::uint64_t entry = 0;
    for (const MemoryFile& file : files_) {
      auto model = Model::create();
      auto x = model->make_field<double>("x");
      auto v = model->make_field<std::vector<std::int32_t>>("v");
      auto writer =
          Writer::recreate(std::move(model), "Data", file,
                           {.compression = "lz4", .initial_page_size = 4096, .max_page_size = 4096});
      for (std::uint64_t i = 0; i < entries; ++i, ++entry) {
        *x = static_cast<double>(entry);
        v->assign(entry % 4, static_cast<std::int32_t>(entry));
        writer->fill();
        if (i % 3000 == 2999) writer->commit_cluster();
      }
      writer->close();
      uris_.push_back(file);
    }
  }

  // Idle threads take parts; values that are kept outlive the cursors.
  void run(const Source& source, std::span<const std::uint32_t> columns, unsigned threads) {
    std::vector<Part> parts;
    for (std::uint64_t first = 0; first < source.entries(); first += 2500)
      for (const Part& part : source.parts(first, std::min(first + 2500, source.entries())))
        parts.push_back(part);
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::vector<ValuesPtr>> kept(threads);
    std::vector<std::thread> workers;
    for (unsigned k = 0; k < threads; ++k)
      workers.emplace_back([&, k] {
        const auto cursor = source.open();
        BlockMemory memory;
        for (std::size_t p = next++; p < parts.size(); p = next++) {
          const Part& part = parts[p];
          cursor->start(part, std::span(parts).subspan(p + 1, p + 1 < parts.size() ? 1 : 0));
          for (std::uint64_t first = part.first; first < part.last; first += 512) {
            const Rows rows{first, std::min<std::uint64_t>(512, part.last - first), nullptr};
            const auto x = cursor->read(columns[0], rows, memory);
            const auto v = cursor->read(columns[1], rows, memory);
            for (std::size_t i = 0; i < rows.size; ++i) {
              const std::uint64_t entry = first + i;
              wrong += x->as<double>()[i] != static_cast<double>(entry);
              wrong += v->offsets[i + 1] - v->offsets[i] != static_cast<std::int64_t>(entry % 4);
              for (auto at = v->offsets[i]; at < v->offsets[i + 1]; ++at)
                wrong += v->items().as<std::int32_t>()[at] != static_cast<std::int32_t>(entry);
            }
            kept[k].push_back(x);
          }
        }
      });
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(wrong, 0u);
    double sum = 0;
    for (const auto& blocks : kept)
      for (const ValuesPtr& block : blocks)
        for (std::size_t i = 0; i < block->size; ++i) sum += block->as<double>()[i];
    const auto all = static_cast<double>(source.entries());
    EXPECT_EQ(sum, all * (all - 1) / 2);
  }

  MemoryFile files_[files];
  std::vector<std::string> uris_;
};

TEST_F(Workers, HaveACursorEach) {
  const auto source = open_chain("Data", uris_);
  const std::uint32_t columns[] = {*source->find("x"), *source->find("v")};
  for (const unsigned threads : {1u, 2u, 5u}) run(*source, columns, threads);
}

// Files are opened and closed while other workers read them.
TEST_F(Workers, ShareTheFilesOfALongChain) {
  std::vector<std::string> many;
  for (int i = 0; i < 30; ++i) many.insert(many.end(), uris_.begin(), uris_.begin() + 1);
  const std::string& last = uris_.back();
  while (many.size() < 70) many.push_back(last);
  const auto source = open_chain("Data", many);
  const std::uint32_t column = *source->find("x");
  std::vector<Part> parts = source->parts(0, source->entries());
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> read{0};
  std::vector<std::thread> workers;
  for (int k = 0; k < 4; ++k)
    workers.emplace_back([&] {
      const auto cursor = source->open();
      BlockMemory memory;
      for (std::size_t p = next++; p < parts.size(); p = next++) {
        cursor->start(parts[p], {});
        read += cursor->read(column, {parts[p].first, 300, nullptr}, memory)->size;
      }
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(read, 300 * parts.size());
}

}  // namespace
}  // namespace colonnade::frame
