// Several threads write blobs while another one commits and a reader opens the file: everything that a commit
// covers is readable, whatever the other threads have written by then.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "container/root_file/test_tools.h"

namespace colonnade::container {
namespace {

struct Blob {
  Locator place;
  unsigned seed = 0;
};

std::vector<Blob> write_blobs(WriteContainer& container, unsigned first, const std::atomic<bool>& stop) {
  std::vector<Blob> blobs;
  for (unsigned seed = first; !stop && seed < first + 2000; ++seed)
    blobs.push_back({container.write_blob(payload(300 + seed % 500, seed), 300 + seed % 500), seed});
  return blobs;
}

void run(ContainerKind kind, const std::string& path) {
  const std::string uri = "memory:container-threads.root";
  const auto container = create_container(uri, path, {.kind = kind});
  FakeDataSet data(*container);
  data.write(1);
  std::atomic<bool> stop = false;
  std::vector<std::vector<Blob>> blobs(3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < blobs.size(); ++t)
    threads.emplace_back([&, t] { blobs[t] = write_blobs(*container, 10000 * t, stop); });
  std::atomic<unsigned> committed = 1;
  threads.emplace_back([&] {
    while (!stop) {
      const unsigned before = committed;
      try {
        const auto reader = open_container(uri);
        EXPECT_GE(seed_of(*reader, reader->anchor(path)), before);
      } catch (const Error& error) {
        // The file grew between two reads; readers try again.
        EXPECT_TRUE(error.kind() == ErrorKind::format || error.kind() == ErrorKind::checksum) << error.what();
      }
    }
  });
  for (unsigned seed = 2; seed < 60; ++seed) {
    data.write(seed);
    committed = seed;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  data.write(60);
  container->close();
  const auto reader = open_container(uri);
  EXPECT_EQ(seed_of(*reader, reader->anchor(path)), 60u);
  for (const auto& of_thread : blobs)
    for (const Blob& blob : of_thread) {
      Bytes content(blob.place.size);
      reader->read_blob(blob.place, 0, content);
      ASSERT_EQ(content, payload(content.size(), blob.seed));
    }
  if (kind == ContainerKind::root_file) const Examination file(uri);
  io::remove_memory_file(uri);
}

TEST(ContainerThreads, OfARootFile) {
  run(ContainerKind::root_file, "Events");
}
TEST(ContainerThreads, OfAFolder) {
  run(ContainerKind::root_file, "dir/Events");
}
TEST(ContainerThreads, OfABareFile) {
  run(ContainerKind::bare_file, "Events");
}

}  // namespace
}  // namespace colonnade::container
