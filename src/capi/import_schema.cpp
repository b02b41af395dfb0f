// Converts Arrow schemas to the fields in which their values are stored.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <string_view>

#include "capi/arrow_import.h"
#include "colonnade/error.h"

namespace colonnade::capi {
namespace {

constexpr int deepest = 64;
constexpr std::int64_t most_children = 1 << 20;

[[noreturn]] void fail(const std::string& path, const std::string& problem, const std::string& advice = {}) {
  throw Error(ErrorKind::schema, problem, advice, {.field = path});
}

struct NumberFormat {
  char letter;
  ElementType element;
};
constexpr NumberFormat number_formats[] = {{'c', ElementType::int8},    {'C', ElementType::uint8},
                                           {'s', ElementType::int16},   {'S', ElementType::uint16},
                                           {'i', ElementType::int32},   {'I', ElementType::uint32},
                                           {'l', ElementType::int64},   {'L', ElementType::uint64},
                                           {'f', ElementType::float32}, {'g', ElementType::float64}};

const char* unit_of(char letter) {
  switch (letter) {
    case 's':
      return "s";
    case 'm':
      return "ms";
    case 'u':
      return "us";
    case 'n':
      return "ns";
    default:
      return nullptr;
  }
}

// Dates, times, durations: integers with a meaning. False for other formats.
bool import_time(std::string_view format, ImportType& type) {
  const auto is = [&](std::string_view text) { return format == text; };
  type.element = ElementType::int64;
  if (is("tdD") || is("tts") || is("ttm") || is("tiM")) {
    type.element = ElementType::int32;
    type.meaning = is("tdD")   ? "date32[day]"
                   : is("tiM") ? "month_interval"
                   : is("tts") ? "time32[s]"
                               : "time32[ms]";
  } else if (is("tdm")) {
    type.meaning = "date64[ms]";
  } else if (is("ttu") || is("ttn")) {
    type.meaning = is("ttu") ? "time64[us]" : "time64[ns]";
  } else if (format.size() == 3 && format.starts_with("tD") && unit_of(format[2]) != nullptr) {
    type.meaning = std::string("duration[") + unit_of(format[2]) + "]";
  } else if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':' &&
             unit_of(format[2]) != nullptr) {
    const std::string_view zone = format.substr(4);
    type.meaning = std::string("timestamp[") + unit_of(format[2]) +
                   (zone.empty() ? "" : ", tz=" + std::string(zone)) + "]";
  } else {
    return false;
  }
  return true;
}

// Structs have no name in C++, and so lists of them have none. An optional needs the name of its value's
// type.
bool has_type_name(const ImportType& type) {
  if (type.values) return has_type_name(*type.values);
  if (type.kind == ImportType::Kind::records) return type.is_tuple;
  return std::ranges::all_of(type.children, has_type_name);
}

class SchemaImport {
 public:
  explicit SchemaImport(bool optionals) : optionals_(optionals) {}

  ImportType field(const ArrowSchema& schema, const std::string& path, int depth) {
    if (++fields_ > most_children) fail(path, "the schema has too many fields");
    ImportType type = values(schema, path, depth);
    type.name = schema.name == nullptr ? "" : schema.name;
    const bool nullable =
        (schema.flags & ARROW_FLAG_NULLABLE) != 0 && type.kind != ImportType::Kind::variants;
    if (!optionals_ || !nullable || !has_type_name(type)) return type;
    ImportType optional{.kind = ImportType::Kind::optionals, .name = type.name};
    optional.children.push_back(std::move(type));
    return optional;
  }

  std::vector<ImportType> children(const ArrowSchema& schema, const std::string& path, int depth) {
    if (schema.n_children < 0 || schema.n_children > most_children ||
        (schema.n_children > 0 && schema.children == nullptr))
      fail(path, "the schema has an impossible number of children");
    std::vector<ImportType> result;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      const ArrowSchema* child = schema.children[i];
      if (child == nullptr || child->format == nullptr) fail(path, "a child of the schema is missing");
      const std::string name = child->name == nullptr ? "" : child->name;
      result.push_back(field(*child, path.empty() ? name : fmt::format("{}.{}", path, name), depth + 1));
    }
    return result;
  }

 private:
  ImportType values(const ArrowSchema& schema, const std::string& path, int depth) {
    if (depth > deepest) fail(path, "the types are nested too deeply");
    return schema.dictionary != nullptr ? dictionary(schema, path, depth) : plain(schema, path, depth);
  }

  ImportType dictionary(const ArrowSchema& schema, const std::string& path, int depth) {
    ArrowSchema indices = schema;
    indices.dictionary = nullptr;
    ImportType type = plain(indices, path, depth);
    if (type.kind != ImportType::Kind::numbers || type.element == ElementType::float32 ||
        type.element == ElementType::float64 || !type.meaning.empty())
      fail(path, "the codes of a dictionary must be integers");
    if (schema.dictionary->format == nullptr) fail(path, "the dictionary has no type");
    type.values = std::make_unique<ImportType>(values(*schema.dictionary, path, depth + 1));
    return type;
  }

  ImportType plain(const ArrowSchema& schema, const std::string& path, int depth) {
    using Kind = ImportType::Kind;
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    ImportType type;
    const auto of = [&](Kind kind, std::size_t width = 8) {
      type.kind = kind;
      type.offset_width = width;
      return std::move(type);
    };
    if (format.size() == 1) {
      for (const NumberFormat& number : number_formats) {
        if (number.letter != format[0]) continue;
        type.element = number.element;
        return type;
      }
      if (format == "b") return of(Kind::booleans);
      if (format == "e") return of(Kind::half);
      if (format == "u") return of(Kind::texts, 4);
      if (format == "U") return of(Kind::texts, 8);
      if (format == "z") return of(Kind::bytes, 4);
      if (format == "Z") return of(Kind::bytes, 8);
    }
    if (format == "vu") return of(Kind::text_views);
    if (format == "vz") return of(Kind::byte_views);
    if (import_time(format, type)) return type;
    if (format == "+l" || format == "+L" || format == "+m") {
      type.children = children(schema, path, depth);
      if (type.children.size() != 1) fail(path, "a list must have one child");
      if (format == "+m" && type.children[0].kind == Kind::records) type.children[0].is_tuple = true;
      return of(Kind::lists, format == "+L" ? 8 : 4);
    }
    if (format.starts_with("+w:")) return fixed_list(schema, path, depth);
    if (format == "+s") {
      type.children = children(schema, path, depth);
      if (type.children.empty()) fail(path, "a struct without fields cannot be stored");
      return of(Kind::records);
    }
    if (format.starts_with("+us:") || format.starts_with("+ud:")) return variant(schema, path, depth);
    throw Error(ErrorKind::unsupported, "the Arrow type '" + std::string(format) + "' cannot be stored",
                "convert the column to numbers, texts, lists or structs first", {.field = path});
  }

  ImportType fixed_list(const ArrowSchema& schema, const std::string& path, int depth) {
    ImportType type{.kind = ImportType::Kind::fixed_lists};
    const std::string_view number = std::string_view(schema.format).substr(3);
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), type.size);
    if (code != std::errc() || end != number.data() + number.size() || type.size == 0 ||
        type.size > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
      fail(path, "a fixed-size list of '" + std::string(number) + "' items cannot be stored");
    type.children = children(schema, path, depth);
    if (type.children.size() != 1) fail(path, "a list must have one child");
    return type;
  }

  ImportType variant(const ArrowSchema& schema, const std::string& path, int depth) {
    ImportType type{.kind = ImportType::Kind::variants, .is_dense = schema.format[2] == 'd'};
    std::string_view rest = std::string_view(schema.format).substr(4);
    while (!rest.empty()) {
      int code = -1;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), code);
      if (error != std::errc() || code < 0 || code > 127)
        fail(path, "the codes of a union must be numbers from 0 to 127");
      type.codes.push_back(static_cast<std::int8_t>(code));
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (!rest.empty() && rest[0] != ',')
        fail(path, "the codes of a union must be numbers separated by commas");
      if (!rest.empty()) rest.remove_prefix(1);
    }
    type.children = children(schema, path, depth);
    if (type.children.size() != type.codes.size() || type.children.empty())
      fail(path, "a union must have one code for each child");
    return type;
  }

  bool optionals_;
  std::int64_t fields_ = 0;
};

const char* type_name_of(ElementType element) {
  switch (element) {
    case ElementType::int8:
      return "std::int8_t";
    case ElementType::uint8:
      return "std::uint8_t";
    case ElementType::int16:
      return "std::int16_t";
    case ElementType::uint16:
      return "std::uint16_t";
    case ElementType::int32:
      return "std::int32_t";
    case ElementType::uint32:
      return "std::uint32_t";
    case ElementType::int64:
      return "std::int64_t";
    case ElementType::uint64:
      return "std::uint64_t";
    case ElementType::float32:
      return "float";
    default:
      return "double";
  }
}

std::unique_ptr<Field> field_of(const ImportType& type);

// The C++ name of a type; fails if it holds a struct, which has no name.
std::string named(const ImportType& type, const char* holder) {
  std::unique_ptr<Field> field = field_of(type);
  if (!field->type_name().empty()) return field->type_name();
  fail("", std::string("a struct in a ") + holder + " cannot be stored",
       "a list of structs, or a struct of lists");
}

}  // namespace

std::vector<ImportType> import_schema(const ArrowSchema& schema, bool optionals) {
  if (schema.release == nullptr) fail("", "the schema was released");
  if (schema.format == nullptr || std::string_view(schema.format) != "+s")
    fail("", "the schema of entries must be a struct with one child for each field");
  return SchemaImport(optionals).children(schema, "", 0);
}

std::unique_ptr<Field> make_field(const ImportType& type) {
  return with_context({.field = type.name}, [&] { return field_of(type); });
}

namespace {

std::unique_ptr<Field> field_of(const ImportType& type) {
  using Kind = ImportType::Kind;
  if (type.values) {
    std::unique_ptr<Field> field = field_of(*type.values);
    field->set_name(type.name);
    return field;
  }
  switch (type.kind) {
    case Kind::numbers: {
      auto field = colonnade::make_field(type.name, type_name_of(type.element));
      if (!type.meaning.empty()) field->set_description(type.meaning);
      return field;
    }
    case Kind::half:
      return colonnade::make_field(type.name, "float");
    case Kind::booleans:
      return colonnade::make_field(type.name, "bool");
    case Kind::texts:
    case Kind::text_views:
      return colonnade::make_field(type.name, "std::string");
    case Kind::bytes:
    case Kind::byte_views:
      return colonnade::make_field(type.name, "std::vector<std::byte>");
    case Kind::lists:
    case Kind::optionals: {
      auto item = field_of(type.children[0]);
      std::string description = item->description();
      item->set_name("_0");
      item->set_description("");
      auto field = make_collection_field(
          type.name, type.kind == Kind::lists ? "std::vector" : "std::optional", std::move(item));
      field->set_description(std::move(description));
      return field;
    }
    case Kind::fixed_lists:
      return colonnade::make_field(type.name, "std::array<" + named(type.children[0], "fixed-size list") +
                                                  "," + std::to_string(type.size) + ">");
    case Kind::records: {
      if (type.is_tuple && type.children.size() == 2)
        return colonnade::make_field(type.name, "std::pair<" + named(type.children[0], "map") + "," +
                                                    named(type.children[1], "map") + ">");
      std::vector<std::unique_ptr<Field>> members;
      for (const ImportType& child : type.children) members.push_back(field_of(child));
      return make_record_field(type.name, std::move(members));
    }
    case Kind::variants: {
      std::string names;
      for (const ImportType& child : type.children)
        names += (names.empty() ? "" : ",") + named(child, "union");
      return colonnade::make_field(type.name, "std::variant<" + names + ">");
    }
  }
  fail("", "the type cannot be stored");
}

}  // namespace

}  // namespace colonnade::capi
