// Requests in flight: their threads, their completion times, and their events.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_SERVER_H
#define COLONNADE_TESTS_DAOS_STANDIN_SERVER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "standin_types.h"

namespace standin {

// Does the work, sets the number of bytes moved, and returns 0 or an error.
using Work = std::function<int(std::uint64_t& bytes)>;

// Runs a request: with an event asynchronously, without one synchronously. `call` is the name for
// faults.
int request(const std::string& call, daos_event_t* event, Work work);

}  // namespace standin

#endif
