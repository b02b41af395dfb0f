"""Measurements of very many columns, and of memory.

A measurement runs programs in turns and adds rows and tables to the results. What the sides computed is compared each
time; a difference is a problem, which makes the run fail.
"""

from __future__ import annotations

import statistics
from functools import partial

from common import (
    Run,
    Series,
    execute,
    ratios,
    run,
    spread,
)
from local_results import Row
from local_session import MB, Session, view_loops

COLUMNS_OF_WIDE_WRITER = 1500
FIELDS_OF_10000_COLUMNS = 7500  # every third one is a list, which takes two columns


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
