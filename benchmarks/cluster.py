#!/usr/bin/env python3
"""Measures the data frame on engines: one worker against two, ROOT's, and simulated clusters (`make bench-cluster`).

The sides of each row take turns; each is a process of its own with a cluster of its own, whose start is not measured.
What the sides find is compared each time. Saved are cluster.md, cluster.json and figures.
"""

from __future__ import annotations

import pickle
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import cluster_side
import numpy as np
from cluster_simulation import Machine, simulate
from common import Run, Series, describe_machine, execute, ratios, run_main, run_python, spread
from frame_python import LHCB_MASS
from local_report import plot_rows, rows_table
from local_results import Results, Row, Table
from local_session import Session, faster, seconds_of
from runner import Report, measure, parse, parser

import colonnade
from colonnade import distributed

FILES = 4
TIMES = 30
"""How often a long job has the files."""
ENGINES = ("processes", "dask", "spark")


def sample(session: Session) -> list[Path]:
    """The LHCb sample in several files."""
    files = [session.work / f"cluster-{k}.root" for k in range(FILES)]
    if not files[0].exists():
        generate = Path(sys.executable).with_name("colonnade")
        events = session.events // FILES // 2 * 2
        execute(generate, "generate", "lhcb", files[0], "--events", events, "--compression", "zstd:5")
        for other in files[1:]:
            shutil.copy(files[0], other)
    return files


def side(engine: str, workers: int, files: list[Path], times: int = 1) -> Callable[[], Run]:
    return partial(run_python, "cluster_side.py", engine, workers, times, *files)


def rate(run: Run, times: int) -> float:
    """Seconds for the sample, of what is proportional to the entries."""
    return (float(run["seconds"]) - float(run["short_seconds"])) / (times - 1)


def scaling(
    session: Session, engines: Sequence[str] = ENGINES, workers: Sequence[int] = (2,), times: int = TIMES
) -> None:
    """More workers against one, on each engine; beside it threads of one process, and processes without an engine.

    What processes lose that have nothing to do with each other is lost by the machine: they share its memory.
    """
    files = sample(session)
    label = f"B mass, Zstd 5, {times} times"
    names = ("alone", "threads", *engines)
    counts = [1, *workers]
    sides = {f"{name} {n}": side(name, n, files, times) for name in names for n in counts}
    series = session.turns(label, sides)
    session.same(label, series, "candidates", "bins")
    for n in workers:
        most = ratios(series["alone 1"], series[f"alone {n}"])
        for name in names:
            one, more = series[f"{name} 1"], series[f"{name} {n}"]
            target = 0.95 if name in engines and n == 2 else None
            session.add(
                Row(
                    "scaling",
                    f"{label}, {name}",
                    f"efficiency from 1 to {n}",
                    [ratio / n for ratio in ratios(one, more)],
                    target,
                    ours=seconds_of(more),
                    reference=f"1 {seconds_of(one)}",
                )
            )
            if name in engines:
                against = [ratio / alone for ratio, alone in zip(ratios(one, more), most, strict=True)]
                gain = f"of what {n} processes without an engine gain"
                session.add(Row("scaling", f"{label}, {name}", gain, against))
    for name in names:
        for n in counts:
            runs = series[f"{name} {n}"].runs
            slopes = [rate(run, times) for run in runs]
            fixed = [
                1000 * (float(run["short_seconds"]) - slope) for run, slope in zip(runs, slopes, strict=True)
            ]
            work = f"a job on {name}, {n} at work"
            per_entry = f"{spread([1e9 * slope / session.events for slope in slopes])} ns per entry"
            session.add(Row("fixed", work, "milliseconds beyond the entries", fixed, ours=per_entry))


def distrdf(session: Session) -> None:
    """ROOT's distributed RDataFrame on the same Dask."""
    files = sample(session)
    for workers in (1, 2):
        label = f"B mass, Zstd 5, Dask with {workers} workers"
        sides = {"ROOT": side("distrdf", workers, files), "ours": side("dask", workers, files)}
        series: dict[str, Series] = session.turns(label, sides)
        session.same(label, series, "candidates")
        session.add(faster("distrdf", label, series["ROOT"], series["ours"], 4.0, "DistRDF"))


def overhead(session: Session) -> None:
    """What a task costs a worker beyond its entries, and what travels."""
    df = colonnade.DataFrame("DecayTree", sample(session), executor=1, progress=False)
    booked = df.filter("H1_ProbK > 0.5").histo1d(("h", "", 500, 0.0, 1e4), "H1_PX")
    plan = df.freeze(booked)
    text = plan.to_bytes()
    task = distributed.Task(plan.fingerprint, 0, 0, (0,))
    distributed.run_task(text, task)
    seconds = []
    for _ in range(50):
        begin = time.perf_counter()
        distributed.run_task(text, task)
        seconds.append(1000 * (time.perf_counter() - begin))
    work = "a task without entries, plan known"
    session.add(Row("overhead", work, "milliseconds", seconds, 10.0, at_most=True))
    session.add(Row("overhead", "a plan of 4 files of 26 columns", "bytes", [len(text)], 1e5, at_most=True))


def planning(session: Session) -> None:
    """What the client takes for a data set of very many files on a local disk: to open them, and to plan."""
    number = 10_000
    folder = session.work / "many"
    folder.mkdir(exist_ok=True)
    with colonnade.create(folder / "0.root", "Events") as writer:
        writer.extend({f"c{k}": np.arange(5, dtype=np.float32) for k in range(30)})
    files = [folder / f"{k}.root" for k in range(number)]
    for file in files[1:]:
        file.unlink(missing_ok=True)
        file.hardlink_to(files[0])
    opening, seconds = [], []
    for _ in range(session.repeats):
        begin = time.perf_counter()
        df = colonnade.DataFrame("Events", files, executor=1, progress=False)
        booked = df.sum("c1")
        opening.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        plan = df.freeze(booked)
        tasks, text = plan.tasks(1000), plan.to_bytes()
        seconds.append(time.perf_counter() - begin)
    work = f"{number} files of 30 columns"
    session.add(Row("planning", f"{work}, opened", "seconds", opening, 10.0, at_most=True))
    session.add(Row("planning", f"{work}, planned", "seconds", seconds, 10.0, at_most=True))
    most = 1e5 + sum(200 + len(str(file)) for file in files)
    session.add(Row("planning", f"{work}, the plan", "bytes", [len(text)], most, at_most=True))
    largest = max(len(pickle.dumps(task)) for task in tasks)
    session.add(Row("planning", f"{work}, a task", "bytes", [largest], 1e4, at_most=True))


def measured_machine(session: Session) -> Machine:
    """The rate of a core and the cost of a task, as they are here."""
    files = sample(session)
    df = colonnade.DataFrame("DecayTree", files, progress=False)
    for condition in cluster_side.FILTERS:
        df = df.filter(condition)
    booked = df.define("B_mass", LHCB_MASS).histo1d(cluster_side.MODEL, "B_mass")
    size = sum(task.bytes for task in df.freeze(booked).tasks(1))
    seconds = statistics.median(
        float(run_python("cluster_side.py", "threads", 1, 1, *files)["seconds"]) for _ in range(3)
    )
    return Machine(core_rate=size / seconds, per_task=0.01)


def simulation(session: Session) -> None:
    """The real driver and merger around simulated workers."""
    machine = measured_machine(session)
    table = Table(
        "Simulated clusters",
        f"Workers go through {machine.core_rate / 1e6:.0f} MB/s of stored bytes of columns in use, as one core does "
        "here; 32 share a link of 25 Gb/s, all an object store of 50 GB/s. 1 % of tasks take five times as long, "
        "0.05 % lose their worker, the scheduler takes 0.5 ms for a task. 'At least' is the time in which cores, links "
        "or the store, whichever is slowest, can do it; 'idle' is the share of the workers' time in which they had no "
        "task of use. Stragglers alone are 4 % more work; workers beyond those that the store feeds end early. A "
        "distributed RDataFrame over DAOS has been measured with 8 GB/s on one node and 37 GB/s on "
        "seven.",
    )
    for size, name in ((1e12, "1 TB"), (1e15, "1 PB")):
        for workers in (1, 32, 224, 1000, 3000, 10_000):
            least, bound = machine.limit(workers, size)
            found = simulate(workers, size, machine)
            table.lines.append(
                {
                    "data": name,
                    "workers": workers,
                    "tasks": found.tasks,
                    "seconds": found.seconds,
                    "least": least,
                    "bound": bound,
                    "GB/s": found.rate / 1e9,
                    "idle": found.idle,
                    "client_kB": found.client_bytes / 1e3,
                    "merge_depth": found.merge_depth,
                    "lost": found.lost,
                    "repeated": found.repeated,
                }
            )
    session.results.tables["simulation"] = table


GROUPS: dict[str, Callable[[Session], None]] = {
    "overhead": overhead,
    "planning": planning,
    "scaling": scaling,
    "distrdf": distrdf,
    "simulation": simulation,
}


def simulated_lines(table: Table) -> list[str]:
    lines = [
        f"## {table.title}",
        "",
        table.note,
        "",
        "| Data | Workers | Tasks | Time (s) | At least (s) | By | GB/s | Idle | Client (kB) | Depth | Lost | Again |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['data']} | {row['workers']} | {row['tasks']} | {row['seconds']:.4g} | {row['least']:.4g} "
        f"| {row['bound']} | {row['GB/s']:.3g} | {100 * row['idle']:.1f} % | {row['client_kB']:.1f} "
        f"| {row['merge_depth']} | {row['lost']} | {row['repeated']} |"
        for row in table.lines
    ]
    return lines


def plot_simulation(table: Table, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name in dict.fromkeys(table.column("data")):
        axes.plot(table.column("workers", data=name), table.column("GB/s", data=name), "o-", label=name)
    axes.plot([32, 224], [8, 37], "k^", label="paper: 1 and 7 nodes")
    axes.axhline(50, color="grey", linestyle=":", label="object store")
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="GB/s of stored bytes")
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def save(results: Results, folder: Path) -> str:
    """Write cluster.md and the figures; return the Markdown."""
    lines = [
        "# Data frames on engines",
        "",
        f"LHCb B2HHH, {results.events} events in {FILES} files. Medians of {results.repeats} rounds in which the sides",
        "take turns, in brackets the range. Workers have one thread each.",
        *describe_machine(results.about),
        "",
        *rows_table(results.rows),
    ]
    if results.rows:
        plot_rows([row for row in results.rows if row.target is not None], folder / "cluster-rows.png")
        lines += ["", "![Ratios and targets](cluster-rows.png)"]
    for table in results.tables.values():
        plot_simulation(table, folder / "cluster-simulation.png")
        lines += ["", *simulated_lines(table), "", "![Simulated rates](cluster-simulation.png)"]
    if results.problems:
        lines += ["", "## Problems", "", *(f"- {problem}" for problem in results.problems)]
    text = "\n".join(lines) + "\n"
    (folder / "cluster.md").write_text(text, "utf-8")
    return text


def main() -> int:
    known = parser(__doc__, list(GROUPS), events=8_000_000)
    known.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, help="those that are scaled")
    known.add_argument(
        "--workers", nargs="+", type=int, default=[2], help="numbers of workers, against one (default: 2)"
    )
    known.add_argument("--times", type=int, default=TIMES, help=f"how often a job has the files ({TIMES})")
    options = parse(known)
    groups = {name: GROUPS[name] for name in options.only}
    if "scaling" in groups:
        groups["scaling"] = partial(
            scaling, engines=options.engines, workers=options.workers, times=options.times
        )
    return measure(groups, options, Report("cluster", save), bytes_per_event=250)


if __name__ == "__main__":
    run_main(main)
