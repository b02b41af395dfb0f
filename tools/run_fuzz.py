#!/usr/bin/env python3
"""Runs every fuzz target for a few seconds from its seeds: run_fuzz.py BUILD_DIR [SECONDS].

A crash, a leak, a hang or too much memory fails; the input that did it is left in BUILD_DIR/fuzz-findings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run_target(program: Path, findings: Path, seconds: int) -> tuple[str, bool, str]:
    """Returns the target's name, whether it found nothing, and the last lines of its output."""
    name = program.name.removeprefix("fuzz_")
    seeds = ROOT / "fuzz" / "corpus" / name
    with tempfile.TemporaryDirectory() as grown:
        command = [
            str(program),
            grown,
            *([str(seeds)] if seeds.is_dir() else []),
            f"-max_total_time={seconds}",
            "-seed=1",  # a run says something about the commit
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-max_len=65536",
            "-print_final_stats=1",
            f"-artifact_prefix={findings}/{name}-",
        ]
        # Memory that was freed long ago does not count against the limit.
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=64"]))
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=os.environ | {"ASAN_OPTIONS": options},
        )
    tail = done.stdout.splitlines()
    if done.returncode == 0:
        tail = [line for line in tail if "number_of_executed_units" in line]
    return name, done.returncode == 0, "\n".join(tail[-60:])


def main() -> int:
    build = Path(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    sources = sorted((ROOT / "fuzz").glob("*_fuzz.cpp"))
    programs = [build / "fuzz" / f"fuzz_{source.name.removesuffix('_fuzz.cpp')}" for source in sources]
    if not programs:
        print("no fuzz targets found", file=sys.stderr)
        return 1
    findings = build / "fuzz-findings"
    findings.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda program: run_target(program, findings, seconds), programs))
    for name, passed, output in sorted(results, key=lambda result: not result[1]):  # failures last
        print(f"fuzz {name}: {'passed' if passed else 'FAILED'}\n{output}")
    failed = sum(not passed for _, passed, _ in results)
    print(f"fuzz targets: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
