#!/usr/bin/env python3
"""Measures the cache: an analysis of an origin without it, while it is filled, and from it.

The origins are a local file and S3 (versitygw) behind toxiproxy with latencies; the home is a folder on the same disk.
Each run is a process of its own; times are those of the whole application from opening to the result, and of what is
left to write when it ends. Saved are cache.md, cache.json and cache.png.

    python benchmarks/cache.py --entries 2000000 --repeats 5
"""

from __future__ import annotations

import argparse
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
from pathlib import Path
from typing import Any

from common import HERE, BenchmarkError, Series, alternate, machine, ratios, spread

sys.path.insert(0, str(HERE.parent / "tests" / "servers"))

COLUMNS = 12
USED = 8


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


def run(origin: str, home: Path | None, environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", origin, str(home or "off")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(origin: str, work: Path, rounds: int, environment: dict[str, str]) -> dict[str, Series]:
    """Alternate between no cache, an empty one, and a full one."""
    full, empty = work / "full", work / "empty"
    run(origin, full, environment)

    def fill() -> dict[str, Any]:
        shutil.rmtree(empty, ignore_errors=True)
        return run(origin, empty, environment)

    return alternate(
        rounds,
        {
            "plain": lambda: run(origin, None, environment),
            "filling": fill,
            "cached": lambda: run(origin, full, environment),
        },
    )


@contextmanager
def s3_origin(work: Path, entries: int) -> Iterator[tuple[str, dict[str, str], Any]]:
    """An S3 server with the sample, its environment, and a proxy in front of it."""
    from s3_server import BUCKET, S3Server
    from toxiproxy import Toxiproxy

    with ExitStack() as stack:
        server = stack.enter_context(S3Server(work / "s3"))
        proxies = stack.enter_context(Toxiproxy(work / "toxiproxy"))
        environment = server.environment()
        os.environ.update(environment)
        write(f"s3://{BUCKET}/events.root", entries)
        proxy = proxies.proxy("s3", server.port)
        environment["AWS_ENDPOINT_URL_S3"] = server.endpoint_at(proxy.port)
        yield f"s3://{BUCKET}/events.root", environment, proxy


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
        "target": "plain / cached at least 6" if remote else "filling / plain at most 1.15",
        "same results": len(totals) == 1,
        "runs": {side: one.runs for side, one in series.items()},
    }


def save(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    options.output.mkdir(parents=True, exist_ok=True)
    about = {"machine": machine(), "entries": options.entries, "rounds": options.repeats}
    (options.output / "cache.json").write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    titles = [title for title in rows[0] if title != "runs"]
    lines = [
        "# The cache",
        "",
        f"{options.entries} entries, {options.repeats} rounds; seconds, median (range).",
        "",
    ]
    lines += ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(str(one[title]) for title in titles) + " |" for one in rows]
    text = "\n".join(lines) + "\n"
    (options.output / "cache.md").write_text(text)
    plot(rows, options.output / "cache.png")
    return text


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import statistics

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for number, side in enumerate(("plain", "filling", "cached")):
        heights = [statistics.median(one["seconds"] for one in each["runs"][side]) for each in rows]
        axes.bar([at + 0.27 * number for at in range(len(rows))], heights, width=0.25, label=side)
    axes.set_xticks([at + 0.27 for at in range(len(rows))], [each["origin"] for each in rows])
    axes.set_yscale("log")
    axes.set_ylabel("seconds, whole application")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--latencies", type=int, nargs="*", default=[0, 20, 50], help="of S3, in milliseconds"
    )
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--one", nargs=2, metavar=("ORIGIN", "HOME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        analyse(*options.one)
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        work = Path(folder)
        local = str(work / "events.root")
        write(local, options.entries)
        rows.append(row("local file", measure(local, work / "local", options.repeats, {}), remote=False))
        print(save(rows, options))
        if options.latencies:
            with s3_origin(work, options.entries) as (origin, environment, proxy):
                for latency in options.latencies:
                    with proxy.toxic("latency", latency=latency):
                        home = work / f"s3-{latency}"
                        series = measure(origin, home, options.repeats, environment)
                    rows.append(row(f"S3, {latency} ms", series, remote=latency > 0))
                    print(save(rows, options))


if __name__ == "__main__":
    main()
