// Fuzzes headers: the input is an envelope and, in a second run, the payload of one, so that length and
// checksum are right. A readable header can be written, and the written bytes read back to the same
// bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/envelope.h"
#include "format/frame.h"

namespace {

using namespace colonnade;

void require(bool condition) {
  if (!condition) std::abort();
}

void read(ByteSpan envelope) {
  try {
    Descriptor descriptor = format::read_header(envelope);
    const Bytes once = format::write_header(descriptor).bytes;
    require(format::write_header(format::read_header(once)).bytes == once);
    format::finish(descriptor);
    for (const FieldDescriptor& field : descriptor.fields)
      descriptor.find_field(descriptor.path_of(field.id));
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  read(input);
  format::EnvelopeWriter writer(format::EnvelopeType::header);
  writer.out().append(input);
  std::uint64_t checksum = 0;
  read(writer.finish(checksum));
  return 0;
}
