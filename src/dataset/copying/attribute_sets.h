// The attribute sets of data sets that are copied: each comes along, with the ranges of a source moved to
// where its entries are in the copy. Sets of the same name follow each other, as the data sets do, and come
// behind the one that is there already where a copy is appended to.
//
// Where there is one source its pages are copied as they are; else columns are decoded and encoded again.
#ifndef COLONNADE_DATASET_COPYING_ATTRIBUTE_SETS_H
#define COLONNADE_DATASET_COPYING_ATTRIBUTE_SETS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/compression.h"
#include "colonnade/copy.h"
#include "dataset/copying/schema.h"
#include "page/data_set_sink.h"
#include "page/page_source.h"

namespace colonnade::dataset {

class AttributeSetCopy {
 public:
  // `fields`: what becomes of sets of the same name with other fields.
  explicit AttributeSetCopy(MergeMode fields) : fields_(fields) {}

  // What the copy comes behind; it must outlive this.
  void come_behind(const page::PageSource& there) { there_ = &there; }
  // Looks at the sets of a source, whose entries go to the copy from `first_entry` on. A set that this
  // version cannot carry over is left out, and `notes` says why; so is the one called `but`, without a note.
  // `open` gives the source, now and when its sets are copied; it need not stay open between.
  using Open = std::function<const page::PageSource&()>;
  void add(const Open& open, std::uint64_t first_entry, std::vector<std::string>& notes,
           std::string_view but = {});
  // The most bytes of a page that will be copied as it is.
  std::size_t largest_page() const;
  // Whether the data set has all of them: they are committed together.
  bool are_in(const Descriptor& copy) const;
  // For the next commit of `sink`.
  void write(page::DataSetSink& sink, std::size_t memory,
             const std::optional<codec::CompressionSettings>& compression) const;
  // Compares ranges and values; rows may have been added behind. Throws ErrorKind::format for the first
  // difference.
  void compare(const page::PageSource& copy, std::size_t memory, bool may_have_more) const;

 private:
  struct SetPart {
    Open open;
    std::uint64_t first_entry = 0;
  };
  struct Set {
    AttributeSetRecord record;
    Descriptor schema;  // of the copy
    std::vector<SetPart> parts = {};
    bool keeps_pages = false;  // the pages of the first part could be copied as they are
    std::uint64_t largest_page = 1;
    std::shared_ptr<const Descriptor> there = nullptr;  // of the set that this one comes behind

    bool is_copied_by_pages() const noexcept {
      return !there && keeps_pages && parts.size() == 1 && parts.front().first_entry == 0;
    }
  };

  Set begin(const page::PageSource& source, const AttributeSetRecord& record) const;
  Descriptor schema_with(const Set& set, const page::PageSource& part) const;
  CopySchema map(const Set& set, const page::PageSource& part) const;
  void take(const Open& open, const AttributeSetRecord& record, std::uint64_t first_entry);
  static void write_pages(const Set& set, page::DataSetSink& sink, std::size_t memory,
                          const std::optional<codec::CompressionSettings>& compression);
  void write_values(const Set& set, const std::shared_ptr<page::DataSetSink>& sink, std::size_t memory) const;
  void compare_part(const Set& set, const SetPart& part, const std::shared_ptr<page::PageSource>& copy,
                    std::uint64_t& row, std::size_t memory) const;

  MergeMode fields_;
  const page::PageSource* there_ = nullptr;
  std::vector<Set> sets_;
};

}  // namespace colonnade::dataset

#endif
