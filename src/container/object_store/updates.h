// From pages to operations of an object store: which pages share a value, and which values an operation.
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

// One operation: values of one <object, distribution key>. The bytes are where the pages are.
struct ObjectUpdate {
  io::ObjectId object;
  std::uint64_t dkey = 0;
  std::vector<io::UpdateItem> items;
};

// How the pages of a generation are laid out; see layout.h.
struct ObjectPagePlan {
  std::uint32_t group = 0;
  ObjectMapping mapping = ObjectMapping::locality;
  std::uint64_t value_target = 0;  // bytes; 0: a value for each page
  io::StoreTraits traits;

  // Bytes that a page may have.
  std::uint64_t largest_page() const noexcept;
};

// The target for pages that are to be moved `splice_size` bytes at a time.
std::uint64_t value_target_of(const io::StoreTraits& traits, std::uint64_t splice_size);

struct PlannedPages {
  std::vector<std::uint64_t> locations;  // of the pages, for their locators
  std::vector<ObjectUpdate> updates;
};
// `take_objects(n)` gives the first of n new object numbers. Throws ErrorKind::usage for a page that is too
// large, before any number is taken.
PlannedPages plan_updates(const ObjectPagePlan& plan, std::span<const PagePart> pages, ClusterPlace& cluster,
                          const std::function<std::uint64_t(std::uint64_t)>& take_objects);

}  // namespace colonnade::container

#endif
