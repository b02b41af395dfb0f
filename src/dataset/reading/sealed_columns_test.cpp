// Sealed columns: pages decoded by hand equal a columnar read; inconsistent arguments are
// refused.
#include "colonnade/sealed_columns.h"

#include "codec/column_codec.h"
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

class SealedColumns : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = Model::create();
    const auto x = model->make_field<float>("x");
    const auto v = model->make_field<std::vector<std::int32_t>>("v");
    auto writer = Writer::recreate(std::move(model), "Data", file_.uri(),
                                   {.compression = "zstd:5", .initial_page_size = 64, .max_page_size = 256});
    for (int i = 0; i < 2000; ++i) {
      *x = static_cast<float>(i / 10);
      v->assign(static_cast<std::size_t>(i % 3), i);
      writer->fill();
      if (i % 800 == 799) writer->commit_cluster();
    }
    writer->close();
    reader_ = Reader::open("Data", file_.uri());
  }

  std::vector<std::byte> read(const SealedColumn& column) const {
    std::vector<std::byte> buffer(column.size);
    const std::span<std::byte> span(buffer);
    reader_->read_sealed({&column, 1}, {&span, 1});
    return buffer;
  }

  MemoryFile file_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(SealedColumns, DecodeToWhatAColumnarReadGives) {
  const std::vector<std::string> path = {"x"};
  std::vector<float> values;
  for (std::size_t cluster = 0; cluster < reader_->descriptor().clusters.size(); ++cluster) {
    const SealedColumn column = reader_->sealed_column(reader_->descriptor().find_field("x"), 0, cluster);
    EXPECT_EQ(column.element, ElementType::float32);
    EXPECT_EQ(column.compression, 505U);
    const std::vector<std::byte> buffer = read(column);
    reader_->verify_sealed(column, buffer);
    std::vector<std::byte> content(column.content_size);
    reader_->decompress_sealed(column, buffer, content);
    ByteSpan rest(content);
    for (const SealedPlace& page : column.pages) {
      EXPECT_EQ(page.position % 16, 0U);
      std::vector<float> elements(page.elements);
      codec::decode(column.encoding, rest.first(page.content_size), page.elements, ElementType::float32,
                    elements.data());
      values.insert(values.end(), elements.begin(), elements.end());
      rest = rest.subspan(page.content_size);
    }
    EXPECT_TRUE(rest.empty());
  }
  const std::vector<ColumnArray> expected = reader_->arrays(path, 0, reader_->num_entries());
  const std::span<const float> all = expected.at(0).view<float>();
  EXPECT_EQ(values, std::vector<float>(all.begin(), all.end()));
}

TEST_F(SealedColumns, SeveralColumnsAreReadAtOnce) {
  const Descriptor& descriptor = reader_->descriptor();
  std::vector<SealedColumn> columns;
  for (const std::string path : {"x", "v", "v._0"})
    columns.push_back(reader_->sealed_column(descriptor.find_field(path), 0, 1));
  columns.push_back(reader_->sealed_column(descriptor.find_field("x"), 0, 2));
  std::vector<std::vector<std::byte>> buffers;
  for (const SealedColumn& column : columns) buffers.emplace_back(column.size);
  std::vector<std::span<std::byte>> spans(buffers.begin(), buffers.end());
  reader_->read_sealed(columns, spans);
  for (std::size_t i = 0; i < columns.size(); ++i) EXPECT_EQ(buffers[i], read(columns[i])) << i;
}

TEST_F(SealedColumns, DamageIsFound) {
  const SealedColumn column = reader_->sealed_column(reader_->descriptor().find_field("v"), 0, 0);
  std::vector<std::byte> buffer = read(column);
  buffer[column.pages.back().position] ^= std::byte{1};
  const Error error = error_of([&] { reader_->verify_sealed(column, buffer); });
  EXPECT_EQ(error.kind(), ErrorKind::checksum);
  EXPECT_EQ(error.context().page, column.pages.size() - 1);
  EXPECT_EQ(error.context().field, "v");
}

TEST_F(SealedColumns, WhatDoesNotBelongTogetherIsRefused) {
  const std::uint32_t field = reader_->descriptor().find_field("x");
  const SealedColumn column = reader_->sealed_column(field, 0, 0);
  const auto kind_of = [](auto&& work) { return error_of(work).kind(); };
  EXPECT_EQ(kind_of([&] { (void)reader_->sealed_column(field, 1, 0); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { (void)reader_->sealed_column(field, 0, 99); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { (void)reader_->sealed_column(99, 0, 0); }), ErrorKind::usage);
  std::vector<std::byte> buffer(column.size);
  const std::span<std::byte> span(buffer);
  const std::span<std::byte> less = span.first(span.size() - 1);
  EXPECT_EQ(kind_of([&] { reader_->read_sealed({&column, 1}, {&less, 1}); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { reader_->read_sealed({&column, 1}, {}); }), ErrorKind::usage);
  const std::vector<SealedColumn> twice = {column, column};
  const std::vector<std::span<std::byte>> spans = {span, span};
  EXPECT_EQ(kind_of([&] { reader_->read_sealed(twice, spans); }), ErrorKind::usage);
  for (const auto change : {&SealedPlace::position, &SealedPlace::size, &SealedPlace::content_size}) {
    SealedColumn other = column;
    other.pages.back().*change += 1000;
    EXPECT_EQ(kind_of([&] { reader_->verify_sealed(other, buffer); }), ErrorKind::usage);
    std::vector<std::byte> content(column.content_size);
    EXPECT_EQ(kind_of([&] { reader_->decompress_sealed(other, buffer, content); }), ErrorKind::usage);
  }
  SealedColumn other = column;
  other.column = 99;
  EXPECT_EQ(kind_of([&] { reader_->verify_sealed(other, buffer); }), ErrorKind::usage);
}

}  // namespace
}  // namespace colonnade
