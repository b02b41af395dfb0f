// Sealing in the thread pool: the file is byte for byte the one that a single thread writes; errors are
// reported, and no work remains after the writer is destroyed. Run under ThreadSanitizer.
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;

struct Shape {
  const char* name;
  WriteOptions options;
};

std::vector<Shape> shapes() {
  const std::size_t kib = 1024;
  return {
      {"one cluster", {}},
      {"small pages and clusters",
       {.compression = "zstd:1", .approximate_cluster_size = 20 * kib, .max_page_size = 512}},
      {"no merging",
       {.compression = "lz4:1", .max_page_size = 256, .same_page_merging = SamePageMerging::off}},
      {"no checksums", {.compression = "zlib:1", .max_page_size = 256, .page_checksums = Checksums::off}},
      {"little memory", {.compression = "zstd:1", .max_page_size = 4 * kib, .page_buffer_budget = 16 * kib}},
      {"hardly any memory",
       {.compression = "zstd:1", .initial_page_size = 64, .max_page_size = kib, .page_buffer_budget = kib}},
      {"uncompressed", {.compression = "none", .max_page_size = 512}}};
}

// Some columns repeat themselves, so that pages are equal; some arrays are longer than a page.
void write(const std::string& uri, WriteOptions options, bool parallel) {
  options.container = Container::bare_file;  // contains no times and no random numbers
  options.parallel_sealing = parallel;
  auto model = Model::create();
  constexpr int copies = 6;
  std::vector<std::shared_ptr<float>> x;
  for (int i = 0; i < copies; ++i) x.push_back(model->make_field<float>("x" + std::to_string(i)));
  const auto v = model->make_field<std::vector<std::int64_t>>("v");
  const auto s = model->make_field<std::vector<std::string>>("s");
  const auto b = model->make_field<bool>("b");
  const auto writer = Writer::recreate(std::move(model), "Data", uri, options);
  testing::Random random(5);
  for (int i = 0; i < 6000; ++i) {
    for (int k = 0; k < copies; ++k)
      *x[static_cast<std::size_t>(k)] = k < 3 ? 1.5F : static_cast<float>(random() % 1000);
    v->assign(i % 1000 == 7 ? 3000 : random() % 4, i);
    s->assign(random() % 3, "text " + std::to_string(random() % 50));
    *b = random() % 5 == 0;
    writer->fill();
    if (i == 2500) writer->flush_columns();
    if (i == 4000) writer->commit_cluster();
  }
  writer->close();
}

TEST(ParallelSealing, WritesTheSameBytes) {
  for (const Shape& shape : shapes()) {
    const MemoryFile serial, parallel;
    write(serial, shape.options, false);
    write(parallel, shape.options, true);
    EXPECT_TRUE(serial.content() == parallel.content()) << shape.name;
    Reader::open("Data", parallel)->verify();
  }
}

TEST(ParallelSealing, WritesTheSameBytesFromArrays) {
  for (const Shape& shape : shapes()) {
    const MemoryFile serial, parallel;
    for (const MemoryFile* file : {&serial, &parallel}) {
      WriteOptions options = shape.options;
      options.container = Container::bare_file;
      options.parallel_sealing = file == &parallel;
      auto model = Model::create();
      model->make_field<double>("x");
      model->make_field<std::vector<std::int16_t>>("v");
      const auto writer = Writer::recreate(std::move(model), "Data", *file, options);
      for (const std::size_t entries : {20000u, 3u, 9000u}) {
        std::vector<double> x;
        std::vector<std::int64_t> offsets{0};
        std::vector<std::int16_t> v;
        for (std::size_t i = 0; i < entries; ++i) {
          x.push_back(static_cast<double>(i % 300));
          v.insert(v.end(), i % 5, static_cast<std::int16_t>(i));
          offsets.push_back(static_cast<std::int64_t>(v.size()));
        }
        writer->append({{"x", x}, {"v", ArrayView::offsets(offsets)}, {"v._0", v}});
      }
      writer->close();
    }
    EXPECT_TRUE(serial.content() == parallel.content()) << shape.name;
    EXPECT_EQ(Reader::open("Data", parallel)->num_entries(), 29003u);
  }
}

TEST(ParallelSealing, AValueThatDoesNotFitFailsTheWriter) {
  const MemoryFile file;
  auto model = Model::create();
  const auto x = model->make_field<float>("x");
  const auto y = model->make_field<float>("y");
  model->field("y").set_quantized(0, 1, 8);
  const auto writer =
      Writer::recreate(std::move(model), "Data", file,
                       {.initial_page_size = 64, .max_page_size = 64, .parallel_sealing = true});
  *y = 2;
  const Error error = error_of([&] {
    while (writer->num_entries() < 100000) writer->fill();
  });
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.context().field, "y");
  EXPECT_EQ(error.context().data_set, "Data");
  EXPECT_LT(writer->num_entries(), 100000u);
  EXPECT_EQ(error_of([&] { writer->close(); }).kind(), ErrorKind::usage);
}

TEST(ParallelSealing, AWriterDiscardedWhilePagesAreSealedDoesNotCrash) {
  for (int entries = 0; entries < 3000; entries += 150) {
    const MemoryFile file;
    auto model = Model::create();
    const auto x = model->make_field<std::vector<double>>("x");
    x->assign(20, 0.5);
    auto writer =
        Writer::recreate(std::move(model), "Data", file, {.max_page_size = 4096, .parallel_sealing = true});
    for (int i = 0; i < entries; ++i) {
      x->back() = i;
      writer->fill();
    }
    writer->discard();
  }
}

}  // namespace
}  // namespace colonnade
