#!/usr/bin/env python3
"""Measures merging: Colonnade, hadd (RNTupleMerger) and cp, with inputs in the page cache and on the disk.

Each run is a process of its own; times are those of the whole process, and without the start of Python where so titled.
Outputs are removed and the device is at rest before each. cp copies the inputs into a folder: what moving the bytes
costs. On a file system that shares blocks (--shared) cp shares them, too. Recompressed are zstd:5 to lz4:4, on both
sides. Saved are combine.md, combine.json and combine.png.

    python benchmarks/merge.py --megabytes 2000 --files 8 --repeats 5
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
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
    root_setting,
    save_report,
    spread,
    table_of,
)
from disk import check_space, drop_from_cache

SIDES = ("colonnade", "hadd", "cp")

MERGE = """
import sys
import colonnade
output, mode, *inputs = sys.argv[1:]
options = {"recompressed": {"compression": "lz4:4"}, "unchecked": {"check_pages": False}}.get(mode, {})
report = colonnade.merge(output, inputs, overwrite=True, **options)
print(report.seconds)
"""


def write_inputs(folder: Path, files: int, megabytes: int) -> None:
    """Files of noise that compresses a little, as measured quantities do, with clusters of some 16 MB."""
    import numpy as np

    import colonnade

    random = np.random.default_rng(1)
    columns = 16
    rows = megabytes * 1_000_000 // files // (columns * 4)
    for number in range(files):
        path = folder / f"in{number:03}.root"
        with colonnade.create(path, "Events", compression="zstd:5", cluster_size="16 MB") as writer:
            for first in range(0, rows, 250_000):
                count = min(250_000, rows - first)
                data = {f"x{k}": random.normal(k, 1, count).astype("float32") for k in range(columns)}
                writer.extend(data)


def find_hadd() -> str:
    if found := shutil.which("hadd"):
        return found
    found_root = importlib.util.find_spec("ROOT")
    path = Path(found_root.origin).parent / "bin" / "hadd" if found_root and found_root.origin else None
    if path is None or not path.exists():
        raise BenchmarkError("hadd is missing: install ROOT")
    return str(path)


def timed(command: list[str]) -> Run:
    """Run a program; what its process took, and what it says itself that the call took."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchmarkError(f"{' '.join(command[:3])} ... failed:\n{text}")
    last = text.splitlines()[-1] if text else ""
    return {
        "seconds": seconds,
        "call_seconds": float(last) if last.replace(".", "", 1).isdecimal() else seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "max_rss_kib": usage.ru_maxrss,
    }


class Sides:
    """The programs that are compared, on the same inputs."""

    def __init__(self, inputs: list[Path], work: Path) -> None:
        self._inputs, self._work = inputs, work
        self._names = [str(path) for path in inputs]
        self._hadd = find_hadd()

    def of(self, task: str, *, cold: bool) -> dict[str, Callable[[], Run]]:
        commands = {"colonnade": self._colonnade(task), "hadd": self._hadd_command(task)}
        if task != "recompressed":
            commands["cp"] = ["cp", *self._names, str(self._work / "copied")]
        return {name: partial(self._run, command, cold=cold) for name, command in commands.items()}

    def _colonnade(self, task: str) -> list[str]:
        return [sys.executable, "-c", MERGE, str(self._work / "ours.root"), task, *self._names]

    def _hadd_command(self, task: str) -> list[str]:
        # Not told otherwise, hadd compresses again where the setting of the first file is another than its own.
        # -ff takes that of the first file; with another one it compresses again, as we do.
        options = [f"-f{root_setting('lz4:4')}"] if task == "recompressed" else ["-ff"]
        return [self._hadd, *options, str(self._work / "hadd.root"), *self._names]

    def _run(self, command: list[str], *, cold: bool) -> Run:
        shutil.rmtree(self._work / "copied", ignore_errors=True)
        (self._work / "copied").mkdir()
        for name in ("ours.root", "hadd.root"):
            (self._work / name).unlink(missing_ok=True)
        os.sync()
        for path in self._inputs:
            if cold:
                drop_from_cache(path)
            else:
                subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
        return timed(command)


def row(task: str, place: str, size: int, series: dict[str, Series]) -> dict[str, Any]:
    rates = {name: [size / 1e6 / seconds for seconds in side.seconds] for name, side in series.items()}
    target = "-"
    share = call_share = "-"
    if "cp" in series:
        share = spread(ratios(series["cp"], series["colonnade"]))
        call_share = spread(ratios(series["cp"], series["colonnade"], "call_seconds"))
        target = "at least 0.8"
    return {
        "task": task,
        "inputs": place,
        **{
            f"{name} MB/s": spread(rates[name], ".0f") if name in rates else "-"
            for name in ("colonnade", "hadd", "cp")
        },
        "of cp": share,
        "without start-up": call_share,
        "target": target,
        "times hadd": spread(ratios(series["hadd"], series["colonnade"])),
        "memory, MB": f"{series['colonnade'].max_rss_kib / 1024:.0f}",
        "hadd's": f"{series['hadd'].max_rss_kib / 1024:.0f}",
        "runs": {name: side.runs for name, side in series.items()},
    }


def save(rows: list[dict[str, Any]], about: dict[str, Any], size: int, options: argparse.Namespace) -> str:
    lines = [
        "# Merging",
        "",
        *describe_machine(about),
        f"{options.files} files, {size / 1e6:.0f} MB in all, {options.repeats} rounds; median (range).",
        "",
        *table_of(rows),
    ]
    text = save_report(options.output, "combine", lines, {"about": about, "rows": rows})
    plot(rows, size, options.output / "combine.png")
    return text


def plot(rows: list[dict[str, Any]], size: int, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    for number, side in enumerate(SIDES):
        for at, one in enumerate(rows):
            if side not in one["runs"]:
                continue
            rates = [size / 1e6 / each["seconds"] for each in one["runs"][side]]
            middle = statistics.median(rates)
            bar = axes.bar(
                at + 0.27 * number,
                middle,
                width=0.25,
                color=f"C{number}",
                yerr=[[middle - min(rates)], [max(rates) - middle]],
            )
            if at == 0:
                bar.set_label(side)
    axes.set_xticks(
        [at + 0.27 for at in range(len(rows))], [f"{one['task']}\nfrom {one['inputs']}" for one in rows]
    )
    axes.set_ylabel("MB/s of input")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def sizes_of(options: argparse.Namespace) -> list[str]:
    return ["--files", str(options.files), "--megabytes", str(options.megabytes)]


def main() -> None:
    parser = options_for(__doc__, 5)
    parser.add_argument("--megabytes", type=int, default=2000, help="of all inputs, before compression")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--slow-repeats", type=int, default=3, help="where pages are compressed again")
    parser.add_argument(
        "--shared", type=Path, default=None, help="folder on a file system that shares blocks"
    )
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        write_inputs(options.make, options.files, options.megabytes)
        return
    about = machine()
    with tempfile.TemporaryDirectory(prefix="bench-merge-", dir=options.work) as folder:
        work = Path(folder)
        check_space(work, options.megabytes * 3_500_000)
        # In a process of its own: what a child is said to take begins with what its parent had.
        subprocess.run([sys.executable, __file__, "--make", work, *sizes_of(options)], check=True)
        inputs = sorted(work.glob("in*.root"))
        size = sum(path.stat().st_size for path in inputs)
        sides = Sides(inputs, work)
        rows = []
        tasks = [("as stored", False), ("as stored", True), ("unchecked", False), ("recompressed", False)]
        for task, cold in tasks:
            rounds = options.slow_repeats if task == "recompressed" else options.repeats
            series = alternate(rounds, sides.of(task, cold=cold))
            rows.append(row(task, "disk" if cold else "memory", size, series))
            print(save(rows, about, size, options), flush=True)
    if options.shared:
        with tempfile.TemporaryDirectory(prefix="bench-merge-", dir=options.shared) as folder:
            work = Path(folder)
            subprocess.run([sys.executable, __file__, "--make", work, *sizes_of(options)], check=True)
            sides = Sides(sorted(work.glob("in*.root")), work)
            for task in ("as stored", "unchecked"):
                series = alternate(options.repeats, sides.of(task, cold=False))
                rows.append(row(task, "memory, blocks shared", size, series))
                print(save(rows, about, size, options), flush=True)


if __name__ == "__main__":
    main()
