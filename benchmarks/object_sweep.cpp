// The cost of page size and mapping in an object store: the same columns are written to it and read back with
// each mapping, and, in turns, plain values of one size without any data set.
//   object_sweep STORE PAGE_BYTES BYTES ROUNDS [--blocking] [--cluster=BYTES] [--splice=BYTES]
// Prints one JSON object per line: {"side", "round", "write_seconds", "read_seconds", "bytes", "requests"}.
// Sides: raw (values of the splice size, as many in flight as the data sets may have), object_per_page,
// locality (a page is a value), spliced (locality, pages moved together) and, with --blocking, blocking: one
// request per page, each waited for.
#include <colonnade/colonnade.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/object_store.h"

namespace {

using Clock = std::chrono::steady_clock;
using colonnade::AlignedBuffer;
namespace io = colonnade::io;

constexpr std::size_t columns = 8;
constexpr std::uint32_t raw_group = 0xfffffff0;  // far from those that data sets are given
constexpr std::size_t batch = std::size_t{1} << 16;

struct Options {
  std::string store;
  std::size_t page = 0;
  std::size_t bytes = 0;
  unsigned rounds = 5;
  std::size_t cluster = std::size_t{32} << 20;
  std::size_t splice = std::size_t{1} << 20;
  bool blocking = false;
};

struct Measured {
  double write = 0;
  double read = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;  // of reading
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- Values without a data set

// Runs `count` operations with as many in flight as the store suggests; `submit` starts number i in slot s.
void in_flight(io::ObjectStore& store, std::size_t count,
               const std::function<void(io::ObjectQueue&, std::size_t i, std::size_t slot)>& submit) {
  const unsigned depth = store.traits().concurrency;
  const auto queue = store.open_queue(depth);
  std::vector<std::size_t> free_slots(depth);
  for (std::size_t slot = 0; slot < depth; ++slot) free_slots[slot] = slot;
  std::vector<std::size_t> slot_of(count);
  std::vector<io::ObjectQueue::Completion> done(depth);
  for (std::size_t next = 0; next < count || queue->in_flight() > 0;) {
    while (next < count && !free_slots.empty()) {
      slot_of[next] = free_slots.back();
      free_slots.pop_back();
      submit(*queue, next, slot_of[next]);
      ++next;
    }
    const std::size_t taken = queue->wait(done);
    for (std::size_t i = 0; i < taken; ++i) {
      if (done[i].failure) std::rethrow_exception(done[i].failure);
      free_slots.push_back(slot_of[done[i].id]);
    }
  }
}

// Values of `value` bytes, written as a whole and read in parts of the splice size.
Measured raw(const Options& options, const std::vector<double>& content, std::size_t value) {
  const auto store = io::open_object_store(options.store, {.create = true});
  const std::size_t values = std::max<std::size_t>(options.bytes / value, 1), parts = value / options.splice;
  const colonnade::ByteSpan bytes = std::as_bytes(std::span(content));
  const std::size_t places = bytes.size() / value;
  Measured measured{.bytes = values * value, .requests = values * parts};
  const auto begin = Clock::now();
  in_flight(*store, values, [&](io::ObjectQueue& queue, std::size_t i, std::size_t) {
    const io::UpdateItem item{.akey = 0, .parts = {bytes.subspan(i % places * value, value)}};
    queue.submit_update(i, {raw_group, i}, 0, {&item, 1});
  });
  measured.write = seconds_since(begin);
  std::vector<AlignedBuffer> buffers;
  for (unsigned i = 0; i < store->traits().concurrency; ++i) {
    buffers.emplace_back(options.splice);
    std::memset(buffers.back().data(), 1, options.splice);
  }
  const auto middle = Clock::now();
  in_flight(*store, values * parts, [&](io::ObjectQueue& queue, std::size_t i, std::size_t slot) {
    const io::FetchItem item{.akey = 0, .offset = i % parts * options.splice, .into = buffers[slot].span()};
    queue.submit_fetch(i, {raw_group, i / parts}, 0, {&item, 1});
  });
  measured.read = seconds_since(middle);
  store->remove_objects(raw_group, 0, values - 1);
  return measured;
}

Measured blocking(const Options& options, const std::vector<double>& content) {
  const auto store = io::open_object_store(options.store, {.create = true});
  const std::size_t count = options.bytes / options.page;
  const colonnade::ByteSpan bytes = std::as_bytes(std::span(content));
  const std::size_t places = bytes.size() / options.page;
  Measured measured{.bytes = count * options.page, .requests = count};
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    const io::UpdateItem item{.akey = 0, .parts = {bytes.subspan(i % places * options.page, options.page)}};
    store->update({raw_group, i}, 0, {&item, 1});
  }
  measured.write = seconds_since(begin);
  AlignedBuffer buffer(options.page);
  const auto middle = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    const io::FetchItem item{.akey = 0, .offset = 0, .into = buffer.span()};
    store->fetch({raw_group, i}, 0, {&item, 1});
  }
  measured.read = seconds_since(middle);
  store->remove_objects(raw_group, 0, count - 1);
  return measured;
}

// ---- Data sets

std::string name_of(std::size_t column) {
  return "c" + std::to_string(column);
}

double write_data_set(const Options& options, const std::vector<double>& content, const std::string& name,
                      const colonnade::WriteOptions& how) {
  auto model = colonnade::Model::create();
  for (std::size_t i = 0; i < columns; ++i) model->make_field<double>(name_of(i));
  const std::size_t entries = options.bytes / columns / sizeof(double);
  const std::size_t rows = content.size() / columns;
  const auto begin = Clock::now();
  auto writer = colonnade::Writer::recreate(std::move(model), name, options.store, how);
  for (std::size_t first = 0; first < entries; first += batch) {
    const std::size_t count = std::min(batch, entries - first);
    std::vector<std::string> names;
    std::vector<colonnade::NamedArray> arrays;
    for (std::size_t i = 0; i < columns; ++i) names.push_back(name_of(i));
    for (std::size_t i = 0; i < columns; ++i)
      arrays.push_back({names[i], std::span(content).subspan(i * rows + first % rows, count)});
    writer->append(arrays);
  }
  writer->close();
  return seconds_since(begin);
}

void read_data_set(const Options& options, const std::vector<double>& content, const std::string& name,
                   Measured& measured) {
  const std::size_t rows = content.size() / columns;
  const auto begin = Clock::now();
  auto reader = colonnade::Reader::open(name, options.store);
  std::vector<colonnade::View<double>> views;
  for (std::size_t i = 0; i < columns; ++i) views.push_back(reader->view<double>(name_of(i)));
  // Checks one value in sixteen of each column, so that the loop does not dominate.
  constexpr std::size_t step = 16;
  std::size_t wrong = 0;
  for (std::size_t entry = 0; entry < reader->num_entries(); entry += step)
    for (std::size_t i = 0; i < columns; ++i) wrong += views[i](entry) != content[i * rows + entry % rows];
  measured.read = seconds_since(begin);
  measured.requests = reader->metrics().requests;
  if (wrong > 0) throw std::runtime_error(std::to_string(wrong) + " values differ from what was written");
}

Measured data_set(const Options& options, const std::vector<double>& content,
                  colonnade::ObjectMapping mapping, std::size_t splice) {
  const std::string name = "sweep";
  Measured measured{.bytes = options.bytes};
  measured.write = write_data_set(options, content, name,
                                  {.compression = "none",
                                   .approximate_cluster_size = options.cluster,
                                   .max_page_size = options.page,
                                   .object_mapping = mapping,
                                   .splice_size = splice});
  read_data_set(options, content, name, measured);
  colonnade::remove_data_set(options.store, name);
  return measured;
}

// ---- Main

Options parse(int argc, char** argv) {
  if (argc < 5) throw std::runtime_error("object_sweep STORE PAGE_BYTES BYTES ROUNDS [options]");
  Options options;
  options.store = argv[1];
  options.page = std::stoull(argv[2]);
  options.bytes = std::stoull(argv[3]);
  options.rounds = static_cast<unsigned>(std::stoul(argv[4]));
  for (int i = 5; i < argc; ++i) {
    const std::string_view option = argv[i];
    const std::string value(option.substr(std::min(option.size(), option.find('=') + 1)));
    if (option == "--blocking") {
      options.blocking = true;
    } else if (option.starts_with("--cluster=")) {
      options.cluster = std::stoull(value);
    } else if (option.starts_with("--splice=")) {
      options.splice = std::stoull(value);
    } else {
      throw std::runtime_error("unknown option " + std::string(option));
    }
  }
  return options;
}

void report(const std::string& side, unsigned round, const Measured& measured) {
  std::printf(
      "{\"side\": \"%s\", \"round\": %u, \"write_seconds\": %.6f, \"read_seconds\": %.6f, \"bytes\": %llu, "
      "\"requests\": %llu}\n",
      side.c_str(), round, measured.write, measured.read, static_cast<unsigned long long>(measured.bytes),
      static_cast<unsigned long long>(measured.requests));
  std::fflush(stdout);
}

void sweep(const Options& options) {
  // Noise, so that all pages differ; a multiple of the batch, so that rounds of it repeat.
  std::vector<double> content(columns * batch * 16);
  std::mt19937_64 random(1);
  for (double& value : content) value = static_cast<double>(random() >> 11);
  using colonnade::ObjectMapping;
  const std::size_t best = io::open_object_store(options.store, {.create = true})->traits().best_value;
  for (unsigned round = 0; round < options.rounds; ++round) {
    report("raw", round, raw(options, content, options.splice));
    if (best > options.splice) report("ranges", round, raw(options, content, best));
    report("spliced", round, data_set(options, content, ObjectMapping::locality, options.splice));
    report("locality", round, data_set(options, content, ObjectMapping::locality, 0));
    report("object_per_page", round, data_set(options, content, ObjectMapping::object_per_page, 0));
    if (options.blocking) report("blocking", round, blocking(options, content));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    sweep(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "object_sweep: %s\n", error.what());
    return 1;
  }
}
