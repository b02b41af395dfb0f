// The parallel write: Colonnade's ParallelWriter, one fill context per thread.
// parallel_write FILE COMPRESSION THREADS EVENTS [--direct] [--arrays] [--page-size=BYTES], compression as in
// "zstd:5". Event by event, as ROOT's side does it; --arrays: each thread's events as arrays.
#include <colonnade/colonnade.h>

#include <algorithm>
#include <span>

#include "gen_random.h"

namespace {

// The number of events appended at once.
constexpr std::size_t batch_size = 1 << 16;

void fill(colonnade::FillContext& context, const gen_random::Events& events) {
  auto entry = context.make_entry();
  auto id = entry->ptr<std::uint64_t>("eventId");
  auto particles = entry->ptr<std::vector<float>>("particles");
  for (std::size_t i = 0; i < events.size(); ++i) {
    *id = events.ids[i];
    particles->assign(events.begin_of(i), events.end_of(i));
    context.fill(*entry);
  }
}

void append(colonnade::FillContext& context, const gen_random::Events& events) {
  std::vector<std::int64_t> offsets;
  for (std::size_t first = 0; first < events.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, events.size() - first);
    offsets.resize(count + 1);
    for (std::size_t i = 0; i <= count; ++i) offsets[i] = events.offsets[first + i] - events.offsets[first];
    context.append({{"eventId", std::span(events.ids).subspan(first, count)},
                    {"particles", colonnade::ArrayView::offsets(offsets)},
                    {"particles._0", std::span(events.begin_of(first), events.end_of(first + count - 1))}});
  }
}

void write(const gen_random::Options& asked, const std::vector<gen_random::Events>& events) {
  auto model = colonnade::Model::create();
  model->make_field<std::uint64_t>("eventId");
  model->make_field<std::vector<float>>("particles");
  auto writer = colonnade::ParallelWriter::recreate(
      std::move(model), "random", asked.path,
      {.compression = asked.compression, .max_page_size = asked.page_size, .direct_io = asked.direct});
  gen_random::in_threads(asked.threads, [&](unsigned number) {
    auto context = writer->make_fill_context();
    (asked.as_arrays ? append : fill)(*context, events[number]);
    context->close();
  });
  writer->close();
}

}  // namespace

int main(int argc, char** argv) {
  return lhcb::guarded([&] {
    const auto options = gen_random::options_from(argc, argv);
    return gen_random::run(options, [&](const auto& events) { write(options, events); });
  });
}
