#!/usr/bin/env python3
"""Runs clang-tidy on the library's sources: run_tidy.py BUILD_DIR [all].

A file is looked at again only if it, a header of the project, or .clang-tidy has changed since it last passed. Left out
unless `all` is given: tests, whose macros cost much time and find little, and the checks that follow every path through
a function (clang-analyzer), which take most of the time.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "examples")


def chosen_sources(build: Path, everything: bool) -> list[Path]:
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    files = {Path(command["file"]).resolve() for command in commands}
    files = {
        path
        for path in files
        if ROOT in path.parents and path.relative_to(ROOT).parts[0] in (*FOLDERS, "tests")
    }
    if not everything:
        files = {path for path in files if path.relative_to(ROOT).parts[0] in FOLDERS}
        files = {path for path in files if not path.name.endswith("_test.cpp")}
    return sorted(files)


def fingerprint_of_headers() -> bytes:
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for folder in ("include", "src"):
        for header in sorted((ROOT / folder).rglob("*.h")):
            digest.update(header.read_bytes())
    return digest.digest()


def check(source: Path, build: Path, everything: bool) -> tuple[bool, str]:
    fewer = [] if everything else ["--checks=-clang-analyzer-*"]
    command = ["clang-tidy-19", "--quiet", *fewer, "-p", str(build), str(source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.returncode == 0, done.stdout


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    everything = sys.argv[2:] == ["all"]
    sources = chosen_sources(build, everything)
    if not sources:
        print("clang-tidy: no sources found", file=sys.stderr)
        return 1
    headers = fingerprint_of_headers()
    passed_before = build / "tidy-passed"
    passed_before.mkdir(exist_ok=True)

    def run(source: Path) -> bool:
        stamp = (
            passed_before / hashlib.sha256(headers + str(source).encode() + source.read_bytes()).hexdigest()
        )
        if stamp.exists():
            return True
        passed, output = check(source, build, everything)
        if passed:
            stamp.touch()
        else:
            print(output, flush=True)
        return passed

    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, sources))
    failed = results.count(False)
    print(f"clang-tidy: {len(results) - failed} passed, {failed} failed, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
