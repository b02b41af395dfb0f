"""The stored schema: a tree of fields with names, types and properties."""

from __future__ import annotations

import difflib
import fnmatch
import itertools
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field

from colonnade import _core
from colonnade._core import FieldKind, FieldRole
from colonnade.errors import NotFoundError, TypeMismatchError, UnsupportedError
from colonnade.misuse import column_name, names_of
from colonnade.notebook import folded_table, most_rows

__all__ = ["FieldInfo", "Schema", "is_wildcard", "matching"]

_PASSING = (FieldKind.collection, FieldKind.nullable, FieldKind.array, FieldKind.wrapper)


@dataclass(frozen=True, eq=False)
class FieldInfo:
    """A field of a data set."""

    id: int
    name: str
    path: str
    """The path in RNTuple's form: "jets._0.pt"."""
    type: str
    """In the writer's spelling, "std::vector<float>"; "record" or "collection" for a field without C++ type."""
    description: str
    unreadable: str
    """Why the field is unreadable; empty if it is readable."""
    projected: str | None
    """The path of the field whose columns this one shows, if it is projected."""
    encodings: tuple[str, ...]
    """The stored column types."""
    columns: tuple[int, ...]
    """Physical columns of all representations."""
    kind: FieldKind | None
    """None for an unreadable field."""
    size: int
    """Items of a fixed-size array or bitset, else 0."""
    alternatives: int
    """Number of alternatives of a variant."""
    is_tuple: bool
    """A pair or tuple: a record with numbered instead of named members."""
    parent: FieldInfo | None = field(repr=False, default=None)
    children: tuple[FieldInfo, ...] = field(repr=False, default=())
    named: tuple[tuple[str, FieldInfo], ...] = field(repr=False, default=())
    """Members of a record under the names used in programs: including those of base classes, as "Base::x" if the name
    alone is ambiguous."""

    def __getitem__(self, path: str) -> FieldInfo:
        found = self.find(path)
        if found is None:
            raise NotFoundError(f"there is no field '{path}' in '{self.path}'", field=f"{self.path}.{path}")
        return found

    def find(self, path: str) -> FieldInfo | None:
        """Find a field below this one: "_0.pt", or "pt" through collections; None if it does not exist.

        Raises:
            NotFoundError: several inherited members have the name; the message lists the candidates.
            TypeMismatchError: `path` is not a text.
        """
        if not column_name(path, "field"):
            return self
        head, _, tail = path.partition(".")
        for child in self.children:
            if child.name == head:
                return child.find(tail)
        if self.named:
            return self._find_member(path)
        for child in self.children:
            if self.kind in _PASSING:
                found = child.find(path)
                if found is not None:
                    return found
        return None

    def _find_member(self, path: str) -> FieldInfo | None:
        fitting = [(name, member) for name, member in self.named if f"{path}.".startswith(f"{name}.")]
        if fitting:
            name, member = max(fitting, key=lambda found: len(found[0]))
            return member.find(path[len(name) + 1 :])
        head = path.partition(".")[0]
        candidates = [name for name, _ in self.named if "::" in name and name.rpartition("::")[2] == head]
        if not candidates:
            return None
        raise NotFoundError(
            f"'{head}' is inherited more than once",
            f"one of: {', '.join(candidates)}",
            field=f"{self.path}.{head}",
        )

    def walk(self) -> Iterator[FieldInfo]:
        """Iterate over this field and all fields below, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def unreadable_parts(self) -> Iterator[FieldInfo]:
        """Iterate over this field if it is unreadable, else over the outermost unreadable fields below."""
        if self.unreadable:
            yield self
        else:
            for child in self.children:
                yield from child.unreadable_parts()

    def line(self) -> Iterator[FieldInfo]:
        """Return the field, and those that it is in, from the inside out."""
        info: FieldInfo | None = self
        while info is not None:
            yield info
            info = info.parent

    def members(self) -> Iterator[tuple[str, FieldInfo]]:
        """Iterate over the possible continuations of a path: members of records, also through collections."""
        if self.named:
            yield from self.named
            return
        for child in self.children:
            if self.kind in _PASSING:
                yield from child.members()
            else:
                yield child.name, child

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


class Schema(Mapping[str, FieldInfo]):
    """The fields of a data set: a mapping from names to fields that prints as a tree.

    Paths are keys, too: `schema["jets.pt"]`. Iteration is over top-level fields.
    """

    has_unreadable: bool
    """Whether some of the fields, or parts of them, cannot be read."""

    def __init__(self, descriptor: _core.Descriptor) -> None:
        if not isinstance(descriptor, _core.Descriptor):
            raise TypeMismatchError(
                "a Schema describes a data set that exists",
                'a mapping, {"x": "float"}, for create(); open(...).schema for that of a data set',
            )
        self._name = descriptor.name
        self._top, self.has_unreadable = _fields_of(descriptor)

    def __getitem__(self, path: str) -> FieldInfo:
        """Find a field by its path; raises `NotFoundError` with similar names."""
        name, _, rest = column_name(path, "field").partition(".")
        found = self._top[name].find(rest) if name in self._top else None
        if found is None:
            raise NotFoundError(f"there is no field '{path}'", self._suggest(path), field=path)
        return found

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, str) and bool(self[path])
        except NotFoundError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._top)

    def __len__(self) -> int:
        return len(self._top)

    # Those of `Mapping` look each name up as a path.
    def values(self) -> ValuesView[FieldInfo]:
        """Return the top-level fields."""
        return self._top.values()

    def items(self) -> ItemsView[str, FieldInfo]:
        """Return the top-level fields with their names."""
        return self._top.items()

    def select(self, fields: str | list[str] | tuple[str, ...] | None) -> dict[str, FieldInfo]:
        """Resolve names, paths and wildcards ("Muon_*", "jets.*") to fields, in the given order.

        None means all readable top-level fields; wildcards skip unreadable fields, too.

        Raises:
            NotFoundError: a name or wildcard matches nothing.
            TypeMismatchError: neither a name nor a list of names.
            UnsupportedError: a named field is unreadable.
        """
        if fields is None:
            return {name: info for name, info in self._top.items() if not info.unreadable}
        selected: dict[str, FieldInfo] = {}
        for name in names_of(fields, "field"):
            if is_wildcard(name) and name not in self:
                selected.update(self._match(name))
                continue
            info = self[name]
            if info.unreadable:
                raise UnsupportedError(
                    f"the type '{info.type}' cannot be read: {info.unreadable}", field=name
                )
            selected[name] = info
        return selected

    def left_out(self, fields: str | list[str] | tuple[str, ...] | None) -> dict[str, FieldInfo]:
        """Return the fields that `select` skips, by path, including members of selected ones."""
        asked: list[tuple[str, FieldInfo]] = []
        if fields is None:
            asked = list(self._top.items())
        else:
            for name in names_of(fields, "field"):
                asked += [(name, self[name])] if name in self else self._matching(name)
        found: dict[str, FieldInfo] = {}
        for path, info in asked:
            found |= {f"{path}{inner.path[len(info.path) :]}": inner for inner in info.unreadable_parts()}
        return found

    def _match(self, pattern: str) -> dict[str, FieldInfo]:
        found = self._matching(pattern)
        readable = {path: info for path, info in found if not info.unreadable}
        if not readable:
            raise NotFoundError(f"no field matches '{pattern}'", self._suggest(pattern), field=pattern)
        return readable

    def _matching(self, pattern: str) -> list[tuple[str, FieldInfo]]:
        return [found for name, info in self._top.items() for found in matching(name, info, pattern)]

    def _suggest(self, path: str) -> str:
        names = list(self._top)
        for name, info in self._top.items():
            names += [f"{name}.{member}" for member, _ in info.members()]
        close = [name for name in names if name.casefold() == path.casefold()]
        close = close or difflib.get_close_matches(path, names, n=3, cutoff=0.5)
        if close:
            return "did you mean " + " or ".join(close) + "?"
        return "fields are " + ", ".join(list(self._top)[:10]) + (", ..." if len(self._top) > 10 else "")

    def __str__(self) -> str:
        return "\n".join(line for info in self._top.values() for line in _lines(info, 0))

    def __repr__(self) -> str:
        return f"<Schema of '{self._name}': {len(self._top)} fields>\n{self}"

    def _repr_html_(self) -> str:
        tree = ((depth, info) for top in self._top.values() for depth, info in _with_depth(top, 0))
        rows = [
            ["\u00a0" * 4 * depth + info.name, info.type, info.unreadable or info.description]
            for depth, info in itertools.islice(tree, most_rows())
        ]
        total = sum(1 for top in self._top.values() for _ in _with_depth(top, 0))
        return folded_table(["field", "type", ""], rows, "fields", total)


def matching(name: str, info: FieldInfo, pattern: str) -> list[tuple[str, FieldInfo]]:
    """Return a field by its name, or its members by their paths, if they match a pattern.

    The name may have points, which a "*" of the pattern matches, too; otherwise it ends at them.
    """
    found = [(name, info)] if fnmatch.fnmatchcase(name, pattern) else []
    own, parts = name.split("."), pattern.split(".")
    rest = parts[len(own) :]
    if not rest or not all(map(fnmatch.fnmatchcase, own, parts)):
        return found
    members = [(name, info)]
    for part in rest:
        members = [
            (f"{path}.{each}", member)
            for path, above in members
            for each, member in above.members()
            if fnmatch.fnmatchcase(each, part)
        ]
    return found + members


def any_unreadable(fields: Iterable[FieldInfo]) -> bool:
    """Whether some of the fields, or parts of them, cannot be read."""
    return any(True for info in fields for _ in info.unreadable_parts())


def is_wildcard(name: str) -> bool:
    """Whether a name has letters that stand for others."""
    return any(letter in name for letter in "*?[")


def _with_depth(info: FieldInfo, depth: int) -> Iterator[tuple[int, FieldInfo]]:
    yield depth, info
    for child in info.children:
        yield from _with_depth(child, depth + 1)


def _lines(top: FieldInfo, start: int) -> Iterator[str]:
    for depth, info in _with_depth(top, start):
        notes = [f"-> {info.projected}"] if info.projected else []
        notes += [f"(cannot be read: {info.unreadable})"] if info.unreadable else []
        notes += [f"# {info.description}"] if info.description else []
        yield "  " * depth + "  ".join([f"{info.name}: {info.type}", *notes])


# ---- From the descriptor

# By the keys of their descriptors: files with thousands of fields are often opened one after the other.
_recent: dict[bytes, tuple[dict[str, FieldInfo], bool]] = {}
_most_recent = 4


def _fields_of(descriptor: _core.Descriptor) -> tuple[dict[str, FieldInfo], bool]:
    key = descriptor.schema_key()
    found = _recent.get(key)
    if found is None:
        top = {info.name: info for info in _build(descriptor)}
        found = (top, any_unreadable(top.values()))
        for oldest in list(_recent)[: len(_recent) + 1 - _most_recent]:
            _recent.pop(oldest, None)
        _recent[key] = found
    return found


def _build(descriptor: _core.Descriptor) -> list[FieldInfo]:
    builder = _Builder(descriptor)
    tops = descriptor.top_level_fields()
    return [builder.make(number, None, builder.fields[number].name, None) for number in tops]


class _Builder:
    """Makes the tree. Nothing in it refers to the descriptor, which would keep the file open."""

    def __init__(self, descriptor: _core.Descriptor) -> None:
        self.fields = descriptor.fields
        self._descriptor = descriptor
        self._encodings = [column.encoding.type for column in descriptor.columns]

    def make(self, number: int, parent: FieldInfo | None, path: str, typed: _core.Field | None) -> FieldInfo:
        descriptor, fields = self._descriptor, self.fields
        stored = fields[number]
        if typed is None and not stored.unreadable:
            typed = _core.stored_field(descriptor, number)
        ids = tuple(column for group in stored.representations for column in group)
        # What the constructor does, in a quarter of the time: a frozen class sets each attribute by a call.
        info = FieldInfo.__new__(FieldInfo)
        vars(info).update(
            id=number,
            name=stored.name,
            path=path,
            type=_type_of(stored),
            description=stored.description,
            unreadable=stored.unreadable,
            projected=None if stored.source_field is None else descriptor.path_of(stored.source_field),
            encodings=tuple(self._encodings[column] for column in ids),
            columns=ids,
            kind=typed.kind if typed else None,
            size=stored.array_size,
            alternatives=len(stored.children) if stored.role == FieldRole.variant else 0,
            is_tuple=stored.type_name.startswith(("std::pair<", "std::tuple<")),
            parent=parent,
            children=(),
            named=(),
        )
        below = {child.name: child for child in typed.children} if typed else {}
        children = tuple(
            self.make(child, info, f"{path}.{fields[child].name}", below.get(fields[child].name))
            for child in stored.children
        )
        object.__setattr__(info, "children", children)
        if stored.role == FieldRole.record and children:
            found = {below.id: below for below in _reached(children)}
            named = [(name, found[member]) for name, member in _core.members_of(descriptor, number)]
            object.__setattr__(info, "named", tuple(named))
        return info


def _reached(children: tuple[FieldInfo, ...]) -> Iterator[FieldInfo]:
    """Members of a record, including those of its base classes."""
    for child in children:
        yield child
        if child.name.startswith(":_"):
            yield from _reached(child.children)


def _type_of(stored: _core.FieldDescriptor) -> str:
    if stored.type_alias or stored.type_name:
        return stored.type_alias or stored.type_name
    return "collection" if stored.role == FieldRole.collection else "record"
