"""What calls say whose arguments do not fit: what to use instead, as other packages call it otherwise."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import inspect
import operator
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import ModuleType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from colonnade.errors import ArgumentError, TypeMismatchError, UsageError

__all__ = [
    "advised",
    "checked",
    "checked_methods",
    "column_name",
    "files_of",
    "function_of",
    "mapping_of",
    "name_pairs",
    "names_of",
    "path_text",
    "refuse_arguments",
    "thread_count",
    "whole_number",
]

F = TypeVar("F", bound=Callable[..., Any])


def refuse_arguments(
    function: str, given: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str] | None = None
) -> None:
    """Refuse arguments that a function does not have.

    Args:
        function: its name.
        given: the names of the arguments.
        known: those that it has, for a misspelled one.
        elsewhere: what to use in place of those that other packages have.

    Raises:
        ArgumentError: for the first of them.
    """
    for name in given:
        close = difflib.get_close_matches(name, list(known), n=1)
        advice = (elsewhere or {}).get(name) or (f"'{close[0]}'" if close else "")
        raise ArgumentError(f"{function}() has no argument '{name}'", advice)


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


class _Check:
    """Checks the arguments of calls by the annotations of a function, which are read at the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        parameters = inspect.signature(function).parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._by_position = [one.name for one in parameters if one.kind in by_position]
        self._kinds: dict[str, list[_Kind]] | None = None

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self._kinds is None:
            self._kinds = _kinds_of(self._function)
        # More arguments than that are of a variable number, or too many.
        for name, value in [*zip(self._by_position, args, strict=False), *kwargs.items()]:
            kinds = self._kinds.get(name)
            if kinds is None or any(kind.fits(value) for kind in kinds):
                continue
            names = [kind.name for kind in kinds if kind.name != "None"]
            wanted = " or ".join(dict.fromkeys(names))
            if isinstance(value, str) and any(kind.is_choice for kind in kinds):
                raise UsageError(f"{name} must be {wanted}, not {reprlib.repr(value)}")
            raise TypeMismatchError(f"{name}={reprlib.repr(value)} is not {wanted}")


def checked(function: F) -> F:
    """Make a function refuse arguments that its annotations rule out: numbers, flags, choices, functions, texts."""
    check = _Check(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


C = TypeVar("C", bound=type)


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


def advised(usage: str, **elsewhere: str) -> Callable[[F], F]:
    """Make a function say how it is called where its arguments do not fit, instead of only that they do not.

    Args:
        usage: a call as it should be.
        **elsewhere: what to use in place of arguments that other packages have.
    """

    def decorate(function: F) -> F:
        known = list(inspect.signature(function).parameters)
        check = _Check(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # from within
                refuse_arguments(
                    function.__name__, [name for name in kwargs if name not in known], known, elsewhere
                )
                raise ArgumentError(re.sub(r"^(\w+\.)+(?=\w+\(\))", "", str(error)), usage) from None

        return call  # type: ignore[return-value]

    return decorate


def column_name(name: object, what: str = "column") -> str:
    """Return what names a column, or another thing; raises `TypeMismatchError` for what is not a text."""
    if not isinstance(name, str):
        raise TypeMismatchError(f"{name!r} is not the name of a {what}", "a string")
    return _encodable(name, what)


def _encodable(name: str, what: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TypeMismatchError(f"{name!r} is not the name of a {what}: it is not valid Unicode") from None
    return name


def names_of(names: object, what: str = "column") -> list[str]:
    """Return one name, or the names of a list; raises `TypeMismatchError` for what is neither."""
    if not isinstance(names, Iterable) or hasattr(names, "decode"):
        raise TypeMismatchError(f"{names!r} is not the name of a {what}", "a name, or a list of names")
    return [column_name(each, what) for each in ([names] if isinstance(names, str) else names)]


def name_pairs(names: object, what: str) -> dict[str, str]:
    """Return a mapping of names to names, or of each of several names to itself; raises as `names_of`."""
    given = names.items() if isinstance(names, Mapping) else [(name, name) for name in names_of(names, what)]
    return {column_name(one, what): column_name(other, what) for one, other in given}


def path_text(path: object, advice: str = "a path, or a URI such as 's3://bucket/f.root'") -> str:
    """Return what names a file or an object store; raises `TypeMismatchError` for anything else."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeMismatchError(f"{path!r} does not name a file", advice)
    return _encodable(text, "file")


def files_of(given: Any, what: str) -> list[Any]:
    """Return one file as a list, and several as they are.

    Raises:
        TypeMismatchError: neither; `what` says what was expected.
    """
    if isinstance(given, str | os.PathLike):
        return [given]
    if not isinstance(given, Iterable) or hasattr(given, "decode"):
        raise TypeMismatchError(f"{given!r} does not name a file", what)
    return list(given)


def function_of(value: Any, usage: str) -> Callable[..., Any]:
    """Return what can be called; raises `TypeMismatchError` for anything else."""
    if not callable(value):
        raise TypeMismatchError(f"{value!r} cannot be called", usage)
    return cast("Callable[..., Any]", value)


def mapping_of(value: Any, usage: str) -> Mapping[Any, Any]:
    """Return a mapping; raises `TypeMismatchError` for anything else."""
    if not isinstance(value, Mapping):
        raise TypeMismatchError(f"{value!r} has no names", usage)
    return value


def whole_number(what: str, value: object) -> int:
    """Return an integer of any kind as int; raises `TypeMismatchError` for anything else."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeMismatchError(f"{what}={value!r} is not a whole number")


def thread_count(threads: object) -> int:
    """Return a number of threads, 0 for one per processor; raises `UsageError` for what is none."""
    if isinstance(threads, bool) or not _is_whole(threads) or not 0 <= cast("int", threads) < 1 << 16:
        raise UsageError(
            f"threads={reprlib.repr(threads)} is not a number of threads",
            "0 for one per processor, or 1, 2, ...",
        )
    return operator.index(cast("int", threads))
