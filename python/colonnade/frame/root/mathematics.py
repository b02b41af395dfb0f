"""ROOT's functions of numbers, `ROOT.TMath.Pi()`, computed as expressions compute them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from colonnade import _core
from colonnade.errors import TypeMismatchError, UnsupportedError, UsageError
from colonnade.frame.dataframe import DataFrame
from colonnade.frame.expressions import literal

__all__ = ["TMath"]


class _Mathematics(type):
    """Functions are attributes."""

    def __getattr__(cls, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if f"TMath::{name}" not in _known():
            raise MissingFunctionError(f"TMath has no {name} here", "the modules math and scipy.special")

        def call(*arguments: float) -> Any:
            if name == "Hypot" and all(isinstance(each, int) for each in arguments):
                raise UsageError(
                    "ROOT rounds TMath.Hypot of integers, in Python alone", "TMath.Hypot(3.0, 4)"
                )
            try:
                texts = [literal(each) for each in arguments]
            except TypeMismatchError:
                raise UsageError(
                    f"TMath.{name} takes numbers, not {arguments}", "NumPy and scipy.special for arrays"
                ) from None
            value = DataFrame(1).define("value", f"TMath::{name}({', '.join(texts)})").take("value").value[0]
            return value.item()

        call.__name__ = name
        return call


class MissingFunctionError(UnsupportedError, AttributeError):
    """A function of ROOT's without a counterpart."""


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(name for name, _ in _core.expression_functions())


class TMath(metaclass=_Mathematics):
    """The namespace TMath, as in expressions: `ROOT.TMath.Pi()`, `ROOT.TMath.Gaus(x, mean, sigma)`."""
