// Writes a data set until it is killed, and reports on standard output what is safe so far.
//
//   crash_writer FILE [--option value ...]
//
// All values of an entry are functions of its number `id`, so a reader detects any wrong one. Without threads
// the ids are 0, 1, 2, ...; thread t begins at t * 2^32. Lines of the output, each one write():
//
//   open                        the writer is there
//   cluster FIRST COUNT TOTAL   these ids are in a cluster that is written; so many clusters are by now
//   closed                      close() came back
//   error TEXT                  and the end, status 3
//
// After `cluster` all but the last --checkpoint - 1 of the clusters must be in the file.
//
// With --die MICROSECONDS it kills itself (SIGKILL) that long after it has written --die-at clusters, 0 being
// the start: the moments are spread over its work, however busy the machine is.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "colonnade/colonnade.h"

namespace {

using namespace colonnade;

struct Options {
  std::string file;
  std::string name = "Events";
  bool add = false;  // to an existing file
  std::uint32_t threads = 0;
  std::uint64_t clusters = 40;  // of each thread
  std::uint64_t entries = 500;  // of each cluster
  bool waits = false;           // after each cluster, for a byte of standard input
  std::uint32_t die_after = 0;  // microseconds; 0: never
  std::uint64_t die_at = 0;
  bool stop = false;  // after the last cluster, until the end of standard input, without closing
  WriteOptions write{.compression = "none", .max_page_size = 4096, .checkpoint_every = {.clusters = 1}};
};

void set_option(Options& options, const std::string& key, const std::string& value) {
  const auto number = [&] { return static_cast<std::uint32_t>(std::stoul(value)); };
  const std::map<std::string, std::function<void()>> setters{
      {"--name", [&] { options.name = value; }},
      {"--add", [&] { options.add = number() != 0; }},
      {"--threads", [&] { options.threads = number(); }},
      {"--clusters", [&] { options.clusters = number(); }},
      {"--entries", [&] { options.entries = number(); }},
      {"--wait", [&] { options.waits = number() != 0; }},
      {"--die", [&] { options.die_after = number(); }},
      {"--die-at", [&] { options.die_at = number(); }},
      {"--stop", [&] { options.stop = number() != 0; }},
      {"--compression", [&] { options.write.compression = value; }},
      {"--checkpoint", [&] { options.write.checkpoint_every.clusters = number(); }},
      {"--direct", [&] { options.write.direct_io = number() != 0; }},
      {"--bare",
       [&] { options.write.container = number() != 0 ? Container::bare_file : Container::root_file; }},
      {"--checksums", [&] { options.write.page_checksums = number() != 0 ? Checksums::on : Checksums::off; }},
      {"--machine",
       [&] { options.write.durability = number() != 0 ? Durability::machine : Durability::process; }},
  };
  const auto setter = setters.find(key);
  if (setter == setters.end()) throw Error(ErrorKind::usage, "unknown option " + key);
  setter->second();
}

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(4);
}

std::unique_ptr<Model> make_model() {
  auto model = Model::create();
  model->make_field<std::int64_t>("id");
  model->make_field<double>("value");
  model->make_field<std::vector<std::int32_t>>("items");
  return model;
}

// The pointers into an entry.
class Values {
 public:
  explicit Values(const Entry& entry)
      : id_(entry.ptr<std::int64_t>("id")),
        value_(entry.ptr<double>("value")),
        items_(entry.ptr<std::vector<std::int32_t>>("items")) {}
  void set(std::int64_t id) const {
    *id_ = id;
    *value_ = static_cast<double>(id * 7919 % 1000003);
    items_->clear();
    for (std::int64_t k = 0; k < id % 5; ++k) items_->push_back(static_cast<std::int32_t>(id % 1000000 + k));
  }

 private:
  std::shared_ptr<std::int64_t> id_;
  std::shared_ptr<double> value_;
  std::shared_ptr<std::vector<std::int32_t>> items_;
};

void die_if_asked(const Options& options, std::uint64_t written) {
  if (options.die_after == 0 || options.die_at != written) return;
  std::thread([delay = std::chrono::microseconds(options.die_after)] {
    std::this_thread::sleep_for(delay);
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

// `writer` is a Writer or a FillContext.
template <class Writer>
void write_clusters(const Options& options, Writer& writer, Entry& entry, std::int64_t first,
                    std::atomic<std::uint64_t>& written) {
  const Values values(entry);
  for (std::uint64_t cluster = 0; cluster < options.clusters; ++cluster) {
    for (std::uint64_t i = 0; i < options.entries; ++i) {
      values.set(first + static_cast<std::int64_t>(i));
      writer.fill(entry);
    }
    writer.commit_cluster();
    const std::uint64_t now = ++written;
    say("cluster " + std::to_string(first) + " " + std::to_string(options.entries) + " " +
        std::to_string(now));
    die_if_asked(options, now);
    first += static_cast<std::int64_t>(options.entries);
    if (char ignored = 0; options.waits && ::read(STDIN_FILENO, &ignored, 1) != 1) std::_Exit(4);
  }
}

void wait_if_asked(const Options& options) {
  char ignored = 0;
  if (options.stop)
    while (::read(STDIN_FILENO, &ignored, 1) > 0) continue;
}

void write_in_one_thread(const Options& options) {
  std::atomic<std::uint64_t> written = 0;
  auto writer = options.add ? Writer::add_to(make_model(), options.name, options.file, options.write)
                            : Writer::recreate(make_model(), options.name, options.file, options.write);
  say("open");
  const auto entry = writer->make_entry();
  write_clusters(options, *writer, *entry, 0, written);
  wait_if_asked(options);
  writer->close();
}

void write_in_threads(const Options& options) {
  std::atomic<std::uint64_t> written = 0;
  auto writer = options.add
                    ? ParallelWriter::add_to(make_model(), options.name, options.file, options.write)
                    : ParallelWriter::recreate(make_model(), options.name, options.file, options.write);
  say("open");
  std::vector<std::thread> threads;
  std::vector<std::string> failures(options.threads);
  for (std::uint32_t t = 0; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      try {
        const auto context = writer->make_fill_context();
        const auto entry = context->make_entry();
        write_clusters(options, *context, *entry, std::int64_t{t} << 32, written);
        context->close();
      } catch (const std::exception& error) {
        failures[t] = std::string(error.what()) + "; ";
      }
    });
  for (std::thread& thread : threads) thread.join();
  // The thread that failed first reports why, the others that one did.
  const std::string failed = std::accumulate(failures.begin(), failures.end(), std::string());
  if (!failed.empty()) throw Error(ErrorKind::io, failed);
  wait_if_asked(options);
  writer->close();
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 2 || count % 2 != 0) throw Error(ErrorKind::usage, "crash_writer FILE [--option value ...]");
    Options options{.file = arguments[1]};
    for (int i = 2; i < count; i += 2) set_option(options, arguments[i], arguments[i + 1]);
    die_if_asked(options, 0);
    options.threads > 0 ? write_in_threads(options) : write_in_one_thread(options);
    say("closed");
    return 0;
  } catch (const std::exception& error) {
    say(std::string("error ") + error.what());
    return 3;
  }
}
