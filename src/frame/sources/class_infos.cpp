// See class_infos.h.
#include "frame/sources/class_infos.h"

#include "container/container.h"
#include "frame/sources/chain.h"
#include "frame/sources/friends.h"

namespace colonnade::frame {

std::vector<format::ClassInfo> class_infos(const Source& source, const dataset::ClassNames& names) {
  std::vector<format::ClassInfo> all;
  if (const auto* chain = dynamic_cast<const Chain*>(&source)) {
    for (const unsigned sample : chain->one_of_each_schema())
      dataset::add_class_infos(all, chain->acquire(sample)->container().class_infos(
                                        [&](const std::string& name) { return names.contains(name); }));
  } else if (const auto* friends = dynamic_cast<const Friends*>(&source)) {
    for (const NamedSource& each : friends->sources())
      dataset::add_class_infos(all, class_infos(*each.source, names));
  }
  return all;
}

}  // namespace colonnade::frame
