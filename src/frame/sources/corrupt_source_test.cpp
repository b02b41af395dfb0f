// Damaged offsets: an error with the position, never a wrong value or unbounded memory.
#include <gmock/gmock.h>

#include <cstring>

#include "frame/sources/source_test_tools.h"

namespace colonnade::frame {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::MemoryFile;

class CorruptEnds : public ::testing::Test {
 protected:
  static constexpr std::uint64_t entries = 100;
  CorruptEnds() {
    auto model = Model::create();
    auto list = model->make_field<std::vector<std::vector<float>>>("list");
    auto text = model->make_field<std::string>("text");
    auto writer = Writer::recreate(std::move(model), "Data", file_,
                                   {.compression = "none", .page_checksums = Checksums::off});
    for (std::uint64_t i = 0; i < entries; ++i) {
      list->assign(i % 4, std::vector<float>(i % 3, 1.5f));
      text->assign(i % 5, 'x');
      writer->fill();
      if (i == 49) writer->commit_cluster();
    }
    writer->close();
  }

  // Overwrites element `index` of an index column in the second cluster.
  void damage(const std::string& field, std::uint64_t index, std::uint64_t end) {
    const auto reader = Reader::open("Data", file_);
    const Descriptor& descriptor = reader->descriptor();
    const std::uint32_t column =
        descriptor.fields[descriptor.find_field(field)].representations.front().front();
    ASSERT_EQ(descriptor.columns[column].encoding.type, ColumnType::index64);
    const PageDescriptor page = descriptor.clusters[1].columns[column].pages.front();
    Bytes content = file_.content();
    std::memcpy(content.data() + page.locator.offset + 8 * index, &end, 8);
    file_.store(content);
  }

  void expect_error(const std::string& path, const std::string& field) {
    const std::string& uri = file_;
    const auto source = open_chain("Data", std::span(&uri, 1));
    const std::uint32_t column = *source->find(path);
    std::vector<std::uint32_t> all(50);
    for (std::uint32_t i = 0; i < 50; ++i) all[i] = i;
    const std::uint32_t some[] = {1, 19, 20, 21, 40};
    for (const Rows& rows : {Rows{50, 50, nullptr}, Rows{50, 5, some}, Rows{40, 40, nullptr}}) {
      const auto cursor = source->open();
      BlockMemory memory;
      cursor->start({0, entries, 0}, {});
      const Error error = error_of([&] { cursor->read(column, rows, memory); });
      EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
      EXPECT_EQ(error.context().uri, uri);
      EXPECT_EQ(error.context().data_set, "Data");
      EXPECT_EQ(error.context().field, field);
      EXPECT_EQ(error.context().cluster, 1u);
      // The cursor continues with valid data.
      EXPECT_EQ(cursor->read(column, {0, 50, nullptr}, memory)->size, 50u);
    }
  }

  MemoryFile file_;
};

TEST_F(CorruptEnds, BeyondTheItems) {
  damage("list", 20, std::uint64_t{1} << 40);
  expect_error("list", "list");
}

TEST_F(CorruptEnds, BeyondEverything) {
  damage("list", 20, ~std::uint64_t{0});
  expect_error("list", "list");
}

TEST_F(CorruptEnds, OfCountsAlone) {
  damage("list", 20, ~std::uint64_t{0} - 7);
  expect_error("#list", "list");
}

TEST_F(CorruptEnds, ThatFall) {
  damage("list", 20, 3);
  expect_error("list", "list");
}

TEST_F(CorruptEnds, OfListsInLists) {
  damage("list._0", 30, 1 << 20);
  expect_error("list", "list._0");
}

TEST_F(CorruptEnds, OfTexts) {
  damage("text", 20, 1 << 30);
  expect_error("text", "text");
}

TEST_F(CorruptEnds, RowsBeyondTheDataSetAreAnError) {
  const std::string& uri = file_;
  const auto source = open_chain("Data", std::span(&uri, 1));
  const auto cursor = source->open();
  BlockMemory memory;
  cursor->start({0, entries, 0}, {});
  EXPECT_EQ(error_of([&] { cursor->read(*source->find("text"), {90, 20, nullptr}, memory); }).kind(),
            ErrorKind::usage);
}

// With any byte of the file changed: an error, or values of bounded size.
TEST_F(CorruptEnds, AnyByteMayBeWrong) {
  const Bytes sound = file_.content();
  testing::Random random(1);
  for (int turn = 0; turn < 400; ++turn) {
    Bytes content = sound;
    content[random() % content.size()] ^= static_cast<std::byte>(1 << random() % 8);
    file_.store(content);
    try {
      const std::string& uri = file_;
      const auto source = open_chain("Data", std::span(&uri, 1));
      std::vector<std::uint32_t> columns;
      for (const std::string& name : source->names()) columns.push_back(*source->find(name));
      const auto cursor = source->open();
      BlockMemory memory;
      for (const Part& part : source->parts(0, std::min<std::uint64_t>(source->entries(), 1000))) {
        cursor->start(part, {});
        for (std::uint64_t first = part.first; first < part.last; first += 16)
          for (const std::uint32_t column : columns) {
            const Rows rows{first, std::min<std::uint64_t>(16, part.last - first), nullptr};
            const auto values = cursor->read(column, rows, memory);
            for (std::size_t i = 0; i < values->size; ++i) static_cast<void>(bits_of(*values, i));
          }
      }
    } catch (const Error& error) {
      EXPECT_FALSE(error.problem().empty());
    }
  }
}

}  // namespace
}  // namespace colonnade::frame
