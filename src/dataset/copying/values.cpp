// See values.h.
#include "dataset/copying/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "dataset/schema_walk.h"

namespace colonnade::dataset {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);
constexpr std::uint64_t most_in_a_step = std::uint64_t{32} << 20;   // decoded bytes
constexpr std::uint64_t least_in_a_step = std::uint64_t{64} << 10;  // likewise

// ROOT writes std::array<T,0> without the mark of a fixed-size array, and no elements for it.
bool is_empty_array(const FieldDescriptor& field) {
  return field.role == FieldRole::leaf && field.array_size == 0 &&
         field.type_name.starts_with("std::array<") && field.type_name.ends_with(",0>");
}

std::uint64_t step_for(std::uint64_t bytes_per_entry, std::size_t memory) {
  const std::uint64_t bytes = std::clamp<std::uint64_t>(memory / 8, least_in_a_step, most_in_a_step);
  return std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(bytes_per_entry, 1), 1);
}

}  // namespace

// ---- walking ----

// A field. Positions count from the start of the cluster: values of the field itself, and what they end at in
// what is below it.
struct EntryWalk::Node {
  std::uint32_t field = invalid_id;
  std::size_t parent = none;
  std::uint32_t alternative = 0;  // of the parent, if that is a variant
  FieldRole role = FieldRole::leaf;
  std::uint64_t factor = 1;
  std::size_t first_slot = 0;
  std::vector<std::unique_ptr<page::ColumnReader>> columns;

  std::uint64_t at = 0;             // first value of this step
  std::uint64_t count = 0;          // values in this step
  std::uint64_t end = 0;            // where the items, or characters, of the values so far end
  std::uint64_t end_before = 0;     // likewise, before this step
  std::vector<std::uint64_t> ends;  // of a variant, by alternative
  std::vector<std::uint64_t> ends_before;

  bool counts_others() const noexcept { return role == FieldRole::collection || columns.size() == 2; }
};

EntryWalk::EntryWalk(page::PageSource& source, const std::vector<bool>& fields, const WalkOrder* order)
    : source_(source) {
  for (const std::uint32_t id : order != nullptr ? order->top : source.descriptor().top_level_fields())
    if (fields[id]) add(id, none, 0, fields, order);
}

EntryWalk::~EntryWalk() = default;

void EntryWalk::fail(const Node& node, std::string problem) const {
  ErrorContext where = source_.context();
  where.field = source_.descriptor().path_of(node.field);
  where.cluster = cluster_;
  throw Error(ErrorKind::format, std::move(problem), "", std::move(where));
}

void EntryWalk::add(std::uint32_t id, std::size_t parent, std::uint32_t alternative,
                    const std::vector<bool>& fields, const WalkOrder* order) {
  const FieldDescriptor& field = source_.descriptor().fields[id];
  if (field.source_field || !field.unreadable.empty()) return;
  const std::size_t own = nodes_.size();
  Node& node = *nodes_.emplace_back(std::make_unique<Node>());
  node.field = id;
  node.parent = parent;
  node.alternative = alternative;
  node.role = field.role;
  node.factor = is_empty_array(field) ? 0 : std::max<std::uint64_t>(field.array_size, 1);
  open_columns(node, field);
  if (field.role == FieldRole::variant) node.ends.assign(field.children.size(), 0);
  std::uint32_t number = 0;
  const auto visit = [&](std::uint32_t child) {
    if (fields[child]) add(child, own, number, fields, order);
    ++number;
  };
  if (order != nullptr)
    std::for_each(order->children[id].begin(), order->children[id].end(), visit);
  else
    std::for_each(field.children.begin(), field.children.end(), visit);
}

void EntryWalk::open_columns(Node& node, const FieldDescriptor& field) {
  node.first_slot = slots_.size();
  if (field.representations.empty()) return;
  const Descriptor& descriptor = source_.descriptor();
  const ColumnIds& widest = field.representations[widest_representation(descriptor, field)];
  for (std::size_t k = 0; k < widest.size(); ++k) {
    const ElementType element = element_of(descriptor, descriptor.columns[widest[k]]);
    slots_.push_back({field.id, widest[k], element});
    node.columns.push_back(std::make_unique<page::ColumnReader>(source_, columns_of(field, k), element));
  }
  const ElementType first = slots_[node.first_slot].element;
  const bool is_odd = widest.size() > 2 || (node.counts_others() && first != ElementType::index) ||
                      (node.role == FieldRole::variant && first != ElementType::switch_);
  if (is_odd)
    throw Error(
        ErrorKind::unsupported, "this version cannot walk the field's columns", "",
        {.uri = source_.uri(), .data_set = source_.data_set(), .field = descriptor.path_of(field.id)});
}

std::uint64_t EntryWalk::bytes_of_cluster() {
  std::uint64_t bytes = 0;
  for (const auto& node : nodes_)
    for (std::size_t k = 0; k < node->columns.size(); ++k)
      bytes += node->columns[k]->elements(cluster_) * size_of(slots_[node->first_slot + k].element);
  return bytes;
}

void EntryWalk::enter(std::size_t cluster, std::uint64_t entry) {
  cluster_ = cluster;
  for (const auto& node : nodes_) {
    node->at = node->count = node->end = node->end_before = 0;
    std::fill(node->ends.begin(), node->ends.end(), 0);
  }
  if (entry > 0) skip(entry);
}

// Of the values that come with this step's entries.
std::uint64_t EntryWalk::count_of(const Node& node) const {
  if (node.parent == none) return entries_ * node.factor;
  const Node& parent = *nodes_[node.parent];
  std::uint64_t count = parent.count;
  if (parent.role == FieldRole::collection) count = parent.end - parent.end_before;
  if (parent.role == FieldRole::variant)
    count = parent.ends[node.alternative] - parent.ends_before[node.alternative];
  return count * node.factor;
}

// Reads what counts other things, and that only where it must be.
void EntryWalk::skip(std::uint64_t entries) {
  begin(entries);
  for (const auto& pointer : nodes_) {
    Node& node = *pointer;
    node.count = count_of(node);
    if (node.counts_others() && node.count > 0)
      node.end = node.columns[0]->at<std::uint64_t>(cluster_, node.count - 1);
    for (std::uint64_t i = 0; node.role == FieldRole::variant && i < node.count;) {
      const auto stretch = node.columns[0]->map(cluster_, i);
      const auto* const switches = static_cast<const SwitchElement*>(stretch.data);
      for (; i < std::min(stretch.first + stretch.count, node.count); ++i) {
        const SwitchElement& value = switches[i - stretch.first];
        if (value.tag > node.ends.size()) fail(node, fmt::format("there is no alternative {}", value.tag));
        if (value.tag > 0) node.ends[value.tag - 1] = std::max(node.ends[value.tag - 1], value.index + 1);
      }
    }
  }
}

void EntryWalk::begin(std::uint64_t entries) {
  entries_ = entries;
  node_ = next_column_ = 0;
  for (const auto& node : nodes_) {
    node->at += node->count;
    node->count = 0;
    node->end_before = node->end;
    node->ends_before = node->ends;
  }
}

EntryWalk::Values EntryWalk::read(Node& node, std::size_t number, std::uint64_t first, std::uint64_t count) {
  const std::size_t slot = node.first_slot + number;
  page::ColumnReader& reader = *node.columns[number];
  const std::uint64_t elements = reader.elements(cluster_);
  // Before anybody makes room for them.
  if (count > elements || first > elements - count)
    fail(node,
         fmt::format("values {} to {} are needed, but the cluster has {}", first, first + count, elements));
  values_.resize(static_cast<std::size_t>(count) * size_of(slots_[slot].element));
  reader.read(cluster_, first, count, values_.data());
  return {slot, values_.data(), count};
}

void EntryWalk::take_ends(Node& node, const Values& values) {
  auto* const ends = static_cast<std::uint64_t*>(static_cast<void*>(values.data));
  for (std::uint64_t i = 0; i < values.count; ++i) {
    if (ends[i] < node.end)
      fail(node, fmt::format("a collection ends at {} before it starts at {}", ends[i], node.end));
    node.end = ends[i];
    ends[i] -= node.end_before;
  }
}

void EntryWalk::take_switches(Node& node, const Values& values) {
  auto* const switches = static_cast<SwitchElement*>(static_cast<void*>(values.data));
  for (std::uint64_t i = 0; i < values.count; ++i) {
    SwitchElement& value = switches[i];
    value.padding = 0;
    if (value.tag == 0) {
      value.index = 0;
      continue;
    }
    if (value.tag > node.ends.size()) fail(node, fmt::format("there is no alternative {}", value.tag));
    const std::uint64_t before = node.ends_before[value.tag - 1];
    if (value.index < before)
      fail(node, fmt::format("alternative {} goes back to value {}", value.tag, value.index));
    node.ends[value.tag - 1] = std::max(node.ends[value.tag - 1], value.index + 1);
    value.index -= before;
  }
}

std::optional<EntryWalk::Values> EntryWalk::next() {
  for (; node_ < nodes_.size(); ++node_, next_column_ = 0) {
    Node& node = *nodes_[node_];
    if (next_column_ == 0) node.count = count_of(node);
    if (next_column_ == node.columns.size()) continue;
    const std::size_t number = next_column_++;
    if (number > 0) return read(node, number, node.end_before, node.end - node.end_before);
    const Values values = read(node, 0, node.at, node.count);
    if (node.counts_others()) take_ends(node, values);
    if (node.role == FieldRole::variant) take_switches(node, values);
    return values;
  }
  return std::nullopt;
}

std::uint64_t EntryWalk::below(std::uint32_t field) const {
  if (field == invalid_id) return entries_;
  for (const auto& node : nodes_)
    if (node->field == field)
      return node->role == FieldRole::collection ? node->end - node->end_before : node->count;
  return 0;
}

// ---- copying ----

struct ValueCopy::Target {
  page::ColumnWriter* writer = nullptr;
  // Where the items of what was put into the open cluster end.
  std::uint64_t end = 0;
  std::vector<std::uint64_t> ends;  // of a variant, by tag
  std::uint64_t offset = 0;         // set_offset()
  bool is_suppressed = false;
};

ValueCopy::ValueCopy(std::shared_ptr<page::DataSetSink> sink, const Descriptor& schema,
                     const ValueCopyOptions& options)
    : options_(options), sink_(std::make_unique<page::PageSink>(std::move(sink))) {
  for (const ColumnDescriptor& column : schema.columns) {
    auto target = std::make_unique<Target>();
    target->writer = &sink_->add_column(column.id, element_of(schema, column));
    targets_.push_back(std::move(target));
  }
  // A data set that is there may have several representations: values go to the widest.
  for (const FieldDescriptor& field : schema.fields)
    for (std::size_t i = 0; !field.source_field && i < field.representations.size(); ++i)
      for (const std::uint32_t column : field.representations[i])
        targets_[column]->is_suppressed = i != widest_representation(schema, field);
}

ValueCopy::~ValueCopy() = default;

void ValueCopy::put(Target& target, const EntryWalk::Values& values) {
  const ElementType element = target.writer->element();
  if (element == ElementType::index && values.count > 0) {
    auto* const ends = static_cast<std::uint64_t*>(static_cast<void*>(values.data));
    for (std::uint64_t i = 0; i < values.count; ++i) ends[i] += target.end;
    target.end = ends[values.count - 1];
  } else if (element == ElementType::switch_) {
    auto* const switches = static_cast<SwitchElement*>(static_cast<void*>(values.data));
    const std::vector<std::uint64_t> before = target.ends;
    for (std::uint64_t i = 0; i < values.count; ++i) {
      SwitchElement& value = switches[i];
      if (value.tag == 0) continue;
      if (value.tag >= target.ends.size()) target.ends.resize(value.tag + std::size_t{1});
      if (value.tag < before.size()) value.index += before[value.tag];
      target.ends[value.tag] = std::max(target.ends[value.tag], value.index + 1);
    }
  }
  if (target.offset != 0) {
    auto* const numbers = static_cast<std::uint64_t*>(static_cast<void*>(values.data));
    for (std::uint64_t i = 0; i < values.count; ++i) numbers[i] += target.offset;
  }
  target.writer->append(values.data, values.count);
}

void ValueCopy::set_offset(std::uint32_t column, std::uint64_t offset) {
  Target& target = *targets_.at(column);
  if (target.writer->element() != ElementType::uint64)
    throw Error(ErrorKind::usage, fmt::format("column {} does not hold 64-bit numbers", column));
  target.offset = offset;
}

// Ends of collections stay where they are, so that those that are added are empty.
void ValueCopy::put_zeros(Target& target, std::uint64_t count) {
  constexpr std::uint64_t most = 4096;
  const ElementType element = target.writer->element();
  alignas(SwitchElement) std::array<std::byte, most * sizeof(SwitchElement)> zeros{};
  while (count > 0) {
    const std::uint64_t step = std::min(count, most);
    if (element == ElementType::index) {
      auto* const ends = static_cast<std::uint64_t*>(static_cast<void*>(zeros.data()));
      std::fill_n(ends, step, target.end);
    }
    target.writer->append(zeros.data(), step);
    count -= step;
  }
}

// Entries that the open cluster still has room for.
std::uint64_t ValueCopy::room(std::uint64_t bytes_per_entry) const {
  const WriteOptions& options = sink_->options();
  const double guess = sink_->compression().algorithm == codec::Algorithm::none ? 1 : 2;
  const double ratio = compressed_total_ > 0
                           ? static_cast<double>(uncompressed_total_) / static_cast<double>(compressed_total_)
                           : guess;
  const double target = std::min(static_cast<double>(options.approximate_cluster_size) * ratio,
                                 static_cast<double>(options.max_uncompressed_cluster_size));
  const double filled = static_cast<double>(sink_->uncompressed_bytes() + sink_->open_bytes());
  if (filled >= target) return 0;
  return static_cast<std::uint64_t>((target - filled) /
                                    static_cast<double>(std::max<std::uint64_t>(bytes_per_entry, 1))) +
         1;
}

bool ValueCopy::copy(page::PageSource& source, const CopySchema& schema, std::uint64_t first_entry,
                     const std::function<bool()>& goes_on) {
  EntryWalk walk(source, schema.fields);
  const Descriptor& from = source.descriptor();
  for (std::size_t c = 0; c < from.clusters.size(); ++c) {
    const ClusterDescriptor& cluster = from.clusters[c];
    if (cluster.entries == 0 || cluster.first_entry + cluster.entries <= first_entry) continue;
    std::uint64_t at = first_entry > cluster.first_entry ? first_entry - cluster.first_entry : 0;
    walk.enter(c, at);
    const std::uint64_t bytes_per_entry = walk.bytes_of_cluster() / cluster.entries + 1;
    while (at < cluster.entries) {
      std::uint64_t step = std::min(step_for(bytes_per_entry, options_.memory), cluster.entries - at);
      if (!options_.keep_clusters) {
        const std::uint64_t fits = room(bytes_per_entry);
        if (fits == 0) {
          write_cluster();
          continue;
        }
        step = std::min(step, fits);
      }
      walk.begin(step);
      while (const auto values = walk.next()) {
        const std::uint32_t column = schema.target_of[walk.slots()[values->slot].column];
        put(*targets_[column], *values);
      }
      for (const ZeroColumn& zeros : schema.zeros)
        if (zeros.factor > 0) put_zeros(*targets_[zeros.column], walk.below(zeros.parent) * zeros.factor);
      at += step;
      open_entries_ += step;
      if (!goes_on()) return false;
    }
    if (options_.keep_clusters) write_cluster();
  }
  return true;
}

void ValueCopy::finish() {
  if (open_entries_ > 0) write_cluster();
}

void ValueCopy::write_cluster() {
  sink_->flush_columns();
  uncompressed_total_ += sink_->uncompressed_bytes();
  compressed_total_ += sink_->sealed_bytes();
  bytes_written_ += sink_->sealed_bytes();
  ClusterDescriptor cluster = sink_->write_cluster(open_entries_);
  for (std::size_t i = 0; i < targets_.size(); ++i)
    cluster.columns[i].suppressed = targets_[i]->is_suppressed;
  for (const ColumnRange& range : cluster.columns) pages_ += range.pages.size();
  sink_->data_set().add_cluster(std::move(cluster));
  entries_ += std::exchange(open_entries_, 0);
  for (const auto& target : targets_) {
    target->end = 0;
    target->ends.clear();
  }
}

// ---- comparing ----

namespace {

// One side of a comparison: where it is, and how far its cluster goes.
class Side {
 public:
  Side(page::PageSource& source, const std::vector<bool>& fields, const WalkOrder* order, std::uint64_t first)
      : source_(source), walk_(source, fields, order), at_(first) {}

  // Entries left in the cluster of the next entry, and their decoded bytes each.
  std::uint64_t left() {
    if (at_ >= end_) {
      const Descriptor& descriptor = source_.descriptor();
      const std::size_t cluster = descriptor.cluster_of_entry(at_);
      const ClusterDescriptor& found = descriptor.clusters.at(cluster);
      walk_.enter(cluster, at_ - found.first_entry);
      end_ = found.first_entry + found.entries;
      bytes_per_entry_ = walk_.bytes_of_cluster() / found.entries + 1;
    }
    return end_ - at_;
  }
  std::uint64_t bytes_per_entry() const noexcept { return bytes_per_entry_; }
  void begin(std::uint64_t entries) {
    walk_.begin(entries);
    at_ += entries;
  }
  EntryWalk& walk() noexcept { return walk_; }

 private:
  page::PageSource& source_;
  EntryWalk walk_;
  std::uint64_t at_;
  std::uint64_t end_ = 0;
  std::uint64_t bytes_per_entry_ = 0;
};

template <class Real>
bool same_reals(const std::byte* left, const std::byte* right, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, left += sizeof(Real), right += sizeof(Real)) {
    if (std::memcmp(left, right, sizeof(Real)) == 0) continue;
    Real a{};
    Real b{};
    std::memcpy(&a, left, sizeof(Real));
    std::memcpy(&b, right, sizeof(Real));
    if (!std::isnan(a) || !std::isnan(b)) return false;
  }
  return true;
}

// Real numbers are the same if both are NaN, too: Real16 does not keep which NaN it is.
bool same_elements(ElementType element, const EntryWalk::Values& left, const EntryWalk::Values& right) {
  const std::uint64_t count = left.count;
  if (count == 0 || std::memcmp(left.data, right.data, count * size_of(element)) == 0) return true;
  if (element == ElementType::float32) return same_reals<float>(left.data, right.data, count);
  if (element == ElementType::float64) return same_reals<double>(left.data, right.data, count);
  return false;
}

}  // namespace

bool compare_values(const ComparedEntries& entries, std::size_t memory,
                    const std::function<bool(std::uint64_t)>& goes_on) {
  Side from(entries.source, entries.schema.fields, nullptr, entries.first);
  const std::vector<bool> all(entries.target.descriptor().fields.size(), true);
  Side to(entries.target, all, entries.schema.is_mapped ? &entries.schema.order : nullptr,
          entries.target_first);
  const auto differ = [&](std::size_t slot, std::uint64_t entry) {
    ErrorContext where = entries.target.context();
    if (slot < to.walk().slots().size())
      where.field = entries.target.descriptor().path_of(to.walk().slots()[slot].field);
    throw Error(
        ErrorKind::format,
        fmt::format("the copy differs from its source: other values in the entries from {} on", entry),
        "copy it again", std::move(where));
  };
  for (std::uint64_t done = 0; done < entries.count;) {
    std::uint64_t step = std::min({from.left(), to.left(), entries.count - done});
    step = std::min(step, step_for(std::max(from.bytes_per_entry(), to.bytes_per_entry()), memory));
    from.begin(step);
    to.begin(step);
    while (true) {
      const auto expected = from.walk().next();
      const auto found = to.walk().next();
      if (!expected && !found) break;
      if (!expected || !found || expected->count != found->count)
        differ(found ? found->slot : expected->slot, entries.target_first + done);
      const ElementType element = to.walk().slots()[found->slot].element;
      if (size_of(from.walk().slots()[expected->slot].element) != size_of(element) ||
          !same_elements(element, *expected, *found))
        differ(found->slot, entries.target_first + done);
    }
    done += step;
    if (!goes_on(done)) return false;
  }
  return true;
}

}  // namespace colonnade::dataset
