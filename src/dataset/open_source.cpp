// See open_source.h.
#include "dataset/open_source.h"

#include <fmt/format.h>

#include "colonnade/field.h"
#include "field/field_tools.h"

namespace colonnade::dataset {
namespace {

// A type that came after this version must not keep anyone from the other fields.
void mark_unknown_types(page::PageSource& source) {
  const Descriptor& descriptor = source.descriptor();
  std::vector<std::pair<std::uint32_t, std::string>> reasons;
  for (const FieldDescriptor& field : descriptor.fields) {
    if (field.role != FieldRole::leaf || !field.unreadable.empty() || field::is_plainly_known(field))
      continue;
    try {
      static_cast<void>(make_field(descriptor, field.id));
    } catch (const Error& error) {
      reasons.emplace_back(field.id, error.problem());
    }
  }
  if (!reasons.empty()) source.mark_unreadable(reasons);
}

std::shared_ptr<page::PageSource> open_once(std::string_view name, const std::string& uri,
                                            const ReadOptions& options) {
  std::shared_ptr<page::ReadContainer> container =
      page::open_container(uri, {.local_io = options.local_io, .direct_io = options.direct_io});
  std::string chosen(name);
  if (chosen.empty()) {
    const std::vector<std::string> names = container->data_sets();
    if (names.size() != 1)
      throw Error(
          names.empty() ? ErrorKind::not_found : ErrorKind::usage,
          names.empty() ? "the file has no data set" : fmt::format("the file has {} data sets", names.size()),
          names.empty() ? "see colonnade ls" : fmt::format("name one of: {}", fmt::join(names, ", ")),
          {.uri = uri});
    chosen = names.front();
  }
  std::shared_ptr<page::PageSource> source = page::PageSource::open(chosen, container, options);
  mark_unknown_types(*source);
  return source;
}

}  // namespace

std::shared_ptr<page::PageSource> open_source(std::string_view name, const std::string& uri,
                                              const ReadOptions& options) {
  return page::open_while_written([&] { return open_once(name, uri, options); });
}

}  // namespace colonnade::dataset
