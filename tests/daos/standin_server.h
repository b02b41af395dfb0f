// Requests in flight: who serves them, when they are done, and the events that say so.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_SERVER_H
#define COLONNADE_TESTS_DAOS_STANDIN_SERVER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "standin_types.h"

namespace standin {

// Does the work, says how many bytes moved, and returns 0 or an error.
using Work = std::function<int(std::uint64_t& bytes)>;

// A request: with an event it is put on its way, without it is done when this returns. `call` is the name of
// its faults.
int request(const std::string& call, daos_event_t* event, Work work);

}  // namespace standin

#endif
