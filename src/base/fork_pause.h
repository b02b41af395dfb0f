// ForkPause: no process is forked while one exists. It surrounds what holds locks that a child of this
// process needs as well, and would find locked forever: those inside other libraries, and those of data that
// the child shares.
//
//   {
//     const ForkPause pause;
//     ::curl_multi_perform(multi, &running);
//   }
//
// A fork waits for the pauses that have begun, and keeps others from beginning: a thread has only one at a
// time, and must neither fork during it, nor wait for a thread that may fork, such as one with Python's
// interpreter lock.
#ifndef COLONNADE_BASE_FORK_PAUSE_H
#define COLONNADE_BASE_FORK_PAUSE_H

namespace colonnade {

class ForkPause {
 public:
  ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;
  ~ForkPause();
};

}  // namespace colonnade

#endif
