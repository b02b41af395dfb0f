// For the tests of the DAOS back end: the stand-in library, and stores in it.
#ifndef COLONNADE_IO_DAOS_DAOS_TEST_TOOLS_H
#define COLONNADE_IO_DAOS_DAOS_TEST_TOOLS_H

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace colonnade::io::daos {

// The functions with which the stand-in is set (tests/daos/standin.h).
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
  }
  template <class Function>
  static void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(name);
  }
};

// Of a container that is not there yet.
inline std::string fresh_daos_uri(const std::string& name) {
  static std::atomic<unsigned> number = 0;
  Standin::get().reset();
  return "daos://tank/" + name + "-" + std::to_string(++number);
}

}  // namespace colonnade::io::daos

#endif
