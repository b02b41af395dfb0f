// What a result asks that copies fields of the source: what its files say about their classes.
#ifndef COLONNADE_FRAME_RESULTS_CLASSES_OF_FILES_H
#define COLONNADE_FRAME_RESULTS_CLASSES_OF_FILES_H

#include <functional>
#include <vector>

#include "dataset/class_names.h"

namespace colonnade::frame {

// Called once something is written, by any thread.
using FindClassInfos = std::function<std::vector<format::ClassInfo>(const dataset::ClassNames& names)>;

class WritesClasses {
 public:
  virtual ~WritesClasses() = default;
  // Called before anything runs.
  virtual void find_class_infos_by(FindClassInfos find) = 0;
};

}  // namespace colonnade::frame

#endif
