"""Measurements of reading: warm, against decompression alone, from Python, and from the disk.

A measurement runs programs in turns and adds rows and tables to the results. What the sides computed is compared each
time; a difference is a problem, which makes the run fail.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

from common import (
    Run,
    ratios,
    run,
    run_python,
    spread,
)
from disk import drop_from_cache, fio
from local_results import Row, Table, bandwidths
from local_session import MB, Session, check_analysis, faster, rate_of, seconds_of, view_loops

STREAMS = (1, 2, 4, 8, 16)
WAYS = {"default": "default options", "serial": "decompression in the reading thread"}


def read(session: Session) -> None:
    """The B-mass analysis through views, warm, on the files that ROOT wrote."""
    for codec, target in (("zstd:5", 3.5), ("lz4:4", 5.0), ("none", 5.0)):
        label = f"B mass, view loop, {codec}"
        series = session.turns(label, view_loops(session, session.root_file(codec)), warm=True)
        check_analysis(session, label, series)
        for way, text in WAYS.items():
            session.add(faster("read", f"{label}, {text}", series["ROOT"], series[way], target))


def floor(session: Session) -> None:
    """The same loop against decompressing its pages and nothing else."""
    path = session.root_file("zstd:5")
    sides = view_loops(session, path)
    del sides["ROOT"]
    sides["floor"] = partial(run, session.program("lhcb_floor"), path)
    series = session.turns("floor", sides, warm=True)
    for way, text in WAYS.items():
        session.add(
            Row(
                "floor",
                f"B mass, view loop, zstd:5, {text}",
                "our time / decompression alone",
                ratios(series[way], series["floor"]),
                1.5,
                at_most=True,
                ours=seconds_of(series[way]),
                reference=f"decompression {seconds_of(series['floor'])}",
            )
        )


def python(session: Session) -> None:
    """The 18 columns of the analysis as NumPy arrays, against uproot."""
    path = session.root_file("zstd:5")
    sides = {name: partial(run_python, "python_arrays.py", name, path) for name in ("uproot", "colonnade")}
    series = session.turns("Python arrays", sides, warm=True)
    session.same("Python arrays", series, "checksum")
    session.add(
        faster(
            "python",
            "Python arrays, 18 columns, zstd:5",
            series["uproot"],
            series["colonnade"],
            4.0,
            "uproot",
        )
    )


def cold(session: Session) -> None:
    """Reading from the disk, against fio on the same file."""
    path = session.root_file("none")
    size = path.stat().st_size
    table = Table(
        "Reading from the disk, by streams",
        f"Bandwidth in MB/s past the page cache, the whole uncompressed file of {size / MB:.0f} MB.",
    )
    for streams in STREAMS:
        series = session.turns(
            f"cold read, {streams} streams",
            {
                "fio": partial(fio, path, "read", streams),
                "ours": partial(cold_bandwidth, session, path, streams),
            },
        )
        pairs = zip(bandwidths(series["ours"].runs), bandwidths(series["fio"].runs), strict=True)
        session.add(
            Row(
                "cold",
                f"cold read, uncompressed, direct I/O, {streams} streams",
                "our bandwidth / fio's",
                [ours / most for ours, most in pairs],
                0.85,
                ours=rate_of(series["ours"]),
                reference=f"fio {rate_of(series['fio'])}",
            )
        )
        table.lines.append(
            {"streams": streams}
            | {name: [value / MB for value in bandwidths(side.runs)] for name, side in series.items()}
        )
    session.results.tables["streams"] = table
    fastest = max(table.lines, key=lambda line: statistics.median(line["fio"]))
    cold_analysis(session, path, fastest["streams"])


def cold_bandwidth(session: Session, path: Path, streams: int) -> Run:
    drop_from_cache(path)
    return run(session.program("io/read_bandwidth"), path, "--direct", "--streams", streams)


def cold_analysis(session: Session, path: Path, streams: int) -> None:
    """The whole B-mass analysis from the disk; the reference is fio's bandwidth for the bytes that it asks for."""

    def analysis(program: str, *arguments: object) -> Run:
        drop_from_cache(path)
        return run(session.program(program), path, *arguments)

    series = session.turns(
        "cold B mass",
        {
            "fio": partial(fio, path, "read", streams),
            "direct": partial(analysis, "lhcb_read", "view", "--direct"),
            "buffered": partial(analysis, "lhcb_read", "view"),
            "ROOT": partial(analysis, "lhcb_read_root"),
        },
    )
    fio_rates = bandwidths(series.pop("fio").runs)
    check_analysis(session, "cold B mass", series)
    for way, text, target in (("direct", "direct I/O", 0.85), ("buffered", "through the page cache", None)):
        ours = series[way]
        needed = zip(fio_rates, ours.values("read_bytes"), ours.seconds, strict=True)
        session.add(
            Row(
                "cold",
                f"B mass, cold, uncompressed, {text}",
                f"time of fio for the bytes needed ({streams} streams) / ours",
                [read_bytes / rate / seconds for rate, read_bytes, seconds in needed],
                target,
                ours=f"{seconds_of(ours)}, {rate_of(ours, 'read_bytes')}",
                reference=f"fio {spread([rate / MB for rate in fio_rates], '.0f')} MB/s",
            ),
            faster("cold", f"B mass, cold, uncompressed, {text}", series["ROOT"], ours, None),
        )
