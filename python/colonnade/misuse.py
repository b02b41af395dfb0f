"""What calls say whose arguments do not fit: what to use instead, as other packages call it otherwise."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from colonnade.annotations import ArgumentCheck
from colonnade.errors import ArgumentError, TypeMismatchError, UsageError

__all__ = [
    "advised",
    "check_order",
    "column_name",
    "cpp_text",
    "files_of",
    "function_of",
    "is_unicode",
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


def advised(usage: str, **elsewhere: str) -> Callable[[F], F]:
    """Make a function say how it is called where its arguments do not fit, instead of only that they do not.

    Args:
        usage: a call as it should be.
        **elsewhere: what to use in place of arguments that other packages have.
    """

    def decorate(function: F) -> F:
        known = list(inspect.signature(function).parameters)
        check = ArgumentCheck(function)

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


def shown(value: object) -> str:
    """Return the `repr` of a value in one line that is not long: it may be an array, or a table of them."""
    return " ".join(reprlib.repr(value).split())


def column_name(name: object, what: str = "column") -> str:
    """Return what names a column, or another thing; raises `TypeMismatchError` for what is not a text."""
    if not isinstance(name, str):
        raise TypeMismatchError(f"{shown(name)} is not the name of a {what}", "a string")
    return _encodable(name, what)


def cpp_text(text: object) -> str:
    """Return a text of C++; raises `TypeMismatchError` for what is none."""
    if not isinstance(text, str):
        raise TypeMismatchError(f"{shown(text)} is not a text of C++", "a string")
    if not is_unicode(text):
        raise TypeMismatchError("a text of C++ is not valid Unicode", "a string without surrogates")
    return text


def _encodable(name: str, what: str) -> str:
    if not is_unicode(name):
        advice = "a link to it whose name is UTF-8" if what == "file" else r"bytes as they are shown, '\xff'"
        raise TypeMismatchError(f"{name!r} is not the name of a {what}: it is not valid Unicode", advice)
    return name


def is_unicode(text: str) -> bool:
    """Return False for a text with surrogates, which no file and no message can have."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def names_of(names: object, what: str = "column") -> list[str]:
    """Return one name, or the names of a list; raises `TypeMismatchError` for what is neither."""
    without_dimensions = getattr(names, "ndim", 1) == 0
    if not isinstance(names, Iterable) or hasattr(names, "decode") or without_dimensions:
        raise TypeMismatchError(f"{shown(names)} is not the name of a {what}", "a name, or a list of names")
    return [column_name(each, what) for each in ([names] if isinstance(names, str) else names)]


def chosen_names(names: object, what: str = "column") -> list[str]:
    """Return `names_of` what is chosen, nothing for None; raises `UsageError` for an empty list, which is not all."""
    if names is None:
        return []
    if found := names_of(names, what):
        return found
    raise UsageError(f"no {what}s are named", f"the names of {what}s, or None for all")


def name_pairs(names: object, what: str) -> dict[str, str]:
    """Return a mapping of names to names, or of each of several names to itself; raises as `names_of`."""
    given = names.items() if isinstance(names, Mapping) else [(name, name) for name in names_of(names, what)]
    return {column_name(one, what): column_name(other, what) for one, other in given}


def path_text(path: object, advice: str = "a path, or a URI such as 's3://bucket/f.root'") -> str:
    """Return what names a file or an object store; raises `TypeMismatchError` or `UsageError` for anything else."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeMismatchError(f"{shown(path)} does not name a file", advice)
    if "\0" in text:
        raise UsageError("the path contains a zero byte", "check the path")
    # Python would create one file, and the core write another one.
    if (encoding := sys.getfilesystemencoding()) != "utf-8" and not text.isascii():
        raise UsageError(
            f"Python encodes names of files as {encoding} here, so {text!r} may name another file",
            "the environment variable PYTHONUTF8=1, or ASCII",
        )
    return _encodable(text, "file")


def check_order(uri: str | os.PathLike[str], name: str, what: str) -> None:
    """Refuse a file and the name of its data set in ROOT's order."""
    file = path_text(uri)
    if name.endswith(".root") and not file.endswith(".root") and "/" not in file:
        raise UsageError(
            f"'{name}' is the name of a file, not of a data set", f"{what}({name!r}, {file!r}, ...)"
        )


def files_of(given: Any, what: str) -> list[Any]:
    """Return one file as a list, and several as they are.

    Raises:
        TypeMismatchError: neither; `what` says what was expected.
    """
    if isinstance(given, str | os.PathLike):
        return [given]
    # What has keys is a data set or a table, whose fields name no files.
    without_dimensions = getattr(given, "ndim", 1) == 0
    if (
        not isinstance(given, Iterable)
        or without_dimensions
        or hasattr(given, "keys")
        or hasattr(given, "decode")
    ):
        raise TypeMismatchError(f"{shown(given)} does not name a file", what)
    return list(given)


def function_of(value: Any, usage: str) -> Callable[..., Any]:
    """Return what can be called; raises `TypeMismatchError` for anything else."""
    if not callable(value):
        raise TypeMismatchError(f"{shown(value)} cannot be called", usage)
    return cast("Callable[..., Any]", value)


def mapping_of(value: Any, usage: str) -> Mapping[Any, Any]:
    """Return a mapping; raises `TypeMismatchError` for anything else."""
    if not isinstance(value, Mapping):
        raise TypeMismatchError(f"{shown(value)} has no names", usage)
    return value


def whole_number(what: str, value: object) -> int:
    """Return an integer of any kind as int; raises `TypeMismatchError` for anything else."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeMismatchError(f"{what}={shown(value)} is not a whole number")


def thread_count(threads: object) -> int:
    """Return a number of threads, 0 for one per processor; raises `UsageError` for what is none."""
    try:
        count = whole_number("threads", threads)
    except TypeMismatchError:
        count = -1
    if not 0 <= count < 1 << 16:
        raise UsageError(
            f"threads={reprlib.repr(threads)} is not a number of threads",
            "0 for one per processor, or 1, 2, ...",
        )
    return count
