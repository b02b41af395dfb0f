// Surveys of chains as text: workers open the files, and the planning process makes the chain without opening
// any.
#ifndef COLONNADE_FRAME_SOURCES_SURVEY_H
#define COLONNADE_FRAME_SOURCES_SURVEY_H

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/options.h"
#include "dataset/chains/file_names.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

// Opens files and describes their contents as JSON. `options` are those of options_text(). Empty if a schema
// cannot be described, as it has parts that this version does not write.
std::optional<std::string> survey_files(std::span<const dataset::NamedFile> files, std::string_view options);
// The chain of surveyed files, in their order; opens nothing. The name is empty where theirs differ. Throws
// ErrorKind::format for invalid texts.
std::shared_ptr<Source> surveyed_chain(const std::string& name, std::span<const std::string> surveys,
                                       const ReadOptions& options);
std::string options_text(const ReadOptions& options);

}  // namespace colonnade::frame

#endif
