#!/usr/bin/env python3
"""Measures reading and writing of the LHCb sample against ROOT, C++ against C++, in one run (`make bench`).

The programs of both sides are built with the same compiler and flags, get the same columns in memory, write with the
same settings, and read the same files (ROOT's). Each does its work on one thread and times itself. They take turns,
so that whatever else the machine does meets both; the ratio of a round is ROOT's time over Colonnade's in that round.
Printed and saved: medians with their range, as a table, as JSON and as a plot.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.analysis import b_mass
from colonnade.samples import LHCB_SCHEMA, lhcb

HERE = Path(__file__).resolve().parent
ROOT_ALGORITHMS = {"none": 0, "zlib": 100, "lzma": 200, "lz4": 400, "zstd": 500}
DTYPES: dict[str, np.dtype[Any]] = {"double": np.dtype("<f8"), "std::int32_t": np.dtype("<i4")}
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
class Series:
    """The runs of one program."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    max_rss_kib: int = 0

    def add(self, run: dict[str, Any]) -> None:
        self.seconds.append(run["seconds"])
        self.cpu_seconds.append(run["cpu_seconds"])
        self.max_rss_kib = max(self.max_rss_kib, run["max_rss_kib"])


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
        return [r / o for r, o in zip(getattr(self.root, measure), getattr(self.ours, measure), strict=True)]


def root_setting(codec: str) -> int:
    name, _, level = codec.partition(":")
    if name not in ROOT_ALGORITHMS or (name != "none" and not level.isdecimal()):
        raise SystemExit(
            f"unknown codec {codec!r}; known: none, and zlib, lzma, lz4, zstd with a level, as in zstd:5"
        )
    return ROOT_ALGORITHMS[name] + int(level or 0)


# ---- The sample


def raw_sample(work: Path, events: int) -> tuple[Path, int]:
    """Make the columns as the programs read them, one after the other, once.

    Returns the file and the number of candidates in it.
    """
    path = work / f"lhcb-{events}.raw"
    note = path.with_suffix(".json")
    if path.exists() and note.exists():
        return path, int(json.loads(note.read_text())["candidates"])
    print(f"making a sample of {events} events ...", flush=True)
    sizes = [DTYPES[type_name].itemsize for type_name in LHCB_SCHEMA.values()]
    starts = dict(zip(LHCB_SCHEMA, events * np.cumsum([0, *sizes[:-1]]), strict=True))
    file: Any = np.memmap(path, np.uint8, "w+", shape=(events * sum(sizes),))
    at = candidates = 0
    for columns in lhcb(events):
        for name, values in columns.items():
            start = starts[name] + at * values.itemsize
            file[start : start + values.nbytes] = values.view(np.uint8)
        at += columns["H1_PX"].size
        candidates += b_mass.select(columns).mass.size
    file.flush()
    note.write_text(json.dumps({"candidates": candidates}))
    return path, candidates


# ---- Running


def run(program: Path, *arguments: object) -> dict[str, Any]:
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def alternate(rounds: int, root: Any, ours: Any) -> tuple[Series, Series]:
    """Run both sides `rounds` times, each going first in every other round."""
    series = (Series(), Series())
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            series[side].add((root, ours)[side]())
    return series


class Bench:
    """All measurements with one sample."""

    def __init__(self, build: Path, work: Path, events: int, repeats: int):
        self.programs = {name: build / "benchmarks" / name for name in ("lhcb_write", "lhcb_read")}
        self.programs |= {
            f"{name}_root": path.with_name(f"{name}_root") for name, path in self.programs.items()
        }
        for path in self.programs.values():
            if not path.exists():
                raise SystemExit(f"{path} is missing (not built); try `make bench`")
        self.work, self.events, self.repeats = work, events, repeats
        self.sample, self.candidates = raw_sample(work, events)
        self.problems: list[str] = []

    def write(self, codec: str, side: str, way: str = "fill") -> dict[str, Any]:
        path = self.work / f"{side}.root"
        path.unlink(missing_ok=True)
        os.sync()  # what earlier runs left to be written must not slow this one down
        if side == "root":
            return run(self.programs["lhcb_write_root"], self.sample, path, root_setting(codec))
        return run(self.programs["lhcb_write"], self.sample, path, codec, way)

    def read(self, reader: str, writer: str, way: str = "view") -> dict[str, Any]:
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
                root, ours = alternate(
                    self.repeats,
                    lambda: self.write(codec, "root"),
                    lambda way=way: self.write(codec, "ours", way),
                )
                sizes = {side: (self.work / f"{side}.root").stat().st_size for side in sizes}
                # Each side reads what the other one wrote; not timed, and it warms the page cache.
                self.read("root", "ours")
                self.read("ours", "root")
            else:
                root, ours = alternate(
                    self.repeats,
                    lambda: self.read("root", "root"),
                    lambda way=way: self.read("ours", "root", way),
                )
            rows.append(Row(name, codec, self.events, root, ours, sizes["root"], sizes["ours"]))
            print(describe(rows[-1]), flush=True)
        if sizes["ours"] > sizes["root"] * SIZE_TOLERANCE:
            self.problems.append(f"{codec}: our file has {sizes['ours']} bytes, ROOT's {sizes['root']}")
        return rows


# ---- Reporting


def rate(seconds: float, events: int) -> str:
    return f"{events / seconds / 1e6:.2f}"


def describe(row: Row) -> str:
    ratio = row.ratios()
    spread = f"{min(ratio):.2f} to {max(ratio):.2f}"
    return f"  {row.codec:8s} {row.name:24s} {statistics.median(ratio):5.2f} times ROOT ({spread})"


def machine() -> dict[str, Any]:
    models = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    cpu = models[0].split(":", 1)[1].strip() if models else platform.machine()
    version = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(version, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S%z"),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "kernel": platform.release(),
        "commit": commit,
    }


def table(rows: list[Row], about: dict[str, Any], candidates: int) -> str:
    heads = ["Task", "Codec", "ROOT, 10^6 events/s", "Colonnade, 10^6 events/s"]
    heads += ["Ratio of time", "Ratio of CPU time", "File size, of ROOT's"]
    lines = [
        f"LHCb B2HHH, {rows[0].events} events, {candidates} candidates, one thread, warm page cache.",
        f"Medians of {len(rows[0].root.seconds)} rounds, in brackets the range.",
        f"{about['cpu']}, {about['cores']} cores, load before {about['load_before']:.1f}, Linux {about['kernel']},",
        f"commit {about['commit']}, {about['date']}.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for row in rows:
        cells = [row.name, row.codec]
        for series in (row.root, row.ours):
            middle, low, high = (
                rate(pick(series.seconds), row.events) for pick in (statistics.median, max, min)
            )
            cells.append(f"{middle} ({low} to {high})")
        for measure in ("seconds", "cpu_seconds"):
            ratio = row.ratios(measure)
            cells.append(f"{statistics.median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})")
        cells.append(f"{row.our_bytes / row.root_bytes:.4f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, default=HERE.parent / "build" / "bench", help="CMake's build folder"
    )
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="size of the sample; the original has 8500000"
    )
    parser.add_argument("--codecs", default="none,lz4:4,zlib:1,zstd:5", help="settings, separated by commas")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument(
        "--output", type=Path, default=HERE / "results", help="folder for table, JSON and plot"
    )
    parser.add_argument(
        "--work", type=Path, help="folder for the sample and the files (default: work/ in --output)"
    )
    options = parser.parse_args()
    if options.events < 2 or options.events % 2 or options.repeats < 1:
        parser.error("--events must be positive and even, --repeats positive")
    codecs = options.codecs.split(",")
    for codec in codecs:
        root_setting(codec)  # report a wrong one before anything is measured
    work = options.work or options.output / "work"
    work.mkdir(parents=True, exist_ok=True)
    options.output.mkdir(parents=True, exist_ok=True)

    about = machine()
    bench = Bench(options.build.resolve(), work, options.events, options.repeats)
    rows = [row for codec in codecs for row in bench.measure(codec)]

    text = table(rows, about, bench.candidates)
    print("\n" + text)
    (options.output / "lhcb.md").write_text(text)
    result = {"about": about, "candidates": bench.candidates, "rows": [asdict(row) for row in rows]}
    (options.output / "lhcb.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(rows, options.output / "lhcb.png")
    print(f"saved lhcb.md, lhcb.json and lhcb.png in {options.output}")
    for problem in bench.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if bench.problems else 0


if __name__ == "__main__":
    sys.exit(main())
