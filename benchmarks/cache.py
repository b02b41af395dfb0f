#!/usr/bin/env python3
"""Measures the cache: an analysis of an origin without it, while it is filled, and from it.

The origins are a local file, and HTTP (nginx), XRootD and S3 (versitygw) behind toxiproxy with latencies; the home is a
folder on the same disk, or a prefix in S3. Each run is a process of its own; times are those of the whole application
from opening to the result, and of what is left to write when it ends. Saved are cache.md, cache.json and cache.png;
rows that are not measured stay as they were.

    python benchmarks/cache.py --entries 6000000 --repeats 5 --origins local http xrootd s3

The loopback device is faster than any line to a distant server. With --rate, and as root, everything runs in a network
namespace of its own whose loopback device carries so much and no more:

    sudo python benchmarks/cache.py --origins http xrootd s3 --latencies 20 --rate 1000
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from common import (
    HERE,
    BenchmarkError,
    Series,
    alternate,
    machine,
    options_for,
    ratios,
    save_report,
    spread,
    table_of,
)

sys.path.insert(0, str(HERE.parent / "tests" / "servers"))

COLUMNS = 12
USED = 8
IN_NAMESPACE = "COLONNADE_BENCH_IN_NAMESPACE"
"""Environment variable: the line has the rate that was asked for."""


def write(target: str, entries: int) -> None:
    """Write columns of which a part is noise, as measured quantities are."""
    import numpy as np

    import colonnade

    random = np.random.default_rng(1)
    with colonnade.create(target, "Events", compression="zstd:5") as writer:
        for first in range(0, entries, 500_000):
            count = min(500_000, entries - first)
            writer.extend({f"x{k}": random.exponential(30 + k, count) for k in range(COLUMNS)})


def analyse(origin: str, home: str) -> None:
    """Run the analysis once and print what it took."""
    import colonnade
    from colonnade import DataFrame

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    frame = DataFrame("Events", origin, cache=home, progress=False)
    mass = "sqrt(" + " + ".join(f"x{k} * x{k}" for k in range(USED)) + ")"
    total = frame.define("mass", mass).filter("mass > 50").sum("mass").value
    metrics = frame.metrics
    if metrics is None:
        raise BenchmarkError("the pass says nothing of what it read")
    seconds = time.perf_counter() - start
    colonnade.cache.flush()
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "flushing_seconds": time.perf_counter() - start - seconds,
                "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                "waiting_seconds": metrics.seconds_waiting,
                "bytes": metrics.bytes,
                "pages": metrics.pages,
                "cache_pages": metrics.cache_pages,
                "cache_added": metrics.cache_added,
                "cache_dropped": metrics.cache_dropped,
                "max_rss_kib": after.ru_maxrss,
                "total": total,
            }
        )
    )


def run(origin: str, home: str | None, environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", origin, f"{home}?bypass=no" if home else "off"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(origin: str, home: str, rounds: int, environment: dict[str, str]) -> dict[str, Series]:
    """Take turns with no cache, an empty one, and a full one."""
    run(origin, f"{home}-full", environment)
    number = itertools.count()

    def fill() -> dict[str, Any]:
        empty = f"{home}-{next(number)}"
        result = run(origin, empty, environment)
        if "://" not in empty:
            shutil.rmtree(empty)
        return result

    return alternate(
        rounds,
        {
            "plain": lambda: run(origin, None, environment),
            "filling": fill,
            "cached": lambda: run(origin, f"{home}-full", environment),
        },
    )


@dataclass
class Origin:
    """A server with the sample behind a proxy, and what its clients have to know."""

    uri: str
    environment: dict[str, str]
    proxy: Any


@contextmanager
def http_origin(work: Path, sample: Path, proxies: Any) -> Iterator[Origin]:
    from http_server import HttpServer

    with HttpServer(work / "http") as server:
        shutil.copy(sample, server.data / "events.root")
        proxy = proxies.proxy("http", server.port)
        yield Origin(f"{server.url_at(proxy.port)}/files/events.root", server.environment(), proxy)


@contextmanager
def xrootd_origin(work: Path, sample: Path, proxies: Any) -> Iterator[Origin]:
    from xrootd_server import XrootdServer

    with XrootdServer(work / "xrootd") as server:
        shutil.copy(sample, server.data / "events.root")
        proxy = proxies.proxy("xrootd", server.port)
        yield Origin(f"{server.uri_at(proxy.port)}events.root", server.environment(), proxy)


@contextmanager
def s3_origin(work: Path, sample: Path, proxies: Any) -> Iterator[Origin]:
    from s3_server import BUCKET, S3Server

    with S3Server(work / "s3") as server:
        server.requests().put(BUCKET, "events.root", sample.read_bytes())
        proxy = proxies.proxy("s3", server.port)
        environment = server.environment()
        environment["AWS_ENDPOINT_URL_S3"] = server.endpoint_at(proxy.port)
        yield Origin(f"s3://{BUCKET}/events.root", environment, proxy)


@contextmanager
def s3_home(work: Path) -> Iterator[tuple[str, dict[str, str]]]:
    from s3_server import BUCKET, S3Server

    with S3Server(work / "s3-home") as server:
        yield f"s3://{BUCKET}/cache", server.environment()


ORIGINS = {"http": ("HTTP", http_origin), "xrootd": ("XRootD", xrootd_origin), "s3": ("S3", s3_origin)}


def row(name: str, series: dict[str, Series], *, remote: bool) -> dict[str, Any]:
    slower = ratios(series["filling"], series["plain"])
    faster = ratios(series["plain"], series["cached"])
    totals = {run["total"] for side in series.values() for run in side.runs}
    return {
        "origin": name,
        "plain": spread(series["plain"].seconds),
        "filling": spread(series["filling"].seconds),
        "cached": spread(series["cached"].seconds),
        "filling / plain": spread(slower),
        "plain / cached": spread(faster),
        "left to write": spread(series["filling"].values("flushing_seconds")),
        "target": "plain / cached at least 6, filling / plain 1"
        if remote
        else "filling / plain at most 1.15",
        "same results": len(totals) == 1,
        "runs": {side: one.runs for side, one in series.items()},
    }


def save(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Put the rows into the place of earlier ones of the same name; what the table says now."""
    path = options.output / "cache.json"
    about = {"machine": machine(), "entries": options.entries, "rounds": options.repeats}
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    named = {one["origin"]: one for one in before} | {one["origin"]: one for one in rows}
    every = [named[name] for name in sorted(named, key=lambda name: (name != "local file", name))]
    lines = [
        "# The cache",
        "",
        f"{options.entries} entries, {options.repeats} rounds; seconds, median (range).",
        "",
        *table_of(every),
    ]
    text = save_report(options.output, "cache", lines, {"about": about, "rows": every})
    plot(every, options.output / "cache.png")
    return text


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import statistics

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 4))
    for number, side in enumerate(("plain", "filling", "cached")):
        heights = [statistics.median(one["seconds"] for one in each["runs"][side]) for each in rows]
        axes.bar([at + 0.27 * number for at in range(len(rows))], heights, width=0.25, label=side)
    axes.set_xticks([at + 0.27 for at in range(len(rows))], [each["origin"] for each in rows], rotation=20)
    axes.set_yscale("log")
    axes.set_ylabel("seconds, whole application")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = options_for(__doc__, 5, work=False)
    parser.add_argument("--entries", type=int, default=6_000_000)
    parser.add_argument("--origins", nargs="*", default=["local", *ORIGINS], choices=["local", *ORIGINS])
    parser.add_argument(
        "--latencies", type=int, nargs="*", default=[0, 20, 50], help="of servers, in milliseconds"
    )
    parser.add_argument(
        "--sample", type=Path, help="a file with the data, which is written if it is not there"
    )
    parser.add_argument("--rate", type=int, metavar="MBIT", help="of the line, in Mbit per second")
    parser.add_argument("--home", default="folder", choices=["folder", "s3"])
    parser.add_argument("--one", nargs=2, metavar=("ORIGIN", "HOME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        analyse(*options.one)
        return
    if options.rate and not os.environ.get(IN_NAMESPACE):
        run_at(options.rate)
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder, ExitStack() as stack:
        measure_all(options, Path(folder), stack)


def run_at(rate: int) -> NoReturn:
    """Run this program again in a network namespace whose loopback device has a rate in Mbit per second."""
    # What clients receive passes the device twice, before the proxy and behind it.
    shape = f"tc qdisc add dev lo root tbf rate {2 * rate}mbit burst 256kb latency 50ms"
    script = f'ip link set lo up && {shape} && exec "$@"'
    os.environ[IN_NAMESPACE] = "yes"
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", script, "sh", sys.executable, *sys.argv])


def measure_all(options: argparse.Namespace, work: Path, stack: ExitStack) -> None:
    """Measure what was asked for; each row is saved when it is there."""
    sample = options.sample or work / "events.root"
    if not sample.exists():
        write(str(sample), options.entries)
    home = str(work / "home")
    of_home: dict[str, str] = {}
    if options.home == "s3":
        home, of_home = stack.enter_context(s3_home(work))
    suffix = "" if options.home == "folder" else f", home in {options.home.upper()}"
    line = f", {options.rate / 1000:g} Gbit/s" if options.rate else ""
    if "local" in options.origins:
        series = measure(str(sample), f"{home}-local", options.repeats, of_home)
        print(save([row(f"local file{suffix}", series, remote=False)], options))
    from toxiproxy import Toxiproxy

    proxies = stack.enter_context(Toxiproxy(work / "toxiproxy"))
    for name in (each for each in options.origins if each != "local"):
        title, start = ORIGINS[name]
        place = stack.enter_context(start(work, sample, proxies))
        for latency in options.latencies:
            with place.proxy.toxic("latency", latency=latency):
                series = measure(
                    place.uri, f"{home}-{name}-{latency}", options.repeats, {**of_home, **place.environment}
                )
            name_of_row = f"{title}, {latency} ms{line}{suffix}"
            print(save([row(name_of_row, series, remote=latency > 0)], options))


if __name__ == "__main__":
    main()
