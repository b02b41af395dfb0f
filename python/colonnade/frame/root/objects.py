"""Objects of ROOT itself as arguments: models, histograms, chains and vectors of names. ROOT is not imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from colonnade.errors import UnsupportedError

__all__ = ["chain_of", "is_chain", "model_of", "names_of"]


def names_of(given: Any) -> Any:
    """The texts of a `std::vector<std::string>` as a list; anything else as it is."""
    is_vector = hasattr(given, "__getitem__") and hasattr(given, "__len__")
    if isinstance(given, str | bytes | Iterable) or not is_vector:
        return given
    return [str(given[k]) for k in range(len(given))]


def model_of(given: Any) -> Any:
    """The tuple of a model, or of a histogram that is one; anything else as it is."""
    if hasattr(given, "fDim"):  # THnDModel
        edges = [list(each) for each in given.fBinEdges]
        limits = [edges] if any(edges) else [list(given.fXmin), list(given.fXmax)]
        return (str(given.fName), str(given.fTitle), int(given.fDim), [int(k) for k in given.fNbins], *limits)
    if hasattr(given, "fBinXEdges"):
        return _of_fields(given)
    if hasattr(given, "GetNbinsX") and hasattr(given, "GetDimension"):
        return _of_histogram(given)
    return given


def _of_fields(model: Any) -> tuple[Any, ...]:
    """The tuple of a TH1DModel, TProfile1DModel, ...; the axis behind those with bins has the limits of a profile."""
    parts: list[Any] = [str(model.fName), str(model.fTitle)]
    for axis in "XYZ":
        if hasattr(model, f"fNbins{axis}"):
            edges = list(getattr(model, f"fBin{axis}Edges"))
            limits = [edges] if edges else [getattr(model, f"f{axis}Low"), getattr(model, f"f{axis}Up")]
            parts += [int(getattr(model, f"fNbins{axis}")), *limits]
        elif hasattr(model, f"f{axis}Low"):
            parts += [getattr(model, f"f{axis}Low"), getattr(model, f"f{axis}Up")]
    return (*parts, str(model.fOption)) if hasattr(model, "fOption") else tuple(parts)


def _of_histogram(histogram: Any) -> tuple[Any, ...]:
    axes = [histogram.GetXaxis(), histogram.GetYaxis(), histogram.GetZaxis()]
    parts: list[Any] = [str(histogram.GetName()), str(histogram.GetTitle())]  # no titles of axes, as in ROOT
    for axis in axes[: histogram.GetDimension()]:
        bins = int(axis.GetNbins())
        low, high = float(axis.GetXmin()), float(axis.GetXmax())
        if axis.IsVariableBinSize():
            parts += [bins, [*(float(axis.GetBinLowEdge(k + 1)) for k in range(bins)), high]]
        else:
            parts += [bins, low, high]
    if hasattr(histogram, "GetErrorOption"):  # a profile
        of_values = "Y" if histogram.GetDimension() == 1 else "Z"
        parts += [float(getattr(histogram, f"Get{of_values}{end}")()) for end in ("min", "max")]
        parts.append(str(histogram.GetErrorOption()))
    return tuple(parts)


def is_chain(given: object) -> bool:
    """Return whether it is a TChain or a TTree."""
    return hasattr(given, "GetListOfFriends")


def chain_of(tree: Any) -> tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]]]:
    """The files of a TChain or a TTree, each with the name of its tree, and those of its friends by their names.

    Raises:
        UnsupportedError: the tree is in no file, has a list of entries, or a friend has an index.
    """
    if tree.GetEntryList():
        problem = f"the list of entries of '{tree.GetName()}' is not followed"
        raise UnsupportedError(problem, "SetEntryList(nullptr), and a Filter")
    friends = {}
    for each in tree.GetListOfFriends() or ():
        name, friend = str(each.GetName()), each.GetTree()
        index = friend.GetTreeIndex()
        if index:
            keys = [key for key in map(str, (index.GetMajorName(), index.GetMinorName())) if key != "0"]
            raise UnsupportedError(
                f"the friend '{name}' has an index, by which ROOT finds its entries",
                f'AsDataFrame().join("{friend.GetName()}", files, on={keys!r}) without the friend',
            )
        friends[name] = _files_of(friend)
    return _files_of(tree), friends


def _files_of(tree: Any) -> list[tuple[str, str]]:
    if hasattr(tree, "GetListOfFiles"):
        return [(str(each.GetTitle()), str(each.GetName())) for each in tree.GetListOfFiles()]
    file = tree.GetCurrentFile()
    if not file:
        raise UnsupportedError(f"the tree '{tree.GetName()}' is in no file", "a TTree of a file, or a TChain")
    folder = str(tree.GetDirectory().GetPath()).rpartition(":/")[2]
    return [(str(file.GetName()), f"{folder}/{tree.GetName()}".lstrip("/"))]
