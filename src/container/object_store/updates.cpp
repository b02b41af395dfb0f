// Splicing and grouping; see updates.h.
#include "container/object_store/updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "container/object_store/layout.h"

namespace colonnade::container {
namespace {

// Operations of this size keep a fast store busy; smaller ones balance better when there is less to write.
constexpr std::uint64_t largest_operation = std::uint64_t{4} << 20;
constexpr std::uint64_t smallest_operation = std::uint64_t{1} << 20;

void check_sizes(const ObjectPagePlan& plan, std::span<const PagePart> pages) {
  for (const PagePart& page : pages)
    if (page.bytes.size() > plan.largest_page())
      throw Error(ErrorKind::usage,
                  fmt::format("a page of {} bytes is larger than a value of this store, {} bytes",
                              page.bytes.size(), plan.largest_page()),
                  "a smaller max_page_size", {.column = page.column});
}

// Columns in ascending order, the pages of each in the given order.
std::vector<std::size_t> by_column(std::span<const PagePart> pages) {
  std::vector<std::size_t> order(pages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(pages[a].column, a) < std::pair(pages[b].column, b);
  });
  return order;
}

std::uint64_t operation_size(const ObjectPagePlan& plan, std::span<const PagePart> pages) {
  std::uint64_t bytes = 0;
  for (const PagePart& page : pages) bytes += page.bytes.size();
  return std::clamp(bytes / std::max(plan.traits.concurrency, 1U), smallest_operation, largest_operation);
}

// Lays out the pages of one cluster, column after column.
class Splicer {
 public:
  Splicer(const ObjectPagePlan& plan, std::span<const PagePart> pages, ClusterWriteState& cluster,
          const std::function<std::uint64_t(std::uint64_t)>& take_objects)
      : plan_(plan),
        cluster_(cluster),
        take_objects_(take_objects),
        operation_size_(operation_size(plan, pages)) {
    planned_.locations.resize(pages.size());
    for (const std::size_t i : by_column(pages)) add(pages[i], planned_.locations[i]);
  }

  PlannedPages take() noexcept { return std::move(planned_); }

 private:
  void add(const PagePart& page, std::uint64_t& location) {
    if (planned_.updates.empty() || page.column != column_) {
      column_ = page.column;
      begin_value(true);
    } else if (filled_ >= plan_.value_target || filled_ >= LocalityLocation::most_offset ||
               filled_ + page.bytes.size() > plan_.traits.max_value) {
      begin_value(false);
    }
    location =
        LocalityLocation{cluster_.object, planned_.updates.back().items.back().akey, filled_}.location();
    planned_.updates.back().items.back().parts.push_back(page.bytes);
    filled_ += page.bytes.size();
    in_operation_ += page.bytes.size();
  }

  void begin_value(bool new_column) {
    filled_ = 0;
    cluster_.next_values.resize(std::max<std::size_t>(cluster_.next_values.size(), column_ + 1));
    const bool new_object =
        cluster_.object == 0 || cluster_.next_values[column_] >= LocalityLocation::most_values;
    if (new_object) {
      cluster_.object = take_objects_(1);
      std::fill(cluster_.next_values.begin(), cluster_.next_values.end(), 0);
    }
    if (new_column || new_object || operation_is_full()) begin_operation();
    planned_.updates.back().items.push_back({.akey = cluster_.next_values[column_]++});
  }

  bool operation_is_full() const {
    const std::size_t items = planned_.updates.back().items.size();
    // If items gain nothing from sharing an operation, they go to the store in parallel.
    return !plan_.traits.vectors || items >= plan_.traits.max_items || in_operation_ >= operation_size_;
  }

  void begin_operation() {
    planned_.updates.push_back({.object = {plan_.group, cluster_.object}, .dkey = column_});
    in_operation_ = 0;
  }

  const ObjectPagePlan& plan_;
  ClusterWriteState& cluster_;
  const std::function<std::uint64_t(std::uint64_t)>& take_objects_;
  std::uint64_t operation_size_;
  std::uint32_t column_ = 0;
  std::uint64_t filled_ = 0;        // bytes in the value
  std::uint64_t in_operation_ = 0;  // bytes
  PlannedPages planned_;
};

PlannedPages plan_single_pages(const ObjectPagePlan& plan, std::span<const PagePart> pages,
                               const std::function<std::uint64_t(std::uint64_t)>& take_objects) {
  PlannedPages planned;
  if (pages.empty()) return planned;
  std::uint64_t number = take_objects(pages.size());
  for (const PagePart& page : pages) {
    planned.locations.push_back(number);
    ObjectUpdate& update = planned.updates.emplace_back();
    update.object = {plan.group, number++};
    update.items.push_back({.akey = 0, .parts = {page.bytes}});
  }
  return planned;
}

}  // namespace

std::uint64_t ObjectPagePlan::largest_page() const noexcept {
  return traits.max_value;
}

std::uint64_t value_target_of(const io::StoreTraits& traits, std::uint64_t splice_size) {
  if (splice_size == 0) return 0;
  const std::uint64_t wanted =
      traits.ranges ? std::max<std::uint64_t>(splice_size, traits.best_value) : splice_size;
  return std::min({wanted, std::uint64_t{traits.max_value}, LocalityLocation::most_offset});
}

PlannedPages plan_updates(const ObjectPagePlan& plan, std::span<const PagePart> pages,
                          ClusterWriteState& cluster,
                          const std::function<std::uint64_t(std::uint64_t)>& take_objects) {
  check_sizes(plan, pages);
  if (plan.mapping == ObjectMapping::object_per_page) return plan_single_pages(plan, pages, take_objects);
  return Splicer(plan, pages, cluster, take_objects).take();
}

}  // namespace colonnade::container
