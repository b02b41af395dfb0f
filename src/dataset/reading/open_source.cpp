// See open_source.h.
#include "dataset/reading/open_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/processor.h"
#include "colonnade/field.h"
#include "container/root_file/reader.h"
#include "field/field_tools.h"
#include "page/remembered_container.h"

namespace colonnade::dataset {
namespace {

// Most files of the field still hold TTrees: the error says how to convert them.
[[noreturn]] void fail_without_data_sets(const container::ReadContainer& container, const std::string& uri) {
  if (!container.lists_objects())
    throw Error(ErrorKind::not_found, "the file has no data set: it was not closed by its writer",
                container::advice_without_list, {.uri = uri});
  std::vector<std::string> trees;
  for (const auto& object : container.objects())
    if (object.class_name == "TTree" && std::ranges::find(trees, object.path) == trees.end())
      trees.push_back(object.path);
  if (trees.empty())
    throw Error(ErrorKind::not_found, "the file has no data set", "colonnade ls lists what is in a file",
                {.uri = uri});
  throw Error(
      ErrorKind::not_found,
      fmt::format("the file has no RNTuple data set, only TTrees ({})", fmt::join(trees, ", ")),
      fmt::format("colonnade import '{}:{}' converted.root, or colonnade.import_tree()", uri, trees.front()),
      {.uri = uri});
}

std::shared_ptr<container::ReadContainer> open_container(const std::string& uri, const ReadOptions& options) {
  return container::open_container(uri, {.local_io = options.local_io, .direct_io = options.direct_io});
}

std::shared_ptr<page::PageSource> open_once(
    std::string_view name, const std::string& uri, const ReadOptions& options,
    const std::function<std::shared_ptr<container::ReadContainer>()>& open) {
  std::shared_ptr<container::ReadContainer> container = page::open_remembered(name, uri, options);
  const bool is_remembered = container != nullptr;
  if (!is_remembered) container = open();
  std::string chosen(name);
  if (chosen.empty()) {
    const std::vector<std::string> names = container->data_sets();
    if (names.empty()) fail_without_data_sets(*container, uri);
    if (names.size() != 1)
      throw Error(ErrorKind::usage, fmt::format("the file has {} data sets", names.size()),
                  fmt::format("name one of: {}", fmt::join(names, ", ")), {.uri = uri});
    chosen = names.front();
  }
  std::shared_ptr<page::PageSource> source = page::PageSource::open(chosen, container, options);
  // A field of a type unknown to this version must not make the others unreadable.
  if (const auto reasons = unknown_types(source->descriptor()); !reasons.empty())
    source->mark_unreadable(reasons);
  if (const auto reasons = source->missing_offline(); !reasons.empty()) source->mark_unreadable(reasons);
  if (!is_remembered) source->remember(name.empty());
  return source;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::string>> unknown_types(const Descriptor& descriptor) {
  std::vector<std::pair<std::uint32_t, std::string>> reasons;
  for (const FieldDescriptor& field : descriptor.fields) {
    if (field.role != FieldRole::leaf || !field.unreadable.empty() ||
        field::is_plainly_known(descriptor, field))
      continue;
    try {
      field::check_leaf(descriptor, field, *make_field(descriptor, field.id));
    } catch (const Error& error) {
      reasons.emplace_back(field.id, error.problem());
    }
  }
  return reasons;
}

std::shared_ptr<page::PageSource> open_source(std::string_view name, const std::string& uri,
                                              const ReadOptions& options) {
  check_instruction_set();
  return container::open_while_written([&] {
    return with_context({.uri = uri}, [&] {
      return open_once(name, uri, options, [&] { return open_container(uri, options); });
    });
  });
}

std::shared_ptr<container::ReadContainer> open_for_many(const std::string& uri, const ReadOptions& options) {
  std::shared_ptr<container::ReadContainer> container = open_container(uri, options);
  container::expect_many(*container);
  return container;
}

std::shared_ptr<page::PageSource> open_source(std::string_view name, const std::string& uri,
                                              const ReadOptions& options,
                                              std::shared_ptr<container::ReadContainer>& opened) {
  check_instruction_set();
  return container::open_while_written([&] {
    return with_context({.uri = uri}, [&] {
      // Of an attempt that fails, nothing is kept: the next one looks at the file as it is then.
      std::shared_ptr<container::ReadContainer> taken = std::exchange(opened, nullptr);
      std::shared_ptr<page::PageSource> source = open_once(name, uri, options, [&] {
        if (!taken) taken = open_for_many(uri, options);
        return taken;
      });
      opened = std::move(taken);
      return source;
    });
  });
}

}  // namespace colonnade::dataset
