#!/usr/bin/env python3
"""Runs clang-tidy on the library's sources: run_tidy.py BUILD_DIR [all].

A file is looked at again only if it, a header of the project, or .clang-tidy has changed since it last passed. Left out
unless `all` is given: tests, whose macros cost much time and find little, and the checks that follow every path through
a function (clang-analyzer), which take most of the time.

Nearly all of the time goes into headers, most of them not ours, which clang-tidy parses and matches again for every
file. So files with the same flags are looked at in batches. A batch is their text, one file after the other, and not a
list of #include: many checks and warnings look at nothing but the main file. Findings are given back their places.
Names that are local to two files may clash: what the compiler rejects in a batch is looked at later, in the end alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "examples")
# For each core, so that none waits long for the last.
BATCHES_PER_CORE = 2
# With fewer files in a batch, the headers cost more than what the additional core brings.
SMALLEST_BATCH = 8
# A variable of one file may have the name of a constant in another; a shadow within a file is found by GCC.
BATCH_FLAGS = ("-ferror-limit=0", "-Wno-shadow")

Flags = tuple[str, ...]


class Batch:
    """A file with the text of several, which knows where each line comes from."""

    def __init__(self, folder: Path, files: list[Path]) -> None:
        text: list[str] = []
        self._origins: list[tuple[Path, int]] = []
        for file in files:
            # After a directive about any macro, readability-duplicate-include forgets the files included before.
            lines = ["#undef COLONNADE_NEXT_FILE", *file.read_text(encoding="utf-8").splitlines()]
            text += lines
            self._origins += [(file, number) for number in range(len(lines))]
        handle, name = tempfile.mkstemp(".cpp", "batch-", folder)
        os.close(handle)
        self.path = Path(name)
        self.path.write_text("\n".join(text) + "\n", encoding="utf-8")
        self._place = re.escape(name) + r":(\d+)"

    def files_at(self, before: str, after: str, output: str) -> list[Path]:
        """The files of the lines that the compiler names between these two patterns, each once."""
        found = re.findall(f"^{before}{self._place}{after}", output, re.MULTILINE)
        return sorted({self._origins[int(line) - 1][0] for line in found})

    def relocated(self, output: str) -> str:
        """Findings with the places in the files instead of those in the batch, also in front of quoted lines."""
        lines = []
        here = False
        for line in output.splitlines():
            if re.match(r"\S+:\d+:\d+: ", line):
                here = line.startswith(str(self.path))
            numbered = re.sub(r"^ *\d+(?= \|)", self._original_number, line) if here else line
            lines.append(re.sub(self._place, self._original_place, numbered))
        return "\n".join(lines)

    def _original_number(self, match: re.Match[str]) -> str:
        return str(self._origins[int(match[0]) - 1][1]).rjust(len(match[0]))

    def _original_place(self, match: re.Match[str]) -> str:
        file, line = self._origins[int(match[1]) - 1]
        return f"{file}:{line}"


@dataclass
class Outcome:
    """What came of some files: those that passed, and what is to be said about the others."""

    passed: list[Path]
    failed: list[Path]
    output: str


class Tidy:
    """Runs clang-tidy on files of one build."""

    def __init__(self, build: Path, scratch: Path, everything: bool) -> None:
        self._build = build
        self._scratch = scratch
        self._fewer = [] if everything else ["--checks=-clang-analyzer-*"]

    def check(self, files: list[Path], flags: Flags) -> list[Outcome]:
        """Files with the same flags, as many as possible together."""
        outcomes = []
        while files:
            clashing = self._clashing(files, flags)
            together = [file for file in files if file not in clashing]
            outcome = self._check_batch(together, flags) if len(together) > 1 else None
            if outcome is None:  # nothing that can be said of them together
                outcomes += [self._check_alone(file) for file in together]
            else:
                outcomes.append(outcome)
            files = clashing
        return outcomes

    def _clashing(self, files: list[Path], flags: Flags) -> list[Path]:
        """The files that do not compile behind the others; never all of them."""
        if len(files) == 1:
            return []
        batch = Batch(self._scratch, files)
        command = [*flags, *BATCH_FLAGS, "-fsyntax-only", str(batch.path)]
        errors = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False).stderr
        # An error in a header belongs to who instantiates the template or else, if need be, to who includes it.
        found = batch.files_at("", ":[0-9]+: (?:(?:fatal )?error|note: in instantiation)", errors)
        found = found or batch.files_at("In file included from ", ":$", errors)
        return found if len(found) < len(files) else found[1:]

    def _check_batch(self, files: list[Path], flags: Flags) -> Outcome | None:
        batch = Batch(self._scratch, files)
        passed, output = self._tidy(str(batch.path), "--", *flags[1:], *BATCH_FLAGS)
        if passed:
            return Outcome(files, [], "")
        if "[clang-diagnostic-" in output:  # perhaps a clash that the compiler blamed on the wrong file
            return None
        failed = batch.files_at("", ":", output) or files
        return Outcome([file for file in files if file not in failed], failed, batch.relocated(output))

    def _check_alone(self, file: Path) -> Outcome:
        passed, output = self._tidy("-p", str(self._build), str(file))
        return Outcome([file], [], "") if passed else Outcome([], [file], output)

    def _tidy(self, *arguments: str) -> tuple[bool, str]:
        command = ["clang-tidy-19", "--quiet", *self._fewer, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # On the error stream it counts warnings; what is there matters only where nothing else says why.
        return done.returncode == 0, done.stdout or done.stderr


def chosen_sources(build: Path, everything: bool) -> dict[Path, Flags]:
    folders = (*FOLDERS, "tests") if everything else FOLDERS
    chosen = {}
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(command["file"]).resolve()
        if ROOT not in path.parents or path.relative_to(ROOT).parts[0] not in folders:
            continue
        if everything or not path.name.endswith("_test.cpp"):
            arguments = shlex.split(command["command"])
            chosen[path] = tuple(arguments[: arguments.index("-o")])
    return chosen


def in_batches(sources: dict[Path, Flags]) -> list[tuple[list[Path], Flags]]:
    """Files with the same flags; the longest batches first, neighbours apart, whose local names clash more often."""
    cores = os.cpu_count() or 1
    size = max(SMALLEST_BATCH, -(-len(sources) // (BATCHES_PER_CORE * cores)))
    alike = defaultdict(list)
    for path, flags in sorted(sources.items()):
        alike[flags].append(path)
    batches = []
    for flags, files in alike.items():
        count = -(-len(files) // size)
        batches += [(files[first::count], flags) for first in range(count)]
    return sorted(batches, key=lambda batch: -len(batch[0]))


def fingerprint_of_headers(everything: bool) -> bytes:
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + bytes([everything]))
    for folder in ("include", "src"):
        for header in sorted((ROOT / folder).rglob("*.h")):
            digest.update(header.read_bytes())
    return digest.digest()


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    everything = sys.argv[2:] == ["all"]
    sources = chosen_sources(build, everything)
    if not sources:
        print("clang-tidy: no sources found", file=sys.stderr)
        return 1
    headers = fingerprint_of_headers(everything)
    passed_before = build / "tidy-passed"
    passed_before.mkdir(exist_ok=True)
    stamps = {
        source: passed_before
        / hashlib.sha256(headers + str(source).encode() + source.read_bytes()).hexdigest()
        for source in sources
    }
    changed = {source: flags for source, flags in sources.items() if not stamps[source].exists()}
    started = time.monotonic()
    failed = 0
    # Below .clang-tidy, so that clang-tidy finds it by itself: named on the command line it would hold for the headers
    # of others, too, and their names would be checked for nothing.
    scratch_parent = ROOT / "build"
    scratch_parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tidy-", dir=scratch_parent) as scratch:
        tidy = Tidy(build, Path(scratch), everything)

        def run(batch: tuple[list[Path], Flags]) -> int:
            outcomes = tidy.check(*batch)
            for outcome in outcomes:
                for source in outcome.passed:
                    stamps[source].touch()
                if outcome.output:
                    print(outcome.output, flush=True)
            return sum(len(outcome.failed) for outcome in outcomes)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = sum(pool.map(run, in_batches(changed)))
    print(f"clang-tidy: {len(sources) - failed} passed, {failed} failed, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
