// The results of a graph as bytes, which another graph with the same plan merges after its own.
//
//   "CLNR" version  then per result and variation, in the order of booking:
//   number of accumulators, then per accumulator the number of its bytes and the bytes
//
// All numbers are 64 bits, little-endian.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "frame/graph/graph.h"
#include "frame/graph/state.h"

namespace colonnade::frame {

namespace {

constexpr std::uint64_t magic = 0x0000'0001'524e'4c43;  // "CLNR", version 1

static_assert(std::endian::native == std::endian::little);

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  const std::size_t size = out.size();
  out.resize(size + bytes.size());
  if (!bytes.empty()) std::memcpy(out.data() + size, bytes.data(), bytes.size());
}

void write(std::vector<std::byte>& out, std::uint64_t number) {
  append(out, std::as_bytes(std::span(&number, 1)));
}

class ResultsReader {
 public:
  explicit ResultsReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) fail(fmt::format("they end {} bytes too early", size - rest_.size()));
    const auto taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] static void fail(const std::string& why) {
    throw Error(ErrorKind::format, "saved results cannot be merged: " + why,
                "merge results of graphs that were made from the same plan");
  }

 private:
  std::span<const std::byte> rest_;
};

// Results of all entries have a mark, so that they are not mistaken for those of a part.
constexpr std::uint64_t of_stretch = 0;
constexpr std::uint64_t of_all = 1;

bool merges_parts(const Graph::State& state, const BookedResult& result) {
  const auto is_after_range = [&](NodeId node) { return state.nodes[node].after_range; };
  if (is_after_range(result.node)) return false;
  // The report of the whole graph covers filters that are not above its node.
  return result.kind != BookedResult::Kind::report ||
         std::ranges::none_of(state.filters_before(result.node, true), is_after_range);
}

void check_mergeable(const Graph::State& state) {
  for (const auto& [id, result] : state.results)
    if (!merges_parts(state, result))
      throw Error(ErrorKind::unsupported, "a result after a range cannot be merged from parts",
                  "leave out the range, or filter by rdfentry_");
}

void write_accumulators(const BookedResult& result, std::vector<std::byte>& out, std::uint64_t slice = 0,
                        std::uint64_t of = 1) {
  for (const Instance& instance : result.instances) {
    write(out, instance.accumulators.size());
    for (const auto& accumulator : instance.accumulators) {
      const auto saved = of == 1 ? accumulator->save() : accumulator->save_slice(slice, of);
      write(out, saved.size());
      append(out, saved);
    }
  }
}

using Merges = std::vector<std::pair<Accumulator*, std::span<const std::byte>>>;

void read_accumulators(Graph::State& state, BookedResult& result, ResultsReader& in, Merges& merges) {
  state.prepare(result);
  for (Instance& instance : result.instances) {
    if (in.number() != instance.accumulators.size()) ResultsReader::fail("they belong to other results");
    for (const auto& accumulator : instance.accumulators)
      merges.emplace_back(accumulator.get(), in.take(in.number()));
  }
}

void mark(BookedResult& result, bool ready) {
  for (Instance& instance : result.instances) {
    instance.ready = ready;
    instance.stale = !ready;
  }
}

}  // namespace

bool Graph::is_mergeable(ResultId id) const {
  return merges_parts(*state_, state_->result(id));
}

std::vector<std::byte> Graph::save_results() const {
  check_mergeable(*state_);
  std::vector<std::byte> out;
  write(out, magic);
  for (const auto& [id, result] : state_->results) {
    check_ready(id);
    write_accumulators(result, out);
  }
  return out;
}

void Graph::merge_results(std::span<const std::byte> later) {
  const StandardFloatingPoint state;
  check_mergeable(*state_);
  ResultsReader in(later);
  if (in.number() != magic) ResultsReader::fail("they do not begin as they should");
  // Everything is validated first, so that invalid bytes change nothing.
  Merges merges;
  for (auto& [id, result] : state_->results) read_accumulators(*state_, result, in, merges);
  if (!in.at_end()) ResultsReader::fail("they contain more results");
  for (auto& [id, result] : state_->results) mark(result, false);  // a half-merged result is invalid
  for (const auto& [accumulator, bytes] : merges) accumulator->merge_saved(bytes);
  for (auto& [id, result] : state_->results) mark(result, true);
}

void Graph::check_ready(ResultId id) const {
  if (!is_ready(id))
    throw Error(ErrorKind::usage, fmt::format("result {} is not computed yet", id), "run the graph first");
}

std::uint64_t Graph::slices_of(ResultId id, std::uint64_t bytes) const {
  const BookedResult& result = state_->result(id);
  if (result.kind == BookedResult::Kind::report) return 1;
  // All variations have the same model.
  const bool is_varied = result.all_variations && result.varied_by != nullptr && !result.expansion;
  const std::uint64_t instances = 1 + (is_varied ? result.varied_by->size() : 0);
  return result.instances.front().accumulators.front()->slices(bytes / instances);
}

std::vector<std::byte> Graph::save_result(ResultId id, std::uint64_t slice, std::uint64_t of) const {
  const BookedResult& result = state_->result(id);
  check_ready(id);
  if (slice >= of) throw Error(ErrorKind::usage, fmt::format("there is no slice {} of {}", slice, of));
  std::vector<std::byte> out;
  write(out, magic);
  write(out, state_->stretch || merges_parts(*state_, result) ? of_stretch : of_all);
  write_accumulators(result, out, slice, of);
  return out;
}

void Graph::merge_result(ResultId id, std::span<const std::byte> later) {
  const StandardFloatingPoint state;
  state_->result(id);
  BookedResult& result = state_->results[id];
  ResultsReader in(later);
  if (in.number() != magic) ResultsReader::fail("they do not begin as they should");
  const std::uint64_t entries = in.number();
  const bool is_whole = entries == of_all;
  if (entries > of_all || (is_whole && merges_parts(*state_, result)))
    ResultsReader::fail("they cover other entries");
  if (is_whole && std::ranges::any_of(result.instances, &Instance::ready))
    throw Error(ErrorKind::usage, "a result over all entries has already been merged", "merge it once");
  Merges merges;
  read_accumulators(*state_, result, in, merges);
  if (!in.at_end()) ResultsReader::fail("they contain more results");
  mark(result, false);
  for (const auto& [accumulator, bytes] : merges) accumulator->merge_saved(bytes);
  mark(result, true);
}

void Graph::begin_anew() {
  for (auto& [id, result] : state_->results)
    for (Instance& instance : result.instances) {
      instance.ready = instance.failed = false;
      instance.stale = true;
    }
}

}  // namespace colonnade::frame
