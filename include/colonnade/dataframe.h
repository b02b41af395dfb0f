// DataFrame: declarative analysis of columns on all cores, with results that do not depend on how many.
//
//   colonnade::DataFrame df("Events", "f*.root", {.threads = 2});
//   auto two = df.filter("nMuon == 2", "two muons")
//                  .define("m", [](std::span<const float> pt, std::span<const float> eta) { ... },
//                          {"Muon_pt", "Muon_eta"});
//   auto mass = two.histo1d({"mass", "Dimuon mass", 100, 0, 200}, "m");
//   auto count = two.count();
//   *count;  // one pass over the files computes everything that was booked
//
// Every column argument may be an expression: "sqrt(x*x + y*y)", "Muon_pt[Muon_eta < 2.4]". Names, types and
// arities are checked when a node is made; errors suggest similar names.
//
// The argument types of a function say how it gets columns: numbers, bool and enumerations (converted as C++
// does), std::string_view or std::string, lists as std::span<const T>, std::vector<T>, RVec<T> or
// std::array<T, N>, records as plain structs with members of the same names; and it returns any of these.
// Functions run on several threads at once, and are compiled into the loop over a block of entries.
//
// A DataFrame is a node of a graph that its copies and its results share and keep alive; one thread at a time
// uses the graph. Results are computed when they are first read. A pass that fails or is cancelled throws,
// and may be repeated. Everything throws colonnade::Error; exceptions of user functions pass through.
#ifndef COLONNADE_DATAFRAME_H
#define COLONNADE_DATAFRAME_H

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "colonnade/detail/frame_accumulators.h"
#include "colonnade/detail/frame_call.h"
#include "colonnade/detail/frame_graph.h"
#include "colonnade/detail/frame_result.h"
#include "colonnade/frame_results.h"
#include "colonnade/options.h"

namespace colonnade {

class DataFrame {
 public:
  using Names = std::vector<std::string>;

  // `uris` may hold globs; `name` may be empty if every file has exactly one data set. Throws
  // ErrorKind::not_found, io, format, schema.
  DataFrame(const std::string& name, const std::string& uri, const FrameOptions& options = {})
      : DataFrame(name, Names{uri}, options) {}
  DataFrame(const std::string& name, const char* uri, const FrameOptions& options = {})
      : DataFrame(name, Names{uri}, options) {}
  DataFrame(const std::string& name, std::initializer_list<std::string> uris,
            const FrameOptions& options = {})
      : DataFrame(name, Names(uris), options) {}
  DataFrame(const std::string& name, const Names& uris, const FrameOptions& options = {})
      : graph_(detail::open_frame(name, uris, options)) {}
  // A number of entries without columns, for rdfentry_ and columns defined from it.
  explicit DataFrame(std::uint64_t entries, const FrameOptions& options = {})
      : graph_(detail::empty_frame(entries, options)) {}

  // ---- Columns. `name` must be new; for redefine it must exist, and later nodes see the new values.

  DataFrame define(const std::string& name, const std::string& expression) const {
    return with(detail::frame_define(*graph_, node_, How::define, name, {expression, {}, {}}));
  }
  template <detail::FrameFunction F>
  DataFrame define(const std::string& name, F function, Names columns = {}) const {
    return with(detail::frame_define(*graph_, node_, How::define, name,
                                     detail::definition_of(std::move(function), std::move(columns))));
  }
  // The function's first argument is the number of the thread, less than their number.
  template <detail::FrameFunction F>
  DataFrame define_slot(const std::string& name, F function, Names columns = {}) const {
    columns.insert(columns.begin(), "rdfslot_");
    return define(name, std::move(function), std::move(columns));
  }
  // The function's first two arguments are the thread's number and the entry's number.
  template <detail::FrameFunction F>
  DataFrame define_slot_entry(const std::string& name, F function, Names columns = {}) const {
    columns.insert(columns.begin(), {"rdfslot_", "rdfentry_"});
    return define(name, std::move(function), std::move(columns));
  }
  // A function of (const SampleInfo&) or (unsigned slot, const SampleInfo&), called once per file; or an
  // expression over rdfsampleinfo_, and over no column.
  template <detail::FrameFunction F>
  DataFrame define_per_sample(const std::string& name, F function) const {
    return with(
        detail::frame_define(*graph_, node_, How::define, name,
                             detail::sample_definition(std::move(function), detail::frame_samples(*graph_))));
  }
  DataFrame define_per_sample(const std::string& name, const std::string& expression) const {
    return with(detail::frame_define(*graph_, node_, How::define, name, {expression, {}, {}, true}));
  }

  DataFrame redefine(const std::string& name, const std::string& expression) const {
    return with(detail::frame_define(*graph_, node_, How::redefine, name, {expression, {}, {}}));
  }
  template <detail::FrameFunction F>
  DataFrame redefine(const std::string& name, F function, Names columns = {}) const {
    return with(detail::frame_define(*graph_, node_, How::redefine, name,
                                     detail::definition_of(std::move(function), std::move(columns))));
  }
  template <detail::FrameFunction F>
  DataFrame redefine_per_sample(const std::string& name, F function) const {
    return with(
        detail::frame_define(*graph_, node_, How::redefine, name,
                             detail::sample_definition(std::move(function), detail::frame_samples(*graph_))));
  }
  DataFrame redefine_per_sample(const std::string& name, const std::string& expression) const {
    return with(detail::frame_define(*graph_, node_, How::redefine, name, {expression, {}, {}, true}));
  }

  DataFrame alias(const std::string& name, const std::string& column) const {
    return with(detail::frame_alias(*graph_, node_, name, column));
  }
  // The value of `column` in files that lack it: an expression, such as "-1".
  DataFrame default_value_for(const std::string& column, const std::string& expression) const {
    return with(detail::frame_define(*graph_, node_, How::default_value, column, {expression, {}, {}}));
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  DataFrame default_value_for(const std::string& column, T value) const {
    return with(detail::frame_define(*graph_, node_, How::default_value, column,
                                     detail::definition_of([value] { return value; }, {})));
  }

  // Other values of a column, one per tag: "{pt * 0.9, pt * 1.1}" or a function that returns a vector with
  // one item per tag. The variations are called name:tag, and everything that depends on the column has a
  // value for each of them, see variations_for. The default name is that of the column.
  DataFrame vary(const std::string& column, const std::string& expression, Names tags,
                 const std::string& name = {}) const {
    return with(detail::frame_vary(*graph_, node_, {column}, {expression, {}, {}}, std::move(tags), name));
  }
  template <detail::FrameFunction F>
  DataFrame vary(const std::string& column, F function, Names arguments, Names tags,
                 const std::string& name = {}) const {
    return with(detail::frame_vary(*graph_, node_, {column},
                                   detail::definition_of(std::move(function), std::move(arguments)),
                                   std::move(tags), name));
  }
  // Several columns that vary together: "{{x * 0.9, x * 1.1}, {y * 0.9, y * 1.1}}", or a function that
  // returns a vector with one vector per column.
  DataFrame vary(Names columns, const std::string& expression, Names tags, const std::string& name) const {
    return with(
        detail::frame_vary(*graph_, node_, std::move(columns), {expression, {}, {}}, std::move(tags), name));
  }
  template <detail::FrameFunction F>
  DataFrame vary(Names columns, F function, Names arguments, Names tags, const std::string& name) const {
    return with(detail::frame_vary(*graph_, node_, std::move(columns),
                                   detail::definition_of(std::move(function), std::move(arguments)),
                                   std::move(tags), name));
  }

  // {"x", "y"} is a list of names, although it would also match a string constructor.
  DataFrame vary(std::initializer_list<std::string> columns, const std::string& expression, Names tags,
                 const std::string& name) const {
    return vary(Names(columns), expression, std::move(tags), name);
  }
  template <detail::FrameFunction F>
  DataFrame vary(std::initializer_list<std::string> columns, F function, Names arguments, Names tags,
                 const std::string& name) const {
    return vary(Names(columns), std::move(function), std::move(arguments), std::move(tags), name);
  }

  // ---- Rows

  DataFrame filter(const std::string& condition, const std::string& name = {}) const {
    return with(detail::frame_define(*graph_, node_, How::filter, name, {condition, {}, {}}));
  }
  template <detail::FrameFunction F>
  DataFrame filter(F function, Names columns, const std::string& name = {}) const {
    return with(detail::frame_define(*graph_, node_, How::filter, name,
                                     detail::definition_of(std::move(function), std::move(columns))));
  }
  // Keeps the entries of files that have the column, or of those that lack it.
  DataFrame filter_available(const std::string& column) const {
    return with(detail::frame_available(*graph_, node_, column, true));
  }
  DataFrame filter_missing(const std::string& column) const {
    return with(detail::frame_available(*graph_, node_, column, false));
  }
  // Keeps the rows numbered begin, begin + stride, ... below end (0: no end) among those that arrive
  // here.
  DataFrame range(std::uint64_t begin, std::uint64_t end, std::uint64_t stride = 1) const {
    return with(detail::frame_range(*graph_, node_, begin, end, stride));
  }
  DataFrame range(std::uint64_t end) const { return range(0, end); }

  // Adds the columns of another data set to the rows whose keys match one of its entries. Keys are integers;
  // `on` names pairs of an expression here and a column there, or columns that both have. Rows without a
  // match are dropped, unless `options.left` is set. "Name_entry" is the number of the matching entry, or -1.
  // See docs/joins.md. Throws ErrorKind::type for keys of other types, and what define() throws.
  DataFrame join(const std::string& name, const Names& uris, const std::vector<JoinKey>& on,
                 const JoinOptions& options = {}) const {
    return with(detail::frame_join(*graph_, node_, name, uris, on, options));
  }
  DataFrame join(const std::string& name, const std::string& uri, const std::vector<JoinKey>& on,
                 const JoinOptions& options = {}) const {
    return join(name, Names{uri}, on, options);
  }
  DataFrame join(const std::string& name, const char* uri, const std::vector<JoinKey>& on,
                 const JoinOptions& options = {}) const {
    return join(name, Names{uri}, on, options);
  }

  // ---- Results. Lists count item by item, except in take, display, snapshot, aggregate and similar results.

  Result<std::uint64_t> count() const { return book_spec<std::uint64_t>("count", {}); }
  // min, max, mean and stddev of nothing are NaN. T is double, std::int64_t or std::uint64_t; reading a value
  // that the integer cannot hold throws ErrorKind::conversion, and digits after the point are cut off.
  template <class T = double>
  Result<T> sum(const std::string& column) const {
    return book_number<T>("sum", column);
  }
  template <class T = double>
  Result<T> min(const std::string& column) const {
    return book_number<T>("min", column);
  }
  template <class T = double>
  Result<T> max(const std::string& column) const {
    return book_number<T>("max", column);
  }
  Result<double> mean(const std::string& column) const { return book_spec<double>("mean", {column}); }
  Result<double> stddev(const std::string& column) const { return book_spec<double>("stddev", {column}); }
  Result<Statistics> stats(const std::string& column, const std::string& weight = {}) const {
    return book_spec<Statistics>("stats", with_weight({column}, weight));
  }

  Result<Histogram> histo1d(const HistogramModel& model, const std::string& x,
                            const std::string& weight = {}) const {
    return histond(model, {x}, weight);
  }
  Result<Histogram> histo1d(const std::string& x, const std::string& weight = {}) const {
    return histond({x, x, {Axis()}}, {x}, weight);
  }
  Result<Histogram> histo2d(const HistogramModel& model, const std::string& x, const std::string& y,
                            const std::string& weight = {}) const {
    return histond(model, {x, y}, weight);
  }
  Result<Histogram> histo3d(const HistogramModel& model, const std::string& x, const std::string& y,
                            const std::string& z, const std::string& weight = {}) const {
    return histond(model, {x, y, z}, weight);
  }
  Result<Histogram> histond(const HistogramModel& model, const Names& columns,
                            const std::string& weight = {}) const {
    return book_spec<Histogram>(
        "histogram", with_weight(columns, weight),
        detail::histogram_options(model.name, model.title, model.axes, !weight.empty()));
  }
  // The mean of `value` in bins of x, or of x and y.
  Result<Profile> profile1d(const HistogramModel& model, const std::string& x, const std::string& value,
                            const std::string& weight = {}) const {
    return profile(model, {x, value}, weight);
  }
  Result<Profile> profile2d(const HistogramModel& model, const std::string& x, const std::string& y,
                            const std::string& value, const std::string& weight = {}) const {
    return profile(model, {x, y, value}, weight);
  }
  // Points in entry order; with errors (low and high, of x and of y).
  Result<Graph> graph(const std::string& x, const std::string& y) const {
    return book_spec<Graph>("graph", {x, y}, detail::graph_options(y, y, 0));
  }
  Result<Graph> graph_asymm_errors(const std::string& x, const std::string& y, const std::string& x_low,
                                   const std::string& x_high, const std::string& y_low,
                                   const std::string& y_high) const {
    return book_spec<Graph>("graph", {x, y, x_low, x_high, y_low, y_high}, detail::graph_options(y, y, 4));
  }
  // The values of a column, in entry order.
  template <class T>
  Result<std::vector<T>> take(const std::string& column) const;
  // The first rows as text; of all columns that can be shown, if none are named.
  Result<DisplayValue> display(Names columns = {}, unsigned rows = 5) const;
  // The cut flow of the filters before this node, or of all filters if this is the DataFrame itself.
  Result<Report> report() const;

  // Each part of the entries starts from a copy of `initial`. add(state, value) and merge(state, later)
  // change the state or return the new one. Parts are merged in entry order.
  template <class State, class Add, class Merge>
  Result<State> aggregate(Add add, Merge merge, const std::string& column, State initial = {}) const;
  // Joins the values by function(a, b) -> T, in entry order; `initial` must be its neutral element.
  template <detail::FrameFunction F>
  auto reduce(F function, const std::string& column,
              typename detail::Signature<F>::Result initial = {}) const {
    using T = typename detail::Signature<F>::Result;
    return aggregate<T>([function](const T& a, const T& b) -> T { return function(a, b); }, function, column,
                        std::move(initial));
  }
  // Copies of `object` get object.fill(x, ...) for every row, with columns as values of type Columns;
  // object.merge(other) joins them in entry order.
  template <class... Columns, class Object>
  Result<Object> fill(Object object, const Names& columns) const;
  // A user-defined accumulator, see colonnade/accumulator.h.
  template <std::derived_from<Accumulator> A>
  Result<A> book(std::shared_ptr<A> accumulator, const Names& columns) const {
    return {graph_, detail::frame_book(*graph_, node_, columns, std::move(accumulator)),
            &fetch_accumulator<A>};
  }

  // ---- Immediate actions

  // Calls function(x, ...) for every row, in entry order and one at a time.
  template <detail::FrameFunction F>
  void foreach (F function, const Names& columns) const {
    for_each(std::move(function), columns, true);
  }
  // Calls function(slot, x, ...) for every row, on all threads at once; each slot is one thread at a time.
  template <detail::FrameFunction F>
  void foreach_slot(F function, Names columns) const {
    columns.insert(columns.begin(), "rdfslot_");
    for_each(std::move(function), columns, false);
  }
  // Writes columns (all that can be written, if none are named) in entry order, and returns a DataFrame over
  // them. Throws what a writer throws.
  DataFrame snapshot(const std::string& name, const std::string& uri, const Names& columns = {},
                     const WriteOptions& options = {}, WriteMode mode = WriteMode::recreate) const;
  // The same, as part of the next pass.
  Result<frame::SnapshotValue> snapshot_later(const std::string& name, const std::string& uri,
                                              const Names& columns = {}, const WriteOptions& options = {},
                                              WriteMode mode = WriteMode::recreate) const;
  // A DataFrame over these columns, kept in memory.
  DataFrame cache(const Names& columns = {}) const {
    return DataFrame(detail::cached_frame(*graph_, node_, columns));
  }

  // ---- Queries

  Names column_names() const { return detail::frame_column_names(*graph_, node_); }
  Names defined_column_names() const { return detail::frame_defined_column_names(*graph_, node_); }
  bool has_column(const std::string& name) const { return detail::frame_has_column(*graph_, node_, name); }
  // As C++ spells it: "float", "std::vector<float>".
  std::string column_type(const std::string& expression) const {
    return detail::frame_column_type(*graph_, node_, expression).name();
  }
  Names filter_names() const { return detail::frame_filter_names(*graph_, node_); }
  Names variation_names() const { return detail::frame_variation_names(*graph_, node_); }
  std::string describe() const { return detail::frame_describe(*graph_, node_); }
  // The whole graph for Graphviz. With a path, writes a file: drawn by Graphviz (.svg, .png, .pdf), or as
  // text (.dot).
  std::string save_graph() const { return detail::frame_dot(*graph_); }
  void save_graph(const std::string& path) const;
  // The number of passes over the entries so far.
  unsigned passes() const noexcept { return detail::frame_passes(*graph_); }

 private:
  using How = detail::DefineHow;

  explicit DataFrame(detail::FrameGraphPtr graph, detail::NodeId node = 0)
      : graph_(std::move(graph)), node_(node), held_(detail::frame_hold(graph_, node)) {}
  DataFrame with(detail::NodeId node) const { return DataFrame(graph_, node); }

  static Names with_weight(Names columns, const std::string& weight) {
    if (!weight.empty()) columns.push_back(weight);
    return columns;
  }
  template <class T>
  static std::shared_ptr<const T> fetch_spec(const detail::FrameGraph& graph, detail::ResultId id,
                                             std::string_view variation) {
    return std::make_shared<const T>(detail::frame_value<T>(graph, id, variation));
  }
  template <class T>
  Result<T> book_spec(const std::string& kind, Names arguments, const std::string& options = "{}") const {
    return {graph_, detail::frame_book(*graph_, node_, kind, std::move(arguments), options), &fetch_spec<T>};
  }
  template <class T>
  Result<T> book_number(const std::string& kind, const std::string& column) const {
    static_assert(
        std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>,
        "colonnade: results are double, std::int64_t or std::uint64_t");
    return book_spec<T>(kind, {column});
  }
  Result<Profile> profile(const HistogramModel& model, const Names& columns,
                          const std::string& weight) const {
    return book_spec<Profile>(
        "profile", with_weight(columns, weight),
        detail::histogram_options(model.name, model.title, model.axes, !weight.empty(), model.spread));
  }
  template <class A>
  static std::shared_ptr<const A> fetch_accumulator(const detail::FrameGraph& graph, detail::ResultId id,
                                                    std::string_view variation) {
    return std::dynamic_pointer_cast<const A>(detail::frame_accumulator(graph, id, variation));
  }
  // The value of an accumulator of functions.
  template <class A>
  static auto fetch_state(const detail::FrameGraph& graph, detail::ResultId id, std::string_view variation) {
    auto accumulator = detail::frame_accumulator(graph, id, variation);
    const auto& value = static_cast<const A&>(*accumulator).value();
    return std::shared_ptr<const std::remove_cvref_t<decltype(value)>>(std::move(accumulator), &value);
  }
  template <class... A, class State, class Add, class Merge>
  Result<State> book_state(State initial, Add add, Merge merge, const Names& columns) const;
  std::vector<KernelPtr> conversions(const Names& columns, const std::vector<ValueType>& taken) const;
  template <class F>
  void for_each(F function, const Names& columns, bool in_order) const;
  template <class F, class... A>
  std::shared_ptr<Accumulator> each_accumulator(F function, const Names& columns, bool in_order,
                                                detail::Types<A...>) const {
    return std::make_shared<detail::EachAccumulator<F, A...>>(
        std::move(function), conversions(columns, {detail::Cell<A>::type()...}), in_order);
  }

  detail::FrameGraphPtr graph_;
  detail::NodeId node_ = 0;
  std::shared_ptr<const void> held_;  // the node, released with the last DataFrame and result that needs it
};

// ---- Templates

template <class T>
Result<std::vector<T>> DataFrame::take(const std::string& column) const {
  // Checked now, converted once the values exist.
  conversions({column}, {detail::Cell<T>::type()});
  const auto fetch = [](const detail::FrameGraph& graph, detail::ResultId id, std::string_view variation) {
    auto values = std::make_shared<std::vector<T>>();
    const ValuesPtr taken = detail::frame_taken(graph, id, variation);
    const std::string name = "take";
    const auto wanted = detail::Cell<T>::type();
    const auto kernels =
        detail::argument_conversions(std::span(&name, 1), std::span(&taken->type, 1), std::span(&wanted, 1));
    BlockMemory memory;
    const Rows rows{0, taken->size, nullptr};
    const ValuesPtr ready = detail::prepare_argument({memory, rows}, taken, kernels[0].get());
    typename detail::Cell<T>::Reader reader(*ready);
    values->reserve(ready->size);
    for (std::size_t i = 0; i < ready->size; ++i) values->push_back(reader.get(i));
    return std::shared_ptr<const std::vector<T>>(std::move(values));
  };
  return {graph_,
          detail::frame_book(*graph_, node_, "take", {column}, detail::names_options(std::span(&column, 1))),
          +fetch};
}

template <class... A, class State, class Add, class Merge>
Result<State> DataFrame::book_state(State initial, Add add, Merge merge, const Names& columns) const {
  using Kind = detail::StateAccumulator<State, Add, Merge, A...>;
  if (columns.size() != sizeof...(A)) detail::throw_wrong_arity(sizeof...(A), columns.size());
  auto accumulator = std::make_shared<Kind>(std::move(initial), std::move(add), std::move(merge),
                                            conversions(columns, {detail::Cell<A>::type()...}));
  return {graph_, detail::frame_book(*graph_, node_, columns, std::move(accumulator)), &fetch_state<Kind>};
}

namespace detail {
// The second argument of add(state, value).
template <class Arguments>
struct SecondOf;
template <class First, class Second>
struct SecondOf<Types<First, Second>> {
  using Type = Second;
};
// f changes its first argument, or returns the new value.
template <class State, class F, class Value>
void apply_to(State& state, const F& f, const Value& value) {
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, State&, const Value&>>) {
    f(state, value);
  } else {
    state = f(state, value);
  }
}
// The signature of a function whose first argument may be changed.
template <class M>
struct AddSignature;
template <class C, class R, class S, class V>
struct AddSignature<R (C::*)(S, V) const> {
  using Value = std::remove_cvref_t<V>;
};
template <class F>
struct AddValue : AddSignature<decltype(&F::operator())> {};
template <class R, class S, class V>
struct AddValue<R (*)(S, V)> {
  using Value = std::remove_cvref_t<V>;
};
}  // namespace detail

template <class State, class Add, class Merge>
Result<State> DataFrame::aggregate(Add add, Merge merge, const std::string& column, State initial) const {
  using Value = typename detail::AddValue<Add>::Value;
  const auto add_value = [add = std::move(add)](State& state, const Value& value) {
    detail::apply_to(state, add, value);
  };
  const auto merge_later = [merge = std::move(merge)](State& state, const State& later) {
    detail::apply_to(state, merge, later);
  };
  return book_state<Value>(std::move(initial), add_value, merge_later, {column});
}

template <class... Columns, class Object>
Result<Object> DataFrame::fill(Object object, const Names& columns) const {
  static_assert(sizeof...(Columns) > 0, "colonnade: name the types of the columns, fill<double, float>(...)");
  const auto add = [](Object& state, const Columns&... values) { state.fill(values...); };
  const auto merge = [](Object& state, const Object& later) { state.merge(later); };
  return book_state<Columns...>(std::move(object), add, merge, columns);
}

template <class F>
void DataFrame::for_each(F function, const Names& columns, bool in_order) const {
  using Of = detail::Signature<F>;
  if (columns.size() != Of::arity) detail::throw_wrong_arity(Of::arity, columns.size());
  auto accumulator = each_accumulator(std::move(function), columns, in_order, typename Of::Arguments());
  // Removed from the graph again, whether the pass succeeds or not.
  const detail::FrameBooking booking(graph_,
                                     detail::frame_book(*graph_, node_, columns, std::move(accumulator)));
  detail::frame_run(*graph_);
}

}  // namespace colonnade

#endif
