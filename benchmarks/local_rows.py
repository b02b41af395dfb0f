"""The measurements of local.py, one function per group of rows.

A measurement runs programs in turns and adds rows and tables to the results. What both sides computed is compared each
time; a difference is a problem, which makes the run fail.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    HERE,
    BenchmarkError,
    Run,
    Series,
    execute,
    ratios,
    raw_sample,
    root_setting,
    run,
    run_python,
    spread,
)
from disk import drop_from_cache, fio
from local_results import Row, Table, bandwidths
from local_session import MB, Session, faster, rate_of, seconds_of

COLUMNS_OF_WIDE_WRITER = 1500
FIELDS_OF_10000_COLUMNS = 7500  # every third one is a list, which takes two columns
STREAMS = (1, 2, 4, 8, 16)
PARALLEL_CODECS = ("none", "zstd:1", "zstd:3", "zstd:5", "zstd:9", "lz4:1", "lz4:4", "lz4:6", "lz4:9")
THREADS = (1, 2)

# ---- Reading


def check_analysis(session: Session, label: str, series: Mapping[str, Series]) -> None:
    session.same(label, series, "events", "candidates", "mass_sum")
    found = next(iter(series.values())).runs[0]
    expected = session.sample()[1]
    if found["events"] != session.events or found["candidates"] != expected:
        session.problem(
            f"{label}: {found['candidates']} candidates in {found['events']} events; "
            f"there are {expected} in {session.events}"
        )


def view_loops(session: Session, path: Path) -> dict[str, Callable[[], Run]]:
    """The B-mass analysis through views: ROOT, Colonnade by default, and with everything in the reading thread."""
    return {
        "ROOT": partial(run, session.program("lhcb_read_root"), path),
        "default": partial(run, session.program("lhcb_read"), path, "view"),
        "serial": partial(run, session.program("lhcb_read"), path, "view", "--serial"),
    }


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


# ---- Writing


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


# ---- Compression


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
    try:
        script = HERE / "compression" / "table.py"
        execute(sys.executable, script, *options, "--events", events, "--repeats", session.repeats)
    except BenchmarkError as error:
        session.problem(f"compression: {error}")
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


# ---- Many columns, memory


def open_wide(session: Session) -> None:
    """Opening a file of 10 000 columns and reading one value."""
    field = FIELDS_OF_10000_COLUMNS // 2 // 3 * 3 + 2  # a plain one, in the middle
    path = session.work / "wide.root"
    for clusters in (1, 100):
        execute(session.program("open_wide_root"), "write", path, FIELDS_OF_10000_COLUMNS, clusters)
        sides = {
            name: partial(run, session.program(program), "read", path, field)
            for name, program in (("ROOT", "open_wide_root"), ("ours", "open_wide"))
        }
        series = session.turns(f"open, {clusters} clusters", sides, warm=True)
        session.same(f"open, {clusters} clusters", series, "value")
        path.unlink()
        text = {
            name: f"{spread([seconds * 1000 for seconds in side.seconds], '.1f')} ms"
            for name, side in series.items()
        }
        session.add(
            Row(
                "open",
                f"open 10 000 columns, {clusters} clusters, read one",
                "ROOT's time / ours",
                ratios(series["ROOT"], series["ours"]),
                5.0,
                ours=text["ours"],
                reference=f"ROOT {text['ROOT']}",
            )
        )


def memory_of(series: Series) -> list[float]:
    return [kib * 1024 / MB for kib in series.values("max_rss_kib")]


def memory(session: Session) -> None:
    """Resident memory, of reading and of a writer of very many columns."""
    for codec in ("zstd:5", "none"):
        sides = view_loops(session, session.root_file(codec))
        del sides["serial"]
        series = session.turns(f"memory of reading, {codec}", sides)
        values = {name: memory_of(side) for name, side in series.items()}
        session.add(
            Row(
                "memory",
                f"B mass, view loop, {codec}: resident memory",
                "MB",
                values["default"],
                300.0,
                at_most=True,
                reference=f"ROOT {spread(values['ROOT'], '.0f')} MB",
            )
        )
    memory_of_writer(session)


def memory_of_writer(session: Session) -> None:
    entries = max(session.events // 120, 1)  # 70 000 for the whole sample: two clusters

    def written(program: str) -> Run:
        path = session.work / "wide.root"
        result = run(session.program(program), path, COLUMNS_OF_WIDE_WRITER, entries)
        path.unlink()
        return result

    series = session.turns(
        "memory of writing",
        {"ROOT": partial(written, "wide_write_root"), "ours": partial(written, "wide_write")},
    )
    text = {name: f"{spread(memory_of(side), '.0f')} MB" for name, side in series.items()}
    before = statistics.median(series["ROOT"].values("rss_before_kib")) * 1024 / MB
    session.add(
        Row(
            "memory",
            f"writer of {COLUMNS_OF_WIDE_WRITER} columns, default options: resident memory",
            "our memory / ROOT's",
            ratios(series["ours"], series["ROOT"], "max_rss_kib"),
            1 / 3,
            at_most=True,
            ours=text["ours"],
            reference=f"ROOT {text['ROOT']}, {before:.0f} MB of it before it begins",
        )
    )


GROUPS: dict[str, Callable[[Session], None]] = {
    "read": read,
    "floor": floor,
    "python": python,
    "cold": cold,
    "write": write,
    "parallel": parallel,
    "open": open_wide,
    "memory": memory,
    "compression": compression,
}
GROUPS_WITH_FIO = {"cold", "parallel"}
