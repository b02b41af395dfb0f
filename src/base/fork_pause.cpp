// See fork_pause.h.
#include "base/fork_pause.h"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <new>

#include "base/writer_preferring_mutex.h"

namespace colonnade {
namespace {

// Made again in each child, where the threads do not exist that would unlock it. Never destroyed.
alignas(WriterPreferringMutex) std::array<std::byte, sizeof(WriterPreferringMutex)> memory;

WriterPreferringMutex& mutex() noexcept {
  return *std::launder(reinterpret_cast<WriterPreferringMutex*>(memory.data()));
}

// With the library, as the first pause may begin while another thread forks.
[[maybe_unused]] const int watched = [] {
  new (memory.data()) WriterPreferringMutex;
  return ::pthread_atfork([] { mutex().lock(); }, [] { mutex().unlock(); },
                          [] { new (memory.data()) WriterPreferringMutex; });
}();

}  // namespace

ForkPause::ForkPause() {
  mutex().lock_shared();
}

ForkPause::~ForkPause() {
  mutex().unlock_shared();
}

}  // namespace colonnade
