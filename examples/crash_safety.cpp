// A writer with checkpoints is killed; its file opens, and repair brings back what came after the last
// checkpoint. See docs/crash-safety.md.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "colonnade/colonnade.h"

namespace {

constexpr const char* file = "crash_safety.root";

void write_events_and_die() {
  auto model = colonnade::Model::create();
  const auto pt = model->make_field<float>("pt");
  const auto writer = colonnade::Writer::recreate(std::move(model), "Events", file,
                                                  {.checkpoint_every = {.clusters = 4, .seconds = 30}});
  for (int i = 0; i < 6000; ++i) {
    *pt = static_cast<float>(i);
    writer->fill();
    if (i % 1000 == 999) writer->commit_cluster();  // as a rule the writer does so by itself
  }
  ::kill(::getpid(), SIGKILL);
}

bool holds(std::uint64_t entries) {
  const auto reader = colonnade::Reader::open("Events", file);
  if (reader->num_entries() != entries) return false;
  auto pt = reader->view<float>("pt");
  for (std::uint64_t i = 0; i < entries; ++i)
    if (pt(i) != static_cast<float>(i)) return false;
  return true;
}

}  // namespace

int main() {
  const pid_t writer = ::fork();
  if (writer == 0) write_events_and_die();
  int status = 0;
  if (writer < 0 || ::waitpid(writer, &status, 0) != writer || !WIFSIGNALED(status)) return 1;

  if (!holds(4000)) return 1;  // the checkpoint

  const colonnade::RepairReport report = colonnade::repair(file);
  std::printf("%s: %llu entries at the last checkpoint, %llu brought back\n", report.data_set.c_str(),
              static_cast<unsigned long long>(report.entries),
              static_cast<unsigned long long>(report.recovered_entries));
  return holds(6000) ? 0 : 1;
}
