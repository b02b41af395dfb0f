"""RDataFrame on behalf of the tests: columns computed from expressions, and the tutorials. Plain data comes out."""

from __future__ import annotations

from typing import Any

import rdf_random
import rdf_tutorials
import root_bridge


def plain(value: Any) -> Any:
    """A value of a column as Python's own: lists of numbers, bools and strings."""
    if isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if hasattr(value, "__len__") and not hasattr(value, "c_str"):
        return [plain(item) for item in value]
    return str(value)


def declare(text: str) -> bool:
    """Declare functions of C++ that expressions call from then on."""
    return bool(root_bridge.load().gInterpreter.Declare(text))


def columns(tree: str, path: str, expressions: dict[str, str], cut: str) -> dict[str, list[Any]]:
    """The values of each expression for the entries that pass the cut."""
    ROOT = root_bridge.load()
    frame = ROOT.RDataFrame(tree, path).Filter(cut)
    for name, expression in expressions.items():
        frame = frame.Define(f"v_{name}", expression)  # a column "sqrt" would hide the function
    taken = frame.AsNumpy([f"v_{name}" for name in expressions])
    return {name: [plain(value) for value in taken[f"v_{name}"]] for name in expressions}


def tutorial(name: str, path: str) -> Any:
    """What rdf_tutorials.NAME finds with ROOT's RDataFrame."""
    ROOT = root_bridge.load()
    found = getattr(rdf_tutorials, name)(ROOT.RDataFrame, path)
    found.pop("df", None)
    if (histogram := found.pop("h", None)) is not None:
        varied = ROOT.RDF.Experimental.VariationsFor(histogram)
        found["varied"] = {str(key): rdf_tutorials.contents(varied[key]) for key in varied.GetKeys()}
    return found


def random_analysis(seed: int, path: str) -> dict[str, Any]:
    """What rdf_random finds with ROOT's RDataFrame."""
    ROOT = root_bridge.load()
    return rdf_random.analysis(seed, ROOT.RDataFrame, ROOT.RDF.Experimental.VariationsFor, path)
