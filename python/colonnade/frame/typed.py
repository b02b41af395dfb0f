"""Expressions that name what texts of C++ define besides functions: classes, names for types, macros.

Such an expression becomes a function of that text, whose parameters are the columns that it names, as ROOT makes of
every expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from colonnade.errors import Error, NotFoundError, TypeMismatchError, UsageError

from .libraries import Functions, TextFunction

__all__ = ["booked"]

R = TypeVar("R")
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|(?P<name>(?:::\s*)?[A-Za-z_]\w*(?:\s*(?:\.|::)\s*[A-Za-z_]\w*)*)"""
    r"""|\d[\w.']*|->|::|.""",
    re.DOTALL,
)
_DEFINED = re.compile(
    r"\b(?:struct|class|enum|enum\s+(?:class|struct))\s+(\w+)\s*(?:final\b\s*)?[{:]|\busing\s+(\w+)\s*="
    r"|\btypedef\b[^;{}]*?(\w+)\s*;|^[ \t]*#[ \t]*define[ \t]+(\w+)|\busing\s+(?:\w+\s*::\s*)+(\w+)\s*;",
    re.MULTILINE,
)
_STATEMENT = re.compile(r"\s*(?:return|if|for|while|do|switch)\b")
_PRINTS = re.compile(r"\b(?:cout|cerr|clog|f?printf|puts)\b")
_NAME = "expression_"


def booked(
    text: str,
    texts: Sequence[str],
    functions: Iterable[str],
    has_column: Callable[[str], bool],
    directly: Callable[[], R],
    through: Callable[[TextFunction, list[str]], R],
) -> R:
    """Book an expression: directly, or if that fails and it names what a text defines, as a function of that text.

    Args:
        text: the expression.
        texts: what was defined, the latest last.
        functions: the names of their functions, and of others.
        has_column: whether there is a column of a name.
        directly: books it as it is.
        through: books a function of columns in its place.
    """
    try:
        return directly()
    except (NotFoundError, TypeMismatchError, UsageError) as error:
        words = set(re.findall(r"\w+", text))
        for whole in reversed(texts):
            names_type = not words.isdisjoint(_names_of(whole))
            calls = any(name.rpartition("::")[2] in words for name in functions)
            if not (names_type or calls) or _PRINTS.search(text):
                continue
            try:
                body, columns = _with_parameters(text, has_column)
                parameters = ", ".join(f"auto {name}" for name in columns)
                made = Functions(f"{whole}\nauto {_NAME}({parameters}) {{\n{body}\n}}\n")[_NAME]
                return through(made, list(columns.values()))
            except Error as second:
                raise second if names_type else error from None
        raise


def _names_of(text: str) -> set[str]:
    """The names that are no functions."""
    return {name for found in _DEFINED.finditer(text) for name in found.groups() if name}


def _with_parameters(text: str, has_column: Callable[[str], bool]) -> tuple[str, dict[str, str]]:
    """The statements of a function that computes an expression, and the columns of its parameters."""
    made, before, columns = "", "", {}
    has_statements, has_ended, depth = False, False, 0
    for token in _TOKEN.finditer(text):
        whole = token[0]
        if whole.startswith(("//", "/*")):
            whole = " "
        depth += (whole in "([{") - (whole in ")]}")
        has_statements |= has_ended and not whole.isspace()
        has_ended |= whole == ";" and depth == 0
        name = token["name"]
        if name is not None and before not in (".", "->", "::") and "::" not in name:
            parts = re.split(r"\s*\.\s*", name)
            for count in range(len(parts), 0, -1):
                column = ".".join(parts[:count])
                if has_column(column):
                    parameter = column if count == 1 else f"column_{'_'.join(parts[:count])}"
                    columns[parameter] = column
                    whole = ".".join([parameter, *parts[count:]])
                    break
        if not whole.isspace():
            before = whole
        made += whole
    if not has_statements and not _STATEMENT.match(made):
        return f"return {made.strip().removesuffix(';')}\n;", columns
    return (made if before in (";", "}") else f"{made}\n;"), columns
