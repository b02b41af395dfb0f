// One test per invalid number in header, footer and page list, each with the exact error. Envelopes, frames,
// strings, flags and locators are tested in frame_test.cpp and locator_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "format/envelope.h"
#include "format/envelope_check.h"
#include "format/envelope_samples.h"
#include "format/frame.h"

namespace colonnade::format {
namespace {

using samples::add_column;
using samples::add_field;
using samples::Envelopes;
using samples::everything;
using samples::small;
using samples::store;
using samples::top_level;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::string describe(const Error& error) {
  std::string text = fmt::format("{}: {}", name_of(error.kind()), error.problem());
  if (error.context().cluster) text += fmt::format(" cluster={}", *error.context().cluster);
  if (error.context().column) text += fmt::format(" column={}", *error.context().column);
  if (error.context().page) text += fmt::format(" page={}", *error.context().page);
  if (error.context().offset) text += fmt::format(" @{}", *error.context().offset);
  return text;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return describe(error);
  }
  return "no error";
}

std::string error_of(const Envelopes& stored) {
  return error_of([&] { samples::load(stored); });
}

std::string error_of(Descriptor descriptor) {
  return error_of(store(descriptor));
}

// The error after `damage` to a valid data set.
std::string small_error(const std::function<void(Descriptor&)>& damage) {
  Descriptor descriptor = small();
  damage(descriptor);
  return error_of(descriptor);
}

std::string everything_error(const std::function<void(Descriptor&)>& damage) {
  Descriptor descriptor = everything();
  damage(descriptor);
  return error_of(descriptor);
}

// The reason that finish() gives for a field of small(), 0 to 2, after `damage`.
std::string unreadable(std::uint32_t field, const std::function<void(Descriptor&)>& damage) {
  Descriptor descriptor = small();
  damage(descriptor);
  return samples::load(store(descriptor)).fields[field].unreadable;
}

// The error after overwriting the bytes at `at` in one envelope of small().
template <class T>
std::string patched(Bytes Envelopes::* envelope, std::size_t at, T value) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  store_le((stored.*envelope).data() + at, value);
  samples::reseal(stored);
  return error_of(stored);
}

template <class T>
std::string patched_page_list(std::size_t at, T value) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  store_le(stored.page_lists[0].data() + at, value);
  samples::reseal(stored);
  return error_of(stored);
}

TEST(Corruption, SamplesAreSound) {
  EXPECT_EQ(error_of(small()), "no error");
  EXPECT_EQ(error_of(everything()), "no error");
}

// Header: strings. "small" is at 16, the writer at 29, after an empty description.

TEST(Corruption, NameLongerThanTheHeader) {
  EXPECT_EQ(patched(&Envelopes::header, 16, std::uint32_t{5000}),
            "format: header needs 5000 bytes, but only 277 are left @20");
}

TEST(Corruption, DescriptionLongerThanTheHeader) {
  EXPECT_EQ(patched(&Envelopes::header, 25, std::uint32_t{5000}),
            "format: header needs 5000 bytes, but only 268 are left @29");
}

TEST(Corruption, WriterLongerThanTheHeader) {
  EXPECT_EQ(patched(&Envelopes::header, 29, std::uint32_t{5000}),
            "format: header needs 5000 bytes, but only 264 are left @33");
}

TEST(Corruption, FieldListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::header, 37, std::int64_t{160}),
            "format: header: field: a record frame where a list frame belongs @37");
}

TEST(Corruption, MoreFieldsThanBytes) {
  EXPECT_EQ(patched(&Envelopes::header, 45, std::uint32_t{0xffffffff}),
            "format: header: field: 4294967295 items cannot fit into 152 bytes (each takes at least 40) @45");
}

TEST(Corruption, OneFieldLessThanThereIs) {
  EXPECT_EQ(patched(&Envelopes::header, 45, std::uint32_t{2}),
            "format: column 2: field 2 does not exist (2 fields) column=2");
}

TEST(Corruption, FieldRecordIsAList) {
  EXPECT_EQ(patched(&Envelopes::header, 49, std::int64_t{-46}),
            "format: header: field: a list frame where a record frame belongs @49");
}

TEST(Corruption, FieldNameLongerThanItsRecord) {
  EXPECT_EQ(patched(&Envelopes::header, 73, std::uint32_t{30}),
            "format: header: field needs 30 bytes, but only 18 are left @77");
}

TEST(Corruption, FieldCutOffInItsNumbers) {
  EXPECT_EQ(patched(&Envelopes::header, 49, std::int64_t{10}),
            "format: header: field needs 4 bytes, but only 2 are left @57");
}

TEST(Corruption, ArraySizeMissing) {
  EXPECT_EQ(patched(&Envelopes::header, 71, std::uint16_t{1}),
            "format: header: field needs 8 bytes, but only 0 are left @95");
}

TEST(Corruption, SourceFieldMissing) {
  EXPECT_EQ(patched(&Envelopes::header, 71, std::uint16_t{2}),
            "format: header: field needs 4 bytes, but only 0 are left @95");
}

TEST(Corruption, TypeChecksumMissing) {
  EXPECT_EQ(patched(&Envelopes::header, 71, std::uint16_t{4}),
            "format: header: field needs 4 bytes, but only 0 are left @95");
}

TEST(Corruption, ArraySizeOfZero) {
  Descriptor descriptor = everything();
  Envelopes stored = store(descriptor);
  // The only array size of 3 in the header follows its field's description.
  const std::string_view text(reinterpret_cast<const char*>(stored.header.data()), stored.header.size());
  const std::size_t at = text.find("three of them") + 13;
  stored.header[at] = std::byte{0};
  samples::reseal(stored);
  EXPECT_EQ(error_of(stored),
            fmt::format("format: header: field: repetitive field with an array size of 0 @{}", at));
}

TEST(Corruption, ColumnListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::header, 201, std::int64_t{72}),
            "format: header: column: a record frame where a list frame belongs @201");
}

TEST(Corruption, MoreColumnsThanBytes) {
  EXPECT_EQ(patched(&Envelopes::header, 209, std::uint32_t{4}),
            "format: header: column: 4 items cannot fit into 60 bytes (each takes at least 20) @209");
}

TEST(Corruption, FirstElementMissing) {
  EXPECT_EQ(patched(&Envelopes::header, 229, std::uint16_t{1}),
            "format: header: column needs 8 bytes, but only 0 are left @233");
}

TEST(Corruption, RangeMissing) {
  EXPECT_EQ(patched(&Envelopes::header, 229, std::uint16_t{2}),
            "format: header: column needs 8 bytes, but only 0 are left @233");
}

TEST(Corruption, ColumnCutOff) {
  EXPECT_EQ(patched(&Envelopes::header, 213, std::int64_t{19}),
            "format: header: column needs 2 bytes, but only 1 are left @231");
}

TEST(Corruption, AliasListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::header, 273, std::int64_t{12}),
            "format: header: alias column: a record frame where a list frame belongs @273");
}

TEST(Corruption, TypeInfoListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::header, 285, std::int64_t{12}),
            "format: header: extra type information: a record frame where a list frame belongs @285");
}

TEST(Corruption, TypeInfoContentLongerThanItsRecord) {
  Descriptor descriptor = everything();
  Envelopes stored = store(descriptor);
  const std::size_t at = stored.header.size() - 8 - 7;  // length and three bytes of content end the header
  store_le(stored.header.data() + at, std::uint32_t{4});
  samples::reseal(stored);
  EXPECT_EQ(
      error_of(stored),
      fmt::format("format: header: extra type information needs 4 bytes, but only 3 are left @{}", at + 4));
}

// Header: invalid values.

TEST(Corruption, ParentDoesNotExist) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.fields[2].parent = 3; }),
            "format: field 2 \"_0\": parent 3 does not exist (3 fields)");
}

TEST(Corruption, ParentsInACircle) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.fields[1].parent = 2; }),
            "format: field 1 \"v\": is its own ancestor");
}

TEST(Corruption, FieldsNestedTooDeep) {
  EXPECT_EQ(small_error([](Descriptor& d) {
              for (std::uint32_t i = 0; i < max_field_depth; ++i)
                add_field(d, i == 0 ? top_level : d.fields.back().id, FieldRole::record, "r", "");
              add_field(d, d.fields.back().id, FieldRole::record, "end", "");
            }),
            "format: field 103 \"end\": nested 101 deep, more than 100");
}

TEST(Corruption, LongNamesAreCutInMessages) {
  EXPECT_EQ(
      small_error([](Descriptor& d) {
        d.fields[2].name = std::string(1000, 'n');
        d.fields[2].parent = 77;
      }),
      fmt::format("format: field 2 \"{}...\": parent 77 does not exist (3 fields)", std::string(64, 'n')));
}

TEST(Corruption, SourceDoesNotExist) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.fields[11].source_field = 16; }),
            "format: field 11 \"n\": projects field 16, which does not exist (16 fields)");
}

TEST(Corruption, SourceIsProjectedItself) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.fields[11].source_field = 15; }),
            "format: field 11 \"n\": projects field 15 \"names_n\", which is projected itself");
  EXPECT_EQ(everything_error([](Descriptor& d) { d.fields[11].source_field = 11; }),
            "format: field 11 \"n\": projects field 11 \"n\", which is projected itself");
}

TEST(Corruption, FieldOfColumnDoesNotExist) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.columns[1].field = 3; }),
            "format: column 1: field 3 does not exist (3 fields) column=1");
}

TEST(Corruption, ColumnOfAProjectedField) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.columns[0].field = 11; }),
            "format: column 0: belongs to the projected field 11 \"n\" column=0");
}

TEST(Corruption, WidthThatTheTypeCannotHave) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.columns[0].encoding.bits = 31; }),
            "format: column 0: Real32 cannot have 31 bits on storage column=0");
}

TEST(Corruption, TruncatedRealTooNarrow) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.columns[0].encoding = {ColumnType::real32_trunc, 9, 0, 0}; }),
            "format: column 0: Real32Trunc cannot have 9 bits on storage column=0");
}

TEST(Corruption, RangeUpsideDown) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.columns[0].encoding = {ColumnType::real32_quant, 9, 2, 1}; }),
            "format: column 0: range of values from 2 to 1 column=0");
}

TEST(Corruption, RangeThatIsNotANumber) {
  EXPECT_EQ(small_error([](Descriptor& d) {
              d.columns[0].encoding = {ColumnType::real32_quant, 9, not_a_number, 1};
            }),
            "format: column 0: range of values from nan to 1 column=0");
}

TEST(Corruption, QuantisedRealWithoutARange) {
  // The first column's type, width and flags start at 221.
  EXPECT_EQ(patched(&Envelopes::header, 221, std::uint16_t{0x1d}),
            "format: column 0: Real32Quant without a range of values column=0");
}

TEST(Corruption, RepresentationsWithAGap) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.columns[0].representation = 1; }),
            "format: column 0: representation 1 follows 0 representations of field 0 \"x\" column=0");
}

TEST(Corruption, RepresentationsOutOfOrder) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.columns[16].representation = 0; }),
            "format: column 16: representation 0 follows 2 representations of field 0 \"x\" column=16");
}

TEST(Corruption, RepresentationsOfDifferentSize) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.columns[16].representation = 1; }),
            "format: field 0 \"x\": representations with 1 and 2 columns");
}

TEST(Corruption, AliasOfAColumnThatDoesNotExist) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.aliases[0].physical_column = 17; }),
            "format: alias column 0: physical column 17 does not exist (17 columns)");
}

TEST(Corruption, AliasOfAFieldThatDoesNotExist) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.aliases[1].field = 16; }),
            "format: alias column 1: field 16 does not exist (16 fields)");
}

TEST(Corruption, AliasOfAFieldThatIsNotProjected) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.aliases[0].field = 1; }),
            "format: alias column 0: field 1 \"v\" is not projected");
}

TEST(Corruption, ProjectionsIntoOtherCollections) {
  Descriptor descriptor = everything();
  descriptor.fields[11].source_field = 4;  // v._0.id
  descriptor.aliases[0].physical_column = 4;
  EXPECT_EQ(samples::load(store(descriptor)).fields[11].unreadable,
            "projects a field that is in other collections");
}

TEST(Corruption, AliasesOfTwoFields) {
  EXPECT_EQ(everything_error([](Descriptor& d) { d.aliases.push_back({0, 15}); }),
            "format: field 15 \"names_n\": alias columns of both field 13 \"names\" and field 0 \"x\"");
}

TEST(Corruption, ProjectionsThatWouldTakeTooMuchMemory) {
  Descriptor descriptor;
  const auto source = add_field(descriptor, top_level, FieldRole::leaf, "x", "float");
  for (std::uint16_t i = 0; i < 200; ++i) add_column(descriptor, source, ColumnType::real32, i);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto field = add_field(descriptor, top_level, FieldRole::leaf, "y", "float");
    descriptor.fields[field].source_field = source;
    descriptor.aliases.push_back({0, field});
  }
  EXPECT_EQ(error_of(descriptor),
            "unsupported: field 10 \"y\": projects 200 representations with 1 alias columns, more than this "
            "version "
            "handles");
}

// Footer. Flags are at 8, the header checksum at 16, the extension at 24, cluster groups at 80.

TEST(Corruption, FooterOfAnotherHeader) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  store_le(stored.footer.data() + 16, std::uint64_t{0xabc});
  samples::reseal(stored.footer);
  EXPECT_EQ(error_of(stored),
            fmt::format("checksum: footer: made for a header with checksum 0000000000000abc, but the "
                        "header has {:016x} @16",
                        descriptor.header_checksum));
}

TEST(Corruption, UnknownFeatureFlagOfTheFooter) {
  EXPECT_EQ(patched(&Envelopes::footer, 8, std::uint64_t{4}),
            "unsupported: footer: feature flag 2 is set, a change of the format that this version does not "
            "know @8");
}

TEST(Corruption, ExtensionIsAList) {
  EXPECT_EQ(patched(&Envelopes::footer, 24, std::int64_t{-56}),
            "format: footer: schema extension: a list frame where a record frame belongs @24");
}

TEST(Corruption, ExtensionWithoutItsColumns) {
  EXPECT_EQ(patched(&Envelopes::footer, 24, std::int64_t{20}),
            "format: footer: column needs 8 bytes, but only 0 are left @44");
}

TEST(Corruption, ClusterGroupListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::footer, 80, std::int64_t{60}),
            "format: footer: cluster group: a record frame where a list frame belongs @80");
}

TEST(Corruption, ClusterGroupCutOff) {
  EXPECT_EQ(patched(&Envelopes::footer, 92, std::int64_t{30}),
            "format: footer: cluster group needs 8 bytes, but only 2 are left @120");
}

TEST(Corruption, ClusterGroupLocator) {
  EXPECT_EQ(patched(&Envelopes::footer, 128, std::uint32_t{0x80000000}),
            "format: footer: cluster group: locator of type 0x80 and 0 bytes is impossible @128");
}

TEST(Corruption, ClusterGroupMinEntry) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.cluster_groups[0].min_entry = 1; }),
            "format: cluster group 0 says 20 entries from 1 on, its clusters hold 20 from 0 on");
}

TEST(Corruption, ClusterGroupEntrySpan) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.cluster_groups[0].entry_span = 21; }),
            "format: cluster group 0 says 21 entries from 0 on, its clusters hold 20 from 0 on");
}

TEST(Corruption, ClusterGroupCount) {
  EXPECT_EQ(patched(&Envelopes::footer, 116, std::uint32_t{3}),
            "format: page list: 2 clusters, but the footer says that group 0 has 3 @24");
}

TEST(Corruption, PageListMissing) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  stored.page_lists.clear();
  EXPECT_EQ(error_of(stored), "format: cluster groups declare 2 clusters, the page lists have 0");
}

TEST(Corruption, PageListOfAGroupThatDoesNotExist) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  stored.page_lists.push_back(stored.page_lists[0]);
  EXPECT_EQ(error_of(stored), "usage: cluster group 1 was requested, but there are 1");
}

TEST(Corruption, AttributeSetListIsARecord) {
  EXPECT_EQ(patched(&Envelopes::footer, 140, std::int64_t{12}),
            "format: footer: attribute set: a record frame where a list frame belongs @140");
}

TEST(Corruption, AttributeSetNameLongerThanItsRecord) {
  Descriptor descriptor = everything();
  Envelopes stored = store(descriptor);
  const std::size_t at = stored.footer.size() - 8 - 8;  // length and "runs" end the footer
  store_le(stored.footer.data() + at, std::uint32_t{5});
  samples::reseal(stored);
  EXPECT_EQ(error_of(stored),
            fmt::format("format: footer: attribute set needs 5 bytes, but only 4 are left @{}", at + 4));
}

TEST(Corruption, AttributeSetLocator) {
  Descriptor descriptor = everything();
  Envelopes stored = store(descriptor);
  const std::size_t at = stored.footer.size() - 8 - 20;
  store_le(stored.footer.data() + at, std::uint32_t{0x80000000});
  samples::reseal(stored);
  EXPECT_EQ(
      error_of(stored),
      fmt::format("format: footer: attribute set: locator of type 0x80 and 0 bytes is impossible @{}", at));
}

// Page list. The header checksum is at 8, summaries at 16, the first of two at 28; page locations at 76, the
// first cluster's columns at 88, its first column at 100, the first of its two pages at 112.

TEST(Corruption, PageListOfAnotherHeader) {
  Descriptor descriptor = small();
  Envelopes stored = store(descriptor);
  store_le(stored.page_lists[0].data() + 8, std::uint64_t{0xabc});
  samples::reseal(stored.page_lists[0]);
  EXPECT_EQ(error_of(stored),
            fmt::format("checksum: page list: made for a header with checksum 0000000000000abc, but "
                        "the header has {:016x} @8",
                        descriptor.header_checksum));
}

TEST(Corruption, ClusterSummariesAreARecord) {
  EXPECT_EQ(patched_page_list(16, std::int64_t{60}),
            "format: page list: cluster summary: a record frame where a list frame belongs @16");
}

TEST(Corruption, ClusterSummaryCutOff) {
  EXPECT_EQ(patched_page_list(28, std::int64_t{20}),
            "format: page list: cluster summary needs 8 bytes, but only 4 are left @44");
}

TEST(Corruption, ShardedCluster) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.clusters[1].flags = 1; }),
            "unsupported: page list: the cluster is sharded, which this version cannot read cluster=1 @68");
}

TEST(Corruption, FirstEntryOfACluster) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.clusters[1].first_entry = 11; }),
            "format: cluster 1 starts at entry 11, not 10 cluster=1");
}

TEST(Corruption, EntriesOfACluster) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.clusters[0].entries = 9; }),
            "format: cluster 1 starts at entry 10, not 9 cluster=1");
}

TEST(Corruption, EntriesBeyondTheLimit) {
  EXPECT_EQ(small_error([](Descriptor& d) {
              const ClusterDescriptor cluster = d.clusters[0];
              d.clusters.assign(129, cluster);
              for (std::uint64_t i = 0; i < d.clusters.size(); ++i) {
                d.clusters[i].entries = (std::uint64_t{1} << 56) - 1;
                d.clusters[i].first_entry = i * d.clusters[i].entries;
              }
              d.cluster_groups[0].clusters = 129;
            }),
            "format: cluster 128 ends beyond entry 2^63 cluster=128");
}

TEST(Corruption, PageLocationsOfMoreClusters) {
  EXPECT_EQ(patched_page_list(84, std::uint32_t{3}),
            "format: page list: page locations of 3 clusters, but 2 summaries @84");
}

TEST(Corruption, PageLocationsAreARecord) {
  EXPECT_EQ(patched_page_list(76, std::int64_t{300}),
            "format: page list: clusters: a record frame where a list frame belongs @76");
}

TEST(Corruption, MoreColumnsThanTheSchemaHas) {
  EXPECT_EQ(
      small_error([](Descriptor& d) { d.clusters[0].columns.push_back(samples::make_range(3, 0, {})); }),
      "format: page list: columns of a cluster: 4 columns, but the schema has 3 cluster=0 @96");
}

TEST(Corruption, FewerColumnsThanTheHeaderHas) {
  EXPECT_EQ(small_error([](Descriptor& d) { d.clusters[1].columns.pop_back(); }),
            "format: cluster 1 lists 2 columns, the header has 3 and the whole schema 3 cluster=1");
}

TEST(Corruption, ColumnOfAClusterIsARecord) {
  EXPECT_EQ(patched_page_list(100, std::int64_t{56}),
            "format: page list: column: a record frame where a list frame belongs cluster=0 column=0 @100");
}

TEST(Corruption, MorePagesThanFit) {
  EXPECT_EQ(patched_page_list(108, std::uint32_t{6}),
            "format: page list: column: 6 items cannot fit into 44 bytes (each takes at least 8) cluster=0 "
            "column=0 "
            "@108");
}

TEST(Corruption, OnePageMoreThanThereIs) {
  // The first element index and the compression settings are read as a page without elements.
  EXPECT_EQ(patched_page_list(108, std::uint32_t{3}),
            "format: page list: page of 0 elements cluster=0 column=0 page=2 @144");
}

TEST(Corruption, PageWithoutElements) {
  EXPECT_EQ(patched_page_list(128, std::int32_t{0}),
            "format: page list: page of 0 elements cluster=0 column=0 page=1 @128");
}

TEST(Corruption, PageWithTheLowestNumberOfElements) {
  EXPECT_EQ(patched_page_list(112, std::numeric_limits<std::int32_t>::min()),
            "format: page list: page of -2147483648 elements cluster=0 column=0 page=0 @112");
}

TEST(Corruption, PageLocator) {
  EXPECT_EQ(patched_page_list(116, std::uint32_t{0x80000000}),
            "format: page list: page: locator of type 0x80 and 0 bytes is impossible cluster=0 column=0 "
            "page=0 @116");
}

TEST(Corruption, SuppressedColumnWithPages) {
  EXPECT_EQ(patched_page_list(144, std::int64_t{-1}),
            "format: page list: column is suppressed but has 2 pages cluster=0 column=0 @144");
}

TEST(Corruption, CompressionSettingsMissing) {
  EXPECT_EQ(patched_page_list(100, std::int64_t{-52}),
            "format: page list: column needs 4 bytes, but only 0 are left cluster=0 column=0 @152");
}

// Columns that do not match: their fields are unreadable, the others are not.

void set_elements(Descriptor& d, std::size_t page, std::uint32_t elements) {
  PageList& pages = d.clusters[0].columns[0].pages;
  PageDescriptor changed = pages[page];
  changed.elements = elements;
  pages.set(page, changed);
}

TEST(Corruption, FirstElementOfALaterCluster) {
  EXPECT_EQ(unreadable(2, [](Descriptor& d) { d.clusters[1].columns[2].first_element = 8; }),
            "column 2 in cluster 1: starts at element 8, not 7");
}

TEST(Corruption, FirstElementOfTheFirstCluster) {
  EXPECT_EQ(unreadable(2, [](Descriptor& d) { d.clusters[0].columns[2].first_element = 1; }),
            "column 2 in cluster 0: starts at element 1, not 0");
}

TEST(Corruption, ElementsDoNotFitTheEntries) {
  EXPECT_EQ(unreadable(0, [](Descriptor& d) { set_elements(d, 1, 5); }),
            "column 0 in cluster 0: 11 elements, but 10 entries need 10");
  EXPECT_EQ(unreadable(1, [](Descriptor& d) { d.clusters[1].columns[1].pages.clear(); }),
            "column 1 in cluster 1: 0 elements, but 10 entries need 10");
}

TEST(Corruption, OneBadColumnLeavesTheOthersReadable) {
  const auto damage = [](Descriptor& d) { set_elements(d, 1, 5); };
  EXPECT_EQ(unreadable(1, damage), "");
  EXPECT_EQ(unreadable(2, damage), "");
}

TEST(Corruption, DeferredColumnThatStartsInNoCluster) {
  EXPECT_EQ(unreadable(0,
                       [](Descriptor& d) {
                         d.columns[0].deferred = true;
                         set_elements(d, 1, 5);
                         d.columns[0].first_element = 12;
                         d.clusters[0].columns[0].first_element = 12;
                       }),
            "column 0 in cluster 0: starts at element 12, its entries have 0 to 10");
}

TEST(Corruption, DeferredColumnWithTooManyElements) {
  EXPECT_EQ(unreadable(0,
                       [](Descriptor& d) {
                         d.columns[0].deferred = true;
                         set_elements(d, 1, 5);
                         d.columns[0].first_element = 2;
                         d.clusters[0].columns[0].first_element = 2;
                       }),
            "column 0 in cluster 0: 11 elements, but 10 entries need 8");
}

TEST(Corruption, DeferredColumnThatTheClusterContradicts) {
  EXPECT_EQ(unreadable(0,
                       [](Descriptor& d) {
                         d.columns[0].deferred = true;
                         set_elements(d, 1, 3);
                         d.columns[0].first_element = 3;
                       }),
            "column 0 in cluster 0: starts at element 0, not 3");
}

// As ROOT's merger writes it: zeros before the first element, and numbers from that one on.
TEST(Corruption, DeferredColumnThatHasTheElementsOfAllEntries) {
  EXPECT_EQ(unreadable(0,
                       [](Descriptor& d) {
                         d.columns[0].deferred = true;
                         d.columns[0].first_element = 12;
                         d.clusters[0].columns[0].first_element = 12;
                         d.clusters[1].columns[0].first_element = 22;
                       }),
            "");
}

// It writes half of the zeros for numbers of half the size.
TEST(Corruption, DeferredColumnThatHasSomeOfTheElementsBefore) {
  const auto late = [](std::uint64_t first, std::uint32_t elements) {
    return [=](Descriptor& d) {
      d.columns[0].deferred = true;
      d.columns[0].first_element = first;
      set_elements(d, 0, elements - 4);
      d.clusters[0].columns[0].first_element = static_cast<std::int64_t>(first);
      d.clusters[1].columns[0].first_element = static_cast<std::int64_t>(first + elements);
    };
  };
  EXPECT_EQ(unreadable(0, late(10, 6)), "");
  EXPECT_EQ(unreadable(0, late(4, 6)), "");
  EXPECT_EQ(unreadable(0, late(3, 6)), "column 0 in cluster 0: 6 elements, but 10 entries need 7");
  EXPECT_EQ(unreadable(0, late(12, 6)), "");
}

TEST(Corruption, ElementNumbersBeyondTheLimit) {
  EXPECT_EQ(unreadable(2,
                       [](Descriptor& d) {
                         d.clusters[0].columns[2].first_element = std::numeric_limits<std::int64_t>::max();
                       }),
            "column 2 in cluster 0: element numbers beyond 2^63");
}

TEST(Corruption, ArraySizesThatMultiplyTooFar) {
  EXPECT_EQ(unreadable(3,
                       [](Descriptor& d) {
                         std::uint32_t parent = top_level;
                         for (int i = 0; i < 2; ++i) {
                           parent = add_field(d, parent, FieldRole::leaf, "a", "std::array");
                           d.fields[parent].array_size = std::uint64_t{1} << 32;
                         }
                         d.header_fields = 5;
                       }),
            "its sub-field \"a\" cannot be read: array sizes on its path multiply to more than 2^63");
}

TEST(Corruption, ArrayTooLargeForItsEntries) {
  EXPECT_EQ(unreadable(0, [](Descriptor& d) { d.fields[0].array_size = std::uint64_t{1} << 62; }),
            "column 0 in cluster 0: element numbers beyond 2^64");
}

Descriptor with_two_representations() {
  Descriptor descriptor = small();
  add_column(descriptor, 0, ColumnType::real16, 1);
  descriptor.header_columns = 4;
  for (ClusterDescriptor& cluster : descriptor.clusters)
    cluster.columns.push_back(samples::make_suppressed(3));
  return descriptor;
}

std::string reason_of_x(Descriptor descriptor) {
  return samples::load(store(descriptor)).fields[0].unreadable;
}

TEST(Corruption, AllRepresentationsSuppressed) {
  Descriptor descriptor = with_two_representations();
  EXPECT_EQ(reason_of_x(descriptor), "");
  descriptor.clusters[1].columns[0] = samples::make_suppressed(0);
  EXPECT_EQ(reason_of_x(descriptor), "column 0 in cluster 1: all representations are suppressed");
}

TEST(Corruption, TwoRepresentationsActive) {
  Descriptor descriptor = with_two_representations();
  descriptor.clusters[1].columns[3] = samples::make_range(3, 10, {10});
  EXPECT_EQ(reason_of_x(descriptor), "column 3 in cluster 1: representations 0 and 1 are both active");
}

TEST(Corruption, OneColumnOfARepresentationSuppressed) {
  Descriptor descriptor = everything();
  descriptor.clusters[2].columns[9] = samples::make_suppressed(9);
  EXPECT_EQ(samples::load(store(descriptor)).fields[9].unreadable,
            "column 8 in cluster 2: 1 of the 2 columns of the active representation");
}

TEST(Corruption, ExtensionColumnMissingFromALaterCluster) {
  Descriptor descriptor = everything();
  descriptor.clusters[2].columns.resize(16);
  descriptor.clusters[2].columns[0] = samples::make_range(0, 20, {5});
  descriptor.clusters[2].columns.resize(13);
  EXPECT_EQ(samples::load(store(descriptor)).fields[13].unreadable,
            "column 13 in cluster 2: missing, though an earlier cluster has it");
}

TEST(Corruption, ExtensionColumnMissingInBetween) {
  Descriptor descriptor = everything();
  descriptor.columns.pop_back();
  descriptor.clusters[2].columns.pop_back();
  descriptor.clusters[2].columns[0] = samples::make_range(0, 20, {5});
  ClusterDescriptor more = descriptor.clusters[2];
  descriptor.clusters[2].columns.resize(12);
  more.first_entry = 25;
  more.id = 3;
  descriptor.clusters.push_back(more);
  descriptor.cluster_groups[1].clusters = 3;
  descriptor.cluster_groups[1].entry_span = 20;
  EXPECT_EQ(samples::load(store(descriptor)).fields[12].unreadable,
            "column 12 in cluster 2: missing, though an earlier and a later cluster have it");
}

TEST(Corruption, ExtensionColumnThatNoClusterHas) {
  Descriptor descriptor = small();
  add_column(descriptor, add_field(descriptor, top_level, FieldRole::leaf, "y", "float"), ColumnType::real32);
  descriptor.columns[3].deferred = true;
  descriptor.columns[3].first_element = 19;
  EXPECT_EQ(samples::load(store(descriptor)).fields[3].unreadable,
            "column 3 in cluster 0: missing, and not deferred beyond the last entry");
}

// Descriptors that cannot be written.

TEST(Writing, RefusesMoreHeaderFieldsThanThereAre) {
  Descriptor descriptor = small();
  descriptor.header_fields = 4;
  EXPECT_EQ(error_of([&] { write_header(descriptor); }), "usage: cannot write fields 0 to 4: there are 3");
}

TEST(Writing, RefusesClustersThatAreNotThere) {
  const Descriptor descriptor = small();
  EXPECT_EQ(error_of([&] { write_page_list(descriptor, 1, 2); }),
            "usage: cannot write 2 clusters from 1 on: there are 2");
}

TEST(Writing, RefusesPagesWithoutElements) {
  Descriptor descriptor = small();
  set_elements(descriptor, 0, 0);
  EXPECT_EQ(error_of([&] { write_page_list(descriptor, 0, 2); }),
            "usage: a page of 0 elements cannot be written");
}

TEST(Writing, RefusesSuppressedColumnsWithPages) {
  Descriptor descriptor = small();
  descriptor.clusters[0].columns[0].suppressed = true;
  EXPECT_EQ(error_of([&] { write_page_list(descriptor, 0, 2); }),
            "usage: a column range with first element 0 and 2 pages cannot be written column=0");
}

TEST(Writing, RefusesTooManyEntries) {
  Descriptor descriptor = small();
  descriptor.clusters[0].entries = std::uint64_t{1} << 56;
  EXPECT_EQ(error_of([&] { write_page_list(descriptor, 0, 2); }),
            "resource: 72057594037927936 entries are too many for one cluster cluster=0");
}

}  // namespace
}  // namespace colonnade::format
