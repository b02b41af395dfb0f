// Schemas; see colonnade/model.h.
#include "colonnade/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "dataset/nearest.h"
#include "dataset/writing/schema.h"

namespace colonnade {
namespace {

std::uint64_t next_model_id() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

}  // namespace

Model::Model() {
  default_entry_.model_id_ = next_model_id();
}

std::unique_ptr<Model> Model::create() {
  return std::unique_ptr<Model>(new Model);
}

void Model::check_new(const Field* field) const {
  if (field == nullptr) throw Error(ErrorKind::usage, "there is no field to add", "see make_field()");
  const std::string& name = field->name();
  if (complete_)
    throw Error(ErrorKind::usage, "the model belongs to a reader or writer and takes no more fields",
                "add the field before, or use Writer::extend()", {.field = name});
  if (!dataset::is_allowed_name(name))
    throw Error(ErrorKind::schema, fmt::format("'{}' is not a valid field name", name),
                dataset::allowed_names, {.field = name});
  if (names_.contains(name))
    throw Error(ErrorKind::schema, fmt::format("the model already has a field '{}'", name),
                "choose another name", {.field = name});
}

void Model::add_field(std::unique_ptr<Field> field, std::shared_ptr<void> value) {
  check_new(field.get());
  default_entry_.add(*field, std::move(value));
  fields_.push_back(std::move(field));
  names_.insert(fields_.back()->name());
}

std::shared_ptr<void> Model::add_field(std::unique_ptr<Field> field) {
  check_new(field.get());
  // A few bytes in a header can describe large values.
  constexpr std::size_t most = std::size_t{1} << 30;
  if (field->value_size() > most - std::min(most, value_bytes_))
    throw Error(ErrorKind::resource,
                fmt::format("the values of an entry take more than {} MiB together", most >> 20),
                "read fields one by one, or as arrays", {.field = field->name()});
  value_bytes_ += field->value_size();
  std::shared_ptr<void> value = field->make_value();
  add_field(std::move(field), value);
  return value;
}

std::shared_ptr<void> Model::make_field(std::string_view name, std::string_view type_name,
                                        std::string_view description) {
  auto field = colonnade::make_field(name, type_name);
  field->set_description(std::string(description));
  return add_field(std::move(field));
}

void Model::add_projected_field(std::unique_ptr<Field> field, Sources sources) {
  check_new(field.get());
  projections_.push_back({std::move(field), std::move(sources)});
  names_.insert(projections_.back().field->name());
}

Field& Model::field(std::string_view path) const {
  const std::size_t dot = path.find('.');
  std::vector<std::string> names;
  for (const auto& field : fields_) {
    names.push_back(field->name());
    if (field->name() != path.substr(0, dot)) continue;
    Field* found = field->find(dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1));
    if (found != nullptr) return *found;
  }
  throw Error(ErrorKind::not_found, fmt::format("the model has no field '{}'", path),
              dataset::did_you_mean(path, names), {.field = std::string(path)});
}

std::unique_ptr<Entry> Model::make_entry() const {
  auto entry = std::make_unique<Entry>();
  entry->model_id_ = default_entry_.model_id_;
  for (const auto& field : fields_) entry->add(*field, field->make_value());
  return entry;
}

}  // namespace colonnade
