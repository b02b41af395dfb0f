// Serialised objects nest: a byte count (bit 30 set), a version, the base class serialised the same way, then
// members.
//
//   TList          count+5  TObject  name  n  then n times: object, option string
//   TStreamerInfo  count+9  TNamed   class checksum 4  class version 4  object TObjArray
//   TObjArray      count+3  TObject  name  n  lower bound 4  then n objects
//   TStreamerBasicType  count+2  { TStreamerElement  count+4  TNamed  type 4  size 4  array 4 x 7  type name
//   } TNamed         count+1  TObject  name  title TObject        version 2  id 4  bits 4
#include "format/tfile_streamer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace colonnade::format {
namespace {

constexpr std::uint32_t byte_count_mask = 0x40000000;
constexpr std::uint32_t new_class_tag = 0xffffffff;
constexpr std::uint32_t class_reference_mask = 0x80000000;
constexpr std::uint32_t map_offset = 2;
// Names that are repeated must not make what is read much larger than the list.
constexpr std::size_t longest_class = 40;
constexpr std::uint32_t is_referenced = 1u << 4;  // a TObject bit: two more bytes follow

constexpr std::string_view rntuple_class = "ROOT::RNTuple";
constexpr std::uint32_t rntuple_version = 2;
constexpr std::uint32_t rntuple_checksum = 0x4ba21bf5;  // ROOT's checksum over names and types of the members

struct Member {
  std::string_view name;
  bool is_long;  // ULong64_t, else unsigned short
};
constexpr std::array rntuple_members{
    Member{"fVersionEpoch", false}, Member{"fVersionMajor", false}, Member{"fVersionMinor", false},
    Member{"fVersionPatch", false}, Member{"fSeekHeader", true},    Member{"fNBytesHeader", true},
    Member{"fLenHeader", true},     Member{"fSeekFooter", true},    Member{"fNBytesFooter", true},
    Member{"fLenFooter", true},     Member{"fMaxKeySize", true},
};

// Writes a byte count, whose value is known at the end of the scope.
class Counted {
 public:
  explicit Counted(ByteWriter& out) : out_(out), at_(out.position()) { out.be<std::uint32_t>(0); }
  Counted(ByteWriter& out, std::uint16_t version) : Counted(out) { out.be<std::uint16_t>(version); }
  ~Counted() {
    const auto count = static_cast<std::uint32_t>(out_.position() - at_ - sizeof(std::uint32_t));
    out_.patch(at_, byte_swap(count | byte_count_mask));
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  ByteWriter& out_;
  std::size_t at_;
};

void write_tobject(ByteWriter& out, std::uint32_t bits = 0) {
  out.be<std::uint16_t>(1);
  out.be<std::uint32_t>(0);
  out.be<std::uint32_t>(bits);
}

void write_tnamed(ByteWriter& out, std::string_view name, std::uint32_t bits = 0) {
  const Counted counted(out, 1);
  write_tobject(out, bits);
  write_tstring(out, name);
  write_tstring(out, "");
}

void write_new_class(ByteWriter& out, std::string_view name) {
  out.be<std::uint32_t>(new_class_tag);
  out.append(as_bytes(name));
  out.le<std::uint8_t>(0);
}

void write_element(ByteWriter& out, const Member& member) {
  const Counted basic_type(out, 2);
  const Counted element(out, 4);
  write_tnamed(out, member.name);
  out.be<std::uint32_t>(member.is_long ? 17 : 12);
  out.be<std::uint32_t>(member.is_long ? 8 : 2);
  for (int i = 0; i < 7; ++i) out.be<std::uint32_t>(0);
  write_tstring(out, member.is_long ? "ULong64_t" : "unsigned short");
}

// Appends the entry of the list; a position in `out` plus `origin` is its map
// position.
void write_rntuple_entry(ByteWriter& out, std::size_t origin) {
  {
    const Counted object(out);
    write_new_class(out, "TStreamerInfo");
    const Counted info(out, 9);
    constexpr std::uint32_t can_delete_base = 1u << 16;  // set by ROOT, too
    write_tnamed(out, rntuple_class, can_delete_base);
    out.be<std::uint32_t>(rntuple_checksum);
    out.be<std::uint32_t>(rntuple_version);
    const Counted array_object(out);
    write_new_class(out, "TObjArray");
    const Counted array(out, 3);
    write_tobject(out);
    write_tstring(out, "");
    out.be<std::uint32_t>(static_cast<std::uint32_t>(rntuple_members.size()));
    out.be<std::uint32_t>(0);
    std::uint32_t class_position = 0;
    for (const Member& member : rntuple_members) {
      const Counted element_object(out);
      if (class_position == 0) {
        class_position = static_cast<std::uint32_t>(out.position() + origin);
        write_new_class(out, "TStreamerBasicType");
      } else {
        out.be<std::uint32_t>(class_reference_mask | class_position);
      }
      write_element(out, member);
    }
  }
  write_tstring(out, "");  // the entry's option
}

[[noreturn]] void fail(const char* problem, std::size_t offset) {
  throw Error(ErrorKind::format, fmt::format("streamer infos: {}", problem),
              "repair the file with ROOT first", {.offset = offset});
}

std::size_t read_count(ByteReader& in, const char* what) {
  const auto count = in.be<std::uint32_t>(what);
  if ((count & byte_count_mask) == 0) fail("a byte count is missing", in.position());
  in.require(count & ~byte_count_mask, what);
  return in.position() + (count & ~byte_count_mask);
}

void skip_tobject(ByteReader& in, const char* what) {
  in.take(6, what);
  if ((in.be<std::uint32_t>(what) & is_referenced) != 0) in.take(2, what);
}

// uproot leaves zeros behind its list.
ByteSpan without_padding(ByteSpan list) {
  ByteReader in(list);
  const std::size_t size = read_count(in, "streamer infos");
  const ByteSpan rest = list.subspan(size);
  if (std::any_of(rest.begin(), rest.end(), [](std::byte byte) { return byte != std::byte{0}; }))
    fail("the length of the list does not match its record", 0);
  return list.first(size);
}

// Reads the list's header and returns the number of entries; `in` is then at the first one.
std::uint32_t read_list_header(ByteReader& in, std::size_t& count_at) {
  constexpr const char* what = "streamer infos";
  read_count(in, what);
  const auto version = in.be<std::uint16_t>(what);
  if (version != 5) fail("the list has an unknown version", in.position());
  skip_tobject(in, what);
  read_tstring(in, what);
  count_at = in.position();
  return in.be<std::uint32_t>(what);
}

// With its end; the beginning of a name that is longer than those of the parts of streamer infos.
std::string read_class_name(ByteReader& in, const char* what) {
  std::string name;
  while (name.size() <= longest_class) {
    const auto letter = in.le<char>(what);
    if (letter == '\0') break;
    name.push_back(letter);
  }
  return name;
}

struct Identity {
  std::string name;
  std::uint32_t checksum = 0;
  std::uint32_t version = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

// Of a TStreamerInfo, whose class was read before.
Identity read_identity(ByteReader& in) {
  constexpr const char* what = "streamer info";
  Identity found;
  read_count(in, what);
  in.take(2, what);
  const std::size_t named_end = read_count(in, what);
  in.take(2, what);
  skip_tobject(in, what);
  found.name = read_tstring(in, what);
  in.seek(named_end, what);
  found.checksum = in.be<std::uint32_t>(what);
  found.version = in.be<std::uint32_t>(what);
  return found;
}

// Reads the entries of a list one after the other.
class Entries {
 public:
  Entries(ByteSpan list, std::size_t origin) : list_(without_padding(list)), in_(list_), origin_(origin) {
    left_ = read_list_header(in_, count_at_);
    count_ = left_;
  }

  ByteSpan list() const noexcept { return list_; }
  std::uint32_t count() const noexcept { return count_; }
  std::size_t count_at() const noexcept { return count_at_; }

  // False behind the last one. `take` is called for a TStreamerInfo, at its start, with its end.
  template <class Take>
  bool next(Take&& take) {
    constexpr const char* what = "streamer infos: entry";
    if (left_ == 0) {
      if (in_.remaining() > 0) fail("bytes follow the last entry", in_.position());
      return false;
    }
    --left_;
    const auto first = in_.be<std::uint32_t>(what);
    if ((first & byte_count_mask) != 0 && first != new_class_tag) {
      in_.seek(in_.position() - sizeof first, what);
      const std::size_t end = read_count(in_, what);
      if (read_class(what) == "TStreamerInfo") take(end);
      if (in_.position() > end) fail("an entry is longer than it claims", in_.position());
      in_.seek(end, what);
    }  // otherwise a reference of 4 bytes to an earlier object
    read_tstring(in_, what);
    return true;
  }

  void skip_to(std::size_t end) { in_.seek(end, "streamer info"); }

  Identity identity() {
    const std::size_t start = in_.position();
    Identity found = read_identity(in_);
    in_.seek(start, "streamer info");
    return found;
  }

  // The object as an entry of any list: each of its classes with its name. Empty if it has other parts than
  // ROOT 6 writes.
  std::optional<Bytes> portable();

 private:
  // Empty if it is not known. A reference is looked up where it points to: what is there may lie in an entry
  // that was skipped.
  std::string read_class(const char* what) {
    const auto tag = in_.be<std::uint32_t>(what);
    if (tag == new_class_tag) {
      std::string name = read_class_name(in_, what);
      if (name.size() > longest_class)
        while (in_.le<char>(what) != '\0') {
        }
      return name;
    }
    const std::size_t position = tag & ~class_reference_mask;
    if ((tag & class_reference_mask) == 0 || position < origin_ || position - origin_ >= in_.position())
      return {};
    ByteReader there(list_);
    there.seek(position - origin_, what);
    return there.be<std::uint32_t>(what) == new_class_tag ? read_class_name(there, what) : std::string();
  }

  ByteSpan list_;
  ByteReader in_;
  std::size_t origin_;
  std::size_t count_at_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t left_ = 0;
};

std::optional<Bytes> Entries::portable() {
  constexpr const char* what = "streamer info";
  ByteWriter out;
  bool is_whole = true;
  const auto copy = [&](std::size_t from, std::size_t to) {
    if (to < from) fail("an entry is longer than it claims", to);
    out.append(list_.subspan(from, to - from));
  };
  {
    const Counted object(out);
    write_new_class(out, "TStreamerInfo");
    const std::size_t info_end = read_count(in_, what);
    const std::size_t info_at = in_.position();
    in_.take(2, what);
    in_.seek(read_count(in_, what), what);  // its name
    in_.take(8, what);
    const Counted info(out);
    copy(info_at, in_.position());
    const std::size_t elements_end = read_count(in_, what);
    const Counted elements(out);
    is_whole = read_class(what) == "TObjArray" && elements_end == info_end;
    write_new_class(out, "TObjArray");
    const std::size_t array_end = read_count(in_, what);
    const std::size_t array_at = in_.position();
    in_.take(2, what);
    skip_tobject(in_, what);
    read_tstring(in_, what);
    const auto count = in_.be<std::uint32_t>(what);
    in_.take(4, what);
    const Counted array(out);
    copy(array_at, in_.position());
    for (std::uint32_t i = 0; i < count && is_whole; ++i) {
      const std::size_t end = read_count(in_, what);
      const std::string name = read_class(what);
      is_whole = !name.empty() && name.size() <= longest_class;
      const Counted element(out);
      write_new_class(out, name);
      copy(in_.position(), end);
      in_.seek(end, what);
    }
    is_whole = is_whole && in_.position() == array_end && array_end == elements_end;
  }
  write_tstring(out, "");  // the entry's option
  if (!is_whole) return std::nullopt;
  return out.take();
}

}  // namespace

std::vector<ClassInfo> read_class_infos(ByteSpan list, std::size_t key_length,
                                        const std::function<bool(const std::string& name)>& is_wanted) {
  std::vector<ClassInfo> found;
  Entries entries(list, key_length + map_offset);
  const auto take = [&](std::size_t end) {
    try {
      const Identity identity = entries.identity();
      std::optional<Bytes> entry = entries.portable();
      if (entry && identity.name != rntuple_class && is_wanted(identity.name))
        found.push_back({identity.name, identity.checksum, identity.version, std::move(*entry)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::format) throw;
    }
    entries.skip_to(end);
  };
  try {
    while (entries.next(take)) {
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format) throw;
  }
  return found;
}

Bytes write_streamer_infos(std::size_t key_length, std::span<const ClassInfo> classes) {
  ByteWriter out;
  {
    const Counted list(out, 5);
    write_tobject(out);
    write_tstring(out, "");
    out.be<std::uint32_t>(static_cast<std::uint32_t>(1 + classes.size()));
    write_rntuple_entry(out, key_length + map_offset);
    for (const ClassInfo& one : classes) out.append(one.entry);
  }
  return out.take();
}

std::optional<Bytes> add_streamer_infos(ByteSpan list, std::size_t key_length,
                                        std::span<const ClassInfo> classes) {
  Entries entries(list, key_length + map_offset);
  bool has_rntuple = false;
  std::vector<Identity> there;
  while (entries.next([&](std::size_t /*end*/) {
    const Identity& found = there.emplace_back(entries.identity());
    has_rntuple = has_rntuple || (found.name == rntuple_class && found.version == rntuple_version);
  })) {
  }
  std::vector<const ClassInfo*> missing;
  for (const ClassInfo& one : classes)
    if (std::find(there.begin(), there.end(), Identity{one.name, one.checksum, one.version}) == there.end())
      missing.push_back(&one);
  if (has_rntuple && missing.empty()) return std::nullopt;

  ByteWriter out;
  out.append(entries.list());
  if (!has_rntuple) write_rntuple_entry(out, key_length + map_offset);
  for (const ClassInfo* one : missing) out.append(one->entry);
  out.patch(0,
            byte_swap(static_cast<std::uint32_t>(out.position() - sizeof(std::uint32_t)) | byte_count_mask));
  const std::size_t added = (has_rntuple ? 0 : 1) + missing.size();
  out.patch(entries.count_at(), byte_swap(entries.count() + static_cast<std::uint32_t>(added)));
  return out.take();
}

}  // namespace colonnade::format
