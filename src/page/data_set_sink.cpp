// Clusters and commits; see data_set_sink.h.
#include "page/data_set_sink.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/aligned_buffer.h"
#include "format/envelope.h"
#include "page/cluster_journal.h"

namespace colonnade::page {

Gate::Shared::Shared(Gate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.changed_.wait(lock, [&] { return !gate_.closed_; });
  ++gate_.inside_;
}

Gate::Shared::~Shared() {
  const std::lock_guard lock(gate_.mutex_);
  if (--gate_.inside_ == 0) gate_.changed_.notify_all();
}

Gate::Alone::Alone(Gate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.changed_.wait(lock, [&] { return !gate_.closed_; });
  gate_.closed_ = true;
  gate_.changed_.wait(lock, [&] { return gate_.inside_ == 0; });
}

Gate::Alone::~Alone() {
  const std::lock_guard lock(gate_.mutex_);
  gate_.closed_ = false;
  gate_.changed_.notify_all();
}

DataSetSink::DataSetSink(std::unique_ptr<WriteContainer> container, const WriteOptions& options)
    : container_(std::move(container)),
      options_(options),
      compression_(codec::CompressionSettings::parse(options.compression.text)) {}

Locator DataSetSink::write_envelope(ByteSpan envelope) {
  AlignedBuffer block;
  codec::compress(compression_, envelope, block);
  return container_->write_blob(block.span(), envelope.size());
}

void DataSetSink::start() {
  descriptor_.header_fields = static_cast<std::uint32_t>(descriptor_.fields.size());
  descriptor_.header_columns = static_cast<std::uint32_t>(descriptor_.columns.size());
  descriptor_.header_aliases = static_cast<std::uint32_t>(descriptor_.aliases.size());
  descriptor_.header_type_infos = static_cast<std::uint32_t>(descriptor_.type_infos.size());
  const format::EnvelopeBytes header = format::write_header(descriptor_);
  descriptor_.header_checksum = header.checksum;
  const Locator locator = write_envelope(header.bytes);
  descriptor_.anchor.header_offset = locator.offset;
  descriptor_.anchor.header_size = locator.size;
  descriptor_.anchor.header_length = header.bytes.size();
  descriptor_.anchor.max_key_size = container_->max_key_size();
  committed_at_ = Clock::now();
  // Without an anchor nobody finds what the journal says.
  if (checkpoints()) checkpoint();
}

void DataSetSink::resume(const Descriptor& checkpoint) {
  descriptor_ = checkpoint;
  note_teams(descriptor_.columns.size());
  for (const ClusterDescriptor& cluster : descriptor_.clusters)
    for (const ColumnRange& range : cluster.columns) {
      if (range.suppressed) continue;
      const std::uint32_t team = teams_[range.column];
      next_elements_[team] = static_cast<std::uint64_t>(range.first_element) + range.pages.elements();
      begun_[team] = true;
    }
  grouped_clusters_ = descriptor_.clusters.size();
  committed_ = contents();
  committed_at_ = Clock::now();
}

std::vector<std::uint64_t> DataSetSink::write_pages(std::span<const PagePart> pages, ClusterPlace& cluster) {
  const Gate::Shared inside(gate_);
  return container_->write_pages(pages, cluster);
}

std::vector<std::uint64_t> DataSetSink::begin_pages(std::span<const PagePart> pages, ClusterPlace& cluster,
                                                    std::shared_ptr<void> memory) {
  const Gate::Shared inside(gate_);
  return container_->begin_pages(pages, cluster, std::move(memory));
}

bool DataSetSink::checkpoints() const noexcept {
  return options_.checkpoint_every.clusters > 0 || options_.checkpoint_every.seconds > 0;
}

DataSetSink::Contents DataSetSink::contents() const noexcept {
  return {descriptor_.clusters.size(), descriptor_.fields.size(), descriptor_.columns.size(),
          descriptor_.aliases.size(), descriptor_.type_infos.size()};
}

bool DataSetSink::checkpoint_due() const {
  if (!checkpoints()) return false;
  // What the journal says of columns that no footer describes is of no use.
  const Contents before = committed_.value_or(Contents{.fields = descriptor_.header_fields});
  if (descriptor_.fields.size() > before.fields) return true;
  const CheckpointEvery& every = options_.checkpoint_every;
  if (every.clusters > 0 && descriptor_.clusters.size() - before.clusters >= every.clusters) return true;
  const std::chrono::duration<double> since = Clock::now() - committed_at_;
  return every.seconds > 0 && since.count() >= every.seconds;
}

std::uint32_t DataSetSink::team_of(std::uint32_t column) const {
  const ColumnDescriptor& own = descriptor_.columns[column];
  if (own.representation == 0 || own.field >= descriptor_.fields.size()) return column;
  const auto& groups = descriptor_.fields[own.field].representations;
  if (own.representation >= groups.size()) return column;
  const ColumnIds& group = groups[own.representation];
  for (std::size_t i = 0; i < group.size() && i < groups.front().size(); ++i)
    if (group[i] == column) return groups.front()[i];
  return column;
}

void DataSetSink::note_teams(std::size_t columns) {
  while (teams_.size() < columns) teams_.push_back(team_of(static_cast<std::uint32_t>(teams_.size())));
  next_elements_.resize(teams_.size());
  begun_.resize(teams_.size());
}

void DataSetSink::add(ClusterDescriptor cluster) {
  cluster.id = descriptor_.clusters.size();
  cluster.first_entry = descriptor_.entries();
  note_teams(cluster.columns.size());
  for (std::size_t i = 0; i < cluster.columns.size(); ++i) {
    ColumnRange& range = cluster.columns[i];
    if (range.suppressed) {
      range.first_element = std::numeric_limits<std::int64_t>::min();
      continue;
    }
    const std::uint32_t team = teams_[i];
    const ColumnDescriptor& column = descriptor_.columns[i];
    if (!begun_[team] && column.deferred) next_elements_[team] = column.first_element;
    begun_[team] = true;
    range.first_element = static_cast<std::int64_t>(next_elements_[team]);
    next_elements_[team] += range.pages.elements();
  }
  descriptor_.clusters.push_back(std::move(cluster));
  if (checkpoints() && container_->keeps_journal()) {
    // Pages without checksums must be in the file before a record says so: repair could not tell otherwise.
    if (options_.page_checksums == Checksums::off) container_->flush();
    const Bytes record = journal_record(descriptor_, descriptor_.clusters.size() - 1);
    container_->write_blob(record, record.size());
  }
  if (checkpoint_due()) return checkpoint();
  if (descriptor_.clusters.size() - grouped_clusters_ >= options_.clusters_per_group) commit_cluster_group();
}

void DataSetSink::add_cluster(ClusterDescriptor cluster) {
  const std::lock_guard lock(mutex_);
  add(std::move(cluster));
}

void DataSetSink::stage_cluster(std::size_t number, ClusterDescriptor cluster) {
  const std::lock_guard lock(mutex_);
  staged_.resize(std::max(staged_.size(), number + 1));
  staged_entries_ += cluster.entries;
  staged_[number].push_back(std::move(cluster));
}

void DataSetSink::add_staged() {
  for (std::vector<ClusterDescriptor>& clusters : staged_) {
    for (ClusterDescriptor& cluster : std::exchange(clusters, {})) {
      staged_entries_ -= cluster.entries;
      add(std::move(cluster));
    }
  }
}

void DataSetSink::commit_staged() {
  const std::lock_guard lock(mutex_);
  add_staged();
}

void DataSetSink::commit_cluster_group() {
  const std::size_t count = descriptor_.clusters.size() - grouped_clusters_;
  if (count == 0) return;
  const format::EnvelopeBytes list = format::write_page_list(descriptor_, grouped_clusters_, count);
  ClusterGroup group;
  group.min_entry = descriptor_.clusters[grouped_clusters_].first_entry;
  for (std::size_t i = grouped_clusters_; i < descriptor_.clusters.size(); ++i)
    group.entry_span += descriptor_.clusters[i].entries;
  group.clusters = static_cast<std::uint32_t>(count);
  group.page_list = {.length = list.bytes.size(), .locator = write_envelope(list.bytes)};
  descriptor_.cluster_groups.push_back(group);
  grouped_clusters_ = descriptor_.clusters.size();
}

// What is there is not replaced by nothing: more is to come.
void DataSetSink::checkpoint() {
  if (container_->replaces() && (descriptor_.clusters.empty() || options_.replace_at_close)) return;
  commit();
}

void DataSetSink::commit() {
  commit_cluster_group();
  const format::EnvelopeBytes footer = format::write_footer(descriptor_);
  const Locator locator = write_envelope(footer.bytes);
  descriptor_.anchor.footer_offset = locator.offset;
  descriptor_.anchor.footer_size = locator.size;
  descriptor_.anchor.footer_length = footer.bytes.size();
  {
    const Gate::Alone alone(gate_);
    container_->commit(descriptor_.anchor);
  }
  committed_ = contents();
  committed_at_ = Clock::now();
}

void DataSetSink::commit_data_set() {
  const std::lock_guard lock(mutex_);
  add_staged();
  checkpoint();
}

void DataSetSink::close() {
  const std::lock_guard lock(mutex_);
  add_staged();
  if (!committed_ || *committed_ != contents()) commit();
  const Gate::Alone alone(gate_);
  container_->close();
}

void DataSetSink::abandon() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const Gate::Alone alone(gate_);
    container_->abandon();
  } catch (...) {
    return;  // nothing is lost that was not to be
  }
}

bool DataSetSink::has_committed() const {
  const std::lock_guard lock(mutex_);
  return committed_.has_value();
}

std::uint64_t DataSetSink::entries() const {
  const std::lock_guard lock(mutex_);
  return descriptor_.entries() + staged_entries_;
}

}  // namespace colonnade::page
