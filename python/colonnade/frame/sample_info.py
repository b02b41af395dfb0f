"""The file information for callables of `define_per_sample`, and ROOT's specifications of samples in JSON."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from colonnade import _core
from colonnade.errors import FileMissingError, FormatError, NotFoundError, StorageError, locate
from colonnade.misuse import path_text

__all__ = ["FriendSpec", "Owner", "SampleInfo", "SampleSpec", "Specification", "read_specification", "told"]

Owner: TypeAlias = tuple[str, int, Mapping[str, Any]]
"""The sample of a file: its name, its number and its metadata."""


class SampleInfo(str):
    """A file of the source: the text "f.root/Events", with further information."""

    __slots__ = ("entries", "metadata", "sample", "sample_id")
    entries: tuple[int, int]
    """Its first entry, counted through all files, and the entry after its last."""
    sample: str
    """The name of its sample in a specification; else empty."""
    sample_id: int
    """The number of its sample, or of the file if there is no specification."""
    metadata: Mapping[str, Any]
    """The metadata of its sample: numbers and texts by name."""

    def __new__(
        cls,
        name: str,
        entries: tuple[int, int] = (0, 0),
        sample: str = "",
        sample_id: int = 0,
        metadata: Mapping[str, Any] | None = None,
    ) -> SampleInfo:
        """Make it from its parts."""
        made = super().__new__(cls, name)
        made.entries, made.sample, made.sample_id = entries, sample, sample_id
        made.metadata = dict(metadata or {})
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return SampleInfo, (str(self), self.entries, self.sample, self.sample_id, dict(self.metadata))

    def value(self, key: str) -> Any:
        """Return a value of the metadata.

        Raises:
            NotFoundError: the sample has none of that name.
        """
        if key not in self.metadata:
            known = ", ".join(map(repr, self.metadata)) or "the sample has no metadata"
            raise NotFoundError(f"sample '{self.sample or self}' has no '{key}' in its metadata", known)
        return self.metadata[key]


@dataclass(frozen=True)
class SampleSpec:
    """A sample of a specification."""

    name: str
    files: tuple[tuple[str, str], ...]
    """Files, with wildcards, each with the name of its data set."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FriendSpec:
    """A friend of a specification."""

    name: str
    files: tuple[tuple[str, str], ...]
    """Files, each with the name of its data set."""


@dataclass(frozen=True)
class Specification:
    """Samples that form one data set, and the range of its entries."""

    samples: tuple[SampleSpec, ...]
    entries: tuple[int, int] | None = None
    friends: tuple[FriendSpec, ...] = ()

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files of all samples, in order, each with the name of its data set."""
        return [file for sample in self.samples for file in sample.files]

    def owners(self, matches: Sequence[int]) -> list[Owner]:
        """Return the sample of each file, in order; `matches` has the number of files that match each of `files`."""
        owners = [
            (sample.name, number, sample.metadata)
            for number, sample in enumerate(self.samples)
            for _ in sample.files
        ]
        return [owner for owner, count in zip(owners, matches, strict=True) for _ in range(count)]


def read_specification(source: str | os.PathLike[str] | Mapping[str, Any]) -> Specification:
    """Read a specification as `ROOT::RDF::Experimental::FromSpec` does: a JSON file, or its content.

        {"samples": {"signal": {"trees": ["Events"], "files": ["s*.root"], "metadata": {"xsec": 1.5}}}}

    "range" beside "samples" has the first entry and the end of the range, or its end alone.

    Raises:
        FileMissingError: no such file.
        StorageError: the file cannot be read.
        FormatError: it is not a specification.
    """
    if isinstance(source, Mapping):
        return _specification(source)
    place = path_text(source)
    try:
        with open(source, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        raise FileMissingError("there is no such specification", uri=place) from None
    except OSError as error:
        raise StorageError(f"cannot read the specification: {error.strerror}", uri=place) from None
    except ValueError as error:
        raise FormatError(f"this is not a specification of samples: {error}", uri=place) from None
    try:
        return _specification(content)
    except FormatError as error:
        raise locate(error, uri=place) from None


def _specification(content: Any) -> Specification:
    try:
        return _parts(content)
    except KeyError as error:
        why = f"it has no {error}"
    except (TypeError, AttributeError):
        why = "a part has the wrong type"
    raise FormatError(
        f"this is not a specification of samples: {why}",
        '{"samples": {"name": {"trees": ["Events"], "files": ["f.root"], "metadata": {...}}}}',
    )


def _parts(content: Any) -> Specification:
    samples = [
        SampleSpec(name, _files(f"sample '{name}'", sample), _metadata(name, sample.get("metadata") or {}))
        for name, sample in content["samples"].items()
    ]
    if not samples:
        raise FormatError("the specification has no samples")
    friends = [
        FriendSpec(name, _files(f"friend '{name}'", each))
        for name, each in (content.get("friends") or {}).items()
    ]
    return Specification(tuple(samples), _range(content.get("range")), tuple(friends))


def _range(given: Any) -> tuple[int, int] | None:
    if given is None:
        return None
    numbers: Sequence[Any] = given if isinstance(given, list | tuple) and len(given) in (1, 2) else [None]
    if not all(isinstance(each, int | float) and float(each).is_integer() for each in numbers):
        raise FormatError(f"the range is {given!r}", "[stop] or [start, stop], in entries")
    return (0 if len(numbers) == 1 else int(numbers[0])), int(numbers[-1])


def _metadata(name: str, given: Mapping[str, Any]) -> dict[str, str | int | float]:
    for key, value in given.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise FormatError(f"the metadata '{key}' of sample '{name}' is {value!r}", "a string or a number")
    return dict(given)


def _files(what: str, described: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    trees, files = _texts(described["trees"]), _texts(described["files"])
    if not files or len(trees) not in (1, len(files)):
        raise FormatError(f"{what} has {len(trees)} names of data sets for {len(files)} files")
    return tuple(zip(files, trees * len(files) if len(trees) == 1 else trees, strict=True))


def _texts(value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(each, str) for each in listed):
        raise TypeError("names and files must be strings")
    return listed


class _Told:
    """Calls a function with the `SampleInfo` of the file whose number it gets."""

    def __init__(self, function: Callable[[SampleInfo], Any], infos: Sequence[SampleInfo]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._infos = function, infos

    def __call__(self, number: int) -> Any:
        return self._function(self._infos[number])


def told(
    function: Callable[[SampleInfo], Any],
    samples: Sequence[_core.FrameSample],
    owners: Sequence[Owner] | None,
) -> Callable[[int], Any]:
    """Wrap a function of a `SampleInfo` as one that gets the number of a file."""
    if owners is None:
        owners = [("", number, {}) for number in range(len(samples))]
    infos = [
        SampleInfo(each.name, (each.first, each.first + each.entries), *owner)
        for each, owner in zip(samples, owners, strict=True)
    ]
    return _Told(function, infos)
