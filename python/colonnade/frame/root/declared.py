"""Functions that scripts declare in C++ with `ROOT.gInterpreter.Declare`: expressions of all RDataFrames call them."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable
from pathlib import Path

from colonnade.errors import NotFoundError, UsageError
from colonnade.frame.dataframe import DataFrame, add_functions
from colonnade.frame.libraries import Functions, TextFunction
from colonnade.frame.session import Session
from colonnade.misuse import cpp_text, files_of, path_text

__all__ = ["declare", "declare_files", "declared", "lend_declared"]

_MOST_INCLUDES = 100
_functions: dict[str, TextFunction] = {}
_overloads: dict[str, int] = {}
_texts: list[str] = []
"""Later texts call the functions of earlier ones."""
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def declare(text: str) -> bool:
    """Define the functions of a text, for RDataFrames that exist and later ones.

    `#include "file"` of a file that exists is replaced by its text; other headers are not needed.

    Returns:
        True, as ROOT does when a text compiles. A text that is declared again changes nothing.

    Raises:
        UsageError, TypeMismatchError, NotFoundError: the text is wrong, or a function is declared already.
    """
    text = _with_files(cpp_text(text), set())
    if text in _texts:
        return True
    known = Functions("\n".join([*_texts, text]))
    for name, count in known.overloads.items():
        if count > _overloads.get(name, count):
            raise UsageError(
                f"'{name}' is declared already, and was given to RDataFrames",
                "all functions of one name in one text",
            )
    added = {name: function for name, function in known.items() if name not in _functions}
    for session in list(_sessions):
        add_functions(session, added)
    _texts.append(text)
    _functions.update(added)
    _overloads.update(known.overloads)
    return True


def declare_files(paths: str | Iterable[str]) -> None:
    """Define the functions of files."""
    for path in files_of(
        [paths] if isinstance(paths, str) else paths, "the path of a file, or a list of them"
    ):
        declare(_text_of(path_text(path)))


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"'{path}' cannot be read: {error.strerror}") from error


def _with_files(text: str, seen: set[Path]) -> str:
    def file_of(found: re.Match[str]) -> str:
        path = Path(found[1])
        if not path.is_file():
            return ""
        if path.resolve() in seen or len(seen) == _MOST_INCLUDES:
            return ""
        seen.add(path.resolve())
        return _with_files(_text_of(str(path)), seen)

    return re.sub(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*', file_of, text, flags=re.MULTILINE)


def declared(name: str) -> TextFunction | None:
    """Return the declared function of this name, if there is one."""
    return _functions.get(name)


def lend_declared(frame: DataFrame) -> None:
    """Let a DataFrame call what is declared, now and later."""
    if frame._session in _sessions:
        return
    add_functions(frame._session, _functions)
    _sessions.add(frame._session)
