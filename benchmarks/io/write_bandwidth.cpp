// The speed of writing a local file, without any page layer, for comparison with fio. The clock runs from
// opening to the end of close(); with --sync including the device.
//
//   write_bandwidth FILE [--bytes N] [--request N] [--threads N] [--direct] [--shift N] [--sync]
//
// The threads take turns at the next range of the file, like the clusters of a parallel writer: each writes
// whole requests of --request bytes, at offsets of a file with a head of --shift bytes. Prints one line of
// JSON.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/random_access_file.h"

namespace {

using namespace colonnade;

struct Settings {
  std::string file;
  std::uint64_t bytes = std::uint64_t{2} << 30;
  std::size_t request = std::size_t{4} << 20;
  unsigned threads = 1;
  std::uint64_t shift = 300;
  bool direct = false;
  bool sync = false;
};

[[noreturn]] void fail(const std::string& problem) {
  std::fprintf(stderr, "write_bandwidth: %s\n", problem.c_str());
  std::exit(2);
}

std::uint64_t number(const std::string& name, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) fail(name + " needs a number");
  return value;
}

Settings settings_of(int count, char** texts) {
  Settings settings;
  const std::vector<std::string> words(texts + 1, texts + count);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] {
      if (i + 1 == words.size()) fail(word + " needs a value");
      return number(word, words[++i]);
    };
    if (word == "--direct") {
      settings.direct = true;
    } else if (word == "--sync") {
      settings.sync = true;
    } else if (word == "--bytes") {
      settings.bytes = value();
    } else if (word == "--request") {
      settings.request = static_cast<std::size_t>(value());
    } else if (word == "--threads") {
      settings.threads = static_cast<unsigned>(value());
    } else if (word == "--shift") {
      settings.shift = value();
    } else if (settings.file.empty() && !word.starts_with("--")) {
      settings.file = word;
    } else {
      fail("unknown argument " + word);
    }
  }
  if (settings.file.empty()) fail("name a file");
  if (settings.request == 0 || settings.threads == 0) fail("--request and --threads need positive numbers");
  return settings;
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void write_share(io::WritableFile& file, const Settings& settings, std::atomic<std::uint64_t>& next) {
  const Bytes bytes(settings.request, std::byte{0x5a});
  const std::uint64_t end = settings.shift + settings.bytes;
  while (true) {
    const std::uint64_t offset = next.fetch_add(bytes.size());
    if (offset >= end) return;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), end - offset));
    file.preallocate(offset + count);
    file.write(offset, ByteSpan(bytes).first(count));
  }
}

int run(const Settings& settings) {
  const double processor = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const auto file = io::open_for_writing(settings.file, io::OpenMode::create, {.direct_io = settings.direct});
  file->write(0, Bytes(static_cast<std::size_t>(settings.shift)));
  std::atomic<std::uint64_t> next = settings.shift;
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < settings.threads; ++i)
    threads.emplace_back([&] { write_share(*file, settings, next); });
  write_share(*file, settings, next);
  for (std::thread& thread : threads) thread.join();
  if (settings.sync) file->sync();
  file->close();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf(
      "{\"direct\": %s, \"threads\": %u, \"request\": %zu, \"bytes\": %llu, \"seconds\": %.6f, "
      "\"cpu_seconds\": %.6f}\n",
      settings.direct ? "true" : "false", settings.threads, settings.request,
      static_cast<unsigned long long>(settings.shift + settings.bytes), seconds.count(),
      processor_seconds() - processor);
  return 0;
}

}  // namespace

int main(int count, char** texts) {
  try {
    return run(settings_of(count, texts));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}
