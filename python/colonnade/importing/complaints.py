"""What uproot complains of, in plain words."""

from __future__ import annotations

import re

from colonnade import _core
from colonnade.errors import NotFoundError, ResourceError, StorageError

__all__ = ["NOTHING_STORED", "UnfitError", "raise_of_source", "short_reason"]

NOTHING_STORED = "ROOT has stored none of its values"
_PLAIN = (
    (
        re.compile(r"expected Chunk of length (\d+),\s+received (\d+) bytes.*"),
        r"it ends within a part of \1 bytes, after \2",
    ),
    (
        re.compile(r"attempting to get bytes (\d+):\d+\s+outside expected range (\d+):(\d+) for this Chunk"),
        r"the values of an entry end at \3, uproot reads on at \1",
    ),
    (
        re.compile(r"expected (\d+) bytes but cursor moved by (\d+) bytes \(through ([^)]*)\)"),
        r"\3 has \1 bytes, of which uproot reads \2",
    ),
    (
        re.compile(r"'\w+ beyond' in AwkwardForth runtime.*", re.DOTALL),
        "the values of an entry end before what uproot reads",
    ),
    (re.compile(r"in AwkwardForth source code.*", re.DOTALL), "uproot fails to make a reader of its values"),
)
"""What uproot says of bytes that are missing or left, and how to say it."""


class UnfitError(Exception):
    """There is no matching field type."""


def raise_of_source(error: Exception, **place: str) -> None:
    """Raise what is no branch's fault: the file cannot be read, or memory or threads are short."""
    if isinstance(error, (StorageError, NotFoundError, ResourceError)):
        raise error
    if isinstance(error, MemoryError):
        raise ResourceError("there is not enough memory to read the tree", "less at once", **place) from error
    if isinstance(error, RuntimeError) and str(error).startswith("can't start new thread"):
        raise ResourceError(
            "the system starts no more threads", "raise the limit of processes (ulimit -u)", **place
        ) from error
    # Without a number it is a complaint of uproot about the content.
    if isinstance(error, OSError) and error.errno is not None:
        raise StorageError(
            f"the file cannot be read: {error.strerror or short_reason(error)}",
            _core.system_advice(error.errno),
            **place,
        ) from error


def short_reason(error: BaseException) -> str:
    """uproot's complaint in one line: its own text adds the position and much advice."""
    kind = type(error).__name__
    if kind == "CannotBeAwkward":  # it says no more than the type
        return f"uproot cannot read values of the type {error}"
    if kind == "UnknownInterpretation":
        return "uproot does not know how its values are stored"
    text = str(error).partition("\nin file")[0].partition("\nin object")[0]
    for pattern, words in _PLAIN:
        text = pattern.sub(words, text)
    if text.startswith("memberwise serialization"):
        return "its items are stored member by member, which uproot cannot read"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0] == "while reading" and len(lines) > 2:
        return f"{lines[-1]}, while reading {lines[1]}"
    if lines and lines[0].endswith(","):
        return " ".join(lines[:2])
    if not lines:
        return f"uproot fails with {type(error).__name__}, without saying why"
    # These are no complaints of uproot: the message of a KeyError is nothing but the key.
    is_mistake = isinstance(error, (LookupError, TypeError, AttributeError, NameError))
    return f"uproot fails with {kind}: {lines[0]}" if is_mistake else lines[0]
