// ParallelWriter: writes one data set from several threads at once, each with a FillContext of its
// own.
//
//   auto model = colonnade::Model::create();
//   model->make_field<float>("pt");
//   auto writer = colonnade::ParallelWriter::recreate(std::move(model), "Events", "f.root");
//   // in each thread
//   auto context = writer->make_fill_context();
//   auto entry = context->make_entry();
//   *entry->ptr<float>("pt") = 1.f;
//   context->fill(*entry);
//   context->close();
//   // when all threads are done
//   writer->close();
//
// Every context has its own columns and open cluster: filling, encoding, compressing and the writing of pages
// run in parallel. Contexts wait for each other only to reserve space in the file, and to add a finished
// cluster to the data set, after its pages are written. The entries of a cluster stay together in the order
// in which they were filled. Clusters follow each other as they are finished; with
// WriteOptions::cluster_order = ClusterOrder::staged all clusters of a context follow each other, contexts in
// the order of their creation, so that the same work gives the same data set in every run.
//
// Each context takes the memory of a Writer: WriteOptions::page_buffer_budget is for one of them.
//
// Checkpoints (WriteOptions::checkpoint_every) are made by the thread that finishes a cluster when one is
// due; the others continue to fill, and wait only if they have pages to write meanwhile. Checkpoints cover
// the clusters that are part of the data set: with staged order none before commit_staged(),
// commit_data_set() or close().
//
// The methods of a ParallelWriter may be called from any thread, those of a FillContext and of entries from
// one at a time. Contexts may be made and closed while others run. A failed write ends the whole writer: all
// later calls in any context report it; what was committed before stays. Fields cannot be added.
#ifndef COLONNADE_PARALLEL_WRITER_H
#define COLONNADE_PARALLEL_WRITER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/columnar.h"
#include "colonnade/entry.h"
#include "colonnade/model.h"
#include "colonnade/options.h"
#include "colonnade/view.h"
#include "colonnade/writer.h"

namespace colonnade {

namespace page {
class DataSetSink;
}

class AttributeSetWriter;

// An attribute set (colonnade/attributes.h) of a data set that is written in parallel; it lives as long as
// the writer. Contexts add its rows, each for entries of their own. Rows stay in memory until the commit that
// makes these entries readable writes them.
class ParallelAttributeSet {
 public:
  ~ParallelAttributeSet();
  ParallelAttributeSet(const ParallelAttributeSet&) = delete;
  ParallelAttributeSet& operator=(const ParallelAttributeSet&) = delete;

  const std::string& name() const noexcept;
  // Makes an entry for the values of a row; callable from any thread.
  std::unique_ptr<Entry> make_entry() const;

 private:
  friend class FillContext;
  friend class ParallelWriter;
  struct Impl;
  ParallelAttributeSet(std::unique_ptr<Model> model, std::string_view name, page::DataSetSink& data_set);
  using Write = std::function<void(AttributeSetWriter&, const IndexRange&)>;
  void add(std::size_t context, const IndexRange& entries, Write write);
  void end() noexcept;
  std::unique_ptr<Impl> impl_;
};

// A context that is destroyed without close() writes its open cluster and reports a failure on standard
// error. While an exception is in flight, it writes nothing.
class FillContext {
 public:
  ~FillContext();
  FillContext(const FillContext&) = delete;
  FillContext& operator=(const FillContext&) = delete;

  // Makes an entry that any context of the writer can fill.
  std::unique_ptr<Entry> make_entry() const;
  void fill(Entry& entry);
  // Appends many entries at once; see Writer::append().
  void append(std::initializer_list<NamedArray> arrays) {
    append(std::span<const NamedArray>(arrays.begin(), arrays.size()));
  }
  void append(std::span<const NamedArray> arrays);
  std::uint64_t num_entries() const noexcept;  // filled through this context so far

  // Adds a row to an attribute set of this writer, for entries of this context, counted from 0. If clusters
  // of other contexts separate these entries in the data set, the row is split into several; staged order
  // keeps them together. If the context discards the entries, their rows are discarded, too. Throws
  // ErrorKind::usage for entries that were not filled through this context.
  void add_attributes(ParallelAttributeSet& set, const IndexRange& entries, std::unique_ptr<Entry> values);
  // The same, with the values of the row as arrays; see Writer::append().
  void add_attributes(ParallelAttributeSet& set, const IndexRange& entries,
                      std::span<const NamedArray> values);

  void flush_columns();     // seals the open pages
  void commit_cluster();    // ends the cluster here and writes it
  void close();             // commits the open cluster and reports every error; no calls may follow
  void discard() noexcept;  // closes without the open cluster
  bool may_close_again() const noexcept;  // see Writer

 private:
  friend class ParallelWriter;
  struct Impl;
  explicit FillContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A writer that is destroyed without close() commits the clusters that its contexts have written, and reports
// a failure on standard error. While an exception is in flight, it commits nothing.
class ParallelWriter {
 public:
  // See Writer. The model's default entry is not used.
  static std::unique_ptr<ParallelWriter> create(std::unique_ptr<Model> model, std::string_view name,
                                                const std::string& uri, const WriteOptions& options = {});
  static std::unique_ptr<ParallelWriter> recreate(std::unique_ptr<Model> model, std::string_view name,
                                                  const std::string& uri, const WriteOptions& options = {});
  static std::unique_ptr<ParallelWriter> add_to(std::unique_ptr<Model> model, std::string_view name,
                                                const std::string& uri, const WriteOptions& options = {});
  ~ParallelWriter();
  ParallelWriter(const ParallelWriter&) = delete;
  ParallelWriter& operator=(const ParallelWriter&) = delete;

  const Model& model() const noexcept;
  std::uint64_t num_entries() const;  // in written clusters of all contexts
  bool replaces() const noexcept;     // see Writer

  // Contexts may outlive the writer, but cannot be filled after that.
  std::unique_ptr<FillContext> make_fill_context();

  // See Writer::add_attribute_set().
  ParallelAttributeSet& add_attribute_set(std::unique_ptr<Model> model, std::string_view name);

  // With staged order: adds the clusters written so far to the data set, in the order in which their contexts
  // were made.
  void commit_staged();
  // Commits what was written so far. The open clusters of contexts are not included.
  void commit_data_set();
  // Commits everything and reports every error. Throws ErrorKind::usage while a context is open, as its
  // thread may not be done. Nothing is lost then: close the context, then the writer.
  void close();
  // Ends without another commit: the file stays as the last checkpoint or commit_data_set() left it.
  void discard() noexcept;
  // See Writer; contexts can then be closed again, too.
  bool may_close_again() const noexcept;

 private:
  friend class FillContext;
  struct Impl;
  static std::unique_ptr<ParallelWriter> make(std::unique_ptr<Model> model, std::string_view name,
                                              const std::string& uri, const WriteOptions& options,
                                              dataset::Target target);
  explicit ParallelWriter(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
