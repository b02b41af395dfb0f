// The speed of reading a local file from beginning to end, through the same scheduler as pages, for
// comparison with fio. The bytes are not used.
//
//   read_bandwidth FILE [--method automatic|pread|threads|io_uring|mmap] [--direct] [--warm]
//                       [--streams N] [--request BYTES] [--stride BYTES]
//
// --streams is the number of requests in flight (default: the transport's own), --request their
// size. With --stride, one request is read per that many bytes, as when few of many columns are
// wanted.
// The file is dropped from the page cache first unless --warm is given. Prints one line of JSON.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/read_scheduler.h"

namespace {

using namespace colonnade;

struct Settings {
  std::string file;
  std::string method = "automatic";
  bool direct = false;
  bool warm = false;
  std::optional<unsigned> streams;
  std::optional<std::size_t> request;
  std::optional<std::uint64_t> stride;
};

[[noreturn]] void fail(const std::string& problem) {
  std::fprintf(stderr, "read_bandwidth: %s\n", problem.c_str());
  std::exit(2);
}

template <class Number>
Number number(const std::string& name, const std::string& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value == 0)
    fail(name + " needs a positive number");
  return value;
}

Settings settings_of(int count, char** texts) {
  Settings settings;
  const std::vector<std::string> words(texts + 1, texts + count);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == words.size()) fail(words[i] + " needs a value");
      return words[++i];
    };
    if (words[i] == "--direct") {
      settings.direct = true;
    } else if (words[i] == "--warm") {
      settings.warm = true;
    } else if (words[i] == "--method") {
      settings.method = value();
    } else if (words[i] == "--streams") {
      settings.streams = number<unsigned>("--streams", value());
    } else if (words[i] == "--request") {
      settings.request = number<std::size_t>("--request", value());
    } else if (words[i] == "--stride") {
      settings.stride = number<std::uint64_t>("--stride", value());
    } else if (settings.file.empty() && !words[i].starts_with("--")) {
      settings.file = words[i];
    } else {
      fail("unknown argument " + words[i]);
    }
  }
  if (settings.file.empty()) fail("name a file");
  return settings;
}

LocalIo method_of(const std::string& name) {
  const std::map<std::string, LocalIo> methods{{"automatic", LocalIo::automatic},
                                               {"pread", LocalIo::pread},
                                               {"threads", LocalIo::threads},
                                               {"io_uring", LocalIo::io_uring},
                                               {"mmap", LocalIo::mmap}};
  const auto found = methods.find(name);
  if (found == methods.end()) fail("unknown method " + name);
  return found->second;
}

void drop_from_page_cache(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || ::fdatasync(file) != 0 || ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
    fail("cannot drop " + path + " from the page cache");
  ::close(file);
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

constexpr std::size_t huge_page = std::size_t{2} << 20;

struct InFlight {
  std::byte* buffer = nullptr;
  io::ReadScheduler::Id id = 0;
};

// Reads the file in order, with a few more requests submitted than in flight.
io::ReadCounters read_all(const io::RandomAccessFile& file, const io::IoTraits& traits,
                          std::uint64_t stride) {
  // Huge pages: a request of 1 MiB is then one range of physical memory, not 256.
  const std::size_t buffers = 2 * std::size_t{traits.concurrency};
  AlignedBuffer memory(buffers * traits.max_request, huge_page);
  static_cast<void>(::madvise(memory.data(), memory.size(), MADV_HUGEPAGE));
  io::ReadScheduler scheduler(file, traits);
  std::deque<InFlight> underway;
  std::uint64_t next = 0;
  const auto start = [&](std::byte* buffer) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(traits.max_request, file.size() - next));
    underway.push_back({buffer, scheduler.start({next, size, size, traits.max_request}, {buffer, size})});
    next += stride;
  };
  for (std::size_t i = 0; i < buffers && next < file.size(); ++i)
    start(memory.data() + i * traits.max_request);
  while (!underway.empty()) {
    const InFlight first = underway.front();
    underway.pop_front();
    scheduler.wait_for(first.id);
    scheduler.forget(first.id);
    if (next < file.size()) start(first.buffer);
  }
  return scheduler.counters();
}

int run(const Settings& settings) {
  if (!settings.warm) drop_from_page_cache(settings.file);
  const auto file = io::open_for_reading(
      settings.file, {.local_io = method_of(settings.method), .direct_io = settings.direct});
  io::IoTraits traits = file->traits();
  traits.concurrency = settings.streams.value_or(traits.concurrency);
  traits.max_request = settings.request.value_or(traits.max_request);
  const double processor = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const io::ReadCounters counters = read_all(*file, traits, settings.stride.value_or(traits.max_request));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf(
      "{\"method\": \"%s\", \"direct\": %s, \"streams\": %u, \"request\": %zu, \"bytes\": %llu, "
      "\"requests\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"seconds_waiting\": %.6f}\n",
      settings.method.c_str(), file->traits().alignment > 1 ? "true" : "false", traits.concurrency,
      traits.max_request, static_cast<unsigned long long>(counters.bytes),
      static_cast<unsigned long long>(counters.requests), seconds.count(), processor_seconds() - processor,
      counters.seconds_waiting);
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
