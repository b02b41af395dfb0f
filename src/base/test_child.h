// For tests of forked children.
#ifndef COLONNADE_BASE_TEST_CHILD_H
#define COLONNADE_BASE_TEST_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

namespace colonnade::testing {

// The value that `work` returns in a child, 0 to 255; -1 if it was killed, which happens after a minute.
template <class Work>
int status_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(work());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace colonnade::testing

#endif
