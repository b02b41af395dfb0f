"""What the runners share: the sample, running programs in turns, what is known of the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT_ALGORITHMS = {"none": 0, "zlib": 100, "lzma": 200, "lz4": 400, "zstd": 500}

Run = dict[str, Any]
"""What a program reports of itself: seconds, cpu_seconds, max_rss_kib and what its task is about."""


class BenchmarkError(Exception):
    """A measurement that could not be made; the message says what to do."""


@dataclass
class Series:
    """The runs of one side."""

    runs: list[Run] = field(default_factory=list)

    def values(self, measure: str) -> list[float]:
        return [float(run[measure]) for run in self.runs]

    @property
    def seconds(self) -> list[float]:
        return self.values("seconds")

    @property
    def max_rss_kib(self) -> int:
        return int(max(self.values("max_rss_kib")))


def ratios(over: Series, under: Series, measure: str = "seconds") -> list[float]:
    """One ratio per round."""
    return [a / b for a, b in zip(over.values(measure), under.values(measure), strict=True)]


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, and the range in brackets."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def alternate(rounds: int, sides: Mapping[str, Callable[[], Run]]) -> dict[str, Series]:
    """Run all sides `rounds` times; another one goes first in every round."""
    series = {name: Series() for name in sides}
    names = list(sides)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            series[name].runs.append(sides[name]())
    return series


def execute(program: Path | str, *arguments: object) -> str:
    """Run a program; what it prints."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = f"{done.stdout}{done.stderr}".strip()
        raise BenchmarkError(f"{' '.join(command)} failed with status {done.returncode}:\n{text}")
    return done.stdout


def run(program: Path | str, *arguments: object) -> Run:
    """Run a program that reports on itself in the last line that it prints."""
    result: Run = json.loads(execute(program, *arguments).splitlines()[-1])
    return result


def run_python(script: str, *arguments: object) -> Run:
    """Run a script of this folder, in a process of its own."""
    return run(sys.executable, HERE / script, *arguments)


def root_setting(codec: str) -> int:
    """ROOT's number for a setting as in "zstd:5"."""
    name, _, level = codec.partition(":")
    if name not in ROOT_ALGORITHMS or (name != "none" and not level.isdecimal()):
        raise BenchmarkError(
            f"unknown codec {codec!r}; known: none, and zlib, lzma, lz4, zstd with a level, as in zstd:5"
        )
    return ROOT_ALGORITHMS[name] + int(level or 0)


def raw_sample(work: Path, events: int) -> tuple[Path, int]:
    """Make the LHCb sample, or find it made.

    Returns its file and the number of candidates in it.
    """
    path = work / f"lhcb-{events}.raw"
    note = path.with_suffix(".json")
    if not (path.exists() and note.exists()):
        print(f"making a sample of {events} events ...", flush=True)
        note.write_text(json.dumps(run_python("raw_sample.py", path, events)))
    return path, int(json.loads(note.read_text())["candidates"])


def machine() -> dict[str, Any]:
    models = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    cpu = models[0].split(":", 1)[1].strip() if models else platform.machine()
    version = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(version, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S%z"),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "kernel": platform.release(),
        "commit": commit,
    }


def describe_machine(about: Mapping[str, Any]) -> list[str]:
    return [
        f"{about['cpu']}, {about['cores']} cores, load before {about['load_before']:.1f}, Linux {about['kernel']},",
        f"commit {about['commit']}, {about['date']}.",
    ]
