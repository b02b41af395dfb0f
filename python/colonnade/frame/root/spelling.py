"""Arguments as PyROOT takes them: by ROOT's names of parameters, fixed ones of callables, and vectors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from colonnade.errors import UsageError
from colonnade.frame.signatures import annotations_of, signature_of

__all__ = ["also_named", "vector", "with_extra"]

P = ParamSpec("P")
R = TypeVar("R")


def also_named(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a method take ROOT's names of its parameters, too, such as `columnList` for `columns`."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> R:
            for theirs in names.keys() & kwargs.keys():
                ours = names[theirs]
                if ours in kwargs:
                    raise UsageError(f"{method.__name__}() got both '{ours}' and '{theirs}'", "one of them")
                kwargs[ours] = kwargs.pop(theirs)
            return method(*args, **kwargs)

        return call

    return decorate


def with_extra(
    function: Callable[..., Any], columns: Sequence[str] | None, extra: Mapping[str, Any]
) -> tuple[Callable[..., Any], list[str]]:
    """Return a callable of columns alone, and these; `extra` are values of other parameters, by name."""
    names = _parameters(function)
    unknown = [name for name in extra if name not in names]
    if unknown:
        raise UsageError(f"a callable has no parameter {unknown[0]!r} of extra_args", ", ".join(names))
    given = dict(zip(names, columns or [], strict=False))
    if len(columns or []) > len(names):
        raise UsageError(f"{len(columns or [])} columns are given for the parameters {', '.join(names)}")
    free = [name for name in names if name not in extra]

    def call(*row: Any) -> Any:
        return function(**dict(zip(free, row, strict=True)), **extra)

    call.__annotations__ = {name: kind for name, kind in annotations_of(function).items() if name == "return"}
    return call, [given.get(name, name) for name in free]


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a callable's parameters, each of which can be given by name."""
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):  # a function in C
        parameters = []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not parameters or any(each.kind not in named for each in parameters):
        raise UsageError(
            "extra_args are for callables whose parameters have names", "a function or lambda of the columns"
        )
    return [each.name for each in parameters]


class vector(list[Any]):  # noqa: N801
    """A std::vector, as names of columns are collected: `ROOT.std.vector("string")()`, `v.push_back("x")`."""

    def __new__(cls, *arguments: Any) -> Any:
        """Return a vector, or, of the name or class of a type, the class: `vector("string")`."""
        of_type = len(arguments) == 1 and isinstance(arguments[0], str | type)
        return cls if of_type else super().__new__(cls)

    push_back = emplace_back = list.append

    def at(self, number: int) -> Any:
        """Return an item."""
        return self[number]

    def empty(self) -> bool:
        """Return whether there are no items."""
        return not self

    def data(self) -> list[Any]:
        """Return the items, as for the edges of a model."""
        return self

    def size(self) -> int:
        """Return the number of items."""
        return len(self)
