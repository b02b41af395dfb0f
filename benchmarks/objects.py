#!/usr/bin/env python3
"""Measures object stores against their own limits and says which targets are met (`make bench-objects`).

Servers are started on loopback and stopped. Saved are objects.md, objects.json and figures. docs/benchmarks.md says
what the rows mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from common import HERE, BenchmarkError, machine
from disk import check_space
from local_results import Results
from local_session import Session
from objects_groups import folder, s3, sweep
from objects_places import KINDS
from objects_report import save
from processes import ServerError

GROUPS = ("sweep", "s3", "obj")
BYTES_PER_EVENT = 1400


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, default=HERE.parent / "build" / "bench", help="CMake's build folder"
    )
    parser.add_argument("--events", type=int, default=2_000_000, help="size of the LHCb sample")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--stores", nargs="+", choices=KINDS, default=list(KINDS), metavar="STORE")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the report")
    parser.add_argument("--work", type=Path, help="folder on the disk to measure (default: that of --output)")
    options = parser.parse_args()
    if options.events < 2 or options.events % 2 or options.repeats < 1:
        parser.error("--events must be positive and even, --repeats positive")
    return options


def measure(session: Session, groups: list[str], stores: list[str]) -> None:
    """Run the groups in turn; one that fails is noted, and the others go on."""
    parts = {"s3": partial(s3, session), "obj": partial(folder, session)}
    if "sweep" in groups:
        parts = {f"sweep {name}": partial(sweep, session, [name]) for name in stores} | parts
    for name, part in parts.items():
        if name.split()[0] not in groups:
            continue
        before, started = len(session.results.rows), time.monotonic()
        try:
            part()
        except (BenchmarkError, ServerError) as error:
            session.problem(f"{name}: {error}")
            print(f"{name} failed: {error}")
        for row in session.results.rows[before:]:
            mark = {None: " ", True: "+", False: "-"}[row.met]
            print(f"{mark} {row.work}: {row.median:.2f} {row.measure}", flush=True)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def main() -> int:
    options = parse()
    work_parent = options.work or options.output
    for place in (options.output, work_parent):
        place.mkdir(parents=True, exist_ok=True)
    check_space(work_parent, options.events * BYTES_PER_EVENT)
    results = Results(machine(), options.events, options.repeats)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=work_parent) as work:
        session = Session(options.build.resolve(), Path(work), results, Path(work))
        session.show = lambda text: print(f"  {text}", flush=True) if sys.stdout.isatty() else None
        measure(session, options.only, options.stores)
    results.about["seconds"] = round(time.monotonic() - session.started)

    (options.output / "objects.json").write_text(json.dumps(results.to_json(), indent=1) + "\n")
    print("\n" + save(results, options.output))
    print(f"saved objects.md, objects.json and figures in {options.output}")
    for problem in results.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if results.problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
