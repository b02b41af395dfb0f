"""Measurements of object stores: page sizes and mappings, the LHCb analysis from S3, and a folder against a file.

A measurement runs programs in turns and adds rows and tables to the results.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from common import BenchmarkError, Run, execute, ratios, run
from local_results import Row, Table
from local_session import MB, Session, check_analysis, rate_of, seconds_of
from objects_places import KINDS, MIB, Store, environment

PAGES = tuple(1024 * kib for kib in (16, 64, 256, 1024, 4096))
SIDES = ("raw", "ranges", "spliced", "locality", "object_per_page", "blocking")
LIMIT_SHARE = 0.85
REQUESTS_AT_A_TIME = 16  # of curl, as many as the S3 back end has in flight


def started(session: Session, name: str) -> Any:
    """A context with the Store of a store."""
    return KINDS[name].start(
        session.folder.parent, Path(tempfile.mkdtemp(prefix=f"{name}-", dir=session.work))
    )


# ---- Page size and mapping


def swept(session: Session, name: str, place: Store, page: int) -> dict[str, list[Run]]:
    """What each side reports, round by round."""
    kind = KINDS[name]
    # One request at a time is compared at 64 KiB alone.
    blocking = ["--blocking"] if page == 64 << 10 else []
    with environment(place.environment):
        text = execute(
            session.program("object_sweep"), place.uri, page, kind.bytes, session.repeats, *blocking
        )
    sides: dict[str, list[Run]] = {}
    for line in text.splitlines():
        result = json.loads(line)
        sides.setdefault(result["side"], []).append(result)
    return sides


def rates(runs: list[Run], way: str) -> list[float]:
    return [one["bytes"] / one[f"{way}_seconds"] / MB for one in runs]


def ranges_text(sides: Mapping[str, list[Run]], way: str) -> str:
    """What ranges of large values bring, where these are what a data set consists of."""
    if "ranges" not in sides:
        return ""
    return f", 1 MiB ranges of large values {statistics.median(rates(sides['ranges'], way)):.0f} MB/s"


def share_rows(session: Session, name: str, page: int, sides: Mapping[str, list[Run]]) -> None:
    for way in ("write", "read"):
        limit, ours = rates(sides["raw"], way), rates(sides["spliced"], way)
        shares = [a / b for a, b in zip(ours, limit, strict=True)]
        session.add(
            Row(
                "sweep",
                f"{KINDS[name].title}, {way}, pages of {page >> 10} KiB, locality + splicing",
                "our bandwidth / raw 1 MiB values",
                shares,
                LIMIT_SHARE,
                ours=f"{statistics.median(ours):.0f} MB/s",
                reference=f"raw {statistics.median(limit):.0f} MB/s{ranges_text(sides, way)}",
            )
        )


def blocking_rows(session: Session, name: str, sides: Mapping[str, list[Run]]) -> None:
    for way, target in (("write", 9.0), ("read", 10.0)):
        ours, slow = rates(sides["spliced"], way), rates(sides["blocking"], way)
        session.add(
            Row(
                "sweep",
                f"{KINDS[name].title}, {way}, pages of 64 KiB, against one request at a time",
                "our bandwidth / one blocking request per page",
                [a / b for a, b in zip(ours, slow, strict=True)],
                target if KINDS[name].slow_requests else None,
                ours=f"{statistics.median(ours):.0f} MB/s",
                reference=f"{statistics.median(slow):.0f} MB/s",
            )
        )


def sweep(session: Session, stores: list[str]) -> None:
    """Page sizes from 16 KiB to 4 MiB, all mappings, against the store's own limit."""
    table = session.results.tables.setdefault(
        "sweep", Table("Page size and mapping", "MB/s of page data; requests of the reader.")
    )
    for name in stores:
        with started(session, name) as place:
            for page in PAGES:
                session.show(f"{KINDS[name].title}, pages of {page >> 10} KiB")
                sides = swept(session, name, cast("Store", place), page)
                for side in SIDES:
                    if side in sides:
                        table.lines.append(
                            {
                                "store": name,
                                "page KiB": page >> 10,
                                "side": side,
                                "write": rates(sides[side], "write"),
                                "read": rates(sides[side], "read"),
                                "requests": sides[side][0]["requests"],
                            }
                        )
                share_rows(session, name, page, sides)
                if "blocking" in sides:
                    blocking_rows(session, name, sides)


# ---- The LHCb analysis from S3


def curl_ranges(place: Store, keys: list[str], ranges: list[tuple[int, int, int]], config: Path) -> Run:
    """Fetch (key, first, last) with curl, several at a time, to nowhere."""
    assert place.server is not None
    lines = [
        f'user = "{place.environment["AWS_ACCESS_KEY_ID"]}:{place.environment["AWS_SECRET_ACCESS_KEY"]}"',
        f'aws-sigv4 = "aws:amz:{place.environment["AWS_REGION"]}:s3"',
        'header = "x-amz-content-sha256: UNSIGNED-PAYLOAD"',
        "silent",
        "show-error",
        "fail",
    ]
    blocks = [
        f'url = "{place.server.endpoint}/{keys[key]}"\nrange = "{first}-{last}"\noutput = "/dev/null"'
        for key, first, last in ranges
    ]
    config.write_text("\nnext\n".join("\n".join([*lines, block]) for block in blocks) + "\n")
    at_a_time = ["--parallel", "--parallel-max", str(REQUESTS_AT_A_TIME)]
    command = ["curl", "--no-progress-meter", *at_a_time, "--config", str(config)]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise BenchmarkError(f"curl failed with status {done.returncode}: {done.stderr.strip()[:500]}")
    return {"seconds": seconds, "bytes": sum(last + 1 - first for _, first, last in ranges)}


def ranges_of(place: Store, wanted: int, size: int) -> tuple[list[str], list[tuple[int, int, int]]]:
    """The objects of a bucket, and ranges of them of at most that size that together have so many bytes."""
    assert place.server is not None
    data = place.server.data
    sizes = {path: path.stat().st_size for path in data.rglob("*") if path.is_file()}
    least = min(MIB, max(sizes.values()))  # a small sample has small objects alone
    files = sorted(path for path, length in sizes.items() if length >= least)
    keys = [str(path.relative_to(data)) for path in files]
    left = wanted
    ranges: list[tuple[int, int, int]] = []
    for number, path in enumerate(files):
        for first in range(0, path.stat().st_size, size):
            last = min(first + size, path.stat().st_size, first + left) - 1
            if last < first:
                return keys, ranges
            ranges.append((number, first, last))
            left -= last + 1 - first
    return keys, ranges


def s3(session: Session) -> None:
    """The B-mass analysis on a data set in S3, against as many bytes fetched with curl."""
    with started(session, "s3") as place, environment(place.environment):
        for codec in ("none", "zstd:5"):
            uri = f"{place.uri}-{codec.replace(':', '')}"
            run(session.program("lhcb_write"), session.sample()[0], uri, codec, "append")
            read = partial(run, session.program("lhcb_read"), uri, "view")
            wanted = int(read()["read_bytes"])
            sides: dict[str, Callable[[], Run]] = {"ours": read}
            for size in (1, 8):
                keys, ranges = ranges_of(place, wanted, size * MIB)
                sides[f"curl {size}"] = partial(
                    curl_ranges, place, keys, ranges, session.work / f"curl-{size}.conf"
                )
            series = session.turns(f"LHCb from S3, {codec}", sides, warm=True)
            check_analysis(session, f"LHCb from S3, {codec}", {"ours": series["ours"]})
            for size, target in ((1, 0.85), (8, None)):
                curl = series[f"curl {size}"]
                session.add(
                    Row(
                        "s3",
                        f"LHCb analysis from S3, {codec}, against ranges of {size} MiB",
                        f"our bandwidth / curl's, parallel ranges of {size} MiB",
                        [
                            (a["read_bytes"] / a["seconds"]) / (b["bytes"] / b["seconds"])
                            for a, b in zip(series["ours"].runs, curl.runs, strict=True)
                        ],
                        target,
                        ours=rate_of(series["ours"], "read_bytes"),
                        reference=f"curl {rate_of(curl)}",
                    )
                )


# ---- A folder of objects against a file


def folder(session: Session) -> None:
    """The LHCb sample in obj:// and in a ROOT file on the same disk."""
    targets = {"obj": f"obj://{session.work / 'lhcb-objects'}", "file": str(session.work / "lhcb.root")}
    for codec in ("none", "zstd:5"):
        for way in ("append", "fill"):
            series = session.turns(
                f"obj:// and file, {codec}, {way}",
                {
                    name: partial(run, session.program("lhcb_write"), session.sample()[0], target, codec, way)
                    for name, target in targets.items()
                },
            )
            session.add(folder_row(f"write, {codec}, {way}", series))
        series = session.turns(
            f"obj:// and file, {codec}, read",
            {
                name: partial(run, session.program("lhcb_read"), target, "view")
                for name, target in targets.items()
            },
            warm=True,
        )
        check_analysis(session, f"obj:// and file, {codec}", series)
        session.add(folder_row(f"read, {codec}", series))


def folder_row(work: str, series: Mapping[str, Any]) -> Row:
    return Row(
        "obj",
        f"LHCb, obj:// against a ROOT file, {work}",
        "time of obj:// / of the file",
        ratios(series["obj"], series["file"]),
        1.15,
        at_most=True,
        ours=seconds_of(series["obj"]),
        reference=f"file {seconds_of(series['file'])}",
    )
