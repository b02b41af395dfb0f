// The number of threads of a pass.
#ifndef COLONNADE_FRAME_EXECUTOR_THREADS_H
#define COLONNADE_FRAME_EXECUTOR_THREADS_H

namespace colonnade::frame {

// The number of processors that this process may use at the same time: limited by its affinity and by its
// control group's share of time.
unsigned usable_processors();

}  // namespace colonnade::frame

#endif
