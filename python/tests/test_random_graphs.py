"""Random analyses: the same bits for any number of threads, cut, and processor; the values of NumPy and Awkward.

A seed makes data - in memory, or in a chain of uneven files, maybe with some columns in a friend that is cut elsewhere
- with base classes that share names, optional values, lists of lists, and a column that some files lack; a graph of
definitions, filters, ranges, variations and callables, some of which fill one buffer for all they give; and results of
every kind, snapshots included. Nodes and results of no use are booked in between and dropped. Each analysis is computed

- with 1, 2, 3 and 7 threads, of which all work, and once with one result booked alone;
- in two and three stretches of entries whose results are saved and merged, grouped in one way and the other;
- as tasks of an engine, whose partial results come and are merged in any order and grouping;
- with a variation booked as the redefinition that it stands for, which must give the varied results;
- as if on a lesser processor, in a process of its own;
- by NumPy and Awkward, entry by entry of what is wanted.

All but the last must agree bit by bit. Of the last it is known how far it may be off: not at all where every step is
exact or rounded once, as IEEE 754 says; by the last bits of NumPy's sines and logarithms, and by what comes of them,
elsewhere. `make soak` tries other seeds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import random
import subprocess
import sys
import unittest.mock
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
from shuffled_engine import Shuffled

import colonnade
import colonnade.distributed.plans
from colonnade import DataFrame

THREADS = (1, 2, 3, 7)
PART_ENTRIES = 16
ODD_NAMES = ("0", "1e5", "true", "if", "not", "M_PI", "a-b")  # read as something else in expressions
PROCESSORS = ("baseline", "ssse3", "sse4", "avx2", "avx3")  # as COLONNADE_CPU names them


# ---- Data


def random_lists(rng: np.random.Generator, entries: int, values: Callable[[int], Any]) -> ak.Array:
    """Lists whose lengths are of another kind every few hundred entries."""
    counts = np.zeros(entries, dtype=np.int64)
    at = 0
    while at < entries:
        size = int(rng.integers(1, 400))
        counts[at : at + size] = rng.integers(0, rng.choice([1, 2, 5, 40]), len(counts[at : at + size]))
        at += size
    return ak.unflatten(values(int(counts.sum())), counts)


def random_data(rng: np.random.Generator) -> dict[str, Any]:
    entries = int(rng.choice([1, 17, 300, 1100]) + rng.integers(0, 300))
    weights = rng.normal(1, 0.3, entries) * 10.0 ** rng.integers(-3, rng.choice([-1, 4]), entries)
    if rng.random() < 0.2:  # of sizes that no double holds together
        weights *= 2.0 ** rng.integers(-300, 300, entries)
    return {
        "n": rng.integers(-5, 6, entries).astype(np.int32),
        "x": rng.normal(0, 2, entries),
        "f": rng.exponential(3, entries).astype(np.float32),
        "w": weights,
        "pt": random_lists(rng, entries, lambda size: rng.exponential(20, size).astype(np.float32)),
        "empty": ak.unflatten(np.zeros(0), np.zeros(entries, dtype=np.int64)),
        "tag": ak.Array([("a", "bb", "")[k] for k in rng.integers(0, 3, entries)]),
        "jet": ak.zip({"e": random_lists(rng, entries, lambda size: rng.normal(size=size))}),
        "opt": ak.mask(rng.normal(size=entries), rng.random(entries) < 0.6),
        "nest": random_lists(rng, entries, lambda size: random_lists(rng, size, rng.random)),
        "late": rng.normal(size=entries),
        "both": random_classes(rng, entries),
        **{name: rng.normal(0, 2, entries) for name in rng.choice(ODD_NAMES, 2, replace=False)},
    }


def random_classes(rng: np.random.Generator, entries: int) -> ak.Array:
    """Objects of a class with two bases that share a name, and hide another; bases are records ":_0", ":_1"."""

    def base(**own: Any) -> ak.Array:
        inherited = ak.zip({"id": rng.integers(0, 100, entries), "weight": rng.normal(size=entries)})
        return ak.zip({":_0": inherited, **own}, depth_limit=1)

    left = base(left=rng.integers(-9, 9, entries))
    right = base(right=random_lists(rng, entries, rng.random))
    return ak.zip({":_0": left, ":_1": right, "weight": rng.normal(size=entries)}, depth_limit=1)


def named_members(both: ak.Array) -> ak.Array:
    """The same with the names that readers give them."""
    of_bases = {
        f"{base}::{name}": both[base, ":_0", name] for base in (":_0", ":_1") for name in ("id", "weight")
    }
    own = {"left": both[":_0", "left"], "right": both[":_1", "right"], "weight": both["weight"]}
    return ak.zip({**of_bases, **own}, depth_limit=1)


def random_source(rng: np.random.Generator, data: dict[str, Any], folder: Path) -> tuple[Any, OfFiles]:
    """The arrays themselves, or names of files, or those and the names of files of a friend; and what is of files."""
    # Of lists, as NumPy's side has them; those that stay optional are in test_frame_types.py.
    data = {**data, "opt": ak.singletons(data["opt"])}
    entries = len(data["n"])
    of_files = OfFiles(np.ones(entries, dtype=bool), np.full(entries, entries))
    if rng.random() < 0.25:
        plain_columns = {name: values for name, values in data.items() if name != "both"}
        return plain_columns, of_files
    own = dict(data)
    beside = {name: own.pop(name) for name in ("f", "pt", "tag")} if rng.random() < 0.3 else {}
    files = write_files(rng, own, folder, "", of_files)
    friend = write_files(rng, beside, folder, "friend ", of_files) if beside else None
    return (files if friend is None else (files, friend)), of_files


@dataclass
class OfFiles:
    """Of each entry: does its file have the column "late", and how many entries?"""

    have_late: Any
    sizes: Any


def write_files(
    rng: np.random.Generator, data: dict[str, Any], folder: Path, prefix: str, of_files: OfFiles
) -> list[str]:
    """Some files with pages, clusters and borders anywhere."""
    entries, has_late = len(of_files.sizes), of_files.have_late
    edges = sorted({0, entries, *rng.integers(0, entries + 1, rng.integers(0, 4)).tolist()})
    files = []
    for k, (first, last) in enumerate(itertools.pairwise(edges)):
        files.append(str(folder / f"{prefix}{k}.root"))
        page = int(rng.choice([64, 512, 8192]))
        if "late" in data:
            has_late[first:last] = k == 0 or rng.random() < 0.5
            of_files.sizes[first:last] = last - first
        names = [name for name in data if name != "late" or has_late[first]]
        with colonnade.create(files[-1], "Events", initial_page_size=page, page_size=page) as writer:
            at = first
            while at < last:
                step = int(rng.integers(1, 500))
                writer.extend({name: data[name][at : min(at + step, last)] for name in names})
                writer.commit_cluster()
                at += step
    return files


@dataclass
class JoinedSide:
    """What is joined by the number `n` and by `slot`, the number of the entry modulo 40: files, and what is in them."""

    files: list[str]
    y: Any
    v: Any
    entry: Any
    """Of each entry of the data: its match, or -1."""


def random_side(rng: np.random.Generator, data: dict[str, Any], folder: Path) -> JoinedSide:
    pairs = rng.permutation(list(itertools.product(range(-6, 7), range(40))))
    pairs = pairs[: rng.integers(0, len(pairs) + 1)]
    y, v = rng.normal(size=len(pairs)), random_lists(rng, len(pairs), lambda size: rng.normal(size=size))
    files, middle = [], int(rng.integers(0, len(pairs) + 1))
    schema = {"n": "std::int16_t", "slot": "std::uint32_t", "y": "double", "v": "std::vector<double>"}
    for k, rows in enumerate((slice(0, middle), slice(middle, None))):
        files.append(str(folder / f"joined {k}.root"))
        with colonnade.create(files[-1], "Side", schema=schema) as writer:
            writer.extend({"n": pairs[rows, 0], "slot": pairs[rows, 1], "y": y[rows], "v": v[rows]})
    numbers = {(int(n), int(slot)): k for k, (n, slot) in enumerate(pairs)}
    entry = [numbers.get((int(n), k % 40), -1) for k, n in enumerate(data["n"])]
    return JoinedSide(files, y, v, np.array(entry))


# ---- What NumPy knows


@dataclass
class Known:
    """Values, and how far others may be from them: not at all, or by as much for each."""

    values: Any
    within: Any = None

    def __mul__(self, factor: float) -> Known:
        """Times a power of two."""
        return Known(self.values * factor, None if self.within is None else self.within * factor)

    def __getitem__(self, rows: Any) -> Known:
        return Known(self.values[rows], None if self.within is None else self.within[rows])

    @property
    def ends(self) -> tuple[Any, ...]:
        return (
            (self.values,) if self.within is None else (self.values - self.within, self.values + self.within)
        )


def last_bits(values: Any) -> Any:
    """More than the library functions of NumPy and ours differ by, and steps that follow them."""
    return 2.0**-48 * (1 + abs(values))


def plain(values: Any) -> Any:
    return ak.to_numpy(values) if isinstance(values, ak.Array) and values.ndim == 1 else values


def known(function: Callable[..., Any], *arguments: Known | None, exact: bool = True) -> Known | None:
    """What a function gives, or None where it may be anything: where lists may have other lengths.

    Functions are monotonous over the little by which arguments may be off, so the ends tell.
    """
    if any(each is None for each in arguments):
        return None
    with np.errstate(all="ignore"):
        values = plain(function(*(each.values for each in arguments)))
        if exact and all(each.within is None for each in arguments):
            return Known(values)
        within = last_bits(values)
        for ends in itertools.product(*(each.ends for each in arguments)):
            other = plain(function(*ends))
            if isinstance(values, ak.Array) and ak.any(ak.num(other) != ak.num(values)):
                return None
            within = within + abs(other - values)
    return Known(
        values,
        ak.nan_to_num(within, nan=np.inf)
        if isinstance(within, ak.Array)
        else np.nan_to_num(within, nan=np.inf),
    )


def chosen(function: Callable[..., Any], rows: Any, *arguments: Known | None) -> Any:
    """Those of the rows for which a condition holds; None if that hangs on last bits."""
    if rows is None or any(each is None for each in arguments):
        return None
    answers = [
        np.asarray(plain(function(*ends)))[rows]
        for ends in itertools.product(*(each.ends for each in arguments))
    ]
    same = all(np.array_equal(answers[0], each) for each in answers)
    return rows[answers[0]] if same else None


# ---- Graphs


@dataclass
class ReferenceNode:
    """A node, and what NumPy knows of it: which entries get there, and what columns hold for all entries."""

    node: Any
    rows: Any
    columns: dict[str, Known | None]
    scalars: list[str]
    lists: list[str]
    varied: bool = False
    aliases: dict[str, str] = field(default_factory=dict)

    def change(self, column: str, values: Known | None) -> None:
        """Give a column and its aliases other values."""
        for name in (column, *(alias for alias, of in self.aliases.items() if of == column)):
            self.columns[name] = values


@dataclass
class Booked:
    kind: str
    result: Any
    expected: Callable[[], Any] | None
    look: Callable[[Any], Any] = lambda value: value  # at the value, for one that can be compared


@dataclass
class Analysis:
    frame: Any
    booked: list[Booked] = field(default_factory=list)
    has_range: bool = False
    variations: list[str] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)  # a report of all filters tells of those that are there


def c_float(values: Any) -> Any:
    """As C++ computes with doubles."""
    return (
        ak.values_astype(values, np.float64)
        if isinstance(values, ak.Array)
        else np.asarray(values, np.float64)
    )


# Those of LIBRARY end in other last bits than NumPy's.
SCALARS: list[tuple[str, Callable[..., Any]]] = [
    ("{a} * 1.0 + {b}", lambda a, b, v: c_float(a) + c_float(b)),
    ("{a} * 1.5 - {b}", lambda a, b, v: c_float(a) * 1.5 - c_float(b)),
    ("{a} > {b} ? {a} * 1.0 : {b} / 2.0", lambda a, b, v: np.where(a > b, c_float(a), c_float(b) / 2)),
    ("{v}.size() + {a} * 1.0", lambda a, b, v: ak.num(v) + c_float(a)),
    ("Sum({v} * 2.0) + {a} * 1.0", lambda a, b, v: ak.sum(c_float(v) * 2, axis=1) + c_float(a)),
    ("abs({a} * 1.0) < 2 || {b} > 0 ? 1.0 : 3.0", lambda a, b, v: np.where((abs(c_float(a)) < 2) | (b > 0), 1.0, 3.0)),
    ("sqrt(abs({a} * 1.0)) + {b}", lambda a, b, v: np.sqrt(abs(c_float(a))) + c_float(b)),
]  # fmt: skip
LIBRARY: list[tuple[str, Callable[..., Any]]] = [
    ("sin({a} * 1.0) * cos({b} * 1.0)", lambda a, b, v: np.sin(c_float(a)) * np.cos(c_float(b))),
    ("log(1.0 + abs({a} * 1.0)) - atan2({a} * 1.0, {b} * 1.0)",
     lambda a, b, v: np.log(1.0 + abs(c_float(a))) - np.arctan2(c_float(a), c_float(b))),
]  # fmt: skip
LISTS: list[tuple[str, Callable[..., Any]]] = [
    ("{v} * 2.0 + {a}", lambda a, b, v: c_float(v) * 2 + c_float(a)),
    ("{v}[{v} > 10]", lambda a, b, v: v[v > 10]),
    ("Concatenate({v}, {v})", lambda a, b, v: ak.concatenate([v, v], axis=1)),
]
CONDITIONS: list[tuple[str, Callable[..., Any]]] = [
    ("{a} > {b}", lambda a, b, v: a > b),
    ("{v}.size() > 1 && {a} < 2", lambda a, b, v: (ak.num(v) > 1) & (a < 2)),
    ("Any({v} > 30) || {a} > 0", lambda a, b, v: ak.any(v > 30, axis=1) | (a > 0)),
]  # fmt: skip


KEYS, NOTHING = ("{a}", "{b}", "{v}"), Known(np.zeros(1))  # an argument that a text does not have


def block_function(a: Any) -> Any:
    """Depends on where blocks begin: equal bits mean equal blocks."""
    return c_float(a) - np.mean(c_float(a))


def list_function(v: Any, a: Any) -> Any:
    return ak.sum(v, axis=1) / 3.0 + c_float(a)


def buffer_function(buffer: Any) -> Callable[[Any], Any]:
    """A callable that gives the same memory each time, which others give as well."""

    def fill(a: Any) -> Any:
        return np.multiply(a, 2.0, out=buffer[: len(a)])

    return fill


def buffer_function_of_row(buffer: Any) -> Callable[[Any], Any]:
    """The same, called for each entry."""

    def fill(v: Any) -> Any:
        return np.multiply(v, 2.0, out=buffer[: len(v)])

    return fill


def row_function(a: float, v: Any) -> float:
    total = float(a)
    for value in v:
        total += float(value)
    return total


def row_by_row(a: Any, v: Any) -> Any:
    return np.array([row_function(x, items) for x, items in zip(a.tolist(), v.tolist(), strict=True)])


class Grower:
    """Makes the graph of a seed; the same one over any source of the same data.

    `only` books one result alone, `merging` leaves out those that cannot be saved and merged. Of a `variation`, as
    "c3:down", there is the redefinition that it stands for, and no other variation.
    """

    def __init__(
        self,
        case: Case,
        frame: Any,
        folder: Path,
        only: int | None = None,
        merging: bool = False,
        variation: str | None = None,
    ) -> None:
        self.random, self.junk = random.Random(case.seed), random.Random(f"{case.seed} {folder.name}")
        self.data, self.of_files, self.analysis = case.data, case.of_files, Analysis(frame)
        self.side = case.side
        self.folder, self.only, self.merging, self.variation = folder, only, merging, variation
        self.is_in_files = not isinstance(case.source, dict)
        self.buffer = np.empty(max(len(case.data["n"]), 100))  # of all callables that fill one
        columns: dict[str, Known | None] = {
            name: Known(case.data[name]) for name in ("n", "x", "f", "w", "pt")
        }
        columns["jet.e"] = Known(case.data["jet"]["e"])
        columns["opt"] = Known(ak.singletons(case.data["opt"]))
        root = ReferenceNode(
            frame, np.arange(len(case.data["n"])), columns, ["n", "x", "f", "w"], ["pt", "jet.e", "opt"]
        )
        if self.is_in_files:
            members = named_members(case.data["both"])
            for name in (":_0::id", ":_1::weight", "weight", "left"):
                column = f"`both.{name}`" if ":" in name else f"both.{name}"
                columns[column] = Known(members[name].to_numpy())
                root.scalars.append(column)
        for name in ODD_NAMES:
            if name in case.data:
                columns[f"`{name}`"] = Known(case.data[name])
                root.scalars.append(f"`{name}`")
        self.places, self.names = [root], (f"c{k}" for k in itertools.count())
        for _ in range(self.random.randint(3, 10)):
            self.grow()
            self.book_and_drop()
        self.analysis.nodes = [place.node for place in self.places]
        for kind in self.random.choices(list(self.kinds()), k=self.random.randint(4, 9)):
            self.book(kind)

    def book_and_drop(self) -> None:
        """Other ones each time: what comes and goes must leave no trace."""
        for _ in range(self.junk.randint(0, 3)):
            place = self.junk.choice(self.places)
            text = f"{self.junk.choice(place.scalars)} * {self.junk.random()}"
            node = place.node.define("junk", text).filter(f"junk > {self.junk.random()}", name="junk")
            node.sum("junk") if self.junk.random() < 0.5 else node.report()

    def names_in(self, place: ReferenceNode) -> dict[str, str]:
        """As expressions spell them."""
        return {
            "a": self.random.choice(place.scalars),
            "b": self.random.choice(place.scalars),
            "v": self.random.choice(place.lists),
        }

    def grow(self) -> None:
        place = self.random.choice(self.places)
        how = self.random.choice(
            [
                "scalar",
                "scalar",
                "list",
                "filter",
                "filter",
                "range",
                "vary",
                "block",
                "block",
                "rows",
                "late",
                "other name",
                "sample",
                "join",
            ]
        )
        made = ReferenceNode(
            place.node,
            place.rows,
            dict(place.columns),
            list(place.scalars),
            list(place.lists),
            place.varied,
            dict(place.aliases),
        )
        name, used = next(self.names), self.names_in(place)
        a, b, v = (place.columns[used[key]] for key in "abv")
        if how in ("scalar", "list"):
            text, function = self.random.choice(SCALARS + LIBRARY if how == "scalar" else LISTS)
            made.node = place.node.define(name, text.format(**used))
            arguments = [each if key in text else NOTHING for key, each in zip(KEYS, (a, b, v), strict=True)]
            made.columns[name] = known(function, *arguments, exact=(text, function) not in LIBRARY)
            (made.scalars if how == "scalar" else made.lists).append(name)
        elif how == "filter" and self.random.random() < 0.2:
            made.node = place.node.filter('tag != "a"', name=name)
            made.rows = chosen(lambda tag: tag != "a", place.rows, Known(self.data["tag"]))
        elif how == "filter":
            text, function = self.random.choice(CONDITIONS)
            made.node = place.node.filter(text.format(**used), name=name)
            arguments = [each if key in text else NOTHING for key, each in zip(KEYS, (a, b, v), strict=True)]
            made.rows = chosen(function, place.rows, *arguments)
        elif how == "range":
            first, step = self.random.randint(0, 20), self.random.randint(1, 3)
            last = first + self.random.randint(1, 500)
            made.node = place.node.range(first, last, step)
            made.rows = None if place.rows is None else place.rows[first:last:step]
            self.analysis.has_range = True
        elif how == "vary":
            column = place.aliases.get(used["a"], used["a"])
            column = column if column[0] in "wc" else "x"
            column = column if place.node.column_type(column) in ("double", "float") else "x"
            made.varied = True
            self.vary(place, made, column, name)
        elif how == "other name":
            self.rename(place, made, used["a"], name)
        elif how == "sample" and self.is_in_files:
            made.node = place.node.define_per_sample(
                name, lambda file: float(file.entries[1] - file.entries[0]), returns="double"
            )
            made.columns[name] = Known(self.of_files.sizes.astype(np.float64))
            made.scalars.append(name)
        elif how == "sample":
            return
        elif how == "late":
            self.grow_late(place, made)
        elif how == "join":
            self.join(place, made, name)
        elif how == "block" and self.random.random() < 0.5:
            made.node = place.node.define(name, block_function, [used["a"]], returns="double")
            self.add("take of blocks", lambda: made.node.take(name))  # depends on the blocks
            return
        elif how == "block" and self.random.random() < 0.3:
            made.node = place.node.define(name, buffer_function(self.buffer), [used["a"]], returns="double")
            made.columns[name] = known(lambda a: c_float(a) * 2.0, a)
            made.scalars.append(name)
        elif how == "block":
            made.node = place.node.define(name, list_function, [used["v"], used["a"]], returns="double")
            made.columns[name] = known(list_function, v, a)
            made.scalars.append(name)
        elif self.random.random() < 0.4:
            function = buffer_function_of_row(self.buffer)
            made.node = place.node.define(name, function, ["pt"], per_row=True, returns="std::vector<double>")
            made.columns[name] = known(lambda v: c_float(v) * 2.0, place.columns["pt"])
            made.lists.append(name)
        else:
            made.node = place.node.define(
                name, row_function, [used["a"], used["v"]], per_row=True, returns="double"
            )
            made.columns[name] = known(row_by_row, a, v)
            made.scalars.append(name)
        self.places.append(made)

    def vary(self, place: ReferenceNode, made: ReferenceNode, column: str, name: str) -> None:
        factors = {"down": 0.5, "up": 2.0}
        varied, _, tag = (self.variation or "").partition(":")
        if self.variation is None:
            values = ", ".join(f"{column} * {factor}" for factor in factors.values())
            made.node = place.node.vary(column, f"{{{values}}}", list(factors), name)
            self.analysis.variations += [f"{name}:{each}" for each in factors]
        elif varied == name:
            made.node = place.node.redefine(column, f"{column} * {factors[tag]}")
            made.change(column, known(lambda values: c_float(values) * factors[tag], place.columns[column]))

    def rename(self, place: ReferenceNode, made: ReferenceNode, column: str, name: str) -> None:
        """Another name for a column, or another column of its name."""
        if column in ("x", "f") and self.random.random() < 0.5:
            made.node = place.node.redefine(column, f"{column} * 1.5 + 1")
            made.change(column, known(lambda values: c_float(values) * 1.5 + 1, place.columns[column]))
        else:
            made.node = place.node.alias(name, column.strip("`"))
            made.aliases[name] = place.aliases.get(column, column)
            made.columns[name] = place.columns[column]
            made.scalars.append(name)

    def join(self, place: ReferenceNode, made: ReferenceNode, name: str) -> None:
        """The columns of another data set: of what has a match, or with other values where there is none."""
        on = {"n": "n", "rdfentry_ % 40": "slot"}
        entry, has = self.side.entry, self.side.entry >= 0
        is_inner = self.random.random() < 0.6
        how: Any = "inner" if is_inner else "left"
        joined = place.node.join("Side", self.side.files, on=on, how=how, prefix=f"{name}_")
        if is_inner:
            made.node, made.rows = joined, chosen(lambda match: match, place.rows, Known(has))
            names = [f"{name}_y", f"{name}_v"]
        else:
            made.node = joined.define(f"{name}_d", f"{name}_y.value_or(-7.25)")
            names = [f"{name}_d"]
        y, v = np.full(len(entry), -7.25), ak.Array([[0.0]])[np.zeros(len(entry), dtype=int)]
        if len(self.side.y):
            y = np.where(has, self.side.y[entry], y)
            v = ak.where(has, self.side.v[entry], v)
        made.columns[names[0]] = Known(y)
        made.scalars.append(names[0])
        if is_inner:
            made.columns[names[1]] = Known(v)
            made.lists.append(names[1])

    def grow_late(self, place: ReferenceNode, made: ReferenceNode) -> None:
        """Of the column that some files lack: a default, or one kind of files alone."""
        how = self.random.choice(["default", "available", "missing"])
        if "late" in place.scalars:
            made.node = place.node.filter("late < 1")
            made.rows = chosen(lambda late: late < 1, place.rows, place.columns["late"])
        elif how == "default":
            made.node = place.node.default_value_for("late", "-1.5")
            made.columns["late"] = Known(np.where(self.of_files.have_late, self.data["late"], -1.5))
            made.scalars.append("late")
        elif how == "available":
            made.node = place.node.filter_available("late")
            made.rows = chosen(lambda has: has, place.rows, Known(self.of_files.have_late))
            made.columns["late"] = Known(self.data["late"])
            made.scalars.append("late")
        else:
            made.node = place.node.filter_missing("late")
            made.rows = chosen(lambda has: ~has, place.rows, Known(self.of_files.have_late))

    # ---- Results

    @staticmethod
    def kinds() -> tuple[str, ...]:
        return (
            "count", "sum", "min", "max", "mean", "stddev", "stats", "quantile", "value_counts", "unique", "summary",
            "histo1d", "histo1d", "histo2d", "histo3d", "profile1d", "profile2d", "axes of hist", "take",
            "take list", "graph", "reduce", "reduce empty", "aggregate", "fill", "variations", "variations",
            "display", "report", "snapshot", "varied snapshot", "take nested", "automatic range", "automatic range",
        )  # fmt: skip

    def add(
        self,
        kind: str,
        result: Callable[[], Any],
        expected: Callable[[], Any] | None = None,
        merges: bool = True,
        **more: Any,
    ) -> None:
        """Book a result, unless another one is to be booked alone."""
        is_wanted = self.only in (None, len(self.analysis.booked)) and (merges or not self.merging)
        made = result() if is_wanted else None
        self.analysis.booked.append(Booked(kind, made, expected, **more))

    def book(self, kind: str) -> None:
        place = self.random.choice(self.places)
        names = {key: name.strip("`") for key, name in self.names_in(place).items()}
        node, a, b, v = place.node, names["a"], names["b"], names["v"]

        def column(name: str) -> Known | None:
            return place.columns[name if name in place.columns else f"`{name}`"]

        def expecting(function: Callable[..., Any], *columns: str) -> Callable[[], Known | None] | None:
            """Of what these columns hold where entries get to."""
            arguments = [column(name) for name in columns]
            if place.rows is None or any(each is None for each in arguments):
                return None
            rows = place.rows
            return lambda: function(*(known(c_float, each[rows]) for each in arguments))

        is_single = (of_a := column(a)) is not None and of_a.values.dtype == np.float32
        unit = 2.0 ** (-23 if is_single else -52)
        if kind == "count":
            self.add(kind, node.count, lambda: None if place.rows is None else Known(len(place.rows)))
        elif kind == "sum":
            self.add(kind, lambda: node.sum(a), expecting(sum_of, a))
        elif kind == "min":
            self.add(kind, lambda: node.min(a), expecting(least_of, a))
        elif kind == "max":
            self.add(kind, lambda: node.max(a), expecting(greatest_of, a))
        elif kind == "mean":
            self.add(kind, lambda: node.mean(v), expecting(mean_of, v))
        elif kind == "stddev":
            self.add(kind, lambda: node.stddev(a), expecting(spread_of, a))
        elif kind == "stats":
            self.add(kind, lambda: node.stats(a, "w"), expecting(StatsOf, a, "w"))
        elif kind == "quantile":
            self.add(kind, lambda: node.quantile(a, [0.1, 0.5]), expecting(quantiles_of, a))
        elif kind == "value_counts":
            self.add(kind, lambda: node.value_counts("n"), expecting(CountsOf, "n"))
        elif kind == "unique":
            self.add(kind, lambda: node.unique("n"), expecting(CountsOf, "n"))
        elif kind == "summary":
            self.add(
                kind, lambda: node.summary([a, "n"]), look=lambda rows: [dict(rows[each]) for each in rows]
            )
        elif kind == "histo1d":
            self.add(kind, lambda: node.histo1d(("h", "", 7, -4.0, 90.0), v), expecting(counts_in_bins, v))
            self.add(kind, lambda: node.histo1d(MODEL, a, b), expecting(weights_in_bins, a, b))
        elif kind == "histo2d":
            two = (*MODEL, 3, -2.0, 5.0)
            self.add(kind, lambda: node.histo2d(two, a, b, "w"), expecting(HistogramOf, a, b, "w"))
        elif kind == "histo3d":
            three = (*MODEL, 3, -2.0, 5.0, 2, 0.0, 1.0)
            self.add(kind, lambda: node.histo3d(three, a, b, "x"), expecting(HistogramOf, a, b, "x"))
        elif kind == "axes of hist":
            axes = [
                hist.axis.Regular(5, 0.1, 90, transform=hist.axis.transform.log),
                hist.axis.Integer(-2, 4),
            ]
            self.add(kind, lambda: node.histond(axes, ["f", "n"]), expecting(HistogramOf, "f", "n"))
            circular = hist.axis.Regular(6, 0, 7, circular=True)
            self.add(kind, lambda: node.histo1d(circular, a, "w"), expecting(HistogramOf, a, "w"))
        elif kind == "profile1d":
            self.add(kind, lambda: node.profile1d(MODEL, a, b, "w"), expecting(ProfileOf, a, b, "w"))
        elif kind == "profile2d":
            self.add(kind, lambda: node.profile2d((*MODEL, 3, -2.0, 5.0), a, b, "x"))
        elif kind == "take":
            self.add(kind, lambda: node.take(a), expecting(flat_known, a))
        elif kind == "take list":
            self.add(kind, lambda: node.take(v), expecting(flat_known, v))
        elif kind == "graph":
            self.add(kind, lambda: node.graph(a, b), expecting(PointsOf, a, b))
        elif kind == "reduce":
            self.add(
                kind,
                lambda: node.reduce(np.add, a),
                expecting(lambda column: rounded_sum_of(column, unit), a),
            )
            self.add(kind, lambda: node.reduce(lambda s, t: s * 0.5 + t, a))
        elif kind == "reduce empty":
            self.add(kind, lambda: node.reduce(np.maximum, "empty"))
            self.add(kind, lambda: node.reduce(np.add, "empty", start=3.0), lambda: Known(3.0))
        elif kind == "aggregate":
            self.add(
                kind,
                lambda: node.aggregate(lambda s, x: s + float(np.sum(x)) / 4, lambda s, t: s + t, a, 0.0),
                expecting(lambda column: rounded_sum_of(column * 0.25, unit), a),
            )
        elif kind == "fill":
            axes = hist.Hist(hist.axis.Regular(5, -4, 9), storage=hist.storage.Weight())
            self.add(kind, lambda: node.fill(axes, a, weight="w"))
        elif kind == "variations" and place.varied:
            bare = self.variation is not None
            for result, expected in (
                (lambda: node.histo1d(MODEL, a, b), expecting(weights_in_bins, a, b)),
                (lambda: node.sum(a), expecting(sum_of, a)),
                (lambda: node.histo1d(None, a, "w"), expecting(HistogramOf, a, "w")),
            ):
                self.add(
                    kind,
                    lambda result=result: result() if bare else node.variations_for(result()),
                    expected if bare else None,
                )
        elif kind == "snapshot":
            self.book_snapshot(place, [a, v])
        elif kind == "varied snapshot" and not self.analysis.has_range:
            self.book_varied_snapshot(place, [a, "x", "w"])
        elif kind == "take nested":
            name = self.random.choice(["nest", "jet", "opt", *(["both"] if self.is_in_files else [])])
            self.add(
                kind,
                lambda: node.take(name),
                None if place.rows is None else lambda: self.rows_of(place, [name]),
            )
        elif kind == "automatic range":
            self.add(kind, lambda: node.histo1d(v), expecting(HistogramOf, v))
            self.add(kind, lambda: node.histo1d(None, a, "w"), expecting(HistogramOf, a, "w"))
            self.add(kind, lambda: node.histo2d(None, a, b), expecting(HistogramOf, a, b))
        elif kind == "display":
            self.add(kind, lambda: node.display([a, v], rows=7))
        elif kind == "report":
            self.add(kind, node.report)

    def book_snapshot(self, place: ReferenceNode, names: list[str]) -> None:
        names = [name for name in {*names, "nest", "opt", "tag", "jet"} if "." not in name]
        names += ["both"] if self.is_in_files else []
        path = str(self.folder / f"{len(self.analysis.booked)}.root")
        self.add(
            "snapshot",
            lambda: place.node.snapshot(path, "Events", sorted(names), lazy=True),
            None if place.rows is None else lambda: self.rows_of(place, sorted(names)),
            merges=False,
            look=lambda _: colonnade.open(path).arrays(),
        )

    def book_varied_snapshot(self, place: ReferenceNode, names: list[str]) -> None:
        """Of variations of two columns, of which maybe one decides which entries pass."""
        names = sorted({name for name in names if "." not in name})
        number, bare = len(self.analysis.booked), self.variation is not None
        path, node = str(self.folder / f"{number}.root"), place.node
        for name in ("x", "w"):
            node = node.vary(name, f"{{{name} * 0.5, {name} + 1.0}}", ["down", "up"], f"{name}{number}")
        node = node.filter(self.random.choice(["x > 0.5", "w > 1", "x + w > 1"]))
        self.add(
            "varied snapshot",
            lambda: (
                None
                if bare
                else VariedSnapshot(
                    node.variations_for(node.snapshot(path, "Events", names, lazy=True)),
                    {name: node.variations_for(node.take(name)) for name in names},
                )
            ),
            None if bare else VariedOf,
            merges=False,
            look=lambda taken: (colonnade.open(path).arrays(), taken),
        )

    def rows_of(self, place: ReferenceNode, names: list[str]) -> Rows:
        """What is known of columns of any type, for the rows of a place."""
        found = {}
        for name in names:
            if name in place.columns:
                known_column = place.columns[name]
                known_here = known_column is not None and is_exact(known_column)
                found[name] = known_column.values[place.rows].tolist() if known_here else None
            elif name == "both":
                found[name] = named_members(self.data["both"])[place.rows].tolist()
            else:
                found[name] = self.data[name][place.rows].tolist()
        return Rows(found)


@dataclass
class VariedSnapshot:
    """A snapshot with variations, and the columns in it as arrays."""

    snapshot: Any
    taken: dict[str, Any]

    @property
    def value(self) -> dict[str, dict[str, Any]]:
        list(self.snapshot.values())
        return {name: dict(arrays) for name, arrays in self.taken.items()}


class VariedOf:
    """Every column for every variation, in the rows that passed for it."""

    def check(self, found: Any, what: str) -> None:
        rows, taken = found
        for name, arrays in taken.items():
            for variation in {each for others in taken.values() for each in others}:
                tag = variation.replace(":", "_")
                passed = rows[f"passed__{tag}"] if f"passed__{tag}" in rows.fields else slice(None)
                field = f"{name}__{tag}" if f"{name}__{tag}" in rows.fields else name
                expected = arrays.get(variation, arrays["nominal"])
                assert bits(ak.to_numpy(rows[field][passed])) == bits(expected), (
                    f"{what}: {name}, {variation}"
                )


@dataclass
class Rows:
    """Values of any type, by column; None where they may be off."""

    columns: dict[str, Any]

    def check(self, found: Any, what: str) -> None:
        for name, expected in self.columns.items():
            values = found[name] if found.fields and name in found.fields else found
            if expected is not None and values is not None:
                assert values.tolist() == expected, f"{what}: {name}"


def is_exact(*columns: Known) -> bool:
    return all(each.within is None for each in columns)


def bins_on(axis: Any, values: Any) -> Any:
    """As hist has them, but for plain axes: between edges, which hist only comes near to if values differ a lot."""
    if not isinstance(axis, hist.axis.Regular) or axis.traits.circular or axis.transform is not None:
        return axis.index(values)
    low, high = axis.edges[0], axis.edges[-1]
    edges = low + np.arange(axis.size + 1) * ((high - low) / axis.size)
    return np.searchsorted(edges, values, side="right") - 1


class HistogramOf:
    """What the values make with the axes that were found, in which all of them have a bin if that was made for them."""

    def __init__(self, *columns: Known) -> None:
        self.columns = [flat_known(each) for each in columns]

    def check(self, found: Any, what: str) -> None:
        if not is_exact(*self.columns):
            return
        columns = [np.asarray(each.values, np.float64) for each in self.columns]
        points, weights = columns[: len(found.axes)], columns[len(found.axes) :]
        integral = [isinstance(axis, hist.axis.Integer) for axis in found.axes]
        points = [each.astype(int) if whole else each for each, whole in zip(points, integral, strict=True)]
        places = [bins_on(axis, each) for axis, each in zip(found.axes, points, strict=True)]
        if "automatic" in what:
            inside = [(at >= 0) & (at < axis.size) for at, axis in zip(places, found.axes, strict=True)]
            assert all(np.all(at | ~np.isfinite(x)) for at, x in zip(inside, points, strict=True)), what
        shifted = [at + axis.traits.underflow for at, axis in zip(places, found.axes, strict=True)]
        shape = found.values(flow=True).shape
        flat = np.ravel_multi_index(tuple(shifted), shape) if len(points[0]) else np.zeros(0, int)
        order = np.argsort(flat, kind="stable")
        cells = np.split(
            (weights or [np.ones(len(flat))])[0][order],
            np.searchsorted(flat[order], np.arange(1, math.prod(shape))),
        )
        sums = np.reshape([math.fsum(each) for each in cells], shape)
        assert np.array_equal(sums, found.values(flow=True)), what


class ProfileOf:
    """The sums of weights, and means."""

    def __init__(self, x: Known, y: Known, w: Known) -> None:
        self.x, self.y, self.w = x, y, w

    def check(self, found: Any, what: str) -> None:
        bins = bins_of(self.x, -4, 9)
        if bins is None or not is_exact(self.y, self.w):
            return
        for k, view in enumerate(found.view()):
            y, w = self.y.values[bins == k + 1], self.w.values[bins == k + 1]
            total, size = math.fsum(w), math.fsum(abs(w * y))
            assert view.sum_of_weights == total, what
            if total != 0:
                near = 2.0**-50 * size / abs(total)
                assert abs(view.value - math.fsum(w * y) / total) <= near, what


class StatsOf:
    """How many values count, what weights they have, and where they are."""

    def __init__(self, x: Known, w: Known) -> None:
        self.x, self.w = x, w

    def check(self, found: Any, what: str) -> None:
        counts = self.w.values != 0
        assert found.count == counts.sum(), what
        if is_exact(self.w):
            assert found.sum_of_weights == math.fsum(self.w.values), what
        if is_exact(self.x) and counts.any():
            assert found.min == self.x.values[counts].min(), what
            assert found.max == self.x.values[counts].max(), what


class CountsOf:
    """Different values, and how often they are there."""

    def __init__(self, column: Known) -> None:
        values, counts = np.unique(column.values, return_counts=True)
        self.counts = dict(zip(values.tolist(), counts.tolist(), strict=True))

    def check(self, found: Any, what: str) -> None:
        assert found == (self.counts if isinstance(found, dict) else sorted(self.counts)), what


class PointsOf:
    def __init__(self, x: Known, y: Known) -> None:
        self.x, self.y = x, y

    def check(self, found: Any, what: str) -> None:
        for values, column in ((found.x, self.x), (found.y, self.y)):
            assert not is_exact(column) or np.array_equal(values, column.values, equal_nan=True), what


MODEL = ("h", "", 7, -4.0, 9.0)


def flat_known(column: Known) -> Known:
    return Known(flat_numbers(column.values), None if column.within is None else flat_numbers(column.within))


def all_within(column: Known) -> float | None:
    return None if column.within is None else float(np.sum(flat_numbers(column.within)))


def sum_of(column: Known) -> Known:
    return Known(math.fsum(column.values), all_within(column))


def least_of(column: Known) -> Known | None:
    return Known(column.values.min(), all_within(column)) if len(column.values) else None


def greatest_of(column: Known) -> Known | None:
    return Known(column.values.max(), all_within(column)) if len(column.values) else None


def spread_of(column: Known) -> Known | None:
    if len(column.values) < 2 or not is_exact(column):
        return None
    mean = math.fsum(column.values) / len(column.values)
    squares = math.fsum((column.values - mean) ** 2) / (len(column.values) - 1)
    return Known(math.sqrt(squares), 2.0**-40 * float(np.max(abs(column.values))))


def quantiles_of(column: Known) -> Known | None:
    return Known(np.quantile(column.values, [0.1, 0.5])) if len(column.values) and is_exact(column) else None


def rounded_sum_of(column: Known, unit: float) -> Known | None:
    """Of additions that are rounded one by one, in some order, each by so much of the sum at most."""
    if not len(column.values):
        return None
    rounding = len(column.values) * unit * math.fsum(abs(column.values))
    return Known(math.fsum(column.values), rounding + (all_within(column) or 0))


def mean_of(lists: Known) -> Known | None:
    flat = flat_known(lists)
    count = len(flat.values)
    if count == 0:
        return None
    mean = math.fsum(flat.values) / count  # rounded twice
    return Known(mean, (all_within(flat) or 0) / count + 2.0**-52 * abs(mean))


def bins_of(column: Known, low: float, high: float) -> Any:
    """Of seven bins; None if it hangs on last bits. Borders but for the ends are no values that columns have."""
    found = [np.where(each == high, 8, np.digitize(each, np.linspace(low, high, 8))) for each in column.ends]
    return found[0] if np.array_equal(found[0], found[-1]) else None


def counts_in_bins(lists: Known) -> Known | None:
    bins = bins_of(flat_known(lists), -4, 90)
    return None if bins is None else Known(np.bincount(bins, minlength=9)[1:8])


def weights_in_bins(column: Known, weights: Known) -> Known | None:
    bins = bins_of(column, -4, 9)
    if bins is None:
        return None
    sums = [math.fsum(weights.values[bins == k]) for k in range(1, 8)]
    if weights.within is None:
        return Known(np.array(sums))
    return Known(np.array(sums), np.bincount(bins, weights.within, minlength=9)[1:8])


# ---- Outcomes


def bits(value: Any) -> Any:
    """All of a value, as something that is equal only for equal bits."""
    if isinstance(value, colonnade.frame.results.Variations):
        return [(name, bits(each)) for name, each in value.items()]
    if hasattr(value, "view") and hasattr(value, "axes"):
        return value.view(flow=True).tobytes().hex(), [
            np.asarray(axis.edges).tobytes().hex() for axis in value.axes
        ]
    if isinstance(value, ak.Array):
        _, length, container = ak.to_buffers(ak.to_packed(value))
        return length, [(key, np.asarray(part).tobytes().hex()) for key, part in sorted(container.items())]
    if isinstance(value, colonnade.frame.results.GraphPoints):
        return [bits(value.x), bits(value.y)]
    if isinstance(value, np.ndarray | np.generic | float | int):
        return np.asarray(value).dtype.str, np.asarray(value).tobytes().hex()
    return repr(value)


def outcome(analysis: Analysis) -> list[Any]:
    found = []
    for each in analysis.booked:
        value = each.result
        if value is not None and not isinstance(value, colonnade.frame.results.Variations):
            value = each.look(value.value)
        found.append(bits(value))
    return found


def flat_numbers(value: Any) -> Any:
    if hasattr(value, "values") and hasattr(value, "axes"):
        return value.values()
    return np.asarray(ak.to_numpy(ak.flatten(value, axis=None)) if isinstance(value, ak.Array) else value)


def forget_values(result: Any) -> None:
    """Drop what was looked at before results were merged."""
    getattr(result, "_values", {}).clear()
    for each in [*getattr(result, "_parts", ()), getattr(result, "_result", None)]:
        if each is not None:
            forget_values(each)


class Case:
    """The analysis of a seed over its data."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.data = random_data(rng)
        self.source, self.of_files = random_source(rng, self.data, folder)
        self.side = random_side(rng, self.data, folder)
        self.folder, self.runs = folder, itertools.count()
        self.block_entries = int(rng.choice([3, 100, 100_000]))

    def grown(
        self,
        threads: int,
        entries: tuple[int, int] | None = None,
        only: int | None = None,
        merging: bool = False,
        variation: str | None = None,
        **of_frame: Any,
    ) -> Analysis:
        more = {"threads": threads, "progress": False, "block_entries": self.block_entries, **of_frame}
        if isinstance(self.source, dict):
            frame = DataFrame.from_arrays(self.source, **more)
            if entries is not None:
                frame._session.graph.restrict_entries(*entries)
        else:
            files, friend = self.source if isinstance(self.source, tuple) else (self.source, None)
            friends = None if friend is None else {"beside": friend}
            frame = DataFrame("Events", files, entries=entries, friends=friends, **more)
        place = self.folder / f"run {next(self.runs)}"
        place.mkdir()
        return Grower(self, frame, place, only, merging, variation).analysis

    def check(self) -> list[Any]:
        first = self.grown(1)
        reference = outcome(first)
        self.check_values(first)
        for threads in THREADS[1:]:
            analysis = self.grown(threads)
            self.compare(outcome(analysis), reference, f"{threads} threads")
            report = analysis.frame._session.last_run
            assert report.workers == threads or report.parts < 6 * threads + 4
            assert analysis.has_range or report.parts >= len(self.data["n"]) // PART_ENTRIES
        alone = random.Random(self.seed).randrange(len(reference))
        self.compare([outcome(self.grown(2, only=alone))[alone]], [reference[alone]], f"result {alone} alone")
        self.check_variation(first)
        self.check_stretches(first, reference)
        self.check_tasks(reference)
        return reference

    @staticmethod
    def compare(found: list[Any], reference: list[Any], what: str) -> None:
        for number, (one, other) in enumerate(zip(found, reference, strict=True)):
            assert one == other, f"result {number} differs with {what}"

    @staticmethod
    def check_values(analysis: Analysis) -> None:
        for number, each in enumerate(analysis.booked):
            expected = each.expected() if each.expected is not None else None
            if expected is None:
                continue
            if not isinstance(expected, Known):
                expected.check(each.look(each.result.value), f"result {number}, {each.kind}")
                continue
            found, values = flat_numbers(each.result.value), np.asarray(expected.values)
            what = f"result {number}, {each.kind}: {found} instead of {values}"
            assert found.shape == values.shape, what
            with np.errstate(all="ignore"):
                near = abs(found - values) <= (0 if expected.within is None else expected.within)
            assert np.all(near | (found == values) | (np.isnan(found) & np.isnan(values))), what

    def check_variation(self, first: Analysis) -> None:
        """One of them against the redefinition that it stands for."""
        if not first.variations:
            return
        name = random.Random(self.seed).choice(first.variations)
        plain_analysis = self.grown(3, variation=name)
        self.check_values(plain_analysis)
        for number, (varied, other) in enumerate(zip(first.booked, plain_analysis.booked, strict=True)):
            if varied.kind == "variations" and varied.result is not None:
                key = name if name in varied.result.keys() else "nominal"  # noqa: SIM118
                assert bits(varied.result[key]) == bits(other.result.value), f"result {number}: {name}"

    # ---- Stretches of entries, merged

    def check_stretches(self, first: Analysis, reference: list[Any]) -> None:
        if first.has_range:
            return
        borders = first.frame._session.source.part_borders()
        chosen = random.Random(self.seed)
        inner = sorted(chosen.sample(borders[1:-1], min(2, len(borders) - 2)))
        if not inner:
            return
        stretches = list(itertools.pairwise([0, *inner, borders[-1]]))
        for from_left in (True, False):
            parts = [self.grown(2, stretch, merging=True) for stretch in stretches]
            for part in parts:
                outcome(part)
            graphs = [part.frame._session.graph for part in parts]
            order = range(1, len(graphs)) if from_left else range(len(graphs) - 1, 0, -1)
            for k in order:
                into = graphs[0] if from_left else graphs[k - 1]
                into.merge_results(graphs[k].save_results())
            merged = parts[0]
            for each in merged.booked:
                forget_values(each.result)
            found = [
                one if each.result is not None else other
                for one, other, each in zip(outcome(merged), reference, merged.booked, strict=True)
            ]
            self.compare(found, reference, f"stretches {stretches}, {'left' if from_left else 'right'} first")

    def check_tasks(self, reference: list[Any]) -> None:
        """As tasks of an engine, in any order and grouping."""
        if isinstance(self.source, dict):
            return
        chosen = random.Random(self.seed)
        engine = Shuffled(chosen.getrandbits(32))
        analysis = self.grown(1, executor=engine, npartitions=chosen.randint(1, 40))
        with unittest.mock.patch.object(
            colonnade.distributed.plans, "_SLICE_BYTES", chosen.choice([1 << 28, 2000])
        ):
            self.compare(outcome(analysis), reference, "tasks of an engine")
        assert analysis.frame.num_runs == 0


def digests(seeds: Iterable[int], folder: Path) -> dict[str, list[str]]:
    found = {}
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        results = outcome(Case(seed, place).grown(2))
        found[str(seed)] = [hashlib.sha256(repr(each).encode()).hexdigest() for each in results]
    return found


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", str(PART_ENTRIES))
    # The trial of callables on two entries, and compilation, would take most of the time.
    monkeypatch.setitem(sys.modules, "numba", None)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs(seed, tmp_path):
    Case(seed, tmp_path).check()


@pytest.mark.parametrize("seed", [0])
def test_other_processors_give_the_same_bits(seed, tmp_path):
    seeds = range(seed, seed + 8)
    (tmp_path / "here").mkdir()
    found = digests(seeds, tmp_path / "here")
    best = PROCESSORS.index(colonnade._core.instruction_set())
    for processor in PROCESSORS[:best]:
        (tmp_path / processor).mkdir()
        run = subprocess.run(
            [sys.executable, __file__, str(tmp_path / processor), *map(str, seeds)],
            env={**os.environ, "COLONNADE_CPU": processor},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        answer = json.loads(run.stdout)
        assert answer["processor"] == processor  # its kernels are those that ran
        for one, others in answer["digests"].items():
            differ = [k for k, (a, b) in enumerate(zip(found[one], others, strict=True)) if a != b]
            assert not differ, f"seed {one}: results {differ} differ on {processor}"


if __name__ == "__main__":
    sys.modules["numba"] = None  # type: ignore[assignment]
    print(
        json.dumps(
            {
                "digests": digests([int(each) for each in sys.argv[2:]], Path(sys.argv[1])),
                "processor": colonnade._core.instruction_set(),
            }
        )
    )
