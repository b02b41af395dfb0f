#!/usr/bin/env python3
"""Measures how fast chains of TTrees with many branches are opened, against ROOT.

The trees are in the manner of NanoAOD, all with the same branches; with `--classes` in that of ATLAS: half of their
branches are lists and texts, the others members of classes. Each run is a process of its own, with the files in
the page cache; another tree was opened before. The clock runs until all trees are open: for Colonnade until there is a
data frame, which knows all columns and entries; for ROOT until `TChain::LoadTree` has loaded each tree. Both must find
the same entries and branches. Saved are trees.md and trees.json.

    python benchmarks/trees.py --branches 1500 --repeats 5
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    BenchmarkError,
    Run,
    Series,
    alternate,
    describe_machine,
    machine,
    options_for,
    ratios,
    run,
    run_main,
    save_report,
    spread,
    table_of,
)
from disk import check_space

CHAINS = (1, 20)
"""The numbers of files."""
GROUP = 50
"""The number of arrays that share a counter."""
TYPES = {"F": "f", "I": "i", "O": "B", "B": "b", "S": "h"}
ENTRIES, PER_CLUSTER = 1000, 100


def write(path: Path, branches: int) -> None:
    """Write a tree: half of its branches are flags, the others arrays with counters."""
    import ROOT  # type: ignore[import-untyped]

    file = ROOT.TFile(str(path), "recreate", "", 207)
    tree = ROOT.TTree("Events", "Events")
    tree.SetAutoFlush(PER_CLUSTER)
    counters, kept = [], []
    for number in range(branches // 2):
        kept.append(array("B", [number % 2]))
        tree.Branch(f"HLT_Path{number}", kept[-1], f"HLT_Path{number}/O").SetTitle("a trigger bit (HLT)")
    for number in range(branches - branches // 2):
        group, member = divmod(number, GROUP)
        if member == 0:
            counters.append(array("i", [0]))
            tree.Branch(f"nObject{group}", counters[-1], f"nObject{group}/I")
            continue
        kind = list(TYPES)[member % len(TYPES)]
        kept.append(array(TYPES[kind], [0] * 8))
        branch = tree.Branch(
            f"Object{group}_v{member}", kept[-1], f"Object{group}_v{member}[nObject{group}]/{kind}"
        )
        branch.SetTitle("a title of the usual length, such as those of the variables of objects")
    for entry in range(ENTRIES):
        for counter in counters:
            counter[0] = entry % 5
        tree.Fill()
    file.Write()
    file.Close()


def write_classes(path: Path, branches: int) -> None:
    """Write a tree of lists, lists of lists and texts, half of them in objects with a branch for each member."""
    import ROOT

    types = ["std::vector<float>", "std::vector<int>", "std::vector<std::vector<float>>", "std::string"]
    file = ROOT.TFile(str(path), "recreate", "", 207)
    tree = ROOT.TTree("Events", "Events")
    tree.SetAutoFlush(PER_CLUSTER)
    kept = []
    for number in range(branches // 2):
        kept.append(ROOT.std.vector["float"]() if number % 4 else ROOT.std.string())
        tree.Branch(f"List_{number}", kept[-1])
    for group in range((branches - branches // 2) // GROUP):
        members = " ".join(f"{types[number % len(types)]} m{number};" for number in range(GROUP))
        ROOT.gInterpreter.Declare(f"struct Container{group} {{ {members} }};")
        kept.append(getattr(ROOT, f"Container{group}")())
        tree.Branch(f"Container_{group}Aux.", kept[-1], 32000, 99)
    for _ in range(ENTRIES):
        tree.Fill()
    file.Write()
    file.Close()


def with_colonnade(files: list[str]) -> tuple[int, int]:
    from colonnade import DataFrame

    frame = DataFrame("Events", files, cache="off")
    names = [name for name in frame.column_names if "." not in name]
    columns = [name for name in names if "_" in name or name.startswith("nObject")]
    return frame.num_entries, len(columns)


def with_root(root: Any, files: list[str]) -> tuple[int, int]:
    chain = root.TChain("Events")
    for each in files:
        chain.Add(each)
    entries, branches = chain.GetEntries(), set()
    for entry in range(0, entries, ENTRIES):
        chain.LoadTree(entry)
        branches.add(chain.GetTree().GetListOfBranches().GetEntriesFast())
    return entries, branches.pop()


def measure(side: str, files: list[str]) -> None:
    """Open them, and report in one line."""
    from frame_python import resident_kib

    if side == "ROOT":
        import ROOT

        work: Callable[[list[str]], tuple[int, int]] = partial(with_root, ROOT)
    else:
        import awkward  # noqa: F401
        import uproot  # noqa: F401

        work = with_colonnade
    work([str(Path(files[0]).with_name("other.root"))])
    start, start_cpu = time.perf_counter(), time.process_time()
    entries, branches = work(files)
    said = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "max_rss_kib": resident_kib("VmHWM"),
        "entries": entries,
        "branches": branches,
    }
    print(json.dumps(said))


def check(series: dict[str, Series]) -> None:
    for files in CHAINS:
        found = {
            (each["entries"], each["branches"])
            for name, side in series.items()
            if name.endswith(f": {files}")
            for each in side.runs
        }
        if len(found) != 1:
            raise BenchmarkError(f"{files} files: the sides found different entries or branches: {found}")


def row(files: int, series: dict[str, Series]) -> dict[str, Any]:
    ours, theirs = series[f"Colonnade: {files}"], series[f"ROOT: {files}"]
    return {
        "files": files,
        "seconds": spread(ours.seconds, ".3f"),
        "ROOT, seconds": spread(theirs.seconds, ".3f"),
        "times ROOT": spread(ratios(ours, theirs), ".1f"),
        "CPU seconds": spread(ours.values("cpu_seconds"), ".3f"),
        "of ROOT": spread(theirs.values("cpu_seconds"), ".3f"),
        "per file": spread([each / files for each in ours.values("cpu_seconds")], ".3f"),
        "of ROOT, per file": spread([each / files for each in theirs.values("cpu_seconds")], ".3f"),
    }


def save(series: dict[str, Series], about: dict[str, Any], options: argparse.Namespace) -> str:
    rows = [row(files, series) for files in CHAINS]
    runs: dict[str, list[Run]] = {name: side.runs for name, side in series.items()}
    saved = {"about": about, "branches": options.branches, "rows": rows, "runs": runs}
    lines = [
        "# Opening chains of TTrees" + (" with branches of classes" if options.classes else ""),
        "",
        *describe_machine(about),
        f"{options.branches} branches with {ENTRIES // PER_CLUSTER} baskets each, the same in all files;",
        f"{options.repeats} rounds; median (range).",
        "",
        *table_of(rows),
    ]
    return save_report(options.output, "trees_of_classes" if options.classes else "trees", lines, saved)


def main() -> int:
    parser = options_for(__doc__, 5)
    parser.add_argument("--branches", type=int, default=1500)
    parser.add_argument("--classes", action="store_true", help="trees with branches of classes")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs="+", metavar="SIDE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        (write_classes if options.classes else write)(options.make, options.branches)
        return 0
    if options.measure:
        side, *files = options.measure
        measure(side, files)
        return 0
    about = machine()
    with tempfile.TemporaryDirectory(prefix="bench-trees-", dir=options.work) as name:
        folder = Path(name)
        check_space(folder, max(CHAINS) * options.branches * 4000)
        files = [folder / f"{number}.root" for number in range(max(CHAINS))]
        for each, branches in ((files[0], options.branches), (folder / "other.root", 2 * GROUP)):
            make = [
                sys.executable,
                "-W",
                "ignore",
                __file__,
                "--make",
                str(each),
                "--branches",
                str(branches),
                *["--classes"] * options.classes,
            ]
            subprocess.run(make, check=True)
        for each in files[1:]:
            shutil.copy(files[0], each)
        program = (sys.executable, "-W", "ignore", __file__, "--measure")
        sides = {
            f"{side}: {count}": partial(run, *program, side, *files[:count])
            for count in CHAINS
            for side in ("Colonnade", "ROOT")
        }
        series = alternate(options.repeats, sides)
    check(series)
    print(save(series, about, options))
    return 0


if __name__ == "__main__":
    run_main(main)
