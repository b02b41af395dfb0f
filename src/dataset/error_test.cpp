// The exact messages of the main errors, with URI, data set, field, column, cluster, page and
// offset.
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

// Two clusters with two pages of 16 numbers each; returns the position of page `page` of cluster 1.
class Damage : public ::testing::Test {
 protected:
  void write(const WriteOptions& options) {
    auto model = Model::create();
    auto first = model->make_field<std::int32_t>("first");
    auto v = model->make_field<std::vector<std::int32_t>>("v");
    auto writer = Writer::recreate(std::move(model), "dir/Data", file_, options);
    for (int i = 0; i < 64; ++i) {
      *first = i * i;
      v->assign(1, i * i * i);
      writer->fill();
      if (i == 31) writer->commit_cluster();
    }
    writer->close();
    const auto reader = Reader::open("dir/Data", file_);
    // Column 2 holds the items.
    page_ = reader->descriptor().clusters[1].columns[2].pages.at(1);
    anchor_ = reader->descriptor().anchor;
    list_ = reader->descriptor().cluster_groups[0].page_list.locator;
  }
  void flip(std::uint64_t offset) {
    Bytes content = file_.content();
    content[offset] ^= std::byte{0x40};
    file_.store(content);
  }
  static WriteOptions small_pages(const char* compression) {
    return {.compression = compression, .initial_page_size = 64, .max_page_size = 64};
  }
  std::string place(const std::string& rest) const {
    return "[uri=" + file_.uri() + ", data set=dir/Data" + rest + "]";
  }

  MemoryFile file_;
  PageDescriptor page_;
  Anchor anchor_;
  Locator list_;
};

TEST_F(Damage, OfAPageNamesItsWholePlace) {
  write(small_pages("none"));
  flip(page_.locator.offset + 5);
  const std::string where =
      place(", field=v._0, column=2, cluster=1, page=1, offset=" + std::to_string(page_.locator.offset));
  const auto check = [&](auto&& read) {
    const Error error = error_of(read);
    EXPECT_EQ(error.kind(), ErrorKind::checksum);
    EXPECT_EQ(error.problem().find("the page's checksum is 0x"), 0u) << error.problem();
    EXPECT_NE(error.problem().find(": the data is damaged"), std::string::npos) << error.problem();
    EXPECT_EQ(error.advice(), "restore the file from another copy");
    const std::string what = error.what();
    EXPECT_EQ(what.substr(what.find('[')), where);
    EXPECT_EQ(error.context().uri, file_.uri());
    EXPECT_EQ(error.context().data_set, "dir/Data");
    EXPECT_EQ(error.context().field, "v._0");
    EXPECT_EQ(error.context().column, 2u);
    EXPECT_EQ(error.context().cluster, 1u);
    EXPECT_EQ(error.context().page, 1u);
    EXPECT_EQ(error.context().offset, page_.locator.offset);
  };
  auto reader = Reader::open("dir/Data", file_);
  const std::vector<std::string> paths = {"v"};
  check([&] { reader->view<std::vector<int>>("v")(63); });
  check([&] { reader->view<int>("v._0")(63); });
  check([&] { reader->view<int>("v._0").bulk(0, 64); });
  check([&] { reader->view<std::vector<int>>("v").bulk(0, 64); });
  check([&] { reader->view("v")(63); });
  check([&] { reader->load_entry(63); });
  check([&] { reader->arrays(paths, 0, 64); });
  check([&] { reader->entry_text(50); });
  check([&] { reader->verify(); });
  EXPECT_EQ(reader->view<std::vector<int>>("v")(47), std::vector<int>(1, 47 * 47 * 47))
      << "the page before is whole";
  EXPECT_EQ(reader->view<int>("first")(63), 63 * 63);
  EXPECT_EQ(Reader::open("dir/Data", file_, {.page_checksums = Checksums::off})->view<int>("v._0")(50),
            50 * 50 * 50);
}

TEST_F(Damage, OfACompressedPageWithoutChecksums) {
  WriteOptions options = small_pages("zstd:5");
  options.max_page_size = 4096;
  options.initial_page_size = 4096;
  options.page_checksums = Checksums::off;
  auto model = Model::create();
  model->make_field<std::int64_t>("x");
  auto writer = Writer::recreate(std::move(model), "dir/Data", file_, options);
  for (int i = 0; i < 300; ++i) writer->fill();
  writer->close();
  auto reader = Reader::open("dir/Data", file_);
  const Locator locator = reader->descriptor().clusters[0].columns[0].pages[0].locator;
  flip(locator.offset);  // the compressor's tag
  const Error error = error_of([&] { reader->view<std::int64_t>("x")(0); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  const std::string what = error.what();
  EXPECT_EQ(what.substr(what.find('[')),
            place(", field=x, column=0, cluster=0, page=0, offset=" + std::to_string(locator.offset)));
}

TEST_F(Damage, OfEnvelopesAndAnchorNamesTheFile) {
  write(small_pages("none"));
  const Bytes whole = file_.content();
  const auto check = [&](std::uint64_t offset, ErrorKind kind, const std::string& problem,
                         const std::string& rest) {
    file_.store(whole);
    flip(offset);
    const Error error = error_of([&] { Reader::open("dir/Data", file_); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.problem().substr(0, problem.size()), problem);
    const std::string what = error.what();
    EXPECT_EQ(what.substr(what.find('[')), place(rest)) << what;
    EXPECT_NE(error.problem().find(" of the envelope)"), std::string::npos) << what;
  };
  check(anchor_.header_offset + 40, ErrorKind::checksum, "header: checksum is ",
        ", offset=" + std::to_string(anchor_.header_offset));
  check(anchor_.footer_offset + 40, ErrorKind::checksum, "footer: checksum is ",
        ", offset=" + std::to_string(anchor_.footer_offset));
  check(list_.offset + 40, ErrorKind::checksum, "page list: checksum is ",
        ", offset=" + std::to_string(list_.offset));
}

TEST_F(Damage, OfCollectionEndsWithoutChecksums) {
  WriteOptions options = small_pages("none");
  options.page_checksums = Checksums::off;
  write(options);
  auto reader = Reader::open("dir/Data", file_);
  const Locator ends = reader->descriptor().clusters[1].columns[1].pages[0].locator;
  flip(ends.offset + 7);
  const Error error = error_of([&] { reader->view<std::vector<int>>("v")(32); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_EQ(error.problem(), "collection 0 ends at item 4611686018427387905, but the cluster has 32");
  EXPECT_EQ(error.context().field, "v");
  EXPECT_EQ(error.context().cluster, 1u);
  const Error next = error_of([&] { reader->view<std::vector<int>>("v")(33); });
  EXPECT_EQ(next.problem(), "collection 1 of the cluster ends at 2 before it starts at 4611686018427387905");
  EXPECT_EQ(next.context().column, 1u);
}

TEST(Errors, AMissingDataSetIsNamedWithThoseThatAreThere) {
  const MemoryFile file;
  testing::write_values<int>(file.uri(), {1}, {});
  const Error error = error_of([&] { Reader::open("Dat", file); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.context().data_set, "Dat");
  EXPECT_NE(std::string(error.what()).find("\"Data\""), std::string::npos) << error.what();
}

TEST(Errors, FilesThatAreNone) {
  const MemoryFile file;
  file.store({});
  EXPECT_EQ(
      std::string(error_of([&] { Reader::open("Data", file); }).what()),
      "the file is empty; try: check that it is the right file and that it was transferred completely [uri=" +
          file.uri() + ", offset=0]");
  file.store(as_bytes("hello, world"));
  const Error error = error_of([&] { Reader::open("Data", file); });
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_EQ(error.problem(),
            "the file is neither a ROOT file nor a bare RNTuple file (its first bytes match neither)");
  EXPECT_EQ(error_of([&] { Reader::open("Data", "memory:none"); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { Reader::open("Data", "/no/such/file.root"); }).kind(), ErrorKind::not_found);
}

TEST(Errors, OfTypesNameFieldAndBothTypes) {
  const MemoryFile file;
  testing::write_values<std::vector<std::string>>(file.uri(), {{"a"}}, {});
  auto reader = Reader::open("Data", file);
  EXPECT_EQ(std::string(error_of([&] { reader->view<std::vector<int>>("x"); }).what()),
            "std::int32_t cannot be read from the stored type std::string; try: ask for the stored type or "
            "one that it converts to, see "
            "docs/schema-evolution.md [uri=" +
                file.uri() + ", data set=Data, field=x._0]");
  auto model = Model::create();
  model->make_field<int>("x");
  EXPECT_EQ(std::string(error_of([&] { Reader::open(std::move(model), "Data", file); }).what()),
            "std::int32_t cannot be read from the stored type std::vector<std::string>; try: ask for the "
            "stored type or one that it "
            "converts to, see docs/schema-evolution.md [uri=" +
                file.uri() + ", data set=Data, field=x]");
}

}  // namespace
}  // namespace colonnade
