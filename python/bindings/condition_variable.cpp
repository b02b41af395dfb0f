// std::condition_variable::wait for wheels. GCC 12's libstdc++ exports it with a version that GCC 11's lacks,
// and it is the only symbol that would prevent a wheel built on Debian 12 from running on AlmaLinux 9. The
// linker uses this one instead, see CMakeLists.txt.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name for it
extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* self, std::unique_lock<std::mutex>* lock) noexcept {
  pthread_cond_wait(self->native_handle(), lock->mutex()->native_handle());
}
