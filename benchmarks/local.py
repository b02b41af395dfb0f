#!/usr/bin/env python3
"""Measures local storage against ROOT, uproot and fio, and says which targets are met (`make bench-local`).

One run measures everything: the sides of each row take turns, so that whatever else the machine does meets them all.
Saved are local.md, local.json and figures. docs/benchmarks.md says what the rows mean.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import HERE, BenchmarkError, machine
from disk import check_space
from local_columns import memory, open_wide
from local_reading import cold, floor, python, read
from local_report import save
from local_results import Results
from local_session import Session
from local_writing import compression, parallel, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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

BYTES_PER_EVENT = 1400
"""Disk space that all files need together at a time: the sample, ROOT's files, the files being written."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default_build = HERE.parent / "build" / "bench"
    parser.add_argument("--build", type=Path, default=default_build, help="CMake's build folder")
    parser.add_argument("--events", type=int, default=8_500_000, help="size of the LHCb sample")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP", help=", ".join(GROUPS)
    )
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the report")
    parser.add_argument(
        "--work", type=Path, help="folder on the disk to measure, for large files (default: that of --output)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the sample in --work for the next run")
    options = parser.parse_args()
    if options.events < 2 or options.events % 2 or options.repeats < 1:
        parser.error("--events must be positive and even, --repeats positive")
    return options


def measure(session: Session, groups: list[str], progress: Progress, console: Console) -> None:
    """Run the groups in turn; one that fails is noted, and the others go on."""
    whole = progress.add_task("", total=len(groups))
    session.show = lambda text: progress.update(whole, description=text)
    for name in groups:
        before, started = len(session.results.rows), time.monotonic()
        session.show(name)
        try:
            GROUPS[name](session)
        except BenchmarkError as error:
            session.problem(f"{name}: {error}")
            console.print(f"{name} failed: {error}", markup=False, highlight=False, soft_wrap=True)
        for row in session.results.rows[before:]:
            mark = {None: " ", True: "+", False: "-"}[row.met]
            console.print(
                f"{mark} {row.work}: {row.median:.2f} {row.measure}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        console.print(f"{name}: {time.monotonic() - started:.0f} s", highlight=False, soft_wrap=True)
        progress.advance(whole)


def main() -> int:
    options = parse()
    work_parent = options.work or options.output
    for folder in (options.output, work_parent):
        folder.mkdir(parents=True, exist_ok=True)
    check_space(work_parent, options.events * BYTES_PER_EVENT)
    if set(options.only) & GROUPS_WITH_FIO and shutil.which("fio") is None:
        raise BenchmarkError("fio is missing; `tools/bootstrap.sh bench` installs it, --only leaves rows out")

    results = Results(machine(), options.events, options.repeats)
    console = Console()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=work_parent) as work:
        session = Session(
            options.build.resolve(), Path(work), results, work_parent if options.keep else Path(work)
        )
        with Progress(*columns, console=console) as progress:
            measure(session, options.only, progress, console)
    results.about["seconds"] = round(time.monotonic() - session.started)

    (options.output / "local.json").write_text(json.dumps(results.to_json(), indent=1) + "\n")
    print("\n" + save(results, options.output))
    print(f"saved local.md, local.json and figures in {options.output}")
    for problem in results.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if results.problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
