"""Imports Parquet, Arrow and CSV files, which pyarrow reads, with nested types."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade.annotations import checked
from colonnade.arrays.columns import flatten
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    SchemaError,
    UnsupportedError,
    UsageError,
)
from colonnade.misuse import files_of, path_text
from colonnade.reading.dataset import DataSet
from colonnade.reading.exporting import FORMATS, STORED_AS
from colonnade.reading.opening import PathLike, same_place, split_target
from colonnade.schema.spec import Spec, build_field, infer
from colonnade.writing.creating import DataSetWriter
from colonnade.writing.filling import build_fields
from colonnade.writing.options import CheckpointEvery, Size, check_names, write_options
from colonnade.writing.sources import to_batch

from .trees import ImportSettings, data_sets_at, same_arrays

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

__all__ = ["TableFormat", "TableReport", "import_table", "table_format"]

TableFormat: TypeAlias = Literal["parquet", "arrow", "csv"]


@dataclass(frozen=True)
class TableReport:
    """The result of an import of tables."""

    data_set: str
    entries: int
    fields: tuple[str, ...]
    bytes_read: int
    """Bytes of values in Arrow's form."""
    seconds: float
    verified: bool


def table_format(path: PathLike) -> TableFormat | None:
    """The format of a file name's extension; None if it is not a table's."""
    found = FORMATS.get(Path(path_text(path)).suffix.lower())
    return None if found == "npz" else found


@checked
def import_table(
    source: PathLike | Sequence[PathLike],
    destination: PathLike | tuple[PathLike, str],
    *,
    destination_name: str | None = None,
    columns: Sequence[str] | str | None = None,
    format: TableFormat | None = None,  # noqa: A002
    compression: str | int = "zstd:5",
    overwrite: bool = False,
    verify: bool = False,
    batch_size: int = 131072,
    checkpoint_every: CheckpointEvery = None,
    page_size: Size = "256 KiB",
    cluster_size: Size = "128 MiB",
    progress: Callable[[int, int], object] | None = None,
    **settings: Unpack[ImportSettings],
) -> TableReport:
    """Make a data set from Parquet, Arrow (IPC) or CSV files, with pyarrow, which must be installed.

    Lists, records and missing values are kept: a column, or part of one, with missing values becomes a `std::optional`;
    one without does not, whatever its schema allows. To find out, columns without Parquet statistics on missing values
    are read twice. Dictionaries become their values; dates and times become integers whose unit is the field's
    description. Columns that `export` wrote get their original types.

    Args:
        source: the file; or several with the same columns, whose rows are concatenated.
        destination: the file or object store, or this and the path of the data set, as in `colonnade.create`.
        destination_name: the path of the data set; by default the first file's name without extension.
        columns: names of columns; by default all.
        format: "parquet", "arrow" or "csv"; by default from the extension.
        compression: of the data set.
        overwrite: replace the destination: a file as a whole, in an object store the data set. Without it the data set
            is added to an existing ROOT file or store.
        verify: read both sides again afterwards and compare all values.
        batch_size: number of rows in memory at a time.
        checkpoint_every: how often to commit, as in `colonnade.create`.
        page_size: maximum size of a page before compression.
        cluster_size: target compressed size of a cluster.
        progress: called after each step with the number of entries done, and in total.
        settings: other options of the writer, as in `colonnade.create`.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
        FileMissingError: no such file.
        FormatError: a file is damaged; or values differ after the import.
        SchemaError: a type cannot be stored, or the files have different columns.
        UsageError: the data set exists already, or a column does not.
    """
    given: dict[str, Any] = {
        "compression": compression,
        "page_size": page_size,
        "cluster_size": cluster_size,
        "checkpoint_every": checkpoint_every,
        "parallel_sealing": True,
        **settings,
    }
    check_names(given, "an import")
    options = write_options(**given)
    begin = time.monotonic()
    sources = files_of(source, "a Parquet, Arrow or CSV file, or a list of them")
    table = _Table([path_text(one) for one in sources], format, columns, batch_size)
    uri, name = split_target(destination, destination_name)
    name = name.strip("/") or Path(table.files[0]).stem
    if any(same_place(file, uri) for file in table.files):
        raise UsageError("the destination would replace the source", "import to another place", uri=uri)
    there = data_sets_at(uri, overwrite)
    if there is not None and name in there and not overwrite:
        raise UsageError(
            "the data set already exists",
            "overwrite (--overwrite) to replace it, or another name",
            uri=uri,
            data_set=name,
        )
    mode: Literal["recreate", "update", "create"] = (
        "recreate" if overwrite else "create" if there is None else "update"
    )
    schema, notes = table.schema()
    report = progress or (lambda done, total: None)
    with DataSetWriter(uri, name, schema, options, mode=mode, field_descriptions=notes) as writer:
        for batch in table.batches():
            writer.extend(batch)
            report(writer.num_entries, table.entries)
    if verify:
        _compare(table, schema, uri, name)
    return TableReport(name, writer.num_entries, tuple(schema), table.bytes, time.monotonic() - begin, verify)


# ---- What is read


@dataclass
class _Nulls:
    """Where values are missing: in a column, and in its parts."""

    here: bool = False
    below: list[_Nulls] = field(default_factory=list)

    def anywhere(self) -> bool:
        return self.here or any(part.anywhere() for part in self.below)


class _Table:
    """Files with the same columns."""

    def __init__(
        self,
        files: list[str],
        chosen: TableFormat | None,
        columns: Sequence[str] | str | None,
        batch_size: int,
    ) -> None:
        self._dataset = _dataset(files, chosen)
        self.files, self._batch_size, self.bytes = files, batch_size, 0
        names = self._dataset.schema.names
        self._columns = [columns] if isinstance(columns, str) else list(columns or names)
        missing = [name for name in self._columns if name not in names]
        if missing:
            raise UsageError(
                f"there is no column '{missing[0]}'", f"one of: {', '.join(names)}", uri=files[0]
            )
        twice = [name for name in self._columns if names.count(name) > 1]
        if twice:
            raise SchemaError(
                "two columns have the same name", "rename one of them", uri=files[0], field=twice[0]
            )
        self.entries = int(self._dataset.count_rows())

    def schema(self) -> tuple[dict[str, Spec], dict[str, str]]:
        """The types of the fields, and their descriptions."""
        import pyarrow as pa

        found = {name: self._dataset.schema.field(name).type for name in self._columns}
        nulls = {name: _Nulls() for name in found}
        unsure = self._without_statistics()
        for batch in self._scan(unsure) if unsure else ():
            for name in unsure:
                _note(batch.column(name), nulls[name])
        specs: dict[str, Spec] = {}
        notes: dict[str, str] = {}
        for name, kind in found.items():
            if pa.types.is_null(kind):
                raise SchemaError("all its values are missing", "columns= (--columns) without it", field=name)
            stored = _stored_as(self._dataset.schema.field(name), missing=nulls[name].anywhere())
            if stored is not None:
                specs[name], notes[name] = stored["type"], stored["description"]
                continue
            try:
                examples = to_batch(pa.table({name: pa.array(_examples(kind, nulls[name]), kind)}))
                specs[name] = infer(examples.columns[name], name, loose=True)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise SchemaError(
                    f"values of type {kind} cannot be stored: {error}",
                    "columns= without it, or --columns",
                    uri=self.files[0],
                    field=name,
                ) from error
            notes |= examples.notes
        return specs, {name: note for name, note in notes.items() if note}

    def batches(self) -> Iterator[pa.Table]:
        """The rows, step by step."""
        import pyarrow as pa

        self.bytes = 0
        for batch in self._scan(self._columns):
            if batch.num_rows:
                self.bytes += batch.nbytes
                yield pa.Table.from_batches([batch])

    def _scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            yield from self._dataset.to_batches(columns=columns, batch_size=self._batch_size)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise FormatError(
                f"the file cannot be read: {str(error).splitlines()[0]}",
                "the values of a column of CSV must be of the type that its first megabyte shows",
                uri=self.files[0],
            ) from error

    def _without_statistics(self) -> list[str]:
        """Columns whose files do not guarantee that no value is missing."""
        unsure = {name for name in self._columns if self._dataset.schema.field(name).nullable}
        unsure |= {name for name in self._columns if _is_nested(self._dataset.schema.field(name).type)}
        if self._dataset.format.default_extname != "parquet":
            return [name for name in self._columns if name in unsure]
        doubtful = set()
        for fragment in self._dataset.get_fragments():
            metadata = fragment.metadata
            for group in range(metadata.num_row_groups):
                for leaf in range(metadata.num_columns):
                    chunk = metadata.row_group(group).column(leaf)
                    counts = chunk.statistics
                    if counts is None or not counts.has_null_count or counts.null_count:
                        # A dot may be part of a column's name.
                        doubtful |= {n for n in unsure if f"{chunk.path_in_schema}.".startswith(f"{n}.")}
        return [name for name in self._columns if name in doubtful]


def _dataset(files: list[str], chosen: TableFormat | None) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.dataset
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"tables are read with pyarrow, which cannot be imported: {error}; "
            "try: pip install 'colonnade[arrow]', or pip install pyarrow"
        ) from error
    if not files:
        raise UsageError("there is nothing to import", "name a source")
    formats = {chosen or table_format(file) for file in files}
    if len(formats) > 1 or None in formats:
        endings = [ending for ending, kind in FORMATS.items() if kind != "npz"]
        raise UsageError(
            "the names do not say which format to read",
            f"names that end in {', '.join(endings)}, or format=",
            uri=files[0],
        )
    (kind,) = formats
    for file in files:
        if "://" in file:
            raise UnsupportedError("tables are read from local files", "copy the file here first", uri=file)
        if not os.path.isfile(file):
            raise FileMissingError(
                "this is a folder" if os.path.isdir(file) else "there is no such file", uri=file
            )
    parts = []
    for file in files:
        try:
            parts.append(_csv_dataset(file) if kind == "csv" else pyarrow.dataset.dataset(file, format=kind))
        except (pa.ArrowInvalid, OSError) as error:
            raise FormatError(f"this is not a {kind} file: {str(error).splitlines()[0]}", uri=file) from error
        first, this = parts[0].schema, parts[-1].schema
        if not this.equals(first):
            other = next(
                (n for n in [*first.names, *this.names] if n not in first.names or n not in this.names), ""
            )
            why = f"'{other}' is not in all of them" if other else "their types or their order differ"
            raise SchemaError(f"the files have different columns: {why}", "import them one by one", uri=file)
    return pyarrow.dataset.dataset(files, schema=parts[0].schema, format=parts[0].format)


def _csv_dataset(file: str) -> Any:
    """A CSV file with the types that its first block shows.

    pyarrow takes NaN for a missing value, and integers that need more than 63 bits for floating-point numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv, dataset

    missing = [text for text in csv.ConvertOptions().null_values if text.lower().lstrip("-") != "nan"]
    form = dataset.CsvFileFormat(convert_options=csv.ConvertOptions(null_values=missing))
    schema = dataset.dataset(file, format=form).schema
    doubles = [one for one in schema if one.type == pa.float64() and schema.names.count(one.name) == 1]
    if not doubles:
        return dataset.dataset(file, schema=schema, format=form)
    texts = csv.ConvertOptions(
        null_values=missing,
        strings_can_be_null=True,
        column_types={one.name: pa.string() for one in doubles},
        include_columns=[one.name for one in doubles],
    )
    with csv.open_csv(file, convert_options=texts) as reader:
        columns = reader.read_next_batch()
    for one in doubles:
        values = columns.column(one.name).drop_null()
        if pc.all(pc.match_substring_regex(values, r"^-?\d+$")).as_py():
            schema = schema.set(schema.get_field_index(one.name), one.with_type(_integer_of(values)))
    return dataset.dataset(file, schema=schema, format=form)


def _integer_of(values: Any) -> Any:
    """The type of integers given as texts, of which some exceed std::int64_t; they stay texts beyond 64 bits."""
    import pyarrow as pa

    try:
        values.cast(pa.uint64())
    except pa.ArrowInvalid:
        return pa.string()
    return pa.uint64()


def _stored_as(field: Any, *, missing: bool) -> dict[str, Any] | None:
    """Return what `export` noted of a field, if it holds for the column as it is now.

    Other programs may have kept the note and changed the column: its type, or to one with missing values.
    """
    try:
        stored = json.loads((field.metadata or {})[STORED_AS.encode()])
        build_field(field.name, stored["type"])
        kept = _unnamed(stored["arrow"]) == _unnamed(str(field.type)) and isinstance(
            stored["description"], str
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        Error,
    ):  # ours, damaged, or a class that cannot be made by its name
        return None
    return stored if kept and (not missing or any(w in json.dumps(stored) for w in _NULLABLE)) else None


def _unnamed(kind: str) -> str:
    """Items of lists are called differently by different writers."""
    return kind.replace("<element: ", "<item: ")


_NULLABLE = ("optional", "unique_ptr", "variant")


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind)) or pa.types.is_dictionary(kind)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _without_map(kind: Any) -> Any:
    """A map as the list that it is; other types as they are."""
    import pyarrow as pa

    if not pa.types.is_map(kind):
        return kind
    return pa.list_(pa.struct([pa.field("key", kind.key_type, nullable=False), ("value", kind.item_type)]))


def _note(array: Any, nulls: _Nulls) -> None:
    """Record where values of an array are missing."""
    import pyarrow as pa

    kind = _without_map(array.type)
    if kind != array.type:
        array = array.cast(kind)
    if isinstance(array, pa.ExtensionArray):
        return _note(array.storage, nulls)
    nulls.here |= array.null_count > 0
    if pa.types.is_dictionary(kind):
        nulls.here |= array.dictionary.null_count > 0
        return None
    below = []
    if pa.types.is_struct(kind):
        below = array.drop_null().flatten()
    elif _is_list(kind):
        below = [array.flatten()]
    while len(nulls.below) < len(below):
        nulls.below.append(_Nulls())
    for part, at in zip(below, nulls.below, strict=False):
        _note(part, at)
    return None


def _examples(kind: Any, nulls: _Nulls) -> list[Any]:
    """Values of a type that are missing at every level that has missing values."""
    import pyarrow as pa

    made: list[Any] = [None] if nulls.here else []
    kind = _without_map(kind)
    if pa.types.is_struct(kind):
        members = [
            (kind.field(k), _examples(kind.field(k).type, below)) for k, below in enumerate(nulls.below)
        ]
        rows = max((len(values) for _, values in members), default=0)
        made += [
            {m.name: v[row] if row < len(v) else _any(m.type) for m, v in members} for row in range(rows)
        ]
    elif _is_list(kind) and nulls.below:
        items = _examples(kind.value_type, nulls.below[0])
        if pa.types.is_fixed_size_list(kind):
            made += [[item] * kind.list_size for item in items]
        elif items:
            made.append(items)
    return made


def _any(kind: Any) -> Any:
    """A value of a type without missing parts."""
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        return {kind.field(k).name: _any(kind.field(k).type) for k in range(kind.num_fields)}
    if types.is_fixed_size_list(kind):
        return [_any(kind.value_type)] * kind.list_size
    if _is_list(kind) or types.is_map(kind):
        return []
    if types.is_dictionary(kind):
        return _any(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return ""
    if types.is_boolean(kind):
        return False
    return b"" if "binary" in str(kind) else 0


# ---- Comparing


def _compare(table: _Table, schema: dict[str, Spec], uri: str, name: str) -> None:
    fields = build_fields(schema, {}, {}, whole=True)
    begin = 0
    with DataSet(uri, name) as data_set:
        for batch in table.batches():
            columns = to_batch(batch).columns
            written = data_set.arrays(list(fields), entry_start=begin, entry_stop=begin + batch.num_rows)
            for field_name, kind in fields.items():
                theirs = ak.to_layout(written[field_name])
                if not same_arrays(flatten(kind, columns[field_name]), flatten(kind, theirs)):
                    raise FormatError(
                        f"values of the entries from {begin} differ from those of the table",
                        "import again, to another place if the storage may be failing",
                        uri=uri,
                        data_set=name,
                        field=field_name,
                    )
            begin += batch.num_rows
        if begin != data_set.num_entries:
            raise FormatError(
                f"there are {data_set.num_entries} entries, not {begin}", uri=uri, data_set=name
            )
