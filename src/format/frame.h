// The grammar that all envelopes share: the envelope itself, frames, strings and feature flags.
//
//   envelope   u64 (type id: 16 bits, length: 48 bits, the whole block with its checksum) | payload | u64
//   XXH3 record     i64 size | payload               the size counts itself; what a reader does not know is
//   skipped by it list       i64 -size | u32 items | payload string     u32 bytes | bytes flags      u64,
//   another word follows while bit 63 is set
//
// All little-endian. Nothing here allocates by a number found in the bytes.
#ifndef COLONNADE_FORMAT_FRAME_H
#define COLONNADE_FORMAT_FRAME_H

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace colonnade::format {

enum class EnvelopeType : std::uint16_t { header = 1, footer = 2, page_list = 3 };

const char* name_of(EnvelopeType type) noexcept;

// XXH3-64 with seed 0. (The codec layer has the same for pages; the layers do not include each other.)
std::uint64_t xxh3(ByteSpan bytes) noexcept;

struct OpenEnvelope {
  ByteReader payload;
  std::uint64_t checksum = 0;
};
// Checks type, length and checksum; the payload's offsets count from the start of the envelope.
OpenEnvelope open_envelope(ByteSpan envelope, EnvelopeType type);

// Returns a record frame's payload; `reader` skips the frame.
ByteReader read_record(ByteReader& reader, const char* what);

struct ListFrame {
  ByteReader payload;
  std::uint32_t items = 0;
};
// `item_bytes` is the minimum size of an item: an impossible count is refused before any
// allocation.
ListFrame read_list(ByteReader& reader, std::uint64_t item_bytes, const char* what);

// Reads the whole chain and throws ErrorKind::unsupported for a bit outside of `known`; returns the first
// word.
std::uint64_t read_feature_flags(ByteReader& reader, std::uint64_t known, const char* what);

// Writes one envelope. Frames are closed in the reverse order of opening by the destructors of their scopes.
class EnvelopeWriter {
 public:
  explicit EnvelopeWriter(EnvelopeType type);

  ByteWriter& out() noexcept { return out_; }
  void string(std::string_view text, const char* what);

  class Record {
   public:
    explicit Record(EnvelopeWriter& writer) : out_(writer.out()), start_(out_.position()) {
      out_.le(std::int64_t{0});
    }
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record() { out_.patch(start_, static_cast<std::int64_t>(out_.position() - start_)); }

   private:
    ByteWriter& out_;
    std::size_t start_;
  };
  class List {
   public:
    List(EnvelopeWriter& writer, std::size_t items, const char* what);
    List(const List&) = delete;
    List& operator=(const List&) = delete;
    ~List() { out_.patch(start_, -static_cast<std::int64_t>(out_.position() - start_)); }

   private:
    ByteWriter& out_;
    std::size_t start_;
  };

  // Sets the length, appends the checksum, also stores it in `checksum`, and returns the bytes.
  Bytes finish(std::uint64_t& checksum);

 private:
  EnvelopeType type_;
  ByteWriter out_;
};

}  // namespace colonnade::format

#endif
