// See standin_knobs.h.
#include "standin_knobs.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

#include "standin.h"

namespace standin {
namespace {

struct Fault {
  std::int64_t at = 0;
  std::int64_t times = 0;
  int code = 0;
};

struct Faults {
  std::mutex mutex;
  std::map<std::string, Fault> by_call;
  std::atomic<bool> any{false};
};

Faults& faults() {
  static Faults& faults = *new Faults;  // threads may outlive static objects
  return faults;
}

std::map<std::string, Number*> make_knobs() {
  Knobs& all = knobs();
  return {{"latency_us", &all.latency_us},
          {"bandwidth", &all.bandwidth},
          {"threads", &all.threads},
          {"prefault_mb", &all.prefault_mb},
          {"capacity", &all.capacity},
          {"stopped", &all.stopped},
          {"engines", &all.engines},
          {"targets", &all.targets},
          {"pool_read_only", &all.pool_read_only},
          {"cont_read_only", &all.cont_read_only},
          {"tombstones", &all.tombstones},
          {"list_page", &all.list_page},
          {"list_empty", &all.list_empty},
          {"rec2big_silent", &all.rec2big_silent},
          {"parent_error", &all.parent_error},
          {"inline", &all.serve_inline},
          {"hold_commits", &all.hold_commits},
          {"release", &all.release}};
}

std::map<std::string, Number*> make_counters() {
  Counters& all = counters();
  return {{"updates", &all.updates},
          {"fetches", &all.fetches},
          {"punches", &all.punches},
          {"lists", &all.lists},
          {"update_iods", &all.update_iods},
          {"fetch_iods", &all.fetch_iods},
          {"bytes_written", &all.bytes_written},
          {"bytes_read", &all.bytes_read},
          {"parents", &all.parents},
          {"most_in_flight", &all.most_in_flight},
          {"oids", &all.oids},
          {"pools_open", &all.pools_open},
          {"conts_open", &all.conts_open},
          {"objects_open", &all.objects_open},
          {"transactions_open", &all.transactions_open},
          {"commits", &all.commits},
          {"commits_held", &all.commits_held},
          {"queues_open", &all.queues_open},
          {"events_open", &all.events_open},
          {"inits", &all.inits},
          {"finis", &all.finis},
          {"order_violations", &all.order_violations}};
}

const std::map<std::string, Number*>& knob_names() {
  static const auto& names = *new std::map<std::string, Number*>(make_knobs());
  return names;
}

const std::map<std::string, Number*>& counter_names() {
  static const auto& names = *new std::map<std::string, Number*>(make_counters());
  return names;
}

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "libdaos stand-in: %s\n", what.c_str());
  std::abort();
}

void read_knobs(const char* text) {
  std::istringstream list(text);
  for (std::string entry; std::getline(list, entry, ',');) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) refuse("COLONNADE_STANDIN: no \"=\" in \"" + entry + "\"");
    standin_set(entry.substr(0, equals).c_str(), std::strtoll(entry.c_str() + equals + 1, nullptr, 10));
  }
}

void read_faults(const char* text) {
  std::istringstream list(text);
  for (std::string entry; std::getline(list, entry, ',');) {
    std::istringstream parts(entry);
    std::string call;
    std::string at;
    std::string times;
    std::string code;
    const bool whole = std::getline(parts, call, ':') && std::getline(parts, at, ':') &&
                       std::getline(parts, times, ':') && std::getline(parts, code, ':');
    if (!whole) refuse("COLONNADE_STANDIN_FAIL: \"" + entry + "\" is not call:at:times:code");
    standin_fail(call.c_str(), std::atoll(at.c_str()), std::atoll(times.c_str()), std::atoi(code.c_str()));
  }
}

}  // namespace

Knobs& knobs() {
  static Knobs& knobs = *new Knobs;
  return knobs;
}

Counters& counters() {
  static Counters& counters = *new Counters;
  return counters;
}

void read_environment() {
  if (const char* text = std::getenv("COLONNADE_STANDIN")) read_knobs(text);
  if (const char* text = std::getenv("COLONNADE_STANDIN_FAIL")) read_faults(text);
}

int fault(const char* call) {
  Faults& all = faults();
  if (!all.any) return 0;
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_call.find(call);
  if (found == all.by_call.end()) return 0;
  Fault& fault = found->second;
  if (--fault.at > 0) return 0;
  return fault.times-- > 0 ? fault.code : 0;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace standin

void standin_set(const char* name, std::int64_t value) {
  if (std::strcmp(name, "stall_ms") == 0) {
    standin::knobs().stalled_until = standin::now_ns() + value * 1'000'000;
    return;
  }
  const auto found = standin::knob_names().find(name);
  if (found == standin::knob_names().end()) standin::refuse(std::string("no knob \"") + name + "\"");
  *found->second = value;
}

std::int64_t standin_get(const char* name) {
  for (const auto* names : {&standin::knob_names(), &standin::counter_names()})
    if (const auto found = names->find(name); found != names->end()) return *found->second;
  return -1;
}

void standin_reset() {
  const standin::Knobs fresh;
  standin::Knobs& knobs = standin::knobs();
  for (const auto& [name, number] : standin::knob_names()) {
    const auto offset = reinterpret_cast<const char*>(number) - reinterpret_cast<const char*>(&knobs);
    *number =
        reinterpret_cast<const standin::Number*>(reinterpret_cast<const char*>(&fresh) + offset)->load();
  }
  knobs.stalled_until = 0;
  for (const char* name :
       {"updates", "fetches", "punches", "lists", "update_iods", "fetch_iods", "bytes_written", "bytes_read",
        "parents", "most_in_flight", "oids", "commits", "order_violations"})
    *standin::counter_names().at(name) = 0;
  const std::lock_guard lock(standin::faults().mutex);
  standin::faults().by_call.clear();
  standin::faults().any = false;
}

void standin_fail(const char* call, std::int64_t at, std::int64_t times, int code) {
  const std::lock_guard lock(standin::faults().mutex);
  standin::faults().by_call[call] = {at, times, code};
  standin::faults().any = true;
}
