// Values as readable text; see values.h.
#include <fmt/format.h>

#include "frame/values/values.h"

namespace colonnade::frame {

namespace {

std::string number_text(const Values& values, std::size_t i) {
  switch (values.type.element()) {
    case ElementType::boolean:
      return values.as<std::uint8_t>()[i] != 0 ? "true" : "false";
    case ElementType::character:
      return fmt::format("'{}'", values.as<char>()[i]);
    case ElementType::byte:
    case ElementType::uint8:
      return fmt::to_string(values.as<std::uint8_t>()[i]);
    case ElementType::int8:
      return fmt::to_string(values.as<std::int8_t>()[i]);
    case ElementType::int16:
      return fmt::to_string(values.as<std::int16_t>()[i]);
    case ElementType::uint16:
      return fmt::to_string(values.as<std::uint16_t>()[i]);
    case ElementType::int32:
      return fmt::to_string(values.as<std::int32_t>()[i]);
    case ElementType::uint32:
      return fmt::to_string(values.as<std::uint32_t>()[i]);
    case ElementType::int64:
      return fmt::to_string(values.as<std::int64_t>()[i]);
    case ElementType::uint64:
    case ElementType::index:
      return fmt::to_string(values.as<std::uint64_t>()[i]);
    case ElementType::float32:
      return fmt::to_string(values.as<float>()[i]);
    case ElementType::float64:
      return fmt::to_string(values.as<double>()[i]);
    case ElementType::switch_:
      break;
  }
  const SwitchElement& element = values.as<SwitchElement>()[i];
  return fmt::format("{}:{}", element.tag, element.index);
}

std::string quoted(const Values& values, std::size_t i) {
  const auto first = static_cast<std::size_t>(values.offsets[i]);
  const auto last = static_cast<std::size_t>(values.offsets[i + 1]);
  std::string text = "\"";
  for (std::size_t j = first; j < last; ++j) {
    const char c = values.items().as<char>()[values.items().constant ? 0 : j];
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

std::string text_of(const Values& values, std::size_t index) {
  const std::size_t i = values.constant && !values.type.is_record() ? 0 : index;
  switch (values.type.kind()) {
    case ValueType::Kind::scalar:
      return number_text(values, i);
    case ValueType::Kind::string:
      return quoted(values, i);
    case ValueType::Kind::list: {
      std::string text = "{";
      for (std::int64_t j = values.offsets[i]; j < values.offsets[i + 1]; ++j)
        text += (text.size() > 1 ? ", " : "") + text_of(values.items(), static_cast<std::size_t>(j));
      return text + '}';
    }
    case ValueType::Kind::record:
      break;
  }
  if (values.type.is_variant()) {  // as the value that it has
    for (const ValuesPtr& alternative : values.children) {
      const std::size_t at = alternative->constant ? 0 : i;
      if (alternative->offsets[at + 1] > alternative->offsets[at])
        return text_of(alternative->items(), static_cast<std::size_t>(alternative->offsets[at]));
    }
    return "{}";
  }
  std::string text = "{";
  for (std::size_t m = 0; m < values.children.size(); ++m) {
    const Values& child = *values.children[m];
    text += fmt::format("{}{}: {}", m > 0 ? ", " : "", values.type.members()[m].first,
                        text_of(child, child.size == values.size ? i : 0));
  }
  return text + '}';
}

}  // namespace colonnade::frame
