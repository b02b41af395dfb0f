// Memory of open clusters, lent and returned.
#include "page/page_memory.h"

#include <gtest/gtest.h>

#include <thread>

namespace colonnade::page {
namespace {

TEST(PageMemory, ASecondOneIsMadeOnlyWhileTheFirstIsHeld) {
  const auto pool = std::make_shared<PageMemoryPool>();
  auto first = pool->take();
  const PageMemory* const address = first.get();
  pool->lend(std::move(first)).reset();
  first = pool->take();
  EXPECT_EQ(first.get(), address);
  std::shared_ptr<void> held = pool->lend(std::move(first));
  auto second = pool->take();
  EXPECT_NE(second.get(), address);
  std::thread returns([&] { held.reset(); });
  first = pool->take();  // waits for it
  EXPECT_EQ(first.get(), address);
  returns.join();
}

}  // namespace
}  // namespace colonnade::page
