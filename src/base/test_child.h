// For tests of forked children.
#ifndef COLONNADE_BASE_TEST_CHILD_H
#define COLONNADE_BASE_TEST_CHILD_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>

namespace colonnade {

// The value that `work` returns in a child, 0 to 254; 255 if it throws; -1 if it was killed, which happens
// after a minute.
template <class Work>
int status_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    // An exception that left the child would have it go on with the parent's other tests.
    try {
      ::_exit(work());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    } catch (...) {
      std::fprintf(stderr, "in the child: an unknown exception\n");
    }
    ::_exit(255);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Makes a system call of this process fail with `code` from now on, as in many containers.
inline bool deny_call(long call, int code) {
  const std::array program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(program.size()),
                          const_cast<sock_filter*>(program.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace colonnade

#endif
