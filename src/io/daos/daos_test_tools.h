// For tests of the DAOS back end: the stand-in library, and stores in it.
#ifndef COLONNADE_IO_DAOS_DAOS_TEST_TOOLS_H
#define COLONNADE_IO_DAOS_DAOS_TEST_TOOLS_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "io/daos/daos_runtime.h"

namespace colonnade::io::daos {

// The functions that control the stand-in (tests/daos/standin.h).
class Standin {
 public:
  static Standin& get() {
    static Standin standin;
    return standin;
  }
  void (*set)(const char* name, std::int64_t value) = nullptr;
  std::int64_t (*read)(const char* name) = nullptr;
  void (*reset)() = nullptr;
  void (*fail)(const char* call, std::int64_t at, std::int64_t times, int code) = nullptr;
  void (*add_pool)(const char* label, const char* uuid) = nullptr;
  int (*corrupt)(std::uint32_t group, std::uint64_t number, std::uint64_t dkey, std::uint64_t akey,
                 std::uint64_t offset) = nullptr;
  int (*groups)(std::uint32_t group, std::uint64_t number) = nullptr;

 private:
  Standin() {
    ::setenv("COLONNADE_LIBDAOS", COLONNADE_DAOS_STANDIN, 1);
    void* library = ::dlopen(COLONNADE_DAOS_STANDIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    find(library, "standin_set", set);
    find(library, "standin_get", read);
    find(library, "standin_reset", reset);
    find(library, "standin_fail", fail);
    find(library, "standin_add_pool", add_pool);
    find(library, "standin_corrupt", corrupt);
    find(library, "standin_groups", groups);
  }
  template <class Function>
  static void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(name);
  }
};

// Of a container that does not exist yet.
inline std::string fresh_daos_uri(const std::string& name) {
  static std::atomic<unsigned> number = 0;
  Standin::get().reset();
  return "daos://tank/" + name + "-" + std::to_string(++number);
}

// Overrides the timeout for a test. No store may be open when it begins or ends.
class Timeout {
 public:
  explicit Timeout(const char* seconds) {
    EXPECT_TRUE(stop());
    ::setenv("COLONNADE_DAOS_TIMEOUT", seconds, 1);
  }
  ~Timeout() {
    EXPECT_TRUE(stop());
    ::unsetenv("COLONNADE_DAOS_TIMEOUT");
  }

 private:
  static bool stop() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Standin::get().read("inits") != Standin::get().read("finis") && !Runtime::finish()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
};

}  // namespace colonnade::io::daos

#endif
