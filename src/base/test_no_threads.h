// For tests of what happens where no thread can be started.
#ifndef COLONNADE_BASE_TEST_NO_THREADS_H
#define COLONNADE_BASE_TEST_NO_THREADS_H

#include <pthread.h>

#include <cstddef>

namespace colonnade::testing {

// While it exists, threads would need stacks larger than the address space.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    ::pthread_getattr_default_np(&large);
    ::pthread_attr_setstacksize(&large, std::size_t{1} << 60);
    ::pthread_setattr_default_np(&large);
    ::pthread_attr_destroy(&large);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace colonnade::testing

#endif
