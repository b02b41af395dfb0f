"""Attribute sets of a data set that is being written: values that belong to ranges of its entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.arrays.columns import flatten
from colonnade.errors import UsageError, redacted
from colonnade.locks import ProcessLock
from colonnade.misuse import column_name, mapping_of, whole_number
from colonnade.schema.spec import Spec, infer

from .filling import TakingTurns, build_fields, give_up_failed
from .rows import Rows
from .sources import to_batch

if TYPE_CHECKING:
    from colonnade.arrays.columns import PathArray
    from colonnade.arrays.lazy import Content

    from .creating import DataSetWriter
    from .parallel import FillContext

__all__ = [
    "AttributeAppender",
    "AttributeRange",
    "AttributeSetWriter",
    "ContextAttributes",
    "SharedAttributeSet",
    "adding",
    "find_or_make",
]


class AttributeRange:
    """A range of entries that begins when this is made, and ends at `commit`, or with the block.

    If the block is left by an exception, nothing is added.
    """

    def __init__(self, owner: _Ranges, first: int, values: dict[str, Any]) -> None:
        self._owner, self._committed = owner, False
        self.first = first
        """The first entry."""
        self.values = values
        """The values for the entries; may be changed until the range is committed."""

    def commit(self) -> None:
        """End the range after the last entry given to the writer."""
        if self._committed:
            raise UsageError("the range is already committed", "begin another one")
        self._owner.add(self.values, self.first, self._owner._entries())
        self._committed = True

    def __enter__(self) -> AttributeRange:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._committed:
            self.commit()

    def __repr__(self) -> str:
        state = "committed" if self._committed else "open"
        return f"<AttributeRange of '{self._owner.name}' from entry {self.first} on, {state}>"


_VALUES = 'a value for each field: {"run": 1}'


class _Ranges(ABC):
    """Takes values for ranges of its owner's entries."""

    def __init__(self, owner: DataSetWriter | AttributeAppender | FillContext, name: str) -> None:
        self._writer, self._name = owner, name

    @property
    def name(self) -> str:
        """Its name in the data set."""
        return self._name

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """Number of ranges added so far."""

    def range(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> AttributeRange:
        """Begin a range at the next entry.

        Args:
            values: a value for each field; they may also be set later, in the `values` of the result.
            more: likewise.

        Returns:
            A context manager: the entries given to the writer within its block are the range.
        """
        self._check_takes()
        given = {} if values is None else mapping_of(values, _VALUES)
        return AttributeRange(self, self._entries(), {**given, **more})

    def add(self, values: Mapping[str, Any], first: int, last: int) -> None:
        """Add values for the entries from `first` to `last` (exclusive).

        Raises:
            UsageError: the entries were not given to the writer.
            TypeMismatchError, ConversionError: a value does not fit its field, or has no name. Nothing is added then.
            SchemaError: the first values, which determine the fields, have a type that cannot be stored.
        """
        self._check_takes()
        values = mapping_of(values, _VALUES)
        first, last = whole_number("first", first), whole_number("last", last)
        entries = self._entries()
        if not 0 <= first <= last <= entries:
            raise self._writer._misuse(
                f"the range from entry {first} to {last} reaches beyond the {entries} entries so far",
                "write the entries first",
            )
        self._writer._guard(lambda: self._add(values, first, last))

    def _check_takes(self) -> None:
        self._writer._check_takes()

    def _entries(self) -> int:
        return self._writer.num_entries

    @abstractmethod
    def _add(self, values: Mapping[str, Any], first: int, last: int) -> None:
        """Take a row."""


def _schema_of(values: Mapping[str, Any]) -> dict[str, Spec]:
    return {name: infer(column, name) for name, column in to_batch([dict(values)]).columns.items()}


class AttributeSetWriter(_Ranges):
    """An attribute set being written. Made by `DataSetWriter.attributes`; ends with the writer."""

    _writer: DataSetWriter | AttributeAppender

    def __init__(
        self, writer: DataSetWriter | AttributeAppender, name: str, schema: Mapping[str, Spec] | None
    ) -> None:
        super().__init__(writer, name)
        self._fields: dict[str, _core.Field] = {}
        self._made = False
        self._rows: Rows | None = None
        self._ranges: list[tuple[int, int]] = []
        self._handed_on = 0
        if schema is not None:
            self._start(schema)
        elif isinstance(writer, AttributeAppender):
            self._fields = writer._guard(lambda: writer._stored_fields(name))
        self._make()

    @property
    def field_names(self) -> list[str]:
        """Names of the fields, empty until they are known."""
        return list(self._fields)

    @property
    def num_rows(self) -> int:
        """Number of ranges added so far."""
        return self._writer._guard(self._count)

    # ---- Inside

    def _count(self) -> int:
        self._settle()
        return self._handed_on + len(self._ranges)

    def _add(self, values: Mapping[str, Any], first: int, last: int) -> None:
        self._check_takes()
        if not self._fields:
            self._start(_schema_of(values))
            self._make()
        self._settle()
        if self._rows is None:
            self._rows = Rows(self._fields)
        self._ranges.append((first, last))
        self._rows.add(values)

    def _extend(self, ranges: list[tuple[int, int]], columns: Mapping[str, Content]) -> None:
        """Take rows as a column for each field, about entries that the data set has."""
        arrays = [each for name, field in self._fields.items() for each in flatten(field, columns[name])]
        self._flush()
        core = self._writer._writer
        if core is not None and ranges:
            self._writer._guard(lambda: core.append_attributes(self._name, ranges, arrays))
            self._handed_on += len(ranges)

    def _settle(self) -> None:
        """Complete a call that an exception has ended, also one of a signal's handler.

        Rows without ranges were passed on, and a range without a row was refused.
        """
        count = len(self._rows) if self._rows is not None else 0
        if self._ranges or not count:
            del self._ranges[count:]
        else:
            self._handed_on, self._rows = self._handed_on + count, None

    def _start(self, schema: Mapping[str, Spec]) -> None:
        self._fields = self._writer._guard(lambda: build_fields(schema, {}, {}, whole=True))
        if not self._fields:
            raise self._writer._misuse(f"the attribute set '{self._name}' has no fields", "set one first")

    def _make(self) -> None:
        core = self._writer._writer
        if core is not None and self._fields and not self._made:
            fields = list(self._fields.values())
            self._writer._guard(lambda: core.add_attribute_set(self._name, fields))
            self._made = True

    def _flush(self) -> None:
        """Pass on collected rows, except those for entries that were not passed on themselves."""
        self._make()
        self._settle()
        core = self._writer._writer
        if core is None or self._rows is None or not self._ranges:
            return
        if max(last for _, last in self._ranges) > core.num_entries:
            return
        arrays = self._rows.arrays()
        self._writer._guard(lambda: core.append_attributes(self._name, self._ranges, arrays))
        self._settle()

    def __repr__(self) -> str:
        return f"<AttributeSetWriter '{self._name}' of '{self._writer.name}': {self.num_rows} ranges>"


def _types(fields: Mapping[str, _core.Field]) -> dict[str, str]:
    return {name: field.type_alias or field.type_name or field.kind.name for name, field in fields.items()}


class SharedAttributeSet:
    """An attribute set of a data set that several threads write: each adds rows through its own `FillContext`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[str, _core.Field] = {}
        self.core: _core.ParallelAttributeSet | None = None
        self._mutex = ProcessLock()

    def make(
        self, core: _core.ParallelWriter, schema: Mapping[str, Spec], *, must_agree: bool = True
    ) -> None:
        """Create it with these fields, unless another thread has."""
        with self._mutex:
            fields = build_fields(schema, {}, {}, whole=True)
            if self.core is not None:
                if must_agree and _types(fields) != _types(self.fields):
                    raise UsageError(
                        f"the attribute set '{self.name}' already exists, with other fields",
                        "the same schema in all contexts",
                    )
                return
            if not fields:
                raise UsageError(f"the attribute set '{self.name}' has no fields", "set one first")
            self.core = core.add_attribute_set(self.name, list(fields.values()))
            self.fields = fields


class ContextAttributes(_Ranges):
    """The rows that one thread adds to an attribute set. Made by `FillContext.attributes`.

    Ranges are of the context's own entries, counted from 0. If clusters of other contexts come between these, a range
    becomes several rows.
    """

    _writer: FillContext

    def __init__(self, context: FillContext, shared: SharedAttributeSet, core: _core.ParallelWriter) -> None:
        super().__init__(context, shared.name)
        self._shared, self._core = shared, core
        # Until the context has passed on these entries: a list of one range, which is empty afterwards, and its values.
        self._waiting: list[tuple[list[tuple[int, int]], list[PathArray]]] = []
        self._handed_on = 0

    @property
    def num_rows(self) -> int:
        """Number of ranges added through this context so far."""
        self._settle()
        return self._handed_on + len(self._waiting)

    def _add(self, values: Mapping[str, Any], first: int, last: int) -> None:
        if self._shared.core is None:
            self._shared.make(self._core, _schema_of(values), must_agree=False)
        row = Rows(self._shared.fields)
        row.add(values)
        self._waiting.append(([(first, last)], row.arrays()))

    def _flush(self) -> None:
        """Pass on the rows for entries that were passed on themselves."""
        written = self._writer._written()
        self._settle()
        for ranges, arrays in self._waiting:
            if ranges[0][1] <= written:
                assert self._shared.core is not None
                self._writer._context.add_attributes(self._shared.core, ranges, arrays)
        self._settle()

    def _settle(self) -> None:
        """Forget the rows that were passed on, also by a call that an exception has ended."""
        left = [each for each in self._waiting if each[0]]
        self._handed_on, self._waiting = self._handed_on + len(self._waiting) - len(left), left

    def __repr__(self) -> str:
        return f"<ContextAttributes '{self._name}' of '{self._writer.name}': {self.num_rows} ranges>"


class AttributeAppender(TakingTurns):
    """Adds attribute sets to an existing data set, and rows to its existing sets. Made by `add_attributes`.

    Used as a context manager it commits at the end of the block; if the block is left by an exception, nothing changes.
    The one that `before_commit` of `copy` gets adds to a data set that is committed afterwards, with what was added.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        begin: Callable[[], _core.AttributeAppender | _core.Writer],
        *,
        is_there: bool = False,
    ) -> None:
        """`is_there`: the data set is committed, and may have attribute sets."""
        super().__init__(uri, name)
        self._is_there = is_there
        self._sets: dict[str, AttributeSetWriter] = {}
        give_up_failed(uri, name)
        self._writer = self._guard(begin)
        self._remember()

    @property
    def num_entries(self) -> int:
        """Number of entries of the data set."""
        return self._writer.num_entries

    def attributes(self, name: str, schema: Mapping[str, Spec] | None = None) -> AttributeSetWriter:
        """Add an attribute set, or rows to an existing one; see `DataSetWriter.attributes`.

        Without a schema, a set that the data set has keeps its fields.
        """
        self._check_open()
        return self._guard(lambda: find_or_make(self, self._sets, name, schema))

    def close(self) -> None:
        """Commit and close; does nothing if closed already.

        Raises:
            UsageError: closing it failed before, and cannot be repeated (see `DataSetWriter.close`).
        """
        self._close(self._finish)

    def abort(self) -> None:
        """Close without adding anything."""
        self._closed = True
        self._writer.abandon()

    def _stored_fields(self, name: str) -> dict[str, _core.Field]:
        """Find the fields of a set that the data set has; none if it lacks the set."""
        reader = _core.open(self._uri, self._name, _core.ReadOptions()) if self._is_there else None
        if reader is None or name not in reader.attribute_sets():
            return {}
        descriptor = reader.attribute_set(name).descriptor
        (user_data,) = (field for field in descriptor.fields if field.name == "_userData")
        fields = [_core.stored_field(descriptor, number) for number in user_data.children]
        return {field.name: field for field in fields}

    def _may_close_again(self) -> bool:
        return self._writer.may_close_again

    def _finish(self) -> None:
        if self._may_close_again():
            self._writer.go_on()
        for each in self._sets.values():
            each._flush()
        self._writer.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<AttributeAppender of '{self._name}' in '{redacted(self._uri)}', {state}>"


def adding(
    add: Callable[[AttributeAppender], object], uri: str, name: str
) -> Callable[[_core.AttributeAppender], None]:
    """Return a function that calls `add` before a data set is committed, for `_core`."""

    def call(core: _core.AttributeAppender) -> None:
        with AttributeAppender(uri, name, lambda: core) as out:
            add(out)

    return call


def find_or_make(
    writer: DataSetWriter | AttributeAppender,
    made: dict[str, AttributeSetWriter],
    name: str,
    schema: Mapping[str, Spec] | None,
) -> AttributeSetWriter:
    """Return the set of a name; makes it on first use."""
    if column_name(name, "set") not in made:
        made[name] = AttributeSetWriter(writer, name, schema)
    elif schema is not None:
        raise writer._misuse(f"the attribute set '{name}' already exists", "leave out the schema")
    return made[name]
