#!/usr/bin/env python3
"""Measures object stores against their own limits and says which targets are met (`make bench-objects`).

Servers are started on loopback and stopped. Saved are objects.md, objects.json and figures. docs/benchmarks.md says
what the rows mean.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from common import BenchmarkError, run_main
from local_session import Session
from objects_groups import folder, s3, sweep
from objects_places import KINDS
from objects_report import save
from processes import ServerError
from runner import Report, measure, parse, parser

GROUPS = ("sweep", "s3", "obj")
BYTES_PER_EVENT = 1400


def parts(groups: list[str], stores: list[str]) -> dict[str, Callable[[Session], None]]:
    """Return what is measured; the sweep is saved store by store."""
    chosen: dict[str, Callable[[Session], None]] = {}
    if "sweep" in groups:
        chosen = {f"sweep {name}": partial(sweep, stores=[name]) for name in stores}
    others = {"s3": s3, "obj": folder}
    return chosen | {name: group for name, group in others.items() if name in groups}


def main() -> int:
    own = parser(__doc__, GROUPS, events=2_000_000)
    own.add_argument("--stores", nargs="+", choices=KINDS, default=list(KINDS), metavar="STORE")
    options = parse(own)
    return measure(
        parts(options.only, options.stores),
        options,
        Report("objects", save),
        bytes_per_event=BYTES_PER_EVENT,
        errors=(BenchmarkError, ServerError),
    )


if __name__ == "__main__":
    run_main(main)
