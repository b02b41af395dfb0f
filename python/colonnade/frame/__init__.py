"""DataFrames: lazy analysis of columns, on all processors, without compilation at run time."""

from __future__ import annotations

from .dataframe import DataFrame, run_graphs, variations_for
from .expressions import Expression, col, fn
from .results import Cut, Display, GraphPoints, Report, Result, Stats, Variations

__all__ = [
    "Cut",
    "DataFrame",
    "Display",
    "Expression",
    "GraphPoints",
    "Report",
    "Result",
    "Stats",
    "Variations",
    "col",
    "fn",
    "run_graphs",
    "variations_for",
]
