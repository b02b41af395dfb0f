// PageList against a plain vector of pages: packed or not, in place or not, both hold the same.
#include "colonnade/page_list.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

#include "colonnade/descriptor.h"

namespace colonnade {
namespace {

PageDescriptor plain(std::uint32_t elements, std::uint64_t size, std::uint64_t offset) {
  return {
      .elements = elements, .has_checksum = elements % 2 == 0, .locator = {.size = size, .offset = offset}};
}

PageDescriptor in_object(std::uint32_t elements, std::uint64_t size, std::uint64_t location) {
  PageDescriptor page = plain(elements, size, location);
  page.locator.kind = Locator::Kind::object64;
  page.locator.raw_type = 2;
  return page;
}

// One page of each kind that cannot be packed.
PageDescriptor odd(unsigned kind) {
  PageDescriptor page = plain(3, 100, 200);
  switch (kind % 5) {
    case 0:
      page.locator.size = std::uint64_t{1} << 32;
      break;
    case 1:
      page.elements = 0x80000001U;
      break;
    case 2:
      page.locator.kind = Locator::Kind::object64;
      break;
    case 3:
      page.locator = {.kind = Locator::Kind::unknown, .raw_type = 9, .payload = "a place that nobody knows"};
      break;
    default:
      page.locator.reserved = 1;
      break;
  }
  return page;
}

void expect_same(const PageList& list, const std::vector<PageDescriptor>& pages) {
  ASSERT_EQ(list.size(), pages.size());
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    ASSERT_EQ(list[i], pages[i]) << i;
    elements += pages[i].elements;
  }
  EXPECT_EQ(list.elements(), elements);
  EXPECT_TRUE(std::equal(list.begin(), list.end(), pages.begin(), pages.end()));
}

TEST(PageList, OnePageTakesNoMemoryOfItsOwn) {
  EXPECT_LE(sizeof(PageList), 24u);
  EXPECT_LE(sizeof(ColumnRange), 48u);
}

TEST(PageList, KeepsTheLimitsOfWhatPacks) {
  PageList list;
  const PageDescriptor largest = plain(0x7fffffffU, 0xffffffffU, ~std::uint64_t{0});
  list.push_back(largest);
  list.push_back_plain(7, 8, 9, true);
  expect_same(list, {largest, {.elements = 9, .has_checksum = true, .locator = {.size = 8, .offset = 7}}});
  EXPECT_THROW(static_cast<void>(list.at(2)), std::out_of_range);
}

TEST(PageList, KeepsPagesThatDoNotPack) {
  for (unsigned kind = 0; kind < 5; ++kind) {
    PageList list{plain(1, 2, 3)};
    list.push_back(odd(kind));
    list.push_back_plain(4, 5, 6, false);
    expect_same(list, {plain(1, 2, 3),
                       odd(kind),
                       {.elements = 6, .has_checksum = false, .locator = {.size = 5, .offset = 4}}});
    list.clear();
    expect_same(list, {});
  }
}

TEST(PageList, PacksPagesOfObjectsUntilOneOfAFileComes) {
  for (const bool begins_with_file : {false, true}) {
    PageList list;
    std::vector<PageDescriptor> pages;
    for (std::uint32_t i = 1; i < 40; ++i) {
      const bool is_file = i == 30 || (begins_with_file && i == 1);
      pages.push_back(is_file ? plain(i, 2 * i, 3 * i) : in_object(i, 2 * i, ~std::uint64_t{0} - i));
      list.push_back(pages.back());
      const PageList copy = list;
      expect_same(copy, pages);
    }
    list.clear();
    list.push_back_plain(1, 2, 3, false);
    expect_same(list, {{.elements = 3, .has_checksum = false, .locator = {.size = 2, .offset = 1}}});
  }
}

TEST(PageList, IsAVectorOfPages) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    PageList list;
    std::vector<PageDescriptor> pages;
    for (int step = 0; step < 30; ++step) {
      const auto some = static_cast<std::uint32_t>(random() % 1000 + 1);
      const PageDescriptor page = random() % 20 == 0 ? odd(some)
                                  : round % 3 == 0   ? in_object(some, some * 3, some * 5)
                                                     : plain(some, some * 3, some * 5);
      switch (random() % 6) {
        case 0:
          if (pages.empty()) break;
          list.set(some % pages.size(), page);
          pages[some % pages.size()] = page;
          break;
        case 1: {
          const PageList copy = list;
          list = copy;
          break;
        }
        case 2: {
          PageList moved = std::move(list);
          list = std::move(moved);
          break;
        }
        case 3:
          list.reserve(some % 50);
          break;
        case 4:
          if (some % 10 != 0) break;
          list.assign(some % 7, page);
          pages.assign(some % 7, page);
          break;
        default:
          list.push_back(page);
          pages.push_back(page);
          break;
      }
    }
    expect_same(list, pages);
  }
}

}  // namespace
}  // namespace colonnade
