#!/usr/bin/env python3
"""Measures reading and writing of the LHCb sample against ROOT, C++ against C++, in one run (`make bench`).

The programs of both sides are built with the same compiler and flags, get the same columns in memory, write with the
same settings, and read the same files (ROOT's). Each does its work on one thread and times itself. They take turns,
so that whatever else the machine does meets both; the ratio of a round is ROOT's time over Colonnade's in that round.
Printed and saved: medians with their range, as a table, as JSON and as a plot.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from common import (
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

# What is measured: name, kind of task, way of doing it on Colonnade's side. ROOT has one way for each task.
VARIANTS = (
    ("write, event by event", "write", "fill"),
    ("write, whole arrays", "write", "append"),
    ("read, event by event", "read", "view"),
    ("read, blocks", "read", "bulk"),
)
# Files of the two sides may differ by a little: other cluster boundaries, other metadata.
SIZE_TOLERANCE = 1.02


@dataclass
class Row:
    """One line of the table: one task with one compression."""

    name: str
    codec: str
    events: int
    root: Series
    ours: Series
    root_bytes: int
    our_bytes: int

    def ratios(self, measure: str = "seconds") -> list[float]:
        """ROOT's time over ours, round by round: above 1 we are faster."""
        return ratios(self.root, self.ours, measure)


class Bench:
    """All measurements with one sample."""

    def __init__(self, build: Path, work: Path, events: int, repeats: int):
        self.programs = {name: build / "benchmarks" / name for name in ("lhcb_write", "lhcb_read")}
        self.programs |= {
            f"{name}_root": path.with_name(f"{name}_root") for name, path in self.programs.items()
        }
        for path in self.programs.values():
            if not path.exists():
                raise BenchmarkError(f"{path} is missing (not built); try `make bench`")
        self.work, self.events, self.repeats = work, events, repeats
        self.sample, self.candidates = raw_sample(work, events)
        self.problems: list[str] = []

    def write(self, codec: str, side: str, way: str = "fill") -> Run:
        path = self.work / f"{side}.root"
        path.unlink(missing_ok=True)
        os.sync()  # what earlier runs left to be written must not slow this one down
        if side == "root":
            return run(self.programs["lhcb_write_root"], self.sample, path, root_setting(codec))
        return run(self.programs["lhcb_write"], self.sample, path, codec, way)

    def read(self, reader: str, writer: str, way: str = "view") -> Run:
        path = self.work / f"{writer}.root"
        if reader == "root":
            result = run(self.programs["lhcb_read_root"], path)
        else:
            result = run(self.programs["lhcb_read"], path, way)
        if result["events"] != self.events or result["candidates"] != self.candidates:
            self.problems.append(
                f"{reader} finds {result['candidates']} candidates in {result['events']} events in the file that "
                f"{writer} wrote; there are {self.candidates} in {self.events}"
            )
        return result

    def measure(self, codec: str) -> list[Row]:
        rows = []
        sizes = {"root": 0, "ours": 0}
        for name, task, way in VARIANTS:
            if task == "write":
                series = alternate(
                    self.repeats,
                    {
                        "root": partial(self.write, codec, "root"),
                        "ours": partial(self.write, codec, "ours", way),
                    },
                )
                sizes = {side: (self.work / f"{side}.root").stat().st_size for side in sizes}
                # Each side reads what the other one wrote; not timed, and it warms the page cache.
                self.read("root", "ours")
                self.read("ours", "root")
            else:
                series = alternate(
                    self.repeats,
                    {
                        "root": partial(self.read, "root", "root"),
                        "ours": partial(self.read, "ours", "root", way),
                    },
                )
            rows.append(
                Row(name, codec, self.events, **series, root_bytes=sizes["root"], our_bytes=sizes["ours"])
            )
            print(describe(rows[-1]), flush=True)
        if sizes["ours"] > sizes["root"] * SIZE_TOLERANCE:
            self.problems.append(f"{codec}: our file has {sizes['ours']} bytes, ROOT's {sizes['root']}")
        return rows


# ---- Reporting


def describe(row: Row) -> str:
    return f"  {row.codec:8s} {row.name:24s} {spread(row.ratios())} times ROOT"


def table(rows: list[Row], about: dict[str, Any], candidates: int) -> list[str]:
    heads = ["Task", "Codec", "ROOT, 10^6 events/s", "Colonnade, 10^6 events/s"]
    heads += ["Ratio of time", "Ratio of CPU time", "File size, of ROOT's"]
    lines = [
        f"LHCb B2HHH, {rows[0].events} events, {candidates} candidates, one thread, warm page cache.",
        f"Medians of {len(rows[0].root.seconds)} rounds, in brackets the range.",
        *describe_machine(about),
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for row in rows:
        cells = [row.name, row.codec]
        for seconds in (row.root.seconds, row.ours.seconds):
            cells += [spread([row.events / value / 1e6 for value in seconds])]
        cells += [spread(row.ratios(measure)) for measure in ("seconds", "cpu_seconds")]
        cells.append(f"{row.our_bytes / row.root_bytes:.4f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def plot(rows: list[Row], path: Path) -> None:
    from matplotlib.figure import Figure

    codecs = list(dict.fromkeys(row.codec for row in rows))
    figure = Figure(figsize=(11, 7), layout="constrained")
    for axes, (name, _, _) in zip(figure.subplots(2, 2).flat, VARIANTS, strict=True):
        shown = [row for row in rows if row.name == name]
        for offset, side, color in ((-0.2, "root", "tab:gray"), (0.2, "ours", "tab:blue")):
            for position, row in enumerate(shown):
                series: Series = getattr(row, side)
                rates = [row.events / seconds / 1e6 for seconds in series.seconds]
                middle = statistics.median(rates)
                error = [[middle - min(rates)], [max(rates) - middle]]
                label = {"root": "ROOT", "ours": "Colonnade"}[side] if position == 0 else None
                axes.bar(position + offset, middle, 0.38, yerr=error, color=color, capsize=3, label=label)
                if side == "ours":
                    text = f"{statistics.median(row.ratios()):.2f}x"
                    axes.annotate(
                        text, (position + offset, middle / 2), ha="center", color="white", weight="bold"
                    )
        axes.set_title(name)
        axes.set_xticks(range(len(codecs)), codecs)
        axes.set_ylabel("events per second / $10^6$")
        axes.margins(y=0.15)
        axes.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    options = codec_options(__doc__, "none,lz4:4,zlib:1,zstd:5")
    about = machine()
    bench = Bench(options.build, options.work, options.events, options.repeats)
    rows = [row for codec in options.codecs for row in bench.measure(codec)]

    result = {"about": about, "candidates": bench.candidates, "rows": [asdict(row) for row in rows]}
    print("\n" + save_report(options.output, "lhcb", table(rows, about, bench.candidates), result))
    plot(rows, options.output / "lhcb.png")
    print(f"saved lhcb.md, lhcb.json and lhcb.png in {options.output}")
    return status_of(bench.problems)


if __name__ == "__main__":
    run_main(main)
