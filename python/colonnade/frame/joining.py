"""Joins of data sets that are joined themselves, as joins of a data frame one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade.errors import NotFoundError, SchemaError, StorageError, UnsupportedError, UsageError
from colonnade.reading.chain import Chain
from colonnade.reading.places import Column, Place, Places, check_place

if TYPE_CHECKING:
    from colonnade.reading.dataset import DataSet
    from colonnade.reading.joining import Joined

    from .session import Session

__all__ = ["Joining", "all_but", "missing_of"]

_ENTRY_OF_LEFT = "the number of an entry that a join within a left join found"
_SPECIAL = frozenset(_core.special_names())


class Joining:
    """Adds the data sets of several places to a graph.

    Args:
        session: of the graph.
        node: where they are added.
        places: the data sets.
        open_source: opens a data set in files.
    """

    def __init__(
        self, session: Session, node: int, places: Places, open_source: Callable[[DataSet], _core.FrameSource]
    ) -> None:
        self._session, self._graph = session, session.graph
        self._node, self._is_own = node, False
        self._places, self._open_source = places, open_source
        self._wishes: dict[Column, str] = {}
        """What columns are called if nothing else is called so."""
        self._names: dict[Column, str] = {}
        """What those of other places are called."""
        self._wanted: dict[int, dict[Column, None]] = {}

    # ---- A data frame of a joined data set

    def add_whole(self, own: Sequence[str]) -> int:
        """Join what a data set is joined to, and return the node; columns are called what its fields are called.

        Args:
            own: the columns of its first data set. A selection may have left out one whose name others have.
        """
        session = self._session
        self._check_entries(0, session.source)
        self._check_names()
        shown = self._places.shown()
        for keys in self._places.joins:
            for name in [name for name, column in shown.items() if column == Column(keys.place)]:
                if keys.is_optional:
                    session.left_out.append((name, _ENTRY_OF_LEFT))
                    del shown[name]
        self._wish({column: _as_name(name) for name, column in shown.items()})
        try:
            for column, why in self._add_joins().items():
                session.left_out += [(name, why) for name in shown if shown[name] == column]
            visible = {
                name for field, column in shown.items() for name in self._called(field, column, shown, own)
            }
        except BaseException:
            self._release()
            raise
        # A column "f" does not show those of the friend "f".
        of_friends = tuple(f"{friend}." for friend in self._places.places[0].friends)
        names = [name for name in session.source.names if not name.startswith(of_friends)]
        session.hidden = all_but(visible, [*names, *session.joined]) | all_but(
            {name for name in visible if name.startswith(of_friends)},
            set(session.source.names).difference(names),
        )
        return self._node

    def _called(
        self, field: str, column: Column, shown: Mapping[str, Column], own: Sequence[str]
    ) -> list[str]:
        """The names of the column of a field; it gets that of the field if a hidden one has it."""
        if column.place:
            name = self._names.get(column)
            if name is None or name == field or field != _as_name(field) or field in _SPECIAL:
                return [] if name is None else [name]
            return self._define(field, name, self._graph.has_column(self._node, field))
        name, path = column.name, column.path
        if not column.friend:
            return [name]
        if field == path and path in own:
            return self._define(path, name, True)
        listed = name if name in self._session.source.names else path
        if listed == name or field == path or path not in {*shown, *self._names.values()}:
            return [name, path] if listed == path else [name]
        return self._define(self._new_name(column), name, False)

    def _define(self, name: str, as_column: str, exists: bool) -> list[str]:
        definition = _core.Definition.of_text(_core.column_text(as_column))
        define = self._graph.redefine if exists else self._graph.define
        self._move_to(define(self._node, name, definition))
        self._session.joined.add(name)
        self._names[Column(-1, name)] = name
        return [name]

    def _check_names(self) -> None:
        """Refuse "f.x" that would be a column of another friend than in the data set."""
        place = self._places.places[0]
        for friend, data_set in place.friends.items():
            for path in data_set.schema:
                column = Column(0, path, friend)
                try:
                    meant = self._places.column(column.name)
                except NotFoundError:
                    continue
                if meant != column:
                    raise UnsupportedError(
                        f"a DataFrame cannot tell which friend '{column.name}' is of, as friends have friends",
                        "another name for one of the friends",
                        uri=place.first.uri,
                        data_set=place.first.name,
                    )

    # ---- A data frame that is joined with such a data set

    def add_other(
        self,
        other: Joined,
        pairs: Mapping[str, str],
        *,
        texts: Sequence[str],
        inner: bool,
        columns: str | Sequence[str] | None,
        prefix: str,
        takes_first: bool,
        table: str,
    ) -> int:
        """Join a node with a data set that is joined itself, and return the node with its columns.

        Args:
            other: the data set, whose own entries are in place 1.
            pairs: the keys: expressions here, and fields there.
            texts: the expressions, as the graph understands them.
            inner: whether entries without a match are left out.
            columns: the fields that are wanted, all but keys if None.
            prefix: of all names.
            takes_first: of several entries with the same keys.
            table: the file of the table of keys, or "".
        """
        place = 1
        there = [self._places.column(field) for field in pairs.values()]
        for key in there:
            check_place(key, place, other)
        if columns is None:
            fields = [name for name in other.field_names if name not in pairs.values()]
        else:
            fields = list(other._select(columns, warns=False))
        wishes, left_out = self._wishes_of_other(place, other, fields, inner=inner, prefix=prefix)
        self._wish(wishes)
        try:
            lacking = self._join(place, texts, there, inner, takes_first, table, [], None) | self._add_joins()
            left_out += [(wishes[column], why) for column, why in lacking.items() if column in wishes]
            if columns is not None and left_out:
                raise UnsupportedError(
                    f"a DataFrame cannot join '{left_out[0][0]}': {left_out[0][1]}", "columns= without it"
                )
        except BaseException:
            self._release()
            raise
        hidden = set(self._names.values()) - set(wishes.values())
        self._session.hidden |= hidden
        self._session.joined |= hidden
        self._session.left_out += left_out
        return self._node

    def _wishes_of_other(
        self, place: int, other: Joined, fields: Sequence[str], *, inner: bool, prefix: str
    ) -> tuple[dict[Column, str], list[tuple[str, str]]]:
        """The names of the columns of another data set, and of its entries; and fields without, with the reasons."""
        own = _as_name(other.name)
        entry = f"{prefix}entry" if prefix else f"{own}_entry"
        wishes = {Column(place): entry}
        if self._is_taken(entry):
            raise UsageError(
                f"join '{other.name}': there is already a column '{entry}'",
                'names of their own for the columns of this join: prefix="cal_"',
            )
        left_out = []
        optional = {keys.place: not inner or keys.is_optional for keys in self._places.joins}
        for field in fields:
            column = self._places.column(field)
            if not column.path and optional[column.place]:
                left_out.append((field, _ENTRY_OF_LEFT))
                continue
            name = _as_name(prefix + field)
            if not prefix and (self._is_taken(name) or name in wishes.values()):
                name = f"{own}_{name}"
            if self._is_taken(name) or name in wishes.values():
                raise UsageError(f"there is already a column '{name}'", "another prefix")
            wishes[column] = name
        return wishes, left_out

    # ---- Both

    def _wish(self, wishes: Mapping[Column, str]) -> None:
        self._wishes = dict(wishes)
        for column in [*wishes, *(here for keys in self._places.joins for here, _ in keys.pairs)]:
            self._wanted.setdefault(column.place, {})[column] = None

    def _add_joins(self) -> dict[Column, str]:
        """Add all joins, and return the columns that cannot be joined, with the reasons."""
        lacking: dict[Column, str] = {}
        for keys in self._places.joins:
            texts = []
            for here, _ in keys.pairs:
                if here in lacking:
                    raise UnsupportedError(f"a DataFrame cannot use the key '{here.name}': {lacking[here]}")
                texts.append(_core.column_text(self._name_of(here)))
            lacking |= self._join(
                keys.place,
                texts,
                [there for _, there in keys.pairs],
                keys.inner,
                keys.takes_first,
                keys.table,
                keys.sections,
                keys.position,
            )
        return lacking

    def _join(
        self,
        place: int,
        texts: Sequence[str],
        there: Sequence[Column],
        inner: bool,
        takes_first: bool,
        table: str,
        sections: Sequence[tuple[int, int]],
        position: int | None,
    ) -> dict[Column, str]:
        source, reasons = self._source(place)
        self._check_entries(place, source)
        if sections:
            texts = [*texts, self._names[Column(position)] if position else "rdfentry_"]
        join = _core.Join(
            source,
            [key.name for key in there],
            takes_first,
            table,
            list(sections),
            fills=missing_of(self._places.places[place].first) == "fill",
        )
        if table:
            self._session.joins.append((join, table))
        lacking: dict[Column, str] = {}
        columns = []
        for column in self._wanted.get(place, {}):
            if not column.path:
                continue
            try:
                is_there, why = source.has(column.name), "a data frame cannot join it"
            except SchemaError as error:  # no type holds the values of all files
                is_there, why = False, error.problem
            if not is_there:
                lacking[column] = reasons.get(column.path, why)
                continue
            self._names[column] = self._new_name(column)
            columns.append((self._names[column], column.name))
        entry = self._names[Column(place)] = self._new_name(Column(place))
        wanted = _core.JoinedColumns(list(texts), entry, columns, inner)
        self._move_to(self._graph.join(self._node, join, wanted))
        self._session.joined |= {entry, *(name for name, _ in columns)} if self._places.has_frame else set()
        return lacking

    def _source(self, number: int) -> tuple[_core.FrameSource, dict[str, str]]:
        place: Place = self._places.places[number]
        source = self._open_source(place.first)
        reasons = dict(source.left_out)
        if place.friends:
            friends = [(name, self._open_source(each)) for name, each in place.friends.items()]
            for _, each in friends:
                reasons |= dict(each.left_out)
            source = _core.friends_source(source, friends)
        return source, reasons

    def _check_entries(self, place: int, source: _core.FrameSource) -> None:
        """Parts of chains are known by their entries."""
        known = self._places.places[place].first
        if known.num_entries != source.entries and any(keys.sections for keys in self._places.joins):
            raise StorageError(
                f"a file of '{known.name}' was replaced after it was opened",
                "open the data sets again",
                uri=known.uri,
            )

    def _name_of(self, column: Column) -> str:
        return self._names.get(column, column.name)

    def _new_name(self, column: Column) -> str:
        wish = self._wishes.get(column, "")
        used = {*self._names.values(), *(name for other, name in self._wishes.items() if other != column)}
        title = self._places.places[column.place].first.name
        longer = _as_name(f"{title}_{wish or column.name or 'entry'}")
        name, count = wish or longer, 1
        while name in used or self._is_taken(name):
            name, count = longer if count == 1 else f"{longer}_{count}", count + 1
        return name

    def _is_taken(self, name: str) -> bool:
        return self._graph.is_taken(self._node, name)

    def _move_to(self, node: int) -> None:
        self._release()
        self._node, self._is_own = node, True

    def _release(self) -> None:
        if self._is_own:
            self._graph.release(self._node)
        self._is_own = False


def missing_of(data_set: Any) -> str:
    """Return what `missing=` a chain was opened with."""
    return data_set._missing if isinstance(data_set, Chain) else "error"


def _as_name(text: str) -> str:
    """A text as the name of a column in expressions."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", text or "joined")
    return f"_{word}" if word[0].isdigit() else word


def all_but(shown: Iterable[str], names: Iterable[str]) -> set[str]:
    """Return the names that are not among these, nor of members of them."""
    return {name for name in names if not any(f"{name}.".startswith(f"{each}.") for each in shown)}
