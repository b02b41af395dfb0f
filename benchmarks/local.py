#!/usr/bin/env python3
"""Measures local storage against ROOT, uproot and fio, and says which targets are met (`make bench-local`).

One run measures everything: the sides of each row take turns, so that whatever else the machine does meets them all.
Saved are local.md, local.json and figures. docs/benchmarks.md says what the rows mean.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

from common import BenchmarkError, run_main
from local_columns import memory, open_wide
from local_reading import cold, floor, python, read
from local_report import save
from local_session import Session
from local_writing import compression, parallel, write
from runner import Report, measure, parse, parser

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


def main() -> int:
    options = parse(parser(__doc__, list(GROUPS), events=8_500_000))
    if set(options.only) & GROUPS_WITH_FIO and shutil.which("fio") is None:
        raise BenchmarkError("fio is missing; `tools/bootstrap.sh bench` installs it, --only leaves rows out")
    groups = {name: GROUPS[name] for name in options.only}
    return measure(groups, options, Report("local", save), bytes_per_event=BYTES_PER_EVENT)


if __name__ == "__main__":
    run_main(main)
