// The attribute sets of data sets that are copied: each comes along, with the ranges of a source moved to
// where its entries are in the copy. Sets of the same name follow each other, as the data sets do.
//
// Where there is one source its pages are copied as they are; else columns are decoded and encoded again.
#ifndef COLONNADE_DATASET_COPY_ATTRIBUTE_SETS_H
#define COLONNADE_DATASET_COPY_ATTRIBUTE_SETS_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/compression.h"
#include "page/data_set_sink.h"
#include "page/page_source.h"

namespace colonnade::dataset {

class AttributeSetCopy {
 public:
  // Opens the sets of a source, whose entries go to the copy from `first_entry` on. A set that this version
  // cannot carry over is left out, and `notes` says why; so is the one called `but`, without a note. The
  // source must outlive this.
  void add(const page::PageSource& source, std::uint64_t first_entry, std::vector<std::string>& notes,
           std::string_view but = {});
  // The most bytes of a page that will be copied as it is.
  std::size_t largest_page() const;
  // Whether the data set has all of them: they are committed together.
  bool are_in(const Descriptor& copy) const;
  // For the next commit of `sink`.
  void write(page::DataSetSink& sink, std::size_t memory,
             const std::optional<codec::CompressionSettings>& compression) const;
  // Compares ranges and values. Throws ErrorKind::format for the first difference.
  void compare(const page::PageSource& copy) const;

 private:
  struct Part {
    std::shared_ptr<page::PageSource> source;
    std::uint64_t first_entry = 0;
  };
  struct Set {
    AttributeSetRecord record;
    std::vector<Part> parts;
  };

  static bool is_copied_by_pages(const Set& set);
  static void write_pages(const Set& set, page::DataSetSink& sink, std::size_t memory,
                          const std::optional<codec::CompressionSettings>& compression);
  static void write_values(const Set& set, const std::shared_ptr<page::DataSetSink>& sink,
                           std::size_t memory);

  std::vector<Set> sets_;
};

}  // namespace colonnade::dataset

#endif
