// The classes that ROOT needs descriptions of to apply the read rules of later versions, and what is known of
// them.
#ifndef COLONNADE_DATASET_CLASS_NAMES_H
#define COLONNADE_DATASET_CLASS_NAMES_H

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/field.h"
#include "format/tfile_streamer_info.h"

namespace colonnade::dataset {

// Names without template arguments, which ROOT spells in two ways: "Box" for "Box<std::int32_t>" and
// "Box<int>".
class ClassNames {
 public:
  // The type of a field; nothing if it is no class.
  void add(std::string_view type_name);
  // Of a field and all below it.
  void add_all(const Field& field);
  bool empty() const noexcept { return names_.empty(); }
  bool contains(std::string_view type_name) const;

 private:
  std::set<std::string, std::less<>> names_;
};

// Adds those of `more` that are not there.
void add_class_infos(std::vector<format::ClassInfo>& infos, std::vector<format::ClassInfo> more);

// Within its scope, ROOT files that writers of this thread open are told of the classes. No option of
// writers, which are public: only programs that copy fields have descriptions.
class WithClassInfos {
 public:
  explicit WithClassInfos(std::vector<format::ClassInfo> infos);
  ~WithClassInfos();
  WithClassInfos(const WithClassInfos&) = delete;
  WithClassInfos& operator=(const WithClassInfos&) = delete;

  static std::vector<format::ClassInfo> current();

 private:
  std::vector<format::ClassInfo> infos_;
  const WithClassInfos* outer_;
};

}  // namespace colonnade::dataset

#endif
