// Rows of values; see colonnade/entry.h.
#include "colonnade/entry.h"

#include <fmt/format.h>

#include <atomic>

#include "field/field_tools.h"
#include "field/type_name.h"

namespace colonnade {
namespace {

std::uint64_t next_bindings() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

const Entry::FieldSlot& Entry::slot(std::string_view name) const {
  for (const FieldSlot& slot : slots_)
    if (slot.name == name) return slot;
  throw Error(ErrorKind::not_found, fmt::format("the entry has no field '{}'", name),
              "see Entry::field_names()", {.field = std::string(name)});
}

const Entry::FieldSlot& Entry::checked(std::string_view name, const Field& type) const {
  const FieldSlot& found = slot(name);
  const bool same_layout = found.layout == field::hidden_layout(type);
  if (found.type_name != type.type_name() || !found.native || !same_layout)
    throw Error(ErrorKind::type,
                fmt::format("the value is a {}{}, not a {}",
                            found.type_name.empty() ? "untyped record" : found.type_name,
                            !found.native  ? " known by name only"
                            : !same_layout ? " with enumerations as they are stored"
                                           : "",
                            type.type_name()),
                "open the data set with a model that has the field as this type",
                {.field = std::string(name)});
  return found;
}

void Entry::rebind(std::string_view name, std::shared_ptr<void> value) {
  if (value == nullptr)
    throw Error(ErrorKind::usage, "a null pointer is bound", "bind memory that holds a value",
                {.field = std::string(name)});
  const_cast<FieldSlot&>(slot(name)).value = std::move(value);
  bindings_ = next_bindings();
}

void Entry::bind(std::string_view name, void* memory, std::string_view type_name) {
  // Only the name must be the field's: the memory has the layout of the field's own values.
  const FieldSlot& found = slot(name);
  const std::string given = type_name == found.type_name ? found.type_name : field::normalize(type_name).name;
  if (found.type_name != given)
    throw Error(ErrorKind::type,
                fmt::format("the value is a {}, not a {}",
                            found.type_name.empty() ? "untyped record" : found.type_name, given),
                "give the field's type name, see Field::type_name()", {.field = std::string(name)});
  rebind(name, std::shared_ptr<void>(std::shared_ptr<void>(), memory));
}

void Entry::add(const Field& field, std::shared_ptr<void> value) {
  slots_.push_back(
      {field.name(), field.type_name(), field::hidden_layout(field), field.is_native(), std::move(value)});
  bindings_ = next_bindings();
}

std::vector<std::string> Entry::field_names() const {
  std::vector<std::string> names;
  names.reserve(slots_.size());
  for (const FieldSlot& slot : slots_) names.push_back(slot.name);
  return names;
}

}  // namespace colonnade
