#!/usr/bin/env python3
"""Measures loops in texts against ROOT, which compiles them, and against functions of lists where they do the same.

Each run is a process of its own, with the file in the page cache. The clock runs from making the data frame until the
sum of what the loop gives is there; the same text was computed for a few entries before, for which ROOT has compiled it
already. All must have the same sum. Saved are loops.md and loops.json.

    python benchmarks/loops.py --entries 4000000 --repeats 5
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
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

TEXTS = {
    "sum of some items": "float s = 0; for (auto x : pt) if (x > 20) s += x; return s;",
    "by index, two lists": "float s = 0; for (size_t i = 0; i < pt.size(); ++i) {"
    " if (abs(eta[i]) > 1) continue; s += pt[i] * eta[i]; } return s;",
    "pairs": "int n = 0; for (size_t i = 0; i < pt.size(); ++i) for (size_t j = i + 1; j < pt.size(); ++j)"
    " if (pt[i] + pt[j] > 60) n++; return n;",
    "a list that grows": "ROOT::RVecF v; for (auto x : pt) if (x > 20) v.push_back(x / 2); return Sum(v);",
    "until a condition holds": "for (auto x : pt) if (x > 40) return x; return 0.f;",
}
SAME = {
    "sum of some items": "Sum(pt[pt > 20])",
    "by index, two lists": "Sum((pt * eta)[abs(eta) <= 1])",
    "a list that grows": "Sum(pt[pt > 20] / 2)",
}
"""Functions of lists that do the same."""


def write(folder: Path, entries: int) -> None:
    import awkward as ak
    import numpy as np

    import colonnade

    random = np.random.default_rng(1)
    types = {"pt": "std::vector<float>", "eta": "std::vector<float>"}
    # ROOT's threads share a file by its clusters.
    with colonnade.create(
        folder / "events.root", "Events", types, compression="lz4:4", cluster_size="8 MB"
    ) as writer:
        for first in range(0, entries, 500_000):
            sizes = random.poisson(5, min(500_000, entries - first))
            items = int(sizes.sum())
            pt = random.exponential(25, items).astype(np.float32)
            eta = random.normal(0, 1.5, items).astype(np.float32)
            writer.extend({"pt": ak.unflatten(pt, sizes), "eta": ak.unflatten(eta, sizes)})


def with_colonnade(threads: int, text: str, folder: Path) -> float:
    from colonnade import DataFrame

    df = DataFrame("Events", folder / "events.root", threads=threads)
    return float(df.define("y", text).sum("y").value)


def with_root(root: Any, text: str, folder: Path) -> float:
    frame = root.RDataFrame("Events", str(folder / "events.root"))
    return float(frame.Define("y", text).Sum["double"]("y").GetValue())


def measure(side: str, task: str, folder: Path, threads: int) -> None:
    """Do it, and report in one line."""
    from frame_python import resident_kib

    text = SAME[task] if side == "lists" else TEXTS[task]
    if side == "ROOT":
        import ROOT  # type: ignore[import-untyped]

        ROOT.EnableImplicitMT(threads)
        text = f"double({text})" if "return" not in text else f"return double([&] {{ {text} }}());"
        work = partial(with_root, ROOT, text)
    else:
        work = partial(with_colonnade, threads, text)
    work(folder.parent / "warm")
    start, start_cpu = time.perf_counter(), time.process_time()
    total = work(folder)
    said = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "max_rss_kib": resident_kib("VmHWM"),
        "sum": total,
    }
    print(json.dumps(said))


def check(series: dict[str, Series]) -> None:
    for task in TEXTS:
        sums = [
            each["sum"] for name, side in series.items() if name.endswith(f": {task}") for each in side.runs
        ]
        if not all(math.isclose(one, sums[0], rel_tol=1e-6) for one in sums):
            raise BenchmarkError(f"{task}: the sides have different sums: {sums}")


def row(task: str, series: dict[str, Series]) -> dict[str, Any]:
    loop, compiled = series[f"loop: {task}"], series[f"ROOT: {task}"]
    lists = series.get(f"lists: {task}")
    return {
        "loop": task,
        "seconds": spread(loop.seconds, ".3f"),
        "ROOT, seconds": spread(compiled.seconds, ".3f"),
        "times ROOT": spread(ratios(compiled, loop), ".2f"),
        "functions of lists, seconds": spread(lists.seconds, ".3f") if lists else "-",
        "their gain": spread(ratios(loop, lists), ".1f") if lists else "-",
        "CPU seconds": spread(loop.values("cpu_seconds"), ".3f"),
        "of ROOT": spread(compiled.values("cpu_seconds"), ".3f"),
    }


def save(series: dict[str, Series], about: dict[str, Any], options: argparse.Namespace) -> str:
    rows = [row(task, series) for task in TEXTS]
    runs: dict[str, list[Run]] = {name: side.runs for name, side in series.items()}
    saved = {"about": about, "entries": options.entries, "rows": rows, "runs": runs}
    lines = [
        "# Loops in texts",
        "",
        *describe_machine(about),
        f"{options.entries} entries with lists of 5 items on average; {options.threads} threads;",
        f"{options.repeats} rounds; median (range).",
        "",
        *table_of(rows),
        "",
        *(f"- {task}: `{text}`" for task, text in TEXTS.items()),
    ]
    return save_report(options.output, "loops", lines, saved)


def main() -> None:
    parser = options_for(__doc__, 5)
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, metavar=("SIDE", "TASK", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        write(options.make, options.entries)
        return
    if options.measure:
        side, task, folder = options.measure
        measure(side, task, Path(folder), options.threads)
        return
    about = machine()
    with tempfile.TemporaryDirectory(prefix="bench-loops-", dir=options.work) as name:
        folder = Path(name)
        check_space(folder, options.entries * 60)
        for stem, entries in (("all", options.entries), ("warm", 1000)):
            (folder / stem).mkdir()
            make = [sys.executable, __file__, "--make", str(folder / stem), "--entries", str(entries)]
            subprocess.run(make, check=True)
        sides = {
            f"{side}: {task}": partial(
                run,
                sys.executable,
                __file__,
                "--threads",
                options.threads,
                "--measure",
                side,
                task,
                folder / "all",
            )
            for task in TEXTS
            for side in ("loop", "ROOT", "lists")
            if side != "lists" or task in SAME
        }
        series = alternate(options.repeats, sides)
    check(series)
    print(save(series, about, options))


if __name__ == "__main__":
    main()
