// The configuration and the counters of the stand-in.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_KNOBS_H
#define COLONNADE_TESTS_DAOS_STANDIN_KNOBS_H

#include <atomic>
#include <cstdint>
#include <string>

namespace standin {

using Number = std::atomic<std::int64_t>;

struct Knobs {
  Number latency_us{0};
  Number bandwidth{0};
  Number threads{2};
  Number prefault_mb{0};
  Number capacity{0};
  Number stopped{0};
  Number stalled_until{0};  // ns
  Number engines{4};
  Number targets{4};
  Number pool_read_only{0};
  Number cont_read_only{0};
  Number tombstones{0};
  Number list_page{0};
  Number list_empty{0};
  Number rec2big_silent{0};
  Number parent_error{0};
  Number serve_inline{0};
  Number hold_commits{0};
  Number release{0};
};

struct Counters {
  Number updates{0};
  Number fetches{0};
  Number punches{0};
  Number lists{0};
  Number update_iods{0};
  Number fetch_iods{0};
  Number bytes_written{0};
  Number bytes_read{0};
  Number parents{0};
  Number in_flight{0};
  Number most_in_flight{0};
  Number pools_open{0};
  Number conts_open{0};
  Number transactions_open{0};
  Number commits{0};
  Number commits_held{0};
  Number objects_open{0};
  Number queues_open{0};
  Number events_open{0};
  Number inits{0};
  Number finis{0};
  Number order_violations{0};
  Number oids{0};
};

Knobs& knobs();
Counters& counters();
void read_environment();

// The error that an injected fault gives this call; 0: none.
int fault(const char* call);

std::int64_t now_ns();

}  // namespace standin

#endif
