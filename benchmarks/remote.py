#!/usr/bin/env python3
"""Measures analyses over HTTP, XRootD and S3 at several latencies, against tools that only copy, uproot and ROOT.

Real servers on loopback (nginx, XRootD, versitygw) with Toxiproxy in front, which delays what the server sends by the
latency and so stands for a round trip of it. All sides of a row read the same file over the same proxy, in turns:

- Colonnade, from the server and from the local disk;
- curl (xrdcp's library for XRootD), which moves the bytes that Colonnade asked for, in as many streams, to nowhere;
- uproot and ROOT.

The rows are the LHCb analysis of an RNTuple, the same as a data frame (of one data set, and with the momenta as those
of a friend), and a data frame over a TTree in the manner of NanoAOD, which Colonnade imports on the fly: without a
cache, filling one, and from it. Saved are remote.md, remote.json and remote.png. Rows are added to those that are
saved, so that a long measurement can be made in pieces:

    python benchmarks/remote.py --only HTTP --latencies 0 50 --work /tmp/remote --keep
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import HERE, BenchmarkError, Series, alternate, describe_machine, machine

sys.path[:0] = [str(HERE.parent / "tests" / "servers")]

from http_server import HttpServer  # noqa: E402
from s3_server import ACCESS_KEY, BUCKET, REGION, SECRET_KEY, S3Server  # noqa: E402
from toxiproxy import Proxy, Toxiproxy  # noqa: E402
from xrootd_server import XrootdServer  # noqa: E402

STREAMS = 16
DIRECT = -1
"""In place of a latency: without the proxy, which takes its part of the processors."""
SIDES = ("Colonnade", "local", "copy", "uproot", "ROOT", "friends", "filling", "cached")
PLACES = ("HTTP", "XRootD", "S3", "Frame", "TTree")
SERVER_OF = {"Frame": "XRootD", "TTree": "XRootD"}
"""Of rows that are not named after theirs."""
NAME = "lhcb.root"
TREE = "nano.root"

# Programs report on themselves: what they import is not measured.
FRAME = """
import sys, time, resource
{imports}
before = resource.getrusage(resource.RUSAGE_SELF)
begin = time.perf_counter()
{work}
seconds = time.perf_counter() - begin
used = resource.getrusage(resource.RUSAGE_SELF)
import json
print(json.dumps(dict(seconds=seconds, result=int(result), max_rss_kib=used.ru_maxrss,
    cpu_seconds=used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime)))
"""
UPROOT_SOURCES = """
import uproot, uproot.source.http, uproot.source.xrootd
url = sys.argv[1]
handler = {"http": uproot.source.http.MultithreadedHTTPSource, "root": uproot.source.xrootd.XRootDSource}.get(
    url.split(":")[0])
options = dict(handler=handler, num_workers=16) if handler else {}
"""
LHCB = {
    "Colonnade": (
        "import awkward, colonnade\nfrom colonnade.analysis import b_mass",
        """
result = 0
with colonnade.open(sys.argv[1], "DecayTree") as data_set:
    for block in data_set.iterate(b_mass.COLUMNS, library="np"):
        result += len(b_mass.select(block).mass)
""",
    ),
    "uproot": (
        UPROOT_SOURCES + "from colonnade.analysis import b_mass",
        """
with uproot.open({url: None}, **options) as file:
    data = file["DecayTree"].arrays(list(b_mass.COLUMNS))
    result = len(b_mass.select({name: data[name].to_numpy() for name in b_mass.COLUMNS}).mass)
""",
    ),
    "ROOT": (
        "import ROOT\nfrom colonnade.analysis import b_mass",
        """
data = ROOT.RDF.FromRNTuple("DecayTree", sys.argv[1]).AsNumpy(list(b_mass.COLUMNS))
result = len(b_mass.select(data).mass)
""",
    ),
}
MASS = (
    "sqrt(pow(sqrt({p}H1_PX*{p}H1_PX + {p}H1_PY*{p}H1_PY + {p}H1_PZ*{p}H1_PZ + 243717)"
    " + sqrt({p}H2_PX*{p}H2_PX + {p}H2_PY*{p}H2_PY + {p}H2_PZ*{p}H2_PZ + 243717)"
    " + sqrt({p}H3_PX*{p}H3_PX + {p}H3_PY*{p}H3_PY + {p}H3_PZ*{p}H3_PZ + 243717), 2)"
    " - pow({p}H1_PX + {p}H2_PX + {p}H3_PX, 2) - pow({p}H1_PY + {p}H2_PY + {p}H3_PY, 2)"
    " - pow({p}H1_PZ + {p}H2_PZ + {p}H3_PZ, 2))"
)
CANDIDATES = """
result = (frame.{filter}("!(H1_isMuon || H2_isMuon || H3_isMuon)")
    .{filter}("H1_ProbK > 0.5 && H2_ProbK > 0.5 && H3_ProbK > 0.5")
    .{filter}("H1_ProbPi < 0.5 && H2_ProbPi < 0.5 && H3_ProbPi < 0.5")
    .{define}("mass", "{mass}").{filter}("mass > 5050 && mass < 5500").{count}(){get})
"""
OUR_NAMES = {"filter": "filter", "define": "define", "count": "count", "get": ".value"}
ROOT_NAMES = {"filter": "Filter", "define": "Define", "count": "Count", "get": ".GetValue()"}
FRAMES = {
    "Colonnade": (
        "from colonnade import DataFrame",
        'frame = DataFrame("DecayTree", sys.argv[1], progress=False)'
        + CANDIDATES.format(mass=MASS.format(p=""), **OUR_NAMES),
    ),
    "friends": (
        "from colonnade import DataFrame",
        'friends = {"f": ("DecayTree", sys.argv[1])}\n'
        'frame = DataFrame("DecayTree", sys.argv[1], friends=friends, progress=False)'
        + CANDIDATES.format(mass=MASS.format(p="f."), **OUR_NAMES),
    ),
    "ROOT": (
        "import ROOT",
        'ROOT.EnableImplicitMT()\nframe = ROOT.RDF.FromRNTuple("DecayTree", sys.argv[1])'
        + CANDIDATES.format(mass=MASS.format(p=""), **ROOT_NAMES),
    ),
}
DIMUONS = """
result = (frame.{filter}("nMuon == 2").{filter}("Muon_charge[0] != Muon_charge[1]")
    .{define}("mass", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)").{filter}("mass > 60 && mass < 120")
    .{count}(){get})
"""
NANO = {
    "Colonnade": (
        "import awkward, uproot\nfrom colonnade import DataFrame",
        'frame = DataFrame("Events", sys.argv[1], cache=sys.argv[2], progress=False)'
        + DIMUONS.format(**OUR_NAMES),
    ),
    "uproot": (
        UPROOT_SOURCES + "import awkward as ak, numpy as np",
        """
names = ["nMuon", *(f"Muon_{name}" for name in ("pt", "eta", "phi", "mass", "charge"))]
with uproot.open({url: None}, **options) as file:
    data = file["Events"].arrays(names)
data = data[data.nMuon == 2]
data = data[data.Muon_charge[:, 0] != data.Muon_charge[:, 1]]
pt, eta, phi, mass = (data[f"Muon_{name}"] for name in ("pt", "eta", "phi", "mass"))
x, y, z = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
energy = np.sqrt(x**2 + y**2 + z**2 + mass**2)
both = np.sqrt(np.maximum(ak.sum(energy, 1)**2 - ak.sum(x, 1)**2 - ak.sum(y, 1)**2 - ak.sum(z, 1)**2, 0))
result = ak.sum((both > 60) & (both < 120))
""",
    ),
    "ROOT": (
        "import ROOT",
        'chain = ROOT.TChain("Events")\nchain.Add(sys.argv[1])\nframe = ROOT.RDataFrame(chain)'
        + DIMUONS.format(**ROOT_NAMES),
    ),
}
XRD_COPY = """
from XRootD import client
job = client.CopyProcess()
job.parallel(1)
job.add_job(sys.argv[1], "file:///dev/null", force=True, parallelchunks=16)
job.prepare()
status, _ = job.run()
assert status.ok, status.message
result = 0
"""


class Remote:
    """A server with the files, reached directly or through a proxy."""

    def __init__(
        self,
        name: str,
        base: str,
        *,
        plain: str = "",
        environment: dict[str, str] | None = None,
        curl: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.base = base
        """What Colonnade's URIs begin with."""
        self.plain = plain or base
        """The same for programs that know no S3."""
        self.environment, self.curl = environment or {}, curl


@dataclass
class Server:
    """Where the files are."""

    proxy: Proxy
    port: int
    at: Callable[[int], Remote]
    """By the port of the server or of the proxy."""

    @contextlib.contextmanager
    def reached(self, latency: int) -> Iterator[Remote]:
        if latency == DIRECT:
            yield self.at(self.port)
        elif latency == 0:
            yield self.at(self.proxy.port)
        else:
            with self.proxy.toxic("latency", latency=latency):
                yield self.at(self.proxy.port)


@dataclass
class Row:
    """The runs of all sides at one place and latency."""

    place: str
    latency: int
    bytes: int
    requests: int
    sides: dict[str, Series] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    """Of programs that cannot read this."""

    def seconds(self, side: str) -> float | None:
        runs = self.sides.get(side, Series()).runs
        return statistics.median(float(one["seconds"]) for one in runs) if runs else None

    def ratio(self, side: str) -> float | None:
        a, b = self.seconds(side), self.seconds("Colonnade")
        return a / b if a is not None and b else None

    def to_json(self) -> dict[str, Any]:
        runs = {side: series.runs for side, series in self.sides.items()}
        return {
            "place": self.place,
            "latency": self.latency,
            "bytes": self.bytes,
            "requests": self.requests,
            "sides": runs,
            "problems": self.problems,
        }

    @classmethod
    def of_json(cls, saved: dict[str, Any]) -> Row:
        sides = {side: Series(runs) for side, runs in saved["sides"].items()}
        return cls(
            saved["place"], saved["latency"], saved["bytes"], saved["requests"], sides, saved["problems"]
        )


# ---- Programs


def execute(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{command[0]} failed with status {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def run_program(
    program: tuple[str, str], arguments: list[str], environment: dict[str, str], prepare: Callable[[], None]
) -> dict[str, Any]:
    prepare()
    text = FRAME.format(imports=program[0], work=program[1])
    result: dict[str, Any] = json.loads(
        execute([sys.executable, "-c", text, *arguments], environment).splitlines()[-1]
    )
    return result


def run_curl(config: Path) -> dict[str, Any]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    streams = ["--parallel", "--parallel-immediate", "--parallel-max", str(STREAMS)]
    execute(["curl", "--fail", "-s", *streams, "-K", str(config)], {})
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu_seconds": cpu, "max_rss_kib": after.ru_maxrss}


def write_curl_config(path: Path, url: str, ranges: list[str], options: tuple[str, ...]) -> Path:
    """Write what has curl ask for the same ranges, to nowhere."""
    with path.open("w") as file:
        for index, asked in enumerate(ranges):
            file.write(f'{"next" if index else ""}\nurl = "{url}"\nrange = "{asked}"\noutput = "/dev/null"\n')
            file.writelines(f"{option}\n" for option in options)
    return path


# ---- Servers and samples


@contextlib.contextmanager
def http_place(toxiproxy: Toxiproxy, work: Path, files: list[Path]) -> Iterator[Server]:
    with HttpServer(work / "http") as http:
        for file in files:
            shutil.copy(file, http.data / file.name)

        def at(port: int) -> Remote:
            return Remote("HTTP", f"{http.url_at(port)}/files/", environment=http.environment())

        yield Server(toxiproxy.proxy(f"http-{work.name}", http.port), http.port, at)


@contextlib.contextmanager
def xrootd_place(toxiproxy: Toxiproxy, work: Path, files: list[Path]) -> Iterator[Server]:
    with XrootdServer(work / "xrootd") as xrootd:
        for file in files:
            shutil.copy(file, xrootd.data / file.name)
            (xrootd.data / file.name).chmod(0o644)

        def at(port: int) -> Remote:
            return Remote("XRootD", xrootd.uri_at(port), environment=xrootd.environment())

        yield Server(toxiproxy.proxy(f"xrootd-{work.name}", xrootd.port), xrootd.port, at)


@contextlib.contextmanager
def s3_place(toxiproxy: Toxiproxy, work: Path, files: list[Path]) -> Iterator[Server]:
    with S3Server(work / "s3") as s3:
        for file in files:
            s3.requests().put(BUCKET, file.name, file.read_bytes())
        # For programs that sign nothing.
        statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
        statement["Resource"] = f"arn:aws:s3:::{BUCKET}/*"
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()
        status, answer = s3.requests().request("PUT", f"/{BUCKET}", {"policy": ""}, policy)
        if status >= 300:
            raise BenchmarkError(f"the S3 server takes no policy: {answer.decode(errors='replace')}")
        signing = (
            f'aws-sigv4 = "aws:amz:{REGION}:s3"',
            f'user = "{ACCESS_KEY}:{SECRET_KEY}"',
            'header = "x-amz-content-sha256: UNSIGNED-PAYLOAD"',
        )

        def at(port: int) -> Remote:
            endpoint = s3.endpoint_at(port)
            environment = {**s3.environment(), "AWS_ENDPOINT_URL": endpoint}
            plain = f"{endpoint}/{BUCKET}/"
            return Remote("S3", f"s3://{BUCKET}/", plain=plain, environment=environment, curl=signing)

        yield Server(toxiproxy.proxy(f"s3-{work.name}", s3.port), s3.port, at)


PLACE_OF = {"HTTP": http_place, "XRootD": xrootd_place, "S3": s3_place}


def make_lhcb(path: Path, events: int) -> None:
    command = ["-m", "colonnade", "generate", "lhcb", str(path), "--events", str(events)]
    execute([sys.executable, *command], {})


def make_tree(path: Path, events: int) -> None:
    """Write a TTree with muons and jets in the manner of NanoAOD."""
    import awkward as ak
    import numpy as np
    import uproot

    random = np.random.default_rng(1)

    def particles(mean: float) -> ak.Array:
        sizes = random.poisson(mean, count)
        total = int(sizes.sum())
        values = {
            "pt": random.exponential(35, total) + 3,
            "eta": random.normal(0, 1.5, total),
            "phi": random.uniform(-np.pi, np.pi, total),
            "mass": np.full(total, 0.106),
        }
        columns = {name: ak.unflatten(column.astype(np.float32), sizes) for name, column in values.items()}
        columns["charge"] = ak.unflatten(random.choice(np.array([-1, 1], np.int32), total), sizes)
        return ak.zip(columns)

    with uproot.recreate(path) as file:
        for first in range(0, events, 200_000):
            count = min(200_000, events - first)
            block = {"Muon": particles(1.8), "Jet": particles(4), "MET_pt": random.exponential(30, count)}
            if first == 0:
                file.mktree(
                    "Events", {"Muon": block["Muon"].type, "Jet": block["Jet"].type, "MET_pt": np.float64}
                )
            file["Events"].extend(block)


def samples(options: argparse.Namespace, work: Path) -> dict[str, Path]:
    """Make the files, or find them made."""
    keep = options.work if options.keep else work
    lhcb, tree = keep / f"{options.events}" / NAME, keep / f"{options.tree_events}" / TREE
    for path, make, count in ((lhcb, make_lhcb, options.events), (tree, make_tree, options.tree_events)):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f"making-{path.name}")
            make(unfinished, count)
            unfinished.rename(path)
    return {NAME: lhcb, TREE: tree}


# ---- Measuring


def ranges_read(http: HttpServer, uri: str) -> list[str]:
    """What Colonnade asks for."""
    http.forget_requests()
    run_program(LHCB["Colonnade"], [uri], http.environment(), lambda: None)
    return [request.range.removeprefix("bytes=") for request in http.requests() if request.range != "-"]


def find_ranges(work: Path, sample: Path) -> list[str]:
    saved = sample.with_suffix(".ranges.json")
    if not saved.exists():
        with HttpServer(work / "ranges") as http:
            shutil.copy(sample, http.data / sample.name)
            saved.write_text(json.dumps(ranges_read(http, f"{http.url}/files/{sample.name}")))
    ranges: list[str] = json.loads(saved.read_text())
    return ranges


def size_of_ranges(ranges: list[str]) -> int:
    ends = (asked.split("-") for asked in ranges)
    return sum(int(last) - int(first) + 1 if first else int(last) for first, last in ends)


def lhcb_sides(place: Remote, files: dict[str, Path], ranges: list[str], work: Path) -> dict[str, Any]:
    def program(side: str, uri: str) -> Callable[[], dict[str, Any]]:
        return functools.partial(run_program, LHCB[side], [uri], place.environment, lambda: None)

    if place.name == "XRootD":
        copy = functools.partial(
            run_program, ("", XRD_COPY), [place.base + "bytes"], place.environment, lambda: None
        )
    else:
        config = write_curl_config(work / f"{place.name}.curl", place.plain + NAME, ranges, place.curl)
        copy = functools.partial(run_curl, config)
    return {
        "Colonnade": program("Colonnade", place.base + NAME),
        "local": program("Colonnade", str(files[NAME])),
        "copy": copy,
        "uproot": program("uproot", place.plain + NAME),
        "ROOT": program("ROOT", place.plain + NAME),
    }


def frame_sides(place: Remote, files: dict[str, Path]) -> dict[str, Any]:
    def program(side: str, uri: str) -> Callable[[], dict[str, Any]]:
        return functools.partial(run_program, FRAMES[side], [uri], place.environment, lambda: None)

    return {
        "Colonnade": program("Colonnade", place.base + NAME),
        "friends": program("friends", place.base + NAME),
        "local": program("Colonnade", str(files[NAME])),
        "ROOT": program("ROOT", place.plain + NAME),
    }


def tree_sides(place: Remote, files: dict[str, Path], work: Path) -> dict[str, Any]:
    full, empty = work / "full", work / "empty"

    def clear() -> None:  # pages, and imported columns
        shutil.rmtree(empty, ignore_errors=True)
        shutil.rmtree(f"{empty}-trees", ignore_errors=True)

    def program(side: str, uri: str, home: object = "off", prepare: Callable[[], None] = lambda: None) -> Any:
        return functools.partial(run_program, NANO[side], [uri, str(home)], place.environment, prepare)

    program("Colonnade", place.base + TREE, full)()
    return {
        "Colonnade": program("Colonnade", place.base + TREE),
        "local": program("Colonnade", str(files[TREE])),
        "filling": program("Colonnade", place.base + TREE, empty, clear),
        "cached": program("Colonnade", place.base + TREE, full),
        "uproot": program("uproot", place.plain + TREE),
        "ROOT": program("ROOT", place.plain + TREE),
    }


def measure(options: argparse.Namespace, work: Path, keep: Callable[[Row], None]) -> None:
    files = samples(options, work)
    ranges = find_ranges(work, files[NAME])
    size = size_of_ranges(ranges)
    needed = work / "bytes"  # what a program that copies files copies
    with files[NAME].open("rb") as source:
        needed.write_bytes(source.read(size))
    with Toxiproxy(work / "toxiproxy") as toxiproxy:
        for name in options.only:
            with PLACE_OF[SERVER_OF.get(name, name)](
                toxiproxy, work / name, [*files.values(), needed]
            ) as server:
                for latency in options.latencies:
                    with server.reached(latency) as place:
                        if name == "TTree":
                            sides = tree_sides(place, files, work)
                            row = Row(name, latency, files[TREE].stat().st_size, 0)
                        elif name == "Frame":
                            sides = frame_sides(place, files)
                            row = Row(name, latency, size, 0)
                        else:
                            sides = lhcb_sides(place, files, ranges, work)
                            row = Row(name, latency, size, len(ranges))
                        chosen = {side: sides[side] for side in options.sides if side in sides}
                        leave_out_what_fails(row, chosen)
                        row.sides = alternate(options.repeats, chosen)
                    check_results(row)
                    keep(row)


def leave_out_what_fails(row: Row, sides: dict[str, Callable[[], dict[str, Any]]]) -> None:
    """Run the programs of others once: not every build of them has every transport."""

    def problem(side: str) -> str:
        try:
            sides[side]()
        except BenchmarkError as error:
            return str(error).strip().splitlines()[-1].strip()
        return ""

    for side in {"uproot", "ROOT"} & set(sides):
        if text := problem(side):
            row.problems[side] = text
            del sides[side]


def check_results(row: Row) -> None:
    """All sides that compute anything must have computed the same."""
    results = {one["result"] for side, series in row.sides.items() if side != "copy" for one in series.runs}
    # uproot computes masses in single precision.
    if len(results) > 0 and max(results) - min(results) > 1e-4 * max(results):
        raise BenchmarkError(f"{row.place} at {row.latency} ms: the results differ: {sorted(results)}")


# ---- Report


def latency_text(row: Row) -> str:
    return "direct" if row.latency == DIRECT else str(row.latency)


def cell(row: Row, side: str) -> str:
    runs = [float(one["seconds"]) for one in row.sides.get(side, Series()).runs]
    if not runs:
        return "-"
    return f"{statistics.median(runs):.2f} ({min(runs):.2f}-{max(runs):.2f})"


def targets(row: Row, all_rows: list[Row]) -> Iterator[tuple[str, float, str, bool]]:
    """What is promised of a row: text, figure, bound, whether it holds."""
    if row.place == "TTree":
        return
    ours = row.seconds("Colonnade")
    near = next(
        (one.seconds("Colonnade") for one in all_rows if (one.place, one.latency) == (row.place, 0)), None
    )
    if row.latency == 50 and ours and near:
        yield "time over that at 0 ms", ours / near, "at most 2", ours / near <= 2
        if (friends := row.ratio("friends")) is not None:
            yield "time with a friend over that of one data set", friends, "at most 1.5", friends <= 1.5
        for side, least in (("uproot", 3), ("ROOT", 2)):
            if (ratio := row.ratio(side)) is not None:
                yield f"time of {side} over ours", ratio, f"at least {least}", ratio >= least
    if row.latency == DIRECT and ours and row.seconds("copy") and row.seconds("local"):
        bound = max((row.seconds("copy") or 0) / 0.85, row.seconds("local") or 0)
        text = "time over the larger of copy / 0.85 and local"
        yield text, ours / bound, "at most 1", ours / bound <= 1


def report(about: dict[str, Any], rows: list[Row], out: Path) -> str:
    lines = ["# Analyses of data that are elsewhere", "", *describe_machine(about), ""]
    lines += [
        f"LHCb: {about['events']} events, 18 of 26 columns, {rows[0].bytes / 1e6:.0f} MB.",
        f"TTree: {about['tree_events']} events with muons, jets and MET, read over XRootD.",
        f"Seconds, medians of {about['repeats']} rounds in turns (least-most).",
        "`direct`: without the proxy, which takes its part of the processors.",
        f"`copy`: curl with {STREAMS} streams for the same ranges; XRootD's copy program for as many bytes.",
        "`filling`, `cached`: with a cache that is empty, and with one that has the columns.",
        "",
    ]
    for title, chosen, sides in (
        ("The LHCb analysis", [row for row in rows if row.place in PLACE_OF], SIDES[:5]),
        (
            "The LHCb analysis as a data frame, over XRootD",
            [row for row in rows if row.place == "Frame"],
            ("Colonnade", "friends", "local", "ROOT"),
        ),
        (
            "A TTree as NanoAOD's, imported on the fly",
            [row for row in rows if row.place == "TTree"],
            ("Colonnade", "filling", "cached", "local", "uproot", "ROOT"),
        ),
    ):
        if not chosen:
            continue
        lines += [
            f"## {title}",
            "",
            "| | ms | " + " | ".join(sides) + " |",
            "|---|---|" + "---|" * len(sides),
        ]
        for row in chosen:
            cells = " | ".join(cell(row, side) for side in sides)
            lines.append(f"| {row.place} | {latency_text(row)} | {cells} |")
        lines.append("")
    problems = {(row.place, side): text for row in rows for side, text in row.problems.items()}
    lines += [f"- {side}, {place}: {text}" for (place, side), text in problems.items()]
    lines += ["", "## Targets", "", "| | ms | | figure | target | |", "|---|---|---|---|---|---|"]
    for row in rows:
        for text, figure, bound, holds in targets(row, rows):
            mark = "holds" if holds else "missed"
            lines.append(f"| {row.place} | {latency_text(row)} | {text} | {figure:.2f} | {bound} | {mark} |")
    text = "\n".join(lines) + "\n"
    (out / "remote.md").write_text(text)
    plot(rows, out / "remote.png")
    return text


def plot(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name in PLACES if any(row.place == name for row in rows)]
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(4 * len(names), 4), sharey=True, squeeze=False, layout="constrained"
    )
    for place, axis in zip(names, axes[0], strict=True):
        for side in SIDES:
            points = [
                (row.latency, row.seconds(side))
                for row in rows
                if row.place == place and row.latency != DIRECT and row.seconds(side)
            ]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=side)
        axis.set(title=place, xlabel="latency / ms", yscale="log")
        axis.legend(fontsize="small")
    axes[0][0].set_ylabel("seconds")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=2_000_000, help="of the LHCb sample")
    parser.add_argument("--tree-events", type=int, default=1_000_000, help="of the TTree")
    parser.add_argument("--only", nargs="+", default=list(PLACES), choices=PLACES, metavar="PLACE")
    parser.add_argument(
        "--latencies",
        type=lambda text: DIRECT if text == "direct" else int(text),
        nargs="+",
        default=[DIRECT, 0, 10, 50, 100],
        metavar="MS",
        help='milliseconds, or "direct": without the proxy',
    )
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES, metavar="SIDE")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the report")
    parser.add_argument(
        "--work", type=Path, default=Path(tempfile.gettempdir()), help="folder for the samples"
    )
    parser.add_argument("--keep", action="store_true", help="leave the samples there for the next run")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    saved = options.output / "remote.json"
    about = {
        **machine(),
        "events": options.events,
        "tree_events": options.tree_events,
        "repeats": options.repeats,
    }
    rows = [Row.of_json(row) for row in json.loads(saved.read_text())["rows"]] if saved.exists() else []

    def keep(row: Row) -> None:
        rows[:] = [one for one in rows if (one.place, one.latency) != (row.place, row.latency)] + [row]
        rows.sort(key=lambda one: (PLACES.index(one.place), one.latency))
        content = {"about": about, "rows": [one.to_json() for one in rows]}
        saved.write_text(json.dumps(content, indent=1) + "\n")
        print(row.place, row.latency, *(f"{side}: {cell(row, side)}" for side in row.sides), flush=True)

    with tempfile.TemporaryDirectory(prefix="colonnade-remote-", dir=options.work) as work:
        measure(options, Path(work), keep)
    print(report(about, rows, options.output))


if __name__ == "__main__":
    try:
        main()
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
