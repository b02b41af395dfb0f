// How many threads a pass gets.
#ifndef COLONNADE_FRAME_EXECUTOR_THREADS_H
#define COLONNADE_FRAME_EXECUTOR_THREADS_H

namespace colonnade::frame {

// Processors that this process may use at the same time: its affinity, and the share of time that its control
// group has.
unsigned usable_processors();

}  // namespace colonnade::frame

#endif
