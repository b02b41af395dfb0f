"""Data sets opened for reading."""

from __future__ import annotations

import fnmatch
import html
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias, TypedDict, overload

from colonnade import _core
from colonnade.annotations import checked, checked_methods
from colonnade.arrays.arrow import stream_as
from colonnade.arrays.forms import Assembler
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import (
    ArgumentError,
    Error,
    NotFoundError,
    TypeMismatchError,
    UsageError,
    locate,
    redacted,
    warn_left_out,
)
from colonnade.located import Located
from colonnade.misuse import (
    advised,
    function_of,
    mapping_of,
    names_of,
    path_text,
    refuse_arguments,
    shown,
    whole_number,
)
from colonnade.schema.fields import FieldInfo, Schema, is_wildcard

from .attributes import AttributeSet, AttributeSets
from .metrics import ReadMetrics, metrics_of
from .steps import Cluster, byte_count, check_step, clusters, entry_range, steps, with_next
from .streams import Stream

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from .joining import Joined
    from .scanning import ArrowDataset, Passes

__all__ = ["DataSet", "DataSetOpener", "Fields", "Library", "LocalIo", "ReadSettings", "read_options"]

Fields: TypeAlias = str | Sequence[str] | None
"""Names, paths ("jets.pt"), wildcards ("Muon_*"), or None for all readable fields."""
Library: TypeAlias = Literal["ak", "np", "pa", "pd", "pl"]
LocalIo: TypeAlias = Literal["automatic", "pread", "threads", "io_uring", "mmap"]

_ARROW_STEP = "64 MiB"
_SHORT_NAMES = {
    "awkward": "'ak'",
    "numpy": "'np'",
    "pyarrow": "'pa'",
    "arrow": "'pa'",
    "pandas": "'pd'",
    "polars": "'pl'",
}
_OF_UPROOT = {
    "aliases": "colonnade.DataFrame(ds).define(name, expression)",
    "cut": "colonnade.DataFrame(ds).filter(condition).to_awkward(columns)",
    "expressions": "fields=; or colonnade.DataFrame(ds).take(expression)",
    "filter_branch": "fields=, with wildcards: 'Muon_*'",
    "filter_field": "fields=, with wildcards: 'Muon_*'",
    "filter_name": "fields=, with wildcards: 'Muon_*'",
    "filter_typename": "fields=[name for name, kind in ds.typenames().items() if ...]",
    "how": "library='pd' for a pandas.DataFrame",
}
"""What uproot calls them, and what to use here."""
_OTHER_NAMES = {
    "columns": "field_names",
    "count": "num_entries",
    "describe": "schema, or colonnade.DataFrame(ds).summary()",
    "dtypes": "typenames()",
    "entries": "num_entries",
    "fields": "field_names",
    "filter": "colonnade.DataFrame(ds).filter(condition)",
    "info": "schema",
    "num_rows": "num_entries",
    "shape": "num_entries, field_names",
    "tail": "arrays(entry_start=-5)",
    "types": "typenames()",
}
"""Names in pandas, Polars, Arrow or Awkward, and what to use here."""


class _Entries(TypedDict, total=False):
    entry_start: int | None
    entry_stop: int | None


class _Stepwise(_Entries, total=False):
    step_size: int | str


class ReadSettings(TypedDict, total=False):
    """The keyword options of all reading functions; `colonnade.open` explains them."""

    checksums: bool
    read_ahead: int | str
    memory_budget: int | str
    parallel_decompression: bool
    local_io: LocalIo
    direct_io: bool
    cache: str | os.PathLike[str] | None


@checked_methods
class DataSet(Located):
    """A data set of a file: entries in rows, fields in columns. Made by `colonnade.open`.

    Data are read on demand. Several threads may use one data set; their reads take turns.
    """

    def __init__(
        self,
        uri: str,
        name: str = "",
        *,
        checksums: bool = True,
        read_ahead: int | str = "1 MiB",
        memory_budget: int | str = "256 MiB",
        parallel_decompression: bool = True,
        local_io: LocalIo = "automatic",
        direct_io: bool = False,
        cache: str | os.PathLike[str] | None = None,
        _selection: Fields = None,
        _reader: _core.Reader | None = None,
        _place: str = "",
    ) -> None:
        self._settings: dict[str, Any] = {
            "checksums": checksums,
            "read_ahead": read_ahead,
            "memory_budget": memory_budget,
            "parallel_decompression": parallel_decompression,
            "local_io": local_io,
            "direct_io": direct_io,
            "cache": lasting_cache(cache),
        }
        self._place = _place or _core.absolute_name(uri)
        reader = _reader
        if reader is None:
            reader = _core.open(_place or uri, name, read_options(**self._settings))
        self._begin(uri, reader, _selection)

    def _begin(self, uri: str, reader: _core.Reader | _core.ChainReader, selection: Fields) -> None:
        self._reader: _core.Reader | _core.ChainReader | None = reader
        Located.__init__(self, uri, reader.name)
        self._num_entries = reader.num_entries
        self._schema = Schema(reader.descriptor)
        self._selection = selection
        self._attributes: AttributeSets | None = None
        self._has_unreadable = self._schema.has_unreadable

    # ---- What it is

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self._num_entries

    @property
    def files(self) -> list[str]:
        """The files with the entries, in order."""
        return [self._uri]

    @property
    def schema(self) -> Schema:
        """All stored fields with their types, including unreadable ones."""
        return self._schema

    @property
    def field_names(self) -> list[str]:
        """Names of the readable top-level fields, as far as selected."""
        return list(self._select(None, warns=False))

    @property
    def description(self) -> str:
        """The writer's description of the data set."""
        return self.descriptor.description

    @property
    def descriptor(self) -> _core.Descriptor:
        """All metadata of the data set: fields, columns, clusters, pages."""
        return self._open_reader().descriptor

    @property
    def attributes(self) -> AttributeSets:
        """The attribute sets by name: values that belong to ranges of entries."""
        if self._attributes is None:
            self._attributes = AttributeSets(self)
        return self._attributes

    @property
    def metrics(self) -> ReadMetrics:
        """I/O and timing counters so far."""
        return metrics_of(self._open_reader().metrics())

    # ---- Reading

    @overload
    def arrays(
        self, fields: Fields = None, *, library: Literal["ak"] = "ak", **entries: Unpack[_Entries]
    ) -> ak.Array: ...
    @overload
    def arrays(
        self, fields: Fields = None, *, library: Literal["np"], **entries: Unpack[_Entries]
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def arrays(
        self, fields: Fields = None, *, library: Literal["pa"], **entries: Unpack[_Entries]
    ) -> pa.Table: ...
    @overload
    def arrays(
        self, fields: Fields = None, *, library: Literal["pd"], **entries: Unpack[_Entries]
    ) -> pd.DataFrame: ...
    @overload
    def arrays(
        self, fields: Fields = None, *, library: Literal["pl"], **entries: Unpack[_Entries]
    ) -> pl.DataFrame: ...
    @overload
    def arrays(self, fields: Fields = None, *, library: Library, **entries: Unpack[_Entries]) -> Any: ...
    def arrays(
        self,
        fields: Fields = None,
        *more: object,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        library: Library = "ak",
        **others: object,
    ) -> Any:
        """Read fields as arrays.

        Args:
            fields: names of fields, paths ("jets.pt"), wildcards ("Muon_*", "jets.*"); by default all readable ones.
            entry_start: first entry; negative numbers count from the end.
            entry_stop: the entry to stop before; the end if None.
            library: "ak" for an `awkward.Array` of records, "np" for a dictionary of NumPy arrays, "pa" for a
                `pyarrow.Table`, "pd" for a `pandas.DataFrame`, "pl" for a `polars.DataFrame`.

        Returns:
            For each field, under the requested name, one value per entry: numbers as such, structs as records,
            collections as lists, std::optional and std::unique_ptr as option types, std::variant as unions. A member of
            a collection, "jets.pt", is a list per entry.

        Raises:
            NotFoundError: no such field.
            UnsupportedError: a named field is unreadable; `schema` says why.
            ChecksumError, FormatError: the file is damaged.
        """
        _refuse_more("arrays", fields, more)
        refuse_arguments("arrays", others, ("fields", *_Entries.__annotations__, "library"), _OF_UPROOT)
        start, stop = entry_range(entry_start, entry_stop, self._num_entries)
        return self._read(self._select(fields), start, stop, library)

    @overload
    def iterate(
        self, fields: Fields = None, *, library: Literal["ak"] = "ak", **steps: Unpack[_Stepwise]
    ) -> Iterator[ak.Array]: ...
    @overload
    def iterate(
        self, fields: Fields = None, *, library: Literal["np"], **steps: Unpack[_Stepwise]
    ) -> Iterator[dict[str, NDArray[Any]]]: ...
    @overload
    def iterate(
        self, fields: Fields = None, *, library: Literal["pa"], **steps: Unpack[_Stepwise]
    ) -> Iterator[pa.Table]: ...
    @overload
    def iterate(
        self, fields: Fields = None, *, library: Literal["pd"], **steps: Unpack[_Stepwise]
    ) -> Iterator[pd.DataFrame]: ...
    @overload
    def iterate(
        self, fields: Fields = None, *, library: Literal["pl"], **steps: Unpack[_Stepwise]
    ) -> Iterator[pl.DataFrame]: ...
    @overload
    def iterate(
        self, fields: Fields = None, *, library: Library, **steps: Unpack[_Stepwise]
    ) -> Iterator[Any]: ...
    def iterate(
        self,
        fields: Fields = None,
        *more: object,
        step_size: int | str = "50 MB",
        entry_start: int | None = None,
        entry_stop: int | None = None,
        library: Library = "ak",
        **others: object,
    ) -> Iterator[Any]:
        """Read fields step by step.

        Args:
            fields: see `arrays`.
            step_size: entries per step, or memory per step ("50 MB"); by memory, steps are whole clusters if these
                fit.
            entry_start: see `arrays`.
            entry_stop: see `arrays`.
            library: see `arrays`.

        Yields:
            The results of `arrays` for consecutive ranges of entries.
        """
        _refuse_more("iterate", fields, more)
        refuse_arguments("iterate", others, ("fields", *_Stepwise.__annotations__, "library"), _OF_UPROOT)
        check_step(step_size)
        start, stop = entry_range(entry_start, entry_stop, self._num_entries)
        selected = self._select(fields)
        parts = with_next(self._steps(selected, step_size, start, stop))
        return (self._read(selected, first, last, library, ahead) for (first, last), ahead in parts)

    def __getitem__(self, field: str | Sequence[str]) -> ak.Array:
        """Read one field as an `awkward.Array`; several, or those of a wildcard, as an array of records."""
        if not isinstance(field, str | Sequence):
            raise TypeMismatchError(
                f"{shown(field)} is not the name of a field",
                "head(), or arrays(entry_start=0, entry_stop=10), for some of the entries",
            )
        layouts, count = self._layouts(self._select(field), 0, self._num_entries)
        if isinstance(field, str) and list(layouts) == [field]:
            return ak.Array(layouts[field])
        from colonnade.arrays.awkward import zip_fields

        return zip_fields(layouts, count)

    def to_numpy(self, fields: Fields = None) -> dict[str, NDArray[Any]]:
        """Read fields as NumPy arrays; `arrays` with library="np"."""
        return self.arrays(fields, library="np")

    def to_pandas(self, fields: Fields = None) -> pd.DataFrame:
        """Read fields as a `pandas.DataFrame`; `arrays` with library="pd"."""
        return self.arrays(fields, library="pd")

    def to_polars(self, fields: Fields = None) -> pl.DataFrame:
        """Read fields as a `polars.DataFrame`; `arrays` with library="pl"."""
        return self.arrays(fields, library="pl")

    def to_arrow(self, fields: Fields = None) -> pa.Table:
        """Read fields as a `pyarrow.Table`; `arrays` with library="pa"."""
        return self.arrays(fields, library="pa")

    @overload
    def head(self, entries: int = 5, fields: Fields = None, *, library: Literal["ak"] = "ak") -> ak.Array: ...
    @overload
    def head(
        self, entries: int = 5, fields: Fields = None, *, library: Literal["np"]
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def head(self, entries: int = 5, fields: Fields = None, *, library: Literal["pa"]) -> pa.Table: ...
    @overload
    def head(self, entries: int = 5, fields: Fields = None, *, library: Literal["pd"]) -> pd.DataFrame: ...
    @overload
    def head(self, entries: int = 5, fields: Fields = None, *, library: Literal["pl"]) -> pl.DataFrame: ...
    @overload
    def head(self, entries: int = 5, fields: Fields = None, *, library: Library) -> Any: ...
    def head(self, entries: int = 5, fields: Fields = None, *, library: Library = "ak") -> Any:
        """Read the first entries; see `arrays`."""
        return self.arrays(fields, entry_stop=whole_number("entries", entries), library=library)

    # ---- As a mapping from names to arrays

    @advised("keys(), keys(recursive=True), or arrays('Muon_*') to read what matches")
    def keys(self, *, recursive: bool = False) -> list[str]:
        """List the readable fields: `field_names`, or with all members as paths ("jets.pt")."""
        if not recursive:
            return self.field_names
        return [path for name in self.field_names for path in _paths(name, self._schema[name])]

    def values(self) -> Iterator[ak.Array]:
        """Read one field after the other."""
        return (self[name] for name in self.field_names)

    def items(self) -> Iterator[tuple[str, ak.Array]]:
        """Read one field after the other, with their names."""
        return ((name, self[name]) for name in self.field_names)

    def typenames(self, *, recursive: bool = False) -> dict[str, str]:
        """Return the C++ types of the fields that can be read; see `keys`."""
        return {path: self._schema[path].type for path in self.keys(recursive=recursive)}

    def __contains__(self, field: object) -> bool:
        return field in self._schema

    def __iter__(self) -> Iterator[str]:
        return iter(self.field_names)

    def __len__(self) -> int:
        """Return the number of fields; `num_entries` is that of entries."""
        return len(self.field_names)

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            schema = self.__dict__.get("_schema", {})
            advice = f"; the field is ds[{name!r}]" if not name.startswith("_") and name in schema else ""
            advice = advice or (f"; try: {_OTHER_NAMES[name]}" if name in _OTHER_NAMES else "")
            raise AttributeError(f"a {type(self).__name__} has no attribute '{name}'{advice}")

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys(recursive=True)

    def select(self, fields: Fields) -> DataSet:
        """Return the same data set with only these fields.

        Useful for functions that take whole data sets: pyarrow.table(ds.select("pt")).
        """
        names = list(self._select(fields))
        return DataSet(self._uri, self._name, **self._settings, _selection=names, _place=self._place)

    # ---- Other data sets beside it

    def join(
        self,
        other: DataSet,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        how: Literal["inner", "left"] = "inner",
        columns: str | Sequence[str] | None = None,
        prefix: str = "",
        duplicates: Literal["error", "first"] = "error",
        table: str | os.PathLike[str] | None = None,
    ) -> Joined:
        """Return a data set that has fields of another one, too, where keys are the same.

        ```python
        events.join(colonnade.open("calibration*.root"), on=["run", "event"]).arrays(["pt", "scale"])
        ```

        Args:
            other: the other data set; what `colonnade.open` or `join` gave.
            on: the keys, which are integers: fields that both have, or a mapping from fields here to fields there. One
                that is missing is the same as no other.
            how: "inner" leaves out entries without a match; "left" keeps them, and what is joined is missing there.
            columns: fields of the other data set; all but the keys if None. Keys may be named.
            prefix: of the names of all joined fields. Without one, "Name_" stands before those that are taken.
            duplicates: what is done where several entries there have the same key: an error, or the first is taken.
            table: a file for the table of keys. One that was made of the same files is used; else it is made anew.
                With it, of the other data set only the files are opened that have entries that are read.

        Returns:
            The data set, with the joined fields and with "Name_entry", the number of the entry there (-1: none).

        Raises:
            NotFoundError: no such field.
            TypeMismatchError: a key is not an integer.
            UsageError: no keys; a joined field has a name that is taken.
        """
        from .joining import join

        return join(
            self, other, on, how=how, columns=columns, prefix=prefix, duplicates=duplicates, table=table
        )

    def with_friends(self, friends: Mapping[str, DataSet]) -> DataSet:
        """Return a data set that has the fields of others, too, with as many entries, side by side.

        Args:
            friends: by their names. A field "x" of the friend "f" is "x" where nothing else is called so, and "f.x" in
                any case. The borders of files may be others.

        Raises:
            SchemaError: a friend has another number of entries.
            UsageError: a name is that of a field, or has a point.
        """
        from .joining import befriend

        made = self
        for name, other in mapping_of(friends, 'with_friends({"f": data_set})').items():
            made = befriend(made, name, other)
        return made

    # ---- Showing

    def show(
        self,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        fields: Fields = None,
        file: TextIO | None = None,
    ) -> None:
        """Print entries, one per line in JSON-like form; by default the first ten."""
        if entry_start is None and entry_stop is None:
            entry_stop = 10
        start, stop = entry_range(entry_start, entry_stop, self._num_entries)
        out = sys.stdout if file is None else file
        if not hasattr(out, "write"):
            raise TypeMismatchError(f"{file!r} is not an open file", "file=sys.stderr")
        for number, text in self.entry_texts(start, stop, fields):
            print(f"{number}: {text}", file=out)

    def entry_texts(self, start: int, stop: int, fields: Fields = None) -> Iterator[tuple[int, str]]:
        """Iterate over the numbers and texts of entries."""
        start, stop = entry_range(start, stop, self.num_entries)
        paths = [info.path for info in self._select(fields).values()]
        for first in range(start, stop, 100):
            last = min(first + 100, stop)
            texts = self._open_reader().entry_texts(first, last, paths) if paths else ["{}"] * (last - first)
            yield from zip(range(first, last), texts, strict=True)

    def verify(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Read, check and decode every page, including attribute sets.

        Args:
            progress: called now and then with the number of pages done, and in total; attribute sets do not count.

        Returns:
            The number of pages.

        Raises:
            ChecksumError, FormatError: the first damage, with its place.
        """
        if progress is not None:
            function_of(progress, "verify(progress=lambda done, total: ...)")
        self._open_reader().verify(progress)
        pages = sum(statistics.pages for statistics in _core.column_statistics(self.descriptor))
        return pages + self.attributes.verify()

    def read_through(self, fields: Fields = None, *, step_size: int | str = "256 MiB") -> int:
        """Read fields once and keep nothing, to see the cost in `metrics`.

        Returns:
            The bytes of all values in memory.
        """
        selected = self._select(fields)
        paths = [info.path for info in selected.values()]
        total = 0
        for first, last in self._steps(selected, step_size, 0, self._num_entries):
            arrays = self._open_reader().arrays(paths, first, last) if paths else []
            total += sum(array.nbytes for _, _, array in arrays)
        return total

    def __repr__(self) -> str:
        count = len(self._select(None, warns=False))
        return f"<DataSet '{self._name}' in '{redacted(self._uri)}': {self._num_entries} entries, {count} fields>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self._schema._repr_html_()}"

    # ---- Arrow

    def to_arrow_reader(
        self, fields: Fields = None, *, step_size: int | str = _ARROW_STEP
    ) -> pa.RecordBatchReader:
        """Read fields as a stream of Arrow record batches; see `iterate` for the steps."""
        import pyarrow as pa

        check_step(step_size)
        selected = self._select(fields)
        schema = self._batch(selected, 0, 0).schema
        parts = self._steps(selected, step_size, 0, self._num_entries)
        batches = (self._batch(selected, first, last, ahead) for (first, last), ahead in with_next(parts))
        return pa.RecordBatchReader.from_batches(schema, Stream(batches))

    def to_arrow_dataset(self, fields: Fields = None) -> ArrowDataset:
        """Make a pyarrow dataset: DuckDB, for example, pushes columns and filters down to it.

        ```python
        events = colonnade.open("f.root").to_arrow_dataset()
        duckdb.sql("select avg(met) from events where nMuon > 1")
        ```
        """
        from .scanning import ArrowDataset

        return ArrowDataset(self, fields)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return an Arrow stream, for pyarrow.table(ds), polars.DataFrame(ds), DuckDB and others."""
        return stream_as(self.to_arrow_reader(), requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Give the Arrow schema of the data set."""
        return self._batch(self._select(None, warns=False), 0, 0).schema.__arrow_c_schema__()

    # ---- Life

    def close(self) -> None:
        """Close the file. Arrays read so far stay valid."""
        self._reader = None
        # They refer to this data set, and would keep the file open until the next garbage collection.
        self._attributes = None

    def __enter__(self) -> DataSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._uri, self._name, self._settings, self._selection, self._place)

    # ---- Inside

    def _named_places(self) -> list[tuple[str, str]]:
        """The files by names that are the same in every working folder, each with the name of its data set."""
        return [(self._place, self._name)]

    def _open_reader(self) -> _core.Reader | _core.ChainReader:
        if self._reader is None:
            raise self._misuse("the data set is closed")
        return self._reader

    def _open_attribute_set(self, name: str) -> AttributeSet:
        whole = self._open_reader()
        assert isinstance(whole, _core.Reader)
        reader = self._guard(lambda: whole.attribute_set(name))
        rows = DataSet(self._uri, reader.name, **self._settings, _reader=reader, _place=self._place)
        return AttributeSet(name, rows, [(0, self._num_entries)], [0, rows.num_entries])

    def _steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, start: int, stop: int
    ) -> Iterator[tuple[int, int]]:
        return steps(self._clusters(selected, start, stop), step_size, start, stop)

    def _clusters(self, selected: dict[str, FieldInfo], start: int, stop: int) -> Iterator[Cluster]:
        """Give the clusters with entries of a range, and perhaps others."""
        return clusters(self.descriptor, _columns(selected))

    def _entry_bytes(self, selected: dict[str, FieldInfo]) -> float:
        """The mean size of an entry in memory, by the first cluster."""
        begin, end, size = next(self._clusters(selected, 0, self._num_entries), (0, 1, 0))
        return size / max(end - begin, 1)

    def _cluster_steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, stop: int
    ) -> Iterator[tuple[int, int]]:
        """Give steps that end where clusters do."""
        for cluster in self.descriptor.clusters:
            first, last = cluster.first_entry, min(cluster.first_entry + cluster.entries, stop)
            if first < last:
                yield from self._steps(selected, step_size, first, last)

    def _select(self, fields: Fields, *, warns: bool = True) -> dict[str, FieldInfo]:
        wanted = self._selection if fields is None else fields
        wanted = wanted if wanted is None or isinstance(wanted, str) else names_of(wanted, "field")
        try:
            if fields is not None and self._selection is not None:
                names = [wanted] if isinstance(wanted, str) else wanted or []
                wanted = [each for name in names for each in self._of_selection(name)]
            selected = self._schema.select(wanted)
        except Error as error:
            raise locate(self._advised(error), uri=self._uri, data_set=self._name) from None
        if warns and self._has_unreadable:
            left_out = self._schema.left_out(wanted)
            reasons = [(path, info.unreadable) for path, info in left_out.items()]
            warn_left_out(reasons, f"{redacted(self._uri)}, '{self._name}'", stacklevel=3)
        return selected

    def _of_selection(self, name: str) -> list[str]:
        """The fields that a wildcard matches among those that were selected, or the name as it is."""
        if name in self._schema or not is_wildcard(name):
            return [name]
        chosen = self._schema.select(None if self._selection is None else names_of(self._selection, "field"))
        found = {each: info for each, info in chosen.items() if fnmatch.fnmatchcase(each, name)}
        try:
            matching = self._schema.select(name)
        except NotFoundError:
            matching = {}
        known, selected = set(found.values()), set(chosen.values())
        found |= {
            each: info
            for each, info in matching.items()
            if info not in known and not selected.isdisjoint(info.line())
        }
        if not found:
            raise NotFoundError(
                f"no selected field matches '{name}'", f"selected: {list(chosen)}", field=name
            )
        return list(found)

    def _advised(self, error: Error) -> Error:
        """Say where expressions belong, and that the name of the data set is not needed any more."""
        asked = error.field or ""
        if isinstance(error, NotFoundError) and asked == self._name:
            return NotFoundError(
                error.problem, "it is the name of this data set, whose fields come next", field=asked
            )
        if isinstance(error, NotFoundError) and all(
            part.strip() in self._schema for part in asked.split(",")
        ):
            names = [part.strip() for part in asked.split(",")]
            return NotFoundError(error.problem, f"a list of names: {names!r}", field=asked)
        if isinstance(error, NotFoundError) and re.search(r"[-+/<>=&|()]|\w\s*\*+\s*\w|\s\?\s", asked):
            advice = f"colonnade.DataFrame(ds).take({asked!r}) for an expression"
            return NotFoundError(error.problem, advice, field=asked)
        return error

    def _assemble(
        self, selected: dict[str, FieldInfo], start: int, stop: int, builder: Any, ahead: int = 0
    ) -> dict[str, Any]:
        paths = [info.path for info in selected.values()]
        arrays = self._open_reader().arrays(paths, start, stop, ahead) if paths else []
        assembler = Assembler(arrays, builder)
        return {name: self._field(assembler, info, stop - start) for name, info in selected.items()}

    def _expect(self, selected: dict[str, FieldInfo], start: int, stop: int) -> None:
        """Ask servers for entries that will be read next."""
        paths = [info.path for info in selected.values()]
        if paths and start < stop:
            self._open_reader().arrays(paths, start, start, stop)

    def _field(self, assembler: Assembler[Any], info: FieldInfo, count: int) -> Any:
        try:
            return assembler.field(info, count)
        except Error as error:
            raise locate(error, uri=self._uri, data_set=self._name, field=info.path) from error.__cause__

    def _layouts(
        self, selected: dict[str, FieldInfo], start: int, stop: int, ahead: int = 0
    ) -> tuple[dict[str, Any], int]:
        from colonnade.arrays.awkward import AwkwardBuilder

        return self._assemble(selected, start, stop, AwkwardBuilder(), ahead), stop - start

    def _arrow_schema(self, fields: Fields) -> pa.Schema:
        return self._batch(self._select(fields), 0, 0).schema

    def _arrow_batches(
        self, columns: Sequence[str], tested: Sequence[str], passes: Passes | None, rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        from .scanning import batches_where

        return batches_where(self, columns, tested, passes, rows)

    def _arrow_rows(self) -> int:
        return self._num_entries

    def _batch(self, selected: dict[str, FieldInfo], start: int, stop: int, ahead: int = 0) -> pa.RecordBatch:
        import pyarrow as pa

        from colonnade.arrays.arrow import ArrowBuilder

        contents = self._assemble(selected, start, stop, ArrowBuilder(), ahead)
        struct = ArrowBuilder().record(list(contents), list(contents.values()), stop - start)
        return pa.RecordBatch.from_struct_array(struct)

    # `ahead`: the end of the step that comes next, if one does.
    def _read(
        self, selected: dict[str, FieldInfo], start: int, stop: int, library: Library, ahead: int = 0
    ) -> Any:
        if library == "ak":
            from colonnade.arrays.awkward import zip_fields

            return zip_fields(*self._layouts(selected, start, stop, ahead))
        if library == "np":
            from colonnade.arrays.numpy import to_numpy

            layouts, _ = self._layouts(selected, start, stop, ahead)
            return {name: to_numpy(layout) for name, layout in layouts.items()}
        if library == "pa":
            import pyarrow as pa

            return pa.Table.from_batches([self._batch(selected, start, stop, ahead)])
        if library == "pd":
            import pandas as pd

            from colonnade.arrays.numpy import to_series

            batch = self._batch(selected, start, stop, ahead)
            index = pd.RangeIndex(start, stop)
            series = {name: to_series(batch.column(name), index) for name in batch.schema.names}
            return pd.DataFrame(series, index=index)
        if library == "pl":
            from colonnade.polars import check_types, frame_of

            check_types(selected)
            return frame_of(self._read(selected, start, stop, "pa", ahead))
        raise unknown_library(library)


def unknown_library(library: object) -> UsageError:
    """Make the error for what is no library of arrays."""
    name = str(getattr(library, "__name__", library))  # of a module, too
    return UsageError(
        f"unknown library '{name}'", _SHORT_NAMES.get(name, "one of 'ak', 'np', 'pa', 'pd', 'pl'")
    )


def _refuse_more(function: str, fields: Fields, more: Sequence[object]) -> None:
    """Refuse fields that are not in one list."""
    if more and all(isinstance(each, str) for each in (fields, *more)):
        raise ArgumentError(f"{function}() takes its fields as one list", f"{function}({[fields, *more]!r})")
    if more:
        raise ArgumentError(
            f"{function}() takes only its fields by position", "entry_start=0, entry_stop=10, library='np'"
        )


def _paths(path: str, info: FieldInfo) -> Iterator[str]:
    yield path
    for name, member in info.members():
        yield from _paths(f"{path}.{name}", member)


def _columns(selected: dict[str, FieldInfo]) -> list[int]:
    """The physical columns of the fields, including those of the enclosing collections."""
    columns: set[int] = set()
    for info in selected.values():
        for below in info.walk():
            columns.update(below.columns)
        above = info.parent
        while above is not None:
            columns.update(above.columns)
            above = above.parent
    return sorted(columns)


@checked
class DataSetOpener:
    """Opens many data sets of one file or store. What lists them is read once, not once for each.

    Args:
        uri: the file.

    Raises:
        FileMissingError: no such file.
        FormatError: it is damaged, or no file with data sets.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._found = _core.DataSets(uri, read_options())

    @property
    def names(self) -> list[str]:
        """The paths of the data sets, in the order of the file."""
        return self._found.names

    def open(self, name: str) -> DataSet:
        """Open one of them; raises what `colonnade.open` does."""
        return DataSet(self._uri, name, _reader=self._found.open(name))


def read_options(
    *,
    checksums: bool = True,
    read_ahead: int | str = "1 MiB",
    memory_budget: int | str = "256 MiB",
    parallel_decompression: bool = True,
    local_io: LocalIo = "automatic",
    direct_io: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> _core.ReadOptions:
    """Make the options of a reader; `colonnade.open` explains them."""
    options = _core.ReadOptions()
    options.page_checksums = bool(checksums)
    options.read_ahead = byte_count(read_ahead)
    options.memory_budget = byte_count(memory_budget)
    options.parallel_decompression = bool(parallel_decompression)
    options.local_io = getattr(_core.LocalIo, local_io)
    options.direct_io = bool(direct_io)
    options.cache = lasting_cache(cache) or ""
    return options


def lasting_cache(cache: str | os.PathLike[str] | None) -> str | None:
    """Return what names the same cache in every working folder."""
    return None if cache is None else _core.cache_with_absolute_path(path_text(cache))


def _reopen(uri: str, name: str, settings: dict[str, Any], selection: Fields, place: str) -> DataSet:
    return DataSet(uri, name, **settings, _selection=selection, _place=place)
