// CopyCheck: whether a destination has what the sources of a copy have; all of it, or what they begin with.
#ifndef COLONNADE_DATASET_COPYING_COPY_CHECK_H
#define COLONNADE_DATASET_COPYING_COPY_CHECK_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "colonnade/copy.h"
#include "dataset/copying/copy_plan.h"
#include "dataset/copying/provenance.h"
#include "page/page_compare.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// The progress of a copy, and who watches it.
class WatchedProgress : public CopyProgress {
 public:
  WatchedProgress(const CopyWatch& watch, double every) : watch_(watch), every_(every) {}

  // Tells the watch now and then; whether it wants the copy to go on.
  bool goes_on();
  void tell() const {
    if (watch_) watch_(*this);
  }

 private:
  using Clock = std::chrono::steady_clock;

  const CopyWatch& watch_;
  const std::chrono::duration<double> every_;
  Clock::time_point told_ = Clock::now();
};

class CopyCheck {
 public:
  // Both must outlive this.
  CopyCheck(CopyPlan& plan, WatchedProgress& progress) : plan_(plan), progress_(progress) {}

  // Refuses a destination that does not have what the sources begin with. All clusters are compared in number
  // and sizes; of the pages those of the last cluster, which would be torn if any were, and those of the
  // first.
  void compare_beginning(page::PageSource& there);
  // Refuses one with other attribute sets: they come with the last commit, all at once.
  void compare_attribute_sets(const page::PageSource& there) const;
  // Throws ErrorKind::format or ErrorKind::checksum for the first difference. False: stopped.
  bool compare_all(page::PageSource& target);
  // Notes on inputs that have the same data. All are kept, since files may be equal by intent.
  std::vector<std::string> notes_on_equal_inputs(const std::vector<InputRecord>& inputs) const;

 private:
  page::CopiedClusters clusters_of(CopySource& source, const page::PageSource& target, std::size_t first,
                                   std::size_t count);
  void compare_clusters(const page::PageSource& there);
  bool compare_entries(page::PageSource& target, std::uint64_t first, std::uint64_t count);
  bool compare_pages(const page::PageSource& target);

  CopyPlan& plan_;
  WatchedProgress& progress_;
};

}  // namespace colonnade::dataset

#endif
