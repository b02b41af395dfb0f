#!/usr/bin/env python3
"""Measures size and speed of writing with every codec and level against ROOT, in one run.

Both sides write the columns of the LHCb sample with the same setting, event by event, one thread; they take turns,
another one goes first in every round. What counts is CPU time, user and system, so that a loaded machine and a slow
disk disturb little; the ratio of a round is ROOT's time over Colonnade's in that round. Colonnade's program then reads
both files, so that what is saved in writing is seen not to be paid in reading. Printed and saved: medians with their
range as a table, JSON and a plot.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import (  # noqa: E402
    BenchmarkError,
    Run,
    Series,
    alternate,
    codec_options,
    describe_machine,
    machine,
    ratios,
    raw_sample,
    root_setting,
    run,
    run_main,
    save_report,
    spread,
    status_of,
)

CODECS = ("zstd", "lz4", "zlib", "lzma")
LEVELS = range(1, 10)
# The file that costs less to write must not be larger than this part of ROOT's.
LARGEST_SIZE = 1.01


@dataclass
class Row:
    """One setting."""

    codec: str
    events: int
    root: Series
    ours: Series
    read_root: Series  # Colonnade reads the file that ROOT wrote
    read_ours: Series

    def ratios(self) -> list[float]:
        return ratios(self.root, self.ours, "cpu_seconds")

    @property
    def size(self) -> float:
        """Size of our file as a part of ROOT's."""
        return float(self.ours.runs[-1]["bytes"] / self.root.runs[-1]["bytes"])


class Bench:
    """All measurements with one sample."""

    def __init__(self, build: Path, work: Path, events: int, repeats: int):
        folder = build / "benchmarks"
        self.programs = {name: folder / name for name in ("lhcb_write", "lhcb_write_root", "lhcb_read")}
        for path in self.programs.values():
            if not path.exists():
                raise BenchmarkError(f"{path} is missing (not built); try `make bench`")
        self.work, self.events, self.repeats = work, events, repeats
        self.sample, self.candidates = raw_sample(work, events)
        self.problems: list[str] = []

    def write(self, codec: str, side: str) -> Run:
        path = self.work / f"{side}.root"
        path.unlink(missing_ok=True)
        if side == "root":
            return run(self.programs["lhcb_write_root"], self.sample, path, root_setting(codec))
        return run(self.programs["lhcb_write"], self.sample, path, codec, "fill")

    def read(self, codec: str, side: str) -> Run:
        result = run(self.programs["lhcb_read"], self.work / f"{side}.root", "bulk")
        if result["events"] != self.events or result["candidates"] != self.candidates:
            self.problems.append(
                f"{codec}: {result['candidates']} candidates in {result['events']} events in the file of {side}; "
                f"there are {self.candidates} in {self.events}"
            )
        return result

    def measure(self, codec: str) -> Row:
        written = alternate(
            self.repeats, {side: lambda side=side: self.write(codec, side) for side in ("root", "ours")}
        )
        read = alternate(
            self.repeats, {side: lambda side=side: self.read(codec, side) for side in ("root", "ours")}
        )
        row = Row(codec, self.events, written["root"], written["ours"], read["root"], read["ours"])
        print(f"  {codec:7s} {spread(row.ratios())} times ROOT, size {row.size:.4f}", flush=True)
        if row.size > LARGEST_SIZE:
            self.problems.append(f"{codec}: our file is {row.size:.4f} times as large as ROOT's")
        return row


# ---- Reporting


def seconds(series: Series) -> str:
    return spread(series.values("cpu_seconds"), ".3f")


def table(rows: Sequence[Row], about: dict[str, Any]) -> list[str]:
    heads = ["Setting", "ROOT writes, CPU s", "Colonnade writes, CPU s", "Ratio", "Size in MB"]
    heads += ["Size, of ROOT's", "Reading ROOT's file, CPU s", "Reading ours, CPU s"]
    lines = [
        f"LHCb B2HHH, {rows[0].events} events, event by event, one thread.",
        f"Medians of {len(rows[0].root.runs)} rounds, in brackets the range.",
        *describe_machine(about),
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for row in rows:
        cells = [row.codec, seconds(row.root), seconds(row.ours), spread(row.ratios())]
        cells += [f"{row.ours.runs[-1]['bytes'] / 1e6:.2f}", f"{row.size:.4f}"]
        cells += [seconds(row.read_root), seconds(row.read_ours)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def plot(rows: Sequence[Row], path: Path) -> None:
    """Speed over size: a line per codec and side, a point per level."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots()
    for number, codec in enumerate(dict.fromkeys(row.codec.split(":")[0] for row in rows)):
        shown = [row for row in rows if row.codec.split(":")[0] == codec]
        for side, style, name in (("root", "x--", "ROOT"), ("ours", "o-", "Colonnade")):
            series: list[Series] = [getattr(row, side) for row in shown]
            sizes = [runs.runs[-1]["bytes"] / 1e6 for runs in series]
            rates = [shown[0].events / 1e6 / statistics.median(runs.values("cpu_seconds")) for runs in series]
            axes.plot(sizes, rates, style, color=f"C{number}", label=f"{codec}, {name}")
            for row, x, y in zip(shown, sizes, rates, strict=True):
                axes.annotate(row.codec.partition(":")[2], (x, y), textcoords="offset points", xytext=(4, 4))
    axes.set_yscale("log")
    axes.set_xlabel("size of the file / MB")
    axes.set_ylabel("events written per second of CPU time / $10^6$")
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    every = ",".join(f"{codec}:{level}" for codec in CODECS for level in LEVELS)
    options = codec_options(__doc__, every)
    about = machine()
    bench = Bench(options.build, options.work, options.events, options.repeats)
    rows = [bench.measure(codec) for codec in options.codecs]

    result = {"about": about, "rows": [asdict(row) | {"size": row.size} for row in rows]}
    print("\n" + save_report(options.output, "compression", table(rows, about), result))
    plot(rows, options.output / "compression.png")
    print(f"saved compression.md, compression.json and compression.png in {options.output}")
    return status_of(bench.problems)


if __name__ == "__main__":
    run_main(main)
