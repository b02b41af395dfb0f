"""The report on object stores: Markdown, and the figure beside it."""

from __future__ import annotations

import statistics
from pathlib import Path

from common import describe_machine
from local_report import plot_rows, rows_table, table_lines
from local_results import Results, Table
from objects_places import KINDS

STYLES = {
    "raw": ("black", "the store's own limit: raw values of 1 MiB"),
    "ranges": ("tab:green", "raw ranges of 1 MiB of large values"),
    "spliced": ("tab:blue", "locality + splicing to 1 MiB"),
    "locality": ("tab:orange", "locality"),
    "object_per_page": ("tab:red", "object per page"),
    "blocking": ("tab:gray", "one blocking request per page"),
}


def plot_sweep(table: Table, path: Path) -> None:
    """Bandwidth by page size: a column for each store, writing above reading."""
    from matplotlib.figure import Figure

    stores = list(dict.fromkeys(table.column("store")))
    figure = Figure(figsize=(4.5 * len(stores), 8), layout="constrained")
    panels = figure.subplots(2, len(stores), squeeze=False)
    for way, line in zip(("write", "read"), panels, strict=True):
        for store, axes in zip(stores, line, strict=True):
            for side, (color, label) in STYLES.items():
                pages = table.column("page KiB", store=store, side=side)
                values = table.column(way, store=store, side=side)
                if not pages:
                    continue
                middle = [statistics.median(rounds) for rounds in values]
                axes.plot(pages, middle, "o-", color=color, label=label, markersize=4)
                axes.fill_between(
                    pages, [min(v) for v in values], [max(v) for v in values], color=color, alpha=0.15
                )
            axes.set_xscale("log", base=2)
            axes.set_xlabel("page size [KiB]")
            axes.set_ylabel(f"{way} [MB/s]")
            axes.set_ylim(bottom=0)
            axes.set_title(KINDS[store].title)
    panels[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def markdown(results: Results, figures: list[str]) -> str:
    lines = [
        "# Object stores",
        "",
        f"Medians of {results.repeats} rounds in which the sides take turns, in brackets the range; LHCb sample of",
        f"{results.events} events. What the rows mean: docs/benchmarks.md.",
        *describe_machine(results.about),
        "",
        *rows_table(results.rows),
    ]
    for name in figures:
        lines += ["", f"![{name}](objects-{name}.png)"]
    for table in results.tables.values():
        lines += ["", *table_lines(table)]
    if results.problems:
        lines += ["", "## Problems", "", *(f"- {problem}" for problem in results.problems)]
    return "\n".join(lines) + "\n"


def save(results: Results, folder: Path) -> str:
    """Write objects.md and the figures; return the Markdown."""
    figures = []
    if rows := [row for row in results.rows if row.target is not None]:
        plot_rows(rows, folder / "objects-rows.png")
        figures.append("rows")
    if "sweep" in results.tables and results.tables["sweep"].lines:
        plot_sweep(results.tables["sweep"], folder / "objects-sweep.png")
        figures.append("sweep")
    text = markdown(results, figures)
    (folder / "objects.md").write_text(text, "utf-8")
    return text
