// The little XML that S3 speaks: elements with text, no mixed content. Attributes, comments, processing
// instructions and prefixes of names are passed over.
#ifndef COLONNADE_IO_S3_S3_XML_H
#define COLONNADE_IO_S3_S3_XML_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade::io {

struct XmlElement {
  std::string name;
  std::string text;  // of an element without children
  std::vector<XmlElement> children;

  const XmlElement* child(std::string_view child_name) const noexcept;
  std::string child_text(std::string_view child_name) const;  // empty if there is none
};

// The outermost element; nullopt for what is not well-formed, or nested deeper than S3 ever does.
std::optional<XmlElement> parse_xml(std::string_view text);
std::string xml_escaped(std::string_view text);

}  // namespace colonnade::io

#endif
