"""DataFrames: lazy analysis of columns, on all processors, without compilation at run time."""

from __future__ import annotations

from colonnade import _core

if not hasattr(_core, "FrameGraph"):
    raise ImportError(
        "this build has no data frame: `make demo` compiles it after the plot; try: make python-package"
    )

from .corrections import Correction, corrections
from .dataframe import DataFrame, compute, run_graphs, variations_for
from .explaining import Explanation, StepCost
from .expressions import Expression, col, fn
from .libraries import Functions, Library, LibraryFunction, TextFunction, functions, get_include, library
from .luminosity import json_mask
from .models import Model, onnx_model
from .results import Cut, Display, GraphPoints, Report, Result, Stats, Variations

__all__ = [
    "Correction",
    "Cut",
    "DataFrame",
    "Display",
    "Explanation",
    "Expression",
    "Functions",
    "GraphPoints",
    "Library",
    "LibraryFunction",
    "Model",
    "Report",
    "Result",
    "Stats",
    "StepCost",
    "TextFunction",
    "Variations",
    "col",
    "compute",
    "corrections",
    "fn",
    "functions",
    "get_include",
    "json_mask",
    "library",
    "onnx_model",
    "run_graphs",
    "variations_for",
]
