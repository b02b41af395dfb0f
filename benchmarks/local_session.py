"""What the measurements of local storage share: the programs, the sample, taking turns, and how rows are made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from common import BenchmarkError, Run, Series, alternate, ratios, raw_sample, root_setting, run, spread
from local_results import Results, Row, bandwidths

MB = 1e6

Sides = Mapping[str, Callable[[], Run]]


class Session:
    """What the measurements share: the programs, the sample, the files that ROOT wrote, and the results."""

    def __init__(self, build: Path, work: Path, results: Results, sample_folder: Path):
        self.folder, self.work, self.results = build / "benchmarks", work, results
        self.events, self.repeats = results.events, results.repeats
        self.started = time.monotonic()
        self.show: Callable[[str], None] = lambda text: None
        self._sample_folder = sample_folder
        self._sample: tuple[Path, int] | None = None
        self._root_files: dict[str, Path] = {}

    def program(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            raise BenchmarkError(f"{path} is missing (not built); `make bench-local` builds it")
        return path

    def sample(self) -> tuple[Path, int]:
        self._sample = self._sample or raw_sample(self._sample_folder, self.events)
        return self._sample

    def root_file(self, codec: str) -> Path:
        """The LHCb sample as ROOT writes it."""
        if codec not in self._root_files:
            path = self.work / f"root-{codec.replace(':', '-')}.root"
            run(self.program("lhcb_write_root"), self.sample()[0], path, root_setting(codec))
            os.sync()
            self._root_files[codec] = path
        return self._root_files[codec]

    def turns(self, label: str, sides: Sides, *, warm: bool = False) -> dict[str, Series]:
        """Run the sides in turns, `repeats` times; with `warm` once before, so that files are in the page cache."""
        if warm:
            self.show(f"{label}, warming up")
            for side in sides.values():
                side()
        done = 0

        def counted(side: Callable[[], Run]) -> Run:
            nonlocal done
            self.show(f"{label}, round {done // len(sides) + 1} of {self.repeats}")
            done += 1
            return side()

        return alternate(self.repeats, {name: partial(counted, side) for name, side in sides.items()})

    def add(self, *rows: Row) -> None:
        self.results.rows += rows

    def problem(self, text: str) -> None:
        self.results.problems.append(text)

    def same(self, label: str, series: Mapping[str, Series], *measures: str) -> None:
        """Check that all runs of all sides report the same."""
        for measure in measures:
            found = {name: sorted({run[measure] for run in side.runs}) for name, side in series.items()}
            if len({value for values in found.values() for value in values}) > 1:
                self.problem(f"{label}: the sides differ in {measure}: {found}")


def seconds_of(series: Series) -> str:
    return f"{spread(series.seconds)} s"


def rate_of(series: Series, measure: str = "bytes") -> str:
    return f"{spread([value / MB for value in bandwidths(series.runs, measure)], '.0f')} MB/s"


def faster(
    group: str, work: str, root: Series, ours: Series, target: float | None, than: str = "ROOT"
) -> Row:
    """A row: how many times as fast as the other side."""
    return Row(
        group,
        work,
        f"{than}'s time / ours",
        ratios(root, ours),
        target,
        ours=seconds_of(ours),
        reference=f"{than} {seconds_of(root)}",
    )


# ---- The B-mass analysis


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
