#!/usr/bin/env python3
"""Measures the data frame against ROOT, Polars and DuckDB, and says which targets are met (`make bench-frame`).

One run measures everything: the sides of each row take turns. The clock of a side runs from building the graph until
the result is there; every side is a process of its own, whose start and imports are not measured. What the sides find
is compared each time. Saved are frame.md, frame.json and a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import (
    HERE,
    Run,
    Series,
    describe_machine,
    execute,
    ratios,
    root_setting,
    run,
    run_main,
    run_python,
)
from local_report import plot_rows, rows_table
from local_results import Results, Row
from local_session import MB, Session, faster, seconds_of
from runner import Report, measure, parse, parser

CODECS = {"zstd:5": (4.0, 3.0), "lz4:4": (5.0, 1.5), "none": (6.0, 1.5)}
"""The target against ROOT, and that against Polars and DuckDB."""
BYTES_PER_EVENT = 900
MOVED = 2e-3
"""Di-muons of which the sides may find another bin, as a share of all: ROOT rounds its masses, of single precision,
differently on another kind of processor."""


def ours(task: str, path: Path, threads: int) -> Callable[[], Run]:
    return partial(run_python, "frame_python.py", task, path, threads)


def same_bins(session: Session, label: str, series: dict[str, Series]) -> None:
    session.same(label, series, "candidates", "bins")


def nearly_same_bins(session: Session, label: str, series: dict[str, Series]) -> str:
    """Check that each side counts the same each time, and that all count as many and few in another bin.

    Returns:
        How many of how many are in another bin; one that is two bins away counts twice.
    """
    for name, side in series.items():
        if any(one["counts"] != side.runs[0]["counts"] for one in side.runs):
            session.problem(f"{label}: {name} finds different bins each time")
    sums = [np.cumsum(side.runs[0]["counts"]) for side in series.values()]
    total = int(sums[0][-1])
    if any(one[-1] != total for one in sums):
        session.problem(f"{label}: the sides differ in their total: {[int(one[-1]) for one in sums]}")
    moved = max(int(np.abs(one - sums[0]).sum()) for one in sums)
    if moved > MOVED * total:
        session.problem(f"{label}: {moved} of {total} are in another bin; {MOVED:g} of them may be")
    return f"{moved} of {total} in another bin"


def lhcb(session: Session) -> None:
    """The B-mass analysis as strings in Python against ROOT's compiled RDataFrame, on the file that ROOT wrote."""
    for codec, (target, _) in CODECS.items():
        path = session.root_file(codec)
        label = f"B mass, strings, 1 thread, {codec}"
        sides: dict[str, Callable[[], Run]] = {
            "ROOT": partial(run, session.program("lhcb_frame_root"), path),
            "ours": ours("lhcb", path, 1),
        }
        series = session.turns(label, sides, warm=True)
        same_bins(session, label, series)
        session.add(faster("lhcb", label, series["ROOT"], series["ours"], target, "ROOT compiled"))


def parquet(session: Session) -> None:
    """The same against Polars and DuckDB on Parquet of the same codec."""
    for codec, (_, target) in CODECS.items():
        table = session.work / "sample.parquet"
        execute(sys.executable, HERE / "frame_parquet.py", "write", session.sample()[0], table, codec)
        label = f"B mass, 1 thread, {codec}"
        sides: dict[str, Callable[[], Run]] = {
            name: partial(run_python, "frame_parquet.py", name, table) for name in ("polars", "duckdb")
        }
        own = session.work / "own.root"
        run(session.program("lhcb_write"), session.sample()[0], own, codec, "append")
        sides["ours"] = ours("lhcb", own, 1)
        series = session.turns(label, sides, warm=True)
        # Others may round a mass at the edge of a bin the other way: what counts is that all find the same.
        session.same(label, series, "candidates")
        for name, title in (("polars", "Polars"), ("duckdb", "DuckDB")):
            session.add(faster("parquet", label, series[name], series["ours"], target, title))
        table.unlink()
        own.unlink()


def threads(session: Session) -> None:
    """Two threads against one."""
    path = session.root_file("lz4:4")
    label = "B mass, 2 threads, lz4:4"
    series = session.turns(label, {str(n): ours("lhcb", path, n) for n in (1, 2)}, warm=True)
    same_bins(session, label, series)
    session.add(
        Row(
            "threads",
            label,
            "time of 1 thread / of 2",
            ratios(series["1"], series["2"]),
            1.85,
            ours=seconds_of(series["2"]),
            reference=f"1 thread {seconds_of(series['1'])}",
        )
    )


def generated(session: Session, kind: str, events: int) -> Path:
    """A sample of `colonnade generate`."""
    path = session.work / f"{kind}-{events}.root"
    execute(Path(sys.executable).with_name("colonnade"), "generate", kind, path, "--events", events)
    return path


def dimuon_events(session: Session) -> int:
    """20 million where the sample has its usual size."""
    return max(20_000_000 * session.events // 8_500_000, 2000)


def dimuon(session: Session) -> None:
    """The di-muon spectrum of jagged data against ROOT's jitted RDataFrame, without and with its JIT."""
    tiny, small, large = (
        generated(session, "dimuon", events) for events in (1000, 1_000_000, dimuon_events(session))
    )
    program = session.program("dimuon_frame_root")
    jit = session.turns("JIT", {"ROOT": partial(run, program, tiny)}, warm=True)["ROOT"]
    for path, target, with_jit in ((large, 5.0, False), (small, 10.0, True)):
        label = f"di-muon, strings, {path.stem.split('-')[1]} events, 1 thread"
        sides: dict[str, Callable[[], Run]] = {
            "ROOT": partial(run, program, path),
            "ours": ours("dimuon", path, 1),
        }
        series = session.turns(label, sides, warm=True)
        moved = nearly_same_bins(session, label, series)
        if not with_jit:  # what the graph costs on a file of next to no events
            for one, other in zip(series["ROOT"].runs, jit.runs, strict=True):
                one["seconds"] -= other["seconds"]
        than = "ROOT with JIT" if with_jit else "ROOT without JIT"
        row = faster("dimuon", label, series["ROOT"], series["ours"], target, than)
        row.reference += f"; {moved}"
        session.add(row)
        path.unlink()


def lists(session: Session) -> None:
    """A snapshot of lists against that of ROOT's RDataFrame with a compiled filter."""
    path = generated(session, "dimuon", dimuon_events(session) // 10)
    outs = {name: session.work / f"lists-{name}.root" for name in ("ROOT", "ours")}
    for codec in CODECS:
        label = f"snapshot of lists, 1 thread, {codec}"
        program = session.program("lists_snapshot_root")
        sides: dict[str, Callable[[], Run]] = {
            "ROOT": partial(run, program, path, outs["ROOT"], root_setting(codec)),
            "ours": partial(run_python, "frame_python.py", "lists", path, 1, outs["ours"], codec),
        }
        series = session.turns(label, sides, warm=True)
        written = {name: Series([ours("contents", out, 1)()]) for name, out in outs.items()}
        session.same(label, written, "entries", "columns")
        row = faster("lists", label, series["ROOT"], series["ours"], None, "ROOT compiled")
        row.ours += f"; {series['ours'].runs[0]['size'] / MB:.1f} MB"
        row.reference += f"; {series['ROOT'].runs[0]['size'] / MB:.1f} MB"
        session.add(row)
    for one in (path, *outs.values()):
        one.unlink()


def nodes(session: Session) -> None:
    """A large graph over few events: what booking and compiling cost."""
    path = generated(session, "lhcb", 1000)
    series = session.turns("nodes", {"ours": ours("nodes", path, 1)}, warm=True)["ours"]
    session.add(
        Row(
            "nodes",
            f"graph of {series.runs[0]['nodes']} nodes, 1000 events",
            "seconds",
            series.seconds,
            1.0,
            at_most=True,
            ours=seconds_of(series),
        )
    )


def histograms(session: Session) -> None:
    """Memory of 1000 histograms of 20 000 bins in two threads."""
    path = session.root_file("none")
    series = session.turns("histograms", {"ours": ours("histograms", path, 2)})["ours"]
    session.add(
        Row(
            "histograms",
            "1000 histograms of 20 000 bins, 2 threads",
            "resident memory / one set of bins",
            [one["memory_kib"] / one["set_kib"] for one in series.runs],
            1.5,
            at_most=True,
            ours=f"{series.runs[0]['memory_kib'] / 1024:.0f} MiB",
            reference=f"one set {series.runs[0]['set_kib'] / 1024:.0f} MiB",
        )
    )


def lambdas(session: Session) -> None:
    """C++: lambdas against strings."""
    path = session.root_file("lz4:4")
    program = session.program("lhcb_frame")
    label = "B mass, C++, 1 thread, lz4:4"
    series = session.turns(
        label, {way: partial(run, program, path, way) for way in ("lambdas", "strings")}, warm=True
    )
    same_bins(session, label, series)
    for one, other in (("lambdas", "strings"), ("strings", "lambdas")):
        session.add(
            Row(
                "lambdas",
                f"{label}, {one}",
                f"time of {one} / of {other}",
                ratios(series[one], series[other]),
                1.3,
                at_most=True,
                ours=seconds_of(series[one]),
                reference=f"{other} {seconds_of(series[other])}",
            )
        )


GROUPS: dict[str, Callable[[Session], None]] = {
    "lhcb": lhcb,
    "parquet": parquet,
    "threads": threads,
    "dimuon": dimuon,
    "lists": lists,
    "nodes": nodes,
    "histograms": histograms,
    "lambdas": lambdas,
}


def save(results: Results, folder: Path) -> str:
    """Write frame.md and the figure; return the Markdown."""
    lines = [
        "# Data frame",
        "",
        f"LHCb B2HHH, {results.events} events, and made-up di-muons. Medians of {results.repeats} rounds in which the",
        "sides take turns, in brackets the range. What the rows mean: docs/benchmarks.md.",
        *describe_machine(results.about),
        "",
        *rows_table(results.rows),
    ]
    if rows := [row for row in results.rows if row.target is not None]:
        plot_rows(rows, folder / "frame-rows.png")
        lines += ["", "![Ratios and targets](frame-rows.png)"]
    if results.problems:
        lines += ["", "## Problems", "", *(f"- {problem}" for problem in results.problems)]
    text = "\n".join(lines) + "\n"
    (folder / "frame.md").write_text(text, "utf-8")
    return text


def main() -> int:
    options = parse(parser(__doc__, list(GROUPS), events=8_500_000))
    groups = {name: GROUPS[name] for name in options.only}
    return measure(groups, options, Report("frame", save), bytes_per_event=BYTES_PER_EVENT)


if __name__ == "__main__":
    run_main(main)
