"""Shared by the runners: the sample, options, running programs in turns, reports, a description of the machine."""

from __future__ import annotations

import argparse
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
"""The report of a program: seconds, cpu_seconds, max_rss_kib and values of its task."""


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


def options_for(doc: str | None, repeats: int, *, work: bool = True) -> argparse.ArgumentParser:
    """Make a parser with the common options; `work` adds a folder for files."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder for the report")
    if work:
        parser.add_argument("--work", type=Path, default=None, help="folder for the files; a temporary one")
    return parser


def codec_options(doc: str | None, codecs: str) -> argparse.Namespace:
    """Read the options of a benchmark that writes the sample with several codecs, and make its folders."""
    parser = options_for(doc, 5)
    build = HERE.parent / "build" / "bench"
    parser.add_argument("--build", type=Path, default=build, help="CMake's build folder")
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="size of the sample; the original has 8500000"
    )
    parser.add_argument("--codecs", default=codecs, help="settings, separated by commas")
    options = parser.parse_args()
    if options.events < 2 or options.events % 2 or options.repeats < 1:
        parser.error("--events must be positive and even, --repeats positive")
    options.codecs = options.codecs.split(",")
    for codec in options.codecs:
        root_setting(codec)  # reports a wrong one before anything is measured
    options.build = options.build.resolve()
    options.work = options.work or options.output / "work"
    options.work.mkdir(parents=True, exist_ok=True)
    options.output.mkdir(parents=True, exist_ok=True)
    return options


def table_of(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The lines of a Markdown table with a column for every key but "runs"."""
    titles = [title for title in rows[0] if title != "runs"]
    return [
        "| " + " | ".join(titles) + " |",
        "|" + "---|" * len(titles),
        *("| " + " | ".join(str(row[title]) for title in titles) + " |" for row in rows),
    ]


def save_report(folder: Path, name: str, lines: Sequence[str], data: Mapping[str, object]) -> str:
    """Write NAME.md and NAME.json; return the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.md").write_text(text)
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")
    return text


def status_of(problems: Sequence[str]) -> int:
    """Print problems; return the exit status."""
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def run_main(program: Callable[[], int]) -> None:
    """Run a program; a BenchmarkError is a message and not a traceback."""
    try:
        sys.exit(program())
    except BenchmarkError as error:
        sys.exit(f"error: {error}")


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
