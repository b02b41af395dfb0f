"""Takes entries from users, as arrays or one by one; common to all ways of writing."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from colonnade import _core
from colonnade.arrays.columns import PathArray, flatten, members_problem
from colonnade.arrays.lazy import Content
from colonnade.arrays.objects import has_tuples
from colonnade.arrays.plain import kept
from colonnade.errors import ConversionError, Error, TypeMismatchError, UnsupportedError, UsageError, locate
from colonnade.floating_point import with_standard_floating_point
from colonnade.located import Located
from colonnade.misuse import column_name, is_unicode, mapping_of, shown
from colonnade.schema.spec import Encoding, Spec, apply_encodings, build_field

from .rows import Rows, flatten_list, has_map, has_variant
from .sources import Batch, has_items, to_batch
from .times import unit_of

__all__ = [
    "Closing",
    "Filler",
    "TakingTurns",
    "build_fields",
    "descriptions_of",
    "encodings_of",
    "give_up_failed",
]

_ROWS_HELD = 4096
Self = TypeVar("Self", bound="Closing")
Result = TypeVar("Result")


class Closing(Located, ABC):
    """An object that is closed, or dropped if an exception leaves its block."""

    def __init__(self, uri: str, name: str) -> None:
        self._closed = True  # until there is something to close
        self._failure: str | None = None
        self._waits = False
        """Whether closing has failed, but can be repeated."""
        self._has_failed = False
        """Whether a call has failed, perhaps so that it can be repeated."""
        self._process = os.getpid()
        super().__init__(uri, name)

    @abstractmethod
    def close(self) -> None:
        """Commit and close."""

    @abstractmethod
    def abort(self) -> None:
        """Close without committing."""

    def _is_started(self) -> bool:
        return True

    def _check_open(self) -> None:
        if self._closed:
            raise self._misuse("the writer is closed")

    def _check_takes(self) -> None:
        """Refuse what would wait in front of the core until that refuses it, long after its call."""
        self._check_open()
        if self._has_failed:
            self._has_failed = self._may_close_again()
        if self._has_failed:
            raise self._misuse(
                "an earlier write failed, so nothing can be added now",
                "when the cause is gone, call close() again, or abort() to give up",
            )

    def _guard(self, work: Callable[[], Result]) -> Result:
        try:
            return super()._guard(work)
        except Error:
            self._has_failed = True
            raise

    def _is_over(self) -> bool:
        """Whether it was closed. If that failed, closing it again must not look as if it had worked."""
        if self._failure is not None:
            raise self._misuse(
                f"closing the writer failed before, and what was not committed is lost: {self._failure}",
                "write the data set again; what was committed before the failure can be read",
            )
        return self._closed

    def __enter__(self: Self) -> Self:
        self._check_open()
        return self

    def _leave(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    __exit__ = _core.leaving(_leave, lambda self: self.abort())

    def _end(self, finish: Callable[[], object]) -> None:
        """Close by a call; if it fails for good, drop what was not committed: the file is not in use any more."""

        def end() -> None:
            finish()
            self._closed = True

        try:
            self._guard(end)
        except BaseException as error:
            self._note(error)
            raise

    def _note(self, error: BaseException) -> None:
        """After a failure of closing."""
        self._waits = self._may_close_again()
        if not self._waits:
            self._fail(error)

    def _may_close_again(self) -> bool:
        """Whether a call has failed but nothing is lost, so that it can be repeated."""
        return False

    def _is_complete(self) -> bool:
        """Whether it is a file that takes nothing more, since only its closing has failed: a commit closes it."""
        return self._waits and not _core.is_object_store(self._uri)

    def _fail(self, error: BaseException) -> None:
        self.abort()
        self._failure = error.problem if isinstance(error, Error) else str(error) or type(error).__name__

    def __reduce__(self) -> NoReturn:
        """Refuse copies, of which the first to end would close the writer, and pickles."""
        raise UnsupportedError(
            f"{self!r} can be neither copied nor sent to another process",
            "a writer of its own there, or create_parallel() for several threads",
        )

    # ---- Writers that were not closed

    def _replaces(self) -> bool:
        """True if a commit would replace existing data."""
        return False

    def _remember(self) -> None:
        """From now on it must be closed."""
        _unclosed[id(self)] = weakref.ref(self)
        self._closed = False

    @_core.finalizer
    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self._end_forgotten(failed=sys.exc_info()[0] is not None)
        _unclosed.pop(id(self), None)

    def _end_forgotten(self, *, failed: bool) -> None:
        """Close a writer that was not closed, unless that could replace a whole data set by a part of one."""
        if self._closed or not self._is_started() or self._process != os.getpid():
            return
        if self._waits:  # its owner has seen the error, and has not closed it again
            self.abort()
            return
        if not failed and not self._replaces():
            try:
                self.close()
            except Exception as error:  # there is no caller to catch it
                warnings.warn(f"{self!r} was never closed, and closing it failed: {error}", stacklevel=2)
                self.abort()
            else:
                warnings.warn(f"{self!r} was never closed; it is now", ResourceWarning, stacklevel=2)
            return
        why = "an exception ended it" if failed else "what it would replace stays"
        warnings.warn(
            f"{self!r} was never closed, and {why}: what was not committed is lost",
            RuntimeWarning,
            stacklevel=2,
        )
        self.abort()


def give_up_failed(uri: str, name: str) -> None:
    """Discard writers of the data set whose closing has failed, because another one begins."""
    for each in list(_unclosed.values()):
        writer = each()
        if writer is not None and writer._waits and (writer._uri, writer._name) == (uri, name):
            writer._end_forgotten(failed=True)


_unclosed: dict[int, weakref.ref[Closing]] = {}
"""By their ids. Those of a WeakSet are removed by Python code that loses the exceptions of a signal's handler."""


@atexit.register
def _close_forgotten() -> None:
    """At the end of the program. Fill contexts, which hold their writers, come first."""
    failed = getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1")
    writers = [writer for each in list(_unclosed.values()) if (writer := each()) is not None]
    for writer in sorted(writers, key=lambda writer: not isinstance(writer, Filler)):
        writer._end_forgotten(failed=failed)


class _Current:
    process = os.getpid()
    """Asking the system costs a tenth of adding an entry."""


def _note_process() -> None:
    _Current.process = os.getpid()


os.register_at_fork(after_in_child=_note_process)


class TakingTurns(Closing):
    """Several threads may use it: what `_guard` calls has a turn. `abort` needs none, since it may come at any time."""

    def __init__(self, uri: str, name: str) -> None:
        self._turn = RLock()
        super().__init__(uri, name)

    def _guard(self, work: Callable[[], Result]) -> Result:
        if self._process != _Current.process:
            # A thread of the parent may have the turn forever; the core refuses.
            return super()._guard(work)
        with self._turn:
            try:  # as there: a call less for each entry
                return work()
            except Error as error:
                self._has_failed = True
                raise locate(error, uri=self._uri, data_set=self._name) from error.__cause__

    def _close(self, finish: Callable[[], object]) -> None:
        """Close by a call, unless it is closed."""

        def close() -> None:
            if not self._is_over():
                self._end(finish)

        self._guard(close)


class Filler(Closing):
    """Takes entries, checks them, and passes them on as flat arrays."""

    def __init__(self, uri: str, name: str) -> None:
        super().__init__(uri, name)
        self._fields: dict[str, _core.Field] = {}
        self._rows: Rows | None = None

    @property
    def num_entries(self) -> int:
        """Number of entries given so far."""
        while True:
            written, rows = self._written(), self._rows
            count = len(rows) if rows is not None and rows.first == written else 0
            if written == self._written():  # no other thread has passed them on in between
                return written + count

    @property
    def field_names(self) -> list[str]:
        """Names of the fields, empty until the schema is known."""
        return list(self._fields)

    @with_standard_floating_point
    def extend(self, data: Any) -> None:
        """Add entries as whole arrays.

        Args:
            data: one value per entry and field, as a dictionary of arrays (NumPy, Awkward, Arrow, lists), an Awkward
                array of records, an Arrow table or any Arrow stream, or a data frame of pandas or Polars. If no schema
                was given, the first one determines it.

        Raises:
            TypeMismatchError: fields are missing or superfluous, or values have another type. Nothing is written then.
            ConversionError: a value does not fit its type, or the unit of times differs. Nothing is written then.
            UsageError: the arrays have different lengths. Nothing is written then.
        """
        self._check_takes()
        by_value = [name for name, field in self._fields.items() if has_variant(field) or has_map(field)]
        # Not in turn: streams may need other threads.
        batch = Located._guard(self, lambda: to_batch(data, by_value))
        self._guard(lambda: self._extend(batch))

    def fill(self, **values: Any) -> None:
        """Add one entry, a value for each field; entries are collected and written together.

        Dates, times and durations become integers of the unit that the description of the field begins with, such as
        "timestamp[us]", "date32[day]" or "duration[ms]"; NaT is a missing value. Without a schema, the first entry
        determines it, as that of `extend`.

        Raises:
            TypeMismatchError: a field is missing or unknown, or a value has another type. The entry is not added.
            ConversionError: a value does not fit its type. The entry is not added.
        """
        self._guard(lambda: self._fill(values))

    @abstractmethod
    def _written(self) -> int:
        """Entries that were passed on."""

    @abstractmethod
    def _append(self, arrays: list[PathArray]) -> None:
        """Pass entries on."""

    def _begin_with_batch(self, batch: Batch) -> None:
        """Determine the schema that was not given."""

    def _begin_with_row(self, values: dict[str, Any]) -> None:
        """Determine the schema that was not given."""

    def _extend(self, batch: Batch) -> None:
        self._check_takes()
        if batch.entries:
            self._check_fields(batch.columns)
        self._begin_with_batch(batch)
        missing = [name for name in self._fields if name not in batch.columns]
        extra = [name for name in batch.columns if name not in self._fields]
        if missing or extra:
            raise TypeMismatchError(members_problem("fields", missing, extra))
        self._check_units(batch.notes)
        arrays: list[PathArray] = []
        for name, field in self._fields.items():
            arrays += _flatten(field, batch.columns[name], batch.lists.get(name))
        self._flush_rows()
        if batch.entries:
            self._append(arrays)

    def _check_fields(self, given: Mapping[str, Any]) -> None:
        if not self._fields and not given:
            raise UsageError("entries without any field are not counted", "a field, such as x=1.0")

    def _check_units(self, notes: Mapping[str, str]) -> None:
        for path, kind in notes.items():
            name, _, rest = path.partition(".")
            field = self._fields[name].find(rest)
            known, found = unit_of(field.description if field else ""), unit_of(kind)
            if known and found and known != found:
                raise ConversionError(
                    f"values of type {found.text}] do not have the unit of the field, {known.text}]",
                    f"cast them to {known.text}]",
                    field=path,
                )

    def _fill(self, values: dict[str, Any]) -> None:
        self._check_takes()
        self._check_fields(values)
        if not self._fields:
            values = kept(values)
        self._begin_with_row(values)
        rows = self._rows
        if rows is None or rows.first != self._written():
            rows = self._rows = Rows(self._fields, self._written())
        rows.add(values)
        if len(rows) >= _ROWS_HELD:
            self._flush_rows()

    def _flush_rows(self) -> None:
        rows = self._rows
        # Rows that do not follow what was passed on are a part of it: Ctrl-C came before they were forgotten.
        if rows is not None and len(rows) and rows.first == self._written():
            arrays = _core.with_standard_floating_point(rows.arrays)
            self._guard(lambda: self._append(arrays))
        self._rows = None


def _flatten(field: _core.Field, column: Content, values: Sequence[Any] | None) -> list[PathArray]:
    """Split a column into the arrays of a field; `values` are those of the list that it was."""
    if values is None:
        return flatten(field, column)
    if has_variant(field) or not has_items(column):
        return flatten_list(field, values)
    try:
        return flatten(field, column)
    except TypeMismatchError:
        if has_map(field):
            return flatten_list(field, values)  # Awkward makes records of dictionaries
        if has_tuples(column):  # which may be items of a list, too
            with contextlib.suppress(Error):
                return flatten_list(field, values)
        raise


def build_fields(
    schema: Mapping[str, Spec],
    encodings: Mapping[str, Encoding],
    descriptions: Mapping[str, str],
    *,
    whole: bool,
) -> dict[str, _core.Field]:
    """Make the fields of a schema.

    Args:
        schema: a type for each field.
        encodings: by path.
        descriptions: by path.
        whole: this is the complete schema, so that encodings and descriptions of other fields are mistakes.

    Raises:
        SchemaError: a type or an encoding that cannot be stored.
        UsageError: an encoding or description of an unknown field.
    """
    if not isinstance(schema, Mapping):
        raise TypeMismatchError(
            f"{shown(schema)} is not a schema",
            'a type for each field, such as {"x": "float", "jets": [{"pt": "float"}]}',
        )
    fields = {name: build_field(name, spec) for name, spec in schema.items()}
    apply_encodings(
        fields, {path: chosen for path, chosen in encodings.items() if path.partition(".")[0] in fields}
    )
    for path, description in descriptions.items():
        name, _, rest = path.partition(".")
        found = fields[name].find(rest) if name in fields else None
        if found is not None:
            found.description = _description(description, path)
    unknown = [name for name in [*encodings, *descriptions] if name.partition(".")[0] not in fields]
    if unknown and schema and whole:
        raise UsageError(
            f"encodings or descriptions are given for {', '.join(unknown)}, which are not fields"
        )
    return fields


def encodings_of(given: Mapping[str, Encoding] | None) -> dict[str, Encoding]:
    """Return encodings by path; raises `TypeMismatchError` for what is no mapping of paths."""
    return _by_path(given, 'encodings={"x": "Real16"}')


def descriptions_of(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return descriptions by path; raises `TypeMismatchError` for what is no mapping of paths."""
    return _by_path(given, 'field_descriptions={"x": "in GeV"}')


def _by_path(given: Mapping[str, Any] | None, usage: str) -> dict[str, Any]:
    found = {} if given is None else mapping_of(given, usage)
    return {column_name(path, "field"): value for path, value in found.items()}


def _description(text: object, path: str) -> str:
    if not isinstance(text, str) or not is_unicode(text):
        raise TypeMismatchError(f"{shown(text)} is not a description", "a text", field=path)
    return text
