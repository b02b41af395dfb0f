"""The data frame against ROOT's RDataFrame: the same file, the same strings, the same results.

Integers and what is computed entry by entry without the mathematical library are equal exactly. Mathematical functions
differ by a unit in the last place here and there, since ROOT's are those of the C library
(docs/decisions/0026-own-mathematical-functions.md); sums by the last bits that another order of summation leaves.
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


def differences(
    root: Any, ours: Any, tolerance: float, where: str = "", absolute: float | None = None
) -> list[str]:
    """Where two nested values differ by more than the tolerance, relative to the larger one, or absolute."""
    if isinstance(root, dict) and isinstance(ours, dict):
        if set(root) != set(ours):
            return [f"{where}: {sorted(root)} and {sorted(ours)}"]
        return [
            d
            for key in root
            for d in differences(root[key], ours[key], tolerance, f"{where}.{key}", absolute)
        ]
    if isinstance(root, list) and isinstance(ours, list):
        if len(root) != len(ours):
            return [f"{where}: {len(root)} and {len(ours)} items: {str(root)[:80]} and {str(ours)[:80]}"]
        pairs = zip(root, ours, strict=True)
        return [
            d
            for i, pair in enumerate(pairs)
            for d in differences(*pair, tolerance, f"{where}[{i}]", absolute)
        ]
    if isinstance(root, float) and isinstance(ours, float) and math.isnan(root) and math.isnan(ours):
        return []
    if root == ours:
        return []
    numbers = isinstance(root, int | float) and isinstance(ours, int | float)
    smallest = tolerance * 1e-3 if absolute is None else absolute
    if numbers and math.isclose(root, ours, rel_tol=tolerance, abs_tol=smallest) and tolerance > 0:
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


# Differences of larger numbers: a unit in the last place of these is many of the result. The energies of all muons add
# up to some hundreds, and their squares are subtracted.
CANCELLING = {
    "exp_log": 1e-6,
    "trigonometry": 1e-6,
    "hyperbolic": 1e-6,
    "erf": 1e-6,
    "invariant_mass": 5e-3,
}


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
        found = differences(theirs[name], ours[name], tolerance, absolute=CANCELLING.get(name))
        assert not found, (name, expressions[name], found[:3])


def test_declared_functions(root, nano):
    assert root.call("frame_declare", frame_expressions.DECLARED)
    assert colonnade.root.gInterpreter.Declare(frame_expressions.DECLARED)
    theirs = root.call("frame_columns", "Events", str(nano), frame_expressions.CALLS, frame_expressions.CUT)
    ours = our_columns(nano, frame_expressions.CALLS, frame_expressions.CUT)
    for name, call in frame_expressions.CALLS.items():
        found = differences(theirs[name], ours[name], 4e-6, absolute=5e-3 if "vectors" in name else None)
        assert not found, (name, call, found[:3])


def settle_borders(root: list[list[float]], ours: list[list[float]]) -> None:
    """Move entries back where the last bit of a value at the border of two bins decides: three at most."""
    moved = 0
    for k in range(len(ours[0]) - 1):
        step = root[0][k] - ours[0][k]
        if abs(step) == 1 and ours[0][k + 1] - root[0][k + 1] == step:
            moved += 1
            for bin_, change in ((k, step), (k + 1, -step)):
                ours[0][bin_] += change
                ours[1][bin_] = math.sqrt(ours[0][bin_])
    assert moved <= 3


@pytest.mark.parametrize("name", ["df102", "df103", "df104", "df105", "df106", "df107"])
def test_tutorials(root, nano, atlas, name):
    path = nano if name in {"df102", "df103"} else atlas
    theirs = root.call("frame_tutorial", name, str(path))
    ours = getattr(rdf_tutorials, name)(colonnade.RDataFrame, str(path))
    ours.pop("df", None)
    if (histogram := ours.pop("h", None)) is not None:
        varied = colonnade.root.RDF.Experimental.VariationsFor(histogram)
        ours["varied"] = {str(key): rdf_tutorials.contents(varied[key]) for key in varied.GetKeys()}
    if name == "df102":
        settle_borders(theirs["mass"], ours["mass"])
    assert differences(theirs, ours, 1e-6) == []


def test_statistics(root, nano):
    theirs = root.call("frame_tutorial", "df_statistics", str(nano))
    ours = rdf_tutorials.df_statistics(colonnade.RDataFrame, str(nano))
    assert differences(theirs, ours, 1e-12) == []


def test_projections(root, nano):
    theirs = root.call("frame_tutorial", "df_projections", str(nano))
    ours = rdf_tutorials.df_projections(colonnade.RDataFrame, str(nano))
    assert differences(theirs, ours, 1e-9) == []
