"""Joins of joins, friends and chains of them in any order: random ones against dictionaries of rows."""

from __future__ import annotations

import itertools
import pickle
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from join_cases import write
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame

QUIET = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", "5")
        yield


# ---- What is joined to what


class Shape(NamedTuple):
    """A data set in files; or two that are joined, or are friends."""

    number: int
    kind: str
    """"files", "inner", "left" or "friends"."""
    sides: tuple[Shape, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    parts: int = 1
    """More than one: so many of them are chained."""
    key_type: str = ""

    def key_fields(self) -> list[str]:
        if self.kind == "files":
            return [f"k{self.number}", f"m{self.number}"]
        return [name for side in self.sides for name in side.key_fields()]

    def own_key_fields(self) -> list[str]:
        """Those that no join by keys brought."""
        if self.kind == "files":
            return self.key_fields()
        sides = self.sides if self.kind == "friends" else self.sides[:1]
        return [name for side in sides for name in side.own_key_fields()]

    def fields_left_out(self, may_lack: bool = False) -> list[str]:
        """Those that a data frame does not show: numbers of entries of joins that may lack an entry themselves."""
        if self.kind == "files":
            return []
        first, other = self.sides
        if self.kind == "friends":
            return first.fields_left_out(may_lack) + other.fields_left_out(may_lack)
        own = [f"S{other.first_number()}_entry"] if may_lack else []
        return own + first.fields_left_out(may_lack) + other.fields_left_out(may_lack or self.kind == "left")

    def renumbered(self, first: int) -> Shape:
        """The same with other numbers, and so with other names."""

        def move(name: str) -> str:
            return f"{name[0]}{int(name[1:]) + first}"

        return self._replace(
            number=self.number + first,
            sides=tuple(side.renumbered(first) for side in self.sides),
            keys=tuple((move(here), move(there)) for here, there in self.keys),
        )

    def chains(self) -> bool:
        """Whether joins by keys are chained."""
        by_keys = self.kind in ("inner", "left") and self.parts > 1
        return by_keys or any(side.chains() for side in self.sides)

    def first_number(self) -> int:
        return self.sides[0].first_number() if self.sides else self.number

    def is_for_frames(self, keeps_entries: bool = False) -> bool:
        if self.kind == "files":
            return True
        first, other = self.sides
        if self.kind == "friends":
            return first.is_for_frames(True) and other.is_for_frames(True)
        if self.kind == "inner" and keeps_entries:
            return False
        own = other.own_key_fields()
        return (
            all(there in own for _, there in self.keys)
            and first.is_for_frames(keeps_entries)
            and other.is_for_frames(True)
        )


@st.composite
def shapes(draw: st.DrawFn, depth: int = 3) -> Shape:
    counter = itertools.count()

    def tree(depth: int, sized: bool, is_inside: bool) -> Shape:
        """`sized`: with a given number of entries; `is_inside`: of what is joined to another data set."""
        has_inner = not sized and (not is_inside or draw(st.integers(0, 5)) == 0)
        kinds = ["left", "left", "friends", *(["inner"] if has_inner else []), "files"]
        kind = draw(st.sampled_from(kinds)) if depth else "files"
        if kind == "files":
            return Shape(next(counter), kind, key_type=draw(st.sampled_from(["int8", "uint16", "int64"])))
        parts = 1 if sized else draw(st.sampled_from([1, 1, 2, 3]))
        is_friends = kind == "friends"
        sides = tree(depth - 1, sized, is_inside or is_friends), tree(depth - 1, is_friends, True)
        keys: dict[str, str] = {}
        for _ in range(0 if is_friends else draw(st.integers(1, 2))):
            is_own = draw(st.integers(0, 7)) > 0
            there = sides[1].own_key_fields() if is_own else sides[1].key_fields()
            keys[draw(st.sampled_from(sides[0].key_fields()))] = draw(st.sampled_from(there))
        return Shape(-1, kind, sides, tuple(keys.items()), parts)

    return tree(draw(st.integers(1, depth)), False, False)


class Rows(NamedTuple):
    """What a data set has, and the numbers of entries of what was joined, by the names of the entries."""

    rows: list[dict[str, Any]]
    others: dict[str, int]


class Built:
    """Files with random content, and the data sets of a shape."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.folder, self.count = random.Random(seed), folder, itertools.count()

    def files(self, shape: Shape, entries: int | None) -> tuple[Any, Rows]:
        n = entries
        if n is None:
            n = self.random.choice([0, *range(1, 16)])
        keys = [self.random.randrange(5) for _ in range(n)]
        maybe = [self.random.choice([None, *range(5)]) for _ in range(n)]
        cuts = [self.random.randint(0, n) for _ in range(self.random.randrange(3))]
        name, stem = f"S{shape.number}", f"f{next(self.count)}_"
        values = [100 * next(self.count) + i for i in range(n)]
        columns = {
            f"k{shape.number}": np.array(keys, dtype=shape.key_type),
            f"m{shape.number}": ak.Array([*maybe, 0, None])[:n],
            f"v{shape.number}": np.array(values, dtype=np.int64),
            f"t{shape.number}": ak.Array([*map(str, values), ""])[:n],
        }
        kinds = [f"std::{shape.key_type}_t", "std::optional<std::int32_t>", "std::int64_t", "std::string"]
        files = write(self.folder, stem, name, columns, dict(zip(columns, kinds, strict=True)), cuts)
        lists = {field: ak.to_list(column) for field, column in columns.items()}
        return colonnade.open(files), Rows([{f: lists[f][i] for f in lists} for i in range(n)], {})

    def one(self, shape: Shape, entries: int | None) -> tuple[Any, Rows]:
        if shape.kind == "files":
            return self.files(shape, entries)
        first, here = self.all(shape.sides[0], entries)
        wanted = len(here.rows) if shape.kind == "friends" else None
        other, there = self.all(shape.sides[1], wanted)
        others = here.others | there.others
        if shape.kind == "friends":
            pairs = zip(here.rows, there.rows, strict=True)
            return first.with_friends({f"F{shape.sides[1].first_number()}": other}), Rows(
                [a | b for a, b in pairs], others
            )
        entry = f"S{shape.sides[1].first_number()}_entry"
        found: dict[Any, int] = {}
        for number, row in enumerate(there.rows):
            key = tuple(row[name] for _, name in shape.keys)
            if None not in key:
                found.setdefault(key, number)
        names = list(_fields(shape.sides[1]))
        taken_keys = {name for _, name in shape.keys}
        rows = []
        for row in here.rows:
            number = found.get(tuple(row[name] for name, _ in shape.keys), -1)
            if number < 0 and shape.kind == "inner":
                continue
            match = there.rows[number] if number >= 0 else {}
            rows.append(row | {n: match.get(n) for n in names if n not in taken_keys} | {entry: number})
            if set(match) - taken_keys - set(names):
                raise AssertionError("a field is not known")
        joined = first.join(other, on=dict(shape.keys), how=shape.kind, columns=names, duplicates="first")
        for row in rows:
            match = there.rows[row[entry]] if row[entry] >= 0 else {}
            row.update({n: match.get(n) for n in taken_keys})
        return joined, Rows(rows, others | {entry: len(there.rows)})

    def all(self, shape: Shape, entries: int | None = None) -> tuple[Any, Rows]:
        parts = [self.one(shape, entries) for _ in range(shape.parts)]
        if len(parts) == 1:
            return parts[0]
        chain = colonnade.open([data_set for data_set, _ in parts])
        rows: list[dict[str, Any]] = []
        sums = dict.fromkeys(parts[0][1].others, 0)
        for _, part in parts:
            for row in part.rows:
                moved = {e: row[e] + sums[e] for e in sums if row.get(e) is not None and row[e] >= 0}
                rows.append(row | moved)
            sums = {e: sums[e] + part.others[e] for e in sums}
        return chain, Rows(rows, sums)


def _fields(shape: Shape) -> list[str]:
    if shape.kind == "files":
        return [f"{letter}{shape.number}" for letter in "kmvt"]
    first, other = shape.sides
    entry = [f"S{other.first_number()}_entry"] if shape.kind != "friends" else []
    return [*_fields(first), *_fields(other), *entry]


def check_arrays(data_set: Any, expected: list[dict[str, Any]], names: list[str]) -> None:
    assert sorted(data_set.field_names) == sorted(names)
    assert data_set.num_entries == len(expected)
    assert data_set.arrays(names).to_list() == expected
    assert data_set.to_arrow(names).to_pylist() == expected


@QUIET
@given(shape=shapes(), seed=st.integers(0, 2**32), data=st.data())
def test_random_compositions(shape: Shape, seed: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data_set, reference = Built(seed, Path(folder)).all(shape)
        names = _fields(shape)
        expected = [{name: row[name] for name in names} for row in reference.rows]
        if data.draw(st.booleans(), label="pickled"):
            data_set = pickle.loads(pickle.dumps(data_set))
        check_arrays(data_set, expected, names)
        step = data.draw(st.integers(1, 9), label="step")
        assert [row for each in data_set.iterate(names, step_size=step) for row in each.to_list()] == expected
        event(f"for frames: {shape.is_for_frames()}, chains: {shape.chains()}, rows: {bool(expected)}")
        if not shape.is_for_frames():
            with pytest.raises(colonnade.UnsupportedError, match="a DataFrame cannot"):
                DataFrame(data_set)
            return
        shown = [name for name in names if name not in shape.fields_left_out()]
        rows = [{name: row[name] for name in shown} for row in expected]
        frame = DataFrame(data_set, threads=2)
        assert sorted(frame.column_names) == sorted(shown)
        assert frame.to_arrow(shown).to_pylist() == rows
        some = data.draw(st.permutations(shown), label="some")[:2]
        far = DataFrame(data_set, executor=Shuffled(0), npartitions=3)
        assert far.to_arrow(some).to_pylist() == [{name: row[name] for name in some} for row in rows]


def test_parts_of_chains_begin_where_they_do_in_files() -> None:
    """An inner join leaves entries out, and a data frame counts them."""
    files = [Shape(number, "files", key_type="int8") for number in range(3)]
    inner = Shape(-1, "inner", (files[0], files[1]), (("k0", "k1"),), parts=3)
    shape = Shape(-1, "left", (inner, files[2]), (("m0", "k2"),), parts=2)
    for seed in range(4):
        with tempfile.TemporaryDirectory() as folder:
            data_set, reference = Built(seed, Path(folder)).all(shape)
            assert DataFrame(data_set).to_arrow().to_pylist() == [
                {name: row[name] for name in DataFrame(data_set).column_names} for row in reference.rows
            ]


@QUIET
@given(
    left=shapes(depth=1),
    right=shapes(depth=2),
    how=st.sampled_from(["inner", "left"]),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_random_frames_joined_with_compositions(
    left: Shape, right: Shape, how: Any, seed: int, data: st.DataObject
) -> None:
    right = right.renumbered(100)
    names = _fields(right)
    first, other = f"S{left.first_number()}", f"S{right.first_number()}"
    on = {
        data.draw(st.sampled_from(left.key_fields())): data.draw(st.sampled_from(right.key_fields()))
        for _ in range(data.draw(st.integers(1, 2)))
    }
    with tempfile.TemporaryDirectory() as folder:
        built = Built(seed, Path(folder))
        here, rows = built.all(left)
        there, others = built.all(right)
        if not left.is_for_frames():
            return
        frame = DataFrame(here, threads=2)
        own = [*right.own_key_fields()]
        if not right.is_for_frames(True) or not all(key in own for key in on.values()):
            with pytest.raises(colonnade.UnsupportedError, match="a DataFrame cannot"):
                frame.join(there, on=on, how=how, duplicates="first")
            assert sorted(frame.column_names) == sorted(set(_fields(left)) - set(left.fields_left_out()))
            return
        found: dict[Any, int] = {}
        for number, row in enumerate(others.rows):
            if None not in (key := tuple(row[name] for name in on.values())):
                found.setdefault(key, number)
        shown = [name for name in names if name not in {*right.fields_left_out(how == "left"), *on.values()}]
        expected = []
        for row in rows.rows:
            number = found.get(tuple(row[name] for name in on), -1)
            if number >= 0 or how == "left":
                match = others.rows[number] if number >= 0 else {}
                expected.append(
                    {f"v{left.first_number()}": row[f"v{left.first_number()}"], f"{other}_entry": number}
                    | {name: match.get(name) for name in shown}
                )
        assert first != other
        joined = frame.join(there, on=on, how=how, duplicates="first")
        own_columns = set(_fields(left)) - set(left.fields_left_out())
        assert sorted(joined.column_names) == sorted({*own_columns, *shown, f"{other}_entry"})
        wanted = [f"v{left.first_number()}", f"{other}_entry", *shown]
        assert joined.to_arrow(wanted).to_pylist() == expected
        far = DataFrame(here, executor=Shuffled(1), npartitions=3).join(
            there, on=on, how=how, duplicates="first"
        )
        assert far.to_arrow(wanted).to_pylist() == expected


# ---- Names


@pytest.fixture
def sides(tmp_path: Path) -> dict[str, Any]:
    """Data sets of three entries, whose values tell the data set and the field."""
    for name, fields in {"a": "kxy", "b": "kxy", "c": "kyz"}.items():
        with colonnade.create(tmp_path / f"{name}.root", name) as writer:
            values = {field: np.arange(3) + 10 * ord(field) + 10_000 * ord(name) for field in fields}
            writer.extend(values | {"k": np.arange(3)})
    return {name: colonnade.open(tmp_path / f"{name}.root") for name in "abc"}


def columns_by_field(data_set: Any) -> dict[str, list[Any]]:
    """The columns of a data frame, by the fields that have the same values."""
    frame = DataFrame(data_set)
    fields = {field: data_set[field].to_list() for field in data_set.field_names}
    columns = {name: frame.take(name).value.tolist() for name in frame.column_names}
    assert all(columns[name] == fields[name] for name in columns if name in fields)
    assert sorted(map(str, columns.values())) == sorted(map(str, fields.values()))
    return columns


def test_names_of_compositions(sides: dict[str, Any]) -> None:
    a, b, c = sides.values()
    left: Any = {"on": "k", "how": "left"}
    assert "g_y" in columns_by_field(
        a.with_friends({"g": b.join(c, **left, prefix="z_")}).join(c, **left, prefix="g_")
    )
    # What a join brought is called as the field of a later friend: that one keeps the name of the friend.
    names = columns_by_field(a.select("k").join(b, **left, columns="x").with_friends({"h": b}))
    assert {"x", "h.x", "h.k"} <= set(names)
    assert {"c_y", "f.y"} <= set(columns_by_field(a.with_friends({"f": b}).join(c, **left)))
    # The name of a friend is that of a field that was not selected.
    assert "z" in columns_by_field(a.select("k").with_friends({"y": c.select("z")}))
    ambiguous = a.with_friends({"f": b.with_friends({"g": c})}).with_friends({"g": b})
    with pytest.raises(colonnade.UnsupportedError, match=r"cannot tell which friend 'g\.k' is of"):
        DataFrame(ambiguous)
    columns_by_field(a.with_friends({"f": b.with_friends({"g": c})}).with_friends({"h": b}))


def test_friends_of_data_frames_may_be_joined(sides: dict[str, Any]) -> None:
    a, b, c = sides.values()
    joined = b.join(c, on="k", how="left", prefix="c_")
    assert DataFrame(a, friends={"f": joined}).take("c_y").value.tolist() == joined["c_y"].to_list()
    assert DataFrame(a, friends={"f": joined, "g": c}).take("g.y").value.tolist() == c["y"].to_list()
    with pytest.raises(colonnade.UnsupportedError, match="needs an open data set as the first one"):
        DataFrame("a", a.uri, friends={"f": joined})


def test_what_data_frames_do_not_join(sides: dict[str, Any]) -> None:
    a, b, c = sides.values()
    frame, left = DataFrame(a), b.join(c, on="k", how="left", columns=["k", "z"], prefix="c_")
    for other, on, message in (
        (b.join(c, on="k"), "k", "cannot have an inner join as a side of a join"),
        (left, {"k": "c_k"}, "cannot be joined by 'k', which the other side got by a join itself"),
        (left, {"k": "c_entry"}, "cannot be joined by the number of an entry"),
    ):
        with pytest.raises(colonnade.UnsupportedError, match=message):
            frame.join(other, on=on)
    with pytest.raises(colonnade.UnsupportedError, match=r"cannot join 'c_entry'.*columns= without it"):
        frame.join(left, on="k", how="left", columns="c_entry")
    with pytest.raises(colonnade.UsageError, match=r"already a column 'b_entry'.*prefix="):
        frame.join(left, on="k").join(left, on="k")
    with pytest.raises(colonnade.UnsupportedError, match="a chain of joins by different keys"):
        DataFrame(colonnade.open([b.join(c, on="k"), b.join(c, on="y", columns=["z"])]))
    assert frame.column_names == ["k", "x", "y"]


def test_processes_compute_the_same_bits(tmp_path: Path) -> None:
    """A chain of joins whose other sides are joined, too."""
    rng, parts = np.random.default_rng(1), []
    for part in range(3):
        contents: dict[str, dict[str, Any]] = {
            "A": {"k": rng.permutation(500), "x": rng.normal(size=500)},
            "B": {"k": rng.permutation(400), "m": rng.integers(0, 50, 400), "y": rng.normal(size=400)},
            "C": {"m": rng.permutation(40), "z": rng.normal(size=40)},
        }
        opened = []
        for name, columns in contents.items():
            with colonnade.create(tmp_path / f"{name}{part}.root", name) as writer:
                writer.extend(columns)
            opened.append(colonnade.open(tmp_path / f"{name}{part}.root"))
        a, b, c = opened
        parts.append(a.join(b.join(c, on="m", how="left"), on="k", how="left"))
    chain = colonnade.open(parts)
    value = "x * z.value_or(1) + y.value_or(2)"
    with ProcessPoolExecutor(2) as pool:
        sums = [DataFrame(chain).sum(value), DataFrame(chain, executor=pool, npartitions=5).sum(value)]
        assert sums[0].value == sums[1].value
    x, y, z = (chain[name].to_list() for name in "xyz")
    rows = zip(x, y, z, strict=True)
    expected = sum(a * (1 if c is None else c) + (2 if b is None else b) for a, b, c in rows)
    assert sums[0].value == pytest.approx(expected)
