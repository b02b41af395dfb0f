// Filling and the size of clusters; see filler.h.
#include "dataset/writing/filler.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "dataset/writing/columnar_writer.h"

namespace colonnade::dataset {
namespace {

constexpr std::string_view how_to_go_on =
    "when the cause is gone, call close() or commit again: what was filled is kept until then";

// The maximum number of entries filled one by one between two checks of the cluster's size.
constexpr std::uint64_t max_fill_block = 4096;
// The maximum number of entries of arrays appended at a time: enough for whole pages of each column, which
// are then sealed straight from the caller's memory.
constexpr std::uint64_t max_batch = std::uint64_t{1} << 20;

template <class T, class Copy>
void append_values(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) {
    T value;
    std::memcpy(&value, copy.from, sizeof value);
    copy.to->append(value);
  }
}

}  // namespace

void WriterState::refuse() const {
  if (closed_) throw Error(ErrorKind::usage, "the writer is closed", "", {.uri = data_set_->uri()});
  const std::lock_guard lock(mutex_);
  const std::string cause = failure_.empty() ? "" : ": " + failure_;
  if (may_try_again())
    throw Error(ErrorKind::usage, "an earlier write failed, so nothing can be added now" + cause,
                std::string(how_to_go_on), {.uri = data_set_->uri()});
  throw Error(ErrorKind::usage, "an earlier write failed, so nothing can be added any more" + cause,
              "write the data set again; what was committed before the failure can be read",
              {.uri = data_set_->uri()});
}

Error WriterState::with_advice(const Error& error) {
  if (error.advice().starts_with(how_to_go_on)) return error;  // of an attribute set
  return {error.kind(), error.problem(),
          std::string(how_to_go_on) + (error.advice().empty() ? "" : "; otherwise: " + error.advice()),
          error.context()};
}

// Other threads get this error first, perhaps, and should see the cause.
void WriterState::note_failure(std::string_view why, bool again) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_) {
    again_ = again_ && again;
    return;
  }
  again_ = again;
  try {
    failure_ = why;
  } catch (const std::bad_alloc&) {  // the error goes without it
  }
  failed_ = true;
}

void WriterState::try_again() {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  if (!may_try_again()) return;
  data_set_->retry(true);
  failure_.clear();
  failed_ = again_ = false;
}

Filler::Filler(std::shared_ptr<WriterState> state, const Fields& fields, std::uint64_t model_id,
               AddCluster place)
    : state_(std::move(state)),
      fields_(fields),
      model_id_(model_id),
      add_cluster_(std::move(place)),
      sink_(state_->shared_data_set()) {
  // The limit of the first cluster in memory: as in ROOT, assumes a ratio of 2:1 until a cluster has shown
  // the actual one.
  const WriteOptions& options = sink_.options();
  const std::size_t guess = sink_.compression().algorithm == codec::Algorithm::none ? 1 : 2;
  const std::size_t most = options.max_uncompressed_cluster_size;
  uncompressed_target_ =
      options.approximate_cluster_size > most / guess ? most : options.approximate_cluster_size * guess;
}

void Filler::refuse(const Entry& entry) const {
  if (entry.model_id_ != model_id_)
    throw Error(ErrorKind::usage, "the entry belongs to another model",
                "make it with the writer's make_entry()", {.uri = sink_.uri()});
  throw Error(ErrorKind::usage, "the entry was made before the schema was extended", "make a new one",
              {.uri = sink_.uri()});
}

void Filler::plan(const Entry& entry) {
  planned_ = 0;
  for (std::vector<Copy>& copies : copies_) copies.clear();
  calls_.clear();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Field& field = *fields_[i];
    const void* const value = entry.slots_[i].value.get();
    const std::size_t width = field.value_size();
    if (field.kind() == FieldKind::scalar && width <= 8 && width == size_of(field.element(0)))
      copies_[static_cast<std::size_t>(std::countr_zero(width))].push_back(
          {static_cast<const std::byte*>(value), &field.writer(0)});
    else
      calls_.push_back({value, &field});
  }
  planned_ = entry.bindings_;
}

void Filler::fill(Entry& entry) {
  if (entry.model_id_ != model_id_ || entry.slots_.size() != fields_.size()) [[unlikely]]
    refuse(entry);
  state_->guarded([&] {
    if (entry.bindings_ != planned_) [[unlikely]]
      plan(entry);
    append_values<std::uint64_t>(copies_[3]);
    append_values<std::uint32_t>(copies_[2]);
    append_values<std::uint16_t>(copies_[1]);
    append_values<std::uint8_t>(copies_[0]);
    for (const Call& call : calls_) call.field->append(call.value);
    ++entries_;
  });
  if (--until_check_ == 0) after_entries();
}

void Filler::append(std::span<const NamedArray> arrays) {
  state_->ensure_open();
  ColumnarInput input = with_context({.uri = sink_.uri(), .data_set = sink_.descriptor().name},
                                     [&] { return ColumnarInput(fields_, arrays); });
  append_all(input);
}

void Filler::append_all(ColumnarInput& input) {
  std::exception_ptr late;
  while (input.position() < input.entries()) {
    // What cannot be written now is accepted as a whole.
    const std::uint64_t step = late ? input.entries() - input.position() : batch(input);
    state_->guarded([&] {
      input.append(step);
      entries_ += step;
    });
    if (!late) late = state_->failure_of([this] { write_if_full(); });
  }
  state_->guarded([&] { sink_.keep_lent(); });
  if (late) state_->between_entries([&] { std::rethrow_exception(late); });
}

// As many entries as the open cluster has room for, but at least one.
std::uint64_t Filler::batch(const ColumnarInput& input) const {
  const std::uint64_t size = open_bytes();
  const std::uint64_t room = size < uncompressed_target_ ? uncompressed_target_ - size : 0;
  std::uint64_t most = std::min(max_batch, input.entries() - input.position());
  if (input.bytes(most) <= room) return most;
  std::uint64_t fit = 0;
  while (most - fit > 1) {
    const std::uint64_t middle = fit + (most - fit) / 2;
    (input.bytes(middle) <= room ? fit : most) = middle;
  }
  return most;
}

void Filler::after_entries() {
  until_check_ = 1;
  state_->between_entries([this] { write_if_full(); });
}

void Filler::write_if_full() {
  sink_.throw_late();
  const std::uint64_t size = open_bytes();
  if (size >= uncompressed_target_) return write_cluster();
  // The next check is due when at most half of the remaining room can be full, judging by the entries so far.
  const std::uint64_t per_entry = open_entries() > 0 ? size / open_entries() + 1 : 1;
  until_check_ = std::clamp<std::uint64_t>((uncompressed_target_ - size) / per_entry / 2, 1, max_fill_block);
}

void Filler::flush_columns() {
  state_->between_entries([&] {
    sink_.flush_columns();
    sink_.throw_late();
  });
}

void Filler::commit_cluster() {
  if (state_->only_closing_failed()) return;
  state_->finishing([&] { write_cluster(); });
}

void Filler::write_cluster() {
  if (open_entries() == 0) return;
  sink_.flush_columns();
  const std::uint64_t uncompressed = sink_.uncompressed_bytes();
  const std::uint64_t compressed = sink_.sealed_bytes();
  ClusterDescriptor cluster = sink_.write_cluster(open_entries());
  uncompressed_total_ += uncompressed;
  compressed_total_ += compressed;
  written_entries_ = entries_;
  for (const auto& field : fields_) field->commit_cluster();
  set_target();
  // A checkpoint of it may fail, but it is added.
  add_cluster_(std::move(cluster));
}

void Filler::set_target() {
  const WriteOptions& options = sink_.options();
  const double ratio = compressed_total_ > 0
                           ? static_cast<double>(uncompressed_total_) / static_cast<double>(compressed_total_)
                           : 1;
  const double target = static_cast<double>(options.approximate_cluster_size) * ratio;
  // As a double the limit may be 2^64, beyond all sizes.
  const std::size_t most = options.max_uncompressed_cluster_size;
  uncompressed_target_ = target < static_cast<double>(most) ? static_cast<std::size_t>(target) : most;
  until_check_ = 1;
}

}  // namespace colonnade::dataset
