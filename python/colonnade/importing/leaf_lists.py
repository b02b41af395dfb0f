"""Branches of several leaves of which some are arrays, as "position[2][3]/F:charge/F": uproot has no arrays of them."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import numpy as np

from colonnade.arrays.lazy import awkward as ak

__all__ = ["leaf_list_of"]

_KINDS = {
    "TLeafO": "?",
    "TLeafB": "i1",
    "TLeafS": "i2",
    "TLeafI": "i4",
    "TLeafG": "i8",
    "TLeafL": "i8",
    "TLeafF": "f4",
    "TLeafD": "f8",
}


def leaf_list_of(branch: Any) -> Any | None:
    """Return how to read such a branch if its leaves are numbers and its arrays of fixed size; None of others."""
    leaves = branch.member("fLeaves")
    if len(leaves) < 2:
        return None
    parts = [_part(leaf) for leaf in leaves]
    names = {part[0] for part in parts if part}
    if len(names) < len(leaves) or not any(part[2] for part in parts if part):
        return None
    return _rows()(np.dtype(parts))


def _part(leaf: Any) -> tuple[str, str, tuple[int, ...]] | None:
    kind = _KINDS.get(str(leaf.classname))
    shape = tuple(int(size) for size in re.findall(r"\[(\d+)\]", str(leaf.member("fTitle"))))
    if kind is None or leaf.member("fLeafCount") is not None or math.prod(shape) != leaf.member("fLen"):
        return None
    kind = kind.replace("i", "u") if leaf.member("fIsUnsigned") else kind
    return str(leaf.member("fName")), f">{kind}", shape


@functools.cache
def _rows() -> Any:
    from uproot.interpretation.numerical import AsDtype

    class AsRows(AsDtype):  # type: ignore[misc]
        """Rows of numbers and arrays."""

        def awkward_form(self, *_: Any, **__: Any) -> Any:
            return ak.from_numpy(np.empty(0, self.to_dtype), regulararray=True, highlevel=False).form

    return AsRows
