#!/usr/bin/env python3
"""Runs one task of the data frame's benchmark with Colonnade: frame_python.py TASK FILE THREADS [OUT CODEC].

The clock runs from building the graph until the result is there; imports are done before.

Tasks: lhcb and dimuon (analyses of FILE as expression strings), nodes (a graph of 10 000 nodes over FILE), histograms
(1000 histograms of 20 000 bins over FILE), lists (the events of FILE with two muons or more into OUT), and contents,
which measures nothing: it tells what such an OUT has.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import hist  # noqa: F401 - so that its import is not measured
import numpy as np

import colonnade
from colonnade import DataFrame  # its modules are imported before the clock runs, too

LHCB_MASS = (
    "sqrt(pow(sqrt(H1_PX*H1_PX + H1_PY*H1_PY + H1_PZ*H1_PZ + {m}) + sqrt(H2_PX*H2_PX + H2_PY*H2_PY + H2_PZ*H2_PZ + {m})"
    " + sqrt(H3_PX*H3_PX + H3_PY*H3_PY + H3_PZ*H3_PZ + {m}), 2) - pow(H1_PX + H2_PX + H3_PX, 2)"
    " - pow(H1_PY + H2_PY + H3_PY, 2) - pow(H1_PZ + H2_PZ + H3_PZ, 2))"
).format(m="493.677*493.677")
HISTOGRAMS, BINS = 1000, 20_000


def resident_kib(name: str) -> int:
    """VmHWM (the peak) or VmRSS (now) of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise LookupError(name)


def checksum(counts: Any) -> dict[str, int]:
    """What lhcb.h's Checksum makes of the counts of the bins."""
    value = 0
    for count in np.asarray(counts).astype(np.int64).tolist():
        value = (value * 1000003 + count) & 0xFFFFFFFF
    return {"candidates": int(np.sum(counts)), "bins": value}


def lhcb(path: str, threads: int) -> Callable[[], dict[str, int]]:
    frame = (
        DataFrame("DecayTree", path, threads=threads)
        .filter("!(H1_isMuon || H2_isMuon || H3_isMuon)")
        .filter("H1_ProbK > 0.5 && H2_ProbK > 0.5 && H3_ProbK > 0.5")
        .filter("H1_ProbPi < 0.5 && H2_ProbPi < 0.5 && H3_ProbPi < 0.5")
        .define("B_mass", LHCB_MASS)
    )
    histogram = frame.histo1d(("B_mass", "", 500, 5050.0, 5500.0), "B_mass").value
    return lambda: checksum(histogram.values())


def dimuon(path: str, threads: int) -> Callable[[], dict[str, list[int]]]:
    frame = (
        DataFrame("Events", path, threads=threads)
        .filter("nMuon == 2")
        .filter("Muon_charge[0] != Muon_charge[1]")
        .define("Dimuon_mass", "InvariantMass(Muon_pt, Muon_eta, Muon_phi, Muon_mass)")
    )
    histogram = frame.histo1d(("Dimuon_mass", "", 30000, 0.25, 300.0), "Dimuon_mass").value
    return lambda: {"counts": histogram.values(flow=True).astype(np.int64).tolist()}


def nodes(path: str, threads: int) -> Callable[[], dict[str, int]]:
    """3000 definitions, 3000 filters, 3900 histograms and 100 variations."""
    frame = DataFrame("DecayTree", path, threads=threads)
    count = 0
    for number in range(10):
        frame = frame.vary(
            "H1_PX", f"{{{', '.join(f'H1_PX*{1 + 0.001 * (i + 1 + 10 * number)}' for i in range(10))}}}",
            [str(i) for i in range(10)], f"scale{number}",
        )  # fmt: skip
        count += 10
    booked = []
    for number in range(3000):
        node = frame.define(f"x{number}", f"H1_PX*{number} + H2_PX").filter(f"H1_PY > {number % 1000}")
        booked.append(node.histo1d(("", "", 100, -1e5, 1e5), f"x{number}"))
        count += 3
        if number % 10 < 3:
            booked.append(node.histo1d(("", "", 100, -1e5, 1e5), "H3_PX"))
            count += 1
    varied = colonnade.variations_for(booked[0])
    total = sum(float(result.value.sum(flow=True)) for result in booked)
    total += sum(float(varied[name].sum(flow=True)) for name in varied)
    return lambda: {"nodes": count, "candidates": int(total)}


def histograms(path: str, threads: int) -> Callable[[], dict[str, int]]:
    """How much memory a pass with 1000 histograms takes, beside one set of their bins."""
    frame = DataFrame("DecayTree", path, threads=threads)
    assert frame.count().value > 0  # the file is open
    before = resident_kib("VmRSS")
    booked = [
        frame.histo1d(("", "", BINS, -1e5, 1e5), f"H{1 + number % 3}_P{'XYZ'[number // 3 % 3]}")
        for number in range(HISTOGRAMS)
    ]
    assert booked[0].value is not None
    after = resident_kib("VmHWM")
    return lambda: {"memory_kib": after - before, "set_kib": HISTOGRAMS * (BINS + 2) * 8 // 1024}


def lists(path: str, threads: int, out: str, codec: str) -> Callable[[], dict[str, int]]:
    """A snapshot of all columns, most of which are lists."""
    frame = DataFrame("Events", path, threads=threads).filter("nMuon >= 2")
    frame.snapshot(out, "Events", compression=codec)
    return lambda: {"size": Path(out).stat().st_size}


def contents(path: str, threads: int) -> Callable[[], dict[str, Any]]:
    """The sum of the bytes of each column, and of how long its lists are."""
    arrays = DataFrame("Events", path, threads=threads).to_awkward()
    found = {}
    for name in sorted(arrays.fields):
        column = arrays[name]
        sizes = ak.num(column).to_numpy().astype(np.int64) if column.ndim > 1 else np.empty(0)
        found[name] = zlib.crc32(
            ak.flatten(column, axis=None).to_numpy().tobytes(), zlib.crc32(sizes.tobytes())
        )
    return lambda: {"columns": json.dumps(found), "entries": len(arrays)}


TASKS: dict[str, Callable[..., Callable[[], dict[str, Any]]]] = {
    "lhcb": lhcb,
    "dimuon": dimuon,
    "nodes": nodes,
    "histograms": histograms,
    "lists": lists,
    "contents": contents,
}


def main() -> int:
    wanted = 6 if sys.argv[1:2] == ["lists"] else 4
    if len(sys.argv) != wanted or sys.argv[1] not in TASKS:
        print(f"usage: {sys.argv[0]} {'|'.join(TASKS)} FILE THREADS [OUT CODEC]", file=sys.stderr)
        return 2
    wall, cpu = time.perf_counter(), time.process_time()
    about = TASKS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
    report = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(report | {"max_rss_kib": resident_kib("VmHWM")} | about()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
