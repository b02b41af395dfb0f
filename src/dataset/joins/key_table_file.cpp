// Tables of keys in files: a line that says what it is, one with the checksum of all that follows, a header
// in JSON that fills its block, and the arrays as they are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_number.h"
#include "base/warning.h"
#include "codec/checksum.h"
#include "colonnade/error.h"
#include "dataset/joins/key_table.h"
#include "io/random_access_file.h"

namespace colonnade::dataset {
namespace {

using nlohmann::json;

constexpr std::string_view family = "Colonnade keys ";
constexpr std::string_view magic = "Colonnade keys 2\n";
constexpr std::uint64_t header_begin = magic.size() + 17;  // 16 digits of the checksum and the end of a line
constexpr std::uint64_t header_size = 65'536;              // with the lines before it
constexpr std::uint64_t piece = std::uint64_t{8} << 20;

static_assert(std::endian::native == std::endian::little, "files hold arrays as little-endian machines do");

[[noreturn]] void fail(const std::string& problem) {
  throw Error(ErrorKind::format, "the table of keys is damaged: " + problem,
              "remove the file; it will be made again");
}

std::string text_at(const io::RandomAccessFile& file, std::uint64_t offset, std::uint64_t size) {
  std::string text(size, '\0');
  file.read(offset, MutableByteSpan(reinterpret_cast<std::byte*>(text.data()), size));
  return text;
}

}  // namespace

void KeyTable::save(const std::string& uri, std::string_view identity) const {
  json header{{"identity", identity},    {"form", static_cast<unsigned>(form_)},
              {"seed", seed_},           {"entries", entries_},
              {"regions", regions_},     {"region_size", region_size_},
              {"digits", json::array()}, {"arrays", json::array()}};
  for (const Digit& digit : digits_)
    header["digits"].push_back({{"is_signed", digit.is_signed},
                                {"least", digit.least},
                                {"span", digit.span},
                                {"stride", digit.stride}});
  each_array(*this,
             [&](const auto& array, JoinMemory::Placement) { header["arrays"].push_back(array.size); });
  std::string text = header.dump();
  if (text.size() > header_size - header_begin)
    throw Error(ErrorKind::unsupported, fmt::format("a table of {} keys is not saved", digits_.size()));
  text.resize(header_size - header_begin, ' ');
  codec::Xxh3 sum;
  sum.add(as_bytes(text));
  each_array(*this, [&](const auto& array, JoinMemory::Placement) { sum.add(array.bytes()); });
  text.insert(0, fmt::format("{}{:016x}\n", magic, sum.value()));

  const auto file = io::open_for_writing(uri, io::OpenMode::create);
  file->write(0, as_bytes(text));
  std::uint64_t at = header_size;
  each_array(*this, [&](const auto& array, JoinMemory::Placement) {
    for (ByteSpan rest = array.bytes(); !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
      file->write(at, rest.first(std::min(piece, rest.size())));
      at += std::min(piece, rest.size());
    }
  });
  file->close();
}

// The parts of load().
struct KeyTable::Loading {
  KeyTable& table;

  void take_header(const json& header) const {
    const auto form = whole_number<std::uint8_t>(header.at("form"));
    if (form > static_cast<std::uint8_t>(Form::wide)) fail("its form is unknown");
    table.form_ = Form{form};
    table.seed_ = whole_number<std::uint64_t>(header.at("seed"));
    table.entries_ = whole_number<std::uint64_t>(header.at("entries"));
    table.regions_ = whole_number<std::uint64_t>(header.at("regions"));
    table.region_size_ = whole_number<std::uint64_t>(header.at("region_size"));
    for (const json& digit : header.at("digits"))
      table.digits_.push_back(
          {digit.at("is_signed").get<bool>(), whole_number<std::uint64_t>(digit.at("least")),
           whole_number<std::uint64_t>(digit.at("span")), whole_number<std::uint64_t>(digit.at("stride"))});
    if (table.form_ == Form::wide) table.words_.resize(table.word_count());
  }

  // Returns the checksum of the header's text and the arrays.
  std::uint64_t read_arrays(const io::RandomAccessFile& file, std::string_view text, const json& sizes,
                            JoinMemory& memory) const {
    std::uint64_t at = header_size;
    std::size_t number = 0;
    codec::Xxh3 sum;
    sum.add(as_bytes(text));
    each_array(table, [&]<class T>(Array<T>& array, JoinMemory::Placement placement) {
      const auto size = whole_number<std::uint64_t>(sizes.at(number++));
      if (size > (file.size() - at) / sizeof(T)) fail("the file is too short");
      array = KeyTable::array<T>(size, memory, placement);
      const MutableByteSpan bytes(reinterpret_cast<std::byte*>(array.writable()), size * sizeof(T));
      for (std::uint64_t done = 0; done < bytes.size(); done += piece) {
        const MutableByteSpan some = bytes.subspan(done, std::min<std::uint64_t>(piece, bytes.size() - done));
        file.read(at + done, some);
        sum.add(some);
      }
      at += bytes.size();
    });
    return sum.value();
  }
};

std::optional<KeyTable> KeyTable::load(const std::string& uri, std::string_view identity,
                                       JoinMemory& memory) {
  std::unique_ptr<io::RandomAccessFile> file;
  try {
    file = io::open_for_reading(uri);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_found) return std::nullopt;
    throw;
  }
  return with_context({.uri = uri}, [&]() -> std::optional<KeyTable> {
    const std::string begin = text_at(*file, 0, std::min<std::uint64_t>(file->size(), magic.size()));
    if (begin != magic && begin.starts_with(family)) return std::nullopt;  // of another version: made anew
    if (file->size() < header_size || begin != magic)
      throw Error(ErrorKind::format, "the file is not a table of keys", "name another file for the table");
    try {
      const std::string text = text_at(*file, header_begin, header_size - header_begin);
      const json header = json::parse(text);
      if (header.at("identity").get<std::string>() != identity) return std::nullopt;
      KeyTable table;
      const Loading loading{table};
      loading.take_header(header);
      const std::uint64_t sum = loading.read_arrays(*file, text, header.at("arrays"), memory);
      if (text_at(*file, magic.size(), 17) != fmt::format("{:016x}\n", sum)) fail("its checksum is wrong");
      table.check();
      return table;
    } catch (const json::exception& error) {
      fail(error.what());
    }
  });
}

KeyTable KeyTable::load_or_make(const std::string& uri, std::string_view identity, JoinMemory& memory,
                                const std::function<KeyTable()>& make) {
  if (uri.empty()) return make();
  if (auto loaded = load(uri, identity, memory)) return std::move(*loaded);
  KeyTable made = make();
  try {
    made.save(uri, identity);
  } catch (const Error& error) {  // what is asked for is there all the same
    warn(fmt::format("the table of keys was not saved in {}: {}", uri, error.problem()));
  }
  return made;
}

void KeyTable::check() const {
  if (entries_ == 0) return;
  const auto has = [](bool holds, const char* problem) {
    if (!holds) fail(problem);
  };
  const bool is_hashed = form_ != Form::direct;
  has(!digits_.empty() && entries_ < ~std::uint32_t{0} && regions_ > 0 && region_size_ > 0,
      "its numbers make no sense");
  const std::size_t slots = std::max(entry_slots_.size, tag_slots_.size);
  has(slots / regions_ == region_size_ && slots % regions_ == 0 && (is_hashed || regions_ == 1),
      "it has another number of slots");
  const bool is_narrow = form_ == Form::direct || form_ == Form::wide;
  has((entry_slots_.size == 0) == !is_narrow && (tag_slots_.size == 0) == is_narrow,
      "its slots are of another kind");
  has(ranks_.size == (form_ == Form::tagged ? entries_ : 0), "it has another number of ranks");
  has(std::ranges::all_of(words_, [&](const auto& words) { return words.size == entries_; }),
      "its keys have another number of values");
  // Every rank of a direct table has a slot.
  std::uint64_t ranks = 1;
  std::uint64_t bits = 0;
  for (const Digit& digit : digits_) {
    if (form_ == Form::wide) {
      has(digit.stride == std::exchange(bits, bits + static_cast<std::uint64_t>(std::bit_width(digit.span))),
          "its digits make no sense");
      continue;
    }
    has(digit.stride == ranks && digit.span != ~std::uint64_t{0} &&
            !__builtin_mul_overflow(ranks, digit.span + 1, &ranks) && ranks != ~std::uint64_t{0},
        "its digits make no sense");
  }
  has(is_hashed || ranks + 1 == region_size_, "it has another number of slots");
  has(form_ != Form::exact || ranks <= std::uint64_t{1} << 32, "its digits make no sense");
  const auto check_slots = [&]<class Slot>(const Array<Slot>& all) {
    for (std::size_t region = 0; region < regions_; ++region) {
      const Slot* own = all.data() + region * region_size_;
      std::size_t free = 0;
      for (std::size_t i = 0; i < region_size_; ++i) {
        const bool is_free = own[i] == static_cast<Slot>(~Slot{0});
        free += is_free ? 1 : 0;
        has(is_free || static_cast<std::uint32_t>(own[i]) < entries_,
            "it names an entry that does not exist");
      }
      has(free > 0 && (is_hashed || own[region_size_ - 1] == static_cast<Slot>(~Slot{0})),
          "searches in it would not end");
    }
  };
  is_narrow ? check_slots(entry_slots_) : check_slots(tag_slots_);
}

}  // namespace colonnade::dataset
