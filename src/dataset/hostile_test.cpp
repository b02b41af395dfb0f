// Damaged files: every byte changed in turn, every length cut, envelopes changed behind correct checksums.
// The result is always an Error or exactly the values that were written, within bounded memory.
#include <gmock/gmock.h>
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>

#include "base/memory_limit.h"
#include "base/test_allocation.h"
#include "base/test_fixtures.h"
#include "base/test_sanitized.h"
#include "codec/compression.h"
#include "colonnade/attributes.h"
#include "colonnade/copy.h"
#include "dataset/reading/open_source.h"
#include "dataset/test_hostile_files.h"
#include "dataset/test_round_trip.h"
#include "page/page_source.h"

// ---- The program's allocations, counted in operator new

namespace {

std::atomic<std::size_t> allocated{0};
std::atomic<std::size_t> peak{0};
// The program's memory limit, for tests of what happens beyond it.
std::atomic<std::size_t> most{~std::size_t{0}};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = allocated += malloc_usable_size(memory);
  std::size_t highest = peak;
  while (now > highest && !peak.compare_exchange_weak(highest, now)) {
  }
  return memory;
}
// More than any machine has; sanitizers abort the program where malloc() would return null.
constexpr std::size_t beyond_memory = std::size_t{1} << 39;

bool is_too_much(std::size_t size) noexcept {
  return size > beyond_memory || size > most - std::min<std::size_t>(most, allocated);
}

}  // namespace

void* colonnade::testing::allocate(std::size_t size, std::size_t alignment) {
  if (is_too_much(size)) throw std::bad_alloc();
  return counted(system_memory(size, alignment));
}
void colonnade::testing::release(void* memory) noexcept {
  if (memory == nullptr) return;
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

namespace hostile_test {

struct Point {
  float x = 0;
  std::int16_t n = 0;
};

}  // namespace hostile_test

namespace colonnade {
namespace {

using hostile_test::Point;
using testing::error_of;
using testing::MemoryFile;

// Everything in a file: schema, all entries, all arrays.
std::string everything_in(const std::string& name, const std::string& uri, const ReadOptions& options = {}) {
  auto reader = Reader::open(name, uri, options);
  std::ostringstream out;
  reader->print_schema(out);
  std::vector<std::string> paths;
  std::vector<View<void>> views;
  for (const std::uint32_t id : reader->descriptor().top_level_fields()) {
    if (!reader->descriptor().fields[id].unreadable.empty()) continue;
    paths.push_back(reader->descriptor().fields[id].name);
    views.push_back(reader->view(paths.back()));
  }
  // Entries without fields take no storage, so their number needs a limit.
  const std::uint64_t entries = std::min<std::uint64_t>(reader->num_entries(), 4096);
  for (std::uint64_t i = 0; i < entries; ++i)
    for (auto& view : views) out << view.text(i) << '\n';
  for (std::uint64_t i = 0; i < entries; ++i) reader->load_entry(i);
  for (const ColumnArray& array : reader->arrays(paths, 0, reader->num_entries())) {
    out << array.field << ' ' << static_cast<int>(array.role) << ' ';
    out.write(reinterpret_cast<const char*>(array.data.get()),
              static_cast<std::streamsize>(array.size * size_of(array.element)));
  }
  reader->verify();
  for (const std::string& name_of_set : reader->attribute_sets()) {
    const auto set = reader->attribute_set(name_of_set);
    out << name_of_set << '\n';
    for (const std::uint64_t row : set->rows())
      out << set->range(row).first() << ' ' << set->range(row).last() << ' ' << set->row_text(row) << '\n';
    set->reader().verify();
  }
  return out.str();
}

void write_sample(const std::string& uri, const WriteOptions& options) {
  auto model = Model::create();
  auto i = model->make_field<std::int32_t>("i");
  auto v = model->make_field<std::vector<float>>("v");
  auto s = model->make_field<std::string>("s");
  auto o = model->make_field<std::optional<double>>("o");
  auto m = model->make_field<std::map<char, bool>>("m");
  auto a = model->make_field<std::array<std::bitset<3>, 2>>("a");
  auto u = model->make_field<std::variant<std::uint8_t, Point>>("u");
  auto q = model->make_field<float>("q");
  auto e = model->make_field<std::atomic<std::int64_t>>("e");
  model->field("q").set_quantized(0, 10, 5);
  model->add_projected_field<Cardinality<std::uint32_t>>("n", {{"n", "v"}});
  auto writer = Writer::recreate(std::move(model), "Data", uri, options);
  for (int k = 0; k < 9; ++k) {
    *i = 1000 * k;
    v->assign(static_cast<std::size_t>(k % 3), 0.5f * static_cast<float>(k));
    *s = std::string(static_cast<std::size_t>(k % 4), static_cast<char>('a' + k));
    *o = k % 2 == 0 ? std::optional<double>(k) : std::nullopt;
    m->emplace(static_cast<char>('a' + k), k % 2 == 0);
    (*a)[0] = static_cast<unsigned>(k);
    if (k % 2 == 0) {
      *u = static_cast<std::uint8_t>(k);
    } else {
      *u = Point{static_cast<float>(k), static_cast<std::int16_t>(-k)};
    }
    *q = static_cast<float>(k);
    *e = -k;
    writer->fill();
    if (k == 4) writer->commit_cluster();
  }
  auto late = writer->extend<std::vector<std::int16_t>>("late");
  late->assign(2, 7);
  writer->fill();
  writer->close();
}

constexpr std::size_t memory_bound(std::size_t file_size) {
  return 300 * file_size + (std::size_t{1} << 20);
}

// The effect of a damaged file.
enum class Outcome { error, right, wrong };
template <class Read>
Outcome outcome_of(const std::string& expected, std::size_t bound, Read&& read) {
  const std::size_t before = allocated;
  peak = before;
  Outcome outcome = Outcome::error;
  try {
    outcome = read() == expected ? Outcome::right : Outcome::wrong;
  } catch (const Error& error) {
    EXPECT_FALSE(error.problem().empty());
    EXPECT_FALSE(error.context().uri.empty()) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an Error: " << error.what();
  }
  EXPECT_LE(peak - before, bound) << "bytes of memory";
  return outcome;
}

// The slow builds with a sanitizer try one byte of three: of numbers with 4 or 8 bytes, another one each
// time.
constexpr std::uint64_t byte_step = is_sanitized ? 3 : 1;

// The changes to try at a byte: all, or with a sanitizer one, and another at the next byte that is tried.
std::vector<unsigned> patterns_at(std::uint64_t byte, std::initializer_list<unsigned> patterns) {
  if (!is_sanitized) return patterns;
  if (byte % byte_step != 0) return {};
  return {*(patterns.begin() + byte / byte_step % patterns.size())};
}

struct Tally {
  std::size_t errors = 0;
  std::size_t right = 0;
};

Tally flip_every_byte(const Bytes& original, const std::string& name,
                      std::initializer_list<unsigned> patterns) {
  const MemoryFile file;
  file.store(original);
  const std::string expected = everything_in(name, file);
  Tally tally;
  for (std::size_t at = 0; at < original.size(); ++at)
    for (const unsigned pattern : patterns_at(at, patterns)) {
      Bytes damaged = original;
      damaged[at] ^= static_cast<std::byte>(pattern);
      file.store(damaged);
      const Outcome outcome =
          outcome_of(expected, memory_bound(original.size()), [&] { return everything_in(name, file); });
      EXPECT_NE(outcome, Outcome::wrong)
          << "byte " << at << " of " << original.size() << " changed by " << pattern;
      ++(outcome == Outcome::error ? tally.errors : tally.right);
      if (::testing::Test::HasFailure()) return tally;
    }
  return tally;
}

const std::pair<const char*, WriteOptions> samples[] = {
    {"root zstd", {.compression = "zstd:5"}},
    {"root none", {.compression = "none"}},
    {"root lz4, tiny keys and pages",
     {.compression = "lz4:1", .max_page_size = 64, .max_key_size = 512, .clusters_per_group = 1}},
    {"bare zlib", {.compression = "zlib:1", .container = Container::bare_file}},
    {"bare none", {.compression = "none", .container = Container::bare_file}},
    {"bare lzma", {.compression = "lzma:1", .container = Container::bare_file}}};

TEST(Hostile, AFlippedByteGivesAnErrorOrTheRightValues) {
  for (const auto& [what, options] : samples) {
    SCOPED_TRACE(what);
    const MemoryFile file;
    write_sample(file, options);
    const Bytes content = file.content();
    EXPECT_LT(content.size(), 7000u);
    const Tally tally = flip_every_byte(content, "Data", {0x01, 0x80, 0xff});
    EXPECT_GT(3 * tally.errors, tally.right);
    if (HasFailure()) return;
  }
}

TEST(Hostile, WithoutPageChecksumsNothingWorseThanOtherValuesHappens) {
  for (const char* compression : {"none", "zstd:5", "lz4:1", "zlib:1", "lzma:1"}) {
    const MemoryFile file;
    write_sample(file, {.compression = compression, .page_checksums = Checksums::off});
    const Bytes original = file.content();
    const auto reader = Reader::open("Data", file);
    for (const ClusterDescriptor& cluster : reader->descriptor().clusters)
      for (const ColumnRange& range : cluster.columns)
        for (const PageDescriptor& page : range.pages)
          for (std::uint64_t at = page.locator.offset; at < page.locator.offset + page.locator.size; ++at)
            for (const unsigned pattern : patterns_at(at, {0x01u, 0x10u, 0x80u, 0xffu, 0x7fu})) {
              Bytes damaged = original;
              damaged[at] ^= static_cast<std::byte>(pattern);
              file.store(damaged);
              outcome_of("", memory_bound(original.size()), [&] { return everything_in("Data", file); });
              if (HasFailure()) return;
            }
  }
}

TEST(Hostile, IgnoringPageChecksumsIsAsSafe) {
  const MemoryFile file;
  write_sample(file, {.compression = "none"});
  const Bytes original = file.content();
  for (std::size_t at = 0; at < original.size(); at += byte_step) {
    Bytes damaged = original;
    damaged[at] ^= std::byte{0xff};
    file.store(damaged);
    outcome_of("", memory_bound(original.size()),
               [&] { return everything_in("Data", file, {.page_checksums = Checksums::off}); });
    if (HasFailure()) return;
  }
}

TEST(Hostile, ACutFileGivesAClearError) {
  for (const auto& [what, options] : samples) {
    SCOPED_TRACE(what);
    const MemoryFile file;
    write_sample(file, options);
    const Bytes original = file.content();
    for (std::size_t size = 0; size < original.size(); size += byte_step) {
      file.store(ByteSpan(original).first(size));
      const std::size_t before = allocated;
      peak = before;
      try {
        everything_in("Data", file);
        ADD_FAILURE() << "cut to " << size << " of " << original.size() << " bytes it was read";
      } catch (const Error& error) {
        EXPECT_TRUE(error.kind() == ErrorKind::format || error.kind() == ErrorKind::not_found ||
                    error.kind() == ErrorKind::checksum)
            << size << ": " << error.what();
        EXPECT_EQ(error.context().uri, file.uri());
        EXPECT_NE(std::string(error.what()).find("check that"), std::string::npos)
            << size << ": " << error.what();
      }
      EXPECT_LE(peak - before, memory_bound(original.size()));
      if (HasFailure()) return;
    }
  }
}

// ---- Envelopes changed by an attacker, who can compute checksums

void reseal(Bytes& file, const Locator& envelope) {
  const MutableByteSpan bytes = MutableByteSpan(file).subspan(envelope.offset, envelope.size);
  store_le(bytes.data() + bytes.size() - 8, codec::xxh3(bytes.first(bytes.size() - 8)));
}

// Header, footer and page lists, all uncompressed, behind correct checksums.
struct Envelopes {
  explicit Envelopes(const std::string& uri) {
    const auto reader = Reader::open("Data", uri);
    const Descriptor& d = reader->descriptor();
    header = {.size = d.anchor.header_size, .offset = d.anchor.header_offset};
    footer = {.size = d.anchor.footer_size, .offset = d.anchor.footer_offset};
    for (const ClusterGroup& group : d.cluster_groups) page_lists.push_back(group.page_list.locator);
  }
  void seal(Bytes& file) const {
    reseal(file, header);
    const auto sum = load_le<std::uint64_t>(file.data() + header.offset + header.size - 8);
    store_le(file.data() + footer.offset + 16, sum);
    reseal(file, footer);
    for (const Locator& list : page_lists) {
      store_le(file.data() + list.offset + 8, sum);
      reseal(file, list);
    }
  }
  Locator header, footer;
  std::vector<Locator> page_lists;
};

TEST(Hostile, ChangedEnvelopesWithRightChecksumsStaySafe) {
  const MemoryFile file;
  write_sample(file, {.compression = "none", .clusters_per_group = 1, .container = Container::bare_file});
  const Bytes original = file.content();
  const Envelopes envelopes(file);
  std::vector<Locator> all = envelopes.page_lists;
  all.push_back(envelopes.header);
  all.push_back(envelopes.footer);
  std::size_t errors = 0;
  for (const Locator& envelope : all)
    for (std::uint64_t at = envelope.offset; at < envelope.offset + envelope.size; ++at)
      for (const unsigned pattern : patterns_at(at, {0x01u, 0x10u, 0x80u, 0xffu})) {
        Bytes damaged = original;
        damaged[at] ^= static_cast<std::byte>(pattern);
        envelopes.seal(damaged);
        file.store(damaged);
        // A page may claim the size to which a run of equal values expands, and no more.
        if (outcome_of("", std::size_t{64} << 20, [&] { return everything_in("Data", file); }) ==
            Outcome::error)
          ++errors;
        if (HasFailure()) {
          ADD_FAILURE() << "at " << at - envelope.offset << " of the envelope at " << envelope.offset
                        << " by " << pattern;
          return;
        }
      }
  EXPECT_GT(errors, is_sanitized ? 150u : 2000u);
}

// The page list says of one column after the other that it has no pages.
TEST(Hostile, VerifyingMissesNoColumnThatLacksItsPages) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<float>("x");
  const auto items = model->make_field<std::vector<std::pair<std::int32_t, float>>>("items");
  items->resize(1);
  const auto writer = Writer::recreate(std::move(model), "Data", file,
                                       {.compression = "none", .container = Container::bare_file});
  for (int i = 0; i < 8; ++i) writer->fill();
  writer->close();
  const Bytes original = file.content();
  const Envelopes envelopes(file);
  const Locator& list = envelopes.page_lists.front();
  std::size_t columns = 0;
  for (std::uint64_t at = list.offset + 4; at + 4 <= list.offset + list.size; ++at) {
    if (load_le<std::int32_t>(original.data() + at) != -8) continue;  // elements of a page with a checksum
    ++columns;
    Bytes damaged = original;
    // The number of pages, the first element and the compression are zero.
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at - 4), 16, std::byte{0});
    envelopes.seal(damaged);
    file.store(damaged);
    EXPECT_EQ(error_of([&] { Reader::open("Data", file)->verify(); }).kind(), ErrorKind::format) << columns;
  }
  EXPECT_EQ(columns, 4U);
}

// Readers would leave out the last item without a word.
TEST(Hostile, VerifyingFindsItemsBehindTheLastCollection) {
  const MemoryFile file;
  auto model = Model::create();
  const auto items = model->make_field<std::vector<std::int16_t>>("items");
  const auto text = model->make_field<std::string>("text");
  const auto writer = Writer::recreate(
      std::move(model), "Data", file,
      {.compression = "none", .page_checksums = Checksums::off, .container = Container::bare_file});
  for (int i = 0; i < 4; ++i) {
    items->resize(3);
    *text = "seven..";
    writer->fill();
  }
  writer->close();
  const Bytes original = file.content();
  for (const std::uint64_t step : {3u, 7u}) {
    Bytes ends(4 * 8);
    for (std::size_t i = 0; i < 4; ++i) store_le(ends.data() + 8 * i, (i + 1) * step);
    const auto found = std::search(original.begin(), original.end(), ends.begin(), ends.end());
    ASSERT_NE(found, original.end());
    Bytes damaged = original;
    store_le(damaged.data() + (found - original.begin()) + 24, 4 * step - 1);
    file.store(damaged);
    const Error error = error_of([&] { Reader::open("Data", file)->verify(); });
    EXPECT_EQ(error.problem(), "the last collection ends at item " + std::to_string(4 * step - 1) +
                                   ", but the cluster has " + std::to_string(4 * step));
    EXPECT_EQ(error.context().field, step == 3 ? "items" : "text");
  }
}

// ---- Generated files with correct checksums

using testing::Dice;
using testing::HostileFiles;

Bytes content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const ByteSpan bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<HostileFiles> sources_of_hostile_files() {
  std::vector<HostileFiles> sources;
  for (const Container container : {Container::root_file, Container::bare_file}) {
    const MemoryFile file;
    write_sample(file, {.compression = "zstd:1", .clusters_per_group = 1, .container = container});
    sources.emplace_back("Data", file.content());
  }
  for (const char* fixture : {"types_classes", "types_nullables", "types_variants", "types_projected",
                              "types_untyped", "late_fields", "encodings_real32_quant", "merged_union",
                              "suppressed_columns", "types_streamer", "attribute_sets"}) {
    const Bytes content = content_of(test_fixtures() / (std::string(fixture) + ".root"));
    const MemoryFile file;
    file.store(content);
    for (const std::string& name : data_sets(file)) sources.emplace_back(name, content);
  }
  return sources;
}

// What an analysis may do with a file: reads each field, but only a few entries.
void use(const std::string& name, const std::string& uri) {
  const auto reader = Reader::open(name, uri);
  std::ostringstream out;
  reader->print_schema(out);
  const std::uint64_t entries = std::min<std::uint64_t>(reader->num_entries(), 64);
  std::vector<std::string> paths;
  for (const std::uint32_t id : reader->descriptor().top_level_fields())
    if (reader->descriptor().fields[id].unreadable.empty() && paths.size() < 64)
      paths.push_back(reader->descriptor().fields[id].name);
  const auto attempt = [](auto&& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_FALSE(error.problem().empty());
      EXPECT_LT(std::string_view(error.what()).size(), 10000u);
    }
  };
  for (const std::string& path : paths) {
    attempt([&] { reader->arrays(std::span(&path, 1), 0, entries); });
    attempt([&] { reader->entry_text(entries / 2, std::span(&path, 1)); });
  }
  attempt([&] { reader->load_entry(0); });
  attempt([&] { reader->verify(); });
  const std::vector<std::string> sets = reader->attribute_sets();
  for (std::size_t i = 0; i < std::min<std::size_t>(sets.size(), 8); ++i)
    attempt([&] {
      const auto set = reader->attribute_set(sets[i]);
      const std::uint64_t rows = std::min<std::uint64_t>(set->num_rows(), 64);
      attempt([&] { set->of_entry(0); });
      for (std::uint64_t row = 0; row < rows; ++row) attempt([&] { set->row_text(row); });
      attempt([&] { set->reader().verify(); });
    });
}

TEST(Hostile, GeneratedFilesTakeBoundedMemoryAndEndInErrors) {
  const auto sources = sources_of_hostile_files();
  const MemoryFile file;
  std::size_t opened = 0;
  std::size_t refused = 0;
  // COLONNADE_HOSTILE_FILES=1000000 runs longer.
  const char* const wanted = std::getenv("COLONNADE_HOSTILE_FILES");
  const std::uint64_t files = wanted != nullptr ? std::strtoull(wanted, nullptr, 10)
                              : is_sanitized    ? 600
                                                : 6000;
  for (std::uint64_t seed = 0; seed < files; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const HostileFiles& source = sources[seed % sources.size()];
    Dice dice(seed);
    const Bytes content = source.make(dice);
    file.store(content);
    // The stored bytes themselves come on top.
    const std::size_t bound = MemoryLimit::at_first + (MemoryLimit::per_byte + 2) * content.size();
    const std::size_t before = allocated;
    peak = before;
    most = before + 2 * bound;
    try {
      Reader::open(source.name(), file);
      ++opened;
    } catch (const Error& error) {
      EXPECT_FALSE(error.context().uri.empty()) << error.what();
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an Error: " << error.what();
    }
    EXPECT_LE(peak - before, bound);
    most = allocated + (std::size_t{512} << 20);
    try {
      use(source.name(), file);
    } catch (const Error&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an Error: " << error.what();
    }
    most = ~std::size_t{0};
    if (HasFailure()) return;
  }
  // Unreadable files prove nothing, and neither do harmless ones.
  EXPECT_GT(opened, files / 5);
  EXPECT_GT(refused, files / 5);
}

// An envelope that claims to be, or is, much longer than its stored form: all zeros, which compress to
// nothing.
TEST(Hostile, EnvelopesThatExpandWithoutEndAreRefusedBeforeRoomIsMade) {
  const MemoryFile file;
  write_sample(file, {.compression = "none", .container = Container::bare_file});
  const Bytes original = file.content();
  const Anchor anchor = Reader::open("Data", file)->descriptor().anchor;
  const Bytes from = format::write_anchor(anchor, format::ChecksumOrder::little_endian);
  const auto at = std::search(original.begin(), original.end(), from.begin(), from.end()) - original.begin();
  AlignedBuffer zeros;
  codec::compress({codec::Algorithm::zstd, 1}, Bytes((std::size_t{1} << 24) - 1), zeros);
  const auto open_with = [&](std::uint64_t chunks, std::uint64_t length, std::size_t padding) {
    Bytes content = original;
    Anchor changed = anchor;
    changed.header_offset = content.size();
    changed.header_size = chunks * zeros.size() + padding;
    changed.header_length = length;
    for (std::uint64_t i = 0; i < chunks; ++i)
      content.insert(content.end(), zeros.data(), zeros.data() + zeros.size());
    content.resize(content.size() + padding);
    const Bytes to = format::write_anchor(changed, format::ChecksumOrder::little_endian);
    std::copy(to.begin(), to.end(), content.begin() + at);
    file.store(content);
    const std::size_t before = allocated;
    peak = before;
    const Error error = error_of([&] { Reader::open("Data", file); });
    EXPECT_EQ(error.kind(), ErrorKind::format) << error.what();
    EXPECT_LE(peak - before, 3 * content.size() + (std::size_t{1} << 20));
    return std::string(error.what());
  };
  const std::uint64_t chunk = (std::uint64_t{1} << 24) - 1;
  EXPECT_THAT(open_with(256, 256 * chunk, 0), ::testing::HasSubstr("more than a file of this size can need"));
  EXPECT_THAT(open_with(0, std::uint64_t{31} << 30, 1 << 20),
              ::testing::HasSubstr("more than a file of this size can need"));
  EXPECT_THAT(open_with(0, std::uint64_t{1} << 30, 1 << 20), ::testing::HasSubstr("compression algorithm"));
  EXPECT_THAT(open_with(1, chunk + 1000, 0), ::testing::HasSubstr("bytes of content are missing"));
  EXPECT_THAT(open_with(1, std::uint64_t{31} << 30, 0),
              ::testing::HasSubstr("more than a file of this size can need"));
}

// Empty lists in each of many clusters: nothing compresses better, and they are valid.
TEST(Hostile, HonestMetadataThatCompressToAlmostNothingAreRead) {
  const MemoryFile file;
  auto model = Model::create();
  constexpr int lists = 1000;
  constexpr std::uint64_t clusters = is_sanitized ? 100 : 1000;
  for (int i = 0; i < lists; ++i) model->make_field<std::vector<float>>("v" + std::to_string(i));
  auto writer = Writer::recreate(std::move(model), "Data", file);
  for (std::uint64_t i = 0; i < clusters; ++i) {
    writer->fill();
    writer->commit_cluster();
  }
  writer->close();
  EXPECT_LT(file.content().size(), 200u << 10);
  EXPECT_EQ(Reader::open("Data", file)->num_entries(), clusters);

  const auto open_with = [&](const char* mib) {
    ::setenv("COLONNADE_METADATA_MIB", mib, 1);
    const Error error = error_of([&] { Reader::open("Data", file); });
    ::unsetenv("COLONNADE_METADATA_MIB");
    return error;
  };
  EXPECT_EQ(open_with("many").kind(), ErrorKind::usage);
  EXPECT_EQ(open_with("-1").kind(), ErrorKind::usage);
  EXPECT_EQ(open_with("99999999999999999999").kind(), ErrorKind::usage);
  const Error error = open_with("0");
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_THAT(error.what(), ::testing::HasSubstr("COLONNADE_METADATA_MIB=4096"));
}

// Reasons and paths are kept for each field: long names must not make them exceed the memory.
TEST(Hostile, LongNamesAreNotRepeatedForEveryField) {
  const MemoryFile file;
  write_sample(file, {.compression = "none", .container = Container::bare_file});
  const HostileFiles source("Data", file.content());
  const auto peak_of = [&](auto&& change) {
    file.store(source.make_with(change));
    const std::size_t before = allocated;
    peak = before;
    try {
      Reader::open("Data", file);
    } catch (const Error& error) {
      EXPECT_LT(std::string_view(error.what()).size(), 1000u);
    }
    return peak - before;
  };
  const std::size_t below = 20000;
  const auto add_below = [&](Descriptor& d, std::uint32_t parent) {
    FieldDescriptor field;
    field.name = "x";
    field.parent = parent;
    field.role = FieldRole::record;
    field.raw_role = 2;
    for (std::size_t i = 0; i < below; ++i) d.fields.push_back(field);
  };
  EXPECT_LT(peak_of([&](Descriptor& d) {
              FieldDescriptor top;
              top.name = "top";
              top.type_name = "Unknown" + std::string(1 << 20, 't');
              top.parent = static_cast<std::uint32_t>(d.fields.size());
              d.fields.push_back(top);
              add_below(d, top.parent);
            }),
            std::size_t{128} << 20);
  EXPECT_LT(peak_of([&](Descriptor& d) {
              FieldDescriptor top;
              top.name = std::string(1 << 20, 'n');
              top.role = FieldRole::record;
              top.raw_role = 2;
              top.parent = static_cast<std::uint32_t>(d.fields.size());
              d.fields.push_back(top);
              add_below(d, top.parent);
            }),
            std::size_t{128} << 20);
}

// ---- Files of later versions

TEST(Hostile, LeavesThatDoNotFitTheirTypesAreNotRead) {
  const MemoryFile file;
  auto model = Model::create();
  model->make_field<float>("x");
  for (const auto& [name, type] : {std::pair{"text", "std::string"},
                                   {"bits", "std::bitset<10>"},
                                   {"three", "std::array<float,3>"},
                                   {"items", "std::vector<std::array<bool,2>>"}})
    model->make_field(name, type);
  Writer::recreate(std::move(model), "Data", file)->close();
  const Descriptor sound = Reader::open("Data", file)->descriptor();
  EXPECT_TRUE(dataset::unknown_types(sound).empty());
  for (const auto& [name, type] : {std::pair{"x", "std::string"},
                                   {"x", "std::int32_t"},
                                   {"x", "ROOT::RNTupleCardinality<std::uint32_t>"},
                                   {"text", "float"},
                                   {"bits", "std::int8_t"},
                                   {"bits", "std::bitset<9>"},
                                   {"three", "std::array<float,4>"},
                                   {"three", "SomeEnum"}}) {
    Descriptor changed = sound;
    changed.fields[changed.find_field(name)].type_name = type;
    EXPECT_EQ(dataset::unknown_types(changed).size(), 1U) << name << " as " << type;
  }
}

TEST(Hostile, FieldsOfUnknownTypesAreNamedAndTheRestReads) {
  const MemoryFile file;
  auto model = Model::create();
  auto good = model->make_field<int>("good");
  model->make_field<std::int8_t>("strange");
  model->make_field<std::vector<std::int8_t>>("list");
  model->make_field<std::pair<int, std::int8_t>>("pair");
  std::vector<std::unique_ptr<Field>> members;
  members.push_back(make_field("a", "std::int8_t"));
  members.push_back(make_field("b", "float"));
  model->add_field(make_record_field("record", std::move(members)));
  auto writer = Writer::recreate(std::move(model), "Data", file,
                                 {.compression = "none", .container = Container::bare_file});
  for (*good = 0; *good < 5; ++*good) writer->fill();
  writer->close();
  const Envelopes envelopes(file);
  Bytes content = file.content();
  const std::string_view known = "std::int8_t", unknown = "std::int9_t";
  for (auto at = content.begin();
       (at = std::search(at, content.end(), as_bytes(known).begin(), as_bytes(known).end())) != content.end();
       ++at)
    std::copy(as_bytes(unknown).begin(), as_bytes(unknown).end(), at);
  envelopes.seal(content);
  file.store(content);

  auto reader = Reader::open("Data", file);
  std::ostringstream schema;
  reader->print_schema(schema);
  EXPECT_EQ(schema.str(),
            "Data (5 entries)\n"
            "  good: std::int32_t  [Int32]\n"
            "  strange: std::int9_t  [Int8]  (cannot be read: the stored type 'std::int9_t' is unknown to "
            "this version)\n"
            "  list: std::vector<std::int9_t>  [Index64]  (cannot be read: its sub-field \"_0\" cannot be "
            "read: the stored type "
            "'std::int9_t' is unknown to this version)\n"
            "    _0: std::int9_t  [Int8]  (cannot be read: the stored type 'std::int9_t' is unknown to this "
            "version)\n"
            "  pair: std::pair<std::int32_t,std::int9_t>  (cannot be read: its sub-field \"_1\" cannot be "
            "read: the stored type "
            "'std::int9_t' is unknown to this version)\n"
            "    _0: std::int32_t  [Int32]  (cannot be read: its parent \"pair\" cannot be read: the stored "
            "type 'std::int9_t' is "
            "unknown to this version)\n"
            "    _1: std::int9_t  [Int8]  (cannot be read: the stored type 'std::int9_t' is unknown to this "
            "version)\n"
            "  record: (untyped record)\n"
            "    a: std::int9_t  [Int8]  (cannot be read: the stored type 'std::int9_t' is unknown to this "
            "version)\n"
            "    b: float  [Real32]\n");
  EXPECT_EQ(reader->entry_text(3), R"({"good": 3, "record": {"b": 0}})");
  reader->load_entry(4);
  EXPECT_EQ(*reader->model().default_entry().ptr<int>("good"), 4);
  const Error error = error_of([&] { reader->view<std::int8_t>("strange"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.context().field, "strange");
  EXPECT_EQ(error_of([&] { reader->view("list"); }).kind(), ErrorKind::unsupported);
  const std::vector<std::string> some = {"good", "record"}, wrong = {"strange"};
  EXPECT_EQ(reader->arrays(some, 0, 5).size(), 2u);
  EXPECT_EQ(error_of([&] { reader->arrays(wrong, 0, 5); }).kind(), ErrorKind::unsupported);
  reader->verify();
}

// One field at a time. A record reads without the member, so that what contains the field is not compared.
TEST(Hostile, FieldsOfLaterVersionsAreNamedAndTheRestReads) {
  const MemoryFile whole, file, copied;
  write_sample(whole, {.compression = "none", .container = Container::bare_file});
  const HostileFiles source("Data", whole.content());
  const auto original = Reader::open("Data", whole);
  const Descriptor& schema = original->descriptor();
  for (const FieldDescriptor& field : schema.fields) {
    SCOPED_TRACE(schema.path_of(field.id));
    std::uint32_t top = field.id;
    while (schema.fields[top].parent != top) top = schema.fields[top].parent;
    file.store(source.make_with([&](Descriptor& d) { d.fields[field.id].field_version = 7; }));
    const auto reader = Reader::open("Data", file);
    EXPECT_FALSE(reader->descriptor().fields[field.id].unreadable.empty());
    for (const std::uint32_t id : schema.top_level_fields()) {
      const std::string& name = schema.fields[id].name;
      if (!reader->descriptor().fields[id].unreadable.empty()) {
        const Error error = error_of([&] { reader->view(name); });
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("field version 7 is unknown"));
      } else if (id != top) {
        View<void> a = original->view(name), b = reader->view(name);
        for (std::uint64_t i = 0; i < original->num_entries(); ++i) EXPECT_EQ(a.text(i), b.text(i));
      }
    }
    copy({file.uri()}, {copied.uri()}, {.overwrite = true, .verify = CopyVerify::pages});
    EXPECT_EQ(Reader::open("Data", copied)->descriptor().fields[field.id].field_version, 7u);
  }
}

// A type name is a hint: what a collection holds is in its sub-field.
TEST(Hostile, CollectionsAreReadWhateverTheirTypeNames) {
  const MemoryFile whole, file;
  write_sample(whole, {.compression = "none", .container = Container::bare_file});
  const HostileFiles source("Data", whole.content());
  for (const char* name : {"std::string", "std::map<int,float>", "std::unordered_multimap<int,float>"}) {
    SCOPED_TRACE(name);
    file.store(source.make_with([&](Descriptor& d) { d.fields[d.find_field("v")].type_name = name; }));
    std::string expected = everything_in("Data", whole);
    const std::string type = "std::vector<float>";
    expected.replace(expected.find(type), type.size(), name);
    EXPECT_EQ(everything_in("Data", file), expected);
    EXPECT_EQ(Reader::open("Data", file)->view<std::vector<float>>("v")(5), (std::vector<float>{2.5, 2.5}));
  }
}

// ---- Files written by ROOT

TEST(Hostile, FilesOfRootWithAFlippedByteGiveAnErrorOrTheRightValues) {
  const std::filesystem::path fixtures = test_fixtures();
  const std::pair<const char*, const char*> files[] = {
      {"types_basic.root", ""},     {"no_fields.root", ""},        {"bare.root", ""},
      {"types_enums.root", ""},     {"late_fields_only.root", ""}, {"suppressed_columns.root", ""},
      {"encodings_reals.root", ""}, {"attribute_sets.root", ""}};
  for (const auto& [name, data_set] : files) {
    SCOPED_TRACE(name);
    const Bytes content = content_of(fixtures / name);
    ASSERT_FALSE(content.empty());
    flip_every_byte(content, data_set, {0x04});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace colonnade
