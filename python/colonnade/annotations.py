"""Arguments that the annotations of a function rule out are refused: numbers, flags, choices, functions, texts."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import reprlib
from collections.abc import Callable, Mapping
from numbers import Real
from types import ModuleType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np

from colonnade.errors import TypeMismatchError, UsageError

__all__ = ["ArgumentCheck", "checked", "checked_methods"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class _Kind(NamedTuple):
    """What a parameter takes: a name for people, and a test."""

    name: str
    fits: Callable[[object], bool]
    is_choice: bool = False


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


_KINDS: dict[Any, _Kind] = {
    bool: _Kind("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: _Kind("a whole number", _is_whole),
    float: _Kind("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    str: _Kind("a text", _is_text),
    type(None): _Kind("None", lambda value: value is None),
}
_FUNCTION = _Kind("a function", callable)
# Functions know more names of libraries than they take.
_OF_A_LIBRARY = _Kind("a name", lambda value: isinstance(value, str | ModuleType))


def _kinds_of_type(kind: Any) -> list[_Kind] | None:
    """What values of a type, alias or union are; None for what other code checks."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        several = [_kinds_of_type(each) for each in get_args(kind)]
        return None if None in several else [each for some in several for each in some or ()]
    if origin is Callable:
        return [_FUNCTION]
    if origin is Literal:
        choices = get_args(kind)
        *most, last = map(repr, choices)
        return [
            _Kind(
                f"{', '.join(most)} or {last}" if most else last,
                lambda value: any(type(value) is type(one) and value == one for one in choices),
                is_choice=True,
            )
        ]
    return [_KINDS[kind]] if isinstance(kind, type) and kind in _KINDS else None


def _kinds_of_text(annotation: str, known: Mapping[str, Any]) -> list[_Kind] | None:
    """The same of an annotation, whose names may be there for type checkers only."""
    kinds: list[_Kind] = []
    for part in _parts(annotation):
        if part.startswith("Callable["):
            kinds.append(_FUNCTION)
            continue
        if part.startswith("Literal["):
            meaning: Any = Literal[ast.literal_eval(f"({part[len('Literal[') : -1]},)")]
        elif part == "None":
            meaning = type(None)
        else:
            meaning = known.get(part, getattr(builtins, part, None) if part.isidentifier() else None)
        several = _kinds_of_type(meaning)
        if several is None:
            return None
        kinds += several
    return kinds


def _parts(annotation: str) -> list[str]:
    """The members of a union, whose parts may have commas and bars within brackets."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _kinds_of(function: Callable[..., Any]) -> dict[str, list[_Kind]]:
    """Of each parameter whose annotation says it all: what it takes."""
    kinds: dict[str, list[_Kind]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if not isinstance(annotation, str) or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        # Of names and functions that are given by position the function itself says more.
        if annotation.startswith(("str", "Callable")) and parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        if given := _kinds_of_text(annotation, getattr(function, "__globals__", {})):
            kinds[name] = [*given, _OF_A_LIBRARY] if name == "library" else given
    return kinds


class ArgumentCheck:
    """Checks the arguments of calls by the annotations of a function, which are read at the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._by_position: list[str] = []
        self._kinds: dict[str, list[_Kind]] | None = None

    def _read(self) -> dict[str, list[_Kind]]:
        """Look at the function: for all of the package's that would take a tenth of the time of its import."""
        parameters = inspect.signature(self._function).parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._by_position = [one.name for one in parameters if one.kind in by_position]
        self._kinds = _kinds_of(self._function)
        return self._kinds

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Check one call.

        Raises:
            TypeMismatchError: an argument of the wrong kind.
            UsageError: an unknown choice.
        """
        known = self._kinds if self._kinds is not None else self._read()
        # More arguments than that are of a variable number, or too many.
        for name, value in [*zip(self._by_position, args, strict=False), *kwargs.items()]:
            kinds = known.get(name)
            if kinds is None or any(kind.fits(value) for kind in kinds):
                continue
            names = [kind.name for kind in kinds if kind.name != "None"]
            wanted = " or ".join(dict.fromkeys(names))
            if isinstance(value, str) and any(kind.is_choice for kind in kinds):
                raise UsageError(f"{name} must be {wanted}, not {reprlib.repr(value)}")
            raise TypeMismatchError(f"{name}={reprlib.repr(value)} is not {wanted}")


def checked(function: F) -> F:
    """Make a function refuse arguments that its annotations rule out: numbers, flags, choices, functions, texts."""
    check = ArgumentCheck(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def checked_methods(kind: C) -> C:
    """Make all public methods of a class, and what creates it, refuse such arguments; see `checked`."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if inspect.isfunction(member):
            setattr(kind, name, checked(member))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(checked(member.__func__)))
    return kind
