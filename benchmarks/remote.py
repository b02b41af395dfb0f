"""The LHCb analysis over HTTP and S3 at several latencies, against curl, uproot and ROOT over the same servers.

    python benchmarks/remote.py --events 1000000 --latencies 0 10 50 100 --repeats 5 --out build/remote

Real servers on loopback (nginx, versitygw) with Toxiproxy in front, which delays what the server sends by the latency
and so stands for a round trip of it. All sides of a row read the same file, alternating within one run; medians and
the spread are reported, with processor time beside. `curl` moves the bytes that Colonnade asked for, in as many
streams. Writes a table
(remote.md), all figures (remote.json) and a plot (remote.png).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests" / "servers")]

from http_server import HttpServer  # noqa: E402
from s3_server import BUCKET, S3Server  # noqa: E402
from toxiproxy import Proxy, Toxiproxy  # noqa: E402

STREAMS = 16
SIDES = ("colonnade", "curl", "uproot", "ROOT")

ANALYSIS = """
import sys, time, resource
begin = time.perf_counter()
{program}
used = resource.getrusage(resource.RUSAGE_SELF)
print("RESULT", time.perf_counter() - begin, used.ru_utime + used.ru_stime, entries)
"""
PROGRAMS = {
    "colonnade": """
import colonnade
from colonnade.analysis import b_mass
begin = time.perf_counter()
entries = 0
with colonnade.open(sys.argv[1], sys.argv[2]) as data_set:
    for block in data_set.iterate(b_mass.COLUMNS):
        entries += len(b_mass.select({name: block[name] for name in b_mass.COLUMNS}).mass)
""",
    "uproot": """
import uproot
import uproot.source.http
from colonnade.analysis import b_mass
begin = time.perf_counter()
entries = 0
handler = uproot.source.http.MultithreadedHTTPSource  # what it takes by default needs aiohttp
with uproot.open({sys.argv[1]: None}, handler=handler, num_workers=16) as file:
    data = file[sys.argv[2]].arrays(list(b_mass.COLUMNS))
    entries += len(b_mass.select({name: data[name].to_numpy() for name in b_mass.COLUMNS}).mass)
""",
    "ROOT": """
import ROOT
from colonnade.analysis import b_mass
begin = time.perf_counter()
data = ROOT.RDataFrame(sys.argv[2], sys.argv[1]).AsNumpy(list(b_mass.COLUMNS))
entries = len(b_mass.select(data).mass)
""",
}


def measured(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Wall and processor time of a program's work, from its own word or around it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return {"problem": done.stderr.strip().splitlines()[-1:] or ["it failed"]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    for line in done.stdout.splitlines():
        if line.startswith("RESULT"):
            seconds, cpu = (float(word) for word in line.split()[1:3])
            return {"seconds": seconds, "cpu": cpu, "entries": int(line.split()[3])}
    return {"seconds": seconds, "cpu": cpu}


def curl_command(url: str, ranges: list[str]) -> list[str]:
    """The same ranges in as many streams, to nowhere."""
    config = tempfile.NamedTemporaryFile("w", suffix=".curl", delete=False)  # noqa: SIM115
    with config as file:
        for index, asked in enumerate(ranges):
            file.write(f'{"next" if index else ""}\nurl = "{url}"\nrange = "{asked}"\noutput = "/dev/null"\n')
    return [
        "curl",
        "-s",
        "--parallel",
        "--parallel-immediate",
        "--parallel-max",
        str(STREAMS),
        "-K",
        config.name,
    ]


class Place:
    """A server with the file, behind a proxy."""

    def __init__(self, name: str, uri: str, url: str, environment: dict[str, str], proxy: Proxy) -> None:
        self.name, self.uri, self.url, self.environment, self.proxy = name, uri, url, environment, proxy


@contextlib.contextmanager
def places(sample: Path, folder: Path) -> Iterator[tuple[list[Place], HttpServer]]:
    with (
        Toxiproxy(folder / "toxiproxy") as toxiproxy,
        HttpServer(folder / "http") as http,
        S3Server(folder / "s3") as s3,
    ):
        (http.data / "lhcb.root").write_bytes(sample.read_bytes())
        s3.requests().put(BUCKET, "lhcb.root", sample.read_bytes())
        web, store = toxiproxy.proxy("http", http.port), toxiproxy.proxy("s3", s3.port)
        url = f"{http.url_at(web.port)}/files/lhcb.root"
        endpoint = {**s3.environment(), "AWS_ENDPOINT_URL": s3.endpoint_at(store.port)}
        endpoint["S3_ENDPOINT"] = endpoint["AWS_ENDPOINT_URL"]
        yield (
            [
                Place("HTTP", url, url, http.environment(), web),
                Place("S3", f"s3://{BUCKET}/lhcb.root", "", endpoint, store),
            ],
            http,
        )


def ranges_read(place: Place, name: str, http: HttpServer) -> list[str]:
    """What Colonnade asks for."""
    http.forget_requests()
    measured(command_of("colonnade", place.uri, name), place.environment)
    return [request.range.removeprefix("bytes=") for request in http.requests() if request.range != "-"]


def command_of(side: str, uri: str, name: str) -> list[str]:
    return [sys.executable, "-c", ANALYSIS.format(program=PROGRAMS[side]), uri, name]


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    sample = folder / "lhcb.root"
    subprocess.run(
        [sys.executable, "-m", "colonnade", "generate", "lhcb", str(sample), "--events", str(options.events)],
        check=True,
        capture_output=True,
    )
    rows: list[dict[str, Any]] = []
    with places(sample, folder) as (all_places, http):
        web = all_places[0]
        ranges = ranges_read(web, options.name, http)
        for place in all_places:
            for latency in options.latencies:
                sides: dict[str, Callable[[], dict[str, Any]]] = {
                    side: functools.partial(
                        measured, command_of(side, place.uri, options.name), place.environment
                    )
                    for side in ("colonnade", "uproot", "ROOT")
                    if side in options.sides and (place.url or side == "colonnade")
                }
                if place.url and "curl" in options.sides:
                    command = curl_command(place.url, ranges)
                    sides["curl"] = functools.partial(measured, command, {})
                figures: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
                delay = place.proxy.toxic("latency", latency=latency) if latency else contextlib.nullcontext()
                with delay:
                    for _ in range(options.repeats):
                        for side, work in sides.items():
                            if not any("problem" in one for one in figures[side]):
                                figures[side].append(work())
                rows.append({"place": place.name, "latency": latency, "figures": figures})
                print(text_of(rows[-1]), flush=True)
    local = [measured(command_of("colonnade", str(sample), options.name), {}) for _ in range(options.repeats)]
    return {
        "events": options.events,
        "bytes": sum(
            int(r.split("-")[1]) - int(r.split("-")[0]) + 1 for r in ranges if not r.startswith("-")
        ),
        "requests": len(ranges),
        "local": local,
        "rows": rows,
    }


def median(figures: list[dict[str, Any]], what: str = "seconds") -> float | None:
    good = [one[what] for one in figures if what in one]
    return statistics.median(good) if good else None


def text_of(row: dict[str, Any]) -> str:
    cells = []
    for side in SIDES:
        figures = row["figures"].get(side, [])
        middle = median(figures)
        if middle is None:
            cells.append("-")
            continue
        all_seconds = [one["seconds"] for one in figures]
        cells.append(f"{middle:.2f} ({min(all_seconds):.2f}-{max(all_seconds):.2f})")
    return f"| {row['place']} | {row['latency']} | " + " | ".join(cells) + " |"


def report(results: dict[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "remote.json").write_text(json.dumps(results, indent=1))
    summary = (
        f"{results['events']} events, {results['bytes'] / 1e6:.0f} MB in {results['requests']} requests; "
        f"from the local disk {median(results['local']):.2f} s. Seconds: median (least - most)."
    )
    lines = [
        "# The LHCb analysis over HTTP and S3",
        "",
        summary,
        "",
        "| | ms | " + " | ".join(SIDES) + " |",
        "|---|---|" + "---|" * len(SIDES),
        *map(text_of, results["rows"]),
    ]
    (out / "remote.md").write_text("\n".join(lines) + "\n")
    with contextlib.suppress(ImportError):
        plot(results, out / "remote.png")


def plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    for place in dict.fromkeys(row["place"] for row in results["rows"]):
        for side in SIDES:
            points = [
                (row["latency"], median(row["figures"].get(side, [])))
                for row in results["rows"]
                if row["place"] == place
            ]
            points = [point for point in points if point[1] is not None]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=f"{side}, {place}")
    axes.set(xlabel="latency / ms", ylabel="seconds", yscale="log")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--name", default="DecayTree", help="of the data set")
    parser.add_argument("--latencies", type=int, nargs="+", default=[0, 10, 50, 100])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "remote")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="colonnade-remote-") as folder:
        report(run(options, Path(folder)), options.out)
    print((options.out / "remote.md").read_text())


if __name__ == "__main__":
    main()
