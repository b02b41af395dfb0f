"""DataFrames: lazy analysis of columns, on all processors, without compilation at run time."""

from __future__ import annotations

from .dataframe import DataFrame, compute, run_graphs, variations_for
from .expressions import Expression, col, fn
from .luminosity import json_mask
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
    "compute",
    "fn",
    "json_mask",
    "run_graphs",
    "variations_for",
]
