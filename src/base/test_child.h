// For tests of forked children.
#ifndef COLONNADE_BASE_TEST_CHILD_H
#define COLONNADE_BASE_TEST_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace colonnade

#endif
