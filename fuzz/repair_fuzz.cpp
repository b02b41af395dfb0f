// Fuzzes repair. The first byte selects the meaning of the others: a whole file, the bytes behind the last
// checkpoint, or the inside of a journal record, whose checksums are computed here. In any case the
// checkpoint must stay as it was, and a repaired file must need no repair.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "codec/compression.h"
#include "colonnade/colonnade.h"
#include "io/memory/memory_file.h"
#include "page/page_source.h"

namespace {

using namespace colonnade;

constexpr const char* uri = "memory:fuzz";
constexpr std::int32_t checkpoint_entries = 20;

void require(bool condition) {
  if (!condition) std::abort();
}

// A file with a checkpoint, and the same with a cluster and its record after it.
struct Base {
  Bytes checkpoint;
  Bytes crashed;
  std::uint64_t header_checksum = 0;
  std::uint64_t header_offset = 0;
};

Base make_base() {
  Base base;
  auto model = Model::create();
  const auto x = model->make_field<std::int32_t>("x");
  const auto v = model->make_field<std::vector<std::int32_t>>("v");
  const WriteOptions options{.compression = "none", .checkpoint_every = {.clusters = 1000}};
  const auto writer = Writer::recreate(std::move(model), "Events", uri, options);
  const auto fill = [&] {
    for (std::int32_t i = 0; i < checkpoint_entries; ++i) {
      *x = i;
      v->assign(static_cast<std::size_t>(i % 3), i);
      writer->fill();
    }
  };
  fill();
  writer->commit_data_set();
  base.checkpoint = io::memory_file_content(uri);
  fill();
  writer->commit_cluster();
  base.crashed = io::memory_file_content(uri);
  const auto source = page::PageSource::open("Events", uri);
  base.header_checksum = source->descriptor().header_checksum;
  base.header_offset = source->descriptor().anchor.header_offset;
  writer->close();
  return base;
}

Bytes joined(const Bytes& first, ByteSpan second) {
  Bytes all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// A record of a later run whose page list is `inside`, with correct checksums; see page/cluster_journal.h.
Bytes record_of(const Base& base, ByteSpan inside) {
  ByteWriter list;
  list.le((std::uint64_t{inside.size()} + 24) << 16 | 3);
  list.le(base.header_checksum);
  list.append(inside);
  list.le(codec::xxh3(list.view()));
  ByteWriter out;
  out.append(as_bytes("CldJrnl2"));
  out.le(std::uint64_t{1} << 40);
  out.le(std::uint64_t{1});
  out.le(base.header_offset);
  out.le(base.header_checksum);
  out.le(std::uint64_t{list.view().size()});
  out.le(std::uint64_t{list.view().size()});
  out.le(codec::xxh3(list.view()));
  out.le(codec::xxh3(out.view()));
  out.append(list.view());
  return out.take();
}

void check_values(std::uint64_t entries) {
  const auto reader = Reader::open("Events", uri);
  require(reader->num_entries() == entries);
  auto x = reader->view<std::int32_t>("x");
  for (std::int32_t i = 0; i < checkpoint_entries; ++i) require(x(static_cast<std::uint64_t>(i)) == i);
}

template <class Work>
void attempt(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
}

void repair_once(bool has_checkpoint) {
  const Bytes before = io::memory_file_content(uri);
  attempt([] { repair(uri, "", {.dry_run = true}); });
  require(io::memory_file_content(uri) == before);
  attempt([&] {
    const RepairReport report = repair(uri);
    require(report.written == (report.recovered_clusters > 0));
    if (!report.written) require(io::memory_file_content(uri) == before);
    if (has_checkpoint) check_values(report.entries + report.recovered_entries);
    if (report.written) require(!repair(uri, report.data_set).written);
  });
  if (has_checkpoint) require(Reader::open("Events", uri)->num_entries() >= checkpoint_entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base base = make_base();
  if (size == 0) return 0;
  const ByteSpan rest{reinterpret_cast<const std::byte*>(data + 1), size - 1};
  const unsigned kind = data[0] % 3;
  if (kind == 0) io::store_memory_file(uri, rest);
  if (kind == 1) io::store_memory_file(uri, joined(base.checkpoint, rest));
  if (kind == 2) io::store_memory_file(uri, joined(base.crashed, record_of(base, rest)));
  repair_once(kind != 0);
  return 0;
}
