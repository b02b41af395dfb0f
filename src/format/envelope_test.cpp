// Round trips of envelopes, the results of finish(), and the bytes of a small data set written by hand.
#include "format/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "format/envelope_samples.h"
#include "format/frame.h"

namespace colonnade::format {
namespace {

using samples::Envelopes;
using samples::everything;
using samples::load;
using samples::small;
using samples::store;
using samples::text_of;
using testing::ElementsAre;

std::string hex(ByteSpan bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += digits[static_cast<unsigned>(byte) >> 4];
    text += digits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

TEST(Envelope, EverythingComesBack) {
  Descriptor descriptor = everything();
  const Envelopes stored = store(descriptor);
  // Projections and representations are recomputed from the bytes: x has three by now.
  EXPECT_EQ(text_of(load(stored)), text_of(descriptor));
}

TEST(Envelope, RandomDescriptorsComeBack) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Descriptor descriptor = samples::random_descriptor(seed);
    const Envelopes stored = store(descriptor);
    Descriptor read = load(stored);
    ASSERT_EQ(text_of(read), text_of(descriptor)) << "seed " << seed;
    const Envelopes again = store(read);
    ASSERT_EQ(hex(again.header), hex(stored.header));
    ASSERT_EQ(hex(again.footer), hex(stored.footer));
    for (std::size_t i = 0; i < stored.page_lists.size(); ++i)
      ASSERT_EQ(hex(again.page_lists[i]), hex(stored.page_lists[i]));
  }
}

// The exact bytes that ROOT writes for such a data set, except for names: one field "x" of type float.
TEST(Envelope, HeaderBytes) {
  Descriptor descriptor;
  descriptor.name = "n";
  descriptor.writer = "w";
  samples::add_column(descriptor,
                      samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "x", "float"),
                      ColumnType::split_real32);
  descriptor.header_fields = 1;
  descriptor.header_columns = 1;
  const Bytes bytes = write_header(descriptor).bytes;
  EXPECT_EQ(hex(ByteSpan(bytes).first(bytes.size() - 8)),
            "0100980000000000"  // type 1, 152 bytes
            "0000000000000000"
            "010000006e"
            "00000000"
            "0100000077"                // flags, name, description, writer
            "c6ffffffffffffff01000000"  // list of one field, 58 bytes
            "2e00000000000000"
            "00000000"
            "00000000"
            "00000000"
            "0000"
            "0000"
            "0100000078"
            "05000000666c6f6174"
            "00000000"
            "00000000"
            "e0ffffffffffffff01000000"
            "1400000000000000"
            "1800"
            "2000"
            "00000000"
            "0000"
            "0000"
            "f4ffffffffffffff00000000"
            "f4ffffffffffffff00000000");
}

TEST(Envelope, FooterBytes) {
  Descriptor descriptor = small(1);
  descriptor.header_checksum = 0x1122334455667788;
  const Bytes bytes = write_footer(descriptor).bytes;
  EXPECT_EQ(hex(ByteSpan(bytes).first(bytes.size() - 8)),
            "0200a00000000000"
            "0000000000000000"
            "8877665544332211"
            "3800000000000000"  // schema extension with four empty lists
            "f4ffffffffffffff00000000"
            "f4ffffffffffffff00000000"
            "f4ffffffffffffff00000000"
            "f4ffffffffffffff00000000"
            "c4ffffffffffffff01000000"
            "3000000000000000"
            "0000000000000000"
            "0a00000000000000"
            "01000000"
            "4101000000000000"
            "7b000000"
            "d711000000000000"
            "f4ffffffffffffff00000000");  // attribute sets, format 1.0.1
}

TEST(Envelope, PageListBytes) {
  Descriptor descriptor;
  samples::add_column(descriptor,
                      samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "x", "float"),
                      ColumnType::real32);
  descriptor.header_checksum = 0x1122334455667788;
  ClusterDescriptor cluster;
  cluster.entries = 3;
  cluster.columns = {samples::make_range(0, 0, {3}), samples::make_suppressed(1)};
  descriptor.clusters.push_back(cluster);
  const Bytes bytes = write_page_list(descriptor, 0, 1).bytes;
  EXPECT_EQ(hex(ByteSpan(bytes).first(bytes.size() - 8)),
            "0300900000000000"
            "8877665544332211"
            "dcffffffffffffff01000000"
            "1800000000000000"
            "0000000000000000"
            "0300000000000000"
            "acffffffffffffff01000000"
            "b8ffffffffffffff02000000"
            "d8ffffffffffffff01000000"
            "fdffffff"
            "03000000"
            "e803000000000000"
            "0000000000000000"
            "f9010000"
            "ecffffffffffffff00000000"
            "0000000000000080");
}

TEST(Envelope, FooterBeforeFormat101HasNoAttributeSets) {
  Descriptor descriptor = small();
  const std::size_t with_list = store(descriptor).footer.size();
  descriptor.anchor.minor = 0;
  const Envelopes stored = store(descriptor);
  EXPECT_EQ(stored.footer.size(), with_list - 12);
  EXPECT_EQ(load(stored).entries(), 20u);
}

TEST(Envelope, EmptySchemaExtensionFrameIsAllowed) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  // The extension's frame follows preamble, flags and header checksum.
  Bytes& footer = stored.footer;
  footer.erase(footer.begin() + 32, footer.begin() + 32 + 48);
  store_le(footer.data() + 24, std::int64_t{8});
  store_le(footer.data(), load_le<std::uint64_t>(footer.data()) - (std::uint64_t{48} << 16));
  samples::reseal(footer);
  EXPECT_EQ(load(stored).entries(), 20u);
}

TEST(Envelope, UnknownContentBehindKnownContentIsSkipped) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  for (Bytes* envelope : {&stored.header, &stored.footer, &stored.page_lists[0]}) {
    const char more[] = "what a future version adds";
    const ByteSpan extra = as_bytes(more);
    envelope->insert(envelope->end() - 8, extra.begin(), extra.end());
    store_le(envelope->data(), load_le<std::uint64_t>(envelope->data()) + (extra.size() << 16));
  }
  samples::reseal(stored);
  EXPECT_EQ(load(stored).entries(), 20u);
}

TEST(Envelope, ManyClusterGroups) {
  Descriptor descriptor = small(0);
  for (std::uint32_t i = 0; i < 5; ++i) {
    ClusterDescriptor cluster;
    cluster.id = i;
    cluster.first_entry = i * 2;
    cluster.entries = 2;
    cluster.columns = {samples::make_range(0, i * 2, {2}), samples::make_range(1, i * 2, {2}),
                       samples::make_range(2, 0, {})};
    descriptor.clusters.push_back(cluster);
    ClusterGroup group;
    group.min_entry = i * 2;
    group.entry_span = 2;
    group.clusters = 1;
    descriptor.cluster_groups.push_back(group);
  }
  const Descriptor read = load(store(descriptor));
  ASSERT_EQ(read.clusters.size(), 5u);
  EXPECT_EQ(read.clusters[4].id, 4u);
  EXPECT_EQ(read.entries(), 10u);
}

TEST(Envelope, EmptyDataSet) {
  Descriptor descriptor = small(0);
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.entries(), 0u);
  EXPECT_EQ(read.cluster_of_entry(0), 0u);
}

TEST(Envelope, FeatureFlagsOfHeaderAndFooterAreCombined) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  stored.footer[8] = std::byte{1};
  samples::reseal(stored);
  EXPECT_EQ(load(stored).feature_flags, 1u);
}

TEST(Finish, GroupsRepresentations) {
  Descriptor descriptor = everything();
  const Descriptor read = load(store(descriptor));
  EXPECT_THAT(read.fields[0].representations, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(16)));
  EXPECT_THAT(read.fields[9].representations, ElementsAre(ElementsAre(8, 9)));
}

TEST(Finish, LinksChildrenInOrder) {
  Descriptor descriptor = everything();
  const Descriptor read = load(store(descriptor));
  EXPECT_THAT(read.fields[2].children, ElementsAre(3, 4));
  EXPECT_THAT(read.fields[7].children, ElementsAre(8, 9));
  EXPECT_THAT(read.top_level_fields(), ElementsAre(0, 1, 5, 7, 10, 11, 12, 13, 15));
}

TEST(Finish, AcceptsChildrenBeforeTheirParents) {
  Descriptor descriptor = small(0);
  // v._0 first, then v
  std::swap(descriptor.fields[1], descriptor.fields[2]);
  descriptor.fields[1].id = 1;
  descriptor.fields[1].parent = 2;
  descriptor.fields[2].id = 2;
  descriptor.fields[2].parent = 2;
  descriptor.columns[1].field = 2;
  descriptor.columns[2].field = 1;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.path_of(1), "v._0");
  EXPECT_THAT(read.fields[2].children, ElementsAre(1));
}

// The source got a second representation after the alias columns were written.
TEST(Finish, ProjectionFollowsNewRepresentationsOfItsSource) {
  Descriptor descriptor = everything();
  samples::add_column(descriptor, 1, ColumnType::index32, 1);
  descriptor.columns.back().deferred = true;
  descriptor.columns.back().deferred_suppressed = true;
  descriptor.columns.back().first_element = 25;
  const Descriptor read = load(store(descriptor));
  EXPECT_THAT(read.fields[11].representations, ElementsAre(ElementsAre(2), ElementsAre(17)));
  EXPECT_EQ(read.fields[11].unreadable, "");
}

TEST(Finish, UnknownRoleMakesTheFieldAndItsSubFieldsUnreadable) {
  Descriptor descriptor = small();
  descriptor.fields[1].raw_role = 0x07;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[1].unreadable, "structural role 0x07 is unknown to this version");
  EXPECT_EQ(read.fields[2].unreadable,
            "its parent \"v\" cannot be read: structural role 0x07 is unknown to this version");
  EXPECT_EQ(read.fields[0].unreadable, "");
  EXPECT_EQ(read.fields[1].raw_role, 0x07);
}

// Random versions against the rules: records read without a member, nothing else without a sub-field, and
// nothing below or projected from what does not read.
TEST(Finish, FieldsOfLaterVersionsAreUnreadableAndTheRestReads) {
  std::minstd_rand random(16);
  for (int round = 0; round < 300; ++round) {
    Descriptor descriptor = everything();
    for (FieldDescriptor& field : descriptor.fields)
      if (random() % 8 == 0) field.field_version = static_cast<std::uint32_t>(random());
    const Descriptor read = load(store(descriptor));
    const auto has_bad = [&](const auto& self, const FieldDescriptor& field) -> bool {
      if (field.field_version > 0) return true;
      return field.role != FieldRole::record && std::ranges::any_of(field.children, [&](std::uint32_t child) {
               return self(self, read.fields[child]);
             });
    };
    const auto is_bad = [&](const FieldDescriptor& field) {
      for (const FieldDescriptor* at = &field;; at = &read.fields[at->parent]) {
        if (has_bad(has_bad, *at)) return true;
        if (at->parent == at->id) return false;
      }
    };
    for (const FieldDescriptor& field : read.fields) {
      const bool projects_bad = field.source_field && is_bad(read.fields[*field.source_field]);
      EXPECT_EQ(!field.unreadable.empty(), is_bad(field) || projects_bad) << read.path_of(field.id);
      EXPECT_EQ(field.field_version, descriptor.fields[field.id].field_version);
    }
  }
}

TEST(Finish, ALaterFieldVersionIsNamed) {
  Descriptor descriptor = small();
  descriptor.fields[1].field_version = 4'000'000'000;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[1].unreadable, "field version 4000000000 is unknown to this version");
  EXPECT_EQ(read.fields[2].unreadable,
            "its parent \"v\" cannot be read: field version 4000000000 is unknown to this version");
  EXPECT_EQ(read.fields[0].unreadable, "");
}

TEST(Finish, StreamerFieldSaysSo) {
  Descriptor descriptor = everything();
  EXPECT_EQ(load(store(descriptor)).fields[10].unreadable,
            "streamer field (role 0x04): its objects are serialised by ROOT's own streamer");
}

TEST(Finish, UnknownColumnTypeMakesTheFieldUnreadableAndARecordPartlyReadable) {
  Descriptor descriptor = everything();
  descriptor.columns[3].raw_type = 0x42;
  descriptor.columns[3].has_range = false;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[3].unreadable, "column type 0x42 is unknown to this version");
  EXPECT_EQ(read.fields[2].unreadable, "");  // the record
  EXPECT_EQ(read.fields[1].unreadable, "");  // the collection of records
  EXPECT_EQ(read.columns[3].raw_type, 0x42);
}

TEST(Finish, UnreadableMemberMakesAPairUnreadable) {
  Descriptor descriptor = everything();
  descriptor.columns[3].raw_type = 0x42;
  descriptor.columns[3].has_range = false;
  descriptor.fields[2].type_name = "std::pair<float,float>";
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[2].unreadable, "its sub-field \"" + read.fields[3].name +
                                           "\" cannot be read: column type 0x42 is unknown to this version");
}

TEST(Finish, UnreadableItemMakesItsCollectionUnreadable) {
  Descriptor descriptor = small();
  descriptor.columns[2].raw_type = 0x1e;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[1].unreadable,
            "its sub-field \"_0\" cannot be read: column type 0x1e is unknown to this version");
}

TEST(Finish, UnreadableAlternativeMakesTheWholeVariantUnreadable) {
  Descriptor descriptor = everything();
  descriptor.columns[7].raw_type = 0x99;
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(read.fields[7].unreadable,
            "its sub-field \"_0\" cannot be read: column type 0x99 is unknown to this version");
  EXPECT_EQ(read.fields[9].unreadable,
            "its parent \"u\" cannot be read: column type 0x99 is unknown to this version");
}

TEST(Finish, ProjectionOfAnUnreadableFieldIsUnreadable) {
  Descriptor descriptor = everything();
  descriptor.fields[1].raw_role = 0x09;
  EXPECT_EQ(load(store(descriptor)).fields[11].unreadable,
            "its source \"v\" cannot be read: structural role 0x09 is unknown to this version");
}

TEST(Finish, CollectionWithTwoSubFieldsIsUnreadable) {
  Descriptor descriptor = small();
  samples::add_field(descriptor, 1, FieldRole::record, "_1", "Empty");
  descriptor.header_fields = 4;
  EXPECT_EQ(load(store(descriptor)).fields[1].unreadable, "a collection with 2 sub-fields, not 1");
}

TEST(Finish, CollectionOnANumberColumnIsUnreadable) {
  Descriptor descriptor = small();
  descriptor.columns[1].encoding = default_encoding(ColumnType::uint64);
  EXPECT_EQ(load(store(descriptor)).fields[1].unreadable, "a collection without its one index column");
}

TEST(Finish, RecordWithColumnsIsUnreadable) {
  Descriptor descriptor = small();
  const std::uint32_t field = descriptor.columns[0].field;
  ASSERT_EQ(descriptor.fields[field].role, FieldRole::leaf);
  descriptor.fields[field].role = FieldRole::record;
  descriptor.fields[field].raw_role = static_cast<std::uint16_t>(FieldRole::record);
  EXPECT_EQ(load(store(descriptor)).fields[field].unreadable, "a record with columns of its own");
}

TEST(Finish, VariantWithoutASwitchIsUnreadable) {
  Descriptor descriptor = everything();
  descriptor.columns[6].encoding = default_encoding(ColumnType::uint64);
  EXPECT_EQ(load(store(descriptor)).fields[7].unreadable, "a variant without its one switch column");
}

TEST(Finish, LateColumnInsideOfACollectionIsUnreadable) {
  Descriptor descriptor = small();
  descriptor.columns[2].deferred = true;
  descriptor.columns[2].first_element = 4;
  EXPECT_EQ(load(store(descriptor)).fields[2].unreadable,
            "column 2 starts at element 4 inside of a collection");
}

// The meaning of feature flag 0: a merge changed the encoding of the items of a collection.
TEST(Finish, LateRepresentationInsideOfACollectionIsReadable) {
  Descriptor descriptor = small(2);
  descriptor.feature_flags = 1;
  samples::add_column(descriptor, 2, ColumnType::real16, 1);
  descriptor.columns[3].deferred = true;
  descriptor.columns[3].deferred_suppressed = true;
  descriptor.columns[3].first_element = 7;
  descriptor.clusters[1].columns[2] = samples::make_suppressed(2);
  descriptor.clusters[1].columns.push_back(samples::make_range(3, 7, {7}));
  const Descriptor read = load(store(descriptor));
  EXPECT_EQ(text_of(read), text_of(descriptor));
  EXPECT_THAT(read.fields[2].representations, ElementsAre(ElementsAre(2), ElementsAre(3)));
}

// ROOT stores std::array<T,0> as a plain field whose item has no elements.
TEST(Finish, ArrayOfNothingNeedsNoElements) {
  Descriptor descriptor = small();
  const auto array =
      samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "z", "std::array<float,0>");
  samples::add_column(descriptor, samples::add_field(descriptor, array, FieldRole::leaf, "_0", "float"),
                      ColumnType::real32);
  descriptor.header_fields = 5;
  descriptor.header_columns = 4;
  for (ClusterDescriptor& cluster : descriptor.clusters)
    cluster.columns.push_back(samples::make_range(3, 0, {}));
  EXPECT_EQ(load(store(descriptor)).fields[4].unreadable, "");
}

// ROOT writes a field that was added after the last entry like this: no cluster has its column.
TEST(Finish, FieldAddedAfterTheLastEntry) {
  Descriptor descriptor = small();
  samples::add_column(descriptor,
                      samples::add_field(descriptor, samples::top_level, FieldRole::leaf, "y", "float"),
                      ColumnType::real32);
  descriptor.columns[3].deferred = true;
  descriptor.columns[3].first_element = 20;
  EXPECT_EQ(load(store(descriptor)).fields[3].unreadable, "");
}

TEST(Finish, MayBeCalledAgain) {
  Descriptor descriptor = everything();
  Descriptor read = load(store(descriptor));
  const std::string before = text_of(read);
  finish(read);
  EXPECT_EQ(text_of(read), before);
}

}  // namespace
}  // namespace colonnade::format
