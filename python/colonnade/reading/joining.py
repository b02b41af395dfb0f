"""Joins and friends: a data set with fields of another one beside its own."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from colonnade import _core
from colonnade.annotations import checked_methods
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import NotFoundError, SchemaError, TypeMismatchError, UnsupportedError, UsageError
from colonnade.located import Located
from colonnade.locks import ProcessLock
from colonnade.misuse import name_pairs, path_text
from colonnade.schema.fields import FieldInfo, Schema, any_unreadable, matching

from .chain import Chain, files_of
from .dataset import DataSet, Fields
from .metrics import ReadMetrics
from .steps import common_steps, entry_range, parse_size, steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .attributes import AttributeSets

__all__ = ["How", "Joined", "Way", "as_word", "befriend", "chained", "join", "shown_fields", "ways_of"]

How: TypeAlias = Literal["inner", "left"]
Rows: TypeAlias = "range | NDArray[np.int64]"
"""Entries: a stretch of them, or any, in any order."""


@checked_methods
class Joined(DataSet):
    """A data set whose entries have fields of another one, too. Made by `DataSet.join` and `DataSet.with_friends`.

    It is read like any `DataSet`. Of the other side only what belongs to the entries that are read is opened and read,
    in blocks of some thousand entries, which stay in memory up to half of the machine's.
    """

    def __init__(
        self, first: DataSet, other: DataSet, match: _Match, shown: _Shown, _selection: Fields = None
    ) -> None:
        self._first, self._other, self._match, self._shown = first, other, match, shown
        self._schema: _JoinedSchema
        Located.__init__(self, first.uri, first.name)
        self._settings = first._settings
        self._reader = None
        self._selection = _selection
        self._attributes: AttributeSets | None = None
        self._kept: NDArray[np.int64] | None = None
        self._lock = ProcessLock()
        self._is_open = True
        self._schema = _JoinedSchema(first, other, match, shown)
        self._has_unreadable = self._schema.has_unreadable

    # ---- What it is

    @property
    def num_entries(self) -> int:
        """Number of entries. Of an inner join, all keys of both sides are read to know it."""
        return self._num_entries

    @property
    def _num_entries(self) -> int:  # type: ignore[override]
        return self._first.num_entries if not self._match.inner else len(self._rows_with_match())

    @property
    def files(self) -> list[str]:
        """The files of both sides."""
        return [*self._first.files, *self._other.files]

    @property
    def descriptor(self) -> _core.Descriptor:
        """Raises `UnsupportedError`: the data sets that were joined have one each."""
        raise UnsupportedError("a join has no descriptor", "the descriptor of each data set", uri=self._uri)

    @property
    def attributes(self) -> AttributeSets:
        """The attribute sets of the first data set, unless entries without a match are left out."""
        if self._match.inner:
            raise UnsupportedError(
                "attribute sets describe ranges of entries, and an inner join leaves entries out",
                "how='left', or those of the data set itself",
                uri=self._uri,
            )
        return self._first.attributes

    @property
    def metrics(self) -> ReadMetrics:
        """What was asked of the storage of both sides so far."""
        both = (self._first.metrics, self._other.metrics)
        total = {
            each.name: sum(getattr(one, each.name) for one in both)
            for each in dataclasses.fields(ReadMetrics)
            if each.name != "cache"
        }
        return ReadMetrics(**total, cache="; ".join(filter(None, (one.cache for one in both))))

    # ---- Reading

    def select(self, fields: Fields) -> Joined:
        """Return the same join with only these fields."""
        names = list(self._select(fields))
        return Joined(self._first, self._other, self._match, self._shown, names)

    def entry_texts(self, start: int, stop: int, fields: Fields = None) -> Iterator[tuple[int, str]]:
        """Iterate over the numbers and texts of entries."""
        start, stop = entry_range(start, stop, self.num_entries)
        selected = self._select(fields)
        for number in range(start, stop):
            row = int(self._rows(number, number + 1)[0])
            entry = int(self._match.find(range(row, row + 1))[0])
            texts = []
            for name, info in selected.items():
                side = self._schema.side_of(info)
                at = row if side is self._first else entry
                text = str(entry) if side is None else _value_text(side, at, self._schema.own(info))
                texts.append(f'"{name}": {text}')
            yield number, "{" + ", ".join(texts) + "}"

    def verify(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Read, check and decode every page of both sides; see `DataSet.verify`."""
        return self._first.verify(progress) + self._other.verify(progress)

    def read_through(self, fields: Fields = None, *, step_size: int | str = "256 MiB") -> int:
        """Read fields once and keep nothing; returns the bytes of their arrays."""
        selected = self._select(fields)
        return sum(
            sum(layout.nbytes for layout in self._layouts(selected, first, last)[0].values())
            for first, last in self._steps(selected, step_size, 0, self._num_entries)
        )

    def __repr__(self) -> str:
        count = len(self._select(None, warns=False))
        return f"<Joined {self._first!r} with {self._other!r}: {count} fields>"

    # ---- Life

    def close(self) -> None:
        """Let go of the table of keys. The data sets that were joined stay open."""
        self._is_open = False
        self._match.close()

    def __enter__(self) -> Joined:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Joined, (self._first, self._other, self._match, self._shown, self._selection)

    # ---- Inside

    def _rows_with_match(self) -> NDArray[np.int64]:
        with self._lock:
            if self._kept is None:
                kept = []
                for begin in range(0, self._first.num_entries, _LOOKED_UP_AT_ONCE):
                    end = min(begin + _LOOKED_UP_AT_ONCE, self._first.num_entries)
                    kept.append(np.flatnonzero(np.asarray(self._match.find(range(begin, end))) >= 0) + begin)
                self._kept = np.concatenate(kept) if kept else np.empty(0, np.int64)
            return self._kept

    def _rows(self, start: int, stop: int) -> Rows:
        """Entries of the first data set."""
        if not self._match.inner or start >= stop:
            return range(start, max(start, stop))
        rows = self._rows_with_match()[start:stop]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return range(int(rows[0]), int(rows[-1]) + 1)
        return rows

    def _assemble(
        self, selected: dict[str, FieldInfo], start: int, stop: int, builder: Any, ahead: int = 0
    ) -> dict[str, Any]:
        if self._match.inner and ahead:
            ahead = int(self._rows_with_match()[ahead - 1]) + 1
        return self._assemble_rows(selected, self._rows(start, stop), builder, ahead)

    def _assemble_at(
        self, selected: dict[str, FieldInfo], entries: NDArray[np.int64], builder: Any
    ) -> dict[str, Any]:
        rows = self._rows_with_match()[entries] if self._match.inner else entries
        return self._assemble_rows(selected, rows, builder)

    def _assemble_rows(
        self, selected: dict[str, FieldInfo], rows: Rows, builder: Any, ahead: int = 0
    ) -> dict[str, Any]:
        if not self._is_open:
            raise self._misuse("the join is closed")
        here, there = self._of_side(selected, self._first), self._of_side(selected, self._other)
        if here and isinstance(rows, range) and self._match.by_entry:
            self._other._expect(there, rows.start, max(rows.stop, ahead))
        looks_up = len(here) < len(selected)
        # Keys that were read by themselves would take the place of what is on its way for the next step.
        wanted = {**here, **self._match.keys()} if looks_up else here
        contents = _assemble_of(self._first, wanted, rows, builder, ahead) if wanted else {}
        if looks_up:
            entries = self._match.find(rows, contents) if len(rows) else np.empty(0, dtype=np.int64)
            contents |= self._assemble_there(there, entries, builder, ahead)
            for name in selected:
                if name not in contents:
                    contents[name] = builder.numbers(np.asarray(entries, dtype=np.int64))
        return {name: contents[name] for name in selected}

    def _expect(self, selected: dict[str, FieldInfo], start: int, stop: int) -> None:
        if self._match.inner:
            return
        here = self._of_side(selected, self._first)
        keys = self._match.keys() if len(here) < len(selected) else {}
        self._first._expect({**here, **keys}, start, stop)
        if self._match.by_entry:
            self._other._expect(self._of_side(selected, self._other), start, stop)

    def _of_side(self, selected: dict[str, FieldInfo], side: DataSet) -> dict[str, FieldInfo]:
        schema = self._schema
        return {name: schema.own(info) for name, info in selected.items() if schema.side_of(info) is side}

    def _assemble_there(
        self, selected: dict[str, FieldInfo], entries: Rows, builder: Any, ahead: int
    ) -> dict[str, Any]:
        if not selected:
            return {}
        if isinstance(entries, range) or not self._match.optional:
            return _assemble_of(self._other, selected, entries, builder, ahead)
        offsets = np.zeros(len(entries) + 1, dtype=np.int64)
        np.cumsum(entries >= 0, out=offsets[1:])
        found = _assemble_of(self._other, selected, entries[entries >= 0], builder)
        return {name: builder.option(offsets, content) for name, content in found.items()}

    def _steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, start: int, stop: int
    ) -> Iterator[tuple[int, int]]:
        if not isinstance(step_size, str):
            yield from steps((), step_size, start, stop)
            return
        here, there = self._of_side(selected, self._first), self._of_side(selected, self._other)
        half = max(parse_size(step_size) // 2, 1)
        if self._match.by_entry:
            sides = [(side, of) for side, of in ((self._first, here), (self._other, there)) if of]
            share = str(half) if len(sides) > 1 else step_size
            parts = [side._steps(of, share, start, stop) for side, of in sides]
            yield from common_steps(parts, start) if parts else steps((), step_size, start, stop)
            return
        most = max(stop - start, 1)
        if there and self._match.reads_all_keys and (size := self._other._entry_bytes(there)):
            step_size, most = str(half), min(most, max(int(half / size), 1))
        here = here or self._first._select(self._match.fields_of_first, warns=False)
        for first, last in self._steps_of_first(here, step_size, start, stop):
            yield from steps((), most, first, last)

    def _entry_bytes(self, selected: dict[str, FieldInfo]) -> float:
        sides = (self._first, self._other)
        return sum(side._entry_bytes(of) for side in sides if (of := self._of_side(selected, side)))

    def _steps_of_first(
        self, here: dict[str, FieldInfo], step_size: str, start: int, stop: int
    ) -> Iterator[tuple[int, int]]:
        """Give steps in entries here that fit by what is read of the first data set."""
        if not self._match.inner:
            yield from self._first._steps(here, step_size, start, stop)
            return
        rows = self._rows_with_match()
        if start >= stop:
            return
        begin = start
        for _, last in self._first._steps(here, step_size, int(rows[start]), int(rows[stop - 1]) + 1):
            end = int(np.searchsorted(rows, last))
            if end > begin:
                yield begin, end
            begin = end

    def _cluster_steps(
        self, selected: dict[str, FieldInfo], step_size: int | str, stop: int
    ) -> Iterator[tuple[int, int]]:
        yield from self._steps(selected, step_size, 0, stop)


_LOOKED_UP_AT_ONCE = 1 << 22


def _value_text(side: DataSet, entry: int, info: FieldInfo) -> str:
    """The text of one field of an entry; -1: there is none."""
    if entry < 0:
        return "null"
    top = info
    while top.parent is not None:
        top = top.parent
    name = top.name + info.path[len(top.path) :]
    _, whole = next(iter(side.entry_texts(entry, entry + 1, name)))
    return whole[len(f'{{"{name}": ') : -1]


def _assemble_of(
    side: DataSet, selected: dict[str, FieldInfo], rows: Rows, builder: Any, ahead: int = 0
) -> dict[str, Any]:
    if isinstance(rows, range):
        return side._assemble(selected, rows.start, rows.stop, builder, ahead)
    assert isinstance(side, Chain | Joined)
    return side._assemble_at(selected, rows, builder)


# ---- Names


@dataclasses.dataclass(frozen=True)
class _Shown:
    """What fields of the other side are called here."""

    fields: Mapping[str, str]
    """By their names here."""
    entry: str = ""
    """Of the number of the entry there; empty: not shown."""
    qualifier: str = ""
    """"f" if "f.x" is the field x of the other side, whatever it is called."""
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Names here of fields of the first side that are called otherwise there."""


class _JoinedSchema(Schema):
    """The fields of both sides, each with a place of its own here; those of a left join as optional ones."""

    def __init__(self, first: DataSet, other: DataSet, match: _Match, shown: _Shown) -> None:
        self._name = first.name
        self._origins: dict[FieldInfo, FieldInfo] = {}
        self._sides: dict[FieldInfo, DataSet | None] = {}
        self._top: dict[str, FieldInfo] = {}
        for name, info in shown_fields(first).items():
            self._adopt(shown.renamed.get(name, name), info, first)
        for here, there in shown.fields.items():
            self._adopt(here, other.schema[there], other, optional=match.optional)
        if shown.entry:
            self._adopt(shown.entry, _entry_field(shown.entry), None)
        # For each friend, what its fields are called here.
        self.qualified: dict[str, dict[str, str]] = {
            friend: {there: shown.renamed.get(here, here) for there, here in names.items()}
            for friend, names in _friends(first).items()
        }
        if shown.qualifier:
            self.qualified[shown.qualifier] = {there: here for here, there in shown.fields.items()}
        self.has_unreadable = any_unreadable(self._top.values())

    def _adopt(self, name: str, own: FieldInfo, side: DataSet | None, *, optional: bool = False) -> None:
        made: dict[FieldInfo, FieldInfo] = {}
        info = _copied(own, None, made)
        object.__setattr__(info, "name", name)
        if optional and not own.unreadable and not own.type.startswith("std::optional<"):
            object.__setattr__(info, "type", f"std::optional<{own.type}>")
        self._top[name] = info
        self._sides[info] = side
        self._origins |= {copy: original for original, copy in made.items()}

    def __getitem__(self, path: str) -> FieldInfo:
        found = _find(path, self._top)
        if found is None:
            qualifier, _, rest = path.partition(".")
            names = self.qualified.get(qualifier, {})
            found = _find(rest, {there: self._top[here] for there, here in names.items()})
        return super().__getitem__(path) if found is None else found

    def _matching(self, pattern: str) -> list[tuple[str, FieldInfo]]:
        """Each field once: by its own name, or by that with the friend if the pattern asks for it ("f.*")."""
        names = {info: [name] for name, info in self._top.items()}
        for qualifier, fields in self.qualified.items():
            for there, here in fields.items():
                names[self._top[here]].append(f"{qualifier}.{there}")
        found: list[tuple[str, FieldInfo]] = []
        for info, known in names.items():
            matches = (matching(name, info, pattern) for name in known)
            found += next((each for each in matches if each), [])
        return found

    def split(self, path: str) -> tuple[FieldInfo, str]:
        """The field here that a path begins with, and the rest of the path."""
        names = dict(self._top)
        for qualifier, fields in self.qualified.items():
            for there, here in fields.items():
                names.setdefault(f"{qualifier}.{there}", self._top[here])
        found = _name_in(path, names)
        if found is None:
            raise NotFoundError(f"there is no field '{path}'", field=path)
        return names[found], path[len(found) + 1 :]

    def side_of(self, info: FieldInfo) -> DataSet | None:
        """The data set that a field is of; None for the number of the entry."""
        while info.parent is not None:
            info = info.parent
        return self._sides[info]

    def own(self, info: FieldInfo) -> FieldInfo:
        """The field as its data set has it."""
        return self._origins[info]


def shown_fields(data_set: DataSet) -> Mapping[str, FieldInfo]:
    """The fields that it shows, by their names."""
    return data_set.schema if data_set._selection is None else data_set._select(None, warns=False)


def _friends(data_set: DataSet) -> dict[str, dict[str, str]]:
    """For each friend, what its fields are called, if they are shown."""
    schema, fields = data_set.schema, shown_fields(data_set)
    qualified = schema.qualified if isinstance(schema, _JoinedSchema) else {}
    return {
        friend: {there: here for there, here in names.items() if here in fields}
        for friend, names in qualified.items()
    }


def _copied(own: FieldInfo, parent: FieldInfo | None, made: dict[FieldInfo, FieldInfo]) -> FieldInfo:
    copy = dataclasses.replace(own, parent=parent)
    made[own] = copy
    children = tuple(_copied(child, copy, made) for child in own.children)
    object.__setattr__(copy, "children", children)
    object.__setattr__(copy, "named", tuple((name, made[member]) for name, member in own.named))
    return copy


def _find(path: str, fields: Mapping[str, FieldInfo]) -> FieldInfo | None:
    """The field at a path below one of these, whose names may have points."""
    name = _name_in(path, fields)
    return None if name is None else fields[name].find(path[len(name) + 1 :])


def _name_in(path: str, fields: Mapping[str, FieldInfo]) -> str | None:
    """The name of the field that has the one at a path."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in fields and fields[name].find(path[len(name) + 1 :]) is not None:
            return name
    return None


def _entry_field(name: str) -> FieldInfo:
    return FieldInfo(
        id=-1,
        name=name,
        path=name,
        type="std::int64_t",
        description="the entry on the other side, -1 for none",
        unreadable="",
        projected=None,
        encodings=(),
        columns=(),
        kind=_core.FieldKind.scalar,
        size=0,
        alternatives=0,
        is_tuple=False,
    )


# ---- Which entry belongs to which


class _Match:
    """The same entry."""

    by_entry = True
    inner = False
    optional = False
    fields_of_first: Fields = None
    reads_all_keys = True
    """Whether all files of the other side are opened anyway."""

    def keys(self) -> dict[str, FieldInfo]:
        """The fields of the first side without which no entries are found."""
        return {}

    def find(self, rows: Rows, contents: Mapping[str, Any] | None = None) -> Rows:
        """Find the entries of the other side that belong to entries of the first one; -1: none.

        Args:
            rows: entries of the first side.
            contents: the fields of `keys()` in these entries, if they have been read.
        """
        return rows

    def close(self) -> None:
        """Let go of what takes memory."""


class _ByKeys(_Match):
    """The entry with the same keys."""

    by_entry = False

    def __init__(
        self, first: DataSet, other: DataSet, pairs: dict[str, str], how: How, takes_first: bool, table: str
    ) -> None:
        self._first, self._other, self._pairs = first, other, pairs
        self._how: How = how
        self._takes_first, self._table_path = takes_first, table
        self._table: _core.KeyTable | None = None
        self._lock = ProcessLock()
        self.inner, self.optional = how == "inner", how == "left"
        self.fields_of_first = list(pairs)
        self.reads_all_keys = not table
        for here in pairs:
            _check_key(first, here)
        may_lack = [_check_key(other, there) for there in pairs.values()]
        self._may_lack = any(may_lack)

    def keys(self) -> dict[str, FieldInfo]:
        return self._first._select(list(self._pairs), warns=False)

    def find(self, rows: Rows, contents: Mapping[str, Any] | None = None) -> NDArray[np.int64]:
        with self._lock:
            if self._table is None:
                self._table = self._make_table()
        paths = list(self._pairs)
        read = (
            _read_keys(self._first, paths, rows) if contents is None else [contents[path] for path in paths]
        )
        keys, lacks = _as_keys(read)
        if self._may_lack:
            keys.append((False, np.zeros(len(rows), dtype=np.uint64)))
        found = self._table.find(keys)
        if lacks is not None:
            found[lacks] = -1
        return found

    def close(self) -> None:
        self._table = None

    def __reduce__(self) -> tuple[Any, ...]:
        how = (self._pairs, self._how, self._takes_first, self._table_path)
        return _ByKeys, (self._first, self._other, *how)

    def _make_table(self) -> _core.KeyTable:
        names = list(self._pairs.values())
        source = ""
        if self._table_path:
            source = self._other._open_chain().index() if isinstance(self._other, Chain) else ""
            if not source:
                raise UsageError(
                    "a table of keys can be saved only for data sets in files", "join without `table`"
                )
        everything = range(self._other.num_entries)
        return _core.KeyTable(
            names,
            self._takes_first,
            self._table_path,
            source,
            lambda: self._keys_there(_read_keys(self._other, names, everything)),
        )

    def _keys_there(self, contents: Sequence[Any]) -> list[tuple[bool, NDArray[np.uint64]]]:
        """The keys of the other side.

        Where some may be missing, there is one more: 0, or another number for each entry that lacks a key. So it is
        the same as no other entry, and nothing finds it.
        """
        keys, lacks = _as_keys(contents)
        if self._may_lack:
            count = self._other.num_entries
            lacks = np.zeros(count, dtype=np.bool_) if lacks is None else lacks
            keys.append((False, np.where(lacks, np.cumsum(lacks), 0).astype(np.uint64)))
        return keys


def _read_keys(side: DataSet, paths: Sequence[str], rows: Rows) -> list[Any]:
    from colonnade.arrays.awkward import AwkwardBuilder

    contents = _assemble_of(side, side._select(list(paths), warns=False), rows, AwkwardBuilder())
    return [contents[path] for path in paths]


def _as_keys(
    contents: Sequence[Any],
) -> tuple[list[tuple[bool, NDArray[np.uint64]]], NDArray[np.bool_] | None]:
    """The keys of entries, as 64 bits; and which entries lack one, None if no entry does."""
    keys: list[tuple[bool, NDArray[np.uint64]]] = []
    lacks: NDArray[np.bool_] | None = None
    for content in contents:
        values, missing = _numbers(content)
        if missing is not None:
            lacks = missing if lacks is None else lacks | missing
        is_signed = values.dtype.kind == "i"
        wide = values.astype(np.int64).view(np.uint64) if is_signed else values.astype(np.uint64)
        keys.append((is_signed, np.ascontiguousarray(wide)))
    return keys, lacks if lacks is not None and lacks.any() else None


def _numbers(content: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The values of an Awkward or Arrow array of numbers, and where they are missing."""
    if hasattr(content, "null_count"):
        missing = content.is_null().to_numpy(zero_copy_only=False)
        present = content.drop_null().to_numpy(zero_copy_only=False)
    elif content.is_option:
        option = content.to_IndexedOptionArray64()
        missing = option.index.data < 0
        present = option.content.data[option.index.data[~missing]]
    else:
        return np.asarray(content.data), None
    values = np.zeros(len(missing), dtype=present.dtype)
    values[~missing] = present
    return values, missing


def _check_key(side: DataSet, path: str) -> bool:
    """Check that a key is an integer, and return whether it may be missing."""
    from colonnade.arrays.awkward import AwkwardBuilder

    info = side._select(path, warns=False)[path]
    content = side._assemble({path: info}, 0, 0, AwkwardBuilder())[path]
    may_lack = content.is_option
    while content.is_option:
        content = content.content
    if not content.is_numpy or content.data.dtype.kind not in "iub":
        raise TypeMismatchError(
            f"the key '{path}' is of type {info.type}; keys are integers", uri=side.uri, data_set=side.name
        )
    return bool(may_lack)


class _OfParts(_Match):
    """The matches of joins that were chained, each among its own entries of both chains."""

    by_entry = False

    def __init__(self, joins: Sequence[Joined]) -> None:
        self._matches = [each._match for each in joins]
        self._begins = _ends([each._first for each in joins])
        self._shifts = _ends([each._other for each in joins])
        self._begins_in_files = _ends([_innermost(each) for each in joins])
        self.inner, self.optional = self._matches[0].inner, self._matches[0].optional
        self.fields_of_first = self._matches[0].fields_of_first
        self.reads_all_keys = all(each.reads_all_keys for each in self._matches)

    def find(self, rows: Rows, contents: Mapping[str, Any] | None = None) -> NDArray[np.int64]:
        wanted = np.asarray(rows, dtype=np.int64)
        found = np.full(len(wanted), -1, dtype=np.int64)
        places = np.searchsorted(self._begins, wanted, side="right") - 1
        for place in np.unique(places):
            inside = places == place
            own = np.asarray(self._matches[place].find(_as_range(wanted[inside] - self._begins[place])))
            found[inside] = np.where(own < 0, -1, own + self._shifts[place])
        return found

    def close(self) -> None:
        for each in self._matches:
            each.close()


@dataclasses.dataclass(frozen=True)
class Way:
    """How entries of a data set are joined to those of another one."""

    pairs: Mapping[str, str]
    """The keys: fields of the first data set, and those there."""
    takes_first: bool
    table: str
    """The file of the table of keys; empty: none."""
    begins: tuple[int, int] = (0, 0)
    """The first entry on both sides, of a part of a chain; here in the files, before inner joins left any out."""


def _innermost(data_set: DataSet) -> DataSet:
    """The first of all data sets that are joined, which is in files."""
    while isinstance(data_set, Joined):
        data_set = data_set._first
    return data_set


def ways_of(joined: Joined) -> list[Way]:
    """Return how a data set is joined by keys; of a chain of joins, each part."""
    return _ways(joined._match, (0, 0))


def _ways(match: _Match, begins: tuple[int, int]) -> list[Way]:
    if isinstance(match, _ByKeys):
        return [Way(match._pairs, match._takes_first, match._table_path, begins)]
    assert isinstance(match, _OfParts)
    return [
        way
        for each, here, there in zip(match._matches, match._begins_in_files, match._shifts, strict=False)
        for way in _ways(each, (begins[0] + int(here), begins[1] + int(there)))
    ]


def _ends(sides: Sequence[DataSet]) -> NDArray[np.int64]:
    """The first entry of each side in a chain of them, and the number of entries."""
    return np.cumsum([0, *(each.num_entries for each in sides)])


def _as_range(rows: NDArray[np.int64]) -> Rows:
    """Entries as a stretch if they are one, which is read faster."""
    if len(rows) and (np.diff(rows) == 1).all():
        return range(int(rows[0]), int(rows[-1]) + 1)
    return rows


# ---- Making


def join(
    first: DataSet,
    other: DataSet,
    on: str | Sequence[str] | Mapping[str, str],
    *,
    how: How,
    columns: str | Sequence[str] | None,
    prefix: str,
    duplicates: Literal["error", "first"],
    table: str | os.PathLike[str] | None,
) -> Joined:
    """See `DataSet.join`."""
    pairs = name_pairs(on, "field")
    if not pairs:
        raise UsageError("a join needs at least one key")
    here, there = _sides(first, other)
    match = _ByKeys(
        here, there, pairs, how, duplicates == "first", _core.absolute_name(path_text(table)) if table else ""
    )
    own = as_word(there.name)
    entry = f"{prefix}entry" if prefix else f"{own}_entry"
    taken = _taken(here)
    if _find(entry, taken):
        raise UsageError(f"there is already a field '{entry}'", "another prefix")
    if columns is None:
        chosen = [name for name in there.field_names if name not in pairs.values()]
    else:
        chosen = list(there._select(columns, warns=False))
    shown: dict[str, str] = {}
    for name in chosen:
        known = prefix + name
        if not prefix and (known == entry or _find(known, taken) or known in shown):
            known = f"{own}_{name}"
        if known == entry or _find(known, taken) or known in shown:
            raise UsageError(f"there is already a field '{known}'", "another prefix")
        shown[known] = name
    return Joined(here, there, match, _Shown(shown, entry))


def befriend(first: DataSet, name: str, other: DataSet) -> Joined:
    """See `DataSet.with_friends`."""
    here, there = _sides(first, other)
    taken, friends = _taken(here), _friends(here)
    if not name or "." in name or name in taken or friends.get(name):
        raise UsageError(f"'{name}' cannot be the name of a friend", "an unused name without dots")
    if there.num_entries != here.num_entries:
        raise SchemaError(
            f"the friend '{name}' has {there.num_entries} entries, and '{here.name}' has {here.num_entries}",
            "join them by keys: data_set.join(other, on='event')",
            uri=there.uri,
            data_set=there.name,
        )
    shown = {(f"{name}.{field}" if _find(field, taken) else field): field for field in there.field_names}
    # A name that two friends have is that of neither.
    renamed = {
        short: f"{friend}.{field}"
        for friend, names in friends.items()
        for field, short in names.items()
        if field == short and f"{name}.{field}" in shown
    }
    return Joined(here, there, _Match(), _Shown(shown, qualifier=name, renamed=renamed))


def chained(joins: Sequence[Joined], first: DataSet, other: DataSet) -> Joined:
    """Make one of joins, one after the other, given the chains of their sides."""
    taken = _taken(first)
    names: dict[str, str] = {}
    for each in joins:
        alike = _kind(each) == _kind(joins[0])
        for here, there in each._shown.fields.items():
            alike = alike and names.setdefault(there, here) == here and _find(here, taken) is None
        if not alike:
            raise SchemaError(
                "the parts of the chain are joined in different ways, or call the same field differently",
                "the same how=, columns= and prefix= for all",
                uri=each.uri,
                data_set=each.name,
            )
    shown = dataclasses.replace(
        joins[0]._shown,
        fields={here: there for there, here in names.items() if there in other.schema},
        renamed={name: to for each in joins for name, to in each._shown.renamed.items()},
    )
    by_entry = all(each._match.by_entry for each in joins)
    return Joined(_chain_of(first), _chain_of(other), _Match() if by_entry else _OfParts(joins), shown)


def as_word(name: str) -> str:
    """A name as a part of names of fields."""
    return re.sub(r"\W", "_", name or "joined")


def _kind(joined: Joined) -> tuple[bool, bool, str, str]:
    match, shown = joined._match, joined._shown
    return match.inner, match.optional, shown.entry, shown.qualifier


def _taken(data_set: DataSet) -> dict[str, FieldInfo]:
    """The fields that it shows, by all their names, and by those that several friends have."""
    taken = dict(shown_fields(data_set))
    for friend, names in _friends(data_set).items():
        for there, here in names.items():
            taken[f"{friend}.{there}"] = taken[here]
            taken.setdefault(there, taken[here])
    return taken


def _sides(first: DataSet, other: DataSet) -> tuple[Chain | Joined, Chain | Joined]:
    """Both as data sets of which any entries can be read, and which are two even if one is joined with itself."""
    here, there = _chain_of(first), _chain_of(other)
    return here, there.select(None) if there is here else there


def _chain_of(data_set: DataSet) -> Chain | Joined:
    if isinstance(data_set, Chain | Joined):
        return data_set
    if not isinstance(data_set, DataSet):
        raise TypeMismatchError(f"{data_set!r} is not a data set", "what colonnade.open gives")
    if type(data_set) is not DataSet:
        raise UnsupportedError(
            "arrays of TTrees have no joins and friends",
            "those of a DataFrame, or import_tree, which makes a data set of a TTree",
            uri=data_set.uri,
        )
    return Chain(files_of(data_set), _selection=data_set._selection, **data_set._settings)
