"""The file information for callables of `define_per_sample`, and ROOT's specifications of samples in JSON."""

from __future__ import annotations

import fnmatch
import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from colonnade import _core
from colonnade.errors import FileMissingError, FormatError, NotFoundError
from colonnade.misuse import path_text

__all__ = ["FriendSpec", "SampleInfo", "SampleSpec", "Specification", "read_specification", "told"]


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

    def infos(self, samples: Sequence[_core.FrameSample]) -> dict[str, SampleInfo]:
        """Return the `SampleInfo` of each file of a source, by its name there."""
        found = {}
        for each in samples:
            for number, sample in enumerate(self.samples):
                if any(_fits(each.name, file, data_set) for file, data_set in sample.files):
                    entries = each.first, each.first + each.entries
                    found[each.name] = SampleInfo(each.name, entries, sample.name, number, sample.metadata)
                    break
        return found


def _fits(name: str, file: str, data_set: str) -> bool:
    """Whether "f.root/Events" is a file, which may have wildcards, and its data set."""
    found = name.removesuffix(f"/{data_set.strip('/')}")
    return found != name and (found == file or fnmatch.fnmatchcase(found, file))


def read_specification(source: str | os.PathLike[str] | Mapping[str, Any]) -> Specification:
    """Read a specification as `ROOT::RDF::Experimental::FromSpec` does: a JSON file, or its content.

        {"samples": {"signal": {"trees": ["Events"], "files": ["s*.root"], "metadata": {"xsec": 1.5}}}}

    "range" beside "samples" has the first entry and the end of the range, or its end alone.

    Raises:
        FileMissingError: no such file.
        FormatError: it is not a specification.
    """
    place = "the specification"
    content: Any = source
    if not isinstance(source, Mapping):
        place = path_text(source)
        try:
            with open(source, encoding="utf-8") as file:
                content = json.load(file)
        except FileNotFoundError:
            raise FileMissingError("there is no such specification", uri=place) from None
        except (OSError, ValueError) as error:
            raise FormatError(f"this is not a specification of samples: {error}", uri=place) from None
    try:
        return _specification(content)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise FormatError(
            f"{place} is not a specification of samples ({type(error).__name__}: {error})",
            '{"samples": {"name": {"trees": ["Events"], "files": ["f.root"], "metadata": {...}}}}',
        ) from None


def _specification(content: Mapping[str, Any]) -> Specification:
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
    given = content.get("range")
    entries = None
    if given is not None:
        entries = (0, int(given[0])) if len(given) == 1 else (int(given[0]), int(given[1]))
    return Specification(tuple(samples), entries, tuple(friends))


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
    """Calls a function with the `SampleInfo` of the file whose name it gets."""

    def __init__(self, function: Callable[[SampleInfo], Any], infos: Mapping[str, SampleInfo]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._infos = function, dict(infos)

    def __call__(self, name: str) -> Any:
        # A trial has its own name, and runs as if for the first file.
        first = next(iter(self._infos.values()), SampleInfo(name))
        return self._function(self._infos.get(name, first))


def told(
    function: Callable[[SampleInfo], Any],
    samples: Sequence[_core.FrameSample],
    specification: Specification | None,
) -> Callable[[str], Any]:
    """Wrap a function of a `SampleInfo` as one that gets the name of a file."""
    infos = {
        each.name: SampleInfo(each.name, (each.first, each.first + each.entries), "", number)
        for number, each in enumerate(samples)
    }
    return _Told(function, infos if specification is None else infos | specification.infos(samples))
