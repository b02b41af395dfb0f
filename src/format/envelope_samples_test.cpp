// The sample data sets of envelope_samples.h, and a test that they are valid.
#include "format/envelope_samples.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "format/envelope.h"
#include "format/frame.h"

namespace colonnade::format::samples {
namespace {

void reseal_with(Bytes& envelope, std::uint64_t header_checksum, std::size_t at) {
  if (envelope.size() >= at + 8) store_le(envelope.data() + at, header_checksum);
  reseal(envelope);
}

std::string text_of(const Locator& locator) {
  return fmt::format("{}/{}/{} {}@{} \"{}\"", static_cast<int>(locator.kind), locator.raw_type,
                     locator.reserved, locator.size, locator.offset, locator.payload);
}

std::string text_of(const FieldDescriptor& field) {
  std::string text = fmt::format(
      "field {} \"{}\" type \"{}\" alias \"{}\" \"{}\" parent {} role {}/{} versions {}/{} array {} soa {}",
      field.id, field.name, field.type_name, field.type_alias, field.description, field.parent,
      static_cast<int>(field.role), field.raw_role, field.field_version, field.type_version, field.array_size,
      field.soa_collection);
  if (field.source_field) text += fmt::format(" source {}", *field.source_field);
  if (field.type_checksum) text += fmt::format(" checksum {:x}", *field.type_checksum);
  for (const std::uint32_t child : field.children) text += fmt::format(" child {}", child);
  for (const auto& group : field.representations) {
    text += " columns";
    for (const std::uint32_t column : group) text += fmt::format(" {}", column);
  }
  return text + fmt::format(" {}\n", field.unreadable);
}

std::string text_of(const ColumnDescriptor& column) {
  return fmt::format(
      "column {} of {} type {}/{} bits {} range {} {} {} representation {} deferred {} {} {}\n", column.id,
      column.field, column.raw_type, static_cast<int>(column.encoding.type), column.encoding.bits,
      column.has_range, column.encoding.min, column.encoding.max, column.representation, column.deferred,
      column.deferred_suppressed, column.first_element);
}

std::string text_of(const ClusterDescriptor& cluster) {
  std::string text = fmt::format("cluster {} entries {} from {} flags {}\n", cluster.id, cluster.entries,
                                 cluster.first_entry, cluster.flags);
  for (const ColumnRange& range : cluster.columns) {
    text += fmt::format("  column {} suppressed {} from {} compression {}:", range.column, range.suppressed,
                        range.first_element, range.compression);
    for (const PageDescriptor& page : range.pages)
      text += fmt::format(" [{} {} {}]", page.elements, page.has_checksum, text_of(page.locator));
    text += "\n";
  }
  return text;
}

PageDescriptor make_page(std::uint32_t elements, std::uint64_t offset) {
  PageDescriptor page;
  page.elements = elements;
  page.has_checksum = true;
  page.locator.size = elements;
  page.locator.offset = offset;
  return page;
}

}  // namespace

Envelopes store(Descriptor& descriptor) {
  Envelopes stored;
  EnvelopeBytes header = write_header(descriptor);
  descriptor.header_checksum = header.checksum;
  stored.header = std::move(header.bytes);
  std::size_t first = 0;
  for (const ClusterGroup& group : descriptor.cluster_groups) {
    stored.page_lists.push_back(write_page_list(descriptor, first, group.clusters).bytes);
    first += group.clusters;
  }
  stored.footer = write_footer(descriptor).bytes;
  return stored;
}

Descriptor load(const Envelopes& stored) {
  Descriptor descriptor = read_header(stored.header);
  read_footer(stored.footer, descriptor);
  for (std::size_t i = 0; i < stored.page_lists.size(); ++i)
    read_page_list(stored.page_lists[i], i, descriptor);
  finish(descriptor);
  return descriptor;
}

void reseal(Bytes& envelope) {
  if (envelope.size() < 16) return;
  const ByteSpan covered = ByteSpan(envelope).first(envelope.size() - 8);
  store_le(envelope.data() + covered.size(), xxh3(covered));
}

void reseal(Envelopes& stored) {
  reseal(stored.header);
  const auto checksum = load_le<std::uint64_t>(stored.header.data() + stored.header.size() - 8);
  reseal_with(stored.footer, checksum, 16);
  for (Bytes& list : stored.page_lists) reseal_with(list, checksum, 8);
}

std::string text_of(const Descriptor& descriptor) {
  std::string text = fmt::format("\"{}\" \"{}\" \"{}\" flags {} header {} {} {} {}\n", descriptor.name,
                                 descriptor.description, descriptor.writer, descriptor.feature_flags,
                                 descriptor.header_fields, descriptor.header_columns,
                                 descriptor.header_aliases, descriptor.header_type_infos);
  for (const auto& field : descriptor.fields) text += text_of(field);
  for (const auto& column : descriptor.columns) text += text_of(column);
  for (const auto& alias : descriptor.aliases)
    text += fmt::format("alias {} of {}\n", alias.physical_column, alias.field);
  for (const auto& info : descriptor.type_infos)
    text += fmt::format("info {} {} \"{}\" \"{}\"\n", info.content_id, info.type_version, info.type_name,
                        info.content);
  for (const auto& group : descriptor.cluster_groups)
    text += fmt::format("group {} {} {} {} {}\n", group.min_entry, group.entry_span, group.clusters,
                        group.page_list.length, text_of(group.page_list.locator));
  for (const auto& cluster : descriptor.clusters) text += text_of(cluster);
  for (const auto& set : descriptor.attribute_sets)
    text += fmt::format("set {} {} {} {} \"{}\"\n", set.schema_major, set.schema_minor, set.anchor_length,
                        text_of(set.anchor), set.name);
  return text;
}

std::uint32_t add_field(Descriptor& descriptor, std::uint32_t parent, FieldRole role, std::string name,
                        std::string type_name) {
  FieldDescriptor field;
  field.id = static_cast<std::uint32_t>(descriptor.fields.size());
  field.parent = parent == top_level ? field.id : parent;
  field.role = role;
  field.raw_role = static_cast<std::uint16_t>(role);
  field.name = std::move(name);
  field.type_name = std::move(type_name);
  if (parent != top_level) descriptor.fields[parent].children.push_back(field.id);
  descriptor.fields.push_back(std::move(field));
  return descriptor.fields.back().id;
}

std::uint32_t add_column(Descriptor& descriptor, std::uint32_t field, ColumnType type,
                         std::uint16_t representation) {
  ColumnDescriptor column;
  column.id = static_cast<std::uint32_t>(descriptor.columns.size());
  column.field = field;
  column.raw_type = static_cast<std::uint16_t>(type);
  column.encoding = default_encoding(type);
  column.representation = representation;
  if (type == ColumnType::real32_quant) {
    column.has_range = true;
    column.encoding.min = -1;
    column.encoding.max = 1;
  }
  auto& groups = descriptor.fields[field].representations;
  if (groups.size() <= representation) groups.resize(representation + 1u);
  groups[representation].push_back(column.id);
  descriptor.columns.push_back(column);
  return column.id;
}

ColumnRange make_range(std::uint32_t column, std::uint64_t first, const std::vector<std::uint32_t>& pages) {
  ColumnRange range;
  range.column = column;
  range.first_element = static_cast<std::int64_t>(first);
  range.compression = 505;
  for (const std::uint32_t elements : pages) range.pages.push_back(make_page(elements, 1000 + column));
  return range;
}

ColumnRange make_suppressed(std::uint32_t column) {
  ColumnRange range;
  range.column = column;
  range.suppressed = true;
  range.first_element = std::numeric_limits<std::int64_t>::min();
  return range;
}

namespace {

void close_header(Descriptor& descriptor) {
  descriptor.header_fields = static_cast<std::uint32_t>(descriptor.fields.size());
  descriptor.header_columns = static_cast<std::uint32_t>(descriptor.columns.size());
  descriptor.header_aliases = static_cast<std::uint32_t>(descriptor.aliases.size());
  descriptor.header_type_infos = static_cast<std::uint32_t>(descriptor.type_infos.size());
}

void add_cluster(Descriptor& descriptor, std::uint64_t entries, std::vector<ColumnRange> columns) {
  ClusterDescriptor cluster;
  cluster.id = descriptor.clusters.size();
  cluster.first_entry = descriptor.clusters.empty() ? 0 : descriptor.entries();
  cluster.entries = entries;
  cluster.columns = std::move(columns);
  descriptor.clusters.push_back(std::move(cluster));
}

// Makes one group of all clusters without a group.
void close_group(Descriptor& descriptor) {
  std::size_t first = 0;
  for (const ClusterGroup& group : descriptor.cluster_groups) first += group.clusters;
  ClusterGroup group;
  group.clusters = static_cast<std::uint32_t>(descriptor.clusters.size() - first);
  group.min_entry = descriptor.clusters[first].first_entry;
  group.entry_span = descriptor.entries() - group.min_entry;
  group.page_list.length = 321;
  group.page_list.locator.size = 123;
  group.page_list.locator.offset = 4567;
  descriptor.cluster_groups.push_back(group);
}

}  // namespace

Descriptor small(std::size_t clusters) {
  Descriptor descriptor;
  descriptor.name = "small";
  descriptor.writer = "test";
  add_column(descriptor, add_field(descriptor, top_level, FieldRole::leaf, "x", "float"), ColumnType::real32);
  const auto vector = add_field(descriptor, top_level, FieldRole::collection, "v", "std::vector<float>");
  add_column(descriptor, vector, ColumnType::split_index64);
  add_column(descriptor, add_field(descriptor, vector, FieldRole::leaf, "_0", "float"),
             ColumnType::split_real32);
  close_header(descriptor);
  for (std::size_t i = 0; i < clusters; ++i)
    add_cluster(descriptor, 10,
                {make_range(0, i * 10, {6, 4}), make_range(1, i * 10, {10}), make_range(2, i * 7, {7})});
  if (clusters > 0) close_group(descriptor);
  return descriptor;
}

// Fields and columns of everything(), in this order:
//   0 x 0:Real32 | 1:SplitReal32      1 v 2:SplitIndex64, 2 v._0 (record), 3 v._0.pt 3:Real32Quant, 4 v._0.id
//   4:Int32 5 a (array of 3), 6 a._0 5:Bit    7 u (variant) 6:Switch, 8 u._0 7:UInt8, 9 u._1 8:Index32 +
//   9:Char (string) 10 s (streamer) 10:SplitIndex32 + 11:Byte      11 n (projects v) alias of 2 extension: 12
//   late 12:Real32Trunc deferred     13 names 13:Index64, 14 names._0 14:Index64 + 15:Char
//              x gets 16:Real16, suppressed at first
Descriptor everything() {
  Descriptor descriptor;
  descriptor.name = "everything";
  descriptor.description = "one of each";
  descriptor.writer = "test";
  const auto x = add_field(descriptor, top_level, FieldRole::leaf, "x", "float");
  add_column(descriptor, x, ColumnType::real32, 0);
  add_column(descriptor, x, ColumnType::split_real32, 1);
  const auto v = add_field(descriptor, top_level, FieldRole::collection, "v", "std::vector<Jet>");
  descriptor.fields[v].soa_collection = true;
  add_column(descriptor, v, ColumnType::split_index64);
  const auto jet = add_field(descriptor, v, FieldRole::record, "_0", "Jet");
  descriptor.fields[jet].type_version = 0xffffffff;
  descriptor.fields[jet].type_checksum = 0xdeadbeef;
  add_column(descriptor, add_field(descriptor, jet, FieldRole::leaf, "pt", "float"),
             ColumnType::real32_quant);
  add_column(descriptor, add_field(descriptor, jet, FieldRole::leaf, "id", "std::int32_t"),
             ColumnType::int32);
  const auto a = add_field(descriptor, top_level, FieldRole::leaf, "a", "std::array<bool,3>");
  descriptor.fields[a].array_size = 3;
  descriptor.fields[a].type_alias = "Triple";
  descriptor.fields[a].description = "three of them";
  add_column(descriptor, add_field(descriptor, a, FieldRole::leaf, "_0", "bool"), ColumnType::bit);
  const auto u =
      add_field(descriptor, top_level, FieldRole::variant, "u", "std::variant<std::uint8_t,std::string>");
  add_column(descriptor, u, ColumnType::switch_);
  add_column(descriptor, add_field(descriptor, u, FieldRole::leaf, "_0", "std::uint8_t"), ColumnType::uint8);
  const auto text = add_field(descriptor, u, FieldRole::leaf, "_1", "std::string");
  add_column(descriptor, text, ColumnType::index32);
  add_column(descriptor, text, ColumnType::character);
  const auto s = add_field(descriptor, top_level, FieldRole::streamer, "s", "TNamed");
  add_column(descriptor, s, ColumnType::split_index32);
  add_column(descriptor, s, ColumnType::byte);
  descriptor.fields[s].field_version = 3;
  descriptor.fields[s].unreadable =
      "streamer field (role 0x04): its objects are serialised by ROOT's own streamer";
  const auto n =
      add_field(descriptor, top_level, FieldRole::leaf, "n", "ROOT::RNTupleCardinality<std::uint32_t>");
  descriptor.fields[n].source_field = v;
  descriptor.fields[n].representations = {{2}};
  descriptor.aliases.push_back({2, n});
  descriptor.type_infos.push_back({7, 8, "Jet", std::string("\0\x01\xff", 3)});
  close_header(descriptor);

  const auto late = add_field(descriptor, top_level, FieldRole::leaf, "late", "float");
  auto& late_column = descriptor.columns[add_column(descriptor, late, ColumnType::real32_trunc)];
  late_column.deferred = true;
  late_column.first_element = 14;
  const auto names =
      add_field(descriptor, top_level, FieldRole::collection, "names", "std::vector<std::string>");
  auto& names_column = descriptor.columns[add_column(descriptor, names, ColumnType::index64)];
  names_column.deferred = true;
  names_column.first_element = 14;
  const auto name = add_field(descriptor, names, FieldRole::leaf, "_0", "std::string");
  add_column(descriptor, name, ColumnType::index64);
  add_column(descriptor, name, ColumnType::character);
  auto& again = descriptor.columns[add_column(descriptor, x, ColumnType::real16, 2)];
  again.deferred = true;
  again.deferred_suppressed = true;
  again.first_element = 20;
  const auto count =
      add_field(descriptor, top_level, FieldRole::leaf, "names_n", "ROOT::RNTupleCardinality<std::uint64_t>");
  descriptor.fields[count].source_field = names;
  descriptor.fields[count].representations = {{13}};
  descriptor.aliases.push_back({13, count});
  descriptor.type_infos.push_back({0, 0, "", "streamer info"});

  add_cluster(
      descriptor, 10,
      {make_range(0, 0, {4, 6}), make_suppressed(1), make_range(2, 0, {10}), make_range(3, 0, {12}),
       make_range(4, 0, {12}), make_range(5, 0, {30}), make_range(6, 0, {10}), make_range(7, 0, {4}),
       make_range(8, 0, {6}), make_range(9, 0, {60}), make_range(10, 0, {10}), make_range(11, 0, {100})});
  close_group(descriptor);
  add_cluster(
      descriptor, 10,
      {make_suppressed(0), make_range(1, 10, {10}), make_range(2, 10, {10}), make_range(3, 12, {}),
       make_range(4, 12, {}), make_range(5, 30, {16, 14}), make_range(6, 10, {10}), make_range(7, 4, {10}),
       make_range(8, 6, {}), make_range(9, 60, {}), make_range(10, 10, {10}), make_range(11, 100, {1}),
       make_range(12, 14, {6}), make_range(13, 14, {6}), make_range(14, 0, {3}), make_range(15, 0, {9})});
  add_cluster(descriptor, 5,
              {make_suppressed(0), make_suppressed(1), make_range(2, 20, {5}), make_range(3, 12, {1}),
               make_range(4, 12, {1}), make_range(5, 60, {15}), make_range(6, 20, {5}), make_range(7, 14, {}),
               make_range(8, 6, {5}), make_range(9, 60, {50}), make_range(10, 20, {5}),
               make_range(11, 101, {10}), make_range(12, 20, {5}), make_range(13, 20, {5}),
               make_range(14, 3, {2}), make_range(15, 9, {8}), make_range(16, 20, {5})});
  close_group(descriptor);
  descriptor.clusters[2].flags = 0x02;

  const auto move_page = [&](std::size_t cluster, std::size_t column, std::size_t page, Locator locator) {
    PageList& pages = descriptor.clusters[cluster].columns[column].pages;
    PageDescriptor changed = pages[page];
    if (cluster == 0 && page == 0) changed.has_checksum = false;
    changed.locator = std::move(locator);
    pages.set(page, changed);
  };
  move_page(0, 0, 0, {.size = 0x100000000, .offset = 77, .raw_type = 1});
  move_page(0, 0, 1,
            {.kind = Locator::Kind::object64,
             .size = 99,
             .offset = 0xfedcba9876543210,
             .raw_type = 2,
             .reserved = 1});
  move_page(1, 5, 0, {.kind = Locator::Kind::object64, .size = 0x123456789a, .offset = 5, .raw_type = 2});
  move_page(1, 5, 1, {.kind = Locator::Kind::unknown, .raw_type = 0x7e, .reserved = 9, .payload = "where"});
  descriptor.cluster_groups[1].page_list.locator = {.size = 0x200000000, .offset = 88, .raw_type = 1};
  AttributeSetRecord set;
  set.schema_major = 1;
  set.anchor_length = 78;
  set.anchor.size = 78;
  set.anchor.offset = 2508;
  set.name = "runs";
  descriptor.attribute_sets.push_back(set);
  return descriptor;
}

namespace {

// Grows a random data set: first fields, then clusters that fit them.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed) {}

  Descriptor grow() {
    descriptor_.name = "random";
    descriptor_.description = std::string(pick(40), 'd');
    descriptor_.writer = "test";
    for (std::size_t i = 1 + pick(5); i > 0; --i) grow_field(top_level, 0, 1);
    close_header(descriptor_);
    total_ = 1 + pick(60);
    late_at_ = pick(static_cast<std::uint32_t>(total_));
    for (std::size_t i = pick(3); i > 0; --i) grow_field(top_level, 0, 1);
    next_.assign(descriptor_.columns.size(), 0);
    for (const Shape& shape : shapes_)
      if (shape.factor > 0 && shape.column >= descriptor_.header_columns) defer(shape);
    while (descriptor_.entries() < total_) grow_cluster();
    close_group(descriptor_);
    return std::move(descriptor_);
  }

 private:
  // The first column of each representation's position; `factor` 0: the data determine the count.
  struct Shape {
    std::uint32_t column;
    std::uint64_t factor;
    std::vector<std::uint32_t> team;  // one column per representation
  };

  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void add_shape(std::uint64_t factor, std::vector<std::uint32_t> team) {
    shapes_.push_back({team.front(), factor, std::move(team)});
  }

  void grow_columns(std::uint32_t field, std::uint64_t factor, const std::vector<ColumnType>& choices,
                    bool has_chars) {
    const std::uint32_t count = 1 + pick(3) / 2;
    std::vector<std::uint32_t> first, second;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto type = choices[pick(static_cast<std::uint32_t>(choices.size()))];
      first.push_back(add_column(descriptor_, field, type, static_cast<std::uint16_t>(i)));
      if (has_chars)
        second.push_back(
            add_column(descriptor_, field, ColumnType::character, static_cast<std::uint16_t>(i)));
    }
    add_shape(factor, first);
    if (has_chars) add_shape(0, second);
  }

  void grow_field(std::uint32_t parent, int depth, std::uint64_t factor) {
    const std::vector<ColumnType> numbers{ColumnType::real32, ColumnType::split_int64,
                                          ColumnType::bit,    ColumnType::real32_trunc,
                                          ColumnType::uint8,  ColumnType::real32_quant};
    const std::vector<ColumnType> indices{ColumnType::index32, ColumnType::split_index64,
                                          ColumnType::index64};
    const std::string name = fmt::format("f{}", descriptor_.fields.size());
    const std::uint32_t kind = depth < 3 ? pick(7) : pick(2);
    if (kind == 0) {
      const auto field = add_field(descriptor_, parent, FieldRole::leaf, name, "float");
      if (pick(2)) descriptor_.fields[field].type_checksum = pick(1000);
      return grow_columns(field, factor, numbers, false);
    }
    if (kind == 1)
      return grow_columns(add_field(descriptor_, parent, FieldRole::leaf, name, "std::string"), factor,
                          indices, true);
    if (kind == 2) {
      const auto field = add_field(descriptor_, parent, FieldRole::record, name, "Struct");
      for (std::uint32_t i = pick(4); i > 0; --i) grow_field(field, depth + 1, factor);
      return;
    }
    if (kind == 3 || kind == 4) {
      const auto field = add_field(descriptor_, parent, FieldRole::collection, name, "std::vector<T>");
      grow_columns(field, factor, indices, false);
      return grow_field(field, depth + 1, 0);
    }
    if (kind == 5) {
      const auto field = add_field(descriptor_, parent, FieldRole::variant, name, "std::variant<T>");
      grow_columns(field, factor, {ColumnType::switch_}, false);
      for (std::uint32_t i = 1 + pick(3); i > 0; --i) grow_field(field, depth + 1, 0);
      return;
    }
    const auto field = add_field(descriptor_, parent, FieldRole::leaf, name, "std::array<T,N>");
    const std::uint64_t size = 1 + pick(4);
    descriptor_.fields[field].array_size = size;
    grow_field(field, depth + 1, factor * size);
  }

  void defer(const Shape& shape) {
    for (const std::uint32_t id : shape.team) {
      descriptor_.columns[id].deferred = late_at_ > 0;
      descriptor_.columns[id].first_element = late_at_ * shape.factor;
    }
    next_[shape.column] = late_at_ * shape.factor;
  }

  std::vector<std::uint32_t> split(std::uint64_t elements) {
    std::vector<std::uint32_t> pages;
    while (elements > 0) {
      const std::uint32_t part = 1 + pick(static_cast<std::uint32_t>(elements));
      pages.push_back(part);
      elements -= part;
    }
    return pages;
  }

  void grow_cluster() {
    const std::uint64_t first = descriptor_.entries();
    const std::uint64_t entries = std::min<std::uint64_t>(1 + pick(30), total_ - first);
    const bool has_extension = first + entries > late_at_;
    std::vector<ColumnRange> ranges(has_extension ? descriptor_.columns.size() : descriptor_.header_columns);
    std::vector<std::uint32_t> active(descriptor_.fields.size());
    for (const FieldDescriptor& field : descriptor_.fields)
      if (!field.representations.empty())
        active[field.id] = pick(static_cast<std::uint32_t>(field.representations.size()));
    for (const Shape& shape : shapes_) {
      if (shape.column >= ranges.size()) continue;
      const std::uint64_t end = (first + entries) * shape.factor;
      const std::uint64_t elements = shape.factor > 0 ? end - next_[shape.column] : pick(20);
      for (std::uint32_t i = 0; i < shape.team.size(); ++i) {
        const std::uint32_t id = shape.team[i];
        const bool is_active = active[descriptor_.columns[id].field] == i;
        ranges[id] = is_active ? make_range(id, next_[shape.column], split(elements)) : make_suppressed(id);
      }
      next_[shape.column] += elements;
    }
    add_cluster(descriptor_, entries, std::move(ranges));
    if (pick(3) == 0 && descriptor_.entries() < total_) close_group(descriptor_);
  }

  std::mt19937_64 random_;
  Descriptor descriptor_;
  std::vector<Shape> shapes_;
  std::vector<std::uint64_t> next_;  // by the team's first column
  std::uint64_t total_ = 0;
  std::uint64_t late_at_ = 0;
};

}  // namespace

Descriptor random_descriptor(std::uint64_t seed) {
  return Grower(seed).grow();
}

TEST(EnvelopeSamples, CoverEveryRoleAndManyShapes) {
  std::size_t fields = 0, extended = 0, representations = 0, groups = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Descriptor descriptor = random_descriptor(seed);
    fields = std::max(fields, descriptor.fields.size());
    extended += descriptor.fields.size() > descriptor.header_fields;
    groups += descriptor.cluster_groups.size() > 1;
    for (const auto& field : descriptor.fields) representations += field.representations.size() > 1;
  }
  EXPECT_GT(fields, 30u);
  EXPECT_GT(extended, 20u);
  EXPECT_GT(representations, 50u);
  EXPECT_GT(groups, 10u);
}

}  // namespace colonnade::format::samples
