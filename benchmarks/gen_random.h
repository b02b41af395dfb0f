// The data of the parallel write, the same for both sides: an event number and a list of floats per event,
// five on average (Poisson), uniform between 0 and 100. Each thread's events are made in memory before the
// clock starts, so that only writing is measured; they all differ, so that no two pages are equal.
#ifndef COLONNADE_BENCHMARKS_GEN_RANDOM_H
#define COLONNADE_BENCHMARKS_GEN_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lhcb.h"

namespace gen_random {

constexpr double mean_particles = 5;

// The events of one thread.
struct Events {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> offsets = {0};  // event i has the particles [offsets[i], offsets[i + 1])
  std::vector<float> particles;
  std::uint64_t particle_bits = 0;  // sum of the particles as integers: independent of the order

  std::size_t size() const { return ids.size(); }
  const float* begin_of(std::size_t event) const { return particles.data() + offsets[event]; }
  const float* end_of(std::size_t event) const { return particles.data() + offsets[event + 1]; }
};

inline Events make_events(std::uint64_t first, std::size_t count) {
  Events events;
  events.ids.reserve(count);
  events.offsets.reserve(count + 1);
  events.particles.reserve(static_cast<std::size_t>(mean_particles * 1.02 * static_cast<double>(count)));
  std::mt19937 generator(static_cast<std::uint32_t>(first + 1));
  std::poisson_distribution<int> particles(mean_particles);
  for (std::size_t event = 0; event < count; ++event) {
    events.ids.push_back(first + event);
    for (int i = particles(generator); i > 0; --i) {
      const float value = static_cast<float>(generator() >> 8) * (100.F / static_cast<float>(1 << 24));
      events.particles.push_back(value);
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      events.particle_bits += bits;
    }
    events.offsets.push_back(static_cast<std::int64_t>(events.particles.size()));
  }
  return events;
}

// Runs work(0), ..., work(threads - 1), each in its own thread; rethrows the first error.
template <class Work>
void in_threads(unsigned threads, Work&& work) {
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> running;
  for (unsigned number = 0; number < threads; ++number)
    running.emplace_back([&, number] {
      try {
        work(number);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  for (auto& thread : running) thread.join();
  if (error) std::rethrow_exception(error);
}

// ---- The command line and the report of both programs

struct Options {
  const char* path;
  const char* compression;
  unsigned threads;
  std::size_t events;                              // of all threads
  std::size_t page_size = std::size_t{128} << 10;  // as in the measurements that this repeats
  bool direct = false;
  bool as_arrays = false;
};

inline Options options_from(int argc, char** argv) {
  if (argc < 5)
    throw std::runtime_error(
        "arguments: FILE COMPRESSION THREADS EVENTS [--direct] [--arrays] [--page-size=BYTES]");
  Options options{argv[1], argv[2], static_cast<unsigned>(std::atoi(argv[3])),
                  static_cast<std::size_t>(std::atoll(argv[4]))};
  if (options.threads < 1 || options.threads > 1024) throw std::runtime_error("THREADS must be 1 to 1024");
  constexpr std::string_view page_size = "--page-size=";
  for (int i = 5; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--direct")
      options.direct = true;
    else if (argument == "--arrays")
      options.as_arrays = true;
    else if (argument.substr(0, page_size.size()) == page_size)
      options.page_size = static_cast<std::size_t>(std::atoll(argv[i] + page_size.size()));
    else
      throw std::runtime_error("unknown argument " + std::string(argument));
  }
  return options;
}

// Makes the events, runs write(events of each thread), and reports.
template <class Write>
int run(const Options& options, Write&& write) {
  std::vector<Events> events(options.threads);
  const std::size_t share = options.events / options.threads;
  in_threads(options.threads, [&](unsigned number) {
    const std::size_t rest = number + 1 == options.threads ? options.events % options.threads : 0;
    events[number] = make_events(number * share, share + rest);
  });
  const lhcb::Clock clock;
  write(events);
  const double wall = clock.wall(), cpu = clock.cpu();

  std::uint64_t particles = 0, bits = 0, ids = 0;
  for (const auto& part : events) {
    for (const std::uint64_t id : part.ids) ids += id;
    particles += part.particles.size();
    bits += part.particle_bits;
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "{\"events\": %llu, \"particles\": %llu, \"particle_bits\": %llu, \"id_sum\": %llu, \"seconds\": %.6f, "
      "\"cpu_seconds\": %.6f, \"bytes\": %llu, \"data_bytes\": %llu, \"max_rss_kib\": %ld}\n",
      number(options.events), number(particles), number(bits), number(ids), wall, cpu,
      number(lhcb::file_size(options.path)),
      number(options.events * sizeof(std::uint64_t) + particles * sizeof(float)), lhcb::peak_rss_kib());
  return EXIT_SUCCESS;
}

}  // namespace gen_random

#endif
