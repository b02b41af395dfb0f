"""Parameters and annotations of callables, whose names may be there for type checkers only."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["annotations_of", "signature_of"]

# From Python 3.14 on annotations are evaluated when they are asked for, which fails for names that do not exist.
if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def _signature(function: Callable[..., Any]) -> inspect.Signature:
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

    def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
        return get_annotations(function, format=Format.FORWARDREF)

else:

    def _signature(function: Callable[..., Any]) -> inspect.Signature:
        return inspect.signature(function)

    def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
        return inspect.get_annotations(function)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a callable, or of what Numba compiled.

    Raises:
        TypeError: it is no callable.
        ValueError: it has no signature, like some compiled code.
    """
    return _signature(getattr(function, "py_func", function))


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a callable as they are known: types, texts, or references to unknown names."""
    return _annotations(function)
