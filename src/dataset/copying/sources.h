// CopySources: the data sets that a copy reads, of which only a few are open at a time.
//
//   survey: each is opened once --> its size, what identifies it, its schema (equal ones are kept once)
//   plan:   the schemas become one --> where the columns of each go, what each lacks
//   open:   one after the other, when its turn comes
#ifndef COLONNADE_DATASET_COPYING_SOURCES_H
#define COLONNADE_DATASET_COPYING_SOURCES_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/compression.h"
#include "colonnade/copy.h"
#include "dataset/copying/provenance.h"
#include "dataset/copying/schema.h"
#include "page/page_source.h"

namespace colonnade::dataset {

struct CopySource {
  DataSetPlace place;
  std::string name;  // in its header
  InputRecord record;
  std::vector<InputRecord> inputs;  // that it was made from itself
  std::vector<std::string> attribute_sets;
  std::size_t schema = 0;
  std::uint64_t bytes = 0;  // of its pages
  std::uint64_t largest_page = 0;
  std::optional<codec::CompressionSettings> compression;  // of its pages, if it is known
  std::uint64_t first_entry = 0;                          // in the destination
  std::size_t first_cluster = 0;                          // likewise, where clusters are kept
  bool is_known = false;                                  // the destination was made from it
  std::unique_ptr<page::PageSource> pages;                // while it is open

  std::uint64_t entries() const noexcept { return record.entries; }
  std::size_t clusters() const noexcept { return static_cast<std::size_t>(record.clusters); }
};

// Opens a data set to copy it: its pages are verified, and no cache is filled.
std::unique_ptr<page::PageSource> open_to_copy(const DataSetPlace& place, const ReadOptions& options);

class CopySources {
 public:
  CopySources(const std::vector<DataSetPlace>& places, const CopyOptions& options);

  std::vector<CopySource>& all() noexcept { return sources_; }
  const std::vector<CopySource>& all() const noexcept { return sources_; }

  void survey();
  // Makes the schema of the destination: `there`, if that is so far. Throws ErrorKind::schema if the sources
  // do not fit together so.
  void plan(bool keeps_pages, const Descriptor* there, std::uint64_t behind);
  const Descriptor& target() const noexcept { return target_; }
  const CopySchema& schema_of(const CopySource& source) const { return schemas_[source.schema].schema; }
  bool has_late_fields(const CopySource& source) const;
  // Classes of which a source has another version, or other members, than the destination says.
  std::vector<std::string> classes_of_several_versions() const;
  // What the files of the sources say about the classes of the fields.
  const std::vector<format::ClassInfo>& class_infos() const noexcept { return class_infos_; }

  // Stays open until another is opened. Throws ErrorKind::io if it has changed since the survey.
  page::PageSource& open(CopySource& source);

 private:
  struct Schema {
    Descriptor whole;                  // of the source, without clusters
    std::vector<std::string> missing;  // of the paths that are wanted
    std::vector<bool> wanted;          // fields
    std::size_t first = 0;             // source that has it
    bool has_class_infos = false;
    CopySchema schema;
  };

  void take(CopySource& source, std::unique_ptr<page::PageSource> pages);
  std::size_t find_schema(const page::PageSource& source, std::size_t number);
  void want_fields(const page::PageSource& source, Schema& schema) const;
  void check_wanted() const;
  void keep_common(const Descriptor* there);
  void merge(const Descriptor* there, bool keeps_pages, std::uint64_t behind);
  void add_type_infos();
  void add_class_infos(const page::PageSource& source, Schema& schema);

  const CopyOptions& options_;
  std::vector<CopySource> sources_;
  std::vector<Schema> schemas_;
  std::vector<ExtraTypeInfo> type_infos_;  // of all
  std::vector<format::ClassInfo> class_infos_;
  Descriptor target_;
  CopySource* open_ = nullptr;
};

}  // namespace colonnade::dataset

#endif
