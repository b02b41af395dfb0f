// What the files of a source say about classes, for snapshots.
#ifndef COLONNADE_FRAME_SOURCES_CLASS_INFOS_H
#define COLONNADE_FRAME_SOURCES_CLASS_INFOS_H

#include <vector>

#include "dataset/class_names.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// One file of each schema is asked, which is opened unless it is open. Any thread may call it.
std::vector<format::ClassInfo> class_infos(const Source& source, const dataset::ClassNames& names);

}  // namespace colonnade::frame

#endif
