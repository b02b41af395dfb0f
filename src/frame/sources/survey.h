// Surveys of chains as text: workers open files, and whoever plans their work makes the chain without doing
// so.
#ifndef COLONNADE_FRAME_SOURCES_SURVEY_H
#define COLONNADE_FRAME_SOURCES_SURVEY_H

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/options.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// Opens files and says what is in them, as JSON. `options` are those of options_text(). None where a schema
// cannot be described, as it has what this version does not write.
std::optional<std::string> survey_files(const std::string& name, std::span<const std::string> uris,
                                        std::string_view options);
// The chain of what surveys found, in their order; opens nothing. Throws ErrorKind::format for anything else.
std::shared_ptr<Source> surveyed_chain(const std::string& name, std::span<const std::string> surveys,
                                       const ReadOptions& options);
std::string options_text(const ReadOptions& options);

}  // namespace colonnade::frame

#endif
