// Files that appear when they are closed, as over HTTP and in S3, if that fails: they are complete, so only
// closing them can be repeated.
#include <gmock/gmock.h>

#include "colonnade/attributes.h"
#include "container/root_file/writer.h"
#include "dataset/test_round_trip.h"
#include "dataset/writing/filler.h"
#include "dataset/writing/schema.h"
#include "io/closing_again.h"
#include "io/memory/memory_file.h"

namespace colonnade {
namespace {

using dataset::Filler, dataset::WriterState;
using testing::error_of;

const std::string uri = "memory:closing-writer.root";

class LateFile final : public io::WritableFile, public io::ClosingAgain {
 public:
  explicit LateFile(const bool& is_server_gone) : is_server_gone_(is_server_gone) {}
  const std::string& uri() const noexcept override { return colonnade::uri; }
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, MutableByteSpan into) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  }
  void write(std::uint64_t offset, ByteSpan bytes) override {
    bytes_.resize(std::max<std::size_t>(bytes_.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void truncate(std::uint64_t size) override { bytes_.resize(size); }
  void sync() override {}
  void close() override {
    has_failed_ = is_server_gone_;
    if (has_failed_) throw Error(ErrorKind::io, "the server is gone");
    io::store_memory_file(colonnade::uri, bytes_);
  }
  bool may_close_again() const noexcept override { return has_failed_; }
  bool appears_at_close() const noexcept override { return true; }
  void discard() noexcept override {}

 private:
  Bytes bytes_;
  const bool& is_server_gone_;
  bool has_failed_ = false;
};

TEST(ClosingAFile, IsAllThatIsLeftAfterItHasFailed) {
  io::remove_memory_file(uri);
  bool is_server_gone = true;
  const auto sink = std::make_shared<page::DataSetSink>(
      container::RootFileWriter::create(std::make_unique<LateFile>(is_server_gone), "Data", {}),
      WriteOptions{});
  sink->descriptor().name = "Data";
  Filler::Fields fields;
  fields.push_back(make_field<int>("x"));
  dataset::describe({fields[0].get()}, *sink, 0);
  sink->start();
  const auto state = std::make_shared<WriterState>(sink);
  Filler filler(state, fields, 0, [&](ClusterDescriptor cluster) { sink->add_cluster(std::move(cluster)); });
  filler.connect(*fields[0]);
  const std::vector<int> values{3, 1, 4};
  const NamedArray given{"x", values};
  filler.append(std::span(&given, 1));
  filler.commit_cluster();
  AttributeSetWriter* set = nullptr;
  const auto appender = dataset::add_before_commit(sink, [&](AttributeAppender& to) {
    auto model = Model::create();
    model->make_field<int>("row");
    set = &to.add_attribute_set(std::move(model), "rows");
  });
  set->add({0, 3});
  const auto close = [&] { state->finishing([&] { sink->close(); }); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(error_of(close).problem(), "the server is gone");
    EXPECT_TRUE(state->only_closing_failed());
    filler.commit_cluster();
    EXPECT_THAT(error_of([&] { filler.append(std::span(&given, 1)); }).problem(),
                ::testing::HasSubstr("nothing can be added now"));
    EXPECT_THAT(error_of([&] { set->add({1, 2}); }).problem(),
                ::testing::HasSubstr("nothing can be added now"));
  }
  is_server_gone = false;
  close();
  const auto reader = Reader::open("Data", uri);
  EXPECT_EQ(reader->num_entries(), 3u);
  EXPECT_EQ(reader->attribute_set("rows")->num_rows(), 1u);
}

}  // namespace
}  // namespace colonnade
