"""What the programs that measure groups of rows share: their options, the loop over the groups, and what is saved."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import HERE, BenchmarkError, machine, status_of
from disk import check_space
from local_results import Results
from local_session import Session
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Groups = Mapping[str, Callable[[Session], None]]


@dataclass(frozen=True)
class Report:
    """What a program saves: NAME.json, and what `save` writes, which returns the Markdown."""

    name: str
    save: Callable[[Results, Path], str]

    def keep(self, results: Results, folder: Path) -> None:
        """Save the figures so far: what comes next may fail in ways that end the run."""
        (folder / f"{self.name}.json").write_text(json.dumps(results.to_json(), indent=1) + "\n")


def parser(doc: str | None, groups: Sequence[str], *, events: int) -> argparse.ArgumentParser:
    """Return the options that all programs have; `events` is the default size of the sample."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = HERE.parent / "build" / "bench"
    options.add_argument("--build", type=Path, default=default_build, help="CMake's build folder")
    options.add_argument("--events", type=int, default=events, help="size of the LHCb sample")
    options.add_argument("--repeats", type=int, default=5, help="rounds")
    options.add_argument(
        "--only", nargs="+", choices=groups, default=list(groups), metavar="GROUP", help=", ".join(groups)
    )
    options.add_argument("--output", type=Path, default=HERE / "results", help="folder for the report")
    options.add_argument(
        "--work", type=Path, help="folder on the disk to measure, for large files (default: that of --output)"
    )
    options.add_argument("--keep", action="store_true", help="leave the sample in --work for the next run")
    return options


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line."""
    parsed = options.parse_args()
    if parsed.events < 2 or parsed.events % 2 or parsed.repeats < 1:
        options.error("--events must be positive and even, --repeats positive")
    return parsed


def measure(
    groups: Groups,
    options: argparse.Namespace,
    report: Report,
    *,
    bytes_per_event: int,
    errors: tuple[type[Exception], ...] = (BenchmarkError,),
) -> int:
    """Run the groups one after the other, save the report, and return the exit status.

    Args:
        groups: by name, what adds rows to a session; one that raises one of `errors` is noted, and the others go on.
        options: from `parse`.
        report: what is saved.
        bytes_per_event: disk space that all files need together at a time.
        errors: exceptions that are failures of a group.
    """
    work_parent = options.work or options.output
    for folder in (options.output, work_parent):
        folder.mkdir(parents=True, exist_ok=True)
    check_space(work_parent, options.events * bytes_per_event)
    results = Results(machine(), options.events, options.repeats)
    console = Console(soft_wrap=True, markup=False, highlight=False)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=work_parent) as work:
        sample_folder = work_parent if options.keep else Path(work)
        session = Session(options.build.resolve(), Path(work), results, sample_folder)
        with Progress(*columns, console=console) as progress:
            whole = progress.add_task("", total=len(groups))
            session.show = lambda text: progress.update(whole, description=text)
            for name, group in groups.items():
                _run_group(name, group, session, console, errors)
                report.keep(results, options.output)
                progress.advance(whole)
    results.about["seconds"] = round(time.monotonic() - session.started)

    report.keep(results, options.output)
    print("\n" + report.save(results, options.output))
    print(f"saved {report.name}.md, {report.name}.json and figures in {options.output}")
    return status_of(results.problems)


def _run_group(
    name: str,
    group: Callable[[Session], None],
    session: Session,
    console: Console,
    errors: tuple[type[Exception], ...],
) -> None:
    before, started = len(session.results.rows), time.monotonic()
    session.show(name)
    try:
        group(session)
    except errors as error:
        session.problem(f"{name}: {error}")
        console.print(f"{name} failed: {error}")
    for row in session.results.rows[before:]:
        mark = {None: " ", True: "+", False: "-"}[row.met]
        console.print(f"{mark} {row.work}: {row.median:.2f} {row.measure}")
    console.print(f"{name}: {time.monotonic() - started:.0f} s")
