"""The report on local storage: Markdown, and the figures beside it."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import describe_machine, spread
from local_results import Results, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDES = {"ours": "tab:blue", "arrays": "tab:cyan", "ROOT": "tab:gray", "fio": "tab:orange"}
NAMES = {"ours": "Colonnade", "arrays": "Colonnade, whole arrays"}
FIGURES = {"rows": "Ratios and targets", "streams": "Reading by streams", "parallel": "Parallel write"}


# ---- Markdown


def number_form(row: Row) -> str:
    return ".0f" if row.measure == "MB" else ".2f"


def target_text(row: Row) -> str:
    if row.target is None:
        return ""
    return f"{'at most' if row.at_most else 'at least'} {row.target:{number_form(row)}}"


def rows_table(rows: list[Row]) -> list[str]:
    lines = ["| Work | Measured | Median (range) | Target | Met | Colonnade | Beside it |", "|---" * 7 + "|"]
    for row in rows:
        met = {None: "", True: "yes", False: "**no**"}[row.met]
        cells = [row.work, row.measure, spread(row.values, number_form(row)), target_text(row), met]
        lines.append(f"| {' | '.join([*cells, row.ours, row.reference])} |")
    return lines


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        middle = statistics.median(value)
        return spread(value, ".3f" if middle < 1 else ".2f" if middle < 10 else ".0f")
    return str(value)


def table_lines(table: Table) -> list[str]:
    heads = list(dict.fromkeys(key for line in table.lines for key in line))
    lines = [f"## {table.title}", "", table.note, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return lines + [f"| {' | '.join(cell(line.get(head, '')) for head in heads)} |" for line in table.lines]


def markdown(results: Results, figures: list[str]) -> str:
    lines = [
        "# Local storage",
        "",
        f"LHCb B2HHH, {results.events} events. Medians of {results.repeats} rounds in which the sides take turns, in",
        "brackets the range. What the rows mean: docs/benchmarks.md.",
        *describe_machine(results.about),
        "",
        *rows_table(results.rows),
    ]
    for name in figures:
        lines += ["", f"![{FIGURES[name]}](local-{name}.png)"]
    for table in results.tables.values():
        lines += ["", *table_lines(table)]
    if results.problems:
        lines += ["", "## Problems", "", *(f"- {problem}" for problem in results.problems)]
    return "\n".join(lines) + "\n"


# ---- Figures


def bar(axes: Axes, position: float, width: float, values: list[float], side: str, label: bool) -> None:
    """A median with its range."""
    middle = statistics.median(values)
    error = [[middle - min(values)], [max(values) - middle]]
    name = NAMES.get(side, side) if label else None
    axes.bar(position, middle, width, yerr=error, color=SIDES[side], capsize=2, label=name)


def plot_rows(rows: list[Row], path: Path) -> None:
    """How far each row is from its target: 1 is the target, more is better."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 1.5 + 0.34 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for position, row in enumerate(rows):
        assert row.target is not None
        reached = sorted(row.target / v if row.at_most else v / row.target for v in row.values)
        color = "tab:green" if row.met else "tab:red"
        axes.plot([reached[0], reached[-1]], [position, position], color=color, linewidth=2)
        axes.plot(statistics.median(reached), position, "o", color=color)
        text = f"{row.median:{number_form(row)}} ({target_text(row)})"
        axes.annotate(text, (reached[-1], position), xytext=(6, -3), textcoords="offset points", fontsize=8)
    axes.axvline(1, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), [row.work for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.25)
    axes.set_xlabel("part of the target that is reached (right of the line: met)")
    figure.savefig(path, dpi=120)


def plot_streams(table: Table, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for side, shift in (("fio", -0.2), ("ours", 0.2)):
        for position, values in enumerate(table.column(side)):
            bar(axes, position + shift, 0.38, values, side, position == 0)
    axes.set_xticks(range(len(table.lines)), [str(streams) for streams in table.column("streams")])
    axes.set_xlabel("streams (requests in flight)")
    axes.set_ylabel("MB/s")
    axes.set_title("Reading an uncompressed file past the page cache")
    axes.legend()
    figure.savefig(path, dpi=120)


def plot_parallel(table: Table, path: Path) -> None:
    """Data bandwidth by codec: a panel for each number of threads, with and without direct I/O."""
    from matplotlib.figure import Figure

    threads = sorted(set(table.column("threads")))
    figure = Figure(figsize=(12, 3.5 * len(threads)), layout="constrained")
    panels = figure.subplots(len(threads), 2, squeeze=False)
    for count, pair in zip(threads, panels, strict=True):
        for direct, axes in zip((True, False), pair, strict=True):
            lines = [line for line in table.lines if line["threads"] == count and line["direct"] == direct]
            for side, shift in (("ROOT", -0.2), ("ours", 0.2)):
                for position, line in enumerate(lines):
                    bar(axes, position + shift, 0.38, line[f"{side} data"], side, position == 0)
            axes.set_xticks(range(len(lines)), [line["codec"] for line in lines], rotation=30)
            axes.set_yscale("log")
            axes.set_ylabel("MB/s of data")
            axes.set_title(f"{count} threads, {'direct I/O' if direct else 'page cache'}")
            axes.legend()
    figure.savefig(path, dpi=120)


# ---- Both


def save(results: Results, folder: Path) -> str:
    """Write local.md and the figures; return the Markdown."""
    figures = []
    if rows := [row for row in results.rows if row.target is not None]:
        plot_rows(rows, folder / "local-rows.png")
        figures.append("rows")
    for name, plot in (("streams", plot_streams), ("parallel", plot_parallel)):
        if name in results.tables:
            plot(results.tables[name], folder / f"local-{name}.png")
            figures.append(name)
    text = markdown(results, figures)
    (folder / "local.md").write_text(text, "utf-8")
    return text
