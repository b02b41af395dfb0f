"""C++ types of numbers and lists by their names, and Python functions with such types, for `ROOT.Numba.Declare`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from colonnade.errors import UsageError
from colonnade.frame.callables import RowFunction

__all__ = ["number_type", "row_function"]

_TYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "unsigned": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "float": "float32",
    "double": "float64",
    "Bool_t": "bool",
    "Char_t": "int8",
    "UChar_t": "uint8",
    "Short_t": "int16",
    "UShort_t": "uint16",
    "Int_t": "int32",
    "UInt_t": "uint32",
    "Long64_t": "int64",
    "ULong64_t": "uint64",
    "Float_t": "float32",
    "Double_t": "float64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_OF_ALIASES = {
    "B": "bool",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "L": "long",
    "U": "unsigned int",
}


def number_type(kind: Any) -> np.dtype[Any]:
    """Return the type of a C++ name, or of Python's `int`, which is C++'s, `float` and `bool`.

    Raises:
        UsageError: it is no type of numbers.
    """
    name = {int: "int", float: "float", bool: "bool"}.get(kind, kind)
    if not isinstance(name, str) or (found := _TYPES.get(name.strip().removeprefix("std::"))) is None:
        raise UsageError(f"{kind!r} is not a type of numbers", "'int', 'float', 'unsigned long'")
    return np.dtype(found)


def row_function(function: Callable[..., Any], inputs: Sequence[str], returns: str) -> RowFunction:
    """Return a function of expressions that converts its arguments to C++ types.

    Raises:
        UsageError: a type is neither one of numbers nor of lists of these.
    """
    try:
        from numba import njit

        function = njit(boundscheck=True)(function)
    except ImportError:
        pass
    names: dict[str, Any] = {"function": function}
    arguments = []
    for k, given in enumerate(inputs):
        kind, is_list = _element(given)
        names[f"type{k}"] = kind.type
        arguments.append(f"x{k}.astype(type{k})" if is_list else f"type{k}(x{k})")
    # Numba compiles no functions that loop over arguments of different types.
    parameters = ", ".join(f"x{k}" for k in range(len(inputs)))
    exec(f"def call({parameters}):\n    return function({', '.join(arguments)})", names)
    kind, is_list = _element(returns)
    stored = kind.name if kind.kind in "bf" else f"std::{kind.name}_t"
    stored = {"float32": "float", "float64": "double"}.get(stored, stored)
    return RowFunction(names["call"], f"std::vector<{stored}>" if is_list else stored)


def _element(name: str) -> tuple[np.dtype[Any], bool]:
    """The type of a number, or of the items of a list, and whether it is a list."""
    text = re.sub(r"\bconst\b|&|\s+(?=[<>,])|(?<=[<,])\s+|\bROOT::|\bVecOps::|\bstd::", "", name).strip()
    if (found := re.fullmatch(r"RVec([BCDFILU])", text)) is not None:
        return number_type(_OF_ALIASES[found[1]]), True
    if (found := re.fullmatch(r"(?:RVec|vector|array)<([^<>,]+)(?:,\s*\d+)?\s*>", text)) is not None:
        return number_type(found[1]), True
    return number_type(text), False
