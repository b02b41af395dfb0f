"""Functions that scripts declare in C++ with `ROOT.gInterpreter.Declare`: expressions of all RDataFrames call them."""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colonnade.errors import NotFoundError, TypeMismatchError, UsageError
from colonnade.frame.callables import Definable
from colonnade.frame.dataframe import DataFrame, add_functions
from colonnade.frame.expressions import literal
from colonnade.frame.libraries import Functions, TextFunction
from colonnade.frame.session import Session
from colonnade.misuse import cpp_text, files_of, path_text

__all__ = [
    "Functor",
    "add_folder",
    "call_of",
    "declare",
    "declare_callable",
    "declare_files",
    "declared",
    "lend_declared",
]

_MOST_INCLUDES = 100
_functions: dict[str, Definable] = {}
_overloads: dict[str, int] = {}
_texts: list[str] = []
"""Later texts call the functions of earlier ones."""
_folders: list[Path] = [Path()]
"""Where files are that texts include."""
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def declare(text: str) -> bool:
    """Define the functions of a text, for RDataFrames that exist and later ones.

    `#include "file"` of a file that exists is replaced by its text; other headers are not needed.

    Returns:
        True, as ROOT does when a text compiles. A text that is declared again changes nothing.

    Raises:
        UsageError, TypeMismatchError, NotFoundError: the text is wrong, or a function is declared already.
    """
    text = _with_function_objects(_with_files(cpp_text(text), set()))
    if text in _texts:
        return True
    if any(_PRINTS.fullmatch(token[0]) for token in _WORD.finditer(text)):
        warnings.warn("what declared functions print is left out", stacklevel=3)
    known = Functions("\n".join([*_texts, text]))
    for name, count in known.overloads.items():
        if count > _overloads.get(name, count):
            raise UsageError(
                f"'{name}' is declared already, and was given to RDataFrames",
                "all functions of one name in one text",
            )
    _lend({name: function for name, function in known.items() if name not in _functions})
    _texts.append(text)
    _overloads.update(known.overloads)
    for session in list(_sessions):
        _lend_texts(session)
    return True


_OBJECT = re.compile(
    r"^[ \t]*std::function\s*<\s*(?P<result>[^;(){}]+?)\s*\((?P<types>[^;(){}]*)\)\s*>\s*(?P<name>\w+)\s*=\s*(?=\[)",
    re.MULTILINE,
)
"""The beginning of `std::function<float(int)> f = [](int x) { ... };`."""
_PRINTS = re.compile("cout|cerr|clog|f?printf|puts")
_WORD = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+""", re.DOTALL)
_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)


def _with_function_objects(text: str) -> str:
    """The text with functions in place of objects outside of braces that hold a lambda: they are called the same."""
    made, start = "", 0
    for found in _OBJECT.finditer(text):
        length = _statement(text[found.end() :])
        if (
            found.start() < start
            or length is None
            or _statement(text[start : found.start()], ends=False) is None
        ):
            continue
        types = _parts(found["types"])
        parameters = ", ".join(f"{kind} p{k}" for k, kind in enumerate(types))
        arguments = ", ".join(f"p{k}" for k in range(len(types)))
        end = found.end() + length
        made += f"{text[start : found.start()]}{found['result']} {found['name']}({parameters})"
        made += f" {{ return ({text[found.end() : end]})({arguments}); }}"
        start = end + 1
    return made + text[start:]


def _statement(text: str, *, ends: bool = True) -> int | None:
    """The length of the first statement of a text, or of the text if it `ends` none; None if brackets stay open."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if ends and token[0] == ";" and depth == 0:
            return token.start()
    return None if ends or depth else len(text)


def _parts(types: str) -> list[str]:
    """The types of a list, whose own lists stay together."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter in "<([") - (letter in ">)]")
        parts = [*parts, ""] if letter == "," and depth == 0 else [*parts[:-1], parts[-1] + letter]
    return [part.strip() for part in parts if part.strip()]


def declare_callable(name: str, function: Definable) -> None:
    """Let expressions of all RDataFrames call a Python callable.

    Raises:
        UsageError: the name is in use.
    """
    if name in _functions:
        raise UsageError(f"'{name}' is declared already", "another name")
    _lend({name: function})


def _lend(added: dict[str, Definable]) -> None:
    for session in list(_sessions):
        add_functions(session, added)
    _functions.update(added)


def declare_files(paths: str | Iterable[str]) -> None:
    """Define the functions of files."""
    for path in files_of(
        [paths] if isinstance(paths, str) else paths, "the path of a file, or a list of them"
    ):
        declare(_text_of(path_text(path)))


def add_folder(folder: str) -> None:
    """Look in a folder, too, for files that texts include."""
    _folders.append(Path(path_text(folder).removeprefix("-I")))


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"'{path}' cannot be read: {error.strerror}") from error


def _with_files(text: str, seen: set[Path]) -> str:
    def file_of(found: re.Match[str]) -> str:
        path = next((each for folder in _folders if (each := folder / found[1]).is_file()), None)
        if path is None:
            return ""
        if path.resolve() in seen or len(seen) == _MOST_INCLUDES:
            return ""
        seen.add(path.resolve())
        return _with_files(_text_of(str(path)), seen)

    return re.sub(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*', file_of, text, flags=re.MULTILINE)


def declared(name: str) -> Definable | None:
    """Return the declared function or class of this name, if there is one."""
    function = _functions.get(name)
    is_class = isinstance(function, TextFunction) and function.result == name
    return _Class(name) if is_class else function


@dataclass(frozen=True)
class Functor:
    """An object of a declared class, by the expression that makes it."""

    text: str


@dataclass(frozen=True)
class _Class:
    """A declared class: `ROOT.above(30)` is one of its objects."""

    name: str

    def __call__(self, *arguments: Any) -> Functor:
        return Functor(f"{self.name}({', '.join(map(_literal, arguments))})")


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{{{', '.join(map(_literal, value))}}}"
    try:
        return literal(value)
    except TypeMismatchError:
        raise UsageError(
            f"{value!r} cannot be written in an expression", "numbers, texts, lists of them"
        ) from None


def call_of(value: object, columns: Sequence[str] | None, default: Sequence[str]) -> str | None:
    """Return the expression that calls a declared function, or an object of a declared class, for columns.

    Args:
        value: anything; other values give None.
        columns: its arguments.
        default: columns of the RDataFrame, of which the first ones are taken where `columns` is None.
    """
    if isinstance(value, TextFunction):
        name, count = value.name, len(value.parameters)
    elif isinstance(value, Functor):
        name, count = value.text, len(columns or [""])
    else:
        return None
    if columns is None and len(default) < count:
        raise UsageError(f"the columns that {name} takes are not named", f'["x"], {count} in all')
    return f"{name}({', '.join(default[:count] if columns is None else columns)})"


def lend_declared(frame: DataFrame) -> None:
    """Let a DataFrame call what is declared, now and later."""
    if frame._session in _sessions:
        return
    add_functions(frame._session, _functions)
    _lend_texts(frame._session)
    _sessions.add(frame._session)


def _lend_texts(session: Session) -> None:
    """Let expressions name what is no function; later texts have that of earlier ones."""
    session.texts = [text for text in session.texts if not isinstance(text, _Declared)]
    session.texts += [_Declared("\n".join(_texts))] * bool(_texts)


class _Declared(str):
    """All declared texts."""

    __slots__ = ()
