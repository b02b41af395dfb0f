// CopyZeros: which elements a copy of whole pages gets that a source has not, cluster by cluster: of fields
// that only other sources have, and of fields that came late.
#ifndef COLONNADE_DATASET_COPYING_ZEROS_H
#define COLONNADE_DATASET_COPYING_ZEROS_H

#include <cstdint>
#include <memory>
#include <vector>

#include "dataset/copying/schema.h"
#include "page/page_copy.h"
#include "page/page_source.h"

namespace colonnade::dataset {

// Belongs to one thread at a time; source and schema must outlive it.
class CopyZeros {
 public:
  CopyZeros(const page::PageSource& source, const CopySchema& schema);

  std::vector<page::FilledColumn> of_cluster(std::size_t cluster);

 private:
  void add_late(std::size_t cluster, const FieldDescriptor& field,
                std::vector<page::FilledColumn>& into) const;
  std::uint64_t values_of(std::uint32_t field, std::size_t cluster);
  std::uint64_t values_of_alternative(const FieldDescriptor& variant, std::uint32_t alternative,
                                      std::size_t cluster);
  std::uint64_t values_below(std::uint32_t field, std::size_t cluster);
  void check_items(const FieldDescriptor& collection, std::size_t cluster, std::uint64_t items) const;
  [[noreturn]] void fail(std::uint32_t field, std::size_t cluster, const char* problem) const;

  std::unique_ptr<page::PageSource> source_;  // of its own, since another thread reads the pages
  const CopySchema& schema_;
  std::vector<std::uint32_t> late_;  // fields
};

}  // namespace colonnade::dataset

#endif
