// See index.h. A schema is the envelope of a header that has all of its fields, in base64; a file is
// [uri, data set, entries, parts, schema, identity], with its place behind if that is another text.
#include "dataset/chains/index.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/json_number.h"
#include "base/memory_limit.h"
#include "colonnade/error.h"
#include "dataset/reading/open_source.h"
#include "format/envelope.h"

namespace colonnade::dataset {
namespace {

using nlohmann::json;

Bytes header_of(const Descriptor& schema) {
  Descriptor whole;
  whole.name = "schema";
  whole.fields = schema.fields;
  whole.columns = schema.columns;
  whole.header_fields = static_cast<std::uint32_t>(whole.fields.size());
  whole.header_columns = static_cast<std::uint32_t>(whole.columns.size());
  return format::write_header(whole).bytes;
}

Descriptor schema_of(ByteSpan header) {
  MemoryLimit limit;
  limit.add_stored(header.size());
  Descriptor read = format::read_header(header, &limit);
  format::finish(read, &limit);
  if (const auto reasons = unknown_types(read); !reasons.empty()) format::mark_unreadable(read, reasons);
  Descriptor schema;
  schema.fields = std::move(read.fields);
  schema.columns = std::move(read.columns);
  return schema;
}

}  // namespace

std::optional<json> to_json(const ChainIndex& index) {
  json schemas = json::array();
  for (const ChainIndex::Schema& schema : index.schemas) {
    const Bytes header = header_of(schema.descriptor);
    try {
      if (fingerprint(schema_of(header)) != fingerprint(schema.descriptor)) return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
    schemas.push_back({{"header", to_base64(header)}, {"uri", schema.uri}});
  }
  json files = json::array();
  for (const ChainIndex::File& file : index.files) {
    files.push_back({file.uri, file.data_set, file.entries, file.parts, file.schema, file.identity});
    if (!file.place.empty() && file.place != file.uri) files.back().push_back(file.place);
  }
  return json{{"schemas", std::move(schemas)}, {"files", std::move(files)}};
}

ChainIndex chain_index_from(const json& in) {
  ChainIndex index;
  for (const json& schema : in.at("schemas")) {
    const auto header = from_base64(schema.at("header").get<std::string>());
    if (!header) throw Error(ErrorKind::format, "a schema in the index of a chain is not base64");
    index.schemas.push_back({schema_of(as_bytes(*header)), schema.at("uri").get<std::string>()});
  }
  for (const json& file : in.at("files")) {
    index.files.push_back({.uri = file.at(0).get<std::string>(),
                           .data_set = file.at(1).get<std::string>(),
                           .entries = whole_number<std::uint64_t>(file.at(2)),
                           .parts = whole_number<std::uint64_t>(file.at(3)),
                           .schema = whole_number<unsigned>(file.at(4)),
                           .identity = whole_number<std::uint64_t>(file.at(5)),
                           .place = file.size() > 6 ? file.at(6).get<std::string>() : std::string()});
    if (index.files.back().schema >= index.schemas.size())
      throw Error(ErrorKind::format,
                  "a file in the index of a chain has a schema that the index does not have");
  }
  if (index.files.empty()) throw Error(ErrorKind::format, "the index of a chain has no files");
  return index;
}

ChainIndex read_chain_index(std::string_view text) {
  try {
    return chain_index_from(json::parse(text));
  } catch (const json::exception& error) {
    throw Error(ErrorKind::format, fmt::format("this is not the index of a chain: {}", error.what()),
                "it is what ChainReader::index() returns");
  }
}

std::vector<unsigned> ChainIndex::append(ChainIndex more) {
  std::map<std::string, unsigned> known;
  for (const Schema& schema : schemas)
    known.try_emplace(fingerprint(schema.descriptor), static_cast<unsigned>(known.size()));
  std::vector<unsigned> places;
  for (Schema& schema : more.schemas) {
    const auto [found, is_new] =
        known.try_emplace(fingerprint(schema.descriptor), static_cast<unsigned>(schemas.size()));
    if (is_new) schemas.push_back(std::move(schema));
    places.push_back(found->second);
  }
  for (File& file : more.files) {
    file.schema = places[file.schema];
    files.push_back(std::move(file));
  }
  return places;
}

std::string fingerprint(const Descriptor& descriptor) {
  std::string key;
  key.reserve(128 * descriptor.fields.size());
  const auto add = [&]<std::size_t count>(const std::array<std::uint64_t, count>& numbers) {
    key.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  };
  for (const FieldDescriptor& f : descriptor.fields) {
    // With lengths, so that no name can look like something else.
    add(std::array<std::uint64_t, 7>{f.name.size(), f.type_name.size(), f.unreadable.size(), f.parent,
                                     f.raw_role, f.array_size, f.representations.size()});
    for (const std::string* text : {&f.name, &f.type_name, &f.unreadable}) key += *text;
    for (const auto& group : f.representations) {
      add(std::array<std::uint64_t, 1>{group.size()});
      for (const std::uint32_t column : group)
        add(std::array<std::uint64_t, 2>{column, descriptor.columns[column].raw_type});
    }
  }
  return key;
}

}  // namespace colonnade::dataset
