// Shared by the LHCb benchmark programs of both sides, so that they differ only in the library under
// test: the raw sample in memory, the B-mass analysis over any kind of view, the clock, and the
// report.
//
// Raw sample: the columns of 26 fields one after the other, little-endian, without any header; see
// raw_sample.py.
#ifndef COLONNADE_BENCHMARKS_LHCB_H
#define COLONNADE_BENCHMARKS_LHCB_H

#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lhcb {

constexpr double kaon_mass = 493.677;  // MeV/c^2
constexpr double mass_min = 5050.0, mass_max = 5500.0;
constexpr int mass_bins = 500;

// ---- The sample in memory

constexpr std::array<const char*, 8> track_fields = {"PX",     "PY",     "PZ",     "ProbK",
                                                     "ProbPi", "Charge", "isMuon", "IPChi2"};
constexpr std::size_t doubles_per_event = 20, ints_per_event = 6;
constexpr std::size_t bytes_per_event =
    doubles_per_event * sizeof(double) + ints_per_event * sizeof(std::int32_t);

struct Column {
  std::string name;
  bool is_integer;
  const char* data;  // the first value, in Sample::bytes

  const double* doubles() const { return reinterpret_cast<const double*>(data); }
  const std::int32_t* ints() const { return reinterpret_cast<const std::int32_t*>(data); }
};

struct Sample {
  std::vector<double> bytes;  // for its alignment
  std::vector<Column> columns;
  std::size_t events = 0;
};

inline std::vector<std::pair<std::string, bool>> schema() {
  std::vector<std::pair<std::string, bool>> fields = {{"B_FlightDistance", false}, {"B_VertexChi2", false}};
  for (const char* track : {"H1_", "H2_", "H3_"})
    for (const std::string name : track_fields)
      fields.emplace_back(track + name, name == "Charge" || name == "isMuon");
  return fields;
}

inline Sample read_sample(const char* path) {
  struct stat status;
  std::FILE* file = std::fopen(path, "rb");
  if (!file || ::fstat(::fileno(file), &status) != 0)
    throw std::runtime_error(std::string("cannot open ") + path);
  Sample sample;
  const std::size_t size = static_cast<std::size_t>(status.st_size);
  sample.events = size / bytes_per_event;
  if (size % bytes_per_event != 0 || sample.events % 2 != 0)
    throw std::runtime_error(std::string(path) + " is not a whole, even number of events");
  sample.bytes.resize(size / sizeof(double));
  if (std::fread(sample.bytes.data(), 1, size, file) != size)
    throw std::runtime_error(std::string("cannot read ") + path);
  std::fclose(file);

  const char* at = reinterpret_cast<const char*>(sample.bytes.data());
  for (auto& [name, is_integer] : schema()) {
    sample.columns.push_back({name, is_integer, at});
    at += sample.events * (is_integer ? sizeof(std::int32_t) : sizeof(double));
  }
  return sample;
}

// ---- The analysis

struct Spectrum {
  std::array<std::int64_t, mass_bins> bins{};
  std::int64_t candidates = 0;
  double mass_sum = 0;  // distinguishes samples with equally many candidates

  void fill(double mass) {
    if (!(mass >= mass_min && mass < mass_max)) return;
    ++bins[static_cast<std::size_t>((mass - mass_min) * (mass_bins / (mass_max - mass_min)))];
    ++candidates;
    mass_sum += mass;
  }
};

inline double energy(double px, double py, double pz) {
  return std::sqrt(px * px + py * py + pz * pz + kaon_mass * kaon_mass);
}

inline double b_mass(double x1, double y1, double z1, double x2, double y2, double z2, double x3, double y3,
                     double z3) {
  const double e = energy(x1, y1, z1) + energy(x2, y2, z2) + energy(x3, y3, z3);
  const double x = x1 + x2 + x3, y = y1 + y2 + y3, z = z1 + z2 + z3;
  return std::sqrt(e * e - x * x - y * y - z * z);
}

// The 18 views of a reader; F and I are the types of its views of double and int. They are called with the
// items of the reader's range of entries.
template <typename F, typename I>
struct Views {
  I muon1, muon2, muon3;
  F k1, k2, k3, pi1, pi2, pi3;
  F x1, y1, z1, x2, y2, z2, x3, y3, z3;
};

// In the order of the members of Views, to be used as Views{open_int("H1_isMuon"), ...}.
template <typename MakeDouble, typename MakeInt>
auto make_views(MakeDouble&& real, MakeInt&& integer) {
  return Views<decltype(real("")), decltype(integer(""))>{
      integer("H1_isMuon"), integer("H2_isMuon"), integer("H3_isMuon"), real("H1_ProbK"),  real("H2_ProbK"),
      real("H3_ProbK"),     real("H1_ProbPi"),    real("H2_ProbPi"),    real("H3_ProbPi"), real("H1_PX"),
      real("H1_PY"),        real("H1_PZ"),        real("H2_PX"),        real("H2_PY"),     real("H2_PZ"),
      real("H3_PX"),        real("H3_PY"),        real("H3_PZ")};
}

template <typename Range, typename V>
void analyse(const Range& entries, V& v, Spectrum& spectrum) {
  for (auto i : entries) {
    if (v.muon1(i) || v.muon2(i) || v.muon3(i)) continue;
    if (v.k1(i) <= 0.5 || v.k2(i) <= 0.5 || v.k3(i) <= 0.5) continue;
    if (v.pi1(i) >= 0.5 || v.pi2(i) >= 0.5 || v.pi3(i) >= 0.5) continue;
    spectrum.fill(b_mass(v.x1(i), v.y1(i), v.z1(i), v.x2(i), v.y2(i), v.z2(i), v.x3(i), v.y3(i), v.z3(i)));
  }
}

// ---- Measuring and reporting

class Clock {
 public:
  double wall() const {  // seconds since the clock was made
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double cpu() const {
    return cpu_now() - cpu_;
  }  // seconds of this process in all its threads, user and system

 private:
  static double cpu_now() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_ = cpu_now();
};

// 0 for anything but a local file.
inline std::uint64_t file_size(const char* path) {
  struct stat status;
  if (std::string(path).find("://") != std::string::npos) return 0;
  if (::stat(path, &status) != 0) throw std::runtime_error(std::string("cannot stat ") + path);
  return static_cast<std::uint64_t>(status.st_size);
}

// The peak resident memory of this program. Not ru_maxrss, which includes the memory of the process that
// started this one.
inline long peak_rss_kib() {
  long peak = 0;
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, status))
      if (std::sscanf(line, "VmHWM: %ld", &peak) == 1) break;
    std::fclose(status);
  }
  return peak;
}

// One JSON object on one line; the runners read the last line of the output. `more` is appended verbatim.
inline void report(const char* path, std::size_t events, double wall, double cpu, const Spectrum& spectrum,
                   const std::string& more = {}) {
  std::printf(
      "{\"events\": %zu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes\": %llu, \"candidates\": %lld, "
      "\"mass_sum\": %.3f, \"max_rss_kib\": %ld%s}\n",
      events, wall, cpu, static_cast<unsigned long long>(file_size(path)),
      static_cast<long long>(spectrum.candidates), spectrum.mass_sum, peak_rss_kib(), more.c_str());
}

// Identifies histograms: the counts of their bins, folded in order.
struct Checksum {
  std::uint32_t value = 0;
  long long total = 0;

  void add(std::int64_t count) {
    value = value * 1000003u + static_cast<std::uint32_t>(count);
    total += count;
  }
};

// The same for an analysis that only gives the histogram.
inline void report_bins(const char* path, double wall, double cpu, const Spectrum& spectrum) {
  Checksum sum;
  for (const std::int64_t count : spectrum.bins) sum.add(count);
  std::printf(
      "{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes\": %llu, \"candidates\": %lld, \"bins\": %u, "
      "\"max_rss_kib\": %ld}\n",
      wall, cpu, static_cast<unsigned long long>(file_size(path)), sum.total, sum.value, peak_rss_kib());
}

// Runs body(), which returns the exit status; an error goes to stderr.
template <typename Body>
int guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace lhcb

#endif
