"""Exceptions of workers, which come back as they were raised, with their cause, wherever that can be pickled."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from typing import Any

from colonnade.errors import Error
from colonnade.frame.callables import dumped

__all__ = ["packed", "sendable", "unpacked"]


class _WithoutInit:
    """Is pickled as an exception whose arguments are not those of its `__init__`."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self._error), self._error.args, vars(self._error))


def _made(kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    made = kind.__new__(kind, *args)
    vars(made).update(attributes)
    return made


def _restores(data: bytes, error: BaseException) -> bool:
    try:
        return str(pickle.loads(data)) == str(error)
    except Exception:  # whatever its `__init__` raises
        return False


def packed(error: BaseException) -> bytes:
    """Pickle an exception, and its cause if that can be pickled."""
    own, cause = dumped(error), None
    if not _restores(own, error):
        own = dumped(_WithoutInit(error))
        pickle.loads(own)
    if error.__cause__ is not None:
        with contextlib.suppress(Exception):
            cause = packed(error.__cause__)
    return pickle.dumps((own, cause))


def unpacked(data: bytes) -> BaseException:
    """Restore an exception."""
    own, cause = pickle.loads(data)
    error: BaseException = pickle.loads(own)
    if cause is not None:
        error.__cause__ = unpacked(cause)
    return error


def sendable(error: BaseException) -> Exception:
    """Return the same exception, or one that describes it if it cannot be pickled or would end the client."""
    why = "it would end the client"
    try:
        packed(error)
        if isinstance(error, Exception):
            return error
    except Exception as problem:  # any error when a user's exception is pickled
        why = f"{type(problem).__name__}: {problem}"
    made: Exception = RuntimeError(f"{type(error).__name__}: {error}")
    if isinstance(error, Error):  # the class determines the reaction, even if the rest cannot be sent
        made = type(error)(str(error))
    made.__cause__ = error.__cause__
    for note in getattr(error, "__notes__", []):
        made.add_note(note)
    made.add_note(f"it could not be sent as it was raised ({why}):")
    made.add_note("".join(traceback.format_tb(error.__traceback__)).rstrip())
    return made
