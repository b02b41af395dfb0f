#!/usr/bin/env python3
"""Measures what checkpoints cost: bytes, and the time to open, against the same data set written without any.

    python benchmarks/checkpoints.py --checkpoints 3000 --repeats 7

A run of many checkpoints is written twice with tiny clusters, once with a checkpoint behind each and once without any,
to a ROOT file, a bare file, an object store in a folder, and one in S3 (versitygw); a third time it is killed after its
last checkpoint instead of closed. Opening alternates between them in processes of their own; in S3 with a round trip of
`--latency` milliseconds by Toxiproxy. Bytes are also measured for a usual run, of clusters of `--cluster-kib`. Targets:
at most 1 % more bytes than a usual run has, and at most twice the time to open. Saved are checkpoints.md and
checkpoints.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    HERE,
    BenchmarkError,
    Run,
    alternate,
    describe_machine,
    machine,
    options_for,
    ratios,
    save_report,
    spread,
    table_of,
)

sys.path[:0] = [str(HERE.parent / "tests" / "servers")]

from s3_server import BUCKET, S3Server  # noqa: E402
from toxiproxy import Toxiproxy  # noqa: E402

# Without checkpoints; with one behind each cluster; with these, and killed instead of closed.
SIDES = ("none", "checkpoints", "killed")
MOST_SHARE = 0.01
MOST_RATIO = 2.0

WRITE = """
import os, sys, numpy, colonnade
uri, side, clusters, entries = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
options = {"checkpoint_every": None if side == "none" else 1}
if uri.endswith(".bare"):
    options["container"] = "bare"
random = numpy.random.default_rng(1)
writer = colonnade.create(uri, "Events", {"x": "float", "y": "double"}, compression="none", **options)
for _ in range(clusters):
    writer.extend({"x": random.random(entries, dtype="float32"), "y": random.random(entries)})
    writer.commit_cluster()
if side == "killed":
    os._exit(0)
writer.close()
"""

OPEN = """
import json, resource, sys, time, colonnade
warm, uri, entries = sys.argv[1], sys.argv[2], int(sys.argv[3])
colonnade.open(warm).close()
begin = time.perf_counter()
data = colonnade.open(uri, "Events")
seconds = time.perf_counter() - begin
assert data.num_entries == entries, (data.num_entries, entries)
print(json.dumps({"seconds": seconds, "max_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@dataclass
class Destination:
    """Where data sets are written, and how many bytes they take there."""

    name: str
    uri_of: Callable[[str], str]
    bytes_of: Callable[[str], int]
    environment: dict[str, str] = field(default_factory=dict)
    slowly: dict[str, str] = field(default_factory=dict)
    """The environment in which it is read."""


def program(text: str, *arguments: object, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", text, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(map(str, arguments))} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def write(place: Destination, label: str, side: str, clusters: int, entries: int) -> None:
    program(WRITE, place.uri_of(label), side, clusters, entries, environment=place.environment)


def opened(place: Destination, warm: Path, side: str, entries: int) -> Run:
    uri = place.uri_of(side)
    result: Run = json.loads(
        program(OPEN, warm, uri, entries, environment={**place.environment, **place.slowly})
    )
    return result


def size_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextlib.contextmanager
def places(folder: Path, latency: int) -> Iterator[list[Destination]]:
    def in_file(suffix: str) -> Destination:
        return Destination(
            f"{'ROOT' if suffix == 'root' else suffix} file",
            lambda label: str(folder / f"{label}.{suffix}"),
            lambda label: (folder / f"{label}.{suffix}").stat().st_size,
        )

    store = Destination(
        "folder of values",
        lambda label: f"obj://{folder}/{label}",
        lambda label: size_below(folder / label),
    )
    with Toxiproxy(folder / "toxiproxy") as toxiproxy, S3Server(folder / "s3") as server:
        proxy = toxiproxy.proxy("s3", server.port)
        s3 = Destination(
            f"S3 with {latency} ms",
            lambda label: f"s3://{BUCKET}/{label}",
            lambda label: size_below(server.data / BUCKET / label),
            server.environment(),
            {"AWS_ENDPOINT_URL": server.endpoint_at(proxy.port)},
        )
        with proxy.toxic("latency", latency=latency):
            yield [in_file("root"), in_file("bare"), store, s3]


def measure(place: Destination, warm: Path, options: argparse.Namespace) -> dict[str, Any]:
    tiny = 3
    for side in SIDES:
        write(place, side, side, options.checkpoints, tiny)
    sides = {side: partial(opened, place, warm, side, options.checkpoints * tiny) for side in SIDES}
    series = alternate(options.repeats, sides)
    return {
        "place": place.name,
        "bytes": {side: place.bytes_of(side) for side in SIDES},
        "runs": {side: one.runs for side, one in series.items()},
        "ratios": {side: ratios(series[side], series["none"]) for side in SIDES[1:]},
        "usual": usual_run(place, options),
    }


def usual_run(place: Destination, options: argparse.Namespace) -> dict[str, int]:
    """Bytes of the same run with clusters that are as small as those of a careful user, and no smaller."""
    entries = options.cluster_kib * 1024 // 12
    clusters = options.usual_checkpoints
    for side in SIDES[:2]:
        write(place, f"usual-{side}", side, clusters, entries)
    return {side: place.bytes_of(f"usual-{side}") for side in SIDES[:2]}


def row(measured: dict[str, Any], checkpoints: int) -> dict[str, str]:
    size, usual = measured["bytes"], measured["usual"]
    times = {side: spread([1000 * run["seconds"] for run in measured["runs"][side]], ".1f") for side in SIDES}
    share = (usual["checkpoints"] - usual["none"]) / usual["none"]
    closed, killed = (statistics.median(measured["ratios"][side]) for side in SIDES[1:])
    return {
        "place": measured["place"],
        "bytes a checkpoint": f"{(size['checkpoints'] - size['none']) / checkpoints:.0f}",
        "of a usual run": f"{100 * share:.2f} %",
        "opens without, ms": times["none"],
        "with, ms": times["checkpoints"],
        "killed, ms": times["killed"],
        "ratio": spread(measured["ratios"]["checkpoints"]),
        "killed, ratio": spread(measured["ratios"]["killed"]),
        "targets": "met"
        if share <= MOST_SHARE and max(closed, killed) <= MOST_RATIO
        else f"missed (1 %, {MOST_RATIO:.0f} times)",
    }


def save(results: list[dict[str, Any]], about: dict[str, Any], options: argparse.Namespace) -> str:
    rows = [row(one, options.checkpoints) for one in results]
    lines = [
        "# Checkpoints",
        "",
        *describe_machine(about),
        (
            f"{options.checkpoints} checkpoints, each behind a cluster of 3 entries; usual run: "
            f"{options.usual_checkpoints} clusters of {options.cluster_kib} KiB with a checkpoint behind each."
        ),
        f"{options.repeats} rounds; median (range). Made by `make bench-checkpoints`.",
        "",
        *table_of(rows),
    ]
    return save_report(options.output, "checkpoints", lines, {"about": about, "results": results})


def main() -> None:
    parser = options_for(__doc__, 7)
    parser.add_argument("--checkpoints", type=int, default=3000)
    parser.add_argument("--usual-checkpoints", type=int, default=150)
    parser.add_argument("--cluster-kib", type=int, default=256, help="of the usual run")
    parser.add_argument("--latency", type=int, default=20, help="of S3, in milliseconds")
    parser.add_argument("--places", nargs="*", help="those whose names have one of these words")
    options = parser.parse_args()
    about = machine()
    with tempfile.TemporaryDirectory(prefix="bench-checkpoints-", dir=options.work) as name:
        folder = Path(name)
        warm = folder / "warm.root"
        program(WRITE, warm, "none", 1, 3, environment={})
        results = []
        with places(folder, options.latency) as all_places:
            for place in all_places:
                if options.places and not any(word in place.name for word in options.places):
                    continue
                results.append(measure(place, warm, options))
                print(save(results, about, options), flush=True)


if __name__ == "__main__":
    main()
