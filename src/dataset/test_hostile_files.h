// For tests and fuzzing: files made by an attacker, who can compute checksums. HostileFiles takes a valid
// file apart, changes its schema, its clusters, the bytes of its envelopes or pages, and reassembles it with
// correct checksums, so that the code behind the checksums is reached.
#ifndef COLONNADE_DATASET_TEST_HOSTILE_FILES_H
#define COLONNADE_DATASET_TEST_HOSTILE_FILES_H

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "codec/compression.h"
#include "format/envelope.h"
#include "format/tfile_anchor.h"
#include "io/memory/memory_file.h"
#include "page/page_source.h"

namespace colonnade::testing {

// Choices: a fuzzer's bytes while they last, then a random number generator.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  explicit Dice(ByteSpan bytes) : state_(codec::xxh3(bytes)), bytes_(bytes) {}

  std::uint64_t number() {
    if (bytes_.size() >= 2) {
      const auto value = load_le<std::uint16_t>(bytes_.data());
      bytes_ = bytes_.subspan(2);
      return value;
    }
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : number() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Items>
  auto& of(Items& items) {
    return items[below(items.size())];
  }

  // Numbers that often cause bugs, or `usual` and its neighbours.
  std::uint64_t awkward(std::uint64_t usual) {
    static constexpr std::uint64_t numbers[] = {
        0,          1,          2,          3,          7,          8,          16,
        31,         32,         33,         63,         64,         65,         127,
        128,        255,        256,        1000,       65535,      65536,      1000000,
        0x7fffffff, 1U << 31,   ~0U,        1ULL << 32, 1ULL << 33, 1ULL << 40, 1ULL << 48,
        1ULL << 56, 1ULL << 61, 1ULL << 62, INT64_MAX,  1ULL << 63, ~0ULL - 1,  ~0ULL};
    switch (below(4)) {
      case 0:
        return usual + 1;
      case 1:
        return usual - 1;
      case 2:
        return usual ^ std::uint64_t{1} << below(64);
      default:
        return numbers[below(std::size(numbers))];
    }
  }

 private:
  std::uint64_t state_;
  ByteSpan bytes_;
};

class HostileFiles {
 public:
  // The data set `name` of `original`, a whole file, ROOT or bare.
  HostileFiles(std::string name, Bytes original) : name_(std::move(name)), original_(std::move(original)) {
    const std::string uri = "memory:hostile-original";
    io::store_memory_file(uri, original_);
    const auto source = page::PageSource::open(name_, uri);
    descriptor_ = source->descriptor();
    for (const AttributeSetRecord& record : descriptor_.attribute_sets)
      sets_.push_back(source->open_attribute_set(record)->descriptor());
    io::remove_memory_file(uri);
    const Bytes big = format::write_anchor(descriptor_.anchor);
    const Bytes little = format::write_anchor(descriptor_.anchor, format::ChecksumOrder::little_endian);
    anchor_at_ = find(big);
    order_ = format::ChecksumOrder::big_endian;
    if (anchor_at_ == original_.size()) {
      anchor_at_ = find(little);
      order_ = format::ChecksumOrder::little_endian;
    }
    if (anchor_at_ == original_.size())
      throw Error(ErrorKind::usage, "the anchor is not where it can be replaced");
  }

  const std::string& name() const noexcept { return name_; }
  const Bytes& original() const noexcept { return original_; }

  // The maximum number of repetitions, as a power of two. Fuzzing keeps files small: with instrumentation,
  // runs of seconds would hide endless ones.
  int largest_repetition = 18;

  // The next file, with at least one change, all of them behind correct checksums.
  Bytes make(Dice& dice) const {
    Bytes file = original_;
    Descriptor descriptor = descriptor_;
    Raw raw;
    const std::size_t changes = 1 + dice.below(3);
    for (std::size_t i = 0; i < changes; ++i) switch (dice.below(8)) {
        case 0:
          change_page(dice, file, descriptor);
          break;
        case 1:
          raw.header.push_back(dice.number());
          break;
        case 2:
          raw.footer.push_back(dice.number());
          break;
        case 3:
          raw.page_lists.push_back(dice.number());
          break;
        case 4:
          change_clusters(dice, descriptor);
          break;
        case 5:
          multiply(dice, descriptor);
          break;
        default:
          change_schema(dice, descriptor);
      }
    if (!sets_.empty() && dice.one_in(2)) change_attribute_sets(dice, descriptor, file);
    if (dice.one_in(2)) {  // new fields are in the header, else in the extension
      descriptor.header_fields = static_cast<std::uint32_t>(descriptor.fields.size());
      descriptor.header_columns = static_cast<std::uint32_t>(descriptor.columns.size());
    }
    try {
      append_envelopes(dice, raw, descriptor, file);
    } catch (const Error&) {  // such a descriptor cannot be written
      Descriptor sound = descriptor_;
      raw.header.push_back(dice.number());
      append_envelopes(dice, raw, sound, file);
    }
    return file;
  }

  // The file after `change` to the descriptor.
  template <class Change>
  Bytes make_with(Change&& change) const {
    Bytes file = original_;
    Descriptor descriptor = descriptor_;
    change(descriptor);
    Dice dice(1);
    append_envelopes(dice, {}, descriptor, file);
    return file;
  }

 private:
  // Seeds of changes to the bytes of envelopes.
  struct Raw {
    std::vector<std::uint64_t> header, footer, page_lists;
  };

  std::size_t find(const Bytes& part) const {
    return static_cast<std::size_t>(
        std::search(original_.begin(), original_.end(), part.begin(), part.end()) - original_.begin());
  }

  // ---- Pages

  static void change_page(Dice& dice, Bytes& file, Descriptor& descriptor) {
    if (descriptor.clusters.empty()) return;
    ClusterDescriptor& cluster = dice.of(descriptor.clusters);
    if (cluster.columns.empty()) return;
    const ColumnRange& range = dice.of(cluster.columns);
    if (range.pages.empty()) return;
    const PageDescriptor page = range.pages[dice.below(range.pages.size())];
    const std::uint64_t end = page.locator.offset + page::stored_size(page);
    if (page.locator.kind != Locator::Kind::file || page.locator.size == 0 || end > file.size()) return;
    const MutableByteSpan bytes = MutableByteSpan(file).subspan(page.locator.offset, page.locator.size);
    // The first bytes are the header of a compression block, or the first elements.
    const std::size_t reach = dice.one_in(2) ? std::min<std::size_t>(bytes.size(), 16) : bytes.size();
    change_bytes(dice, bytes.first(reach));
    if (page.has_checksum)
      store_le(file.data() + page.locator.offset + page.locator.size, codec::xxh3(bytes));
  }

  static void change_bytes(Dice& dice, MutableByteSpan bytes) {
    if (bytes.empty()) return;
    const std::size_t width = std::size_t{1} << dice.below(4);
    const std::size_t at = dice.below(bytes.size());
    const std::size_t count = std::min(width, bytes.size() - at);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, count);
    value = dice.one_in(3) ? dice.number() : dice.awkward(value);
    std::memcpy(bytes.data() + at, &value, count);
  }

  // ---- Schema

  static std::string a_type(Dice& dice, const Descriptor& d) {
    static const std::string types[] = {"float",
                                        "double",
                                        "bool",
                                        "std::int32_t",
                                        "std::uint8_t",
                                        "char",
                                        "std::byte",
                                        "std::string",
                                        "",
                                        "std::vector<float>",
                                        "std::vector<std::vector<std::int32_t>>",
                                        "std::array<float,3>",
                                        "std::array<float,0>",
                                        "std::array<std::string,2>",
                                        "std::bitset<9>",
                                        "std::optional<float>",
                                        "std::unique_ptr<std::string>",
                                        "std::variant<float,std::string>",
                                        "std::variant<>",
                                        "std::pair<float,std::string>",
                                        "std::tuple<float>",
                                        "std::tuple<>",
                                        "std::map<std::string,float>",
                                        "std::set<float>",
                                        "std::atomic<float>",
                                        "ROOT::RNTupleCardinality<std::uint32_t>",
                                        "ROOT::VecOps::RVec<float>",
                                        "TObject",
                                        "Unknown",
                                        "std::vector<",
                                        "std::vector<Unknown>",
                                        "std::array<float,99999999999>"};
    if (dice.one_in(3)) return dice.of(d.fields).type_name;
    return types[dice.below(std::size(types))];
  }

  static std::string a_name(Dice& dice, const Descriptor& d) {
    static const std::string names[] = {"",
                                        ".",
                                        "a.b",
                                        ":_0",
                                        ":_1",
                                        "_0",
                                        "_1",
                                        "_2",
                                        "#x",
                                        "\xff\xfe",
                                        "x y",
                                        std::string("n\0n", 3),
                                        std::string(1000, 'n')};
    if (dice.one_in(2)) return dice.of(d.fields).name;
    return names[dice.below(std::size(names))];
  }

  static void change_schema(Dice& dice, Descriptor& d) {
    if (d.fields.empty() || dice.one_in(3)) return change_columns(dice, d);
    FieldDescriptor& field = dice.of(d.fields);
    switch (dice.below(10)) {
      case 0:
        field.parent = static_cast<std::uint32_t>(dice.below(d.fields.size() + 1));
        break;
      case 1:
        field.raw_role = static_cast<std::uint16_t>(dice.below(7));
        field.role = static_cast<FieldRole>(field.raw_role);
        break;
      case 2:
        field.array_size = dice.one_in(3) ? 0 : dice.awkward(field.array_size);
        break;
      case 3:
        field.name = a_name(dice, d);
        break;
      case 4:
        field.source_field = dice.one_in(3) ? std::optional<std::uint32_t>()
                                            : static_cast<std::uint32_t>(dice.below(d.fields.size() + 1));
        break;
      case 5:
        std::swap(field, dice.of(d.fields));
        break;
      case 6:
        field.type_version = static_cast<std::uint32_t>(dice.number());
        field.field_version = dice.one_in(2) ? 0 : static_cast<std::uint32_t>(dice.number());
        field.soa_collection = !field.soa_collection;
        break;
      case 7:
        d.fields.push_back(field);
        break;
      default:
        field.type_name = a_type(dice, d);
    }
  }

  static void change_columns(Dice& dice, Descriptor& d) {
    if (!d.aliases.empty() && dice.one_in(6)) {
      dice.of(d.aliases).physical_column = static_cast<std::uint32_t>(dice.below(d.columns.size() + 1));
      return;
    }
    if (d.columns.empty()) return;
    ColumnDescriptor& column = dice.of(d.columns);
    switch (dice.below(8)) {
      case 0:
        column.field = static_cast<std::uint32_t>(dice.below(d.fields.size() + 1));
        break;
      case 1:
        column.encoding.bits = static_cast<std::uint16_t>(dice.awkward(column.encoding.bits));
        break;
      case 2:
        column.representation = static_cast<std::uint16_t>(dice.below(3));
        break;
      case 3:
        column.deferred = !column.deferred;
        column.first_element = dice.awkward(column.first_element) & INT64_MAX;
        break;
      case 4:
        column.has_range = !column.has_range;
        column.encoding.min = dice.one_in(2) ? -1 : std::numeric_limits<double>::quiet_NaN();
        break;
      case 5:
        d.columns.push_back(column);
        break;
      default:
        column.raw_type = static_cast<std::uint16_t>(dice.below(0x20));
        column.encoding.type = static_cast<ColumnType>(column.raw_type);
        if (dice.one_in(2) && is_known(column.encoding.type))
          column.encoding = default_encoding(column.encoding.type);
    }
  }

  // ---- Clusters

  static void change_clusters(Dice& dice, Descriptor& d) {
    if (d.clusters.empty()) return;
    ClusterDescriptor& cluster = dice.of(d.clusters);
    if (dice.one_in(6)) {
      cluster.entries = dice.awkward(cluster.entries) & 0xffffffffffffff;
      return repair_groups(d);
    }
    if (cluster.columns.empty()) return;
    ColumnRange& range = dice.of(cluster.columns);
    switch (dice.below(6)) {
      case 0:
        range.first_element =
            static_cast<std::int64_t>(dice.awkward(static_cast<std::uint64_t>(range.first_element)));
        return;
      case 1:
        range.suppressed = !range.suppressed;
        if (range.suppressed) range.pages.clear();
        return;
      case 2:
        cluster.columns.pop_back();
        return;
      default:
        break;
    }
    if (range.pages.empty()) return;
    const std::size_t number = dice.below(range.pages.size());
    PageDescriptor page = range.pages[number];
    switch (dice.below(5)) {
      case 0:
        page.elements = 1 + static_cast<std::uint32_t>(dice.awkward(page.elements) % 0x7fffffff);
        break;
      case 1:
        page.locator.size = dice.awkward(page.locator.size) & INT64_MAX;
        break;
      case 2:
        page.locator.offset = dice.awkward(page.locator.offset);
        break;
      case 3:
        page.has_checksum = !page.has_checksum;
        break;
      default:
        page.locator.kind = Locator::Kind::object64;
        page.locator.raw_type = 2;
    }
    range.pages.set(number, page);
    follow_elements(d, range.column);
  }

  // Makes clusters contiguous, so that code that depends on their entries is reached.
  static void repair_groups(Descriptor& d) {
    std::uint64_t entry = 0;
    std::size_t cluster = 0;
    for (ClusterGroup& group : d.cluster_groups) {
      group.min_entry = entry;
      for (std::uint32_t i = 0; i < group.clusters && cluster < d.clusters.size(); ++i, ++cluster) {
        d.clusters[cluster].first_entry = entry;
        entry += d.clusters[cluster].entries;
      }
      group.entry_span = entry - group.min_entry;
    }
  }

  static void follow_elements(Descriptor& d, std::uint32_t column) {
    std::uint64_t next = 0;
    for (ClusterDescriptor& cluster : d.clusters) {
      if (column >= cluster.columns.size() || cluster.columns[column].suppressed) continue;
      cluster.columns[column].first_element = static_cast<std::int64_t>(next);
      next += cluster.columns[column].pages.elements();
    }
  }

  // Many repetitions, which compress to almost nothing.
  void multiply(Dice& dice, Descriptor& d) const {
    const int most = dice.one_in(50) ? largest_repetition : 11;
    const std::size_t times = std::size_t{1} << dice.below(static_cast<std::size_t>(most));
    switch (d.fields.empty() ? 3 : dice.below(6)) {
      case 0: {  // siblings
        const FieldDescriptor copy = dice.of(d.fields);
        for (std::size_t i = 0; i < times; ++i) d.fields.push_back(copy);
        break;
      }
      case 1: {  // nested
        FieldDescriptor copy = dice.of(d.fields);
        if (dice.one_in(2)) copy.name = std::string(std::size_t{1} << dice.below(12), 'n');
        copy.parent = copy.id;
        for (std::size_t i = 0; i < std::min<std::size_t>(times, 2000); ++i) {
          d.fields.push_back(copy);
          copy.parent = static_cast<std::uint32_t>(d.fields.size() - 1);
        }
        break;
      }
      case 2: {
        if (d.columns.empty()) break;
        const ColumnDescriptor copy = dice.of(d.columns);
        for (std::size_t i = 0; i < times; ++i) d.columns.push_back(copy);
        break;
      }
      case 3:  // empty clusters
        if (d.cluster_groups.empty()) break;
        for (std::size_t i = 0; i < times; ++i) {
          ClusterDescriptor cluster;
          cluster.columns.resize(d.clusters.empty() ? 0 : d.clusters.back().columns.size());
          d.clusters.push_back(cluster);
        }
        d.cluster_groups.back().clusters += static_cast<std::uint32_t>(times);
        repair_groups(d);
        break;
      case 4: {  // pages that share their bytes
        if (d.clusters.empty() || d.clusters.back().columns.empty()) break;
        ColumnRange& range = dice.of(d.clusters.back().columns);
        if (range.pages.empty()) break;
        const PageDescriptor page = range.pages.back();
        for (std::size_t i = 0; i < times; ++i) range.pages.push_back(page);
        break;
      }
      default: {
        ExtraTypeInfo info;
        info.content = std::string(times, '\0');
        for (std::size_t i = 0; i < 16; ++i) d.type_infos.push_back(info);
      }
    }
  }

  // ---- Attribute sets

  // Changes their records in the footer, or the sets themselves.
  void change_attribute_sets(Dice& dice, Descriptor& d, Bytes& file) const {
    AttributeSetRecord& record = dice.of(d.attribute_sets);
    switch (dice.below(9)) {
      case 0:
        record.anchor_length = static_cast<std::uint32_t>(dice.awkward(record.anchor_length));
        break;
      case 1:
        record.anchor.size = dice.awkward(record.anchor.size) & INT64_MAX;
        break;
      case 2:
        record.anchor.offset = dice.one_in(3) ? anchor_at_ : dice.awkward(record.anchor.offset);
        break;
      case 3:
        record.schema_major = static_cast<std::uint16_t>(dice.below(4));
        record.schema_minor = static_cast<std::uint16_t>(dice.below(2));
        break;
      case 4: {
        AttributeSetRecord copy = record;
        if (dice.one_in(2)) copy.name = a_name(dice, d);
        const std::size_t times = std::size_t{1} << dice.below(10);
        for (std::size_t i = 0; i < times; ++i) d.attribute_sets.push_back(copy);
        break;
      }
      default:
        replace_attribute_set(dice, record, file);
    }
  }

  void replace_attribute_set(Dice& dice, AttributeSetRecord& record, Bytes& file) const {
    const Descriptor& sound = sets_[dice.below(sets_.size())];
    Descriptor changed = sound;
    Raw raw;
    switch (dice.below(6)) {
      case 0:
        raw.header.push_back(dice.number());
        break;
      case 1:
        raw.footer.push_back(dice.number());
        break;
      case 2:
        change_clusters(dice, changed);
        break;
      case 3:
        multiply(dice, changed);
        break;
      default:
        change_schema(dice, changed);
    }
    try {
      place_envelopes(dice, raw, changed, file);
    } catch (const Error&) {  // such a descriptor cannot be written
      changed = sound;
      place_envelopes(dice, raw, changed, file);
    }
    const Bytes anchor = format::write_anchor(changed.anchor);
    record.anchor = {.size = anchor.size(), .offset = file.size()};
    record.anchor_length = static_cast<std::uint32_t>(anchor.size());
    file.insert(file.end(), anchor.begin(), anchor.end());
  }

  // ---- Envelopes

  static void reseal(Bytes& envelope) {
    const std::uint64_t first = load_le<std::uint64_t>(envelope.data()) & 0xffff;
    store_le(envelope.data(), envelope.size() << 16 | first);
    store_le(envelope.data() + envelope.size() - 8,
             codec::xxh3(ByteSpan(envelope).first(envelope.size() - 8)));
  }

  static void change_envelope(const std::vector<std::uint64_t>& seeds, Bytes& envelope) {
    if (seeds.empty()) return;
    for (const std::uint64_t seed : seeds) {
      Dice dice(seed);
      // Not the preamble or the checksum.
      const auto at = envelope.begin() + 8 + static_cast<std::ptrdiff_t>(dice.below(envelope.size() - 16));
      const auto count =
          std::min<std::ptrdiff_t>(1 + static_cast<std::ptrdiff_t>(dice.below(64)), envelope.end() - 8 - at);
      if (dice.one_in(10))
        envelope.erase(at, at + count);
      else if (dice.one_in(10)) {
        const Bytes part(at, at + count);
        envelope.insert(at, part.begin(), part.end());
      } else {
        change_bytes(dice, MutableByteSpan(envelope).subspan(8, envelope.size() - 16));
      }
    }
    reseal(envelope);
  }

  // Appends to the file.
  static Locator append(Dice& dice, const Bytes& envelope, Bytes& file) {
    const std::uint64_t at = file.size();
    AlignedBuffer block;
    if (!dice.one_in(3)) {
      codec::compress({codec::Algorithm::zstd, 1}, envelope, block);
      file.insert(file.end(), block.data(), block.data() + block.size());
    } else {
      file.insert(file.end(), envelope.begin(), envelope.end());
    }
    return {.size = file.size() - at, .offset = at};
  }

  void append_envelopes(Dice& dice, const Raw& raw, Descriptor& d, Bytes& file) const {
    place_envelopes(dice, raw, d, file);
    const Bytes anchor = format::write_anchor(d.anchor, order_);
    std::copy(anchor.begin(), anchor.end(), file.begin() + static_cast<std::ptrdiff_t>(anchor_at_));
  }

  // The anchor then points to them.
  static void place_envelopes(Dice& dice, const Raw& raw, Descriptor& d, Bytes& file) {
    d.anchor.max_key_size = 0;
    Bytes header = format::write_header(d).bytes;
    change_envelope(raw.header, header);
    d.header_checksum = load_le<std::uint64_t>(header.data() + header.size() - 8);
    const Locator header_at = append(dice, header, file);
    std::size_t first = 0;
    for (ClusterGroup& group : d.cluster_groups) {
      Bytes list = format::write_page_list(d, first, group.clusters).bytes;
      change_envelope(raw.page_lists, list);
      group.page_list = {list.size(), append(dice, list, file)};
      first += group.clusters;
    }
    Bytes footer = format::write_footer(d).bytes;
    change_envelope(raw.footer, footer);
    const Locator footer_at = append(dice, footer, file);
    d.anchor.header_offset = header_at.offset;
    d.anchor.header_size = header_at.size;
    d.anchor.header_length = dice.one_in(40) ? dice.awkward(header.size()) : header.size();
    d.anchor.footer_offset = footer_at.offset;
    d.anchor.footer_size = footer_at.size;
    d.anchor.footer_length = dice.one_in(40) ? dice.awkward(footer.size()) : footer.size();
  }

  std::string name_;
  Bytes original_;
  Descriptor descriptor_;
  std::vector<Descriptor> sets_;  // attribute sets
  std::size_t anchor_at_ = 0;
  format::ChecksumOrder order_ = format::ChecksumOrder::big_endian;
};

}  // namespace colonnade::testing

#endif
