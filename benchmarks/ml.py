#!/usr/bin/env python3
"""Measures batches for training: `ml.Batches`, ROOT's RDataLoader, and plain reading of the same columns.

Each run is a process of its own that goes through one epoch of a file in the page cache, after a warm-up on a small
one. The clock runs from opening the file to the last batch. All batches are NumPy arrays of float32; each side adds up
one column, and all must agree. Bytes are those of the decoded columns. Tasks: numbers as a matrix, lists padded in a
matrix (both as RDataLoader gives them), and lists with offsets, which it lacks; shuffled or not. "reading" takes the
same columns as arrays, in steps: the limit that decoding sets. Targets: 3 times RDataLoader, and 2 GB/s or that
limit. Saved are ml.md and ml.json.

    python benchmarks/ml.py --entries 4000000 --repeats 3
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    BenchmarkError,
    Run,
    Series,
    alternate,
    describe_machine,
    machine,
    options_for,
    ratios,
    run,
    save_report,
    spread,
    table_of,
)
from disk import check_space

NUMBERS = [f"x{k}" for k in range(16)]
LISTS = ["pt", "eta"]
LENGTH = 4
COLUMNS = {"numbers": NUMBERS, "padded": ["x0", *LISTS], "lists": ["x0", *LISTS]}
CODECS = {"zstd": "zstd:5", "none": "none"}
TASKS = tuple(f"{kind}{how}" for kind in COLUMNS for how in ("", ", shuffled"))
SEED = 1


def write(path: Path, entries: int, codec: str) -> None:
    """16 numbers, a label, and two lists of 3 items in the mean. Numbers have the precision of a measurement."""
    import awkward as ak
    import numpy as np

    import colonnade

    random = np.random.default_rng(SEED)

    def measured(count: int) -> Any:
        return (np.round(random.normal(0, 1, count) * 1024) / 1024).astype(np.float32)

    with colonnade.create(path, "Events", compression=codec) as writer:
        for first in range(0, entries, 500_000):
            rows = min(500_000, entries - first)
            counts = random.poisson(3, rows)
            columns: dict[str, Any] = {name: measured(rows) for name in NUMBERS}
            columns |= {name: ak.unflatten(measured(int(counts.sum())), counts) for name in LISTS}
            columns["label"] = random.integers(0, 2, rows).astype(np.int32)
            writer.extend(columns)


def decoded_bytes(path: Path, kind: str) -> int:
    """The bytes of the columns, without what says how long lists are."""
    import awkward as ak

    import colonnade

    with colonnade.open(path) as data:
        arrays = data.iterate([*COLUMNS[kind], "label"], step_size="50 MB")
        return sum(
            ak.to_numpy(ak.flatten(step[name], axis=None)).nbytes for step in arrays for name in step.fields
        )


# ---- The sides: each yields a column of each batch, and their number of rows


def batches(path: Path, kind: str, shuffled: bool, options: argparse.Namespace) -> Iterator[tuple[Any, int]]:
    from colonnade import DataFrame, ml

    loader = ml.Batches(
        DataFrame("Events", path, threads=options.threads),
        COLUMNS[kind],
        target="label",
        batch_size=options.batch,
        window=options.window,
        shuffle=shuffled,
        seed=SEED,
        matrix=kind != "lists",
        dtype="float32",
        pad=LENGTH if kind == "padded" else None,
    )
    for features, target, _, _ in loader:
        yield features["x0"] if kind == "lists" else features[:, 0], len(target)


def root_batches(
    path: Path, kind: str, shuffled: bool, options: argparse.Namespace
) -> Iterator[tuple[Any, int]]:
    import ROOT  # type: ignore[import-untyped]

    if options.threads > 1:
        ROOT.EnableImplicitMT(options.threads)
    loader = ROOT.Experimental.ML.RDataLoader(
        ROOT.RDataFrame("Events", str(path)),
        batch_size=options.batch,
        batches_in_memory=options.window // options.batch,
        columns=[*COLUMNS[kind], "label"],
        max_vec_sizes=dict.fromkeys(LISTS, LENGTH) if kind == "padded" else {},
        target="label",
        shuffle=shuffled,
        drop_remainder=False,
        set_seed=SEED,
    )
    for features, target in loader.as_numpy():
        yield features[:, 0], len(target)


def steps(path: Path, kind: str, shuffled: bool, options: argparse.Namespace) -> Iterator[tuple[Any, int]]:
    import awkward as ak

    import colonnade

    del shuffled, options
    with colonnade.open(path) as data:
        for step in data.iterate([*COLUMNS[kind], "label"], step_size="50 MB"):
            yield ak.to_numpy(step["x0"]), len(step)


SIDES = {"colonnade": batches, "ROOT": root_batches, "reading": steps}


def measure(side: str, task: str, path: Path, options: argparse.Namespace) -> None:
    """Do it, and report in one line."""
    import numpy as np
    from frame_python import resident_kib

    kind, _, how = task.partition(", ")

    def work(on: Path) -> tuple[float, int]:
        total, rows = 0.0, 0
        for values, count in SIDES[side](on, kind, how == "shuffled", options):
            total += float(np.sum(values, dtype=np.float64))
            rows += count
        return total, rows

    work(path.with_name("warm.root"))
    start, start_cpu = time.perf_counter(), time.process_time()
    total, rows = work(path)
    said = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "max_rss_kib": resident_kib("VmHWM"),
        "rows": rows,
        "total": total,
    }
    print(json.dumps(said))


# ---- The table


def check(series: dict[str, Series]) -> None:
    """All sides must have given the same rows; values are multiples of 1/1024, so that sums are exact."""
    seen = {(each["rows"], each["total"]) for side in series.values() for each in side.runs}
    if len(seen) > 1:
        raise BenchmarkError(f"the sides have different rows: {sorted(seen)}")


def row(codec: str, task: str, series: dict[str, Series], size: int) -> dict[str, str]:
    ours, root = series[f"colonnade: {task}"], series.get(f"ROOT: {task}")
    reading = series[f"reading: {task.partition(', ')[0]}"]

    def rate(side: Series) -> list[float]:
        return [size / seconds / 1e9 for seconds in side.seconds]

    limit = min(2.0, statistics.median(rate(reading)))
    met = statistics.median(rate(ours)) >= limit
    times = ratios(root, ours) if root else []
    return {
        "file": codec,
        "batches of": task,
        "GB/s": spread(rate(ours)),
        "reading, GB/s": spread(rate(reading)),
        "2 GB/s or the limit": "met" if met else f"{statistics.median(rate(ours)) / limit:.2f} of it",
        "RDataLoader, GB/s": spread(rate(root), ".3f") if root else "-",
        "times RDataLoader": spread(times, ".1f") if root else "-",
        "at least 3": ("met" if statistics.median(times) >= 3 else "missed") if root else "-",
        "CPU seconds": f"{statistics.median(ours.values('cpu_seconds')):.2f}",
        "memory, MB": f"{ours.max_rss_kib / 1024:.0f}"
        + (f" ({root.max_rss_kib / 1024:.0f})" if root else ""),
    }


def save(
    rows: list[dict[str, str]], runs: dict[str, list[Run]], about: dict[str, Any], options: argparse.Namespace
) -> str:
    if options.add:
        old = json.loads((options.output / "ml.json").read_text())
        measured_now = {(row["file"], row["batches of"]) for row in rows}
        rows = [row for row in old["rows"] if (row["file"], row["batches of"]) not in measured_now] + rows
        runs = old["runs"] | runs
    saved = {"about": about, "entries": options.entries, "rows": rows, "runs": runs}
    lines = [
        "# Batches for training",
        "",
        *describe_machine(about),
        f"{options.entries} entries, batches of {options.batch}, windows of {options.window} rows;",
        f"{options.threads} threads, {options.repeats} rounds; median (range). Memory of RDataLoader in brackets.",
        "",
        *table_of(rows),
    ]
    return save_report(options.output, "ml", lines, saved)


def measured(
    folder: Path, codec: str, options: argparse.Namespace
) -> tuple[list[dict[str, str]], dict[str, list[Run]]]:
    """The rows of one file."""
    path = folder / codec / "events.root"
    path.parent.mkdir()
    for name, entries in (("events", options.entries), ("warm", 5 * options.batch)):
        make = (
            sys.executable,
            __file__,
            "--make",
            path.with_name(f"{name}.root"),
            codec,
            "--entries",
            str(entries),
        )
        subprocess.run(make, check=True)
    shared = ["--batch", options.batch, "--window", options.window, "--threads", options.threads]

    def side(who: str, task: str) -> Callable[[], Run]:
        return partial(run, sys.executable, __file__, *shared, "--measure", who, task, path)

    rows: list[dict[str, str]] = []
    runs: dict[str, list[Run]] = {}
    for kind in options.only or COLUMNS:
        size = decoded_bytes(path, kind)
        tasks = [task for task in TASKS if task.partition(", ")[0] == kind]
        names = [("reading", kind)] + [("colonnade", task) for task in tasks]
        if kind != "lists" and not options.without_root:
            names += [("ROOT", task) for task in tasks]
        series = alternate(options.repeats, {f"{who}: {task}": side(who, task) for who, task in names})
        check(series)
        rows += [row(codec, task, series, size) for task in tasks]
        runs |= {f"{codec}: {name}": each.runs for name, each in series.items()}
    return rows, runs


def main() -> None:
    parser = options_for(__doc__, 3)
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--window", type=int, default=1 << 18, help="rows that are shuffled together")
    parser.add_argument("--only", nargs="+", choices=COLUMNS, help="these tasks alone")
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=list(CODECS))
    parser.add_argument(
        "--add", action="store_true", help="keep the rows of ml.json that are not measured now"
    )
    parser.add_argument("--without-root", action="store_true")
    parser.add_argument("--make", nargs=2, metavar=("PATH", "CODEC"), help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, metavar=("SIDE", "TASK", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        write(Path(options.make[0]), options.entries, CODECS[options.make[1]])
        return
    if options.measure:
        side, task, path = options.measure
        measure(side, task, Path(path), options)
        return
    about = machine()
    rows: list[dict[str, str]] = []
    runs: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-ml-", dir=options.work) as folder:
        check_space(Path(folder), options.entries * 120 * len(options.codecs))
        for codec in options.codecs:
            of_file, runs_of_file = measured(Path(folder), codec, options)
            rows += of_file
            runs |= runs_of_file
    print(save(rows, runs, about, options))


if __name__ == "__main__":
    main()
