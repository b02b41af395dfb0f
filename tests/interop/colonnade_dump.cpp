// colonnade_dump: what Colonnade reads from a file, as the JSON of tests/fixtures/README.md.
//
//   colonnade_dump entries FILE [DATASET ...]      schema, clusters, pages and all values, entry by entry
//   colonnade_dump views FILE [DATASET ...]        the same, the values through one view per field, last
//                                                  entry first
//   colonnade_dump typed FILE [DATASET ...]        {data set: {field: values}} for the fields whose C++ type
//                                                  is compiled in: through View<T> and through a model of T,
//                                                  which must agree
//   colonnade_dump convert FILE DATASET            values of a field under other types: reads lines
//                                                  "field<tab>type" from standard input, prints lines of
//                                                  JSON: the values, {"error": true} for those that do not
//                                                  fit, or {"refused": why}
#include <colonnade/colonnade.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "json_text.h"
#include "stored_value.h"
#include "typed_values.h"

namespace {

using colonnade::ClusterDescriptor;
using colonnade::ColumnDescriptor;
using colonnade::Descriptor;
using colonnade::Error;
using colonnade::FieldDescriptor;
using colonnade::Reader;
using interop::append_real;
using interop::append_text;
using interop::Separator;
using interop::Shape;

// ---- The descriptor

class DescriptorText {
 public:
  explicit DescriptorText(const Descriptor& descriptor) : descriptor_(descriptor) {
    for (const ClusterDescriptor& cluster : descriptor.clusters) clusters_[cluster.first_entry] = &cluster;
  }

  std::string text() {
    out_ = "\"entries\": " + std::to_string(descriptor_.entries()) + ", \"description\": ";
    append_text(out_, descriptor_.description);
    out_ += ", \"fields\": ";
    fields(descriptor_.top_level_fields());
    out_ += ", \"clusters\": [";
    Separator separate(out_);
    for (const auto& [first, cluster] : clusters_) {
      separate();
      out_ += '[' + std::to_string(first) + ", " + std::to_string(cluster->entries) + ']';
    }
    out_ += "], \"cluster_groups\": " + std::to_string(descriptor_.cluster_groups.size());
    extra_types();
    attribute_sets();
    return std::move(out_);
  }

 private:
  void fact(const char* key, std::uint64_t value) {
    out_ += std::string(", \"") + key + "\": " + std::to_string(value);
  }
  void fact(const char* key, const std::string& value) {
    out_ += std::string(", \"") + key + "\": ";
    append_text(out_, value);
  }
  static bool is_given(std::uint32_t version) { return version != 0 && version != colonnade::unversioned; }

  void fields(std::span<const std::uint32_t> ids) {
    out_ += '[';
    Separator separate(out_);
    for (const std::uint32_t id : ids) {
      separate();
      field(descriptor_.fields[id]);
    }
    out_ += ']';
  }
  void field(const FieldDescriptor& field) {
    static constexpr const char* structures[] = {"plain", "collection", "record", "variant", "streamer"};
    out_ += "{\"name\": ";
    append_text(out_, field.name);
    fact("type", field.type_name);
    if (!field.type_alias.empty()) fact("alias", field.type_alias);
    if (!field.description.empty()) fact("description", field.description);
    fact("structure", field.raw_role < 5 ? structures[field.raw_role] : "unknown");
    if (field.array_size > 0) fact("repetitions", field.array_size);
    if (is_given(field.type_version)) fact("type_version", field.type_version);
    if (field.field_version > 0) fact("field_version", field.field_version);
    if (field.type_checksum) fact("type_checksum", *field.type_checksum);
    if (field.source_field) fact("projection_of", descriptor_.path_of(*field.source_field));
    columns(field);
    if (!field.children.empty()) {
      out_ += ", \"fields\": ";
      fields(field.children);
    }
    out_ += '}';
  }
  void columns(const FieldDescriptor& field) {
    if (field.representations.empty()) return;
    out_ += ", \"columns\": [";
    Separator separate(out_);
    for (const auto& representation : field.representations)
      for (const std::uint32_t id : representation) {
        separate();
        column(descriptor_.columns[id], field.source_field.has_value());
      }
    out_ += ']';
  }
  void column(const ColumnDescriptor& column, bool is_alias) {
    out_ += "{\"type\": \"" + std::string(name_of(column.encoding.type)) + '"';
    fact("bits", column.encoding.bits);
    if (column.has_range) {
      out_ += ", \"min\": ";
      append_real(out_, column.encoding.min);
      out_ += ", \"max\": ";
      append_real(out_, column.encoding.max);
    }
    if (column.representation > 0) fact("representation", column.representation);
    if (is_alias) {
      out_ += ", \"alias_column\": true}";
      return;
    }
    if (column.deferred) fact("first_element", column.first_element);
    if (column.deferred_suppressed) out_ += ", \"suppressed_deferred\": true";
    pages(column.id);
    out_ += '}';
  }
  void pages(std::uint32_t column) {
    out_ += ", \"pages\": [";
    Separator separate(out_);
    for (const auto& [first, cluster] : clusters_) {
      separate();
      if (column >= cluster->columns.size() || cluster->columns[column].column == colonnade::invalid_id ||
          cluster->columns[column].suppressed) {
        out_ += "null";
        continue;
      }
      out_ += '[';
      Separator separate_pages(out_);
      for (const auto& page : cluster->columns[column].pages) {
        separate_pages();
        out_ += std::to_string(page.elements);
      }
      out_ += ']';
    }
    out_ += ']';
  }
  void extra_types() {
    if (descriptor_.type_infos.empty()) return;
    out_ += ", \"extra_type_info\": [";
    Separator separate(out_);
    for (const auto& info : descriptor_.type_infos) {
      separate();
      out_ += "{\"content_id\": " + std::to_string(info.content_id + 1);
      fact("type_version", info.type_version);
      fact("type", info.type_name);
      fact("length", info.content.size());
      out_ += '}';
    }
    out_ += ']';
  }
  void attribute_sets() {
    if (descriptor_.attribute_sets.empty()) return;
    out_ += ", \"attribute_sets\": [";
    Separator separate(out_);
    for (const auto& set : descriptor_.attribute_sets) {
      separate();
      out_ += "{\"name\": ";
      append_text(out_, set.name);
      fact("major", set.schema_major);
      fact("minor", set.schema_minor);
      fact("anchor_length", set.anchor_length);
      out_ += '}';
    }
    out_ += ']';
  }

  const Descriptor& descriptor_;
  std::map<std::uint64_t, const ClusterDescriptor*> clusters_;  // by first entry
  std::string out_;
};

// ---- Values as stored

using Columns = std::vector<std::vector<std::string>>;  // texts of each field, entry by entry

std::string values_text(const std::vector<std::string>& names, const Columns& values) {
  std::string out = "{";
  Separator separate(out);
  for (std::size_t k = 0; k < names.size(); ++k) {
    separate();
    append_text(out, names[k]);
    out += ": [";
    Separator separate_entries(out);
    for (const std::string& value : values[k]) {
      separate_entries();
      out += value;
    }
    out += ']';
  }
  return out + '}';
}

std::string entry_values(Reader& reader) {
  const Descriptor& descriptor = reader.descriptor();
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  for (const auto& field : reader.model().fields()) {
    names.push_back(field->name());
    shapes.emplace_back(*field, &descriptor, descriptor.find_field(field->name()));
  }
  Columns values(names.size());
  const auto entry = reader.make_entry();
  for (const std::uint64_t i : reader.entries()) {
    reader.load_entry(i, *entry);
    for (std::size_t k = 0; k < names.size(); ++k)
      append_value(values[k].emplace_back(), shapes[k], entry->ptr<void>(names[k]).get());
  }
  return values_text(names, values);
}

std::string view_values(Reader& reader) {
  const Descriptor& descriptor = reader.descriptor();
  std::vector<std::string> names;
  Columns values;
  for (const std::uint32_t id : descriptor.top_level_fields()) {
    if (!descriptor.fields[id].unreadable.empty()) continue;
    auto view = reader.view(descriptor.fields[id].name);
    const Shape shape(view.field(), &descriptor, id);
    names.push_back(descriptor.fields[id].name);
    values.emplace_back(view.size());
    for (std::uint64_t i = view.size(); i > 0; --i) append_value(values.back()[i - 1], shape, view(i - 1));
  }
  return values_text(names, values);
}

std::string unreadable_text(const Descriptor& descriptor) {
  std::string out;
  Separator separate(out);
  for (const FieldDescriptor& field : descriptor.fields) {
    if (field.unreadable.empty()) continue;
    separate();
    append_text(out, descriptor.path_of(field.id));
    out += ": ";
    append_text(out, field.unreadable);
  }
  return '{' + out + '}';
}

// ---- Values as C++ types

std::string model_values(const std::string& file, const std::string& name, const std::string& field,
                         const interop::TypedCodec& codec) {
  auto model = colonnade::Model::create();
  const auto value = model->add_field(codec.make(field));
  auto reader = Reader::open(std::move(model), name, file);
  std::string out = "[";
  Separator separate(out);
  for (const std::uint64_t i : reader->entries()) {
    reader->load_entry(i);
    separate();
    codec.print(out, value.get());
  }
  return out + ']';
}

std::string typed_values(const std::string& file, const std::string& name) {
  auto reader = Reader::open(name, file);
  const Descriptor& descriptor = reader->descriptor();
  std::string out = "{";
  Separator separate(out);
  for (const std::uint32_t id : descriptor.top_level_fields()) {
    const FieldDescriptor& field = descriptor.fields[id];
    const interop::TypedCodec* codec =
        interop::find_typed(field.type_alias.empty() ? field.type_name : field.type_alias);
    if (codec == nullptr || !field.unreadable.empty()) continue;
    separate();
    append_text(out, field.name);
    const std::string by_view = codec->read(*reader, field.name);
    if (model_values(file, name, field.name, *codec) != by_view)
      throw std::runtime_error(field.name + ": the view and the model read different values");
    out += ": " + by_view;
  }
  return out + '}';
}

// ---- Values under other types

std::string converted(Reader& reader, const std::string& field, const std::string& type) {
  if (const auto* codec = interop::find_typed(type)) return codec->read(reader, field);
  auto view = reader.view(field, type);
  const Shape shape(view.field());
  std::string out = "[";
  Separator separate(out);
  for (std::uint64_t i = 0; i < view.size(); ++i) {
    separate();
    try {
      append_value(out, shape, view(i));
    } catch (const Error& error) {
      if (error.kind() != colonnade::ErrorKind::conversion) throw;
      out += R"({"error": true})";
    }
  }
  return out + ']';
}

void convert_all(const std::string& file, const std::string& name) {
  auto reader = Reader::open(name, file);
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    std::string out;
    try {
      out = converted(*reader, line.substr(0, tab), line.substr(tab + 1));
    } catch (const Error& error) {
      if (error.kind() != colonnade::ErrorKind::type) throw;
      out = "{\"refused\": ";
      append_text(out, error.what());
      out += '}';
    }
    std::puts(out.c_str());
  }
}

std::string dump(const std::string& mode, const std::string& file, const std::string& name) {
  if (mode == "typed") return typed_values(file, name);
  auto reader = Reader::open(name, file);
  return '{' + DescriptorText(reader->descriptor()).text() +
         ", \"unreadable\": " + unreadable_text(reader->descriptor()) +
         ", \"values\": " + (mode == "views" ? view_values(*reader) : entry_values(*reader)) + '}';
}

int run(const std::vector<std::string>& arguments) {
  static const std::set<std::string> modes = {"entries", "views", "typed", "convert"};
  if (arguments.size() < 2 || !modes.contains(arguments[0])) {
    std::fputs("usage: colonnade_dump entries|views|typed|convert FILE [DATASET ...]\n", stderr);
    return 2;
  }
  const std::string& file = arguments[1];
  if (arguments[0] == "convert") {
    convert_all(file, arguments.at(2));
    return 0;
  }
  std::vector<std::string> names(arguments.begin() + 2, arguments.end());
  if (names.empty()) names = colonnade::data_sets(file);
  std::string out = "{";
  Separator separate(out);
  for (const std::string& name : names) {
    separate();
    append_text(out, name);
    out += ": " + dump(arguments[0], file, name);
  }
  std::puts((out + '}').c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade_dump: %s\n", error.what());
    return 1;
  }
}
