"""DataFrames: lazy analysis of columns, on all processors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

import numpy as np

from colonnade import _core
from colonnade.annotations import checked, checked_methods
from colonnade.arrays.columns import as_texts
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    NotFoundError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
    locate,
    warn_left_out,
)
from colonnade.misuse import (
    column_name,
    files_of,
    mapping_of,
    name_pairs,
    names_of,
    path_text,
    refuse_arguments,
    shown,
    whole_number,
)
from colonnade.reading import opening
from colonnade.reading.dataset import DataSet, ReadSettings, lasting_cache, read_options
from colonnade.reading.joining import Joined
from colonnade.reading.opening import of_different_names, split_target, split_targets
from colonnade.reading.places import Places
from colonnade.writing.sources import Batch, to_batch

from .actions import Actions
from .callables import (
    Definable,
    Returns,
    columns_of,
    define_callable,
    define_function,
    define_per_sample,
)
from .expressions import Expression, ExpressionLike
from .joining import Joining, all_but, missing_of
from .libraries import Functions, TextFunction
from .results import Result, Variations
from .sample_info import read_specification, told
from .session import BLOCK_ENTRIES, Remote, Session, Skipped, run_sessions
from .typed import booked
from .values import values_of

if TYPE_CHECKING:
    from typing import Unpack

    from colonnade.distributed.plans import Plan
    from colonnade.importing.tree_columns import TreeColumns
    from colonnade.reading.opening import PathLike

__all__ = ["DataFrame", "add_functions", "compute", "run_graphs"]

D = TypeVar("D", bound="DataFrame")
T = TypeVar("T")
_OTHER_NAMES = {
    "agg": "mean(x), sum(x), ..., and compute(a, b) for several",
    "apply": "define(name, callable)",
    "arrays": "to_awkward(columns)",
    "assign": "define(name, expression)",
    "collect": "to_polars(columns)",
    "columns": "column_names",
    "dtypes": "column_type(name)",
    "group_by": "value_counts(x), or histo1d with a category axis",
    "groupby": "value_counts(x), or histo1d with a category axis",
    "AsNumpy": "to_numpy(columns)",
    "cut": "filter(condition)",
    "fillna": "x.value_or(0) in an expression",
    "head": "range(5).to_pandas(), or display()",
    "hist": "histo1d(model, x)",
    "info": "describe()",
    "median": "quantile(x)",
    "merge": "join(name, files, on=...)",
    "nunique": "unique(x)",
    "query": "filter(condition)",
    "quantiles": "quantile(x, [0.25, 0.5, 0.75])",
    "rename": "alias(name, column)",
    "schema": "column_names, column_type(name)",
    "select": "to_arrow(columns), to_pandas(columns), ...",
    "shape": "count(), column_names",
    "show": "display()",
    "size": "count()",
    "std": "stddev(x)",
    "tail": "range(start, stop).to_pandas(), with stop=df.count()",
    "to_csv": "to_pandas(columns).to_csv(path)",
    "to_dict": "to_numpy(columns)",
    "to_parquet": "pyarrow.parquet.write_table(df.to_arrow(columns), path)",
    "values": "to_numpy(columns)",
    "var": "stddev(x)",
    "with_column": "define(name, expression)",
    "with_columns": "define(name, expression)",
}
"""Names in pandas, Polars or uproot, and their equivalents here."""
_MAX_VARIATIONS = 100_000
_DIFFERENT = "{} data sets of different names"
_FILES = 'DataFrame("Events", "f*.root"), or a list of files'
_OPTIONS = (*ReadSettings.__annotations__, "threads", "entries", "progress", "block_entries", "friends")
OnError: TypeAlias = Literal["raise", "skip"]
Friend: TypeAlias = (
    "PathLike | DataSet | list[PathLike | tuple[PathLike, str]] | tuple[str, PathLike | list[PathLike]]"
)
"""Files, an open data set, or the name of a data set and files."""


@checked_methods
class DataFrame(Actions):
    """A lazy analysis of the entries of data sets: definitions, filters and results over columns.

    Each method returns a new node or a result, and nothing is read before the `value` of a result is needed. One
    pass over the entries then computes everything that was booked. Results are the same, bit for bit, for any
    number of threads.

    Args:
        name: the path of the data set in its files, "Events" or "dir/Events" (may be "" if each has only one); a number
            of entries for a DataFrame without a source; a `DataSet`, perhaps joined; or, without `files`, a file
            ("f*.root:Events").
        files: a file, or several; wildcards and all that a reader opens. Entries are numbered through all of them.
            Where data sets have names of their own, pairs of file and name.
        threads: the number of threads of a pass; 0 for one per processor.
        entries: (start, stop), the entries to process; all if None. They keep their numbers.
        progress: show a progress bar: always, never, or for passes over two seconds (None).
        block_entries: the most entries that a callable gets at once; fewer use less memory, more save calls.
        friends: other data sets with as many entries, whose columns are beside those of this one: by the name that goes
            before theirs, files, an open data set, or the name of the data set and files. A column "x" of the friend
            "f" is "f.x", or just "x" if that name is unique.
        executor: computes results in other processes: a `concurrent.futures.Executor`, a client of Dask, a session or
            context of Spark, or a number of processes of this machine. None: the threads of this process.
        npartitions: the approximate number of tasks of a run; if None, four per worker, and more if workers are few.
        on_error: "raise", or "skip" to leave out entries that cannot be read, and files that cannot be opened, whose
            entries get no numbers; `skipped` lists them.
        checkpoint: a folder for finished tasks, from which a repeated or interrupted run continues.
        **options: how files are read, see `colonnade.open`.

    Raises:
        NotFoundError: no such file or data set.
        SchemaError: files with incompatible columns.
        UsageError: invalid arguments.
    """

    def __init__(
        self,
        name: str | int | np.integer[Any] | DataSet,
        files: PathLike | Sequence[PathLike | tuple[PathLike, str]] | None = None,
        *,
        threads: int = 0,
        entries: tuple[int, int] | None = None,
        progress: bool | None = None,
        block_entries: int = BLOCK_ENTRIES,
        friends: Mapping[str, Friend] | None = None,
        executor: Any = None,
        npartitions: int | None = None,
        on_error: OnError = "raise",
        checkpoint: PathLike | None = None,
        **options: Unpack[ReadSettings],
    ) -> None:
        remote = _remote(executor, npartitions, on_error, checkpoint)
        if friends is not None:
            friends = mapping_of(friends, 'friends={"f": ("More", "more.root")}')
        if isinstance(name, DataSet) and any(isinstance(of, Joined) for of in (friends or {}).values()):
            name, friends = _with_friends(name, friends or {}), None
        whole = name
        places: Places | None = None
        if isinstance(name, Joined):
            if friends:
                raise UsageError(
                    "a data set with friends takes no more of them here", "with_friends(...) of it"
                )
            places = Places(name)
            name, friends = places.places[0].first, places.places[0].friends
        opened = _open(name, files, options, progress, remote, on_error == "skip")
        source, place, trees = opened.source, opened.place, {"": opened.trees}
        hidden, own = _left_out_of(name, source), source.names
        stored = opened.trees.stored_friends() if files is not None and opened.trees is not None else {}
        beside = _stored_friends(stored, source, friends or {}, options, remote)
        friends = {**{each: stored[each] for each in beside}, **(friends or {})}
        if friends:
            beside |= {
                each: _open_friend(friends[each], options, remote) for each in friends if each not in beside
            }
            trees |= {f"{each}.": other.trees for each, other in beside.items()}
            others = [(each, other.source) for each, other in beside.items()]
            for (each, other), of in zip(others, friends.values(), strict=True):
                left_out = _left_out_of(of, other)
                hidden |= {f"{each}.{column}" for column in left_out} | left_out.difference(source.names)
            source = _core.friends_source(source, others)
        session = Session(source, place, threads, progress, block_entries, remote)
        session.hidden, session.matches, session.lost = hidden, opened.matches, opened.lost
        for prefix, of_trees in trees.items():
            if of_trees is not None:
                named = of_trees.other_names(all_=False)
                session.branches |= {prefix + branch: prefix + column for branch, column in named.items()}
                named_as_leaf = of_trees.leaf_types()
                session.leaf_types |= {prefix + column: is_leaf for column, is_leaf in named_as_leaf.items()}
                session.regrouped |= {prefix + column for column in of_trees.regrouped()}
                for column, (mask, bit) in of_trees.masks().items():
                    session.masks[prefix + column] = prefix + mask, bit
        if session.masks:
            _warn_of_masks(sorted(session.masks))
        session.friends = list(friends or {})
        if isinstance(whole, DataSet) and whole._selection is not None:
            session.shown = whole.field_names
        if entries is not None:
            session.graph.restrict_entries(*_entry_range(entries, source.entries))
        super().__init__(session)
        if isinstance(whole, Joined) and places is not None:
            self._node = Joining(session, 0, places, self._open_other).add_whole(own)

    @classmethod
    def from_arrays(
        cls: type[D],
        data: Any,
        *,
        threads: int = 0,
        progress: bool | None = None,
        block_entries: int = BLOCK_ENTRIES,
    ) -> D:
        """Make a DataFrame of arrays in memory, without copies if possible.

        Args:
            data: a mapping from names to NumPy, Awkward or Arrow arrays of one length, an Awkward array of records, a
                structured NumPy array, an Arrow table, or a data frame of pandas or Polars.
            threads: see `DataFrame`.
            progress: see `DataFrame`.
            block_entries: see `DataFrame`.

        Raises:
            UsageError: arrays of different lengths.
            TypeMismatchError: values that no expression can work with.
            ConversionError: integers that need more than 64 bits, or times that do not fit a unit of Arrow.
        """
        batch = to_batch(data)
        source = _source_of(batch) if batch.columns else _core.empty_source(batch.entries)
        return cls._over(Session(source, "arrays", threads, progress, block_entries))

    @classmethod
    def from_spec(cls: type[D], specification: PathLike | Mapping[str, Any], **options: Any) -> D:
        """Make a DataFrame of the samples of a specification, as ROOT's FromSpec.

        Callables of `define_per_sample` get a `SampleInfo`, with the name and the metadata of the sample.

        Args:
            specification: a JSON file or its content: {"samples": {"signal": {"trees": ["Events"], "files":
                ["s*.root"], "metadata": {"xsec": 1.5}}}, "range": [0, 1000]}.
            **options: see `DataFrame`.

        Raises:
            FileMissingError: no such file.
            FormatError: it is not a specification.
            StorageError: it cannot be read.
        """
        spec = read_specification(specification)
        options.setdefault("entries", spec.entries)
        options.setdefault("friends", {each.name: list(each.files) for each in spec.friends})
        made = cls("", spec.files, **options)
        made._session.owners = spec.owners(made._session.matches)
        return made

    @classmethod
    def _over(cls: type[D], session: Session, node: int = 0) -> D:
        made = cls.__new__(cls)
        Actions.__init__(made, session, node)
        return made

    def _at(self: D, node: int) -> D:
        return self._over(self._session, node)

    # ---- Other data sets

    def join(
        self: D,
        name: str | DataSet | Mapping[str, Any],
        files: PathLike | Sequence[PathLike] | None = None,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        how: Literal["inner", "left"] = "inner",
        columns: str | Sequence[str] | None = None,
        prefix: str = "",
        duplicates: Literal["error", "first"] = "error",
        table: PathLike | None = None,
        **options: Unpack[ReadSettings],
    ) -> D:
        """Add the columns of another data set, for entries whose keys are the same.

        The other side is read when a joined column is first needed, and the columns in use stay in memory.

        Args:
            name: of the other data set in its files; or an open data set, perhaps joined; or a mapping from names to
                arrays.
            files: of the other data set.
            on: the keys, which are integers: columns that both sides have, or a mapping from expressions here to
                columns there: {"run": "run_number", "event % 1000": "slot"}. One that is missing is the same as no
                other.
            how: "inner" leaves out entries without a match. "left" keeps them; joined columns are optional then:
                `x.has_value()` and `x.value_or(0)` tell what they have.
            columns: of the other data set; all but the keys if None, of those that `select` chose. Keys may be named.
            prefix: of the names of all joined columns. Without one, "Name_" stands before those that are taken.
            duplicates: what happens if several entries there have the same key: an error, or the first one is used.
            table: a file for the table of keys. It is used if it was made from the same files, and otherwise replaced.
                With an executor it is made once, before the tasks begin, and each task
                opens only those files of the other data set that have entries for it.
            **options: see `open`.

        Returns:
            A DataFrame with the joined columns, and with "Name_entry", the number of the entry there (-1: none).

        Raises:
            NotFoundError: no such column.
            TypeMismatchError: a key is not an integer.
            UsageError: no keys; the name of a joined column is in use.
            UnsupportedError: the other side is an inner join, or its keys come from a join of its own.
        """
        pairs = name_pairs(on, "column")
        if isinstance(name, Joined):
            if files is not None or options:
                raise UsageError("an open data set takes no files or options")
            joining = Joining(self._session, self._node, Places(name, 1), self._open_other)
            return self._at(
                joining.add_other(
                    name,
                    pairs,
                    texts=self._texts(list(pairs)),
                    inner=how == "inner",
                    columns=columns,
                    prefix=prefix,
                    takes_first=duplicates == "first",
                    table=_core.absolute_name(path_text(table)) if table else "",
                )
            )
        source, title = _other_side(name, files, options, self._session.remote)
        kept = _core.absolute_name(path_text(table)) if table else ""
        missing = missing_of(name)
        join = _core.Join(source, list(pairs.values()), duplicates == "first", kept, fills=missing == "fill")
        if table is not None:
            self._session.joins.append((join, kept))
        if columns is not None:
            chosen = names_of(columns)
        elif isinstance(name, DataSet) and name._selection is not None:
            chosen = [field for field in name.field_names if field not in pairs.values()]
        else:
            self._session.left_out += [(f"{prefix}{column}", why) for column, why in join.left_out]
            chosen = [each for each in join.columns() if missing != "skip" or each in name]
        taken = partial(self._graph.is_taken, self._node)
        wanted = join.wanted(self._texts(list(pairs)), title, prefix, chosen, taken, how == "inner")
        return self._at(self._graph.join(self._node, join, wanted))

    # ---- Columns

    def with_functions(self: D, functions: Mapping[str, Definable]) -> D:
        """Let expressions call your own functions: `df.with_functions({"sf": f}).define("w", "sf(pt) * weight")`.

        All nodes of the DataFrame can use them.

        Args:
            functions: by their names in expressions: callables, which are called for blocks of entries with an array
                for each argument (see `define`), `colonnade.functions("...")` of C++, `colonnade.corrections(...)`,
                `colonnade.onnx_model(...)`.

        Raises:
            UsageError: an invalid name, or one that is in use.
        """
        add_functions(self._session, mapping_of(functions, 'with_functions({"f": f})'))
        if isinstance(functions, Functions) and functions.text not in self._session.texts:
            self._session.texts.append(functions.text)
        return self

    def define(
        self: D,
        name: str,
        value: ExpressionLike | Definable | float,
        columns: Sequence[str] | None = None,
        *,
        per_row: bool = False,
        returns: Returns = None,
    ) -> D:
        """Add a column.

        Args:
            name: of the new column.
            value: an expression; a number; or a callable over columns, see `columns`.
            columns: the arguments of a callable (expressions); the columns with the names of its parameters if
                None.
            per_row: call it for each entry with Python numbers, str, and NumPy arrays for lists, compiled by Numba if
                that is installed and supports it. Otherwise it is called for a block of entries, with NumPy arrays
                for numbers and Awkward arrays for other values, and returns as many values.
            returns: the result type of a callable, as "float", "std::vector<int>" or numpy.float32. If it is not given
                here or by an annotation, the callable is tried on two made-up entries.

        Raises:
            UsageError: a column of that name exists; an expression is invalid.
            NotFoundError: unknown columns and functions.
            TypeMismatchError: types that do not match.
        """
        column_name(name)
        return self._booked(
            partial(self._graph.define, self._node, name),
            *(value, columns, per_row, returns, f"define '{name}'"),
        )

    def redefine(
        self: D,
        name: str,
        value: ExpressionLike | Definable | float,
        columns: Sequence[str] | None = None,
        *,
        per_row: bool = False,
        returns: Returns = None,
    ) -> D:
        """Give a column other values from here on; see `define`."""
        column_name(name)
        return self._booked(
            partial(self._graph.redefine, self._node, name),
            *(value, columns, per_row, returns, f"redefine '{name}'"),
        )

    def define_per_sample(
        self: D, name: str, value: ExpressionLike | Definable, *, returns: Returns = None
    ) -> D:
        """Add a column whose value depends on the file alone.

        Args:
            name: of the new column.
            value: a callable that is called once for each file with a `SampleInfo`: its name ("f.root/Events"), with
                entries, and with the name and metadata of the sample of a specification; or an expression of
                rdfsampleinfo_, the name, without columns.
            returns: see `define`.
        """
        column_name(name)
        return self._at(self._graph.define(self._node, name, self._sample_definition(value, returns)))

    def redefine_per_sample(
        self: D, name: str, value: ExpressionLike | Definable, *, returns: Returns = None
    ) -> D:
        """Give a column other values that depend on the file alone; see `define_per_sample`."""
        column_name(name)
        return self._at(self._graph.redefine(self._node, name, self._sample_definition(value, returns)))

    def alias(self: D, name: str, column: str) -> D:
        """Give a column a second name, which has its values even if they are redefined or varied later."""
        return self._at(self._graph.alias(self._node, column_name(name), column_name(column)))

    def default_value_for(
        self: D, column: str, value: ExpressionLike | float | str | Iterable[float | str]
    ) -> D:
        """Give a column a value for the files that do not have it, or for entries without a match of a left join.

        Of a list it is a list, which may be empty.
        """
        column_name(column)
        if isinstance(value, str | Expression):
            text = self._text(value)
        elif isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
            items = ", ".join(self._text(_constant(each)) for each in value)
            text = self._text(f"{{{items}}}" if items else f"{self.column_type(column)}{{}}")
        else:
            text = self._text(_constant(value))
        if passed := self._passed(column):
            kind = self.column_type(column)
            other = f"({text})" if kind.startswith("std::vector") else f"{kind}({text})"
            return self.redefine(column, f"{passed} ? `{column}` : {other}")
        return self._at(self._graph.default_value_for(self._node, column, _core.Definition.of_text(text)))

    def vary(
        self: D,
        columns: str | Sequence[str],
        values: ExpressionLike | Sequence[ExpressionLike] | Definable,
        tags: Sequence[str] | int,
        name: str = "",
        *,
        arguments: Sequence[str] | None = None,
        per_row: bool = False,
        returns: Returns = None,
    ) -> D:
        """Add systematic variations of one or several columns.

        Args:
            columns: the columns that vary.
            values: "{down, up}", with one value per tag, or these values in a list; for several columns
                "{{x down, x up}, {y down, y up}}". Or a callable that returns a tuple with one array per tag (for
                several columns a tuple of such).
            tags: the names of the variations, or their number ("0", "1", ...).
            name: of the group: the variations are called "name:tag". The column's name by default.
            arguments: the columns that a callable is called with.
            per_row: see `define`.
            returns: see `define`; the type of one value.

        Results are computed for variations if `variations_for` books it.
        """
        listed = names_of(columns)
        tags = int(tags) if isinstance(tags, np.integer) else tags
        if isinstance(tags, int) and not 0 < tags <= _MAX_VARIATIONS:
            raise UsageError(f"{tags} is not a number of variations", f"1 to {_MAX_VARIATIONS}")
        named = [str(k) for k in range(tags)] if isinstance(tags, int) else names_of(tags, "variation")
        shape = (len(named),) if len(listed) == 1 else (len(listed), len(named))
        if callable(values) and not isinstance(values, Expression):
            definition = define_callable(
                values,
                self._inputs(values, arguments),
                per_row=per_row,
                returns=returns,
                stack=shape,
                travels=self._session.remote is not None,
            )
        else:
            _refuse_for_text(arguments is not None or per_row or returns is not None)
            definition = _core.Definition.of_text(self._braces(values))
        return self._at(
            self._graph.vary(self._node, listed, definition, named, column_name(name, "variation"))
        )

    # ---- Rows

    def filter(
        self: D,
        condition: ExpressionLike | Definable,
        columns: Sequence[str] | None = None,
        *,
        name: str = "",
        per_row: bool = False,
    ) -> D:
        """Keep the entries for which a condition holds.

        Args:
            condition: an expression, or a callable; see `define`.
            columns: see `define`.
            name: for `report`.
            per_row: see `define`.
        """
        returns = None if isinstance(condition, str | Expression) else "bool"
        named = column_name(name, "filter")
        return self._booked(
            lambda definition: self._graph.filter(self._node, definition, named),
            *(condition, columns, per_row, returns),
        )

    def filter_available(self: D, column: str) -> D:
        """Keep the entries of files that have a column; those with a match if it is one of a left join."""
        if passed := self._passed(column):
            return self.filter(passed)
        return self._at(self._graph.filter_available(self._node, column_name(column)))

    def filter_missing(self: D, column: str) -> D:
        """Keep the entries of files that do not have a column; those without a match if it is one of a left join."""
        if passed := self._passed(column):
            return self.filter(f"!({passed})")
        return self._at(self._graph.filter_missing(self._node, column_name(column)))

    def _passed(self, column: str) -> str:
        """The condition for a column of a snapshot with variations to have a value; none of others."""
        if column_name(column) not in self._session.masks or column in self.defined_column_names:
            return ""
        mask, bit = self._session.masks[column]
        return f"(`{mask}` >> {bit} & 1) == 1"

    def range(self: D, start: int, stop: int | None = None, step: int = 1) -> D:
        """Keep a range of the entries here, in entry order: `range(stop)` or `range(start, stop, step)`.

        A stop of 0 means no end.
        """
        begin, end = (0, start) if stop is None else (start, stop)
        begin, end = whole_number("start", begin), whole_number("stop", end)
        step = whole_number("step", step)
        if begin < 0 or end < 0 or step < 1 or max(begin, end, step) >= 2**63:
            raise UsageError(
                f"range({begin}, {end}, {step}) is not valid",
                "bounds of 0 or more, and steps of 1 or more",
            )
        return self._at(self._graph.range(self._node, begin, end, step))

    # ---- Variations

    def variations_for(self, result: Result[T]) -> Variations[T]:
        """Book a result for all variations that affect it, too.

        Returns:
            A mapping from "nominal" and "name:tag" to values, which are computed when they are read.
        """
        return variations_for(result)

    def freeze(self, *results: Result[Any]) -> Plan:
        """Make the plan of results of this DataFrame, for callers that distribute its tasks themselves.

        Args:
            results: the results of the plan; by default all that are booked and not computed.

        Raises:
            UnsupportedError: arrays in memory, and callables that cannot be pickled.
        """
        from colonnade.distributed.plans import freeze

        for each in results:
            _check_result(each)
            if each._session is not self._session:
                raise UsageError("the results belong to several DataFrames", "a plan for each DataFrame")
        numbers = [number for each in results for number in each._numbers]
        with self._session.keeping():
            return freeze(self._session, numbers or self._session.wanted())

    # ---- Habits from elsewhere

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeMismatchError(
            "a DataFrame cannot be indexed: it holds no values", f"take({key!r}), filter(...), or range(10)"
        )

    def __len__(self) -> NoReturn:
        raise TypeMismatchError("a DataFrame has no length before it is computed", "count(), or num_entries")

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name."""
        return isinstance(name, str) and self.has_column(name)

    def __bool__(self) -> bool:
        return True

    __iter__ = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            advice = _OTHER_NAMES.get(name, "")
            if name[:1].isupper() and not advice:
                advice = "colonnade.RDataFrame, which has the methods of ROOT"
            if not advice and not name.startswith("_") and "_session" in self.__dict__:
                advice = f"take({name!r}), or colonnade.col({name!r})" if self.has_column(name) else ""
            raise AttributeError(
                f"a DataFrame has no attribute '{name}'" + (f"; try: {advice}" if advice else "")
            )

    # ---- Inside

    def _open_other(self, data_set: DataSet) -> _core.FrameSource:
        return _open(data_set, None, {}, remote=self._session.remote).source

    def _booked(
        self: D,
        book: Callable[[_core.Definition], int],
        value: ExpressionLike | Definable | float,
        *options: Any,
    ) -> D:
        """The node that `book` adds for a definition; options as of `_definition`."""
        texts = self._session.texts

        def directly() -> D:
            return self._at(book(self._definition(value, *options)))

        def through(function: TextFunction, columns: list[str]) -> D:
            return self._at(book(self._definition(function, columns, False, None)))

        if not texts or not isinstance(value, str | Expression):
            return directly()
        return booked(self._text(value), texts, self._session.functions, self.has_column, directly, through)

    def _definition(
        self,
        value: ExpressionLike | Definable | float,
        columns: Sequence[str] | None,
        per_row: bool,
        returns: Returns,
        purpose: str = "",
    ) -> _core.Definition:
        if isinstance(value, str | Expression):
            _refuse_for_text(columns is not None or per_row or returns is not None)
            return _core.Definition.of_text(self._text(value))
        if not callable(value):
            return _core.Definition.of_text(self._text(_constant(value)))
        texts = self._inputs(value, columns)
        travels = self._session.remote is not None
        return define_callable(
            value, texts, per_row=per_row, returns=returns, travels=travels, purpose=purpose
        )

    def _inputs(self, function: Definable, columns: Sequence[str] | None) -> list[str]:
        """Texts of the columns that a callable takes: `columns`, or those named like its parameters."""
        return self._texts(columns_of(function, None) if columns is None else columns)

    def _sample_definition(self, value: ExpressionLike | Definable, returns: Returns) -> _core.Definition:
        if isinstance(value, str | Expression) or not callable(value):
            _refuse_for_text(returns is not None)
            text = value if isinstance(value, str | Expression) else _constant(value)
            return _core.Definition.of_text(self._text(text), of_sample=True)
        session = self._session
        value = told(value, session.source.samples, session.owners)
        return define_per_sample(value, returns, travels=self._session.remote is not None)

    def _braces(self, values: Any) -> str:
        if isinstance(values, str | Expression):
            return self._text(values)
        if isinstance(values, Iterable):
            return "{" + ", ".join(self._braces(each) for each in values) + "}"
        return self._text(_constant(values))


@checked
def variations_for(result: Result[T]) -> Variations[T]:
    """Book a result for all variations that affect it; see `DataFrame.variations_for`."""
    _check_result(result)
    return Variations(result, result._vary())


@checked
def run_graphs(results: Iterable[Result[Any] | DataFrame]) -> int:
    """Compute the results of several DataFrames in one pass, with one pool of threads.

    Args:
        results: results or DataFrames; everything booked in their graphs is computed.

    Returns:
        The number of graphs that had something to compute.
    """
    is_one = not isinstance(results, Iterable) or getattr(results, "ndim", 1) == 0
    wanted: list[Any] = [results] if is_one else [*cast("Iterable[Any]", results)]
    for each in wanted:
        if not isinstance(each, DataFrame):
            _check_result(each)
        if isinstance(each, Result):
            for number in each._numbers:
                each._session.retry(number)
    return run_sessions(each._session for each in wanted)


@checked
def compute(*results: Result[Any]) -> tuple[Any, ...]:
    """Compute results of any DataFrames in one pass, and return their values."""
    for each in results:
        _check_result(each)
    run_graphs(results)
    return tuple(result.value for result in results)


def add_functions(session: Session, functions: Mapping[str, Definable]) -> None:
    """Let all expressions of a graph call functions; those that it has already are left out."""
    for name, function in functions.items():
        if column_name(name, "function") in session.functions and session.functions[name] == function:
            continue
        session.graph.add_function(name, define_function(function, travels=session.remote is not None))
        session.functions[name] = function


def _check_result(given: object) -> None:
    if not isinstance(given, Result):
        raise TypeMismatchError(
            f"an object of type '{type(given).__name__}' is not a result",
            "what count(), histo1d(), ... return",
        )


def _remote(
    executor: Any, npartitions: int | None, on_error: OnError, checkpoint: PathLike | None
) -> Remote | None:
    if executor is None:
        if npartitions is not None or on_error != "raise" or checkpoint is not None:
            raise UsageError(
                "npartitions, on_error and checkpoint are for a DataFrame with an executor",
                "executor=2, for two processes of this machine",
            )
        return None
    from colonnade.distributed import remote_of

    return remote_of(executor, npartitions, on_error, checkpoint)


def _refuse_for_text(is_given: bool) -> None:
    """Refuse what only callables have."""
    if is_given:
        raise UsageError(
            "columns, per_row and returns are for callables; an expression names its columns itself",
            "name= if the second text is the name of a filter",
        )


def _constant(value: object) -> Expression:
    from .expressions import literal

    return Expression("text", literal(value))


def _warn_of_masks(columns: list[str]) -> None:
    more = f" and {len(columns) - 3} others" if len(columns) > 3 else ""
    warnings.warn(
        f"the columns {', '.join(columns[:3])}{more} of ROOT's snapshot with variations have values only for the "
        "entries that passed: filter_available(column) keeps these",
        stacklevel=4,
    )


class _Opened(NamedTuple):
    source: _core.FrameSource
    place: str
    """What messages call it."""
    matches: Sequence[int] = ()
    """The number of files that match each of the given names."""
    lost: Sequence[Skipped] = ()
    """Files that cannot be opened, and were left out."""
    trees: TreeColumns | None = None
    """Of files with TTrees."""


def _open_data_set(
    data_set: DataSet, files: Any, options: Mapping[str, Any], progress: bool | None, remote: Remote | None
) -> _Opened:
    """Open a data set again, as the parts depend on the clusters of all files; several are opened at a time."""
    if isinstance(data_set, Joined):
        raise UnsupportedError(
            "a friend that is joined itself needs an open data set as the first one",
            "DataFrame(colonnade.open(...), friends=...)",
        )
    if files is not None or options:
        raise UsageError("an open data set takes no files or options")
    found = data_set._named_places()
    more = f" of {len(found)} files" if len(found) > 1 else ""
    place = _DIFFERENT.format(len(found)) if of_different_names(found) else f"'{data_set.name}'{more}"
    source, trees = _open_files(found, data_set._settings, progress, remote)
    return _Opened(source, place, trees=trees)


def _open_nothing(entries: int, files: Any, options: Mapping[str, Any]) -> _Opened:
    """Make a source of entries without columns."""
    if files is not None or options:
        told = "files" if files is not None else f"'{next(iter(options))}'"
        raise UsageError(f"a DataFrame of {entries} entries without columns takes no {told}", "leave it out")
    if not 0 <= entries < 2**63:
        raise UsageError(f"a DataFrame without files takes only a number of entries, not {entries}")
    return _Opened(_core.empty_source(entries), "no files")


def _open(
    name: str | int | np.integer[Any] | DataSet,
    files: Any,
    options: Mapping[str, Any],
    progress: bool | None = None,
    remote: Remote | None = None,
    skips: bool = False,
) -> _Opened:
    if isinstance(name, DataSet):
        return _open_data_set(name, files, options, progress, remote)
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return _open_nothing(int(name), files, options)
    if isinstance(name, str) and files is None and _may_be_file(name):
        name, files = "", name
    if not isinstance(name, str) or files is None:
        raise UsageError(
            f"a DataFrame cannot be made from {shown(name)} without files",
            'DataFrame("Events", "f*.root"), DataFrame(1000), or DataFrame.from_arrays(...)',
        )
    name = column_name(name, "data set")
    given = files_of(files, _FILES)
    if not given:
        raise UsageError("the list of files is empty")
    if named := [] if name else of_different_names(given):
        return _open_named(named, _DIFFERENT.format(len(named)), options, progress, remote, skips)
    if name.endswith(".root") and not any(
        isinstance(each, tuple) or _may_be_file(path_text(each)) for each in given
    ):
        raise UsageError(
            f"'{name}' is the name of a file, not of a data set", f"DataFrame({str(given[0])!r}, {name!r})"
        )
    name, listed = split_targets(name, given)
    more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
    where = f"in '{listed[0]}'{more}"
    opened = _open_named(
        [(uri, name) for uri in listed], f"'{name}' {where}", options, progress, remote, skips
    )
    samples = opened.source.samples
    return opened if name or not samples else opened._replace(place=f"'{samples[0].data_set}' {where}")


def _open_named(
    given: list[tuple[str, str]],
    place: str,
    options: Mapping[str, Any],
    progress: bool | None,
    remote: Remote | None,
    skips: bool,
) -> _Opened:
    cache = lasting_cache(options.get("cache")) or ""
    found = [_core.expand_names([uri], cache) for uri, _ in given]
    files = [(uri, name) for uris, (_, name) in zip(found, given, strict=True) for uri in uris]
    matches = list(map(len, found))
    problems: dict[int, Error] = {}
    while True:  # more files may be lost while those that are left are opened
        left = [number for number in range(len(files)) if number not in problems]
        try:
            source, trees = _open_files([files[number] for number in left], options, progress, remote)
            break
        except (StorageError, FormatError, FileMissingError):
            if not skips:
                raise
            from colonnade.distributed.surveys import unreadable

            more = unreadable([files[number] for number in left], read_options(**options))
            if len(more) in (0, len(left)):
                raise
            problems |= {left[number]: problem for number, problem in more.items()}
    if not problems:
        return _Opened(source, place, matches, trees=trees)
    ends = [0, *(sample.first + sample.entries for sample in source.samples)]
    owners = [given for given, count in enumerate(matches) for _ in range(count)]
    lost = []
    for before, (number, problem) in enumerate(sorted(problems.items())):
        matches[owners[number]] -= 1
        lost.append(Skipped(ends[number - before], ends[number - before], str(problem)))
    return _Opened(source, place, matches, lost, trees)


def _open_files(
    files: list[tuple[str, str]], options: Mapping[str, Any], progress: bool | None, remote: Remote | None
) -> tuple[_core.FrameSource, TreeColumns | None]:
    """Open files without wildcards, each with the name of its data set."""
    refuse_arguments("DataFrame", set(options) - set(ReadSettings.__annotations__), _OPTIONS)
    settings = read_options(**options)
    try:
        surveys = None if remote is None else remote.survey(files, settings, progress)
        if surveys is not None:
            name = "" if of_different_names(files) else files[0][1]
            return _core.surveyed_chain(name, surveys, settings), None
        return _core.open_named_chain(files, settings), None
    except NotFoundError as error:
        from colonnade.importing.tree_columns import TreeColumns
        from colonnade.importing.tree_data_set import tree_source

        columns = TreeColumns.of(files, cache=options.get("cache"), otherwise=error)
        return tree_source(columns, dict(options), progress), columns


def _source_of(batch: Batch) -> _core.FrameSource:
    columns = []
    for name, content in batch.columns.items():
        try:
            # Expressions have one kind of texts: bytes are no other alternative of a variant.
            columns.append((name, values_of(as_texts(content))))
        except Error as error:
            raise locate(error, field=name) from error.__cause__
    return _core.array_source(columns)


def _other_side(
    name: str | DataSet | Mapping[str, Any],
    files: PathLike | Sequence[PathLike] | None,
    options: ReadSettings,
    remote: Remote | None,
) -> tuple[_core.FrameSource, str]:
    """Open the other side of a join, and return it with its name."""
    if isinstance(name, Mapping):
        return _source_of(to_batch(name)), "joined"
    source = _open(name, files, options, remote=remote).source
    samples = source.samples
    return source, samples[0].data_set if samples else "joined"


def _stored_friends(
    stored: Mapping[str, list[PathLike | tuple[PathLike, str]]],
    source: _core.FrameSource,
    friends: Mapping[str, Friend],
    options: Mapping[str, Any],
    remote: Remote | None,
) -> dict[str, _Opened]:
    """Open the friends that are stored with trees, unless others have their names."""
    found: dict[str, _Opened] = {}
    for name, files in stored.items():
        if name in friends:
            continue
        try:
            opened = _open_friend(files, options, remote)
            if opened.trees is not None and opened.trees.have_index():
                raise UnsupportedError("its entries are found by an index (BuildIndex)", "a join")
            _core.friends_source(source, [(name, opened.source)])
        except Error as error:
            first = files[0][0] if isinstance(files[0], tuple) else files[0]
            warn_left_out([(f"{name}.*", f"columns of a friend: {error.problem}")], str(first), 4)
        else:
            found[name] = opened
    return found


def _with_friends(data_set: DataSet, friends: Mapping[str, Friend]) -> DataSet:
    """Return the data set with friends, of which some are joined themselves."""
    opened = {
        name: of
        if isinstance(of, DataSet)
        else opening.open(*reversed(of) if isinstance(of, tuple) else (of,))
        for name, of in friends.items()
    }
    return data_set.with_friends(opened)


def _open_friend(given: Friend, options: Mapping[str, Any], remote: Remote | None) -> _Opened:
    if isinstance(given, DataSet):
        return _open(given, None, {}, remote=remote)
    if isinstance(given, tuple):
        return _open(*given, options, remote=remote)
    return _open("", given, options, remote=remote)


def _left_out_of(given: object, source: _core.FrameSource) -> set[str]:
    """The columns that are not among the selected fields of an open data set."""
    if not isinstance(given, DataSet) or given._selection is None:
        return set()
    return all_but(given.field_names, source.names)


def _may_be_file(text: str) -> bool:
    uri, name = split_target(text)
    return bool(name) or "://" in uri or uri.endswith(".root") or os.path.exists(uri)


def _entry_range(entries: tuple[int, int], total: int) -> tuple[int, int]:
    if not isinstance(entries, Sequence) or len(entries) != 2:
        raise UsageError(f"entries={entries!r} is not a range of entries", "(start, stop)")
    start, stop = (whole_number("entries", each) for each in entries)
    if not 0 <= start <= stop:
        raise UsageError(
            f"entries from {start} to {stop} are not a valid range", "(start, stop) with 0 <= start <= stop"
        )
    return min(start, total), min(stop, total)
