// Sources as JSON, to remake them elsewhere.
#ifndef COLONNADE_FRAME_SOURCES_SPECIFICATION_H
#define COLONNADE_FRAME_SOURCES_SPECIFICATION_H

#include <nlohmann/json_fwd.hpp>

#include "colonnade/options.h"

namespace colonnade::frame {

nlohmann::json to_json(const ReadOptions& options);
// Missing options have their defaults. Throws nlohmann's exceptions.
ReadOptions read_options_from(const nlohmann::json& json);

}  // namespace colonnade::frame

#endif
