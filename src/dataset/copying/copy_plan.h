// CopyPlan: what is copied to where, decided before anything is written.
//
//   options --> sources, opened once --> one schema of all --> page by page or decoded? --> where each
//   source's entries and clusters go
//
// A plan may come behind what is at the destination already: sources that this was made from are known, and
// nothing of them is copied again.
#ifndef COLONNADE_DATASET_COPYING_COPY_PLAN_H
#define COLONNADE_DATASET_COPYING_COPY_PLAN_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/copy.h"
#include "dataset/copying/attribute_sets.h"
#include "dataset/copying/provenance.h"
#include "dataset/copying/schema.h"
#include "dataset/copying/sources.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// What is at the destination.
struct DestinationState {
  bool container = false;
  bool data_set = false;
};

// What is there is not the beginning of the copy, and is replaced.
struct NotTheBeginning {};

class CopyPlan {
 public:
  // Throws what concatenate() throws before it writes. The options must outlive the plan.
  CopyPlan(const std::vector<DataSetPlace>& sources, DataSetPlace destination, const CopyOptions& options);

  const CopyOptions& options() const noexcept { return options_; }
  const DataSetPlace& destination() const noexcept { return destination_; }
  CopyMode mode() const noexcept { return mode_; }
  bool keeps_clusters() const noexcept { return !options_.approximate_cluster_size; }
  std::size_t memory() const noexcept { return options_.reading.memory_budget; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }

  // Calls `copy` for each source that is not known, until it returns false; whether it never did.
  bool each_source(const std::function<bool(CopySource&)>& copy);
  const std::vector<CopySource>& sources() const noexcept { return sources_.all(); }
  std::size_t known_sources() const noexcept { return known_sources_; }
  const CopySchema& schema_of(const CopySource& source) const { return sources_.schema_of(source); }
  // Stays open until another is opened.
  page::PageSource& open(CopySource& source) { return sources_.open(source); }
  const Descriptor& target() const noexcept { return sources_.target(); }
  const std::vector<format::ClassInfo>& class_infos() const noexcept { return sources_.class_infos(); }
  const AttributeSetCopy& attribute_sets() const noexcept { return sets_; }

  // What the sources come behind; null if they come behind nothing.
  const page::PageSource* there() const noexcept { return there_.get(); }
  const std::vector<InputRecord>& inputs_there() const noexcept { return inputs_there_; }
  std::uint64_t base_entries() const noexcept { return base_entries_; }
  // Everything is there already.
  bool is_done() const noexcept { return is_done_; }

  // Of the destination, when all is copied; clusters where they are kept.
  std::uint64_t entries() const noexcept { return entries_; }
  std::size_t clusters() const noexcept { return clusters_; }
  // Of pages, to be read.
  std::uint64_t bytes() const noexcept { return bytes_; }
  // In bytes: object stores must know the largest page of the sources.
  std::size_t largest_page() const;

  // What cannot be opened counts as nothing if it may be replaced.
  DestinationState look_at_destination() const;
  std::unique_ptr<page::PageSource> open_destination() const;
  // Throws that the destination holds something else than the beginning of this copy: `NotTheBeginning` if
  // that may be replaced, or else an error.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  void check_options() const;
  void survey();
  void find_there();
  void leave_out_known();
  void choose_mode();
  bool can_decode_together();
  void note_losses();
  void number_sources();
  void collect_attribute_sets();

  const CopyOptions& options_;
  DataSetPlace destination_;
  CopySources sources_;
  AttributeSetCopy sets_;
  CopyMode mode_ = CopyMode::pages;
  std::vector<std::string> notes_;
  std::unique_ptr<page::PageSource> there_;
  std::vector<InputRecord> inputs_there_;
  std::uint64_t base_entries_ = 0;  // of inputs_there_
  std::size_t base_clusters_ = 0;   // likewise
  std::size_t known_sources_ = 0;
  bool is_done_ = false;
  std::uint64_t entries_ = 0;
  std::size_t clusters_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace colonnade::dataset

#endif
