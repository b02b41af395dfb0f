"""`RDataFrame` with ROOT's spelling over `colonnade.DataFrame`: scripts run after changing the import."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import numpy as np

from colonnade.annotations import checked_methods
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import NotFoundError, TypeMismatchError, UnsupportedError, UsageError
from colonnade.frame.callables import pickled
from colonnade.frame.dataframe import DataFrame, run_graphs, variations_for
from colonnade.frame.expressions import Expression
from colonnade.frame.node import drawing, write_drawing
from colonnade.frame.results import Result
from colonnade.frame.signatures import signature_of
from colonnade.misuse import advised, column_name, files_of, function_of, mapping_of, path_text, thread_count

from .chains import TChain
from .declared import call_of, lend_declared
from .histograms import GraphView, HistogramView, ManyAxesView, ProfileView, StatsView, refuse
from .models import histogram_tuple, is_model, profile_tuple, snapshot_settings
from .objects import chain_of, is_chain, model_of, names_of
from .results import DescriptionView, DisplayView, ReportView, RResultMap, RResultPtr, VariationsView
from .samples import of_sample, with_answers
from .specification import RDatasetSpec
from .spelling import also_named, vector, with_extra
from .templates import Templated

__all__ = [
    "DisableImplicitMT",
    "EnableImplicitMT",
    "FromArrays",
    "FromNumpy",
    "FromPandas",
    "FromSpec",
    "GetThreadPoolSize",
    "IsImplicitMTEnabled",
    "LiveVisualize",
    "RDataFrame",
    "RunGraphs",
    "SaveGraph",
    "VariationsFor",
    "initialize",
]

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
_threads = 0
_enabled = True
_setup = ""
"""The pickled function that workers call first."""


# ---- Threads


def EnableImplicitMT(threads: int = 0) -> None:
    """Set the number of threads of new RDataFrames; 0: one per processor, the default."""
    global _threads, _enabled
    _threads, _enabled = thread_count(threads), True


def DisableImplicitMT() -> None:
    """Let new RDataFrames use one thread."""
    global _threads, _enabled
    _threads, _enabled = 1, False


def IsImplicitMTEnabled() -> bool:
    """Return whether several threads are enabled, as they are until they are disabled; perhaps only one."""
    return _enabled


def GetThreadPoolSize() -> int:
    """Return how many threads an RDataFrame made now uses; 0, as in ROOT, if several are disabled."""
    return (_threads or len(os.sched_getaffinity(0))) if _enabled else 0


_ADVICE = {
    "Book": "Aggregate with callables, or colonnade.DataFrame.fill for a histogram of hist",
    "Hist": "Histo1D, Histo2D, ..., HistoND",
    "BarChart": "colonnade.DataFrame.value_counts",
    "Fill": "Histo1D and the like, or colonnade.DataFrame.fill for a histogram of hist",
    "Jit": "nothing: there is no compilation",
    "ForeachSlot": "Foreach with the column rdfslot_",
    "ProgressBar": "RDF.Experimental.AddProgressBar",
}


RANDOM = 'Define("x", lambda rdfentry_: numpy.random.default_rng((1, rdfentry_)).normal())'
"""What gives each entry a random number, the same one for any number of threads."""


_FILTERS = {
    "filter": "Unnamed Filter",
    "filter_available": "FilterAvailable",
    "filter_missing": "FilterMissing",
}
"""The kinds of filters, and what ROOT calls those without a name."""


@checked_methods
class RDataFrame:
    """A lazy analysis of the entries of data sets, with the methods of ROOT's class of that name.

    `RDataFrame("Events", "f*.root")`, `RDataFrame("Events", ["a.root", "b.root"])`, `RDataFrame(1000)`. Expression
    strings are ROOT's; Python callables are called for each entry, compiled by Numba where it is installed. What is not
    supported raises when it is booked. With `executor`, as for `colonnade.DataFrame` (a client of Dask, ...), the work
    is done there, in about `npartitions` tasks. `RDataFrame(chain)` takes a `TChain` with its friends; `friends` is
    the argument of `colonnade.DataFrame`.
    """

    def __init__(
        self,
        name: Any,
        files: Any = None,
        columns: Sequence[str] | None = None,
        *,
        executor: Any = None,
        npartitions: int | None = None,
        friends: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(name, TChain):
            friends = {**{each: of.pairs() for each, of in name.friends.items()}, **(friends or {})}
            name, files, columns = "", name.pairs(), columns or files
        elif is_chain(name):
            pairs, beside = chain_of(name)
            name, files, columns, friends = "", pairs, columns or files, {**beside, **(friends or {})}
        if isinstance(name, RDatasetSpec):
            self._frame: DataFrame = DataFrame.from_spec(
                name.content, threads=_threads, executor=executor, npartitions=npartitions
            )
            self._set_up()
            columns = columns or files
        elif isinstance(name, DataFrame):
            self._frame = name
        else:
            if not isinstance(name, str | int | np.integer):
                raise UnsupportedError(
                    f"an RDataFrame cannot be made from a {type(name).__name__}",
                    'RDataFrame("Events", "f.root"), a list of files, or RDataFrame(1000)',
                )
            listed = (
                files
                if files is None or isinstance(files, str | os.PathLike)
                else files_of(names_of(files), 'RDataFrame("Events", "f.root"), or a list of files')
            )
            self._frame = DataFrame(
                name,
                listed,
                threads=_threads,
                executor=executor,
                npartitions=npartitions,
                friends=friends,
            )
            self._set_up()
        lend_declared(self._frame)
        self._columns = _listed(columns) if columns else []
        self._with_default: list[tuple[int, str]] = []
        """Columns with a default value, and where they stand among the defined ones."""

    def _set_up(self) -> None:
        session = self._frame._session
        session.setup = _setup
        session.hidden |= session.regrouped

    def AsDataFrame(self) -> DataFrame:
        """Return the same node as `colonnade.DataFrame`."""
        return self._frame

    def _at(self, frame: DataFrame) -> RDataFrame:
        made = RDataFrame(frame)
        made._columns, made._with_default = self._columns, self._with_default
        return made

    def __getattr__(self, name: str) -> NoReturn:
        same = [each for each in dir(type(self)) if each.lower() == name.replace("_", "").lower()]
        advice = f"{same[0]}(...)" if same else "the methods of colonnade.DataFrame: AsDataFrame()"
        refuse("colonnade.RDataFrame", name, _ADVICE.get(name, advice))

    def __repr__(self) -> str:
        return repr(self._frame).replace("<DataFrame", "<RDataFrame", 1)

    def _repr_html_(self) -> str:
        return self._frame._repr_html_()

    # ---- Transformations

    @also_named(col_name="name", callable_or_str="value", expression="value", cols="columns")
    def Define(
        self,
        name: str,
        value: Any,
        columns: Sequence[str] | None = None,
        extra_args: Mapping[str, Any] | None = None,
    ) -> RDataFrame:
        """Add a column, by an expression or by a callable that is called for each entry.

        `extra_args` has values of parameters of the callable that are no columns.
        """
        value, options = self._callable(value, columns, extra_args)
        define = self._frame.redefine if self._is_regrouped(name) else self._frame.define
        return self._at(define(name, value, **options))

    @also_named(expression="value")
    def Redefine(self, name: str, value: Any, columns: Sequence[str] | None = None) -> RDataFrame:
        """Give a column other values from here on."""
        value, options = self._callable(value, columns)
        return self._at(self._frame.redefine(name, value, **options))

    @also_named(expression="value")
    def DefineSlot(self, name: str, value: Callable[..., Any], columns: Sequence[str] = ()) -> RDataFrame:
        """Add a column by a callable whose first argument is the number of the worker."""
        return self.Define(name, value, ["rdfslot_", *_listed(columns)])

    @also_named(expression="value")
    def DefineSlotEntry(
        self, name: str, value: Callable[..., Any], columns: Sequence[str] = ()
    ) -> RDataFrame:
        """Add a column by a callable whose first arguments are the numbers of the worker and of the entry."""
        return self.Define(name, value, ["rdfslot_", "rdfentry_", *_listed(columns)])

    @also_named(expression="value")
    def RedefineSlot(self, name: str, value: Callable[..., Any], columns: Sequence[str] = ()) -> RDataFrame:
        """Give a column other values by a callable; see `DefineSlot`."""
        return self.Redefine(name, value, ["rdfslot_", *_listed(columns)])

    @also_named(expression="value")
    def RedefineSlotEntry(
        self, name: str, value: Callable[..., Any], columns: Sequence[str] = ()
    ) -> RDataFrame:
        """Give a column other values by a callable; see `DefineSlotEntry`."""
        return self.Redefine(name, value, ["rdfslot_", "rdfentry_", *_listed(columns)])

    @also_named(expression="value")
    def DefinePerSample(self, name: str, value: Any) -> RDataFrame:
        """Add a column whose value depends on the file alone; a callable gets the number 0 and the file's name."""
        return self._at(self._frame.define_per_sample(name, self._sample_value(value)))

    @also_named(expression="value")
    def RedefinePerSample(self, name: str, value: Any) -> RDataFrame:
        """Give a column other values that depend on the file alone."""
        return self._at(self._frame.redefine_per_sample(name, self._sample_value(value)))

    @also_named(alias="name", columnName="column")
    def Alias(self, name: str, column: str) -> RDataFrame:
        """Give a column a second name, which has its values even if they are redefined or varied later."""
        return self._at(self._frame.alias(name, column))

    @also_named(callable_or_str="condition", expression="condition")
    def Filter(
        self,
        condition: Any,
        columns: Any = None,
        name: str = "",
        extra_args: Mapping[str, Any] | None = None,
    ) -> RDataFrame:
        """Keep the entries that pass a condition: `Filter("x > 0", "name")`, `Filter(callable, ["x"], "name")`.

        `extra_args` has values of parameters of the callable that are no columns.
        """
        if isinstance(condition, str | Expression):
            if columns is not None and not isinstance(columns, str):
                raise UsageError(
                    "the columns of a condition are named in its text", 'Filter("x > 0", "name")'
                )
            _check_no_extra(extra_args)
            _check_not_random(condition)
            return self._at(self._frame.filter(condition, name=columns or name))
        if isinstance(columns, str):
            columns, name = None, columns
        condition, options = self._callable(condition, columns, extra_args)
        return self._at(self._frame.filter(condition, name=name, **options))

    def FilterAvailable(self, column: str) -> RDataFrame:
        """Keep the entries of files that have a column; none if no file has it, as in ROOT."""
        if self._is_in_no_file(column):
            return self._at(self._frame.filter("false"))
        return self._at(self._frame.filter_available(column))

    def FilterMissing(self, column: str) -> RDataFrame:
        """Keep the entries of files that do not have a column; all if no file has it."""
        if self._is_in_no_file(column):
            return self._at(self._frame.filter("true"))
        return self._at(self._frame.filter_missing(column))

    @also_named(defaultValue="value")
    def DefaultValueFor(self, column: str, value: Any) -> RDataFrame:
        """Give a column a value for the files that do not have it, which may be all."""
        if self._is_in_no_file(column):
            return self.Define(column, value)
        made = self._at(self._frame.default_value_for(column, value))
        made._with_default = [*self._with_default, (len(self.GetDefinedColumnNames()), column)]
        return made

    def Range(self, begin: int | None = None, end: int | None = None, stride: int = 1) -> RDataFrame:
        """Keep a range of the entries that reach this node: `Range(end)`, `Range(begin, end, stride)`; 0: no end."""
        if begin is None and end is None:
            raise UsageError("a range needs its end", "Range(1000)")
        return self._at(self._frame.range(0 if begin is None else begin, end, stride))

    @also_named(colName="columns", colNames="columns", expression="values")
    def Vary(self, columns: Any, values: Any, *arguments: Any, **options: Any) -> RDataFrame:
        """Add variations: `Vary("pt", "RVecD{pt*0.9, pt*1.1}", ["down", "up"], "scale")`.

        Tags may be a number. A callable's columns precede the tags, and it returns a list with one value per tag.
        """
        rest = list(arguments)
        inputs = options.pop("inputColumns", None)
        if (
            not isinstance(values, str | Expression)
            and inputs is None
            and rest
            and not isinstance(rest[0], int)
        ):
            inputs = rest.pop(0)
        tags = (
            options.pop("variationTags", None)
            or options.pop("nVariations", None)
            or (rest.pop(0) if rest else None)
        )
        name = options.pop("variationName", None) or (rest.pop(0) if rest else "")
        if tags is None or rest or options:
            raise UsageError(
                "the tags of variations are missing, or there are too many arguments", "['down', 'up']"
            )
        more: dict[str, Any] = {}
        if not isinstance(values, str | Expression):
            values, more = self._callable(values, inputs)
            if more:
                more = {"arguments": more["columns"], "per_row": True}
        named = tags if isinstance(tags, int) else _names(tags)
        return self._at(self._frame.vary(_names(columns), values, named, name, **more))

    # ---- Numbers

    def Count(self) -> RResultPtr[int]:
        """Count the entries."""
        return RResultPtr(self._frame.count(), _same)

    @Templated
    @also_named(columnName="column", initValue="start")
    def Sum(self, column: Any = None, start: float = 0) -> RResultPtr[float]:
        """Add values up."""
        return RResultPtr(self._frame.sum(self._default(column), start), _same)

    @Templated
    @also_named(columnName="column")
    def Mean(self, column: Any = None) -> RResultPtr[float]:
        """Compute the arithmetic mean."""
        return RResultPtr(self._frame.mean(self._default(column)), _same)

    @Templated
    @also_named(columnName="column")
    def StdDev(self, column: Any = None) -> RResultPtr[float]:
        """Compute the standard deviation, with n - 1 in the denominator."""
        return RResultPtr(self._frame.stddev(self._default(column)), _same)

    @Templated
    @also_named(columnName="column")
    def Min(self, column: Any = None) -> RResultPtr[float]:
        """Find the smallest value."""
        return RResultPtr(self._frame.min(self._default(column)), _same)

    @Templated
    @also_named(columnName="column")
    def Max(self, column: Any = None) -> RResultPtr[float]:
        """Find the largest value."""
        return RResultPtr(self._frame.max(self._default(column)), _same)

    @Templated
    @also_named(value="column")
    def Stats(self, column: Any = None, weight: Any = None) -> RResultPtr[StatsView]:
        """Compute number, mean, standard deviation and range."""
        return RResultPtr(self._frame.stats(self._default(column), weight), StatsView)

    # ---- Histograms

    @Templated
    def Histo1D(self, *arguments: Any) -> RResultPtr[HistogramView]:
        """Fill a histogram: `Histo1D(("h", "title", 100, 0, 200), "x", "weight")`, or `Histo1D("x")`."""
        model, columns = _model_and_columns(arguments)
        model = model or _automatic_model(columns)
        return self._histogram(model, columns or [self._default(None)], 1)

    @Templated
    def Histo2D(self, *arguments: Any) -> RResultPtr[HistogramView]:
        """Fill a histogram with two axes: `Histo2D(model, "x", "y", "weight")`."""
        model, columns = _model_and_columns(arguments)
        return self._histogram(model, self._defaults(columns, 2), 2)

    @Templated
    def Histo3D(self, *arguments: Any) -> RResultPtr[HistogramView]:
        """Fill a histogram with three axes: `Histo3D(model, "x", "y", "z", "weight")`."""
        model, columns = _model_and_columns(arguments)
        return self._histogram(model, self._defaults(columns, 3), 3)

    @Templated
    @also_named(columnList="columns", wName="weight")
    def HistoND(
        self, model: Sequence[Any], columns: Sequence[Any], weight: Any = None
    ) -> RResultPtr[HistogramView]:
        """Fill a histogram with any number of axes; a column more than axes is the weight."""
        model = model_of(model)
        named = _listed(columns)
        listed = [*named, *([] if weight is None else [weight])]
        has_dimensions = isinstance(model, Sequence) and len(model) > 3 and isinstance(model[3], Sequence)
        dimensions = int(model[2]) if has_dimensions else len(named)
        return self._histogram(model, listed, dimensions, ManyAxesView)

    HistoNSparseD = HistoND

    @Templated
    def Profile1D(self, *arguments: Any) -> RResultPtr[ProfileView]:
        """Compute the mean of y in bins of x: `Profile1D(model, "x", "y", "weight")`."""
        model, columns = _model_and_columns(arguments)
        return self._profile(model, self._defaults(columns, 2), 1)

    @Templated
    def Profile2D(self, *arguments: Any) -> RResultPtr[ProfileView]:
        """Compute the mean of z in bins of x and y: `Profile2D(model, "x", "y", "z", "weight")`."""
        model, columns = _model_and_columns(arguments)
        return self._profile(model, self._defaults(columns, 3), 2)

    @Templated
    def Graph(self, x: Any = None, y: Any = None) -> RResultPtr[GraphView]:
        """Collect points."""
        x, y = self._defaults([x, y], 2)
        return RResultPtr(self._frame.graph(x, y, **self._graph_names(x, y)), GraphView)

    @Templated
    def GraphAsymmErrors(
        self, x: Any = None, y: Any = None, exl: Any = None, exh: Any = None, eyl: Any = None, eyh: Any = None
    ) -> RResultPtr[GraphView]:
        """Collect points with errors: of x low and high, of y low and high."""
        x, y, *errors = self._defaults([x, y, exl, exh, eyl, eyh], 6)
        return RResultPtr(self._frame.graph(x, y, errors, **self._graph_names(x, y)), GraphView)

    # ---- Values

    @Templated
    def Take(self, column: Any = None) -> RResultPtr[Any]:
        """Collect values, in the order of the entries."""
        return RResultPtr(self._frame.take(self._default(column)), _same)

    def AsNumpy(self, columns: Any = None, exclude: Sequence[str] | None = None, lazy: bool = False) -> Any:
        """Compute columns as NumPy arrays by name; lists are arrays of objects, records of numbers have members."""
        names = self._named(columns, self._visible) or self._visible()
        excluded = [] if exclude is None else _listed(exclude)
        left = [name for name in names if name not in excluded]
        result = RResultPtr(self._frame.lazy_numpy(left), _with_members)
        return result if lazy else result.GetValue()

    def Report(self) -> RResultPtr[ReportView]:
        """Count how many entries reach and pass the named filters above."""
        return RResultPtr(self._frame.report(), ReportView)

    @Templated
    @also_named(
        columnList="columns", columnNameRegexp="columns", nRows="rows", nMaxCollectionElements="items"
    )
    def Display(self, columns: Any = "", rows: int = 5, items: int = 10) -> RResultPtr[DisplayView]:
        """Show the first entries; `items` is the number of items of a list that are printed."""
        names = self._frame._select(self._named(columns, self._visible))
        if isinstance(columns, str):  # ROOT looks for them in its list of columns, which is sorted
            names = sorted(names)
        result = self._frame._displayed(names, rows, "rdfentry_")
        return RResultPtr(result, lambda display: DisplayView(display, items))

    @Templated
    @also_named(f="function", columnName="column", redIdentity="start")
    def Reduce(
        self, function: Callable[[Any, Any], Any], column: Any = None, start: Any = None
    ) -> RResultPtr[Any]:
        """Combine all values by a function of two values, which must be associative."""
        return RResultPtr(self._frame.reduce(function, self._default(column), start), _same)

    @Templated
    @also_named(columnName="column", aggIdentity="start")
    def Aggregate(
        self,
        aggregator: Callable[[Any, Any], Any],
        merger: Callable[[Any, Any], Any],
        column: Any = None,
        start: Any = 0,
    ) -> RResultPtr[Any]:
        """Compute a value by aggregator(value so far, value of an entry) and merger(of a part, of a later part)."""

        def add(state: Any, array: Any) -> Any:
            for value in _rows(array):
                state = aggregator(state, value)
            return state

        return RResultPtr(self._frame.aggregate(add, merger, self._default(column), start), _same)

    @Templated
    @also_named(f="function")
    def Foreach(self, function: Callable[..., Any], columns: Sequence[str] | None = None) -> None:
        """Call a function for each entry, in order, now."""
        function_of(function, "Foreach(function, columns)")

        def block(*arrays: Any) -> None:
            for row in zip(*(_rows(array) for array in arrays), strict=True):
                function(*row)

        inputs = self._inputs(columns)
        if inputs is None:
            from colonnade.frame.callables import columns_of

            inputs = columns_of(function, None)
        self._frame.foreach(block, inputs)

    # ---- New data

    @Templated
    @also_named(treename="name", filename="file", columnList="columns", columnNameRegexp="columns")
    @advised('Snapshot("Events", "out.root", columns)')
    def Snapshot(
        self, name: str, file: Any, columns: Any = "", options: Any = None
    ) -> RResultPtr[RDataFrame]:
        """Write columns to a new data set, as RNTuple; now, unless options.fLazy."""
        name, target = column_name(name, "data set"), path_text(file)
        if name.endswith(".root") and not target.endswith(".root"):
            raise UsageError(
                f"'{name}' is the name of a file, not of a data set",
                f"Snapshot({target!r}, {name!r}), the name of the data set first",
            )
        settings = snapshot_settings(options, target)
        named = self._named(columns)
        if not named or len(set(named)) < len(named):
            what = "a column is named twice" if named else "no columns are named"
            raise UsageError(f"{what} for a snapshot", 'each one once, or "" for all columns')
        result: Result[DataFrame] = self._frame.snapshot(
            target, name, named, lazy=True, **cast("Any", settings.writing)
        )
        if settings.with_variations:
            variations_for(result)
        pointer = RResultPtr(result, RDataFrame)
        if not settings.is_lazy:
            pointer.GetValue()
        return pointer

    @Templated
    @also_named(columnList="columns", columnNameRegexp="columns")
    def Cache(self, columns: Any = "") -> RDataFrame:
        """Compute columns now and keep them in memory."""
        return RDataFrame(self._frame.cache(self._named(columns)))

    # ---- Questions

    def GetColumnNames(self) -> list[str]:
        """Return the names of all columns, in alphabetical order.

        The members of a record stand beside it; those of a record without a class replace it. Columns of friends have
        the name of the friend in front, those of TTrees the names of their branches.
        """
        names = self._frame.column_names
        parents = {name.rpartition(".")[0] for name in names}
        shown = [name for name in names if name not in parents or "{" not in self._frame.column_type(name)]
        branches = {column: branch for branch, column in self._frame._session.branches.items()}
        found: list[str] = vector(sorted({branches.get(name, name) for name in self._of_friends(shown)}))
        return found

    def GetDefinedColumnNames(self) -> list[str]:
        """Return the columns that were defined or have a default value, without aliases."""
        aliases = self._aliases()
        names = [name for name in self._frame.defined_column_names if name not in aliases]
        for place, name in self._with_default:
            if name not in names:
                names.insert(place, name)
        found: list[str] = vector(names)
        return found

    def GetColumnType(self, column: str) -> str:
        """Return the C++ name of a column's type, where lists are "ROOT::VecOps::RVec<float>".

        Numbers of defined columns and of arrays are "int", "unsigned char", ..., those of files "std::int32_t", ...;
        of TTrees those of leaves are "Int_t", ..., and those of vectors "int", ...
        """
        type_name = self._frame.column_type(column)
        found = type_name.replace("std::vector<", "ROOT::VecOps::RVec<")
        column = self._unaliased(column)
        if column == "rdfentry_":
            return "ULong64_t"
        if column in (*self.GetDefinedColumnNames(), "rdfslot_"):
            return _as_declared(found)
        if (is_leaf := self._leaf_type(column)) is not None:
            return _of_leaf(found) if is_leaf else _of_class(type_name)
        if self.GetNFiles() or found == "std::string":
            return found
        return _as_declared(_LONG.get(found, found))

    def GetFilterNames(self) -> list[str]:
        """Return the filters above, in order; where neither they nor ranges are, all of the graph."""
        frame = self._frame
        nodes = frame._graph.names_above(frame._node if self._selects() else 0)
        found: list[str] = vector(
            [names[0] or _FILTERS[kind] for kind, names, _, _ in nodes if kind in _FILTERS]
        )
        return found

    def GetVariations(self) -> VariationsView:
        """Return the variations above, one line for the tags of each."""
        lines = []
        for name, columns, tags in self._above("vary"):
            full = ", ".join(f"{name or columns[0]}:{tag}" for tag in tags)
            several = f"s {{{', '.join(columns)}}}" if len(columns) > 1 else f" {columns[0]}"
            lines.append(f"Variations {{{full}}} affect column{several}\n")
        return VariationsView("".join(lines))

    @also_named(columnName="name")
    def HasColumn(self, name: str) -> bool:
        """Return whether there is already a column of that name."""
        if not self._frame.has_column(name) or self._is_regrouped(name):
            return False
        # The sample, and "#x", are only in expressions, for ROOT; only sources have sizes as columns.
        of = name.removeprefix("#").removeprefix("R_rdf_sizeof_")
        is_size = of != name and (name[0] == "#" or of in self._frame.defined_column_names)
        return name != "rdfsampleinfo_" and (not is_size or name in self._frame.column_names)

    def Describe(self) -> DescriptionView:
        """Return a text about the source, the columns and the nodes."""
        return DescriptionView(str(self._frame.describe()), self.GetNFiles())

    def GetNRuns(self) -> int:
        """Return the number of passes over the entries."""
        return self._frame.num_runs

    def GetNSlots(self) -> int:
        """Return the number of threads of a pass."""
        return self._frame.threads or len(os.sched_getaffinity(0))

    def GetNFiles(self) -> int:
        """Return the number of files."""
        return sum(1 for sample in self._frame._session.source.samples if sample.uri)

    # ---- Inside

    def _sample_value(self, value: Any) -> Any:
        """The value of a column of `DefinePerSample`."""
        value = call_of(value, ["rdfslot_", "rdfsampleinfo_"], []) or value
        return with_answers(self._frame, of_sample(value))

    def _above(self, kind: str) -> list[tuple[str, list[str], list[str]]]:
        """Name, columns and tags of the nodes of a kind above."""
        frame = self._frame
        above = frame._graph.names_above(frame._node) if frame._node != 0 else []
        return [(names[0], columns, tags) for found, names, columns, tags in above if found == kind]

    def _selects(self) -> bool:
        """Whether there is a filter or a range above; for ROOT, others are the top with more columns."""
        return any(self._above(kind) for kind in (*_FILTERS, "range"))

    def _aliases(self) -> dict[str, str]:
        return {name: columns[0] for name, columns, _ in self._above("alias")}

    def _unaliased(self, column: Any) -> Any:
        """The column that an alias stands for."""
        aliases = self._aliases()
        while isinstance(column, str) and column in aliases:
            column = aliases[column]
        return column

    def _is_in_no_file(self, column: Any) -> bool:
        """Whether there are files, and no column of that name."""
        return isinstance(column, str) and self.GetNFiles() > 0 and not self._frame.has_column(column)

    def _is_regrouped(self, name: object) -> bool:
        """Whether a column is one for us alone: see `Session.regrouped`."""
        is_one = isinstance(name, str) and name in self._frame._session.regrouped
        return is_one and name not in self._frame.defined_column_names

    def _leaf_type(self, column: str) -> bool | None:
        """See `Session.leaf_types`; None of other columns."""
        session = self._frame._session
        for prefix in ("", *(f"{friend}." for friend in session.friends)):
            name = session.branches.get(prefix + column, prefix + column)
            found = [session.leaf_types[each] for each in _beginnings(name) if each in session.leaf_types]
            if found:
                return found[-1]
        return None

    def _graph_names(self, x: Any, y: Any) -> dict[str, str]:
        x, y = self._unaliased(x), self._unaliased(y)
        return {"name": f"{y}_vs_{x}", "title": f"{y} vs {x}"}

    def _default(self, column: Any) -> Any:
        if not _is_unnamed(column):
            return column
        if not self._columns:
            raise UsageError("no column is named", "the name of a column")
        return self._columns[0]

    def _defaults(self, columns: list[Any], count: int) -> list[Any]:
        """The columns of a call, or where it names none, those that the RDataFrame was made with."""
        unnamed = [_is_unnamed(each) for each in columns[:count]]
        if columns and not any(unnamed):
            return columns
        if not all(unnamed):
            raise UsageError("only some columns are named", f"the names of {count} columns, or of none")
        if len(self._columns) < count:
            raise UsageError(
                f"no columns are named, and {len(self._columns)} of {count} are given to the RDataFrame",
                f"the names of {count} columns",
            )
        return list(self._columns[:count])

    def _inputs(self, columns: Any) -> list[str] | None:
        return None if columns is None else _listed(columns)

    def _callable(
        self, value: Any, columns: Any, extra: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """A definition and its options."""
        inputs = self._inputs(columns)
        if (text := call_of(value, inputs, self._columns)) is not None:
            _check_no_extra(extra)
            return text, {}
        if isinstance(value, str | Expression) or not callable(value):
            if columns is not None:
                raise UsageError("the columns of an expression are named in its text", 'Define("z", "x + y")')
            _check_no_extra(extra)
            _check_not_random(value)
            return value, {}
        if extra is not None:
            value, inputs = with_extra(value, inputs, mapping_of(extra, 'extra_args={"offset": 1}'))
        return value, {"columns": inputs, "per_row": True}

    def _visible(self) -> list[str]:
        """The names of `GetColumnNames`, without unusable ones."""
        top = set(self._of_friends(self._frame._select(None)))  # it warns
        columns = self._frame._session.branches
        return [
            name for name in self.GetColumnNames() if not top.isdisjoint(_beginnings(columns.get(name, name)))
        ]

    def _of_friends(self, names: list[str]) -> list[str]:
        """The names, of columns of friends with the friend in front; what is defined under such a name is beside it."""
        friends, defined = self._frame._session.friends, set(self._frame.defined_column_names)
        if not friends:
            return names
        known = set(names)
        found: dict[str, None] = {}
        for name in names:
            full = [each for friend in friends if self._frame.has_column(each := f"{friend}.{name}")]
            of_friend = len(full) == 1 and full[0] not in known
            found |= dict.fromkeys([*full * of_friend, *[name] * (not of_friend or name in defined)])
        return list(found)

    def _named(self, columns: Any, every: Callable[[], list[str]] | None = None) -> list[str]:
        """Names of columns, none of an empty list; `every` gives all. A text is a regular expression, as in ROOT."""
        every = every or (lambda: self._frame._select(None))
        if _is_unnamed(columns):
            return every()
        if not isinstance(columns, str):
            return cast("list[str]", _names(columns))
        if self.HasColumn(columns):
            return [columns]
        # As ROOT completes it: of alternatives, the first has the beginning, and the last has the end.
        pattern = f"{'' if columns.startswith('^') else '^'}{columns}{'' if columns.endswith('$') else '$'}"
        try:
            re.compile(columns)
        except re.error as error:
            raise UsageError(
                f"'{columns}' is not a regular expression: {error}", "'.*' for all columns"
            ) from None
        found = [name for name in every() if re.search(pattern, name)]
        found = found or [name for name in self.GetColumnNames() if re.search(pattern, name)]
        if not found:
            raise NotFoundError(f"no column matches the regular expression '{columns}'")
        return found

    def _histogram(
        self,
        model: Any,
        columns: list[Any],
        dimensions: int,
        view: type[HistogramView] = HistogramView,
    ) -> RResultPtr[HistogramView]:
        if len(columns) not in (dimensions, dimensions + 1):
            raise UsageError(
                f"a histogram with {_counted(dimensions, 'axis', 'axes')} takes "
                f"{_counted(dimensions, 'column', 'columns')} and at most one weight, not {len(columns)} columns",
                'Histo1D(("name", "title", bins, low, high), "x")',
            )
        weight = columns[dimensions] if len(columns) > dimensions else None
        given = None if model is None else histogram_tuple(model)
        result = self._frame._booked_histogram(
            given, columns[:dimensions], None if _is_unnamed(weight) else weight, _same
        )
        return RResultPtr(result, view)

    def _profile(self, model: Any, columns: list[Any], dimensions: int) -> RResultPtr[ProfileView]:
        if model is None or len(columns) not in (dimensions + 1, dimensions + 2):
            raise UsageError(
                f"a profile over {_counted(dimensions, 'axis', 'axes')} takes a model, {dimensions + 1} columns, "
                "and at most one weight"
            )
        weight = columns[dimensions + 1] if len(columns) > dimensions + 1 else None
        given, spread, limits = profile_tuple(model, dimensions)
        result = self._frame._booked_profile(
            given,
            columns[:dimensions],
            columns[dimensions],
            None if _is_unnamed(weight) else weight,
            spread,
            limits,
            _same,
        )
        return RResultPtr(result, ProfileView)


def _check_no_extra(extra: Mapping[str, Any] | None) -> None:
    if extra is not None:
        raise UsageError("extra_args are for callables, not for expressions", "the values in the text")


def _check_not_random(value: Any) -> None:
    if isinstance(value, str) and re.search(r"\b(?:gRandom|TRandom[123]?)\b", value):
        raise UnsupportedError(
            f"there are no generators of random numbers in expressions, such as '{value.strip()}': values must not "
            "depend on the order in which threads compute them",
            f"a generator for each entry: {RANDOM}",
        )


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _same(value: T) -> T:
    return value


def _names(columns: Any) -> Any:
    """Texts of any kind, one or several: ROOT's strings, too."""
    if isinstance(columns, str):
        return columns
    columns = names_of(columns)
    if not isinstance(columns, Iterable) or isinstance(columns, bytes):
        raise TypeMismatchError(f"{columns!r} is not the name of a column", "a name, or a list of names")
    return [str(each) for each in columns]


def _is_unnamed(column: Any) -> bool:
    """Whether ROOT takes it for no column: an empty text."""
    return column is None or (isinstance(column, str) and column == "")


_DECLARED = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long",
    "uint64": "unsigned long",
}


# Of arrays in memory, as ROOT names those of NumPy.
_LONG = {"std::int64_t": "Long64_t", "std::uint64_t": "ULong64_t"}


_OF_LEAVES = {
    "bool": "Bool_t",
    "float": "Float_t",
    "double": "Double_t",
    "std::int8_t": "Char_t",
    "std::uint8_t": "UChar_t",
    "std::int16_t": "Short_t",
    "std::uint16_t": "UShort_t",
    "std::int32_t": "Int_t",
    "std::uint32_t": "UInt_t",
    "std::int64_t": "Long64_t",
    "std::uint64_t": "ULong64_t",
}


def _of_leaf(name: str) -> str:
    """The name of a type as ROOT has it for a leaf of a TTree."""
    return re.sub(r"\bstd::u?int\d+_t|\b(?:bool|float|double)\b", lambda found: _OF_LEAVES[found[0]], name)


def _of_class(name: str) -> str:
    """The name of the type of a column of a TTree whose branch has objects of a class."""
    inside = name.removeprefix("std::vector<")
    inner = re.sub(r"std::(u?int\d+)_t", lambda found: _DECLARED[found[1]], inside).replace("std::", "")
    return inner if inside == name else f"ROOT::VecOps::RVec<{inner}"


def _as_declared(name: str) -> str:
    """The name of a type as the interpreter of ROOT spells what an expression gives."""
    name = re.sub(r"std::(u?int\d+)_t", lambda found: _DECLARED[found[1]], name)
    return re.sub(r">(?=>)", "> ", name.replace("std::", ""))


def _beginnings(name: str) -> list[str]:
    """A name, and those of the records that it may be a member of."""
    parts = name.split(".")
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _listed(columns: Any) -> list[str]:
    names = _names(columns)
    return [names] if isinstance(names, str) else list(names)


def _model_and_columns(arguments: Sequence[Any]) -> tuple[Any, list[Any]]:
    listed = [model_of(each) for each in arguments[:1]] + list(arguments[1:])
    if listed and (is_model(listed[0]) or hasattr(listed[0], "edges")):
        return listed[0], listed[1:]
    return None, listed


def _automatic_model(columns: list[Any]) -> tuple[Any, ...]:
    """The model of a histogram for which none is given: 128 bins over the range of the values."""
    x, *weights = map(str, columns or [""])
    if not weights:
        return x, f"{x};{x};count", 128, 0, 0
    return f"{x}_weighted_{weights[0]}", f"{x}, weights: {weights[0]};{x};count * {weights[0]}", 128, 0, 0


def _with_members(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays, of which the rows of records have members: `array[0].x`."""
    return {
        name: array if array.dtype.names is None else array.view(np.dtype((np.record, array.dtype)))
        for name, array in arrays.items()
    }


def _rows(array: Any) -> Any:
    """Values one by one, numbers as Python has them."""
    return (
        array.tolist() if isinstance(array, np.ndarray) else [_item(each) for each in cast("ak.Array", array)]
    )


def _item(value: Any) -> Any:
    if not isinstance(value, ak.Array) or value.ndim != 1 or value.layout.is_option or value.layout.is_union:
        return value
    return np.asarray(value)


# ---- Functions


def RunGraphs(results: Iterable[Any]) -> int:
    """Compute the results of several RDataFrames in one pass."""
    return run_graphs(each._result if isinstance(each, RResultPtr) else each._frame for each in results)


def VariationsFor(result: RResultPtr[T]) -> RResultMap[T]:
    """Book a result for all variations that reach it, too."""
    return RResultMap(variations_for(result._result), result._view)


def initialize(function: Callable[..., object], *arguments: Any, **named: Any) -> None:
    """Have each worker call a function once, before the first task of new RDataFrames.

    Raises:
        UnsupportedError: it cannot be sent to workers.
    """
    global _setup  # noqa: PLW0603
    _setup = pickled((function, arguments, named), "what workers call first")


def _called_with_a_value(call: object) -> Callable[[Any], object]:
    if callable(call):
        try:
            signature_of(call).bind(None)
        except TypeError:
            pass
        except ValueError:  # compiled code has no signature
            return call
        else:
            return call
    raise UsageError(
        f"{call!r} cannot be called with partial results",
        "a callable with one parameter: functools.partial",
    )


def LiveVisualize(
    drawables: Mapping[RResultPtr[Any], Callable[[Any], object] | None] | Iterable[RResultPtr[Any]],
    callback: Callable[[Any], object] | None = None,
) -> None:
    """Show results while they are computed: by callbacks, or in the notebook, where each is redrawn as it fills.

    Args:
        drawables: results, or results with a callback of each.
        callback: called for all of them with their partial values.
    """
    own = dict(drawables) if isinstance(drawables, Mapping) else dict.fromkeys(drawables)
    for each in own:
        if not isinstance(each, RResultPtr):
            raise UsageError(
                f"a {type(each).__name__} is not a result that can be shown while it is computed",
                "what Histo1D, Graph, ... return",
            )
    for result, of_result in own.items():
        calls = [_called_with_a_value(each) for each in (of_result, callback) if each is not None]
        if result.IsReady():
            warnings.warn("a result that is already computed is not shown as it fills", stacklevel=2)
        for call in calls or [_drawing()]:
            result._on_each_partial(call)


def _drawing() -> Callable[[Any], object]:
    """Draws each value in the place of the one before."""
    try:
        from IPython.display import display
    except ImportError:
        raise UsageError(
            "results are drawn as they fill only in a notebook", "LiveVisualize(results, callback)"
        ) from None
    handle: Any = display(display_id=True)
    return lambda value: handle.update(value) if handle is not None else None


def FromSpec(
    specification: str | os.PathLike[str], executor: Any = None, npartitions: int | None = None
) -> RDataFrame:
    """Make an RDataFrame of the samples of a specification in JSON; `executor` and `npartitions` as there."""
    made = RDataFrame(
        DataFrame.from_spec(specification, threads=_threads, executor=executor, npartitions=npartitions)
    )
    made._set_up()
    return made


def SaveGraph(node: RDataFrame | RResultPtr[Any], path: str | os.PathLike[str] | None = None) -> str | None:
    """Return the graph as text for Graphviz, or write it to a file, as text unless it is called "*.svg".

    Of a result, a filter or a range it is the way from the source to it, otherwise the whole graph.
    """
    if isinstance(node, RResultPtr):
        graph = node._result._session.graph
        drawn = graph.dot_above_result(node._result._number)
    else:
        graph = node._frame._graph
        drawn = graph.dot_above(node._frame._node) if node._selects() else graph.dot()
    if path is None:
        return drawn
    write_drawing(drawing(drawn) if path_text(path).endswith(".svg") else drawn, path)
    return None


def FromArrays(data: Any) -> RDataFrame:
    """Make an RDataFrame of arrays in memory; see `colonnade.DataFrame.from_arrays`."""
    return RDataFrame(DataFrame.from_arrays(data, threads=_threads))


FromNumpy = FromPandas = FromArrays
