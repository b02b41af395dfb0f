// Sources as JSON: what remakes them elsewhere.
#ifndef COLONNADE_FRAME_SOURCES_SPECIFICATION_H
#define COLONNADE_FRAME_SOURCES_SPECIFICATION_H

#include <nlohmann/json_fwd.hpp>

#include "colonnade/options.h"

namespace colonnade::frame {

nlohmann::json to_json(const ReadOptions& options);
// Options that are not named are the default. Throws nlohmann's exceptions.
ReadOptions read_options_from(const nlohmann::json& json);

}  // namespace colonnade::frame

#endif
