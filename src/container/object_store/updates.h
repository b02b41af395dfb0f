// From pages to operations of an object store: groups pages into values, and values into operations.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_UPDATES_H
#define COLONNADE_CONTAINER_OBJECT_STORE_UPDATES_H

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "colonnade/options.h"
#include "container/container.h"
#include "io/object_store.h"

namespace colonnade::container {

// One operation: values of one <object, distribution key>. The bytes stay where the pages are.
struct ObjectUpdate {
  io::ObjectId object;
  std::uint64_t dkey = 0;
  std::vector<io::UpdateItem> items;
};

// The layout parameters of a generation's pages; see layout.h.
struct ObjectPagePlan {
  std::uint32_t group = 0;
  ObjectMapping mapping = ObjectMapping::locality;
  std::uint64_t value_target = 0;  // bytes; 0: one page per value
  io::StoreTraits traits;

  // The largest page in bytes.
  std::uint64_t largest_page() const noexcept;
};

// The target size for pages that are moved `splice_size` bytes at a time.
std::uint64_t value_target_of(const io::StoreTraits& traits, std::uint64_t splice_size);

struct PlannedPages {
  std::vector<std::uint64_t> locations;  // of the pages, for their locators
  std::vector<ObjectUpdate> updates;
};
// `take_objects(n)` returns the first of n new object numbers. Throws ErrorKind::usage for a page that is too
// large, before it takes any number.
PlannedPages plan_updates(const ObjectPagePlan& plan, std::span<const PagePart> pages,
                          ClusterWriteState& cluster,
                          const std::function<std::uint64_t(std::uint64_t)>& take_objects);

}  // namespace colonnade::container

#endif
