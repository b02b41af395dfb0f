// Attribute sets of a data set that several threads write; see colonnade/parallel_writer.h.
//
//   contexts --rows about their own entries--> waiting --a commit begins: where are these?-->
//   AttributeSetWriter
//
// Only the data set's sink knows the positions of a context's clusters. It requests the rows at each commit,
// with no other thread inside.
#include "colonnade/parallel_writer.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "colonnade/attributes.h"
#include "page/data_set_sink.h"

namespace colonnade {

using Placed = page::DataSetSink::Placed;

namespace {

// The positions of a context's entries; at least one piece, which may be empty.
std::vector<IndexRange> pieces_of(std::span<const Placed> placed, const IndexRange& own) {
  std::vector<IndexRange> pieces;
  const auto after = std::ranges::upper_bound(placed, own.first(), {}, &Placed::own);
  if (after == placed.begin()) return {{0, 0}};  // the context has no entries in the data set
  for (auto part = after - 1; part != placed.end() && part->own <= own.last(); ++part) {
    const std::uint64_t from = std::max(own.first(), part->own) - part->own;
    const std::uint64_t to = std::min(own.last() - part->own, part->entries);
    if (from >= to && (own.size() > 0 || !pieces.empty())) continue;
    if (!pieces.empty() && pieces.back().last() == part->first + from)
      pieces.back() = {pieces.back().first(), part->first + to};
    else
      pieces.emplace_back(part->first + from, part->first + to);
  }
  return pieces;
}

}  // namespace

struct ParallelAttributeSet::Impl {
  struct Row {
    std::size_t context = 0;
    std::size_t number = 0;  // in the order of add()
    IndexRange entries;      // of the context
    Write write;
  };
  struct PlacedRow {
    IndexRange range;
    std::shared_ptr<Row> row;
  };

  // Adds the rows whose entries are all in the data set.
  void flush() {
    const std::lock_guard lock(mutex);
    const auto waits = std::partition(waiting.begin(), waiting.end(), [&](const Row& row) {
      const auto placed = data_set->placed(row.context);
      return row.entries.last() <= (placed.empty() ? 0 : placed.back().own + placed.back().entries);
    });
    for (auto each = waiting.begin(); each != waits; ++each) {
      const auto row = std::make_shared<Row>(std::move(*each));
      for (const IndexRange& piece : pieces_of(data_set->placed(row->context), row->entries))
        ready.push_back({piece, row});
    }
    waiting.erase(waiting.begin(), waits);
    // The order depends on the data set, not on the timing of threads.
    std::ranges::sort(ready, {}, [](const PlacedRow& each) {
      return std::tuple(each.range.first(), each.row->context, each.row->number);
    });
    while (!ready.empty()) {
      // A row that is added before a failure is not added again.
      const PlacedRow next = std::move(ready.front());
      ready.pop_front();
      next.row->write(*writer, next.range);
    }
  }

  page::DataSetSink* data_set = nullptr;
  std::unique_ptr<AttributeSetWriter> writer;
  std::mutex mutex;  // guards the members below
  std::vector<Row> waiting;
  std::deque<PlacedRow> ready;  // in the data set
  std::size_t rows = 0;
};

ParallelAttributeSet::ParallelAttributeSet(std::unique_ptr<Model> model, std::string_view name,
                                           page::DataSetSink& data_set)
    : impl_(std::make_unique<Impl>()) {
  impl_->data_set = &data_set;
  impl_->writer.reset(new AttributeSetWriter(
      std::move(model), name, data_set, nullptr, [&data_set] { return data_set.descriptor().entries(); },
      [impl = impl_.get()] { impl->flush(); }));
}

ParallelAttributeSet::~ParallelAttributeSet() = default;

const std::string& ParallelAttributeSet::name() const noexcept {
  return impl_->writer->name();
}

std::unique_ptr<Entry> ParallelAttributeSet::make_entry() const {
  return impl_->writer->make_entry();
}

void ParallelAttributeSet::add(std::size_t context, const IndexRange& entries, Write write) {
  impl_->data_set->check_process();
  const std::lock_guard lock(impl_->mutex);
  impl_->waiting.push_back({context, impl_->rows++, entries, std::move(write)});
}

void ParallelAttributeSet::end() noexcept {
  impl_->writer->end();
}

}  // namespace colonnade
