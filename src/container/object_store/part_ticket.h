// What the writer of a part of another process's data set needs to know, and the name of such a part.
#ifndef COLONNADE_CONTAINER_OBJECT_STORE_PART_TICKET_H
#define COLONNADE_CONTAINER_OBJECT_STORE_PART_TICKET_H

#include <cstdint>
#include <string>
#include <string_view>

namespace colonnade::container {

// As text "12-9f3c...-71aa...": the generation, the place of its record, and the claiming writer, in
// hexadecimal digits.
struct PartTicket {
  std::uint32_t generation = 0;
  std::uint64_t place = 0;
  std::uint64_t writer = 0;
  std::string text() const;
};

// A ticket and a random number that the writer of the part has drawn: "12-9f3c...-71aa...-5e01...".
struct PartName {
  PartTicket ticket;
  std::uint64_t number = 0;  // not 0: the distribution key of its blobs
  // Throws ErrorKind::usage.
  static PartName parse(std::string_view text);
};

}  // namespace colonnade::container

#endif
