"""Random analyses: the same bits for any number of threads, cut, and processor; the values of NumPy and Awkward.

A seed makes data - in memory, or in a chain of uneven files -, a graph of definitions, filters, ranges, variations and
callables, and results of every kind. Each analysis is computed

- with 1, 2, 3 and 7 threads, of which all work, and once with one result booked alone;
- in two and three stretches of entries whose results are saved and merged, grouped in one way and the other;
- as if on a lesser processor, in a process of its own;
- by NumPy and Awkward, entry by entry of what is wanted.

The first three must agree bit by bit, the last one by value. What failed is run again with

    COLONNADE_RANDOM_SEED=<seed> pytest python/tests/test_random_graphs.py

COLONNADE_RANDOM_SECONDS says for how long seeds are tried; each run begins with others.
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
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np

import colonnade
from colonnade import DataFrame

SECONDS = float(os.environ.get("COLONNADE_RANDOM_SECONDS", "5"))
SEED = os.environ.get("COLONNADE_RANDOM_SEED")
THREADS = (1, 2, 3, 7)
PART_ENTRIES = 16
LESSER_PROCESSORS = ("sse2", "avx2")


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
    }


def random_source(rng: np.random.Generator, data: dict[str, Any], folder: Path) -> Any:
    """The arrays themselves, or names of files of any number of entries, with clusters and pages of any size."""
    if rng.random() < 0.25:
        return data
    entries = len(data["n"])
    edges = sorted({0, entries, *rng.integers(0, entries + 1, rng.integers(0, 4)).tolist()})
    files = []
    for k, (first, last) in enumerate(itertools.pairwise(edges)):
        files.append(str(folder / f"{k}.root"))
        page = int(rng.choice([64, 512, 8192]))
        with colonnade.create(files[-1], "Events", initial_page_size=page, page_size=page) as writer:
            at = first
            while at < last:
                step = int(rng.integers(1, 500))
                writer.extend({name: values[at : min(at + step, last)] for name, values in data.items()})
                writer.commit_cluster()
                at += step
    return files


# ---- Graphs


@dataclass
class Place:
    """A node, and what NumPy knows of it: which entries get there, and what columns hold for all entries."""

    node: Any
    rows: Any
    columns: dict[str, Any]
    scalars: list[str]
    lists: list[str]
    varied: bool = False


@dataclass
class Booked:
    kind: str
    result: Any
    expected: Callable[[], Any] | None
    exact: bool = True
    mergeable: bool = True


@dataclass
class Analysis:
    frame: Any
    booked: list[Booked] = field(default_factory=list)
    has_range: bool = False


def c_float(values: Any) -> Any:
    """As C++ computes with doubles."""
    return (
        ak.values_astype(values, np.float64)
        if isinstance(values, ak.Array)
        else np.asarray(values, np.float64)
    )


SCALARS: list[tuple[str, Callable[..., Any]]] = [
    ("{a} * 1.0 + {b}", lambda a, b, v: c_float(a) + c_float(b)),
    ("{a} * 1.5 - {b}", lambda a, b, v: c_float(a) * 1.5 - c_float(b)),
    ("{a} > {b} ? {a} * 1.0 : {b} / 2.0", lambda a, b, v: np.where(a > b, c_float(a), c_float(b) / 2)),
    ("{v}.size() + {a} * 1.0", lambda a, b, v: ak.num(v) + c_float(a)),
    ("Sum({v} * 2.0) + {a} * 1.0", lambda a, b, v: ak.sum(c_float(v) * 2, axis=1) + c_float(a)),
    ("abs({a} * 1.0) < 2 || {b} > 0 ? 1.0 : 3.0", lambda a, b, v: np.where((abs(c_float(a)) < 2) | (b > 0), 1.0, 3.0)),
    ("sqrt(abs({a} * 1.0)) + {b}", lambda a, b, v: np.sqrt(abs(c_float(a))) + c_float(b)),
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
    ("tag != \"a\"", lambda a, b, v: None),
]  # fmt: skip


def block_function(a: Any) -> Any:
    """Depends on where blocks begin: equal bits mean equal blocks."""
    return c_float(a) - np.mean(c_float(a))


def list_function(v: Any, a: Any) -> Any:
    return ak.sum(v, axis=1) / 3.0 + c_float(a)


def buffer_function(size: int) -> Callable[[Any], Any]:
    """A callable that gives the same memory each time."""
    buffer = np.empty(size)

    def fill(a: Any) -> Any:
        return np.multiply(a, 2.0, out=buffer[: len(a)])

    return fill


def row_function(a: float, v: Any) -> float:
    total = float(a)
    for value in v:
        total += float(value)
    return total


class Grower:
    """Makes the graph of a seed; the same one over any source of the same data."""

    def __init__(self, seed: int, data: dict[str, Any], frame: Any, most_results: int | None = None) -> None:
        self.random = random.Random(seed)
        self.data, self.analysis = data, Analysis(frame)
        entries = len(data["n"])
        columns = {**data, "rdfentry_": np.arange(entries)}
        root = Place(frame, np.arange(entries), columns, ["n", "x", "f", "w"], ["pt", "jet.e"])
        columns["jet.e"] = data["jet"]["e"]
        self.places, self.names = [root], (f"c{k}" for k in itertools.count())
        self.only = most_results
        for _ in range(self.random.randint(3, 10)):
            self.grow()
        for kind in self.random.choices(list(self.kinds()), k=self.random.randint(4, 9)):
            self.book(kind)

    def names_in(self, place: Place) -> dict[str, str]:
        return {
            "a": self.random.choice(place.scalars),
            "b": self.random.choice(place.scalars),
            "v": self.random.choice(place.lists),
        }

    def grow(self) -> None:
        place = self.random.choice(self.places)
        how = self.random.choice(
            ["scalar", "scalar", "list", "filter", "filter", "range", "vary", "block", "block", "rows"]
        )
        made = Place(
            place.node, place.rows, dict(place.columns), list(place.scalars), list(place.lists), place.varied
        )
        name, used = next(self.names), self.names_in(place)
        values = {key: place.columns[column] for key, column in used.items()}
        if how in ("scalar", "list"):
            text, function = self.random.choice(SCALARS if how == "scalar" else LISTS)
            made.node = place.node.define(name, text.format(**used))
            made.columns[name] = function(**values)
            (made.scalars if how == "scalar" else made.lists).append(name)
        elif how == "filter":
            text, function = self.random.choice(CONDITIONS)
            made.node = place.node.filter(text.format(**used), name=name)
            passes = self.data["tag"] != "a" if "tag" in text else function(**values)
            made.rows = place.rows[np.asarray(passes)[place.rows]]
        elif how == "range":
            first, step = self.random.randint(0, 20), self.random.randint(1, 3)
            last = first + self.random.randint(1, 500)
            made.node = place.node.range(first, last, step)
            made.rows = place.rows[first:last:step]
            self.analysis.has_range = True
        elif how == "vary":
            column = used["a"] if used["a"] not in ("n", "f") else "x"
            made.node = place.node.vary(column, f"{{{column} * 0.5, {column} * 2.0}}", ["down", "up"], name)
            made.varied = True
        elif how == "block" and self.random.random() < 0.5:
            made.node = place.node.define(name, block_function, [used["a"]], returns="double")
            made.columns[name] = None  # depends on the blocks
        elif how == "block" and self.random.random() < 0.3:
            made.node = place.node.define(
                name, buffer_function(len(self.data["n"])), [used["a"]], returns="double"
            )
            made.columns[name] = c_float(values["a"]) * 2.0
            made.scalars.append(name)
        elif how == "block":
            made.node = place.node.define(name, list_function, [used["v"], used["a"]], returns="double")
            made.columns[name] = list_function(values["v"], values["a"])
            made.scalars.append(name)
        else:
            made.node = place.node.define(
                name, row_function, [used["a"], used["v"]], per_row=True, returns="double"
            )
            made.columns[name] = c_float(values["a"]) + ak.sum(c_float(values["v"]), axis=1)
            made.scalars.append(name)
        if made.columns.get(name, 0) is None:
            self.book_blocks(made, name)
            return
        self.places.append(made)

    # ---- Results

    @staticmethod
    def kinds() -> tuple[str, ...]:
        return (
            "count", "sum", "min", "mean", "stddev", "stats", "histo1d", "histo1d", "histo2d", "profile1d", "take",
            "take list", "graph", "reduce", "reduce empty", "aggregate", "fill", "variations", "display", "report",
        )  # fmt: skip

    def add(
        self, kind: str, result: Callable[[], Any], expected: Callable[[], Any] | None = None, **more: Any
    ) -> None:
        """Book a result, unless another one is to be booked alone."""
        number = len(self.analysis.booked)
        made = result() if self.only is None or self.only == number else None
        self.analysis.booked.append(Booked(kind, made, expected, **more))

    def book_blocks(self, place: Place, name: str) -> None:
        self.add("take of blocks", lambda: place.node.take(name))

    def book(self, kind: str) -> None:
        place = self.random.choice(self.places)
        names = self.names_in(place)
        node, a, b, v = place.node, names["a"], names["b"], names["v"]
        numbers = np.asarray(c_float(place.columns[a]), dtype=np.float64)[place.rows]
        others = np.asarray(c_float(place.columns[b]), dtype=np.float64)[place.rows]
        lists = place.columns[v][place.rows]
        model = ("h", "", 7, -4.0, 9.0)
        edges = np.linspace(-4, 9, 8)
        some = len(place.rows) > 0
        if kind == "count":
            self.add(kind, node.count, lambda: len(place.rows))
        elif kind == "sum":
            self.add(kind, lambda: node.sum(a), lambda: math.fsum(numbers), exact=False)
        elif kind == "min":
            self.add(kind, lambda: node.min(a), (numbers.min) if some else None)
        elif kind == "mean":
            self.add(
                kind,
                lambda: node.mean(v),
                (lambda: math.fsum(ak.flatten(c_float(lists))) / ak.count(lists))
                if ak.count(lists)
                else None,
                exact=False,
            )
        elif kind == "stddev":
            self.add(kind, lambda: node.stddev(a))
        elif kind == "stats":
            self.add(kind, lambda: node.stats(a, "w"))
        elif kind == "histo1d":
            flat = np.asarray(ak.flatten(c_float(lists)))
            self.add(kind, lambda: node.histo1d(("h", "", 7, -4.0, 90.0), v),
                     lambda: np.histogram(flat[flat != 90], 7, (-4, 90))[0])  # fmt: skip
            self.add(kind, lambda: node.histo1d(model, a, b),
                     lambda: np.histogram(numbers[numbers != 9], edges, weights=others[numbers != 9])[0],
                     exact=False)  # fmt: skip
        elif kind == "histo2d":
            self.add(kind, lambda: node.histo2d((*model, 3, -2.0, 5.0), a, b, "w"))
        elif kind == "profile1d":
            self.add(kind, lambda: node.profile1d(model, a, b, "w"))
        elif kind == "take":
            self.add(kind, lambda: node.take(a), lambda: numbers, exact=False)
        elif kind == "take list":
            self.add(kind, lambda: node.take(v), lambda: ak.flatten(lists, axis=None), exact=False)
        elif kind == "graph":
            self.add(kind, lambda: node.graph(a, b))
        elif kind == "reduce":
            self.add(kind, lambda: node.reduce(np.add, a))
            self.add(kind, lambda: node.reduce(lambda s, t: s * 0.5 + t, a))
        elif kind == "reduce empty":
            self.add(kind, lambda: node.reduce(np.maximum, "empty"))
            self.add(kind, lambda: node.reduce(np.add, "empty", start=3.0), lambda: 3.0)
        elif kind == "aggregate":
            self.add(
                kind,
                lambda: node.aggregate(lambda s, x: s + float(np.sum(x)) / 3, lambda s, t: s + t, a, 0.0),
            )
        elif kind == "fill":
            axes = hist.Hist(hist.axis.Regular(5, -4, 9), storage=hist.storage.Weight())
            self.add(kind, lambda: node.fill(axes, a, weight="w"))
        elif kind == "variations" and place.varied:
            self.add(kind, lambda: node.variations_for(node.histo1d(model, a, b)))
            self.add(kind, lambda: node.variations_for(node.sum(a)))
        elif kind == "display":
            self.add(kind, lambda: node.display([a, v], rows=7))
        elif kind == "report":
            self.add(kind, node.report)


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
            value = value.value
        found.append(bits(value))
    return found


def flat_numbers(value: Any) -> Any:
    if hasattr(value, "values") and hasattr(value, "axes"):
        return value.values()
    return np.asarray(ak.to_numpy(ak.flatten(value, axis=None)) if isinstance(value, ak.Array) else value)


class Case:
    """The analysis of a seed over its data."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.data = random_data(rng)
        self.source = random_source(rng, self.data, folder)
        self.block_entries = int(rng.choice([3, 100, 100_000]))

    def grown(
        self, threads: int, entries: tuple[int, int] | None = None, only: int | None = None
    ) -> Analysis:
        more = {"threads": threads, "progress": False, "block_entries": self.block_entries}
        if isinstance(self.source, dict):
            frame = DataFrame.from_arrays(self.source, **more)
            if entries is not None:
                frame._session.graph.restrict_entries(*entries)
        else:
            frame = DataFrame("Events", self.source, entries=entries, **more)
        return Grower(self.seed, self.data, frame, only).analysis

    def check(self) -> list[Any]:
        first = self.grown(1)
        reference = outcome(first)
        self.check_values(first)
        for threads in THREADS[1:]:
            analysis = self.grown(threads)
            self.compare(outcome(analysis), reference, f"{threads} threads")
            report = analysis.frame._session.last_run
            assert report.workers == report.threads or report.parts < 6 * threads + 4
        alone = random.Random(self.seed).randrange(len(reference))
        self.compare([outcome(self.grown(2, only=alone))[alone]], [reference[alone]], f"result {alone} alone")
        self.check_stretches(first, reference)
        return reference

    @staticmethod
    def compare(found: list[Any], reference: list[Any], what: str) -> None:
        for number, (one, other) in enumerate(zip(found, reference, strict=True)):
            assert one == other, f"result {number} differs with {what}"

    @staticmethod
    def check_values(analysis: Analysis) -> None:
        for each in analysis.booked:
            if each.expected is None:
                continue
            with np.errstate(all="ignore"):
                expected = flat_numbers(each.expected())
            found = flat_numbers(each.result.value)
            assert found.shape == expected.shape, each.kind
            if each.exact:
                np.testing.assert_array_equal(found, expected, err_msg=each.kind)
            else:
                largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * largest, err_msg=each.kind)

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
            parts = [self.grown(2, stretch) for stretch in stretches]
            for part in parts:
                outcome(part)
            graphs = [part.frame._session.graph for part in parts]
            order = range(1, len(graphs)) if from_left else range(len(graphs) - 1, 0, -1)
            for k in order:
                into = graphs[0] if from_left else graphs[k - 1]
                into.merge_results(graphs[k].save_results())
            merged = parts[0]
            for each in merged.booked:  # what was looked at before the merging
                getattr(
                    each.result, "_values", getattr(getattr(each.result, "_result", None), "_values", {})
                ).clear()
            self.compare(
                outcome(merged), reference, f"stretches {stretches}, {'left' if from_left else 'right'} first"
            )


def digests(seeds: list[int], folder: Path) -> dict[str, list[str]]:
    found = {}
    for seed in seeds:
        place = folder / f"{seed}-{os.getpid()}"
        place.mkdir()
        results = outcome(Case(seed, place).grown(2))
        found[str(seed)] = [hashlib.sha256(repr(each).encode()).hexdigest() for each in results]
    return found


def test_random_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", str(PART_ENTRIES))
    # The trial of callables on two entries, and compilation, would take most of the time.
    monkeypatch.setitem(sys.modules, "numba", None)
    end = time.monotonic() + SECONDS
    seeds = [int(SEED)] if SEED else []
    found: dict[str, list[str]] = {}
    while (not SEED and (time.monotonic() < end or len(seeds) < 5)) or len(found) < len(seeds):
        seed = seeds[len(found)] if len(found) < len(seeds) else random.SystemRandom().getrandbits(32)
        if not SEED:
            seeds.append(seed)
        place = tmp_path / str(seed)
        place.mkdir()
        try:
            reference = Case(seed, place).check()
        except BaseException:
            print(f"replay with COLONNADE_RANDOM_SEED={seed}")
            raise
        found[str(seed)] = [hashlib.sha256(repr(each).encode()).hexdigest() for each in reference]
    print(f"{len(found)} random graphs, the last one of seed {seeds[-1]}")
    check_other_processors(seeds[-max(5, len(seeds) // 4) :], found, tmp_path)


def check_other_processors(seeds: list[int], found: dict[str, list[str]], folder: Path) -> None:
    for processor in LESSER_PROCESSORS:
        (folder / processor).mkdir()
        run = subprocess.run(
            [sys.executable, __file__, str(folder / processor), *map(str, seeds)],
            env={**os.environ, "COLONNADE_CPU": processor},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        for seed, others in json.loads(run.stdout).items():
            differ = [k for k, (a, b) in enumerate(zip(found[seed], others, strict=True)) if a != b]
            assert not differ, f"COLONNADE_RANDOM_SEED={seed}: results {differ} differ on {processor}"


if __name__ == "__main__":
    sys.modules["numba"] = None  # type: ignore[assignment]
    print(json.dumps(digests([int(each) for each in sys.argv[2:]], Path(sys.argv[1]))))
