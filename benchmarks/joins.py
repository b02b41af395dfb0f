#!/usr/bin/env python3
"""Measures joins: a histogram over a column that is joined by key, over a friend's, and over one of the data set's own.

Both data sets have the same keys, in random order on the other side. Sides are this package and ROOT's
RNTupleProcessor. Each run is a process of its own, with files in the page cache and a warm-up on small ones. The clock
runs from opening the files until the histogram is there, so that it has the table of keys and the reading of both
sides. All must count the same. RNTupleProcessor takes some 0.05 ms for each entry that it looks up, as soon as the
other side has several pages, so it joins fewer entries, and so does this package beside it. Saved are joins.md and
joins.json.

    python benchmarks/joins.py --entries 20000000 --repeats 3
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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

BINS, LOW, HIGH = 100, -5.0, 5.0
TASKS = ("own", "friend", "joined", "joined left")
FEWER = ", fewer entries"
TARGETS = {"friend": "at most 1.1", "joined": "at most 3", "joined left": "-"}

ROOT_CODE = """
#include <ROOT/RNTupleProcessor.hxx>
#include <TH1D.h>
std::unique_ptr<TH1D> fill(const char *left, const char *right, bool has_keys, bool one, int bins, double low,
                           double high) {
  using ROOT::Experimental::RNTupleProcessor;
  std::vector<std::string> keys;
  if (has_keys) keys.push_back("key");
  ROOT::Experimental::RNTupleOpenSpec here("Events", std::string(left)), there("More", std::string(right));
  auto processor = one ? RNTupleProcessor::Create(here) : RNTupleProcessor::CreateJoin(here, there, keys);
  auto y = processor->RequestField<float>(one ? "y" : "More.z");
  auto h = std::make_unique<TH1D>("h", "h", bins, low, high);
  h->SetDirectory(nullptr);
  for ([[maybe_unused]] auto entry : *processor) if (y.HasValue()) h->Fill(*y);
  return h;
}
"""


def write(folder: Path, entries: int) -> None:
    """left.root, right.root (other order), aligned.root (the same order)."""
    import numpy as np

    import colonnade

    random = np.random.default_rng(1)
    keys = random.permutation(entries).astype(np.int64) + 10**12
    values = random.normal(0, 1, entries).astype(np.float32)
    other = random.permutation(entries)
    contents: dict[str, tuple[str, dict[str, Any]]] = {
        "left": ("Events", {"key": keys, "y": values}),
        "aligned": ("More", {"key": keys, "z": values}),
        "right": ("More", {"key": keys[other], "z": values[other]}),
    }
    for stem, (name, columns) in contents.items():
        with colonnade.create(folder / f"{stem}.root", name, compression="zstd:5") as writer:
            for first in range(0, entries, 1_000_000):
                writer.extend({column: data[first : first + 1_000_000] for column, data in columns.items()})


def with_colonnade(threads: int, task: str, folder: Path) -> list[int]:
    import numpy as np

    from colonnade import DataFrame

    left, right = folder / "left.root", folder / "right.root"
    model, column = ("h", "h", BINS, LOW, HIGH), "y"
    if task == "friend":
        df = DataFrame("Events", left, threads=threads, friends={"f": ("More", folder / "aligned.root")})
        column = "z"
    else:
        df = DataFrame("Events", left, threads=threads)
    if task.startswith("joined"):
        df = df.join("More", right, on="key", columns="z", how="left" if task.endswith("left") else "inner")
        column = "z"
    if task == "joined left":
        df, column = df.filter("z.has_value()").define("found", "z.value()"), "found"
    counts: list[int] = np.asarray(df.histo1d(model, column).value.values()).astype(int).tolist()
    return counts


def with_root(fill: Any, task: str, folder: Path) -> list[int]:
    right = folder / ("aligned.root" if task == "friend" else "right.root")
    histogram = fill(str(folder / "left.root"), str(right), task == "joined", task == "own", BINS, LOW, HIGH)
    return [int(histogram.GetBinContent(i + 1)) for i in range(BINS)]


def measure(side: str, task: str, folder: Path, threads: int) -> None:
    """Do it, and report in one line."""
    from frame_python import resident_kib

    work: Callable[[Path], list[int]]
    if side == "ROOT":
        import ROOT  # type: ignore[import-untyped]

        ROOT.gInterpreter.Declare(ROOT_CODE)
        work = partial(with_root, ROOT.fill, task)
    else:
        import hist  # noqa: F401 - so that its import is not measured

        work = partial(with_colonnade, threads, task)
    work(folder.parent / "warm")  # ROOT compiles at the first call, and both sides load and start things
    start, start_cpu = time.perf_counter(), time.process_time()
    counts = work(folder)
    said = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "max_rss_kib": resident_kib("VmHWM"),
        "counts": counts,
    }
    print(json.dumps(said))


def check(series: dict[str, Series]) -> None:
    """Sides with as many entries must have the same histogram."""
    for is_small in (False, True):
        alike = [side for name, side in series.items() if name.endswith(FEWER) == is_small]
        if len({tuple(each["counts"]) for side in alike for each in side.runs}) > 1:
            raise BenchmarkError("the sides have different histograms")


def row(name: str, series: dict[str, Series]) -> dict[str, Any]:
    side = series[name]
    who, task = name.split(": ")
    column = task.removesuffix(FEWER)
    base, roots = series.get(f"{who}: own"), series.get(f"ROOT: {task}")
    is_ratio = base is not None and task not in ("own", column + FEWER)
    return {
        "side": who,
        "histogram of": {"own": "its own column"}.get(column, f"a {column} column"),
        "entries": sum(side.runs[0]["counts"]),
        "seconds": spread(side.seconds, ".3f"),
        "of its own column": spread(ratios(side, base)) if is_ratio and base else "-",
        "target": TARGETS.get(task, "-") if who == "colonnade" else "-",
        "times ROOT": spread(ratios(roots, side), ".1f") if roots and who != "ROOT" else "-",
        "CPU seconds": spread(side.values("cpu_seconds"), ".3f"),
        "memory, MB": f"{side.max_rss_kib / 1024:.0f}",
    }


def save(series: dict[str, Series], about: dict[str, Any], options: argparse.Namespace) -> str:
    rows = [row(name, series) for name in series]
    runs: dict[str, list[Run]] = {
        name: [{key: value for key, value in each.items() if key != "counts"} for each in side.runs]
        for name, side in series.items()
    }
    saved = {"about": about, "entries": options.entries, "rows": rows, "runs": runs}
    lines = [
        "# Joins",
        "",
        *describe_machine(about),
        f"{options.repeats} rounds; median (range). Entries are those within the histogram.",
        f"{options.threads} threads, and one of RNTupleProcessor.",
        "",
        *table_of(rows),
    ]
    return save_report(options.output, "joins", lines, saved)


def sides_in(folder: Path, options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    """Write the data, and what is measured over it."""
    tasks = [(f"colonnade: {task}", "all") for task in TASKS]
    if not options.without_root:
        tasks += [("ROOT: own", "all"), ("ROOT: friend", "all")]
        tasks += [(f"{who}: joined{FEWER}", "few") for who in ("colonnade", "ROOT")]
    for stem, entries in (("all", options.entries), ("few", options.root_entries), ("warm", 1000)):
        (folder / stem).mkdir()
        # In a process of its own: what a child is said to take begins with what its parent had.
        make = [sys.executable, __file__, "--make", str(folder / stem), "--entries", str(entries)]
        subprocess.run(make, check=True)
    sides: dict[str, Callable[[], Run]] = {}
    for name, stem in tasks:
        who, task = name.removesuffix(FEWER).split(": ")
        measured = ("--threads", options.threads, "--measure", who, task, folder / stem)
        sides[name] = partial(run, sys.executable, __file__, *measured)
    return sides


def main() -> None:
    parser = options_for(__doc__, 3)
    parser.add_argument("--entries", type=int, default=20_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root-entries", type=int, default=100_000, help="of ROOT's join")
    parser.add_argument("--without-root", action="store_true")
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
    with tempfile.TemporaryDirectory(prefix="bench-joins-", dir=options.work) as folder:
        check_space(Path(folder), options.entries * 40)
        sides = sides_in(Path(folder), options)
        for side in sides.values():
            side()  # so that all files are in the page cache
        series = alternate(options.repeats, sides)
    check(series)
    print(save(series, about, options))


if __name__ == "__main__":
    main()
