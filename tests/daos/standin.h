// A stand-in for libdaos.so.2: the same binary interface, served by this process. It drives the tests and the
// benchmark of the DAOS back end on machines without DAOS. Pools, containers and objects are in memory; its
// own threads serve requests, like a network card, with configurable latency, bandwidth and faults. It
// refuses what DAOS refuses.
//
// Use: COLONNADE_LIBDAOS=<build>/tests/daos/libdaos.so.2. There is one pool, label "tank", uuid
// 00000000-0000-4000-8000-000000000001; more with standin_add_pool() or COLONNADE_STANDIN_POOLS="a,b".
//
// Knobs, by standin_set(name, value), or all at once in the environment, read by daos_init:
// COLONNADE_STANDIN="latency_us=200,bandwidth=10000000000". Values are integers.
//   latency_us         of each request, overlapping with that of others (0)
//   bandwidth          bytes per second, shared by all requests (0: unlimited)
//   threads            that serve (2); read when the first request comes
//   prefault_mb        memory for values that daos_init touches, so that writing does not pay for it (0)
//   capacity           bytes of values of a pool (0: unlimited); the space of values that were replaced or
//                      removed does not come back until their container is destroyed
//   stopped            1: the engines do not answer until this is 0 again
//   stall_ms           the engines do not answer for so long from now on
//   engines            of a pool (4); with one there is no class RP_*
//   targets            of a pool that are up (4): how many groups a new id of the classes SX, *_GX gets,
//                      and how many the others may have
//   pool_read_only     1: pools can be connected to for reading alone
//   cont_read_only     1: the same for containers
//   tombstones         1: the key of a removed value stays, as keys may do in DAOS: listings show it,
//                      inserting under a condition finds it, reading under a condition gives size 0
//   list_page          keys that a call of a listing brings at most (0: as many as fit)
//   list_empty         calls of a listing that bring nothing before those that bring something (0)
//   rec2big_silent     1: a buffer that is too small is refused without telling the value's size
//   parent_error       1: a parent event shows the first error of its children (0, as seen: it does not)
//   inline             1: requests are served by the thread that launches them, without threads
//   hold_commits       so many commits from now on wait until `release` is 1 (0); each takes a thread
// standin_reset() sets all to what they were, forgets all faults and counters, but no data.
//
// Faults: standin_fail(call, at, times, code): the calls number `at` (1: the next) to `at + times - 1` give
// `code` (negative). Calls: init, pool_connect, pool_disconnect, cont_create, cont_open, cont_close,
// generate_oid, obj_open, update, fetch, punch, list, tx_open, commit, tx_restart, eq_create, eq_poll;
// child_update, child_fetch: those that have a parent event; launch_update, launch_fetch: refused by the call
// itself instead of the event; barrier; overtaken: inside of a commit, with
// -2025; committed: a commit that was done is said to have failed. In the
// environment: COLONNADE_STANDIN_FAIL="update:3:1:-1007,fetch:1:2:-1011". standin_corrupt() changes a byte of
// a stored value.
//
// Counters, by standin_get(name): updates, fetches, punches, lists (requests), update_iods, fetch_iods,
// bytes_written, bytes_read, parents (barriers), commits (requested), most_in_flight; pools_open, conts_open,
// objects_open, transactions_open, queues_open, events_open, commits_held (current); inits, finis;
// order_violations (a container closed with open objects); oids (generated), and each knob.
//
// COLONNADE_STANDIN_FILE: a file to which daos_fini saves everything and from which daos_init loads it.
#ifndef COLONNADE_TESTS_DAOS_STANDIN_H
#define COLONNADE_TESTS_DAOS_STANDIN_H

#include <cstdint>

extern "C" {
void standin_set(const char* name, std::int64_t value);
std::int64_t standin_get(const char* name);  // -1: no such name
void standin_reset();
void standin_fail(const char* call, std::int64_t at, std::int64_t times, int code);
void standin_add_pool(const char* label, const char* uuid);
// Changes byte `offset` of the value in all containers. Returns the number of changed values.
int standin_corrupt(std::uint32_t group, std::uint64_t number, std::uint64_t dkey, std::uint64_t akey,
                    std::uint64_t offset);
// The number of target groups of the stored objects with this number. 0: there are none, or they
// differ.
int standin_groups(std::uint32_t group, std::uint64_t number);
}

#endif
