// Python callables in the graph of a DataFrame: as definitions, and as results.
//
// C++ calls Python once per block; the conversion of Values to the arrays that users' code takes, and of its
// results back, is in Python, too: python/colonnade/frame/callables.py.
#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "base/bytes.h"
#include "colonnade/detail/merge_tree.h"
#include "colonnade/error.h"
#include "frame/expression/text_functions.h"
#include "frame/functions/library.h"
#include "frame/values/values.h"
#include "frame_python.h"
#include "register.h"
#include "text.h"

namespace nb = nanobind;

namespace colonnade::python {
namespace {

nb::list as_list(std::span<const ValuesPtr> values) {
  nb::list list;
  for (const ValuesPtr& each : values) list.append(PyValues{each});
  return list;
}

std::vector<ValuesPtr> spread_all(std::span<const ValuesPtr> values, BlockMemory& memory) {
  std::vector<ValuesPtr> result;
  for (const ValuesPtr& each : values) result.push_back(frame::spread(each, memory));
  return result;
}

// call(arguments, size) returns the Values of a block; per sample call(number of the file, size).
class PyKernel final : public Kernel {
 public:
  PyKernel(KeptObject call, ValueType result, bool per_sample, std::string key)
      : call_(std::move(call)), result_(std::move(result)), per_sample_(per_sample), key_(std::move(key)) {}

  ValuesPtr run(const CallContext& context, std::span<const ValuesPtr> arguments) const override {
    std::vector<ValuesPtr> given;
    if (!per_sample_) given = spread_all(arguments, context.memory);
    const nb::gil_scoped_acquire held;
    const InsideCallable inside;
    const nb::object answer = per_sample_ ? (*call_)(context.sample, context.rows.size)
                                          : (*call_)(as_list(given), context.rows.size);
    ValuesPtr values = nb::cast<const PyValues&>(answer).values;
    if (values->size != context.rows.size || !(values->type == result_))
      throw Error(ErrorKind::type,
                  fmt::format("the callable returned {} values of type '{}' for {} of type '{}'",
                              values->size, values->type.name(), context.rows.size, result_.name()));
    return values;
  }
  const ValueType& result() const noexcept override { return result_; }
  std::string key() const override { return key_; }
  bool only_where_needed() const noexcept override { return true; }
  bool foldable() const noexcept override { return false; }
  bool takes_large_blocks() const noexcept override { return !per_sample_; }

 private:
  KeptObject call_;
  ValueType result_;
  bool per_sample_;
  std::string key_;
};

// A definition whose kernel comes from bind(types): (type of the result, call).
PyDefinition make_definition(nb::object bind, std::vector<std::string> columns, std::string payload,
                             bool per_sample) {
  static std::atomic<std::uint64_t> number = 0;
  const std::string name = fmt::format("Python callable {}", ++number);
  PyDefinition made{frame::Definition(std::string())};
  const KeptObject binder = keep_object(std::move(bind));
  made.kept->push_back(binder);
  auto make = [binder, kept = made.kept, per_sample, name](std::span<const ValueType> types) {
    const nb::gil_scoped_acquire held;
    nb::list given;
    std::string key = name;
    for (const ValueType& type : types) {
      given.append(type);
      key += ' ' + type.name();
    }
    const InsideCallable inside;  // the trial of a callable
    const nb::object bound = (*binder)(given);
    const KeptObject call = keep_object(bound[1]);
    kept->push_back(call);
    return KernelPtr(
        std::make_shared<PyKernel>(call, nb::cast<ValueType>(bound[0]), per_sample, std::move(key)));
  };
  made.definition = frame::Definition(std::move(make), std::move(columns), std::move(payload));
  return made;
}

PyDefinition library_definition(const std::string& path, std::string name, std::vector<std::string> columns,
                                std::string payload) {
  auto make = [library = frame::FunctionLibrary::open(path), name = std::move(name)](
                  std::span<const ValueType> types) { return frame::library_kernel(library, name, types); };
  return PyDefinition{frame::Definition(std::move(make), std::move(columns), std::move(payload))};
}

PyDefinition function_definition(const frame::TextFunctions& known, const std::string& name,
                                 std::vector<std::string> columns, std::string payload) {
  auto make = [known, name](std::span<const ValueType> types) { return known.kernel(name, types); };
  PyDefinition made{frame::Definition(std::move(make), std::move(columns), std::move(payload))};
  made.definition.is_constant = known.is_constant(name);
  return made;
}

// (name, type of the result, types of parameters) of each function
nb::list text_functions(const frame::TextFunctions& functions) {
  nb::list found;
  for (const auto& each : functions.signatures()) {
    nb::list parameters;
    for (const std::string& type : each.parameters) parameters.append(text(type));
    found.append(nb::make_tuple(text(each.name), text(each.result), parameters));
  }
  return found;
}

// (version, (name, type of the result, types of parameters) of each function)
nb::tuple library_functions(const std::string& path) {
  const auto library = frame::FunctionLibrary::open(path);
  nb::list functions;
  for (const auto& each : library->functions()) {
    nb::list parameters;
    for (const ValueType& type : each.parameters) parameters.append(text(type.name()));
    functions.append(nb::make_tuple(text(each.name), text(each.result.name()), parameters));
  }
  return nb::make_tuple(text(library->version()), functions);
}

}  // namespace

// ---- Results

class PyAccumulator final : public Accumulator {
  using Tree = detail::MergeTree<KeptObject>;
  auto merger() const {
    return [this](const KeptObject& state, const KeptObject& later) {
      const InsideCallable inside;
      return keep_object((*calls_->merge)(*state, *later));
    };
  }

 public:
  // Python functions, none of which keeps its arguments:
  //   add(state, arguments, size) -> state     state is None for the first block of a part
  //   merge(state, later) -> state             neither is None
  //   save(state) -> bytes, load(bytes) -> state
  struct Calls {
    KeptObject add, merge, save, load;
    KeptObjects all = std::make_shared<std::vector<KeptObject>>();
    bool in_order = false;
  };
  explicit PyAccumulator(std::shared_ptr<const Calls> calls) : calls_(std::move(calls)) {}

  std::unique_ptr<Accumulator> empty_copy() const override { return std::make_unique<PyAccumulator>(calls_); }
  std::unique_ptr<Partial> begin(PartContext& context) override {
    return std::make_unique<PartialState>(calls_, context);
  }
  bool takes_large_blocks() const noexcept override { return true; }
  void merge(std::unique_ptr<Partial> partial) override {
    auto& part = static_cast<PartialState&>(*partial);
    if (!part.state) return;
    const nb::gil_scoped_acquire held;
    parts_.add(part.number(), std::move(part.state), merger());
  }
  void finish() override {
    const nb::gil_scoped_acquire held;
    total_ = make_total();
  }
  // The states of the tree one by one: their positions, then the results of Python's save().
  std::vector<std::byte> save() const override {
    const nb::gil_scoped_acquire held;
    ByteWriter to;
    for (const Tree::Subtree& node : parts_.subtrees()) {
      to.le(node.first);
      to.le(static_cast<std::uint8_t>(node.level));
      to.le(static_cast<std::uint8_t>(node.state ? 1 : 0));
      if (!node.state) continue;
      const nb::object saved = (*calls_->save)(**node.state);
      char* data = nullptr;
      Py_ssize_t size = 0;
      if (PyBytes_AsStringAndSize(saved.ptr(), &data, &size) != 0) throw nb::python_error();
      to.le(static_cast<std::uint64_t>(size));
      to.append({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
    }
    return to.take();
  }
  void merge_saved(std::span<const std::byte> other) override {
    const nb::gil_scoped_acquire held;
    constexpr const char* what = "a saved result of Python code";
    ByteReader from(other);
    while (from.remaining() != 0) {
      Tree::Subtree node;
      node.first = from.le<std::uint64_t>(what);
      node.level = from.le<std::uint8_t>(what);
      if (node.level > 62 || node.first >> 63 != 0 ||
          (node.first & ((std::uint64_t{1} << node.level) - 1)) != 0)
        throw Error(ErrorKind::format, fmt::format("{} has a state of parts that do not exist", what));
      if (from.le<std::uint8_t>(what) != 0) {
        const ByteSpan bytes = from.take(from.le<std::uint64_t>(what), what);
        node.state = keep_object((*calls_->load)(nb::bytes(bytes.data(), bytes.size())));
      }
      if (!parts_.insert(std::move(node), merger()))
        throw Error(ErrorKind::usage, "the saved result has parts that were merged before",
                    "merge each part of the entries once");
    }
    total_ = nullptr;
  }
  const KeptObjects& kept() const { return calls_->all; }
  // Requires the interpreter lock.
  nb::object state() const { return *(total_ ? total_ : make_total()); }

 private:
  class PartialState final : public Partial {
   public:
    PartialState(std::shared_ptr<const Calls> calls, PartContext& context)
        : calls_(std::move(calls)), context_(context) {}
    void add(const Rows& rows, std::span<const ValuesPtr> arguments) override {
      if (calls_->in_order) context_.wait_for_turn();
      BlockMemory memory;
      const auto given = spread_all(arguments, memory);
      const nb::gil_scoped_acquire held;
      const InsideCallable inside;
      state = keep_object((*calls_->add)(state ? *state : nb::none(), as_list(given), rows.size));
    }
    KeptObject state;
    std::uint64_t number() const noexcept { return context_.number; }

   private:
    std::shared_ptr<const Calls> calls_;
    PartContext& context_;
  };
  // States may be merged again with those of other parts, and functions modify their arguments.
  KeptObject make_total() const {
    const nb::object copy = nb::module_::import_("copy").attr("deepcopy");
    auto total = parts_.total(merger(), [&](const KeptObject& state) { return keep_object(copy(*state)); });
    return total ? *total : keep_object(nb::none());
  }

  std::shared_ptr<const Calls> calls_;
  Tree parts_;
  KeptObject total_;  // once the pass has ended
};

KeptObjects kept_by(const Accumulator& accumulator) {
  const auto* own = dynamic_cast<const PyAccumulator*>(&accumulator);
  return own == nullptr ? nullptr : own->kept();
}

nb::object python_state(const Accumulator& accumulator) {
  return dynamic_cast<const PyAccumulator&>(accumulator).state();
}

namespace {

std::shared_ptr<Accumulator> make_python_accumulator(nb::object add, nb::object merge, nb::object save,
                                                     nb::object load, bool in_order) {
  auto calls = std::make_shared<PyAccumulator::Calls>();
  calls->add = keep_object(std::move(add));
  calls->merge = keep_object(std::move(merge));
  calls->save = keep_object(std::move(save));
  calls->load = keep_object(std::move(load));
  *calls->all = {calls->add, calls->merge, calls->save, calls->load};
  calls->in_order = in_order;
  return std::make_shared<PyAccumulator>(std::move(calls));
}

}  // namespace

void register_frame_callables(nb::module_& module) {
  nb::class_<frame::TextFunctions>(module, "TextFunctions", "The functions that a text of C++ defines.")
      .def(nb::init<std::string>(), nb::arg("text"));
  nb::class_<PyDefinition>(module, "Definition", "How a column is computed.")
      .def_static(
          "of_callable", &make_definition, nb::arg("bind"), nb::arg("columns"), nb::arg("payload"),
          nb::arg("per_sample") = false,
          nb::sig("def of_callable(bind: collections.abc.Callable[[list[ValueType]], tuple[ValueType, "
                  "collections.abc.Callable[[typing.Any, int], Values]]], columns: "
                  "collections.abc.Sequence[str], payload: str, per_sample: bool = False) -> "
                  "Definition"))
      .def_static("of_library", &library_definition, nb::arg("library"), nb::arg("function"),
                  nb::arg("columns"), nb::arg("payload"))
      .def_static("of_function", &function_definition, nb::arg("functions"), nb::arg("function"),
                  nb::arg("columns"), nb::arg("payload"))
      .def_static(
          "of_text",
          [](std::string expression, bool of_sample) {
            PyDefinition made{std::move(expression)};
            made.definition.of_sample = of_sample;
            return made;
          },
          nb::arg("expression"), nb::arg("of_sample") = false);
  module.def(
      "library_functions", &library_functions, nb::arg("path"),
      nb::sig("def library_functions(path: str) -> tuple[str, list[tuple[str, str, list[str]]]]"),
      "The version of a library of functions, and of each its name, and the types of result and parameters.");
  module.def(
      "text_functions", &text_functions, nb::arg("functions"),
      nb::sig("def text_functions(functions: TextFunctions) -> list[tuple[str, str, list[str]]]"),
      "Of each function that a text of C++ defines, its name, and the types of result and parameters.");
  nb::class_<Accumulator>(module, "Accumulator", "A result while it is being computed.");
  module.def(
      "python_accumulator", &make_python_accumulator, nb::arg("add"), nb::arg("merge"), nb::arg("save"),
      nb::arg("load"), nb::arg("in_order"),
      nb::sig("def python_accumulator(add: collections.abc.Callable[[typing.Any, list[Values], int], "
              "object], merge: collections.abc.Callable[[typing.Any, typing.Any], object], save: "
              "collections.abc.Callable[[typing.Any], bytes], load: "
              "collections.abc.Callable[[bytes], object], in_order: bool) -> Accumulator"),
      "A result that Python code computes: a state that blocks are added to and that others are merged "
      "into.");
}

}  // namespace colonnade::python
