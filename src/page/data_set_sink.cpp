// Clusters and commits; see data_set_sink.h.
#include "page/data_set_sink.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/environment.h"
#include "base/interruption.h"
#include "colonnade/error.h"
#include "format/envelope.h"

namespace colonnade::page {

DataSetSink::DataSetSink(std::unique_ptr<container::WriteContainer> container, const WriteOptions& options)
    : container_(std::move(container)),
      options_(options),
      compression_(codec::CompressionSettings::parse(options.compression.text)),
      run_{container_->size_before(), environment().random_number()} {}

void DataSetSink::check_process() const {
  if (is_of_this_process()) return;
  throw Error(ErrorKind::usage, "the data set is being written by the process that this one was forked from",
              "write it there, or open a writer here", {.uri = uri(), .data_set = descriptor_.name});
}

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
  // Without an anchor, the journal cannot be found.
  if (checkpoints()) checkpoint();
}

void DataSetSink::resume(const Descriptor& checkpoint) {
  // The limit of the keys is recorded with the data set and applies to all of it.
  const std::uint64_t limit = checkpoint.anchor.max_key_size;
  if (limit != 0 && limit != container_->max_key_size()) {
    container_->use_max_key_size(limit);
    options_.max_key_size = container_->max_key_size();
  }
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
  groups_before_ = descriptor_.cluster_groups.size();
  was_resumed_ = true;
  committed_ = counts();
  committed_at_ = Clock::now();
}

std::vector<std::uint64_t> DataSetSink::write_pages(std::span<const container::PagePart> pages,
                                                    container::ClusterWriteState& cluster) {
  check_process();
  const std::shared_lock writing(container_mutex_);
  return container_->write_pages(pages, cluster);
}

std::vector<std::uint64_t> DataSetSink::begin_pages(std::span<const container::PagePart> pages,
                                                    container::ClusterWriteState& cluster,
                                                    std::shared_ptr<container::PageBytes> memory) {
  check_process();
  const std::shared_lock writing(container_mutex_);
  return container_->begin_pages(pages, cluster, std::move(memory));
}

void DataSetSink::retry(bool waits) {
  check_process();
  const std::shared_lock writing(container_mutex_);
  container_->retry(waits);
}

container::WriteContainer::CopiedRanges DataSetSink::copy_ranges(
    const io::RandomAccessFile& from, std::span<const container::FileRange> ranges) {
  check_process();
  const std::shared_lock writing(container_mutex_);
  return container_->copy_ranges(from, ranges);
}

void DataSetSink::link(AttributeSetRecord record) {
  const std::lock_guard lock(mutex_);
  std::erase_if(descriptor_.attribute_sets,
                [&](const AttributeSetRecord& each) { return each.name == record.name; });
  descriptor_.attribute_sets.push_back(std::move(record));
  links_changed_ = true;
}

bool DataSetSink::checkpoints() const noexcept {
  return options_.checkpoint_every.clusters > 0 || options_.checkpoint_every.seconds > 0;
}

// A linked data set is committed as often as the one that checkpoints. Without the option, callers may commit
// as often, or continue a data set as often.
bool DataSetSink::merges_groups() const noexcept {
  return checkpoints() || is_linked_ || footer_ || was_resumed_;
}

DataSetSink::DescriptorCounts DataSetSink::counts() const noexcept {
  return {descriptor_.clusters.size(), descriptor_.fields.size(), descriptor_.columns.size(),
          descriptor_.aliases.size(), descriptor_.type_infos.size()};
}

bool DataSetSink::checkpoint_due() const {
  if (!checkpoints()) return false;
  // Journal records are useless for columns that no footer describes.
  const DescriptorCounts before = committed_.value_or(DescriptorCounts{.fields = descriptor_.header_fields});
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

void DataSetSink::add(ClusterDescriptor cluster, std::size_t number) {
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
  if (number != any_number) {
    placed_.resize(std::max(placed_.size(), number + 1));
    std::vector<Placed>& own = placed_[number];
    own.push_back(
        {own.empty() ? 0 : own.back().own + own.back().entries, cluster.first_entry, cluster.entries});
  }
  descriptor_.clusters.push_back(std::move(cluster));
  if (checkpoints() && container_->keeps_journal()) {
    // Pages without checksums must be in the file before a record refers to them: repair cannot check
    // them.
    if (options_.page_checksums == Checksums::off) container_->flush();
    const Bytes record = journal_record(descriptor_, descriptor_.clusters.size() - 1, run_, compression_);
    container_->write_at_end(record, record.size());
  }
  if (checkpoint_due()) return checkpoint();
  if (descriptor_.clusters.size() - grouped_clusters_ >= options_.clusters_per_group) group_clusters();
}

void DataSetSink::add_cluster(ClusterDescriptor cluster, std::size_t number) {
  check_process();
  const std::lock_guard lock(mutex_);
  add(std::move(cluster), number);
}

std::span<const DataSetSink::Placed> DataSetSink::placed(std::size_t number) const noexcept {
  return number < placed_.size() ? std::span<const Placed>(placed_[number]) : std::span<const Placed>();
}

void DataSetSink::stage_cluster(std::size_t number, ClusterDescriptor cluster) {
  check_process();
  const std::lock_guard lock(mutex_);
  staged_.resize(std::max(staged_.size(), number + 1));
  staged_entries_ += cluster.entries;
  staged_[number].push_back(std::move(cluster));
}

void DataSetSink::add_staged() {
  for (std::size_t number = 0; number < staged_.size(); ++number) {
    // A checkpoint may fail behind each of them.
    std::vector<ClusterDescriptor>& staged = staged_[number];
    while (!staged.empty()) {
      ClusterDescriptor cluster = std::move(staged.front());
      staged.erase(staged.begin());
      staged_entries_ -= cluster.entries;
      add(std::move(cluster), number);
    }
  }
}

void DataSetSink::commit_staged() {
  check_process();
  const std::lock_guard lock(mutex_);
  add_staged();
}

void DataSetSink::write_group(std::size_t first_cluster, std::size_t count) {
  const format::EnvelopeBytes list = format::write_page_list(descriptor_, first_cluster, count);
  ClusterGroup group;
  group.min_entry = descriptor_.clusters[first_cluster].first_entry;
  for (std::size_t i = first_cluster; i < first_cluster + count; ++i)
    group.entry_span += descriptor_.clusters[i].entries;
  group.clusters = static_cast<std::uint32_t>(count);
  group.page_list = {.length = list.bytes.size(), .locator = write_envelope(list.bytes)};
  descriptor_.cluster_groups.push_back(group);
  grouped_clusters_ = first_cluster + count;
}

// Makes one group of the clusters without a group.
void DataSetSink::group_clusters() {
  if (const std::size_t count = descriptor_.clusters.size() - grouped_clusters_; count > 0)
    write_group(grouped_clusters_, count);
}

// Like group_clusters(), but includes the last groups: those that are less than twice as large as what
// follows them, or all of this run, within the maximum size of a group. Checkpoints then leave about as many
// groups as the logarithm of the number of clusters, and rewrite each page list about as often. So do runs.
void DataSetSink::merge_groups(bool all) {
  std::vector<ClusterGroup>& groups = descriptor_.cluster_groups;
  std::size_t count = descriptor_.clusters.size() - grouped_clusters_;
  std::size_t kept = groups.size();
  while (kept > 0) {
    const std::size_t before = groups[kept - 1].clusters;
    const bool is_small = before < 2 * count || (all && kept > groups_before_);
    if (before + count > options_.clusters_per_group || !is_small) break;
    count += before;
    --kept;
  }
  if (count == 0 || (kept + 1 == groups.size() && grouped_clusters_ == descriptor_.clusters.size())) return;
  // Written before any state changes: it may fail, and another thread may continue.
  write_group(descriptor_.clusters.size() - count, count);
  const ClusterGroup merged = groups.back();
  groups.pop_back();
  for (std::size_t i = kept; i < groups.size(); ++i) container_->retire_blob(groups[i].page_list.locator);
  groups.resize(kept);
  groups.push_back(merged);
  groups_before_ = std::min(groups_before_, kept);
}

bool DataSetSink::has_groups_to_merge() const noexcept {
  const std::vector<ClusterGroup>& groups = descriptor_.cluster_groups;
  const std::size_t count = groups.size();
  return merges_groups() && count >= groups_before_ + 2 &&
         groups[count - 1].clusters + groups[count - 2].clusters <= options_.clusters_per_group;
}

bool DataSetSink::keeps_journal() const noexcept {
  return (checkpoints() || was_resumed_) && container_->keeps_journal();
}

Locator DataSetSink::write_footer(bool is_last) {
  const format::EnvelopeBytes footer = format::write_footer(descriptor_);
  descriptor_.anchor.footer_length = footer.bytes.size();
  AlignedBuffer block;
  codec::compress(compression_, footer.bytes, block);
  const std::size_t size = block.size();
  if (!keeps_journal()) return container_->write_blob(block.span(), footer.bytes.size());
  const Bytes blob =
      footer_blob(descriptor_, {.run = run_, .is_last = is_last}, block.span(), container_->max_key_size());
  // The first footer of a run makes the file longer, so that no other run begins at the same size.
  const std::uint64_t length = footer.bytes.size() + blob.size() - size;
  Locator locator = footer_ ? container_->write_blob(blob, length) : container_->write_at_end(blob, length);
  locator.size = size;
  return locator;
}

// Existing data are not replaced by an empty data set: more entries are to come.
void DataSetSink::checkpoint() {
  if (container_->replaces() && (descriptor_.clusters.empty() || options_.replace_at_close)) return;
  commit(false);
}

void DataSetSink::commit(bool is_last) {
  is_half_committed_ = true;
  commit_linked(is_last);
  merges_groups() ? merge_groups(is_last) : group_clusters();
  const Locator locator = write_footer(is_last);
  // Object stores manage their footers themselves.
  if (footer_ && container_->keeps_journal()) container_->retire_blob(*footer_);
  footer_ = locator;
  descriptor_.anchor.footer_offset = locator.offset;
  descriptor_.anchor.footer_size = locator.size;
  {
    const std::unique_lock alone(container_mutex_);
    container_->commit(descriptor_.anchor);
  }
  committed_ = counts();
  links_changed_ = is_half_committed_ = false;
  committed_at_ = Clock::now();
}

// ---- Linked data sets

WriteOptions DataSetSink::options_of_linked() const {
  WriteOptions options = options_;
  options.checkpoint_every = {};  // its clusters are committed with those of this data set
  options.description.clear();
  // A copy limits pages to those of its source, which may be very small.
  constexpr std::size_t usual_page = std::size_t{64} << 10;
  options.max_page_size =
      std::max(options.max_page_size,
               static_cast<std::size_t>(std::min<std::uint64_t>(usual_page, container_->max_key_size() / 2)));
  return options;
}

std::shared_ptr<DataSetSink> DataSetSink::make_linked() const {
  auto linked = std::make_shared<DataSetSink>(std::make_unique<container::LinkedWriter>(*container_),
                                              options_of_linked());
  linked->is_linked_ = true;
  return linked;
}

container::LinkedWriter& DataSetSink::as_linked() const noexcept {
  return static_cast<container::LinkedWriter&>(*container_);
}

void DataSetSink::link(const std::string& name, std::shared_ptr<DataSetSink> linked,
                       std::function<void()> flush) {
  const std::lock_guard lock(mutex_);
  for (const AttributeSetRecord& record : descriptor_.attribute_sets)
    if (record.name == name)
      linked->as_linked().replace({record.anchor, record.anchor_length}, linked->descriptor_.anchor);
  linked_.push_back({name, std::move(linked), std::move(flush)});
  Anchor& anchor = descriptor_.anchor;  // a continued data set may predate such links
  if (anchor.major == 0 && anchor.minor == 0) anchor.minor = 1;
}

bool DataSetSink::has_linked(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(linked_.begin(), linked_.end(), [&](const Linked& each) { return each.name == name; });
}

std::shared_ptr<DataSetSink> DataSetSink::open_linked(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(linked_, name, &Linked::name);
  return found == linked_.end() || found->flush ? nullptr : found->sink;
}

void DataSetSink::more_to(std::string_view name, std::function<void()> flush) {
  const std::lock_guard lock(mutex_);
  std::ranges::find(linked_, name, &Linked::name)->flush = std::move(flush);
}

void DataSetSink::flush_linked() const {
  for (const Linked& each : linked_)
    if (each.flush) each.flush();
}

bool DataSetSink::linked_changed() const {
  return std::any_of(linked_.begin(), linked_.end(), [](const Linked& each) {
    const DataSetSink& sink = *each.sink;
    return sink.is_half_committed_ || !sink.committed_ || *sink.committed_ != sink.counts() ||
           sink.has_groups_to_merge();
  });
}

AttributeSetRecord& DataSetSink::record_of(const std::string& name) {
  for (AttributeSetRecord& record : descriptor_.attribute_sets)
    if (record.name == name) return record;
  return descriptor_.attribute_sets.emplace_back(AttributeSetRecord{
      .schema_major = attribute_schema_major, .schema_minor = attribute_schema_minor, .name = name});
}

// Before the footer of this data set, which points to them.
void DataSetSink::commit_linked(bool is_last) {
  flush_linked();
  for (const Linked& each : linked_) {
    DataSetSink& sink = *each.sink;
    {
      const std::lock_guard lock(sink.mutex_);
      // A failed commit may have merged groups whose page lists the old footer names.
      const bool changed = sink.is_half_committed_ || !sink.committed_ || *sink.committed_ != sink.counts();
      if (changed || (is_last && sink.has_groups_to_merge())) sink.commit(is_last);
    }
    const auto& link = sink.as_linked().link();
    AttributeSetRecord& record = record_of(each.name);
    record.anchor = link->anchor;
    record.anchor_length = link->length;
  }
}

void DataSetSink::commit_data_set() {
  check_process();
  const Uninterruptible whole;
  const std::lock_guard lock(mutex_);
  add_staged();
  checkpoint();
}

void DataSetSink::close() {
  check_process();
  const Uninterruptible whole;
  const std::lock_guard lock(mutex_);
  add_staged();
  flush_linked();
  // The end of this run gives up what earlier runs left uncommitted.
  const bool gives_up = was_resumed_ && !footer_;
  if (gives_up || is_half_committed_ || !committed_ || *committed_ != counts() || links_changed_ ||
      has_groups_to_merge() || linked_changed())
    commit(true);
  const std::unique_lock alone(container_mutex_);
  container_->close();
}

void DataSetSink::abandon() noexcept {
  if (!is_of_this_process()) return;
  const Uninterruptible whole;
  try {
    const std::lock_guard lock(mutex_);
    const std::unique_lock alone(container_mutex_);
    container_->abandon();
  } catch (...) {
    return;  // nothing of value is lost
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
