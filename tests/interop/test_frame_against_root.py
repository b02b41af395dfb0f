"""The data frame against ROOT's RDataFrame: the same file, the same strings, the same results.

Integers and what is computed entry by entry without the mathematical library are equal exactly; sums may differ by the
last bits that another order of summation leaves.
"""

from __future__ import annotations

import math
from typing import Any

import frame_expressions
import frame_samples
import pytest
import rdf_tutorials

import colonnade
import colonnade.root


@pytest.fixture(scope="module")
def nano(tmp_path_factory):
    return frame_samples.nano(tmp_path_factory.mktemp("frame") / "nano.root")


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return frame_samples.atlas(tmp_path_factory.mktemp("frame") / "atlas.root")


def differences(root: Any, ours: Any, tolerance: float, where: str = "") -> list[str]:
    """Where two nested values differ by more than the tolerance, relative to the larger one."""
    if isinstance(root, dict) and isinstance(ours, dict):
        if set(root) != set(ours):
            return [f"{where}: {sorted(root)} and {sorted(ours)}"]
        return [d for key in root for d in differences(root[key], ours[key], tolerance, f"{where}.{key}")]
    if isinstance(root, list) and isinstance(ours, list):
        if len(root) != len(ours):
            return [f"{where}: {len(root)} and {len(ours)} items: {str(root)[:80]} and {str(ours)[:80]}"]
        pairs = zip(root, ours, strict=True)
        return [d for i, pair in enumerate(pairs) for d in differences(*pair, tolerance, f"{where}[{i}]")]
    if isinstance(root, float) and isinstance(ours, float) and math.isnan(root) and math.isnan(ours):
        return []
    if root == ours:
        return []
    numbers = isinstance(root, int | float) and isinstance(ours, int | float)
    if numbers and math.isclose(root, ours, rel_tol=tolerance, abs_tol=tolerance * 1e-3) and tolerance > 0:
        return []
    return [f"{where}: {root!r} and {ours!r}"]


def plain(values: Any) -> list[Any]:
    """A column of AsNumpy as Python's own lists."""
    return [value.tolist() if hasattr(value, "tolist") else value for value in values]


def our_columns(path: Any, expressions: dict[str, str], cut: str) -> dict[str, list[Any]]:
    frame = colonnade.RDataFrame("Events", str(path)).Filter(cut)
    for name, expression in expressions.items():
        frame = frame.Define(f"v_{name}", expression)
    taken = frame.AsNumpy([f"v_{name}" for name in expressions])
    return {name: plain(taken[f"v_{name}"]) for name in expressions}


# Single precision where a float is computed: the last bits of mathematical functions and of sums.
@pytest.mark.parametrize(
    ("expressions", "tolerance"),
    [(frame_expressions.EXACT, 0), (frame_expressions.CLOSE, 4e-6)],
    ids=["exact", "close"],
)
def test_expressions(root, nano, expressions, tolerance):
    theirs = root.call("frame_columns", "Events", str(nano), expressions, frame_expressions.CUT)
    ours = our_columns(nano, expressions, frame_expressions.CUT)
    for name in expressions:
        found = differences(theirs[name], ours[name], tolerance)
        assert not found, (name, expressions[name], found[:3])


@pytest.mark.parametrize("name", ["df102", "df103", "df104", "df105", "df106", "df107"])
def test_tutorials(root, nano, atlas, name):
    path = nano if name in {"df102", "df103"} else atlas
    theirs = root.call("frame_tutorial", name, str(path))
    ours = getattr(rdf_tutorials, name)(colonnade.RDataFrame, str(path))
    ours.pop("df", None)
    if (histogram := ours.pop("h", None)) is not None:
        varied = colonnade.root.RDF.Experimental.VariationsFor(histogram)
        ours["varied"] = {str(key): rdf_tutorials.contents(varied[key]) for key in varied.GetKeys()}
    assert differences(theirs, ours, 1e-6) == []


def test_statistics(root, nano):
    theirs = root.call("frame_tutorial", "df_statistics", str(nano))
    ours = rdf_tutorials.df_statistics(colonnade.RDataFrame, str(nano))
    assert differences(theirs, ours, 1e-12) == []
