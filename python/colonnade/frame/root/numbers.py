"""Types of numbers and lists by their C++ names, and Python functions with such types, for `ROOT.Numba.Declare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from colonnade import _core
from colonnade.errors import Error, UsageError
from colonnade.frame.callables import RowFunction
from colonnade.frame.values import dtype_of

__all__ = ["number_type", "row_function"]


def number_type(kind: Any) -> np.dtype[Any]:
    """Return the type of a C++ name, or of Python's `int`, which is C++'s, `float` and `bool`.

    Raises:
        UsageError: it is not a type of numbers.
    """
    name = next((each.__name__ for each in (int, float, bool) if kind is each), kind)
    return _dtype(_named(name), name)


def row_function(function: Callable[..., Any], inputs: Sequence[str], returns: str) -> RowFunction:
    """Return a function of expressions that converts its arguments to C++ types.

    Raises:
        UsageError: a type is neither that of a number nor of a list of numbers.
    """
    try:
        from numba import njit

        function = njit(boundscheck=True)(function)
    except ImportError:
        pass
    # A function without a module is looked for in all modules, by their attributes, whenever it is pickled.
    names: dict[str, Any] = {"function": function, "__name__": __name__}
    arguments = []
    for k, given in enumerate(inputs):
        kind, is_list = _element(given)
        names[f"type{k}"] = kind.type
        arguments.append(f"x{k}.astype(type{k})" if is_list else f"type{k}(x{k})")
    # Numba compiles no functions that loop over arguments of different types.
    parameters = ", ".join(f"x{k}" for k in range(len(inputs)))
    exec(f"def call({parameters}):\n    return function({', '.join(arguments)})", names)
    _element(returns)
    return RowFunction(names["call"], str(_named(returns).name))


def _named(name: Any) -> _core.ValueType:
    try:
        return _core.ValueType.named(name)
    except (Error, TypeError):
        raise UsageError(f"{name!r} is not a type of numbers", "'int', 'float', 'unsigned long'") from None


def _dtype(kind: _core.ValueType, name: Any) -> np.dtype[Any]:
    if kind.kind != "scalar":
        raise UsageError(f"{name!r} is not a type of numbers", "'int', 'float', 'unsigned long'")
    return np.dtype(np.int8) if kind.element == _core.ElementType.character else dtype_of(kind)


def _element(name: str) -> tuple[np.dtype[Any], bool]:
    """The type of a number, or of the items of a list, and whether it is a list."""
    kind = _named(name)
    is_list = kind.kind == "list" and not kind.is_optional
    return _dtype(kind.item if is_list else kind, name), is_list
