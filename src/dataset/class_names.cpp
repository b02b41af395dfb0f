// See class_names.h.
#include "dataset/class_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace colonnade::dataset {
namespace {

std::string_view without_arguments(std::string_view type_name) {
  return type_name.substr(0, type_name.find('<'));
}

thread_local const WithClassInfos* innermost = nullptr;

}  // namespace

void ClassNames::add(std::string_view type_name) {
  constexpr std::array<std::string_view, 5> plain{"bool", "char", "float", "double", "ROOT::VecOps::RVec"};
  const std::string_view name = without_arguments(type_name);
  if (name.empty() || name.starts_with("std::") || std::ranges::find(plain, name) != plain.end()) return;
  names_.emplace(name);
}

void ClassNames::add_all(const Field& field) {
  add(field.type_name());
  for (const auto& child : field.children()) add_all(*child);
}

bool ClassNames::contains(std::string_view type_name) const {
  return names_.contains(without_arguments(type_name));
}

void add_class_infos(std::vector<format::ClassInfo>& infos, std::vector<format::ClassInfo> more) {
  for (format::ClassInfo& info : more)
    if (std::ranges::none_of(infos, [&](const format::ClassInfo& other) {
          return info.name == other.name && info.version == other.version && info.checksum == other.checksum;
        }))
      infos.push_back(std::move(info));
}

WithClassInfos::WithClassInfos(std::vector<format::ClassInfo> infos)
    : infos_(std::move(infos)), outer_(std::exchange(innermost, this)) {}

WithClassInfos::~WithClassInfos() {
  innermost = outer_;
}

std::vector<format::ClassInfo> WithClassInfos::current() {
  return innermost == nullptr ? std::vector<format::ClassInfo>() : innermost->infos_;
}

}  // namespace colonnade::dataset
