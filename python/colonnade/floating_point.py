"""What is stored does not depend on the floating-point state of the thread.

A program can change how numbers are rounded, and a library that was linked with -ffast-math makes subnormal numbers
zero in the thread that loads it, and in those that this one starts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from colonnade import _core

__all__ = ["with_standard_floating_point"]

F = TypeVar("F", bound=Callable[..., Any])


def with_standard_floating_point(function: F) -> F:
    """Round to nearest, and keep subnormal numbers, while a function runs in this thread."""

    @functools.wraps(function)
    def standard(*arguments: Any, **options: Any) -> Any:
        return _core.with_standard_floating_point(functools.partial(function, *arguments, **options))

    return cast(F, standard)
