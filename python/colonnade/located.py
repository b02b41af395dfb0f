"""Common base of everything that belongs to one data set of one file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .errors import Error, UsageError, locate

__all__ = ["Located"]

Result = TypeVar("Result")


class Located:
    """Knows its place and adds it to errors."""

    def __init__(self, uri: str, name: str) -> None:
        self._uri, self._name = uri, name

    @property
    def uri(self) -> str:
        """The file, as it was given."""
        return self._uri

    @property
    def name(self) -> str:
        """The path of the data set in its file."""
        return self._name

    def _guard(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except Error as error:
            raise locate(error, uri=self._uri, data_set=self._name) from error.__cause__

    def _misuse(self, problem: str, advice: str = "") -> UsageError:
        return UsageError(problem, advice, uri=self._uri, data_set=self._name)
