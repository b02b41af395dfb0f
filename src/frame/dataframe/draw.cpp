// Draws a graph with Graphviz, which nothing else needs.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "colonnade/detail/frame_graph.h"
#include "colonnade/error.h"
#include "io/local/local_system.h"

namespace colonnade::detail {

namespace {

using FilePtr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& path) {
  const int code = errno;
  throw Error(ErrorKind::io, fmt::format("cannot write a graph to {}: {}", path, io::system_text(code)),
              io::system_advice(code));
}

void write_all(std::FILE* file, const std::string& text, const std::string& path) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) fail(path);
}

// Runs Graphviz's dot with `input` as its standard input.
void run_dot(std::FILE* input, const std::string& format, const std::string& path) {
  std::string program = "dot", type = "-T" + format, option = "-o", output = path;
  char* const arguments[] = {program.data(), type.data(), option.data(), output.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failure == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (failure != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(ErrorKind::unsupported,
                failure != 0 ? fmt::format("Graphviz cannot be run: {}", std::strerror(failure))
                             : fmt::format("Graphviz did not draw {}", path),
                "install Graphviz, or save the text to a file that ends in .dot");
}

}  // namespace

void frame_draw(const std::string& dot, const std::string& path) {
  const std::size_t point = path.rfind('.');
  const std::string ending = point == std::string::npos ? std::string() : path.substr(point + 1);
  if (ending != "svg" && ending != "png" && ending != "pdf") {
    const FilePtr file(std::fopen(path.c_str(), "wb"), &std::fclose);
    if (file == nullptr) fail(path);
    write_all(file.get(), dot, path);
    return;
  }
  // In memory: the folder for temporary files may be full, or not there.
  const FilePtr input(::fdopen(::memfd_create("graph", MFD_CLOEXEC), "w+"), &std::fclose);
  if (input == nullptr) fail(path);
  write_all(input.get(), dot, path);
  if (std::fseek(input.get(), 0, SEEK_SET) != 0) fail(path);
  run_dot(input.get(), ending, path);
}

}  // namespace colonnade::detail
