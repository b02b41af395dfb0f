// The graph of a DataFrame. Python threads may share it: calls take turns, and release the interpreter lock
// while they run.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/process.h"
#include "colonnade/error.h"
#include "frame/executor/kept_cursors.h"
#include "frame/graph/graph.h"
#include "frame/joins/join.h"
#include "frame_python.h"
#include "interruptible.h"
#include "register.h"
#include "text.h"
#include "watcher.h"

namespace nb = nanobind;

namespace colonnade::python {

namespace {

using frame::Graph, frame::NodeId, frame::ResultId;
using Texts = nb::typed<nb::list, nb::str>;
using FilterCounts = std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>;

Texts texts(const std::vector<std::string>& strings) {
  nb::list list;
  for (const std::string& each : strings) list.append(text(each));
  return Texts(std::move(list));
}

class PyKeptCursors {
 public:
  explicit PyKeptCursors(std::shared_ptr<frame::KeptCursors> cursors) : cursors_(std::move(cursors)) {}
  PyKeptCursors(PyKeptCursors&&) noexcept = default;
  PyKeptCursors& operator=(PyKeptCursors&&) = delete;
  // What is on its way is waited for.
  ~PyKeptCursors() {
    if (!cursors_) return;
    const nb::gil_scoped_release released;
    cursors_.reset();
  }

  frame::KeptCursors* get() const noexcept { return cursors_.get(); }

 private:
  std::shared_ptr<frame::KeptCursors> cursors_;
};

class PyGraph {
  // Results and nodes dropped by Python.
  struct Dropped {
    std::vector<NodeId> nodes;
    std::vector<ResultId> results;
    bool empty() const { return nodes.empty() && results.empty(); }
  };

 public:
  explicit PyGraph(std::shared_ptr<frame::Source> source)
      : graph_(std::make_unique<Graph>(std::move(source))) {}
  explicit PyGraph(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}
  ~PyGraph() {
    if (is_left()) leave_to_parent(graph_);
  }
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;

  // remake(payload, columns) returns the Definition of a callable; may_use(uri, writes) tells whether the
  // plan may read or write it. None: no callables; any URI.
  static std::unique_ptr<PyGraph> from_plan(const std::string& plan, nb::object remake, nb::object may_use) {
    std::vector<KeptObjects> kept;
    frame::PlanRights rights;
    if (!remake.is_none())
      rights.remake = [&](const std::string& payload, const std::vector<std::string>& columns) {
        const nb::gil_scoped_acquire held;
        const auto made = nb::cast<PyDefinition>(remake(text(payload), columns));
        kept.push_back(made.kept);
        return made.definition;
      };
    if (!may_use.is_none())
      rights.may_use = [&](const std::string& uri, bool writes) {
        const nb::gil_scoped_acquire held;
        return nb::cast<bool>(may_use(text(uri), writes));
      };
    std::unique_ptr<Graph> graph;
    {
      const nb::gil_scoped_release released;
      graph = Graph::from_json(plan, rights);
    }
    auto made = std::make_unique<PyGraph>(std::move(graph));
    for (const KeptObjects& objects : kept) made->keep(objects);
    return made;
  }

  template <class Work>
  auto locked(Work&& work) {
    refuse_inside_callable();
    const Interruptible released;
    const Turn turn(*this);
    return work(*graph_);
  }

  // Drops a result or a node: at once, or when the thread that uses the graph is done with it. May be called
  // by destructors in Python, possibly on this thread in the middle of another call.
  void drop(ResultId result) { note({{}, {result}}); }
  void release(NodeId node) { note({{node}, {}}); }
  void note(const Dropped& dropped) {
    if (is_left()) return;
    {
      const std::lock_guard noting(dropped_mutex_);
      dropped_.nodes.insert(dropped_.nodes.end(), dropped.nodes.begin(), dropped.nodes.end());
      dropped_.results.insert(dropped_.results.end(), dropped.results.begin(), dropped.results.end());
    }
    if (user_.load() == std::this_thread::get_id() || !mutex_.try_lock()) return;
    const Turn turn(*this, std::adopt_lock);
  }

  // Adds a node, which keeps the objects of its definition alive.
  template <class Work>
  NodeId add(const PyDefinition& definition, Work&& work) {
    const NodeId node = locked(std::forward<Work>(work));
    keep(definition.kept);
    return node;
  }
  void keep(const KeptObjects& objects) {
    if (objects) kept_.emplace_back(objects);
  }
  std::vector<KeptObjects> kept() {
    std::vector<KeptObjects> alive;
    std::erase_if(kept_, [](const auto& objects) { return objects.expired(); });
    for (const auto& objects : kept_) alive.push_back(objects.lock());
    return alive;
  }

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    for (const auto& objects : nb::inst_ptr<PyGraph>(self)->kept())
      for (const KeptObject& object : *objects) Py_VISIT(object->ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    // Destructors may call this function again; the lists must not contain the dropped objects by then.
    std::vector<nb::object> dropped;
    for (const auto& objects : nb::inst_ptr<PyGraph>(self)->kept())
      for (const KeptObject& object : *objects) dropped.push_back(std::move(*object));
    return 0;
  }

  static frame::RunReport run(std::vector<PyGraph*> graphs, unsigned threads, nb::object progress) {
    refuse_inside_callable();
    // Each once, and always in the same order, to avoid deadlocks between threads that run several.
    std::sort(graphs.begin(), graphs.end());
    graphs.erase(std::unique(graphs.begin(), graphs.end()), graphs.end());
    Watcher watcher(std::move(progress));
    try {
      const Interruptible released;
      std::deque<Turn> turns;
      std::vector<Graph*> raw;
      for (PyGraph* each : graphs) {
        turns.emplace_back(*each);
        raw.push_back(each->graph_.get());
      }
      return Graph::run(raw, {.threads = threads, .progress = std::ref(watcher)});
    } catch (const Error&) {
      watcher.rethrow();
      throw;
    }
  }

  // Books a result and computes it alone, of some entries, in one turn: a pass of another thread would
  // compute what is booked of all entries.
  ResultId run_step(NodeId node, const frame::ResultSpec& request, std::uint64_t first, std::uint64_t last,
                    unsigned threads, frame::KeptCursors* cursors) {
    Watcher watcher{nb::none()};
    try {
      frame::RunOptions options;
      options.threads = threads;
      options.progress = std::ref(watcher);
      options.cursors = cursors;
      return locked([&](Graph& g) {
        const ResultId result = g.book(node, request);
        try {
          g.run_step(result, first, last, options);
        } catch (...) {
          drop(result);
          throw;
        }
        return result;
      });
    } catch (const Error&) {
      watcher.rethrow();
      throw;
    }
  }

 private:
  // While one lives, its thread has exclusive use of the graph. Objects dropped meanwhile are removed at the
  // end, and freed once other threads may use the graph: freeing may run Python code.
  class Turn {
   public:
    explicit Turn(PyGraph& graph) : Turn(locked(graph), std::adopt_lock) {}
    Turn(PyGraph& graph, std::adopt_lock_t) : graph_(graph) {
      graph.user_ = std::this_thread::get_id();
      graph.user_process_ = ::getpid();
    }
    ~Turn() {
      do {
        Graph::Garbage freed;
        const auto free = [&freed](Graph::Garbage more) {
          freed.insert(freed.end(), more.begin(), more.end());
        };
        const Dropped dropped = graph_.take_dropped();
        for (const ResultId result : dropped.results) free(graph_.graph_->forget(result));
        for (const NodeId node : dropped.nodes) free(graph_.graph_->release(node));
        graph_.user_process_ = 0;
        graph_.user_ = std::thread::id();
        graph_.mutex_.unlock();
      } while (graph_.has_dropped() && graph_.mutex_.try_lock());
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    static PyGraph& locked(PyGraph& graph) {
      if (graph.is_left())
        throw Error(ErrorKind::usage,
                    "another thread was computing with this data frame while the process was forked",
                    "make another one in the child, or fork while no thread computes");
      graph.mutex_.lock();
      return graph;
    }

    PyGraph& graph_;
  };
  // True if the fork interrupted a thread of the parent, which left the graph half changed.
  bool is_left() const noexcept {
    const pid_t process = user_process_;
    return process != 0 && process != ::getpid();
  }
  bool has_dropped() {
    const std::lock_guard noting(dropped_mutex_);
    return !dropped_.empty();
  }
  Dropped take_dropped() {
    const std::lock_guard noting(dropped_mutex_);
    return std::exchange(dropped_, {});
  }

  static void refuse_inside_callable() {
    if (InsideCallable::here())
      throw Error(ErrorKind::usage, "a callable of a DataFrame cannot use a DataFrame while it is run",
                  "a result computed before, as a number that the callable uses");
  }

  std::unique_ptr<Graph> graph_;
  std::vector<std::weak_ptr<std::vector<KeptObject>>> kept_;  // kept by the graph
  std::mutex mutex_;
  std::atomic<std::thread::id> user_;
  std::atomic<pid_t> user_process_ = 0;  // 0: no thread uses the graph
  std::mutex dropped_mutex_;
  Dropped dropped_;  // still in the graph
};

void register_nodes(nb::class_<PyGraph>& graph) {
  graph
      .def(
          "define",
          [](PyGraph& self, NodeId parent, const std::string& name, const PyDefinition& definition) {
            return self.add(definition,
                            [&](Graph& g) { return g.define(parent, name, definition.definition); });
          },
          nb::arg("parent"), nb::arg("name"), nb::arg("definition"))
      .def(
          "add_function",
          [](PyGraph& self, const std::string& name, const PyDefinition& definition) {
            self.locked([&](Graph& g) { g.add_function(name, definition.definition); });
            self.keep(definition.kept);
          },
          nb::arg("name"), nb::arg("definition"), "A function that expressions may call from now on.")
      .def(
          "join",
          [](PyGraph& self, NodeId parent, frame::Join& join, const frame::JoinedColumns& wanted) {
            return self.add({frame::Definition(std::string())},
                            [&](Graph& g) { return join.add_to(g, parent, wanted); });
          },
          nb::arg("parent"), nb::arg("join"), nb::arg("wanted"))
      .def(
          "redefine",
          [](PyGraph& self, NodeId parent, const std::string& name, const PyDefinition& definition) {
            return self.add(definition,
                            [&](Graph& g) { return g.redefine(parent, name, definition.definition); });
          },
          nb::arg("parent"), nb::arg("name"), nb::arg("definition"))
      .def(
          "alias",
          [](PyGraph& self, NodeId parent, const std::string& name, const std::string& column) {
            return self.locked([&](Graph& g) { return g.alias(parent, name, column); });
          },
          nb::arg("parent"), nb::arg("name"), nb::arg("column"))
      .def(
          "filter",
          [](PyGraph& self, NodeId parent, const PyDefinition& condition, const std::string& name) {
            return self.add(condition,
                            [&](Graph& g) { return g.filter(parent, condition.definition, name); });
          },
          nb::arg("parent"), nb::arg("condition"), nb::arg("name"))
      .def(
          "filter_available",
          [](PyGraph& self, NodeId parent, const std::string& column) {
            return self.locked([&](Graph& g) { return g.filter_available(parent, column); });
          },
          nb::arg("parent"), nb::arg("column"))
      .def(
          "filter_missing",
          [](PyGraph& self, NodeId parent, const std::string& column) {
            return self.locked([&](Graph& g) { return g.filter_missing(parent, column); });
          },
          nb::arg("parent"), nb::arg("column"))
      .def(
          "default_value_for",
          [](PyGraph& self, NodeId parent, const std::string& column, const PyDefinition& value) {
            return self.add(value,
                            [&](Graph& g) { return g.default_value_for(parent, column, value.definition); });
          },
          nb::arg("parent"), nb::arg("column"), nb::arg("value"))
      .def(
          "range",
          [](PyGraph& self, NodeId parent, std::uint64_t begin, std::uint64_t end, std::uint64_t stride) {
            return self.locked([&](Graph& g) { return g.range(parent, begin, end, stride); });
          },
          nb::arg("parent"), nb::arg("begin"), nb::arg("end"), nb::arg("stride"))
      .def(
          "vary",
          [](PyGraph& self, NodeId parent, const std::vector<std::string>& columns,
             const PyDefinition& values, const std::vector<std::string>& tags, const std::string& name) {
            return self.add(values,
                            [&](Graph& g) { return g.vary(parent, columns, values.definition, tags, name); });
          },
          nb::arg("parent"), nb::arg("columns"), nb::arg("values"), nb::arg("tags"), nb::arg("name"));
}

void register_bookings(nb::class_<PyGraph>& graph) {
  graph
      .def(
          "book",
          [](PyGraph& self, NodeId node, const std::string& kind, const std::vector<std::string>& arguments,
             const std::string& options) {
            return self.locked([&](Graph& g) { return g.book(node, {kind, arguments, options}); });
          },
          nb::arg("node"), nb::arg("kind"), nb::arg("arguments"), nb::arg("options"))
      .def(
          "book_accumulator",
          [](PyGraph& self, NodeId node, const std::vector<std::string>& arguments,
             const std::shared_ptr<Accumulator>& accumulator) {
            const ResultId result =
                self.locked([&](Graph& g) { return g.book(node, arguments, accumulator); });
            self.keep(kept_by(*accumulator));
            return result;
          },
          nb::arg("node"), nb::arg("arguments"), nb::arg("accumulator"))
      .def(
          "report",
          [](PyGraph& self, NodeId node) { return self.locked([&](Graph& g) { return g.report(node); }); },
          nb::arg("node"))
      .def(
          "vary_result",
          [](PyGraph& self, ResultId result) {
            return texts(self.locked([&](Graph& g) { return g.vary_result(result); }));
          },
          nb::arg("result"))
      .def(
          "is_ready",
          [](PyGraph& self, ResultId result) {
            return self.locked([&](Graph& g) { return g.is_ready(result); });
          },
          nb::arg("result"))
      .def(
          "is_failed",
          [](PyGraph& self, ResultId result) {
            return self.locked([&](Graph& g) { return g.is_failed(result); });
          },
          nb::arg("result"), "Whether it made a pass fail.")
      .def(
          "retry", [](PyGraph& self, ResultId result) { self.locked([&](Graph& g) { g.retry(result); }); },
          nb::arg("result"), "Take up again what made a pass fail.")
      .def("drop", &PyGraph::drop, nb::arg("result"),
           "Give a result up, at once or after the pass that runs.")
      .def("release", &PyGraph::release, nb::arg("node"),
           "Give a node up, which goes when nothing stands on it; at once or after the pass that runs.")
      .def(
          "value",
          [](PyGraph& self, ResultId result, const std::string& variation) {
            return self.locked([&](Graph& g) { return g.value(result, variation); });
          },
          nb::arg("result"), nb::arg("variation"))
      .def(
          "python_value",
          [](PyGraph& self, ResultId result, const std::string& variation) {
            return python_state(*self.locked([&](Graph& g) { return &g.accumulator(result, variation); }));
          },
          nb::arg("result"), nb::arg("variation"), "The state of a result that Python code computes.")
      .def(
          "report_value",
          [](PyGraph& self, ResultId result, const std::string& variation) {
            FilterCounts counts;
            for (const auto& each : self.locked([&](Graph& g) { return g.report_value(result, variation); }))
              counts.emplace_back(each.name, each.all, each.passed);
            return counts;
          },
          nb::arg("result"), nb::arg("variation"), "Name, entries, passed.");
}

void register_questions(nb::class_<PyGraph>& graph) {
  using List = std::vector<std::string> (Graph::*)(NodeId) const;
  const auto list = [&graph](const char* name, List list) {
    graph.def(
        name,
        [list](PyGraph& self, NodeId node) {
          return texts(self.locked([&](Graph& g) { return (g.*list)(node); }));
        },
        nb::arg("node"));
  };
  list("column_names", &Graph::column_names);
  list("defined_column_names", &Graph::defined_column_names);
  list("filter_names", &Graph::filter_names);
  list("variation_names", &Graph::variation_names);
  graph
      .def(
          "names_above",
          [](PyGraph& self, NodeId node) {
            std::vector<std::tuple<std::string, Texts, Texts, Texts>> found;
            for (const frame::NodeNames& each : self.locked([&](Graph& g) { return g.names_above(node); }))
              found.emplace_back(each.kind, texts({each.name}), texts(each.columns), texts(each.tags));
            return found;
          },
          nb::arg("node"),
          "Of filters, ranges, aliases and variations above: kind (filter, filter_available, filter_missing, "
          "range, alias, vary), [name], columns, tags.")
      .def(
          "column_type",
          [](PyGraph& self, NodeId node, const std::string& expression) {
            return self.locked([&](Graph& g) { return g.column_type(node, expression); });
          },
          nb::arg("node"), nb::arg("expression"))
      .def(
          "kept_columns",
          [](PyGraph& self, NodeId node, const std::vector<std::string>& expressions,
             const std::vector<std::pair<std::string, PyValues>>& columns) {
            std::vector<frame::NamedValues> kept;
            for (const auto& [name, values] : columns) {
              const std::string& expression = expressions.at(kept.size());
              kept.push_back({name, values.values,
                              self.locked([&](Graph& g) { return g.stored_field(node, expression); })});
            }
            return frame::array_source(std::move(kept));
          },
          nb::arg("node"), nb::arg("expressions"), nb::arg("columns"),
          "A source of computed columns, which knows the fields that they come from.")
      .def(
          "has_column",
          [](PyGraph& self, NodeId node, const std::string& name) {
            return self.locked([&](Graph& g) { return g.has_column(node, name); });
          },
          nb::arg("node"), nb::arg("name"))
      .def(
          "is_taken",
          [](PyGraph& self, NodeId node, const std::string& name) {
            return self.locked([&](Graph& g) { return g.is_taken(node, name); });
          },
          nb::arg("node"), nb::arg("name"),
          "Whether a new column cannot have the name: there is a column, or a field that cannot be one.")
      .def(
          "describe",
          [](PyGraph& self, NodeId node) {
            return text(self.locked([&](Graph& g) { return g.describe(node); }));
          },
          nb::arg("node"))
      .def_prop_ro(
          "last_costs",
          [](PyGraph& self) {
            nb::list lines;
            for (const frame::PassCost& each : self.locked([](Graph& g) { return g.last_costs(); }))
              lines.append(nb::make_tuple(static_cast<int>(each.kind), text(each.what), text(each.name),
                                          text(each.text), each.rows, each.rows_left, each.bytes,
                                          each.seconds));
            return nb::typed<nb::list, nb::typed<nb::tuple, int, nb::str, nb::str, nb::str, int,
                                                 std::optional<int>, int, double>>(std::move(lines));
          },
          "Of the last pass: kind (column, node, result, other), what, name, text, rows, rows left, bytes, "
          "seconds.")
      .def("dot", [](PyGraph& self) { return text(self.locked([](Graph& g) { return g.dot(); })); })
      .def(
          "dot_above",
          [](PyGraph& self, NodeId node) {
            return text(self.locked([&](Graph& g) { return g.dot_above(node); }));
          },
          nb::arg("node"))
      .def(
          "dot_above_result",
          [](PyGraph& self, ResultId result) {
            return text(self.locked([&](Graph& g) { return g.dot_above_result(result); }));
          },
          nb::arg("result"))
      .def("to_json", [](PyGraph& self) { return text(self.locked([](Graph& g) { return g.to_json(); })); })
      .def_prop_ro(
          "counts",
          [](PyGraph& self) {
            const frame::GraphCounts counts = self.locked([](Graph& g) { return g.counts(); });
            nb::dict found;
            found["nodes"] = counts.nodes;
            found["columns"] = counts.columns;
            found["results"] = counts.results;
            found["selections"] = counts.selections;
            found["expressions"] = counts.expressions;
            return nb::typed<nb::dict, nb::str, int>(std::move(found));
          },
          "How many there are, for tests.")
      .def(
          "run_step",
          [](PyGraph& self, NodeId node, const std::string& kind, const std::vector<std::string>& arguments,
             const std::string& options, std::uint64_t first, std::uint64_t last, unsigned threads,
             PyKeptCursors* cursors) {
            return self.run_step(node, {kind, arguments, options}, first, last, threads,
                                 cursors == nullptr ? nullptr : cursors->get());
          },
          nb::arg("node"), nb::arg("kind"), nb::arg("arguments"), nb::arg("options"), nb::arg("first"),
          nb::arg("last"), nb::arg("threads"), nb::arg("cursors") = nb::none(),
          "Compute a result alone, of some entries; returns its number.")
      .def(
          "keep_cursors",
          [](PyGraph& self) { return PyKeptCursors(self.locked([](Graph& g) { return g.keep_cursors(); })); },
          "For run_step() over stretches that follow each other from the first entry on.")
      .def(
          "parts",
          [](PyGraph& self) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
            for (const frame::Part& part : self.locked([](Graph& g) { return g.parts(); }))
              parts.emplace_back(part.first, part.last);
            return parts;
          },
          "First entry and the one behind the last of the parts that passes go through.")
      .def(
          "part_bytes", [](PyGraph& self) { return self.locked([](Graph& g) { return g.part_bytes(); }); },
          "About how many stored bytes of each part is needed for what is booked and not computed.")
      .def(
          "is_after_range",
          [](PyGraph& self, NodeId node) {
            return self.locked([node](Graph& g) { return g.is_after_range(node); });
          },
          nb::arg("node"))
      .def_prop_ro("passes", [](PyGraph& self) { return self.locked([](Graph& g) { return g.passes(); }); })
      .def(
          "restrict_entries",
          [](PyGraph& self, std::uint64_t first, std::uint64_t last) {
            self.locked([&](Graph& g) { g.restrict_entries(first, last); });
          },
          nb::arg("first"), nb::arg("last"))
      .def(
          "set_stretch",
          [](PyGraph& self, std::uint64_t first, std::uint64_t last,
             const std::vector<std::tuple<NodeId, std::string, std::uint64_t>>& reached) {
            std::vector<Graph::Reached> before;
            for (const auto& [range, variation, rows] : reached) before.push_back({range, variation, rows});
            self.locked([&](Graph& g) { g.set_stretch(first, last, before); });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("reached"),
          "Look at some of the entries alone; `reached` ranges behind filters so many rows before.")
      .def(
          "set_block_entries",
          [](PyGraph& self, std::uint32_t entries) {
            self.locked([&](Graph& g) { g.set_block_entries(entries); });
          },
          nb::arg("entries"))
      .def(
          "save_results",
          [](PyGraph& self) {
            const auto saved = self.locked([](Graph& g) { return g.save_results(); });
            return nb::bytes(saved.data(), saved.size());
          },
          "What is computed, for a graph of the same plan that computed it for other entries.")
      .def(
          "plan",
          [](PyGraph& self, const std::optional<std::vector<NodeId>>& nodes) {
            return text(self.locked([&](Graph& g) { return g.plan(nodes); }));
          },
          nb::arg("nodes").none(),
          "What results at these nodes need, or all nodes, with an index of the files.")
      .def_static("from_plan", &PyGraph::from_plan, nb::arg("plan"), nb::arg("remake").none(),
                  nb::arg("may_use").none(),
                  nb::sig("def from_plan(plan: str, remake: collections.abc.Callable[[str, list[str]], "
                          "Definition] | None, may_use: collections.abc.Callable[[str, bool], bool] | None) "
                          "-> FrameGraph"),
                  "The graph of a plan, without results.")
      .def("begin_anew", [](PyGraph& self) { self.locked([](Graph& g) { g.begin_anew(); }); })
      .def(
          "save_result",
          [](PyGraph& self, ResultId result, std::uint64_t slice, std::uint64_t of) {
            const auto saved = self.locked([&](Graph& g) { return g.save_result(result, slice, of); });
            return nb::bytes(saved.data(), saved.size());
          },
          nb::arg("result"), nb::arg("slice") = 0, nb::arg("of") = 1)
      .def(
          "slices_of",
          [](PyGraph& self, ResultId result, std::uint64_t bytes) {
            return self.locked([&](Graph& g) { return g.slices_of(result, bytes); });
          },
          nb::arg("result"), nb::arg("bytes"), "How many slices of about so many bytes a result is saved in.")
      .def(
          "merge_result",
          [](PyGraph& self, ResultId result, const nb::bytes& saved) {
            const std::span bytes(static_cast<const std::byte*>(saved.data()), saved.size());
            self.locked([&](Graph& g) { g.merge_result(result, bytes); });
          },
          nb::arg("result"), nb::arg("saved"))
      .def(
          "merge_results",
          [](PyGraph& self, const nb::bytes& saved) {
            const std::span bytes(static_cast<const std::byte*>(saved.data()), saved.size());
            self.locked([&](Graph& g) { g.merge_results(bytes); });
          },
          nb::arg("saved"));
}

}  // namespace

void register_frame_graph(nb::module_& module) {
  nb::class_<frame::PassProgress>(module, "PassProgress", "How far a pass is.")
      .def_ro("entries", &frame::PassProgress::entries)
      .def_ro("total", &frame::PassProgress::total)
      .def_ro("bytes", &frame::PassProgress::bytes)
      .def_ro("seconds", &frame::PassProgress::seconds)
      .def_ro("cache_bytes", &frame::PassProgress::cache_bytes);
  nb::class_<frame::RunReport>(module, "RunReport", "What a pass did.")
      .def_ro("progress", &frame::RunReport::progress)
      .def_ro("metrics", &frame::RunReport::metrics)
      .def_ro("parts", &frame::RunReport::parts)
      .def_ro("blocks", &frame::RunReport::blocks)
      .def_ro("threads", &frame::RunReport::threads)
      .def_ro("workers", &frame::RunReport::workers, "Threads that went through at least one part.");
  PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&PyGraph::traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(&PyGraph::clear)},
                         {0, nullptr}};
  nb::class_<PyKeptCursors>(module, "KeptCursors",
                            "What reads ahead between steps; freed when the last of them is done.");
  nb::class_<PyGraph> graph(module, "FrameGraph", nb::type_slots(slots), "The lazy plan of a DataFrame.");
  graph.def(nb::init<std::shared_ptr<frame::Source>>(), nb::arg("source"));
  register_nodes(graph);
  register_bookings(graph);
  register_questions(graph);
  module.def("run_graphs", &PyGraph::run, nb::arg("graphs"), nb::arg("threads"), nb::arg("progress").none(),
             nb::sig("def run_graphs(graphs: collections.abc.Sequence[FrameGraph], threads: int, progress: "
                     "collections.abc.Callable[[PassProgress], bool] | None) -> RunReport"),
             "Compute all that is booked and not ready; progress(how far) returns False to stop.");
}

void register_frame(nb::module_& module) {
  register_frame_values(module);
  register_frame_callables(module);
  register_frame_sources(module);
  register_frame_results(module);
  register_frame_graph(module);
}

}  // namespace colonnade::python
