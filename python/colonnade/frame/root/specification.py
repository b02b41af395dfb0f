"""Samples with metadata that scripts put together by calls, as ROOT's `RDatasetSpec`, `RSample` and `RMetaData`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from colonnade.errors import NotFoundError, TypeMismatchError, UsageError

from .histograms import refuse

__all__ = ["RDatasetSpec", "RMetaData", "RSample"]


def _texts(given: Any, what: str) -> list[str]:
    """One text, or several, of any kind: ROOT's strings, too."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise TypeMismatchError(f"{given!r} is not {what}", "a text, or a list of texts")
    return [str(each) for each in given]


def _pairs(trees: Any, files: Any) -> dict[str, list[str]]:
    return {
        "trees": _texts(trees, "the name of a data set"),
        "files": _texts(files, "the path of a file"),
    }


class RMetaData:
    """Numbers and texts of a sample by name."""

    def __init__(self) -> None:
        self.values: dict[str, str | int | float] = {}

    def Add(self, key: str, value: str | float) -> None:
        """Set a number or a text."""
        self.values[str(key)] = value if isinstance(value, int | float) else str(value)

    def GetI(self, key: str, default: int | None = None) -> int:
        """Return a whole number."""
        return int(self._value(key, int, default))

    def GetD(self, key: str, default: float | None = None) -> float:
        """Return a number that was given as `float`."""
        return float(self._value(key, float, default))

    def GetS(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        return str(self._value(key, str, default))

    def Dump(self, key: str) -> str:
        """Return a value as JSON."""
        return json.dumps(self._value(key, object, None))

    def _value(self, key: str, kind: type, default: Any) -> Any:
        value = self.values.get(str(key), default)
        if value is None:
            raise NotFoundError(f"there is no '{key}' in the metadata", ", ".join(map(repr, self.values)))
        if not isinstance(value, kind):
            raise TypeMismatchError(f"the metadata '{key}' is {value!r}, and not of type {kind.__name__}")
        return value


class RSample:
    """A sample: `RSample("signal", "Events", "s*.root", metadata)`, or with lists of names and files.

    Pairs of both can take the place of names and files.
    """

    def __init__(self, sampleName: str, *given: Any) -> None:
        self.name = str(sampleName)
        parts = list(given)
        self.metadata = parts.pop() if parts and isinstance(parts[-1], RMetaData) else RMetaData()
        if len(parts) == 1 and not isinstance(parts[0], str):
            pairs = list(parts[0])
            parts = [[tree for tree, _ in pairs], [file for _, file in pairs]]
        if len(parts) != 2:
            raise UsageError(
                f"the sample '{self.name}' needs a data set, files, and perhaps metadata",
                'RSample("signal", "Events", "s*.root", metadata)',
            )
        self.files = _pairs(*parts)

    def GetSampleName(self) -> str:
        """Return its name."""
        return self.name

    def GetTreeNames(self) -> list[str]:
        """Return the names of its data sets."""
        return self.files["trees"]

    def GetFileNameGlobs(self) -> list[str]:
        """Return its files, with wildcards."""
        return self.files["files"]

    def GetMetaData(self) -> RMetaData:
        """Return its metadata."""
        return self.metadata


class RDatasetSpec:
    """Samples that form one data set: `RDataFrame(spec)`."""

    class REntryRange(tuple[int, ...]):
        """Entries for `WithGlobalRange`: `REntryRange(end)`, `REntryRange(begin, end)`, all without arguments."""

        __slots__ = ()

        def __new__(cls, *ends: int) -> RDatasetSpec.REntryRange:
            """Make a range."""
            if len(ends) > 2 or (len(ends) == 2 and ends[0] > ends[1]):
                raise UsageError(f"a range of entries cannot be {ends}", "REntryRange(begin, end)")
            return super().__new__(cls, (0, *ends) if len(ends) == 1 else ends)

    def __init__(self) -> None:
        self.content: dict[str, Any] = {"samples": {}, "friends": {}}
        """The specification as `colonnade.DataFrame.from_spec` takes it."""

    def AddSample(self, sample: RSample) -> RDatasetSpec:
        """Add a sample."""
        if not isinstance(sample, RSample):
            raise TypeMismatchError(f"{sample!r} is no sample", "RDF.Experimental.RSample(...)")
        if sample.name in self.content["samples"]:
            raise UsageError(f"there is a sample '{sample.name}' already", "another name")
        self.content["samples"][sample.name] = {**sample.files, "metadata": sample.metadata.values}
        return self

    def WithGlobalFriends(self, trees: Any, files: Any, alias: str = "") -> RDatasetSpec:
        """Put other files beside the samples; `alias` is their name in front of columns, else that of the data set."""
        friend = _pairs(trees, files)
        self.content["friends"][str(alias) or friend["trees"][0]] = friend
        return self

    def WithGlobalRange(self, range: Any = ()) -> RDatasetSpec:  # noqa: A002 - ROOT's name
        """Take the entries from the first number up to, but excluding, the second; all by default."""
        self.content.pop("range", None)
        if ends := [int(each) for each in range]:
            self.content["range"] = ends
        return self

    def __getattr__(self, name: str) -> NoReturn:
        refuse("a specification", name, "AddSample, WithGlobalFriends, WithGlobalRange")
