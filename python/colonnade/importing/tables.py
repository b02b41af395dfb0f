"""Imports tables that pyarrow reads, with nested types."""

from __future__ import annotations

import fnmatch
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from colonnade import _core
from colonnade.annotations import checked
from colonnade.arrays.columns import flatten
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import (
    Error,
    FormatError,
    SchemaError,
    TypeMismatchError,
    UsageError,
)
from colonnade.floating_point import with_standard_floating_point
from colonnade.misuse import chosen_names, files_of, mapping_of, name_pairs, path_text
from colonnade.reading.dataset import DataSet
from colonnade.reading.exporting import STORED_AS
from colonnade.reading.opening import PathLike, split_target
from colonnade.schema.fields import is_wildcard
from colonnade.schema.spec import Spec, build_field, infer
from colonnade.writing.creating import DataSetWriter
from colonnade.writing.filling import build_fields
from colonnade.writing.options import CheckpointEvery, Size, check_names, write_options
from colonnade.writing.sources import Batch, Decimals, to_batch

from .field_names import clean_name, free_name
from .table_files import TableFiles, TableFormat, TextOptions
from .trees import ImportSettings, data_sets_at, same_arrays

if TYPE_CHECKING:
    from typing import Unpack

    import pyarrow as pa

__all__ = ["TableReport", "import_table"]


@dataclass(frozen=True)
class TableReport:
    """The result of an import of tables."""

    data_set: str
    entries: int
    fields: tuple[str, ...]
    renamed: Mapping[str, str]
    """Field by column, if their names differ."""
    bytes_read: int
    """Bytes of values in Arrow's form."""
    seconds: float
    verified: bool


@with_standard_floating_point
@checked
def import_table(
    source: PathLike | Sequence[PathLike],
    destination: PathLike | tuple[PathLike, str],
    *,
    destination_name: str | None = None,
    columns: Sequence[str] | str | None = None,
    rename: Mapping[str, str] | None = None,
    format: TableFormat | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: Literal[".", ","] = ".",
    header: bool = True,
    column_names: Sequence[str] | str | None = None,
    skip_rows: int = 0,
    decimals_as: Decimals = "refuse",
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
    """Make a data set from Parquet, Arrow (IPC), ORC, CSV or JSON files, with pyarrow, which must be installed.

    Lists, records and missing values are kept: a column, or part of one, with missing values becomes a `std::optional`;
    one without does not, whatever its schema allows. To find out, columns without Parquet statistics on missing values
    are read twice. Dictionaries become their values; dates and times become integers whose unit is the field's
    description. Columns that `export` wrote get their original types. In names of columns, dots, slashes, backslashes,
    blanks and control characters become underscores.

    Args:
        source: the file, here or at a URI; or several with the same columns, whose rows are concatenated; or a folder
            of such files, in which names of folders tell further columns (year=2024). Names may have wildcards, as in
            `colonnade.open`.
        destination: the file or object store, or this and the path of the data set, as in `colonnade.create`.
        destination_name: the path of the data set; by default the first file's name without extension, with _ for
            characters that names may not have.
        columns: names of columns, or wildcards; by default all.
        rename: names of fields for columns: {"Time (s)": "time"}.
        format: "parquet", "arrow", "orc", "csv" or "json" (a record in each line); by default from the extension.
        delimiter: of CSV; by default a comma, and a tab in .tsv files; a semicolon with decimal=",".
        encoding: of CSV, such as "latin-1"; by default UTF-8.
        decimal: of CSV, what separates the digits of a fraction.
        header: of CSV, False for files whose first line has no names. The columns are called f0, f1, ... then.
        column_names: of CSV, the names of all columns, for files whose first line has none.
        skip_rows: of CSV, the number of lines to leave out at the beginning of each file.
        decimals_as: what becomes of decimal numbers, for which there is no type: "double" rounds each to the nearest
            `double`, "int64" takes integers only, "text" keeps the digits, as `std::string`.
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
        SchemaError: a type cannot be stored, as that of decimal numbers without `decimals_as`; two fields have the same
            name; or the files have different columns.
        ConversionError: with decimals_as="int64", a number is no integer of 64 bits.
        UsageError: the data set exists already, a column does not, or an option is invalid.
        ResourceError: pyarrow could not start its threads.
    """
    given: dict[str, Any] = {
        "compression": compression,
        "page_size": page_size,
        "cluster_size": cluster_size,
        "checkpoint_every": checkpoint_every,
        "parallel_sealing": True,
        **settings,
    }
    if not 1 <= batch_size < 1 << 63:
        raise UsageError(f"batch_size={batch_size} is not a number of rows", "1, 2, ...")
    check_names(given, "an import")
    options = write_options(**given)
    begin = time.monotonic()
    sources = [path_text(each) for each in files_of(source, "a file of a table, or a list of them")]
    fields = {} if rename is None else name_pairs(mapping_of(rename, 'rename={"Time (s)": "time"}'), "column")
    listed = tuple(chosen_names(column_names))
    text = TextOptions(delimiter, encoding, decimal, listed, header and not listed, skip_rows)
    files = TableFiles(_core.expand_names(sources), format, text)
    table = _Table(files, columns, fields, batch_size, decimals_as)
    uri, name = split_target(destination, destination_name)
    name = name.strip("/") or clean_name(files.name)
    if any(_core.is_same_place(file, uri) for file in table.files):
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
    total = table.entries
    with DataSetWriter(uri, name, schema, options, mode=mode, field_descriptions=notes) as writer:
        for batch in table.batches():
            writer.extend(batch)
            report(writer.num_entries, total)
    if verify:
        _compare(table, schema, uri, name)
    return TableReport(
        name,
        writer.num_entries,
        tuple(schema),
        {column: field for column, field in table.fields.items() if column != field},
        table.bytes,
        time.monotonic() - begin,
        verify,
    )


# ---- What is read


_Place = tuple[int, ...]
"""A part of a layout: the number of the part at each level."""


class _Table:
    """Files with the same columns."""

    def __init__(
        self,
        source: TableFiles,
        columns: Sequence[str] | str | None,
        rename: Mapping[str, str],
        batch_size: int,
        decimals: Decimals,
    ) -> None:
        self._source, self._batch_size, self._decimals, self.bytes = source, batch_size, decimals, 0
        self.files = [part.path for part in source.parts]
        names = dict.fromkeys(source.schema.names)
        asked = chosen_names(columns) or names
        chosen_columns = list(dict.fromkeys(found for each in asked for found in _matching(each, names)))
        missing = [name for name in [*chosen_columns, *rename] if name not in names]
        if missing:
            raise UsageError(
                f"there is no column '{missing[0]}'", f"one of: {', '.join(names)}", uri=self.files[0]
            )
        self.fields = _field_names(chosen_columns, rename, self.files[0])
        self._entries: int | None = None

    @property
    def entries(self) -> int:
        """The number of rows. Of CSV it is known after a scan, or takes one."""
        if self._entries is None:
            self._entries = self._source.count_rows()
        return self._entries

    def schema(self) -> tuple[dict[str, Spec], dict[str, str]]:
        """The types of the fields, and their descriptions."""

        fields = {
            name: self._source.schema.field(column).with_name(name) for column, name in self.fields.items()
        }
        empty = {name: self._empty(name, field.type) for name, field in fields.items()}
        missing: dict[str, set[_Place]] = {name: set() for name in fields}
        self._find_missing(missing)
        specs: dict[str, Spec] = {}
        notes: dict[str, str] = {}
        for name, field in fields.items():
            stored = _stored_as(field, missing=bool(missing[name]))
            if stored is not None:
                specs[name], notes[name] = stored["type"], stored["description"]
                continue
            try:
                specs[name] = infer(_with_options(empty[name].columns[name], (), missing[name]), name)
            except SchemaError as error:
                raise self._refused(error, name) from None
            notes |= empty[name].notes
        return specs, {name: note for name, note in notes.items() if note}

    def _find_missing(self, missing: dict[str, set[_Place]]) -> None:
        """Add the places of each field where values are missing, in a scan of those that do not tell."""
        unsure = self._without_statistics()
        if not unsure:
            return
        nested = [self.fields[each] for each in unsure if _is_nested(self._source.schema.field(each).type)]
        plain = [self.fields[each] for each in unsure if self.fields[each] not in nested]
        rows = 0
        for batch in self._scan(unsure):
            rows += batch.num_rows
            for name in plain:
                if batch.column(name).null_count:
                    missing[name].add(())
            for name, content in self._batch(batch.select(nested)).columns.items() if nested else ():
                _note_missing(content, (), missing[name])
        self._entries = rows

    def _empty(self, name: str, kind: Any) -> Batch:
        """The column without any value."""
        import pyarrow as pa

        if pa.types.is_null(kind):
            if self.entries == 0:
                raise SchemaError(
                    "its type is unknown, as the file has no rows",
                    "a file with rows",
                    uri=self.files[0],
                    field=name,
                )
            where = {"csv": " in the first megabyte", "json": " in the first 16 megabytes"}.get(
                self._source.kind, ""
            )
            raise SchemaError(
                f"all its values{where} are missing", "columns= (--columns) without it", field=name
            )
        try:
            return self._batch({name: pa.nulls(0, kind)})
        except TypeMismatchError as error:
            raise self._refused(error, name) from error.__cause__

    def _batch(self, data: Any) -> Batch:
        return to_batch(data, decimals=self._decimals)

    def _refused(self, error: Error, name: str) -> SchemaError:
        advice = "columns= without it, or --columns"
        if "there are no decimal numbers" in error.problem:
            advice = f"decimals_as='double', which rounds, 'int64' or 'text' (--decimals-as); or {advice}"
        return SchemaError(error.problem, advice, uri=self.files[0], field=error.field or name)

    def batches(self) -> Iterator[Batch]:
        """The rows, step by step."""

        self.bytes = 0
        for batch in self._scan(list(self.fields)):
            if batch.num_rows:
                self.bytes += sum(map(_bytes_of, batch.columns))
                yield self._batch(batch)

    def _scan(self, columns: list[str]) -> Iterator[pa.Table]:
        """Steps of columns, under the names of the fields."""
        import pyarrow as pa

        names = [self.fields[column] for column in columns]
        for batch in self._source.batches(columns, self._batch_size):
            yield pa.Table.from_batches([batch.rename_columns(names)])

    def _without_statistics(self) -> list[str]:
        """Columns whose files do not guarantee that no value is missing."""
        unsure = {name for name in self.fields if self._source.schema.field(name).nullable}
        unsure |= {name for name in self.fields if _is_nested(self._source.schema.field(name).type)}
        if self._source.kind != "parquet":
            return [name for name in self.fields if name in unsure]
        doubtful = set()
        for part in self._source.parts:
            doubtful |= {name for name, value in part.keys.items() if value is None}
            metadata = part.fragment.metadata
            for group in range(metadata.num_row_groups):
                for leaf in range(metadata.num_columns):
                    chunk = metadata.row_group(group).column(leaf)
                    counts = chunk.statistics
                    if counts is None or not counts.has_null_count or counts.null_count:
                        # A dot may be part of a column's name.
                        parts = chunk.path_in_schema.split(".")
                        doubtful |= unsure & set(itertools.accumulate(parts, "{}.{}".format))
        return [name for name in self.fields if name in doubtful]


def _matching(column: str, names: Mapping[str, object]) -> list[str]:
    """The columns that a wildcard matches, or the name itself."""
    if column in names or not is_wildcard(column):
        return [column]
    return [name for name in names if fnmatch.fnmatchcase(name, column)] or [column]


def _field_names(columns: Sequence[str], rename: Mapping[str, str], uri: str) -> dict[str, str]:
    """The field of each column. Names that no field can have are changed as those of branches."""
    found = {name: rename.get(name, name) for name in columns if name in rename or clean_name(name) == name}
    taken: set[str] = set()
    for name in found.values():
        if name in taken:
            raise UsageError(
                f"two fields would have the name '{name}'", "rename= (--rename) to another one", uri=uri
            )
        taken.add(name)
    for column in columns:
        if column not in found:
            found[column] = free_name(clean_name(column), taken)
            taken.add(found[column])
    return {column: found[column] for column in columns}


def _bytes_of(column: Any) -> int:
    # `nbytes` of unions ends the process (pyarrow 26) where an alternative of a dense one, or a list, has no values.
    return int(column.get_total_buffer_size() if "_union<" in str(column.type) else column.nbytes)


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

    if isinstance(kind, pa.BaseExtensionType):
        return _is_nested(kind.storage_type)
    types = pa.types
    return bool(types.is_nested(kind)) or types.is_dictionary(kind) or types.is_run_end_encoded(kind)


def _note_missing(content: Content, place: _Place, missing: set[_Place]) -> None:
    """Add the places where values are missing."""
    if content.is_option:
        if np.any(np.asarray(content.mask_as_bool(valid_when=False))):
            missing.add(place)
        content = content.project()
    for number, part in enumerate(_parts(content)):
        _note_missing(part, (*place, number), missing)


def _with_options(content: Content, place: _Place, missing: set[_Place]) -> Content:
    """Make the parts of an empty layout optional that have missing values, but for the alternatives of variants."""
    content = content.project() if content.is_indexed or content.is_option else content
    parts = [_with_options(part, (*place, number), missing) for number, part in enumerate(_parts(content))]
    if content.is_union:
        content = content.copy(contents=[part.content if part.is_option else part for part in parts])
    elif content.is_record:
        content = content.copy(contents=parts)
    elif parts:
        content = content.copy(content=parts[0])
    return ak.contents.UnmaskedArray(content) if place in missing else content


def _parts(content: Content) -> list[Content]:
    """The alternatives, members or items of a layout, without those that no value has."""
    content = content.project() if content.is_indexed else content
    if content.is_union:
        return [content.project(number) for number in range(len(content.contents))]
    if content.is_record:
        return [part[: content.length] for part in content.contents]
    if content.is_list and content.parameter("__array__") is None:
        lists = content.to_ListOffsetArray64(True)
        return [lists.content[: lists.offsets[-1]]]
    return []


# ---- Comparing


def _compare(table: _Table, schema: dict[str, Spec], uri: str, name: str) -> None:
    fields = build_fields(schema, {}, {}, whole=True)
    begin = 0
    with DataSet(uri, name) as data_set:
        for batch in table.batches():
            written = data_set.arrays(list(fields), entry_start=begin, entry_stop=begin + batch.entries)
            for field_name, kind in fields.items():
                theirs = ak.to_layout(written[field_name])
                if not same_arrays(flatten(kind, batch.columns[field_name]), flatten(kind, theirs)):
                    raise FormatError(
                        f"values of the entries from {begin} differ from those of the table",
                        "import again, to another place if the storage may be failing",
                        uri=uri,
                        data_set=name,
                        field=field_name,
                    )
            begin += batch.entries
        if begin != data_set.num_entries:
            raise FormatError(
                f"there are {data_set.num_entries} entries, not {begin}", uri=uri, data_set=name
            )
