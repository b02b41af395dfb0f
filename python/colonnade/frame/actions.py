"""The results of a DataFrame: numbers, histograms, arrays, cut flows, new data sets."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, overload

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.annotations import checked_methods
from colonnade.arrays.arrow import stream_as
from colonnade.arrays.awkward import zip_fields
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.numpy import to_numpy
from colonnade.errors import (
    ResourceError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
    after_commit,
    redacted,
)
from colonnade.misuse import advised, check_order, function_of, names_of, path_text, shown
from colonnade.reading.dataset import Library, unknown_library
from colonnade.reading.steps import check_step
from colonnade.reading.streams import Stream
from colonnade.writing.attributes import AttributeAppender
from colonnade.writing.options import WriteMode, check_names, write_options

from .expressions import ExpressionLike
from .histograms import (
    HistogramModel,
    Model,
    add_histograms,
    check_fill,
    empty_hist,
    flat_together,
    histogram_model,
    storage_of,
    to_hist,
    to_profile,
)
from .node import Columns, Description, Node, json_of
from .results import (
    Display,
    GraphPoints,
    JoinedResult,
    Report,
    Result,
    Stats,
    graph_of,
    report_of,
    stats_of,
)
from .session import Booking, PythonCalls, Session
from .steps import ENTRY, Steps, as_arrow, table_as_pandas
from .summaries import Counts, Summary, flat_values
from .tallies import Tally, quantiles_of
from .values import (
    assemble,
    holds_variant,
    innermost,
    is_numeric,
    is_text,
    layout_of,
    python_array,
)

if TYPE_CHECKING:
    from typing import Unpack

    import hist
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade.reading.scanning import ArrowDataset, Passes
    from colonnade.writing.options import WriteSettings

    from .carried import CarriedAttributes
    from .dataframe import DataFrame

__all__ = ["Actions"]

S = TypeVar("S")
Spread = Literal["mean", "s", "i", "g"]
_NUMBER = ""
"""The name of the numbers of the rows of a display, which no column has."""


@checked_methods
class Actions(Node):
    """Results over the entries that reach a node. All are lazy but `snapshot`, `foreach` and the conversions to arrays.

    Where values are lists, they count once per item, and a scalar beside them once for each item of its entry.
    """

    # ---- Numbers

    def count(self) -> Result[int]:
        """Count the entries."""
        return self._book("count", [], {}, _as_int)

    def sum(self, x: ExpressionLike, start: float = 0) -> Result[float]:
        """Add up values, and `start`; int for integers unless the sum needs more than 64 bits, else float."""
        return self._book("sum", [self._text(x)], {"start": start}, _plain)

    def min(self, x: ExpressionLike) -> Result[float]:
        """Find the smallest value."""
        return self._book("min", [self._text(x)], {}, _plain)

    def max(self, x: ExpressionLike) -> Result[float]:
        """Find the largest value."""
        return self._book("max", [self._text(x)], {}, _plain)

    def mean(self, x: ExpressionLike) -> Result[float]:
        """Compute the arithmetic mean."""
        return self._book("mean", [self._text(x)], {}, _as_float)

    def stddev(self, x: ExpressionLike) -> Result[float]:
        """Compute the standard deviation, with n - 1 in the denominator."""
        return self._book("stddev", [self._text(x)], {}, _as_float)

    def stats(self, x: ExpressionLike, weight: ExpressionLike | None = None) -> Result[Stats]:
        """Compute number, sum, mean, standard deviation and range of values, weighted if there is a weight."""
        arguments = self._texts([x] if weight is None else [x, weight])
        return self._book("stats", arguments, {}, lambda value: stats_of(cast("_core.StatsValue", value)))

    @overload
    def quantile(self, x: ExpressionLike, q: float = ..., *, exact_up_to: int = ...) -> Result[float]: ...
    @overload
    def quantile(
        self, x: ExpressionLike, q: Sequence[float], *, exact_up_to: int = ...
    ) -> Result[NDArray[np.float64]]: ...
    def quantile(
        self, x: ExpressionLike, q: float | Sequence[float] = 0.5, *, exact_up_to: int = 1_000_000
    ) -> Result[Any]:
        """Compute quantiles, interpolated linearly between values.

        Args:
            x: the values. If one of them is NaN, so are the quantiles.
            q: which quantile, 0 to 1, or several.
            exact_up_to: how many different values are counted one by one, with 16 bytes each. Of more than that the
                quantiles are approximate: values are counted in bins of equal relative width, as narrow as that number
                of bins allows. Over ten powers of two a million bins have a relative width of 0.00001. The result
                does not depend on the number of threads or tasks.
        """
        text = self._numbers(x, "quantile")
        try:
            asked = np.atleast_1d(q).tolist()
        except ValueError:  # lists of different lengths
            asked = [q]
        for each in asked:
            if isinstance(each, bool) or not isinstance(each, int | float) or not 0 <= each <= 1:
                raise UsageError(
                    f"q={shown(each)} is not a quantile", "a number from 0 to 1: q=0.5 is the median"
                )
        return self._tallied(
            [text], exact_up_to, f"quantile({text})", lambda tallies: quantiles_of(tallies[0], q)
        )

    def value_counts(self, x: ExpressionLike) -> Result[dict[Any, int]]:
        """Count how often each value occurs, numbers or texts, the most frequent first; at most 10 million values."""
        return self._counted(x, Counts.by_count, "value_counts")

    def unique(self, x: ExpressionLike) -> Result[list[Any]]:
        """Find all different values, sorted; up to 10 million."""
        return self._counted(x, Counts.different, "unique")

    def _counted(self, x: ExpressionLike, convert: Callable[[Counts], S], what: str) -> Result[S]:
        text = self._text(x)
        kind = self._graph.column_type(self._node, text)
        if not (is_numeric(kind) or is_text(kind)):
            raise TypeMismatchError(
                f"{what}() needs numbers or texts, but '{text}' is of type {kind.name}",
                "one of its members" if innermost(kind).kind == "record" else "",
            )
        return self._accumulate(
            f"{what}({text})",
            [self._with_sign(text)],
            lambda state, arrays: (state or Counts()).add(flat_values(arrays[0])),
            Counts.merged,
            lambda state: convert(state or Counts()),
        )

    @overload
    def describe(self, numeric: Literal[False] = False) -> Description: ...
    @overload
    def describe(self, numeric: Literal[True]) -> Result[Summary]: ...
    @overload
    def describe(self, numeric: bool) -> Description | Result[Summary]: ...
    def describe(self, numeric: bool = False) -> Description | Result[Summary]:
        """Return a text about the source, the columns and the nodes; or book the numbers of all columns.

        Args:
            numeric: the `summary` of all columns with numbers.
        """
        if not isinstance(numeric, bool):
            raise TypeMismatchError(f"numeric={numeric!r} is not True or False", "summary(columns)")
        return self.summary() if numeric else super().describe()

    def summary(self, columns: Columns = None, *, exact_up_to: int = 100_000) -> Result[Summary]:
        """Compute count, mean, standard deviation, range and quartiles of columns.

        Args:
            columns: which; all with numbers if None.
            exact_up_to: of each column, see `quantile`.
        """
        names = self._select(columns)
        if columns is None:
            names = [
                name for name in names if is_numeric(self._graph.column_type(self._node, self._text(name)))
            ]
        if not names:
            raise UsageError("there is no numeric column")
        texts = [self._numbers(name, "summary") for name in names]
        tallies = self._tallied(texts, exact_up_to, "summary", lambda tallies: tallies)
        return JoinedResult(
            "summary",
            [*map(self.stats, names), tallies],
            lambda values: Summary(dict(zip(names, values[:-1], strict=True)), values[-1]),
        )

    def _numbers(self, x: ExpressionLike, what: str) -> str:
        """Return the text of an expression; raises `TypeMismatchError` unless it gives numbers or lists of numbers."""
        text = self._text(x)
        kind = self._graph.column_type(self._node, text)
        if not is_numeric(kind):
            raise TypeMismatchError(
                f"{what}() needs numbers, but '{text}' is of type {kind.name}",
                "a number, a list of numbers, or a member that is one",
            )
        return text

    def _with_sign(self, text: str) -> str:
        """Return an expression for a `char` as a signed number, as in expressions; arrays in Python are unsigned."""
        kind = innermost(self._graph.column_type(self._node, text))
        is_char = kind.kind == "scalar" and kind.element == _core.ElementType.character
        return f"({text}) + 0" if is_char else text

    def _tallied(
        self, texts: list[str], most: int, what: str, finish: Callable[[list[Tally]], S]
    ) -> Result[S]:
        """Book the counts of the values of each column."""
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 2:
            raise UsageError(f"exact_up_to={most!r} is not a number of values", "exact_up_to=1_000_000")

        def start() -> list[Tally]:
            return [Tally(int(most)) for _ in texts]

        return self._accumulate(
            what,
            [self._with_sign(text) for text in texts],
            lambda state, arrays: [
                tally.add(flat_values(array)) for tally, array in zip(state or start(), arrays, strict=True)
            ],
            lambda state, later: [a.merged(b) for a, b in zip(state, later, strict=True)],
            lambda state: finish(state or start()),
        )

    # ---- Histograms

    @advised(
        'histo1d(("name", "title", bins, low, high), x, weight)',
        bins='histo1d(("name", "title", bins, low, high), x)',
        range='histo1d(("name", "title", bins, low, high), x)',
    )
    def histo1d(
        self,
        model: HistogramModel | ExpressionLike,
        x: ExpressionLike | None = None,
        weight: ExpressionLike | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Fill a histogram.

        Args:
            model: ("name", "title", bins, low, high), ("name", "title", edges), or an axis of `hist`, which fills
                and comes back as in `hist` (axes that grow, have texts or transforms of one's own are filled by `hist`
                itself, under the interpreter's lock). None, or left out as in `histo1d("x")`, takes 128 bins over the
                range of the values.
            x: the values.
            weight: of each value.

        Returns:
            A `hist.Hist` with underflow and overflow, with the storage Weight if there are weights, else Double. Its
            axis is named after `x`, or is the one that was given.
        """
        if x is None:
            model, x = None, cast("ExpressionLike", model)
        return self._histogram(model, [x], weight)

    @advised(
        'histo2d(("name", "title", bins, low, high, bins, low, high), x, y), or None for the ranges of values'
    )
    def histo2d(
        self,
        model: HistogramModel,
        x: ExpressionLike,
        y: ExpressionLike,
        weight: ExpressionLike | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Fill a histogram with two axes; see `histo1d`. Bins and range, or edges, follow for each axis."""
        return self._histogram(model, [x, y], weight)

    def histo3d(
        self,
        model: HistogramModel,
        x: ExpressionLike,
        y: ExpressionLike,
        z: ExpressionLike,
        weight: ExpressionLike | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Fill a histogram with three axes; see `histo1d`."""
        return self._histogram(model, [x, y, z], weight)

    def histond(
        self,
        model: HistogramModel,
        columns: Sequence[ExpressionLike],
        weight: ExpressionLike | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Fill a histogram with an axis for each of `columns`; see `histo1d`."""
        return self._histogram(model, [*self._texts(columns)], weight)

    def profile1d(
        self,
        model: HistogramModel,
        x: ExpressionLike,
        y: ExpressionLike,
        weight: ExpressionLike | None = None,
        *,
        spread: Spread = "mean",
        limits: tuple[float, float] | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Compute the mean of `y` in bins of `x`.

        Args:
            model: see `histo1d`.
            x: what is binned.
            y: what is averaged.
            weight: of each value.
            spread: ROOT's option for the errors of its profiles, kept for drawing.
            limits: the smallest and largest `y` that count; all if None.

        Returns:
            A `hist.Hist` with the storage WeightedMean.
        """
        return self._profile(model, [x], y, weight, spread, limits)

    def profile2d(
        self,
        model: HistogramModel,
        x: ExpressionLike,
        y: ExpressionLike,
        z: ExpressionLike,
        weight: ExpressionLike | None = None,
        *,
        spread: Spread = "mean",
        limits: tuple[float, float] | None = None,
    ) -> Result[hist.Hist[Any]]:
        """Compute the mean of `z` in bins of `x` and `y`; see `profile1d`."""
        return self._profile(model, [x, y], z, weight, spread, limits)

    def fill(
        self, histogram: hist.Hist[Any], *columns: ExpressionLike, weight: ExpressionLike | None = None
    ) -> Result[Any]:
        """Fill a copy of any histogram of `hist` or `boost_histogram`, whatever its axes and storage.

        It is filled under the interpreter's lock: `histo1d` and the others use all processors, this does not.

        Args:
            histogram: its state before the first entry.
            *columns: values for its axes: numbers or texts, or lists of these, which count once per item.
            weight: of each value.
        """
        if not hasattr(histogram, "axes") or not hasattr(histogram, "fill"):
            raise TypeMismatchError(
                f"an object of type '{type(histogram).__name__}' is not a histogram", "histo1d(model, x)"
            )
        texts = self._texts([*columns])
        if getattr(histogram, "kind", None) is not None and str(histogram.kind) == "MEAN":
            raise UsageError("a histogram of means has a value to average", "profile1d(model, x, y)")
        named = {} if weight is None else {"weight": self._text(weight)}
        return self._filled(histogram, texts, named, "fill")

    # ---- Points, values

    def graph(
        self,
        x: ExpressionLike,
        y: ExpressionLike,
        errors: Sequence[ExpressionLike] | None = None,
        *,
        name: str = "",
        title: str = "",
    ) -> Result[GraphPoints]:
        """Collect points in entry order.

        Args:
            x: one coordinate.
            y: the other.
            errors: of x down, x up, y down, y up, if any.
            name: of the graph.
            title: of the graph.
        """
        more = [] if errors is None else self._texts(errors)
        if len(more) not in (0, 4):
            raise UsageError(f"a graph has 4 errors (x down, x up, y down, y up) or none, not {len(more)}")
        options: dict[str, object] = {"errors": len(more), "name": name, "title": title}
        return self._book(
            "graph",
            self._texts([x, y, *more]),
            options,
            lambda value: graph_of(cast("_core.GraphValue", value)),
        )

    @advised("to_numpy([x, y]) for several columns")
    def take(self, x: ExpressionLike) -> Result[Any]:
        """Collect values in entry order: a NumPy array of numbers, an Awkward array of other values."""
        text = self._text(x)
        return self._take([text], lambda layouts: python_array(layouts[text]), f"take({text})")

    def report(self) -> Result[Report]:
        """Count how many entries reach and pass the named filters above."""
        return Result(
            self._session,
            Booking("report", self._node),
            "report",
            lambda graph, number, variation: report_of(graph.report_value(number, variation)),
        )

    @advised("display(columns, rows=5)", n="rows")
    def display(self, columns: Columns = None, rows: int = 5) -> Result[Display]:
        """Show the first entries."""
        if isinstance(columns, int):
            raise TypeMismatchError(f"{columns} does not name columns", f"display(rows={columns})")
        return self._displayed(self._select(columns), rows)

    def _displayed(self, columns: Sequence[str], rows: int, number: str | None = None) -> Result[Display]:
        """Book a display of columns and expressions; `number` is one for the numbers of the rows."""
        named = {**({} if number is None else {_NUMBER: number}), **dict(zip(columns, columns, strict=True))}
        texts = [self._with_sign(each) for each in self._texts([*named.values()])]
        options: dict[str, object] = {"names": [*named], "rows": rows}

        def convert(value: object) -> Display:
            arrays = {name: ak.Array(layout) for name, layout in _layouts(value).items()}
            return Display(arrays, arrays.pop(_NUMBER, None))

        return self._book("display", texts, options, convert)

    # ---- By Python code

    def reduce(
        self,
        function: Callable[[Any, Any], Any] | np.ufunc,
        x: ExpressionLike,
        start: Any = None,
    ) -> Result[Any]:
        """Combine all values of `x` into one with a function of two values.

        It is called in entry order within parts of the source, then on the parts' results: it must be associative.

        Args:
            function: a NumPy ufunc (numpy.maximum), which works on whole blocks; or any callable, called per value.
            x: the values, without those that are missing; for a ufunc also lists, whose items are the values.
            start: combined with the result at the end; the result of no values.

        Returns:
            The combined value; None if there are no values and no `start`.
        """
        function_of(function, "reduce(function, x)")
        if isinstance(function, np.ufunc) and not isinstance(start, int | float | np.number | None):
            raise TypeMismatchError(f"start={start!r} is not a number", "start=0")
        text = self._numbers(x, "reduce") if isinstance(function, np.ufunc) else self._text(x)

        def add(state: Any, arrays: list[Any]) -> Any:
            if isinstance(function, np.ufunc):
                values = flat_values(arrays[0])
                if values.size == 0:  # lists without items: not every ufunc accepts these
                    return state
                block = function.reduce(values)
                return block if state is None else function(state, block)
            for value in ak.to_list(ak.drop_none(arrays[0], axis=0)):
                state = value if state is None else function(state, value)
            return state

        def finish(state: Any) -> Any:
            if state is None or start is None:
                return start if state is None else state
            return function(start, state)

        def merge(state: Any, later: Any) -> Any:
            if state is None or later is None:
                return later if state is None else state
            return function(state, later)

        return self._accumulate(f"reduce({text})", [text], add, merge, finish)

    def aggregate(
        self,
        add: Callable[..., S],
        merge: Callable[[S, S], S],
        columns: ExpressionLike | Sequence[ExpressionLike],
        start: S,
    ) -> Result[S]:
        """Compute a custom state.

        Args:
            add: called as add(state, array, ...) for a block of entries, returns the new state; it may change the one
                that it is given. Arrays are NumPy's for numbers, Awkward's for all else.
            merge: merge(state, later) for the states of two parts of the entries, the later part second.
            columns: what the arrays hold.
            start: the state before any entry; each part starts with a copy.
        """
        for each in (add, merge):
            function_of(each, "aggregate(add, merge, columns, start)")
        texts = self._texts(columns)

        def block(state: Any, arrays: list[Any]) -> Any:
            return add(copy.deepcopy(start) if state is None else state, *arrays)

        def finish(state: Any) -> Any:
            return copy.deepcopy(start) if state is None else state

        return self._accumulate(f"aggregate({', '.join(texts)})", texts, block, merge, finish)

    def foreach(
        self, function: Callable[..., object], columns: ExpressionLike | Sequence[ExpressionLike]
    ) -> None:
        """Call a function for blocks of entries, in entry order, now.

        Args:
            function: called with an array for each of `columns`: NumPy's for numbers, Awkward's for all else.
            columns: names or expressions.
        """
        function_of(function, "foreach(function, columns)")
        texts = self._texts(columns)

        def add(state: Any, arrays: list[Any]) -> bool:
            function(*arrays)
            return True

        self._accumulate("foreach", texts, add, lambda a, b: True, bool, in_order=True).value  # noqa: B018

    # ---- Arrays and data sets

    def to_awkward(self, columns: Columns = None) -> ak.Array:
        """Compute columns as one Awkward array of records, in entry order, now."""
        return cast("ak.Array", self.lazy_awkward(columns).value)

    def lazy_awkward(self, columns: Columns = None) -> Result[ak.Array]:
        """Book the result of `to_awkward`."""
        names = self._select(columns)
        return self._take(
            names, lambda layouts: zip_fields(layouts, next(iter(layouts.values())).length), "to_awkward"
        )

    def to_numpy(self, columns: Columns = None) -> dict[str, NDArray[Any]]:
        """Compute columns as NumPy arrays by name, in entry order, now; lists and strings are arrays of objects."""
        return self.lazy_numpy(columns).value

    as_numpy = to_numpy

    def lazy_numpy(self, columns: Columns = None) -> Result[dict[str, NDArray[Any]]]:
        """Book the result of `to_numpy`."""
        return self._take(
            self._select(columns),
            lambda layouts: {name: to_numpy(layout) for name, layout in layouts.items()},
            "to_numpy",
        )

    def to_arrow(self, columns: Columns = None) -> pa.Table:
        """Compute columns as an Arrow table, in entry order, now."""
        return self.lazy_arrow(columns).value

    def to_pandas(self, columns: Columns = None) -> pd.DataFrame:
        """Compute columns as a `pandas.DataFrame`, in entry order, now."""
        return table_as_pandas(self.to_arrow(columns))

    def to_polars(self, columns: Columns = None) -> pl.DataFrame:
        """Compute columns as a `polars.DataFrame`, in entry order, now.

        Raises:
            UnsupportedError: Polars has no type for a column, a variant for example.
        """
        from colonnade.polars import frame_of

        return frame_of(self.to_arrow(self._polars_columns(columns)))

    def _polars_columns(self, columns: Columns) -> list[str]:
        names = self._select(columns)
        for name in names:
            kind = self._graph.column_type(self._node, self._text(name))
            if holds_variant(kind):
                raise UnsupportedError(f"Polars has no type for '{kind.name}'", "other columns", field=name)
        return names

    def lazy_arrow(self, columns: Columns = None) -> Result[pa.Table]:
        """Book the result of `to_arrow`."""
        import pyarrow

        from colonnade.arrays.arrow import ArrowBuilder

        def convert(value: object) -> pa.Table:
            builder = ArrowBuilder()
            columns = {name: assemble(values.spread(), builder) for name, values in _columns(value)}
            return pyarrow.table(columns)

        names = self._select(columns)
        return self._book("take", self._texts(names), {"names": names}, convert, "to_arrow")

    def iterate(
        self, columns: Columns = None, *, step_size: int | str = "50 MB", library: Library = "ak"
    ) -> Iterator[Any]:
        """Compute columns step by step, in entry order and in bounded memory.

        Other results stay booked: they are computed when their values are read, in a pass of their own. Behind a range,
        all rows are computed at the first step.

        Args:
            columns: names, wildcards, or None for all.
            step_size: entries per step before filters, or memory per step ("50 MB").
            library: "ak" for an `awkward.Array` of records, "np" for a dictionary of NumPy arrays, "pa" for a
                `pyarrow.Table`, "pd" for a `pandas.DataFrame`, "pl" for a `polars.DataFrame`.

        Yields:
            The rows of consecutive entries; steps without any are left out.

        Raises:
            UsageError: an invalid size, or an unknown library.
        """
        check_step(step_size)
        if library not in get_args(Library):
            raise unknown_library(library)
        return self._steps(columns).each(step_size, library)

    def to_arrow_reader(
        self, columns: Columns = None, *, step_size: int | str = "64 MiB"
    ) -> pa.RecordBatchReader:
        """Compute columns as a stream of Arrow record batches, in entry order; see `iterate` for the steps."""
        import pyarrow

        check_step(step_size)
        steps = self._steps(columns)
        tables = [as_arrow(steps.compute_all())] if steps.is_after_range else None
        schema = (as_arrow(steps.compute(0, 0)) if tables is None else tables[0]).schema
        stream = steps.each(step_size, "pa") if tables is None else iter(tables)
        batches = (batch for table in stream for batch in table.to_batches())
        return pyarrow.RecordBatchReader.from_batches(schema, Stream(batches))

    def to_arrow_dataset(self, columns: Columns = None) -> ArrowDataset:
        """Make a pyarrow dataset, of which DuckDB, for example, computes only the columns that a query needs.

        ```python
        events = df.to_arrow_dataset()
        duckdb.sql("select avg(mass) from events where met > 20")
        ```
        """
        from colonnade.reading.scanning import ArrowDataset

        return ArrowDataset(self, columns)

    def _arrow_schema(self, columns: Columns) -> pa.Schema:
        steps = self._steps(columns)
        return as_arrow(steps.compute_all() if steps.is_after_range else steps.compute(0, 0)).schema

    def _arrow_batches(
        self, columns: Sequence[str], tested: Sequence[str], passes: Passes | None, rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        names = list(dict.fromkeys([*columns, *tested]))
        steps = self._steps(names) if names else Steps(self, {ENTRY: ENTRY})
        left = sys.maxsize if rows is None else rows
        for table in steps.each("64 MiB", "pa") if left else ():
            for batch in table[:left].to_batches():
                mask = None if passes is None else passes(batch.select(list(tested or names)))
                kept = batch if mask is None else batch.filter(mask)
                yield kept.select(list(columns))
            left -= min(left, table.num_rows)
            if not left:
                return

    def _arrow_rows(self) -> int:
        return sum(batch.num_rows for batch in self._arrow_batches([], [], None))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return all columns as an Arrow stream, for pyarrow.table(df), polars.DataFrame(df), DuckDB."""
        return stream_as(self.to_arrow_reader(), requested_schema)

    def _steps(self, columns: Columns) -> Steps:
        names = self._select(columns)
        return Steps(self, dict(zip(names, self._texts(names), strict=True)))

    def cache(self, columns: Columns = None, place: str | os.PathLike[str] | None = None) -> DataFrame:
        """Compute columns now and keep them as a new DataFrame.

        Args:
            columns: which; all if None.
            place: a folder or an object store that all workers can reach: the columns stay there until nothing uses the
                new DataFrame, whose results are computed as those of this one. In the memory of this process if None;
                then later results are computed in this process.

        Returns:
            A DataFrame of the columns.
        """
        from .dataframe import DataFrame

        if place is not None:
            return self._cached_at(columns, place)
        names = self._select(columns)
        texts = self._texts(names)
        kept = self._book("take", texts, {"names": names}, _columns, "cache").value
        source = self._graph.kept_columns(self._node, texts, kept)
        before = self._session
        session = Session(
            source, f"columns of {before.place}", self.threads, before.progress, before.block_entries
        )
        return DataFrame._over(session)

    @overload
    def snapshot(
        self,
        uri: str | os.PathLike[str],
        name: str = ...,
        columns: Columns = ...,
        *,
        mode: WriteMode = ...,
        append: bool = ...,
        lazy: Literal[False] = ...,
        attributes: bool | Sequence[str] = ...,
        **options: Unpack[WriteSettings],
    ) -> DataFrame: ...
    @overload
    def snapshot(
        self,
        uri: str | os.PathLike[str],
        name: str = ...,
        columns: Columns = ...,
        *,
        mode: WriteMode = ...,
        append: bool = ...,
        lazy: Literal[True],
        **options: Unpack[WriteSettings],
    ) -> Result[DataFrame]: ...
    def snapshot(
        self,
        uri: str | os.PathLike[str],
        name: str = "Events",
        columns: Columns = None,
        *,
        mode: WriteMode = "recreate",
        append: bool = False,
        lazy: bool = False,
        attributes: bool | Sequence[str] = False,
        **options: Unpack[WriteSettings],
    ) -> DataFrame | Result[DataFrame]:
        """Write columns to a new data set, in entry order, on all processors.

        Args:
            uri: the destination, as for `colonnade.create`. With an executor also a local folder ("out/"),
                in which each task leaves a file.
            name: of the data set.
            columns: what to write; all columns if None. Columns of files keep their types.
            mode: "recreate" replaces an existing file; "create" makes a new one; "update" adds the data set to an
                existing ROOT file, which may be one that this DataFrame reads. See `colonnade.create`.
            append: the same as mode="update".
            lazy: only book it. Otherwise it is written now, and all earlier bookings are computed in the same pass.
            attributes: take over the attribute sets of the files, all or those named, in the same commit: their ranges
                are those of the entries that are left.
            **options: see `colonnade.create`.

        Returns:
            A DataFrame over the new data set, with the same executor.

        Raises:
            UsageError: the destination over XRootD is a file of this DataFrame, which would be replaced.
        """
        from .cached import files_in
        from .carried import CarriedAttributes

        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not a name for a data set", "snapshot(uri, name, columns)")
        target = _core.absolute_name(path_text(uri))
        check_order(uri, name, "snapshot")
        carry = attributes if isinstance(attributes, bool) else names_of(attributes, "attribute set")
        if carry and lazy:
            raise UsageError("a snapshot with attribute sets cannot be lazy", "leave out lazy=True")
        if carry and target.endswith("/"):
            raise UsageError(
                "attribute sets belong to one data set, but each task leaves one in the folder",
                "a file or an object store",
                uri=target,
            )
        names = self._select(columns)
        check_names(options, "a snapshot")
        write_options(**options)  # refuses invalid options
        written: dict[str, object] = dict(options)
        every = options.get("checkpoint_every")
        if isinstance(every, timedelta):
            written["checkpoint_every"] = {"seconds": every.total_seconds()}
        settings: dict[str, object] = {
            "names": names,
            "uri": target,
            "name": name,
            "mode": "update" if append else mode,
            "write": written,
        }
        if not append and mode == "recreate":
            self._check_replaced(target)
        if target.endswith("/"):
            self._check_folder(target)
            if append or mode == "update":
                raise UsageError(f'"{uri}" is a folder, to which nothing is added', "a file", uri=target)

        carried = CarriedAttributes(self, None if isinstance(carry, bool) else carry) if carry else None
        if carried is not None:
            settings["commit"] = False
        # The graph has no snapshot if other processes wrote it.
        result = Result(
            self._session,
            Booking(
                "snapshot",
                self._node,
                tuple(self._texts(names)),
                json_of(settings),
            ),
            f"snapshot to '{redacted(target)}'",
            _Written(name, files_in(target) if target.endswith("/") else target, self._session, carried),
        )
        if carried is not None:
            self._session.before_commit[result._number] = carried.add_to
        if lazy:
            return result
        try:
            return result.value
        except BaseException:
            # The traceback holds the result, and later passes would want it.
            result._forget()
            raise

    # ---- Inside

    def _cached_at(self, columns: Columns, place: str | os.PathLike[str]) -> DataFrame:
        from .cached import CachePlace

        before = self._session
        kept = CachePlace(place, of_tasks=before.remote is not None)
        try:
            _ = self.snapshot(kept.target, kept.name, columns, lazy=True, compression="lz4:1").value
            made = _Written(kept.name, kept.files, before).open()
        except BaseException:
            kept.remove()
            raise
        session = made._session
        session.kept = kept
        session.place, session.block_entries = f"columns of {before.place}", before.block_entries
        session.graph.set_block_entries(before.block_entries)
        return made

    def _check_replaced(self, uri: str) -> None:
        """Refuse to replace a file on a server that would show the old one, as this DataFrame has it open."""
        if uri.partition("://")[0].removeprefix("x") not in ("root", "roots"):
            return
        place = uri.partition("?")[0]
        if any(sample.uri.partition("?")[0] == place for sample in self._session.source.samples):
            raise UsageError(
                "this DataFrame reads the file, and as long as it does, the server shows the old one to all readers",
                "another file",
                uri=uri,
            )

    def _check_folder(self, uri: str) -> None:
        if self._session.remote is None:
            raise UsageError(
                f'"{uri}" is a folder, but this DataFrame writes one file',
                "the name of a file, or executor=2 for one file per task",
            )
        path = _core.local_path(uri.rstrip("/") or "/")  # refuses remote URIs
        if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
            raise UsageError(f'"{uri}" already exists', "another name, or remove it", uri=uri)

    def _histogram(
        self, model: Any, columns: list[ExpressionLike], weight: ExpressionLike | None
    ) -> Result[hist.Hist[Any]]:
        texts = self._texts(columns)
        made = histogram_model(model, texts)
        if not made.is_native:
            named = {} if weight is None else {"weight": self._text(weight)}
            storage = storage_of("Double" if weight is None else "Weight")
            return self._filled(empty_hist(made, storage), texts, named, "histogram")
        return self._booked_model(
            made, texts, weight, lambda value: to_hist(cast("_core.HistogramValue", value), made.given)
        )

    def _booked_histogram(
        self,
        model: Any,
        columns: list[ExpressionLike],
        weight: ExpressionLike | None,
        convert: Callable[[object], S],
    ) -> Result[S]:
        texts = self._texts(columns)
        return self._booked_model(histogram_model(model, texts), texts, weight, convert)

    def _booked_model(
        self, made: Model, texts: list[str], weight: ExpressionLike | None, convert: Callable[[object], S]
    ) -> Result[S]:
        arguments = texts if weight is None else [*texts, self._text(weight)]
        return self._book("histogram", arguments, made.options(weighted=weight is not None), convert)

    def _profile(
        self,
        model: Any,
        columns: list[ExpressionLike],
        value: ExpressionLike,
        weight: ExpressionLike | None,
        spread: str,
        limits: tuple[float, float] | None,
    ) -> Result[hist.Hist[Any]]:
        texts = self._texts(columns)
        booked = histogram_model(model, texts)
        if not booked.is_native:
            if limits is not None:
                raise UsageError("a profile with a growing or text axis takes no limits")
            named = {"sample": self._text(value)} | ({} if weight is None else {"weight": self._text(weight)})
            return self._filled(empty_hist(booked, storage_of("WeightedMean")), texts, named, "profile")
        return self._booked_profile(
            model,
            columns,
            value,
            weight,
            spread,
            limits,
            lambda made: to_profile(cast("_core.ProfileValue", made), booked.given),
        )

    def _booked_profile(
        self,
        model: Any,
        columns: list[ExpressionLike],
        value: ExpressionLike,
        weight: ExpressionLike | None,
        spread: str,
        limits: tuple[float, float] | None,
        convert: Callable[[object], S],
    ) -> Result[S]:
        texts = self._texts(columns)
        more: dict[str, object] = {"weighted": weight is not None, "spread": spread}
        if limits is not None:
            more["limits"] = _limits(limits)
        arguments = [*texts, self._text(value)]
        if weight is not None:
            arguments.append(self._text(weight))
        return self._book("profile", arguments, histogram_model(model, texts).options(**more), convert)

    def _filled(self, histogram: Any, columns: list[str], named: dict[str, str], what: str) -> Result[Any]:
        """Book a copy of a histogram that `hist` fills itself; `named` are its weight and sample."""
        check_fill(histogram, [(text, self._graph.column_type(self._node, text)) for text in columns], what)
        for each, text in named.items():
            self._numbers(text, each)
        empty = copy.deepcopy(histogram)
        empty.reset()
        # Axes that grew to different edges cannot be added: the fills are kept until the end.
        is_kept = any(axis.traits.growth and axis.traits.continuous for axis in histogram.axes)

        def fill(target: Any, flat: list[Any]) -> Any:
            more = dict(zip(named, flat[len(columns) :], strict=True))
            return target.fill(*flat[: len(columns)], **more)

        def add(state: Any, arrays: list[Any]) -> Any:
            flat = flat_together(arrays)
            if is_kept:
                return [*(state or []), flat]
            return fill(copy.deepcopy(empty) if state is None else state, flat)

        def finish(state: Any) -> Any:
            filled = copy.deepcopy(histogram)
            if state is None:
                return filled
            if not is_kept:
                return add_histograms(filled, state)
            for flat in state:
                fill(filled, flat)
            return filled

        def merge(state: Any, later: Any) -> Any:
            return state + later if is_kept else add_histograms(state, later)

        texts = [self._with_sign(text) for text in (*columns, *named.values())]
        return self._accumulate(what, texts, add, merge, finish)

    def _take(self, names: list[str], convert: Callable[[dict[str, Any]], S], what: str) -> Result[S]:
        return self._book(
            "take", self._texts(names), {"names": names}, lambda value: convert(_layouts(value)), what
        )

    def _accumulate(
        self,
        what: str,
        arguments: list[str],
        add: Callable[[Any, list[Any]], Any],
        merge: Callable[[Any, Any], Any],
        finish: Callable[[Any], S],
        *,
        in_order: bool = False,
    ) -> Result[S]:
        """Book a result that Python code computes, block by block."""

        calls = PythonCalls(add, merge, in_order)
        return Result(
            self._session,
            Booking("python", self._node, tuple(arguments), calls=calls),
            what,
            lambda graph, number, variation: finish(graph.python_value(number, variation)),
        )


class _Written:
    """Opens the data set that a snapshot wrote, with the settings of the original DataFrame.

    If attribute sets are carried over, it commits what a pass in this process left uncommitted.
    """

    def __init__(
        self, name: str, files: str, session: Session, carried: CarriedAttributes | None = None
    ) -> None:
        self._name, self._files, self._carried = name, files, carried
        self._threads, self._progress = session.threads, session.progress
        self._remote, self._setup = session.remote, session.setup

    def __call__(self, graph: _core.FrameGraph, number: int, variation: str) -> DataFrame:
        if self._carried is not None and graph.is_ready(number):
            writer = cast("_core.SnapshotValue", graph.value(number, variation)).writer
            assert writer is not None
            with AttributeAppender(self._files, self._name, lambda: writer) as out:
                self._carried.add_to(out)
        try:
            return self.open()
        except (StorageError, ResourceError) as error:
            raise after_commit(error, "the snapshot was not opened") from error

    def open(self) -> DataFrame:
        """Open it."""
        from .dataframe import DataFrame

        made = DataFrame(self._name, self._files, threads=self._threads, progress=self._progress)
        made._session.remote, made._session.setup = self._remote, self._setup
        return made


def _limits(limits: object) -> list[float]:
    given = list(limits) if isinstance(limits, Iterable) and not isinstance(limits, str) else []
    if len(given) != 2 or not all(isinstance(limit, int | float | np.number) for limit in given):
        raise UsageError(f"limits={limits!r} are not two numbers", "limits=(0, 100)")
    return [float(limit) for limit in given]


def _plain(value: object) -> Any:
    return value


def _as_int(value: object) -> int:
    return int(cast("int", value))


def _as_float(value: object) -> float:
    return float(cast("float", value))


def _columns(value: object) -> list[tuple[str, _core.Values]]:
    return list(cast("_core.ArraysValue", value).columns)


def _layouts(value: object) -> dict[str, Any]:
    return {name: layout_of(values.spread()) for name, values in _columns(value)}
