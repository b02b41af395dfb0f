// Fuzzes whole files with correct checksums: the input selects changes to the schema, the clusters, the
// envelopes and the pages of a valid file. The result reads, or is an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "colonnade/colonnade.h"
#include "dataset/test_hostile_files.h"

namespace {

using namespace colonnade;
using colonnade::testing::Dice;
using colonnade::testing::HostileFiles;

constexpr const char* uri = "memory:fuzz";

void require(bool condition) {
  if (!condition) std::abort();
}

HostileFiles make_source() {
  auto model = Model::create();
  const auto v = model->make_field<std::vector<float>>("v");
  const auto s = model->make_field<std::string>("s");
  const auto o = model->make_field<std::optional<double>>("o");
  const auto m = model->make_field<std::map<char, bool>>("m");
  const auto a = model->make_field<std::array<std::bitset<3>, 2>>("a");
  const auto u = model->make_field<std::variant<std::uint8_t, std::string>>("u");
  model->add_projected_field<Cardinality<std::uint32_t>>("n", {{"n", "v"}});
  const auto writer =
      Writer::recreate(std::move(model), "Data", uri, {.compression = "zstd:1", .clusters_per_group = 1});
  auto notes = Model::create();
  const auto note = notes->make_field<std::string>("note");
  AttributeSetWriter& set = writer->add_attribute_set(std::move(notes), "notes");
  for (int k = 0; k < 9; ++k) {
    v->assign(static_cast<std::size_t>(k % 3), static_cast<float>(k));
    *s = std::string(static_cast<std::size_t>(k % 4), 'a');
    *o = k % 2 == 0 ? std::optional<double>(k) : std::nullopt;
    m->emplace(static_cast<char>('a' + k), true);
    (*a)[0] = static_cast<unsigned>(k);
    if (k % 2 == 0) *u = "text";
    writer->fill();
    if (k == 4) writer->commit_cluster();
    note->assign(1, static_cast<char>('a' + k));
    if (k % 3 == 0) set.commit_range(0);
  }
  writer->close();
  HostileFiles files("Data", io::memory_file_content(uri));
  files.largest_repetition = 14;
  return files;
}

template <class Work>
void attempt(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
}

void use(Reader& reader) {
  const std::uint64_t entries = std::min<std::uint64_t>(reader.num_entries(), 16);
  std::size_t fields = 0;
  for (const std::uint32_t id : reader.descriptor().top_level_fields()) {
    const FieldDescriptor& field = reader.descriptor().fields[id];
    if (!field.unreadable.empty() || ++fields > 16) continue;
    attempt([&] { reader.arrays(std::span(&field.name, 1), 0, entries); });
    attempt([&] { reader.entry_text(0, std::span(&field.name, 1)); });
  }
  if (fields <= 16) attempt([&] { reader.load_entry(0); });
  attempt([&] { reader.verify(); });
  const std::vector<std::string> sets = reader.attribute_sets();
  for (std::size_t i = 0; i < std::min<std::size_t>(sets.size(), 4); ++i)
    attempt([&] {
      const auto set = reader.attribute_set(sets[i]);
      if (set->num_rows() > 0) attempt([&] { set->row_text(0); });
      attempt([&] { set->of_entry(0); });
      attempt([&] { set->reader().verify(); });
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const HostileFiles source = make_source();
  Dice dice(ByteSpan{reinterpret_cast<const std::byte*>(data), size});
  io::store_memory_file(uri, source.make(dice));
  attempt([&] { use(*Reader::open("Data", uri)); });
  return 0;
}
