// ParallelWriter: one data set being written by several threads at once, each through a FillContext of its
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
// Every context has columns and an open cluster of its own: filling, encoding, compressing and the writing of
// pages go on side by side. What contexts wait for each other with is the reservation of space in the file,
// and the place of a finished cluster in the data set, which it gets after its pages are written. The entries
// of a cluster stay together in the order in which they were filled. Clusters follow each other as they are
// finished; with WriteOptions::cluster_order = ClusterOrder::staged all of one context follow each other,
// contexts in the order in which they were made, so that the same work gives the same data set in every run.
//
// Each context takes the memory of a Writer: WriteOptions::page_buffer_budget is for one of them.
//
// Checkpoints (WriteOptions::checkpoint_every) are made by the thread that finishes a cluster when one is
// due; the others go on filling, and wait only where they have pages to write meanwhile. Checkpoints cover
// the clusters that have their place: with staged order none before commit_staged(), commit_data_set() or
// close().
//
// The methods of a ParallelWriter may be called from any thread, those of a FillContext and of entries from
// one at a time. Contexts may be made and closed while others run. A failed write ends the whole writer:
// every later call in any context says so; what was committed before stays. Fields cannot be added.
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
// the writer. Its rows are added through contexts and are about entries of theirs. They are written with the
// commit after which these entries can be read; until then they are kept in memory.
class ParallelAttributeSet {
 public:
  ~ParallelAttributeSet();
  ParallelAttributeSet(const ParallelAttributeSet&) = delete;
  ParallelAttributeSet& operator=(const ParallelAttributeSet&) = delete;

  const std::string& name() const noexcept;
  // For values; from any thread.
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

// A context that is destroyed without close() writes its open cluster, as far as that works, and reports a
// failure on standard error; it does not while an exception is on its way.
class FillContext {
 public:
  ~FillContext();
  FillContext(const FillContext&) = delete;
  FillContext& operator=(const FillContext&) = delete;

  // May be filled through any context of the writer.
  std::unique_ptr<Entry> make_entry() const;
  void fill(Entry& entry);
  // Many entries at once; as Writer::append().
  void append(std::initializer_list<NamedArray> arrays) {
    append(std::span<const NamedArray>(arrays.begin(), arrays.size()));
  }
  void append(std::span<const NamedArray> arrays);
  std::uint64_t num_entries() const noexcept;  // filled through this context so far

  // A row of an attribute set of this writer about entries of this context, which counts its own from 0 on.
  // Where they are not together in the data set, since clusters of other contexts came between, it becomes
  // several rows; staged order keeps them together. A row about entries that a context gives up is given up,
  // too. Throws ErrorKind::usage for entries that were not filled through this context.
  void add_attributes(ParallelAttributeSet& set, const IndexRange& entries, std::unique_ptr<Entry> values);
  // The values of one row as arrays; see Writer::append().
  void add_attributes(ParallelAttributeSet& set, const IndexRange& entries,
                      std::span<const NamedArray> values);

  void flush_columns();     // seals the open pages
  void commit_cluster();    // ends the cluster here and writes it
  void close();             // commits the open cluster and reports every error; the context takes no more
  void discard() noexcept;  // the same without the open cluster

 private:
  friend class ParallelWriter;
  struct Impl;
  explicit FillContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A writer that is destroyed without close() commits the clusters of its contexts that are written, as far as
// that works, and reports a failure on standard error; it does not commit while an exception is on its way.
class ParallelWriter {
 public:
  // As those of Writer. The model's default entry is not used.
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
  bool replaces() const noexcept;     // as that of Writer

  // Contexts may outlive the writer, but take nothing any more then.
  std::unique_ptr<FillContext> make_fill_context();

  // As Writer::add_attribute_set().
  ParallelAttributeSet& add_attribute_set(std::unique_ptr<Model> model, std::string_view name);

  // With staged order: gives the clusters that were written so far their place in the data set, those of
  // earlier made contexts first.
  void commit_staged();
  // Makes what was written so far readable, then goes on. Clusters that contexts have open are not in it.
  void commit_data_set();
  // Commits everything and reports every error. Throws ErrorKind::usage while a context is open, for the
  // writer cannot know whether its thread is done; nothing is lost then: close the context, then the writer.
  void close();
  // Ends without another commit: the file stays as the last checkpoint or commit_data_set() left it.
  void discard() noexcept;

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
