"""Files of tables as pyarrow reads them, and folders of such files."""

from __future__ import annotations

import codecs
import io
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from colonnade import _core
from colonnade.errors import (
    Error,
    FileMissingError,
    FormatError,
    SchemaError,
    UnsupportedError,
    UsageError,
)
from colonnade.misuse import path_text
from colonnade.reading.elsewhere import TransportFile, file_name, opened
from colonnade.reading.opening import PathLike
from colonnade.threads import check_threads

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableFiles", "TableFormat", "TextOptions", "table_format"]

TableFormat: TypeAlias = Literal["parquet", "arrow", "orc", "csv", "json"]

_FORMATS: dict[str, TableFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
"""Formats by file name extension."""

_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Further extensions, of CSV and JSON, and how pyarrow calls their codecs."""

_STEP = 1 << 23
"""Bytes of a file elsewhere that are read at once where all of it is needed."""

_BLOCK = 1 << 24
"""Bytes of JSON that are parsed at once; a record must fit."""

_LONG = re.compile(rb"[:\[,]\s*\d{19,20}\s*[,\]}]")
"""In JSON, an integer that may need more than 63 bits."""


def table_format(path: PathLike) -> TableFormat | None:
    """The format of a file name's extension, or of the first table in a folder; None if it is not a table's."""
    text = _local(path_text(path))
    files = _files_in(text) if os.path.isdir(text) else [text]
    return next(filter(None, map(_format_of, files)), None)


def _format_of(path: str) -> TableFormat | None:
    stem, ending = os.path.splitext(file_name(path).lower())
    if ending not in _COMPRESSED:
        return _FORMATS.get(ending)
    kind = _FORMATS.get(os.path.splitext(stem)[1])
    return kind if kind in ("csv", "json") else None


def _local(source: str) -> str:
    """The path of a URI of this machine; others as they are."""
    return _core.local_path(source) if source.startswith("file:") else source


def _table_name(path: str) -> str:
    """The name of a file without the extensions of its format, or of a folder."""
    stem, ending = os.path.splitext(file_name(path))
    return os.path.splitext(stem)[0] if ending.lower() in _COMPRESSED else stem


def _files_in(folder: str) -> list[str]:
    """The files below a folder in the order of their names, but for those that writers leave beside tables."""
    found = []
    for place, folders, files in os.walk(folder):
        if logs := {"_delta_log", ".hoodie"} & {*folders}:
            raise UnsupportedError(
                f"the folder has '{logs.pop()}', which says what of its files is the table",
                "the library that wrote it, to make a Parquet file",
                uri=place,
            )
        folders[:] = [each for each in folders if each[0] not in "._"]
        found += [os.path.join(place, each) for each in files if each[0] not in "._"]
    return sorted(found)


class TableFiles:
    """Files with the same columns.

    Args:
        sources: names of files and folders, and URIs of files.
        kind: their format; by default from the extensions.
        text: how CSV is written.

    Raises:
        FileMissingError: there is no such file, or none in a folder.
        FormatError: a file cannot be read.
        SchemaError: the files have different columns, or two of the same name.
        UsageError: the format is unknown, or an option is invalid.
        StorageError: a server cannot be reached.
        ResourceError: pyarrow could not start its threads.
    """

    def __init__(self, sources: Sequence[str], kind: TableFormat | None, text: TextOptions) -> None:
        arrow = _pyarrow()
        sources = [_local(each) for each in sources]
        files, self.kind = _found(sources, kind)
        self.name = _table_name(sources[0] if os.path.isdir(sources[0]) else files[0])
        options = _checked(text, self.kind)
        check_threads(arrow.cpu_count() + arrow.io_thread_count())  # pyarrow 26 needs all that it asks for
        self.parts = [_part(file, self.kind, options) for file in files]
        for folder in filter(os.path.isdir, dict.fromkeys(sources)):
            _add_keys([part for part in self.parts if part.path.startswith(os.path.join(folder, ""))], folder)
        self.schema: pa.Schema = _common([(part.path, part.whole_schema()) for part in self.parts])

    def batches(self, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """The rows, step by step."""
        import pyarrow as pa

        chosen = pa.schema([self.schema.field(name) for name in columns])
        for part in self.parts:
            own = pa.schema([_own(part.schema, field) for field in chosen if field.name not in part.keys])
            with part.reading():
                for batch in part.batches(own, batch_size):
                    if self.kind in ("arrow", "json"):  # which pyarrow does not check: it would crash
                        batch.validate(full=True)
                    arrays = [
                        pa.repeat(pa.scalar(part.keys[field.name], field.type), batch.num_rows)
                        if field.name in part.keys
                        else _cast(batch.column(field.name), field.type)
                        for field in chosen
                    ]
                    yield pa.record_batch(arrays, chosen)

    def count_rows(self) -> int:
        """The number of rows; of text it takes a scan."""
        count = 0
        for part in self.parts:
            with part.reading():
                count += part.count_rows()
        return count


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"tables are read with pyarrow, which cannot be imported: {error}; "
            "try: pip install 'colonnade[arrow]', or pip install pyarrow"
        ) from error
    return pa


def _found(sources: Sequence[str], chosen: TableFormat | None) -> tuple[list[str], TableFormat]:
    """The files, also of folders, and their format."""
    if not sources:
        raise UsageError("there is nothing to import", "name a source")
    endings = ", ".join(_FORMATS)
    files = []
    for source in sources:
        if not os.path.isdir(source):
            files.append(source)
            continue
        kinds = {file: _format_of(file) for file in _files_in(source)}
        here = [file for file, kind in kinds.items() if kind and chosen in (None, kind)]
        if not here:
            raise FileMissingError(
                "the folder has no tables", f"one with files that end in {endings}", uri=source
            )
        files += here
    formats = {chosen or _format_of(file) for file in files}
    if len(formats) > 1 or not (kind := formats.pop()):
        raise UsageError(
            "the names do not say which format to read",
            f"names that end in {endings}, or format= (--format)",
            uri=files[0],
        )
    for file in files:
        if "://" not in file and not os.path.isfile(file):
            raise FileMissingError("there is no such file", uri=file)
    return files, kind


def _add_keys(parts: Sequence[_Part], folder: str) -> None:
    """Add the columns that names of folders tell (year=2024), as Hive has them. Columns of the files come first."""
    from pyarrow import dataset, fs

    options = dataset.FileSystemFactoryOptions(
        partition_base_dir=folder, partitioning=dataset.HivePartitioning.discover()
    )
    paths = [part.path for part in parts]
    factory = dataset.FileSystemDatasetFactory(fs.LocalFileSystem(), paths, dataset.CsvFileFormat(), options)
    with parts[0].reading():
        schema = factory.inspect(fragments=0)
    for part, found in zip(parts, factory.finish(schema).get_fragments(), strict=True):
        keys = dataset.get_partition_keys(found.partition_expression)
        own = set(part.schema.names)
        part.keys = {n: keys[n] for n in schema.names if n in keys and n not in own}
        part.types_of_keys = schema


def _common(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """The columns of all files, in any order; with a type that holds the values of each."""
    import pyarrow as pa

    first = schemas[0][1]
    common = dict.fromkeys(first.names)
    for path, this in schemas:
        own = Counter(this.names)  # Arrow makes a list of all whenever it is asked
        for name in [*common, *own]:
            if own[name] > 1:
                raise SchemaError(f"two columns have the name '{name}'", "rename one of them", uri=path)
            if name not in common or name not in own:
                why = f"'{name}' is not in all of them"
                raise SchemaError(f"the files have different columns: {why}", _ONE_BY_ONE, uri=path)
        _check_decimals(first, this, path)
        try:
            first = pa.unify_schemas([first, this], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            why = str(error).removeprefix("Unable to merge: ")
            raise SchemaError(f"the files have different columns: {why}", _ONE_BY_ONE, uri=path) from error
    return first


_ONE_BY_ONE = "import them one by one"


def _check_decimals(first: pa.Schema, this: pa.Schema, path: str) -> None:
    """Refuse decimal numbers beside floating-point numbers: Arrow's common type is the latter, which rounds them."""
    for name in this.names:
        kinds = [_leaves(one.field(name).type) for one in (first, this)]
        for here, there in (kinds, kinds[::-1]):
            for place in here.keys() & there.keys():
                if "decimal" in here[place] and there[place] in ("halffloat", "float", "double"):
                    why = f"'{name}' has decimal and floating-point numbers"
                    raise SchemaError(f"the files have different columns: {why}", _ONE_BY_ONE, uri=path)


def _leaves(kind: pa.DataType, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """The types of numbers, texts and so on in a type, by place."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        inner = {kind.field(number).name: kind.field(number).type for number in range(kind.num_fields)}
    elif pa.types.is_map(kind):
        inner = {"key": kind.key_type, "value": kind.item_type}
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = {"item": kind.value_type}
    else:
        return {place: str(kind)}
    return {k: v for name, one in inner.items() for k, v in _leaves(one, (*place, name)).items()}


def _own(schema: pa.Schema, field: pa.Field) -> pa.Field:
    """The column as the file has it, unless all its values are missing there."""
    import pyarrow as pa

    own = schema.field(field.name)
    return field if own.type == pa.null() else own


def _cast(values: Any, kind: pa.DataType) -> Any:
    return values if values.type == kind else values.cast(kind)  # raises rather than round


# ---- One file


class TextOptions(NamedTuple):
    """How CSV is written; `import_table` explains them."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str = "."
    column_names: tuple[str, ...] = ()
    header: bool = True
    skip_rows: int = 0


def _checked(given: TextOptions, kind: TableFormat) -> TextOptions:
    if kind != "csv":
        if given != TextOptions():
            raise UsageError(f"{_changed(given)}= is for CSV, which these files are not")
        return given
    delimiter = "\t" if given.delimiter == r"\t" else given.delimiter  # as shells give it
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise UsageError(f"delimiter={delimiter!r} is not one character of ASCII", r"',', ';' or '\t'")
    if delimiter == given.decimal:
        raise UsageError(f"{delimiter!r} separates both columns and the digits of fractions", "delimiter=';'")
    encoding = given.encoding or "utf-8"
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise UsageError(f"there is no encoding {encoding!r}", "'latin-1', 'cp1252' or 'utf-16'") from None
    if not 0 <= given.skip_rows < 1 << 31:
        raise UsageError(f"skip_rows={given.skip_rows} is not a number of lines", "0, 1, ...")
    return given._replace(delimiter=delimiter, encoding=encoding)


def _changed(given: TextOptions) -> str:
    """The first option that is given."""
    pairs = zip(given._fields, given, TextOptions(), strict=True)
    return next(name for name, value, default in pairs if value != default)


class _Part(ABC):
    """One file, and the columns that names of its folders tell."""

    types_of_keys: pa.Schema
    fragment: Any
    """Of pyarrow.dataset, if there is one."""

    def __init__(self, path: str, kind: TableFormat, options: TextOptions) -> None:
        self.path, self._kind, self._options = path, kind, options
        self._elsewhere = opened(path) if "://" in path else None
        self.keys: dict[str, Any] = {}
        with self.reading():
            self.schema = self._schema()
            list(self.schema.names)  # raises where they are not UTF-8

    def whole_schema(self) -> pa.Schema:
        """The columns of the file, and those of its folders."""
        import pyarrow as pa

        return pa.schema([*self.schema, *(self.types_of_keys.field(name) for name in self.keys)])

    @abstractmethod
    def _schema(self) -> pa.Schema: ...

    @abstractmethod
    def batches(self, schema: pa.Schema, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Some columns of the file, in these types."""

    def _text(self) -> Any:
        """What pyarrow reads from front to end: the name of a local file, or the bytes of another, decompressed."""
        import pyarrow as pa

        if self._elsewhere is None:
            return self.path
        codec = _COMPRESSED.get(os.path.splitext(file_name(self.path).lower())[1])
        content = io.BufferedReader(TransportFile(self._elsewhere), _STEP)
        return pa.input_stream(content, compression=codec)

    def count_rows(self) -> int:
        """The number of rows."""
        import pyarrow as pa

        return sum(batch.num_rows for batch in self.batches(pa.schema([]), _BLOCK))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Make errors of pyarrow those of this file."""
        import pyarrow as pa

        try:
            yield
        except Error:
            raise
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeError) as error:
            why = str(error).splitlines()[0].rpartition(f"'{self.path}': ")[2]
            advice = next((advice for text, advice in _ADVICE.items() if text in why), "")
            raise FormatError(
                f"the file cannot be read as {self._kind}: {why}", advice, uri=self.path
            ) from error


_ADVICE = {
    "CSV conversion error": "the values of a column must be of the type that the first megabyte shows",
    "JSON parse error: unexpected field": "all members must be in the first 16 megabytes",
    "from object to array": "one record per line: jq -c '.[]' f.json > f.jsonl",
    "JSON": "the values of a member must be of the type that the first 16 megabytes show",
    "can't decode": "UTF-8; or, of CSV, encoding= (--encoding), such as 'latin-1'",
}


class _Fragment(_Part):
    """A file with a schema."""

    def _schema(self) -> pa.Schema:
        import pyarrow as pa
        from pyarrow import dataset, fs

        forms: dict[str, Callable[[], Any]] = {
            "parquet": lambda: dataset.ParquetFileFormat(pre_buffer=self._elsewhere is not None),
            "arrow": dataset.IpcFileFormat,
            "orc": dataset.OrcFileFormat,
        }
        if self._elsewhere is None:
            self.fragment = forms[self._kind]().make_fragment(self.path, fs.LocalFileSystem())
        else:
            content = pa.PythonFile(TransportFile(self._elsewhere), "r")
            self.fragment = forms[self._kind]().make_fragment(content)
        return self.fragment.physical_schema

    def batches(self, schema: pa.Schema, batch_size: int) -> Iterator[pa.RecordBatch]:
        """See `_Part`."""
        yield from self.fragment.to_batches(
            schema, columns=schema.names, batch_size=batch_size, batch_readahead=0, fragment_readahead=0
        )

    def count_rows(self) -> int:
        """See `_Part`."""
        return int(self.fragment.count_rows())


class _Stream(_Part):
    """A stream of Arrow in a file."""

    def _open(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_stream(pa.memory_map(self.path) if self._elsewhere is None else self._text())

    def _schema(self) -> pa.Schema:
        return self._open().schema

    def batches(self, schema: pa.Schema, batch_size: int) -> Iterator[pa.RecordBatch]:
        """See `_Part`."""
        for batch in self._open():
            yield from _steps(batch.select(schema.names), batch_size)


class _Csv(_Part):
    """A CSV file.

    pyarrow takes NaN for a missing value, and integers that need more than 63 bits for floating-point numbers. It
    leaves out empty lines, which are missing values where there is one column.
    """

    def _open(self, **options: Any) -> Any:
        from pyarrow import csv

        how = self._options
        missing = [text for text in csv.ConvertOptions().null_values if text.lower().lstrip("-") != "nan"]
        return csv.open_csv(
            self._text(),
            csv.ReadOptions(
                use_threads=False,
                encoding=how.encoding,
                skip_rows=how.skip_rows,
                column_names=how.column_names or None,
                autogenerate_column_names=not how.header and not how.column_names,
            ),
            csv.ParseOptions(
                delimiter=self._delimiter(),
                newlines_in_values=True,
                ignore_empty_lines=not self._has_one_column,
            ),
            csv.ConvertOptions(null_values=missing, decimal_point=how.decimal, **options),
        )

    def _delimiter(self) -> str:
        usual = ";" if self._options.decimal == "," else ","
        return self._options.delimiter or (
            "\t" if re.search(r"\.tsv(\.\w+)?$", file_name(self.path).lower()) else usual
        )

    def batches(self, schema: pa.Schema, batch_size: int) -> Iterator[pa.RecordBatch]:
        """See `_Part`."""
        import pyarrow as pa

        # Without columns rows are counted, which takes one.
        kinds = schema if len(schema) else pa.schema([(self.schema.names[0], pa.binary())])
        with self._open(column_types=kinds, include_columns=kinds.names) as reader:
            for batch in reader:
                yield from _steps(batch.select(schema.names), batch_size)

    def _schema(self) -> pa.Schema:
        import pyarrow as pa
        import pyarrow.compute as pc

        self._has_one_column = False
        schema = self._open().schema
        if len(schema.names) == 1:
            line = schema.names[0] if self._options.header else self._first(schema.names[0])
            others = {";", "\t", "|"} - {self._delimiter()}
            if self._options.delimiter is None and others & {*line}:
                raise UsageError(f"the only column is {line!r}", "delimiter=';' (--delimiter)", uri=self.path)
            self._has_one_column = True
            schema = self._open().schema
        for one in schema:
            if one.type == pa.binary():
                raise FormatError(
                    "there are texts that are not UTF-8",
                    "encoding= (--encoding), such as 'latin-1'",
                    uri=self.path,
                    field=one.name,
                )
        counts = Counter(schema.names)
        doubles = [one.name for one in schema if one.type == pa.float64() and counts[one.name] == 1]
        if not doubles:
            return schema
        kinds = dict.fromkeys(doubles, pa.string())
        with self._open(strings_can_be_null=True, column_types=kinds, include_columns=doubles) as reader:
            columns = reader.read_next_batch()
        for name in doubles:
            values = columns.column(name).drop_null()
            if pc.all(pc.match_substring_regex(values, r"^-?\d+$")).as_py():
                schema = schema.set(schema.get_field_index(name), pa.field(name, _integer_of(values)))
        return schema

    def _first(self, name: str) -> str:
        """The first value of a column, as a text."""
        import pyarrow as pa

        with self._open(column_types={name: pa.string()}, include_columns=[name]) as reader:
            values = reader.read_next_batch().column(0)
        return str(values[0]) if len(values) else ""


def _integer_of(values: Any) -> Any:
    """The type of integers given as texts, of which some exceed std::int64_t; they stay texts beyond 64 bits."""
    import pyarrow as pa

    try:
        values.cast(pa.uint64())
    except pa.ArrowInvalid:
        return pa.string()
    return pa.uint64()


class _Json(_Part):
    """A file with a record of JSON in each line.

    pyarrow takes integers that need more than 63 bits for floating-point numbers, and any bytes for texts.
    """

    def _open(self, schema: pa.Schema | None = None) -> Any:
        from pyarrow import json

        parse = json.ParseOptions(newlines_in_values=True)
        if schema is not None:
            parse.explicit_schema = schema
            parse.unexpected_field_behavior = "error"
        return json.open_json(self._text(), json.ReadOptions(block_size=_BLOCK), parse)

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        kind = pa.struct(self._open().schema)
        with pa.input_stream(self._text()) as file:
            has_long = _LONG.search(file.read(_BLOCK))
        while has_long and (found := next(filter(self._fits, _with_unsigned(kind)), None)):
            kind = found
        return pa.schema(kind)

    def _fits(self, kind: Any) -> bool:
        import pyarrow as pa

        try:
            self._open(pa.schema(kind))
        except pa.ArrowInvalid:
            return False
        return True

    def batches(self, schema: pa.Schema, batch_size: int) -> Iterator[pa.RecordBatch]:
        """See `_Part`."""
        import pyarrow as pa

        wanted = set(schema.names)
        known = [schema.field(one.name) if one.name in wanted else one for one in self.schema]
        with self._open(pa.schema(known)) as reader:
            for batch in reader:
                yield from _steps(batch.select(schema.names), batch_size)


def _with_unsigned(kind: Any) -> Iterator[Any]:
    """The types with one that is std::uint64_t in place of double."""
    import pyarrow as pa

    if kind == pa.float64():
        yield pa.uint64()
    if pa.types.is_list(kind):
        yield from map(pa.list_, _with_unsigned(kind.value_type))
    if pa.types.is_struct(kind):
        for number, field in enumerate(kind):
            for inner in _with_unsigned(field.type):
                yield pa.struct(
                    [field.with_type(inner) if k == number else one for k, one in enumerate(kind)]
                )


def _steps(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    return (batch.slice(first, size) for first in range(0, batch.num_rows, size))


def _part(path: str, kind: TableFormat, options: TextOptions) -> _Part:
    if kind == "arrow":
        with TransportFile(opened(path)) as file:
            return (_Fragment if file.read(6) == b"ARROW1" else _Stream)(path, kind, options)
    return {"csv": _Csv, "json": _Json}.get(kind, _Fragment)(path, kind, options)
