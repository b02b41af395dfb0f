// Linked data sets in every container: only their links lead to them, and replaced links leave nothing
// behind.
#include "container/linked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_errors.h"
#include "container/root_file/test_tools.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"

namespace colonnade::container {
namespace {

struct Kind {
  std::string uri;
  ContainerKind kind;
};

class Linked : public ::testing::TestWithParam<Kind> {
 protected:
  void TearDown() override {
    is_store() ? io::remove_memory_store(GetParam().uri) : io::remove_memory_file(GetParam().uri);
  }
  static bool is_store() { return GetParam().uri.starts_with("memory+obj"); }
  static std::size_t size() {
    return is_store() ? io::memory_store_addresses(GetParam().uri).size()
                      : io::memory_file_content(GetParam().uri).size();
  }
  static std::unique_ptr<WriteContainer> create() {
    return create_container(GetParam().uri, "Events", {.kind = GetParam().kind});
  }
  // Writes a header, a footer, and an anchor that points to them.
  static Anchor write(WriteContainer& container) {
    const Bytes header = payload(100, 1), footer = payload(50, 2);
    const Locator header_at = container.write_blob(header, header.size());
    const Locator footer_at = container.write_blob(footer, footer.size());
    return {.header_offset = header_at.offset,
            .header_size = header_at.size,
            .header_length = header.size(),
            .footer_offset = footer_at.offset,
            .footer_size = footer_at.size,
            .footer_length = footer.size(),
            .max_key_size = container.max_key_size()};
  }
  static AttributeSetRecord record(const LinkedWriter& writer) {
    return {.schema_major = 1, .anchor_length = writer.link()->length, .anchor = writer.link()->anchor};
  }
  static std::shared_ptr<const ReadContainer> open() {
    std::shared_ptr<const ReadContainer> outer = open_container(GetParam().uri);
    if (auto inner = outer->of_data_set("Events")) outer = std::move(inner);
    return outer;
  }
};

TEST_P(Linked, AreFoundByTheirLinksAlone) {
  const auto container = create();
  LinkedWriter linked(*container);
  EXPECT_FALSE(linked.link());
  const Anchor anchor = write(linked);
  linked.commit(anchor);
  const AttributeSetRecord link = record(linked);
  container->commit(write(*container));
  linked.close();
  container->close();
  const auto outer = open();
  EXPECT_THAT(outer->data_sets(), ::testing::ElementsAre("Events"));
  const auto found = open_linked(outer, link, anchor.max_key_size);
  EXPECT_EQ(found->anchor(""), anchor);
  Bytes footer(anchor.footer_size);
  found->read_blob({.kind = found->locator_kind(), .size = footer.size(), .offset = anchor.footer_offset},
                   anchor.max_key_size, footer);
  EXPECT_EQ(footer, payload(50, 2));
}

// Blobs that a commit replaces are reused or removed.
TEST_P(Linked, LeaveNothingOfLinksThatWereReplaced) {
  const auto container = create();
  LinkedWriter linked(*container);
  const Anchor main = write(*container);
  std::size_t before = 0;
  for (int commit = 0; commit < 300; ++commit) {
    linked.commit(write(linked));
    container->commit(main);
    if (commit == 100) before = size();
  }
  const Anchor last = write(linked);
  linked.commit(last);
  container->commit(main);
  // Only headers, which no commit replaces, are new. (In a file they also fill the gaps of other
  // records.)
  if (is_store()) {
    EXPECT_LT(size(), before + 200 + 64);
  }
  EXPECT_EQ(open_linked(open(), record(linked), last.max_key_size)->anchor(""), last);
  container->close();
}

TEST_P(Linked, OfAnotherKindOfContainerAreRefused) {
  const auto container = create();
  LinkedWriter linked(*container);
  linked.commit(write(linked));
  container->commit(write(*container));
  AttributeSetRecord link = record(linked);
  link.anchor.kind = is_store() ? Locator::Kind::file : Locator::Kind::object64;
  EXPECT_EQ(error_of([&] { open_linked(open(), link, 0); }).kind(), ErrorKind::unsupported);
  container->close();
}

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  static constexpr const char* names[] = {"RootFile", "BareFile", "ObjectStore"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Containers, Linked,
                         ::testing::Values(Kind{"memory:linked", ContainerKind::root_file},
                                           Kind{"memory:linked-bare", ContainerKind::bare_file},
                                           Kind{"memory+obj:linked", ContainerKind::root_file}),
                         name_of);

}  // namespace
}  // namespace colonnade::container
