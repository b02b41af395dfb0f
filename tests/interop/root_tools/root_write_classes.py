"""Writes random classes with ROOT: declared in its interpreter, in random encodings, with fields that come late.

The same seed gives the same file. `write_classes(seed, path)` returns what ROOT reads from it, `write_version(seed,
path, version)` from a file with the first or the second version of the same classes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import root_bridge
import root_dump
import root_write
import values
from root_write import Field
from values import INTEGERS, generate

DATASET = "Random"
_NUMBERS = {
    "float": ["SplitReal32", "Real32"],
    "double": ["SplitReal64", "Real64"],
    **{
        f"std::{u}int{bits}_t": [f"SplitInt{bits}".replace("Int", f"{u.upper()}Int"), f"{u.upper()}Int{bits}"]
        for u in ("", "u")
        for bits in (16, 32, 64)
    },
}
# How programs spell types.
_SPELLINGS = {
    "std::int8_t": "signed char",
    "std::uint8_t": "UChar_t",
    "std::int16_t": "Short_t",
    "std::uint32_t": "unsigned",
    "std::int64_t": "Long64_t",
    "std::uint64_t": "std::size_t",
    "double": "Double_t",
    "bool": "Bool_t",
}
_INDICES = ["SplitIndex64", "Index64", "SplitIndex32", "Index32"]
_COLLECTIONS = ("std::vector<", "ROOT::VecOps::RVec<", *(f"{kind}<" for kind in root_bridge.SET_KINDS))


class Classes:
    """Random enumerations and classes: bases, arrays, names of types, members that are not stored, versions.

    `changes`: what makes another version of the classes; then no member is a variant, since ROOT gives one that a
    file lacks its first alternative, and merging no value."""

    def __init__(
        self,
        rng: random.Random,
        namespace: str,
        *,
        variants: bool = True,
        changes: random.Random | None = None,
    ) -> None:
        self._rng, self._namespace = rng, namespace
        self._variants, self._changes = variants, changes
        self.members: dict[str, list[str]] = {}
        self.enums: dict[str, list[int]] = {}
        self._ancestors: dict[str, set[str]] = {}
        self._versioned: set[str] = set()
        lines = [self._enum(f"E{number}") for number in range(rng.randint(0, 2))]
        lines += [self._class(number) for number in range(rng.randint(1, 4))]
        self.code = f"namespace {namespace} {{\n" + "\n".join(lines) + "\n}"

    def _enum(self, name: str) -> str:
        kind = self._rng.choice(list(INTEGERS))
        bits, signed = INTEGERS[kind]
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        least = f"{low + 1} - 1" if low else "0"
        self.enums[f"{self._namespace}::{name}"] = [low, high]
        suffix = "" if signed else "u"
        return f"enum class {name} : {kind} {{ low = {least}, high = {high}{suffix} }};"

    def _class(self, number: int) -> str:
        rng, bases, seen = self._rng, [], set()
        for base in rng.sample(list(self.members), min(len(self.members), rng.choice([0, 0, 1, 2]))):
            if not seen & self._ancestors[base]:  # an object has each base once
                bases.append(base)
                seen |= self._ancestors[base]
        count = rng.randint(0 if bases else 1, 5)
        body = [self._member(f"c{number}m{k}", k) for k in range(count)]  # not hidden by a derived class
        if self._changes:
            body = self._changed(body, number)
        kinds = [*bases, *(kind for _, kind in body)]
        lines = [line for line, _ in body]
        name = f"{self._namespace}::C{number}"
        if (
            rng.random() < 0.3 or self._versioned & seen
        ):  # ROOT takes a class for the base whose macro it inherits
            lines.append(f"ClassDefInlineNV(C{number}, {rng.randint(1, 9)});")
            self._versioned.add(name)
        self._ancestors[name], self.members[name] = seen | {name}, kinds
        derived = f" : {', '.join(bases)}" if bases else ""
        return f"struct C{number}{derived} {{\n" + "\n".join(lines) + "\n};"

    def _member(self, name: str, number: int) -> tuple[str, str]:
        """Its declaration, and the name of its type."""
        rng, kind = self._rng, self.random_type(copyable=True)
        spelled = _SPELLINGS.get(kind, kind) if rng.random() < 0.5 else kind
        if kind in INTEGERS and rng.random() < 0.3:
            line, kind = f"{spelled} {name}[{number + 1}] = {{}};", f"std::array<{kind},{number + 1}>"
        elif kind in ("float", "bool", "std::string") and rng.random() < 0.3:
            line, kind = f"{spelled} {name}[2][3] = {{}};", f"std::array<std::array<{kind},3>,2>"
        elif kind == "double" and rng.random() < 0.4:
            line, kind = f"Double32_t {name} = 0;", "Double32_t"
        elif rng.random() < 0.2:
            line = f"using T{number} = {spelled}; T{number} {name}{{}};"
        else:
            line = f"{spelled} {name}{{}};"
        return line + (f"\nint skipped{number} = 3; //!" if rng.random() < 0.15 else ""), kind

    def _changed(self, body: list[tuple[str, str]], number: int) -> list[tuple[str, str]]:
        """Some members are gone, others have come, in another order."""
        rng = self._changes
        body = [each for each in body if rng.random() < 0.7]
        for k in range(rng.choice([0, 1, 2])):
            kind = rng.choice(
                ["float", "std::string", "std::vector<std::int32_t>", "std::map<std::int32_t,bool>"]
            )
            body.append((f"{kind} c{number}new{k}{{}};", kind))
        rng.shuffle(body)
        return body

    def random_type(self, depth: int = 2, *, copyable: bool = False) -> str:
        """A type that may have these classes in it."""
        own = [*self.members, *self.enums]
        chosen = values.random_type(self._rng, self._rng.randint(0, depth), classes=False, copyable=copyable)
        while (
            "optional" in chosen or "unordered" in chosen or ("variant" in chosen and not self._variants)
        ):  # ROOT has no optionals in classes, and an order of its own
            chosen = values.random_type(self._rng, depth - 1, classes=False, copyable=copyable)
        if not own or self._rng.random() < 0.5:
            return chosen
        one = self._rng.choice(own)
        return self._rng.choice(
            [one, f"std::vector<{one}>", f"std::array<{one},2>", f"std::pair<{one},{chosen}>"]
        )


class _Writing:
    def __init__(self, rng: random.Random, classes: Classes) -> None:
        self._rng, self._classes = rng, classes
        self.count = rng.choice([1, 5, 20, 60])
        self.switched: list[tuple[str, str]] = []
        """Parts of fields with two representations."""

    def field(self, name: str) -> tuple[Field, Any]:
        """A random field with values, and that of ROOT."""
        field = self._field(name, 2)
        field.values = [self._value(field) for _ in range(self.count)]
        made = root_write.build(field)
        for path, part in [("", made), *_parts(made)]:
            columns = self._columns(str(part.GetTypeName()), bool(part.GetNRepetitions()))
            if columns:
                root_bridge.load().colonnade_test.set_representations(made, path, columns)
            if len(columns) > 1:
                self.switched.append((name, path))
        return field, made

    def _field(self, name: str, depth: int) -> Field:
        choice = self._rng.random() if depth else 1
        if choice < 0.15:
            return Field(
                name, members=[self._field(f"u{k}", depth - 1) for k in range(self._rng.randint(1, 3))]
            )
        if choice < 0.3:
            return Field(name, item=self._field("_0", depth - 1))
        return Field(name, self._classes.random_type(3))

    def _value(self, field: Field) -> Any:
        if field.members is not None:
            return [self._value(member) for member in field.members]
        if field.item is not None:
            return [self._value(field.item) for _ in range(self._rng.choice([0, 1, 3]))]
        return generate(field.type, self._rng)

    def _columns(self, kind: str, is_array: bool) -> list[list[str]]:
        rng = self._rng
        if rng.random() < 0.4 or is_array:
            return []
        if kind in _NUMBERS:
            return [[each] for each in rng.sample(_NUMBERS[kind], rng.choice([1, 2]))]
        if kind == "std::string":
            return [[each, "Char"] for each in rng.sample(_INDICES, rng.choice([1, 2]))]
        if kind.startswith(_COLLECTIONS):
            return [[each] for each in rng.sample(_INDICES, rng.choice([1, 2]))]
        return []


def _parts(field: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for part in field.GetConstSubfields():
        below = f"{path}.{part.GetFieldName()}".lstrip(".")
        yield below, part
        yield from _parts(part, below)


def _declare(classes: Classes) -> None:
    if not root_bridge.load().gInterpreter.Declare(classes.code):
        raise RuntimeError(f"ROOT does not take these classes:\n{classes.code}")
    root_bridge.ensure_dictionaries([kind for kinds in classes.members.values() for kind in kinds])
    values.CLASSES.update(classes.members)
    values.ENUMS.update(classes.enums)


def write_version(seed: int, path: str | Path, version: int) -> dict[str, Any]:
    """Write objects of the first or second version of the classes of a seed; see write_classes().

    A class has one version in a process."""
    rng, later = random.Random(seed), random.Random(f"{seed} {version}")
    classes = Classes(rng, f"version{seed}", variants=False, changes=later if version == 2 else None)
    _declare(classes)
    shapes = ["{}", "std::vector<{}>", "std::map<std::int32_t,{}>", "std::variant<std::int32_t,{}>"]
    shapes += ["std::vector<std::pair<std::array<{},2>,float>>"]
    types = [rng.choice(shapes).format(rng.choice(list(classes.members))) for _ in range(3)]
    root_bridge.ensure_dictionaries(types)
    count = later.randint(1, 20)
    fields = [
        Field(f"f{k}", kind, [generate(kind, later) for _ in range(count)]) for k, kind in enumerate(types)
    ]
    clusters = later.sample(range(1, count + 1), count // 4)
    out = root_write.writer(fields)
    out.recreate(DATASET, str(path), root_write.options(Compression=later.choice([0, 404, 505])))
    root_write.fill_all(out, fields, clusters)
    out.close()
    return {DATASET: root_dump.dump(path, DATASET)}


def write_classes(seed: int, path: str | Path) -> dict[str, Any]:
    """Write the file of a seed and return what ROOT reads from it: {dataset: {...}} as in tests/fixtures/expected."""
    ROOT, rng = root_bridge.load(), random.Random(seed)
    classes = Classes(rng, f"random{seed}")
    _declare(classes)
    writing = _Writing(rng, classes)
    out, fields = ROOT.colonnade_test.FixtureWriter(""), []
    for number in range(rng.randint(1, 5)):
        field, made = writing.field(f"f{number}")
        fields.append(field)
        out.add_field(ROOT.std.move(made))
    page = rng.choice([16, 64, 4096])
    settings = {"Compression": rng.choice([0, 101, 404, 505]), "InitialUnzippedPageSize": page}
    out.recreate(
        DATASET, str(path), root_write.options(**settings, MaxUnzippedPageSize=page * rng.choice([1, 8]))
    )
    late = {rng.randrange(writing.count): f"late{number}" for number in range(rng.choice([0, 1, 2]))}
    for entry in range(writing.count):
        if entry in late:
            field, made = writing.field(late[entry])
            fields.append(field)
            out.begin_update()
            out.extend(ROOT.std.move(made), "")
            out.commit_update()
        out.fill(root_write.entry_bytes(fields, entry))
        if rng.random() < 0.15:
            out.commit_cluster(rng.random() < 0.3)
            for name, part in writing.switched:
                out.use_representation(name, part, rng.randrange(2))
    out.close()
    return {DATASET: root_dump.dump(path, DATASET)}
