// Options of writers as JSON, with the names and values of Python's colonnade.create().
#ifndef COLONNADE_FRAME_RESULTS_SNAPSHOT_OPTIONS_H
#define COLONNADE_FRAME_RESULTS_SNAPSHOT_OPTIONS_H

#include "colonnade/options.h"
#include "frame/results/options.h"

namespace colonnade::frame {

// Throws ErrorKind::usage.
WriteOptions write_options_of(const Options& options);

}  // namespace colonnade::frame

#endif
