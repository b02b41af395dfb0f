"""The C interface through ctypes: what a program in another language does, with pyarrow on the other side."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

U64 = ctypes.c_uint64
ALL = 2**64 - 1

CODES = {
    "io": 1,
    "format": 2,
    "checksum": 3,
    "unsupported": 4,
    "type": 5,
    "schema": 6,
    "not found": 7,
    "conversion": 8,
    "usage": 9,
    "resource": 10,
}


class CError(Exception):
    """What colonnade_last_error() says."""

    def __init__(self, status: int, described: Described) -> None:
        super().__init__(described.message.decode())
        self.status = status
        self.problem = described.problem.decode()
        self.advice = described.advice.decode()
        self.uri = described.uri.decode()
        self.field = described.field.decode()


class Described(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int32),
        ("message", ctypes.c_char_p),
        ("problem", ctypes.c_char_p),
        ("advice", ctypes.c_char_p),
        ("uri", ctypes.c_char_p),
        ("data_set", ctypes.c_char_p),
        ("field", ctypes.c_char_p),
        ("column", ctypes.c_int64),
        ("cluster", ctypes.c_int64),
        ("page", ctypes.c_int64),
        ("offset", ctypes.c_int64),
    ]


class ReadOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("cache", ctypes.c_char_p),
        ("missing_fields", ctypes.c_int32),
        ("memory_budget", U64),
    ]


class WriteOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("compression", ctypes.c_char_p),
        ("mode", ctypes.c_int32),
        ("nulls", ctypes.c_int32),
        ("cluster_size", U64),
        ("description", ctypes.c_char_p),
    ]


class FrameOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("threads", ctypes.c_uint32),
        ("first", U64),
        ("last", U64),
        ("cache", ctypes.c_char_p),
    ]


class Axis(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("bins", ctypes.c_uint32),
        ("low", ctypes.c_double),
        ("high", ctypes.c_double),
        ("edges", ctypes.POINTER(ctypes.c_double)),
    ]


class Histogram(ctypes.Structure):
    _fields_ = [
        ("num_axes", ctypes.c_size_t),
        ("bins", ctypes.POINTER(ctypes.c_size_t)),
        ("edges", ctypes.POINTER(ctypes.POINTER(ctypes.c_double))),
        ("num_cells", ctypes.c_size_t),
        ("values", ctypes.POINTER(ctypes.c_double)),
        ("variances", ctypes.POINTER(ctypes.c_double)),
        ("entries", U64),
    ]


class Cut(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("all", U64), ("passed", U64)]


class ArrowStruct(ctypes.Structure):
    """Room for any struct of the Arrow C interfaces: the largest, ArrowArray, has 80 bytes."""

    _fields_ = [("words", U64 * 10)]

    @property
    def address(self) -> int:
        return ctypes.addressof(self)


def library() -> Any:
    build = Path(os.environ["COLONNADE_BUILD_DIR"])
    found: Any = ctypes.CDLL(str(build / "src" / "libcolonnade.so"))
    found.colonnade_last_error.restype = ctypes.POINTER(Described)
    found.colonnade_version.restype = ctypes.c_char_p
    found.colonnade_strings_size.restype = ctypes.c_size_t
    found.colonnade_strings_get.restype = ctypes.c_char_p
    for name in ("colonnade_reader_num_entries", "colonnade_writer_num_entries"):
        getattr(found, name).restype = U64
    return found


LIBRARY = library()


def texts(values: Sequence[str]) -> Any:
    """Make an array of C strings."""
    return (ctypes.c_char_p * max(len(values), 1))(*(value.encode() for value in values))


def encoded(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a status; raises `CError`."""
    status = getattr(LIBRARY, name)(*arguments)
    if status:
        raise CError(status, LIBRARY.colonnade_last_error().contents)


def made(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Call a function whose last argument is the object that it makes."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    return out


def strings(pointer: ctypes.c_void_p) -> list[str]:
    """Take a list of texts, and release it."""
    size = LIBRARY.colonnade_strings_size(pointer)
    found = [
        LIBRARY.colonnade_strings_get(pointer, ctypes.c_size_t(number)).decode() for number in range(size)
    ]
    assert LIBRARY.colonnade_strings_get(pointer, ctypes.c_size_t(size)) is None
    LIBRARY.colonnade_strings_release(pointer)
    return found


# ---- Reading


@contextmanager
def opened(*uris: str, name: str | None = None, missing: int = 0) -> Iterator[ctypes.c_void_p]:
    options = ReadOptions(struct_size=ctypes.sizeof(ReadOptions), missing_fields=missing)
    reader = made(
        "colonnade_open", encoded(name), texts(uris), ctypes.c_size_t(len(uris)), ctypes.byref(options)
    )
    try:
        yield reader
    finally:
        LIBRARY.colonnade_reader_release(reader)


def _asked(columns: Sequence[str]) -> tuple[Any, Any]:
    return texts(columns), ctypes.c_size_t(len(columns))


def schema_of(reader: ctypes.c_void_p, columns: Sequence[str] = ()) -> pa.Schema:
    out = ArrowStruct()
    call("colonnade_reader_schema", reader, *_asked(columns), ctypes.byref(out))
    return pa.Schema._import_from_c(out.address)


def read(
    reader: ctypes.c_void_p, columns: Sequence[str] = (), first: int = 0, last: int = ALL
) -> pa.RecordBatch:
    out = ArrowStruct()
    call("colonnade_reader_read", reader, *_asked(columns), U64(first), U64(last), ctypes.byref(out))
    return pa.RecordBatch._import_from_c(out.address, schema_of(reader, columns))


def stream(
    reader: ctypes.c_void_p,
    columns: Sequence[str] = (),
    first: int = 0,
    last: int = ALL,
    batch_entries: int = 0,
) -> pa.RecordBatchReader:
    out = ArrowStruct()
    call(
        "colonnade_reader_stream",
        reader,
        *_asked(columns),
        U64(first),
        U64(last),
        U64(batch_entries),
        ctypes.byref(out),
    )
    return pa.RecordBatchReader._import_from_c(out.address)


# ---- Writing


def write_options(
    *, mode: int = 0, nulls: int = 0, compression: str | None = None, cluster_size: int = 0
) -> WriteOptions:
    return WriteOptions(
        struct_size=ctypes.sizeof(WriteOptions),
        compression=encoded(compression),
        mode=mode,
        nulls=nulls,
        cluster_size=cluster_size,
    )


def write_table(table: Any, uri: str, name: str = "Events", **options: Any) -> int:
    """Write whatever gives an Arrow stream; return the number of entries."""
    source = table if isinstance(table, pa.RecordBatchReader) else table.to_reader()
    out = ArrowStruct()
    source._export_to_c(out.address)
    entries = U64()
    try:
        call(
            "colonnade_write_stream",
            name.encode(),
            uri.encode(),
            ctypes.byref(out),
            ctypes.byref(write_options(**options)),
            ctypes.byref(entries),
        )
    finally:
        assert out.words[3] == 0, "the stream was not released"
    return entries.value


@contextmanager
def writer(uri: str, schema: pa.Schema, name: str = "Events", **options: Any) -> Iterator[ctypes.c_void_p]:
    given = ArrowStruct()
    schema._export_to_c(given.address)
    try:
        made_writer = made(
            "colonnade_writer_create",
            name.encode(),
            uri.encode(),
            ctypes.byref(given),
            ctypes.byref(write_options(**options)),
        )
    finally:
        pa.Schema._import_from_c(given.address)  # which releases it
    try:
        yield made_writer
    finally:
        LIBRARY.colonnade_writer_release(made_writer)


def append(to: ctypes.c_void_p, batch: pa.RecordBatch) -> None:
    out = ArrowStruct()
    batch._export_to_c(out.address)
    try:
        call("colonnade_writer_append", to, ctypes.byref(out))
    finally:
        assert out.words[8] == 0, "the array was not released"
