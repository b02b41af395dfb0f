"""RSampleInfo: what callables and expressions of `DefinePerSample` ask about a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any, NoReturn, cast

import numpy as np

from colonnade.errors import ConversionError, Error, TypeMismatchError, UsageError
from colonnade.frame.callables import define_per_sample
from colonnade.frame.dataframe import DataFrame
from colonnade.frame.expressions import Expression
from colonnade.frame.sample_info import SampleInfo, told

from .histograms import refuse

__all__ = ["SampleInfoView", "of_sample", "with_answers"]


class SampleInfoView:
    """A file of the source, with the methods of RSampleInfo."""

    def __init__(self, info: SampleInfo) -> None:
        self._info = info

    def AsString(self) -> str:
        """Return its name with that of the data set, "f.root/Events"."""
        return str(self._info)

    def Contains(self, text: str) -> bool:
        """Return whether the name contains a text."""
        return text in str(self._info)

    def Empty(self) -> bool:
        """Return whether there is no name."""
        return not self._info

    def EntryRange(self) -> tuple[int, int]:
        """Return its first entry, counted in the file, and the entry after its last."""
        return 0, self.NEntries()

    def NEntries(self) -> int:
        """Return its number of entries."""
        return self._info.entries[1] - self._info.entries[0]

    def NEntriesTotal(self) -> int:
        """Return the number of entries of the file, all of which are looked at together here."""
        return self.NEntries()

    def GetSampleName(self) -> str:
        """Return the name of its sample in the specification."""
        self._check_sample()
        return self._info.sample

    def GetSampleId(self) -> int:
        """Return the number of its sample in the specification."""
        self._check_sample()
        return self._info.sample_id

    def GetI(self, key: str) -> int:
        """Return a whole number of the metadata."""
        return int(self._value(key, int, "a whole number"))

    def GetD(self, key: str) -> float:
        """Return a number of the metadata."""
        return float(self._value(key, (int, float), "a number"))

    def GetS(self, key: str) -> str:
        """Return a text of the metadata."""
        return str(self._value(key, str, "a text"))

    def _value(self, key: str, kind: Any, what: str) -> Any:
        value = self._info.value(key)
        if not isinstance(value, kind):
            right = "GetS" if isinstance(value, str) else "GetD"
            raise TypeMismatchError(
                f"the metadata '{key}' of sample '{self._info.sample}' is {value!r}, and not {what}", right
            )
        return value

    def _check_sample(self) -> None:
        if not self._info.sample:
            raise UsageError(f"'{self._info}' belongs to no sample", "FromSpec, which knows samples")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampleInfoView) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self._info)

    def __getattr__(self, name: str) -> NoReturn:
        refuse("a sample", name, "AsString(), GetSampleName(), GetD(key)")


def of_sample(value: Any) -> Any:
    """Return a callable with ROOT's arguments, a slot and a sample, as one of `colonnade.DataFrame`."""
    if isinstance(value, str | Expression) or not callable(value):
        return value
    return lambda info: value(0, SampleInfoView(info))


# ---- In expressions


def _int(value: int) -> object:
    if not -(2**31) <= value < 2**31:
        raise ConversionError(f"{value} is no 'int'", 'rdfsampleinfo_.GetD("x"), or a callable')
    return np.int32(value)


_ANSWERS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "Empty": ("bool", bool),
    "EntryRange": ("std::uint64_t", np.uint64),
    "GetD": ("double", float),
    "GetI": ("int", _int),
    "GetS": ("std::string", str),
    "GetSampleId": ("std::uint32_t", np.uint32),
    "GetSampleName": ("std::string", str),
    "NEntries": ("std::uint64_t", np.uint64),
    "NEntriesTotal": ("std::uint64_t", np.uint64),
}
"""Methods that a text does not have, and the types of what they return."""
_BY_KEY = ("GetD", "GetI", "GetS")

_ASKED = re.compile(
    r'(?s)R"\((?:.*?)\)"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/'
    r"|\brdfsampleinfo_\s*\.\s*(?P<method>" + "|".join(_ANSWERS) + r")\s*\("
    r'\s*(?:"(?P<key>(?:\\.|[^"\\])*)"\s*)?(?P<end>\)?)(?:\s*\.\s*(?P<side>first|second)\b)?'
)
"""A text, a comment, or a call of such a method."""


def with_answers(frame: DataFrame, value: Any) -> Any:
    """Return the expression of a sample, in which functions of the DataFrame answer for methods of `rdfsampleinfo_`."""
    if not isinstance(value, str):
        return value

    def answered(found: re.Match[str]) -> str:
        method, key = found["method"], found["key"]
        if method is None:
            return found[0]
        if not found["end"] or (key is None) == (method in _BY_KEY):
            takes = (
                'the name of a value, in quotes: rdfsampleinfo_.GetD("x")' if method in _BY_KEY else "nothing"
            )
            raise UsageError(f"'{method}' of rdfsampleinfo_ takes {takes}")
        if (method == "EntryRange") != (found["side"] is not None):
            raise UsageError(
                f"the text '{found[0]}' is no value",
                "rdfsampleinfo_.EntryRange().first, rdfsampleinfo_.NEntries()",
            )
        return f"{_function(frame, method, key, found['side'])}(rdfsampleinfo_)"

    return _ASKED.sub(answered, value)


def _function(frame: DataFrame, method: str, key: str | None, side: str | None) -> str:
    """The name of a function of the DataFrame that has the answer for each file."""
    session = frame._session
    asked = ".".join(["rdfsampleinfo_", method, *(each for each in (key, side) if each is not None)])
    if asked in session.answers:
        return session.answers[asked]
    name = f"RSampleInfo::{re.sub('[^A-Za-z0-9]', '_', asked)}{len(session.answers)}"

    returns, convert = _ANSWERS[method]

    def ask(info: SampleInfo) -> Any:
        view = SampleInfoView(info)
        answer = getattr(view, method)(*([] if key is None else [key]))
        return convert(answer if side is None else answer[side == "second"])

    samples = session.source.samples
    tell = told(ask, samples, session.owners)
    _check_that_some_answer(tell, len(samples))
    definition = define_per_sample(tell, returns, travels=session.remote is not None)
    session.graph.add_function(name, definition)
    session.answers[asked] = name
    return name


def _check_that_some_answer(tell: Callable[[int], Any], samples: int) -> None:
    failed = list(takewhile(lambda error: error is not None, (_error(tell, k) for k in range(samples))))
    if failed and len(failed) == samples:
        raise cast("Error", failed[0])


def _error(tell: Callable[[int], Any], number: int) -> Error | None:
    try:
        tell(number)
    except Error as error:
        return error
    return None
