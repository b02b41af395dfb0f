"""Surveys: workers open the files of a chain, several at a time on each worker, and describe them.

For an engine a survey is a plan whose entries are files, and whose only result is a text for each stretch of files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property

from colonnade import _core
from colonnade.errors import Error, FileMissingError, FormatError, StorageError, UnsupportedError

from .partials import Counters, Failure, Partial, Piece
from .tasks import Task, cut

__all__ = ["LoadedSurvey", "Survey", "unreadable"]

_BEGIN = b'{"survey":'
_MOST_FILES = 256
"""The files of a task: a worker opens about this number at the same time."""


class Survey:
    """A request to describe files."""

    numbers: tuple[int, ...] = (0,)

    def __init__(self, text: str) -> None:
        self.text = text
        content = json.loads(text)
        if content["colonnade"] != _core.version:
            raise UnsupportedError(
                f"the request comes from Colonnade {content['colonnade']}, but this is {_core.version}",
                "the same version on all machines",
            )
        asked = content["survey"]
        self.files: list[tuple[str, str]] = [(str(uri), str(name)) for uri, name in asked["files"]]
        """Each with the name of its data set."""
        self.options = str(asked["options"])
        self.entries = (0, len(self.files))

    @classmethod
    def of(cls, files: Sequence[tuple[str, str]], options: _core.ReadOptions) -> Survey:
        """Make a survey of files that are opened with these options."""
        asked = {"files": list(files), "options": _core.options_text(options)}
        return cls(json.dumps({"survey": asked, "colonnade": _core.version}))

    @classmethod
    def from_bytes(cls, data: bytes) -> Survey:
        """Restore a survey, as of `to_bytes`.

        Raises:
            FormatError: it is not a survey.
            UnsupportedError: it was made by another version of Colonnade.
        """
        try:
            return cls(data.decode())
        except (LookupError, ValueError, TypeError, RecursionError) as error:
            raise FormatError(f"this is not a request to describe files ({error})") from None

    def __len__(self) -> int:
        return len(self.numbers)

    @staticmethod
    def is_one(data: bytes) -> bool:
        """Whether bytes are a survey rather than a plan."""
        return data.startswith(_BEGIN)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the survey's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """The files, by index."""
        return [(place, place + 1) for place in range(len(self.files))]

    def to_bytes(self) -> bytes:
        """Return the text as UTF-8."""
        return self.text.encode()

    def tasks(self, target: int) -> list[Task]:
        """Cut the files into about `target` tasks."""
        stretches = cut(self.parts, self.parts, max(target, len(self.files) // _MOST_FILES))
        return [Task(self.fingerprint, first, last, (0,)) for first, last in stretches]

    def ranges(self, result: int) -> tuple[int, ...]:
        """None, as there are no filters."""
        return ()

    def slices(self, result: int) -> int:
        """One."""
        return 1

    most_slices = 1

    def may_repeat(self, results: Sequence[int]) -> bool:
        """True, as it only reads."""
        return True

    def is_snapshot(self, result: int) -> bool:
        """False, as it writes nothing."""
        return False


class LoadedSurvey:
    """A survey that can run tasks."""

    def __init__(self, plan: Survey) -> None:
        self.plan = plan

    def run(self, task: Task) -> Partial:
        """Open the files of a task."""
        try:
            found = _core.survey_files(self.plan.files[task.first : task.last], self.plan.options)
        except Exception as error:
            return Partial(failures=[Failure(task, error)], counters=Counters(tasks=1))
        pieces = {(task.plan, 0): [Piece(task.first, task.last, (found or "").encode())]}
        return Partial(pieces, counters=Counters(1, task.last - task.first))

    def merge(self, result: int, pieces: Sequence[bytes], part: int = 0) -> bytes:
        """Join texts line by line, with empty ones for files that cannot be described."""
        return b"\n".join(pieces)


def unreadable(files: Sequence[tuple[str, str]], options: _core.ReadOptions) -> dict[int, Error]:
    """Return why files cannot be opened, by index. Errors of the request, such as a wrong name, do not count."""
    text = _core.options_text(options)
    found: dict[int, Error] = {}
    stretches = [(0, len(files))]
    while stretches:
        first, last = stretches.pop()
        try:
            _core.survey_files(files[first:last], text)
        except Error as error:
            middle = (first + last) // 2
            if middle > first:  # opening stops at the first error
                stretches += [(first, middle), (middle, last)]
            elif isinstance(error, StorageError | FormatError | FileMissingError):
                found[first] = error
    return found
