"""Arguments that the annotations of a function rule out are refused: numbers, flags, choices, functions, texts."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import reprlib
import sys
from collections.abc import Callable, Mapping
from numbers import Real
from types import ModuleType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from colonnade.arrays.lazy import numpy as np
from colonnade.errors import TypeMismatchError, UsageError

__all__ = ["ArgumentCheck", "checked", "checked_methods"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class _Kind(NamedTuple):
    """What a parameter takes: a name for people, a test, and types whose values all pass it."""

    name: str
    fits: Callable[[object], bool]
    is_choice: bool = False
    plain: tuple[type, ...] = ()


class _Taken(NamedTuple):
    """All that a parameter takes, and types whose values need no test."""

    name: str
    kinds: list[_Kind]
    plain: frozenset[type]

    def check(self, value: object) -> None:
        """Raise `TypeMismatchError` or `UsageError` for a value of none of the kinds."""
        if any(kind.fits(value) for kind in self.kinds):
            return
        names = [kind.name for kind in self.kinds if kind.name not in ("None", "")]
        wanted = " or ".join(dict.fromkeys(names))
        if isinstance(value, str) and any(kind.is_choice for kind in self.kinds):
            raise UsageError(f"{self.name} must be {wanted}, not {reprlib.repr(value)}")
        raise TypeMismatchError(f"{self.name}={reprlib.repr(value)} is not {wanted}")


def _is_flag(value: object) -> bool:
    # Without NumPy there are no flags of NumPy, and importing it takes longer than most commands.
    return isinstance(value, bool) or ("numpy" in sys.modules and isinstance(value, np.bool_))


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


_KINDS: dict[Any, _Kind] = {
    bool: _Kind("True or False", _is_flag, plain=(bool,)),
    int: _Kind("a whole number", _is_whole, plain=(int,)),
    float: _Kind(
        "a number", lambda value: isinstance(value, Real) and not isinstance(value, bool), plain=(int, float)
    ),
    str: _Kind("a text", _is_text),
    type(None): _Kind("None", lambda value: value is None, plain=(type(None),)),
}
_FUNCTION = _Kind("a function", callable)
# Functions know more names of libraries than they take; messages list those that they take.
_OF_A_LIBRARY = _Kind("", lambda value: isinstance(value, str | ModuleType))


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
        self._by_position: list[tuple[int, _Taken]] = []
        self._by_name: dict[str, _Taken] | None = None

    def _read(self) -> dict[str, _Taken]:
        """Look at the function: for all of the package's that would take a tenth of the time of its import."""
        parameters = inspect.signature(self._function).parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        by_name = {
            name: _Taken(name, kinds, frozenset(each for kind in kinds for each in kind.plain))
            for name, kinds in _kinds_of(self._function).items()
        }
        places = enumerate(one.name for one in parameters if one.kind in by_position)
        self._by_position = [(place, by_name[name]) for place, name in places if name in by_name]
        self._by_name = by_name
        return by_name

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Check one call.

        Raises:
            TypeMismatchError: an argument of the wrong kind.
            UsageError: an unknown choice.
        """
        by_name = self._by_name if self._by_name is not None else self._read()
        for place, taken in self._by_position:
            if place >= len(args):
                break
            if type(args[place]) not in taken.plain:
                taken.check(args[place])
        for name, value in kwargs.items():
            named = by_name.get(name)
            if named is not None and type(value) not in named.plain:
                named.check(value)


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
