"""Measurements of writing: one thread, several threads, and by codec.

A measurement runs programs in turns and adds rows and tables to the results. What the sides computed is compared each
time; a difference is a problem, which makes the run fail.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from common import (
    HERE,
    Run,
    Series,
    ratios,
    raw_sample,
    root_setting,
    run,
    run_python,
)
from disk import fio
from local_results import Row, Table, bandwidths
from local_session import MB, Session, check_analysis, faster, rate_of

PARALLEL_CODECS = ("none", "zstd:1", "zstd:3", "zstd:5", "zstd:9", "lz4:1", "lz4:4", "lz4:6", "lz4:9")
THREADS = (1, 2)


def write(session: Session) -> None:
    """The LHCb sample written without compression, per entry and as whole arrays."""
    sample = session.sample()[0]

    def written(side: str, program: str, *arguments: object) -> Run:
        path = session.work / f"{side}.root"
        path.unlink(missing_ok=True)
        os.sync()  # what earlier runs left to be written must not slow this one down
        return run(session.program(program), sample, path, *arguments)

    for direct in (True, False):
        flags = ["--direct"] if direct else []
        label = "direct I/O" if direct else "page cache"
        series = session.turns(
            f"write, {label}",
            {
                "ROOT": partial(written, "root", "lhcb_write_root", 0, *flags),
                "fill": partial(written, "fill", "lhcb_write", "none", "fill", *flags),
                "append": partial(written, "append", "lhcb_write", "none", "append", *flags),
            },
        )
        for way, text, target in (("fill", "per entry", 3.0), ("append", "whole arrays", 8.0)):
            row = faster(
                "write",
                f"write {text}, none, {label}",
                series["ROOT"],
                series[way],
                target if direct else None,
            )
            row.ours += f", {rate_of(series[way])}"
            row.reference += f", {rate_of(series['ROOT'])}"
            session.add(row)
        # Each side reads what the other one wrote.
        readers = {"root": "lhcb_read", "fill": "lhcb_read_root", "append": "lhcb_read_root"}
        checks = {}
        for side, reader in readers.items():
            path = session.work / f"{side}.root"
            checks[side] = Series([run(session.program(reader), path, *(["view"] if side == "root" else []))])
            path.unlink()
        check_analysis(session, f"files of write, {label}", checks)


def parallel(session: Session) -> None:
    """Event numbers and lists of floats from several threads, against fio and against ROOT."""
    table = Table(
        "Parallel write",
        "An event number and a list of floats per event. Bandwidth in MB/s: storage, of what reaches the file; data, "
        "of what the program gives. Those without direct I/O end in the page cache.",
    )
    for codec in PARALLEL_CODECS:
        # Compressing takes many times as long as writing: fewer events there.
        events = session.events * 2 if codec == "none" else max(session.events // 4, 1)
        for threads in THREADS:
            for direct in (True, False):
                measure_parallel(session, table, codec, threads, direct, events)
    session.results.tables["parallel"] = table


def measure_parallel(
    session: Session, table: Table, codec: str, threads: int, direct: bool, events: int
) -> None:
    def written(side: str, program: str, setting: object, *more: str) -> Run:
        path = session.work / f"parallel-{side}.root"
        path.unlink(missing_ok=True)
        os.sync()
        flags = ["--direct"] if direct else []
        return run(session.program(program), path, setting, threads, events, *flags, *more)

    sides: dict[str, Callable[[], Run]] = {
        "ROOT": partial(written, "ROOT", "parallel_write_root", root_setting(codec)),
        "ours": partial(written, "ours", "parallel_write", codec),
    }
    if against_fio := codec == "none" and direct:
        size = sides["ours"]()["bytes"]
        sides["arrays"] = partial(written, "arrays", "parallel_write", codec, "--arrays")
        sides["transport"] = partial(bare_write, session, size, threads)
        sides["fio"] = partial(fio, session.work / "fio.data", "write", threads, size)
    label = f"parallel write, {codec}, {'direct I/O' if direct else 'page cache'}, {threads} threads"
    series = session.turns(label, sides)
    bare = {name: series.pop(name) for name in ("fio", "transport") if name in series}
    check_parallel(session, label, series)

    line: dict[str, Any] = {"codec": codec, "threads": threads, "direct": direct, "events": events}
    for side, runs in series.items():
        for measure, name in (("bytes", "storage"), ("data_bytes", "data")):
            line[f"{side} {name}"] = [value / MB for value in bandwidths(runs.runs, measure)]
    line["ratio"] = ratios(series["ROOT"], series["ours"])
    table.lines.append(line)
    line |= {name: [value / MB for value in bandwidths(runs.runs)] for name, runs in bare.items()}
    if not against_fio:
        return
    fio_runs = bare["fio"]
    for side, text in (("ours", "per entry"), ("arrays", "whole arrays")):
        pairs = zip(bandwidths(series[side].runs), bandwidths(fio_runs.runs), strict=True)
        session.add(
            Row(
                "parallel",
                f"parallel write {text}, none, direct I/O, {threads} threads",
                "our bandwidth / fio's",
                [ours / most for ours, most in pairs],
                0.75 if threads == max(THREADS) else None,
                ours=rate_of(series[side]),
                reference=f"fio {rate_of(fio_runs)}, ROOT {rate_of(series['ROOT'])}",
            )
        )


def bare_write(session: Session, size: int, threads: int) -> Run:
    """What Colonnade's transport reaches with nothing above it."""
    path = session.work / "transport.data"
    path.unlink(missing_ok=True)
    os.sync()
    arguments = ["--bytes", size, "--threads", threads, "--direct"]
    result = run(session.program("io/write_bandwidth"), path, *arguments)
    path.unlink()
    return result


def check_parallel(session: Session, label: str, series: Mapping[str, Series]) -> None:
    """Check that another reader finds in the last file of each side what its writer was given."""
    measures = ("events", "id_sum", "particles", "particle_bits")
    session.same(label, series, *measures)
    for side, runs in series.items():
        path = session.work / f"parallel-{side}.root"
        found, told = run_python("read_random.py", path), runs.runs[-1]
        path.unlink()
        for measure in measures:
            if found[measure] != told[measure]:
                session.problem(f"{label}: {side} wrote {measure} {found[measure]}, not {told[measure]}")


def compression(session: Session) -> None:
    """Writing with Zstd 5, and the table of all codecs and levels."""
    path = session.work / "compressed.root"
    sample = raw_sample(session.work, session.events // 8 * 2)[0]

    def written(program: str, *arguments: object) -> Run:
        path.unlink(missing_ok=True)
        return run(session.program(program), sample, path, *arguments)

    series = session.turns(
        "write, zstd:5",
        {
            "ROOT": partial(written, "lhcb_write_root", root_setting("zstd:5")),
            "ours": partial(written, "lhcb_write", "zstd:5", "fill"),
        },
    )
    path.unlink()
    sample.unlink()
    sizes = {name: f"{side.runs[0]['bytes'] / MB:.1f} MB" for name, side in series.items()}
    session.add(
        faster("compression", "write per entry, zstd:5", series["ROOT"], series["ours"], 3.0),
        Row(
            "compression",
            "write per entry, zstd:5: size",
            "our size / ROOT's",
            ratios(series["ours"], series["ROOT"], "bytes"),
            1.01,
            at_most=True,
            ours=sizes["ours"],
            reference=f"ROOT {sizes['ROOT']}",
        ),
    )
    table = Table(
        "Compression",
        "The LHCb sample written per entry, one thread: CPU seconds, ROOT's over ours, and our size as a part of "
        "ROOT's. LZMA takes so long that it gets fewer events.",
    )
    for part, codecs in ((100, ("zstd", "lz4", "zlib")), (400, ("lzma",))):
        table.lines += compression_lines(session, max(session.events // part, 2) // 2 * 2, codecs)
    session.results.tables["compression"] = table


def compression_lines(session: Session, events: int, codecs: Sequence[str]) -> list[dict[str, Any]]:
    session.show(f"compression, {', '.join(codecs)}")
    folder = session.work / "compression"
    settings = ",".join(f"{codec}:{level}" for codec in codecs for level in range(1, 10))
    options = ["--build", session.folder.parent, "--output", folder, "--codecs", settings]
    options += ["--events", events, "--repeats", session.repeats]
    command = [sys.executable, HERE / "compression" / "table.py", *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        session.results.problems += done.stderr.splitlines()
    report = folder / "compression.json"
    rows = json.loads(report.read_text())["rows"] if report.exists() else []
    shutil.rmtree(folder, ignore_errors=True)
    return [
        {"setting": row["codec"], "events": events, "ROOT": cpu["root"], "Colonnade": cpu["ours"]}
        | {
            "ratio": [a / b for a, b in zip(cpu["root"], cpu["ours"], strict=True)],
            "size": f"{row['size']:.4f}",
        }
        for row in rows
        if (cpu := {side: [r["cpu_seconds"] for r in row[side]["runs"]] for side in ("root", "ours")})
    ]
