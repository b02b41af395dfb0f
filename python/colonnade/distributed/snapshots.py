"""Snapshots from many tasks: each writes a part of the rows, and one commit makes a data set of the winners' parts.

Until that commit nothing is visible at the destination, and after it everything is, in entry order. In an object
store the client claims the destination, tasks write their pages where they will stay, and the commit refers to them.
Elsewhere pages are copied as they are stored. Parts have names of the run, the entries and the attempt, so that tasks
that run twice do no harm. The client removes all parts of its run at the end; `gc` does so for a killed client.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colonnade import _core
from colonnade.errors import Error, FormatError, StorageError, UnsupportedError, refused
from colonnade.frame.session import Booking
from colonnade.importing.copying import CopySettings, copy
from colonnade.maintenance.garbage import remove_data_set
from colonnade.writing.attributes import AttributeAppender, adding
from colonnade.writing.options import WriteMode, write_options

from .presence import Presence
from .runs import Run, end, is_claimed, run_name, short_name
from .tasks import Task

__all__ = [
    "Claim",
    "Destination",
    "check_wanted",
    "claimed",
    "commit",
    "give_up",
    "part_booking",
    "parts_of",
    "parts_store",
    "saved_parts",
    "split_name",
    "split_part_name",
]

_LONGEST_ENDING = 16


@dataclass(frozen=True)
class Destination:
    """The destination and options of a snapshot."""

    uri: str
    name: str
    mode: WriteMode
    write: Mapping[str, Any]
    ticket: str = ""
    """The ticket with which tasks write parts of a data set that the client has claimed."""
    run: str = ""
    """The name of the run: of the claim on a local file or folder."""
    sign: str = ""
    """The ticket of the client's sign of life beside a file of S3."""

    @classmethod
    def of(cls, booking: Booking) -> Destination:
        """Read it from the options of a booking."""
        options = json.loads(booking.options)
        return cls(
            options["uri"],
            options["name"],
            options["mode"],
            options["write"],
            options.get("part_of", ""),
            options.get("run", ""),
            options.get("sign", ""),
        )

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files, one for each task, rather than one data set."""
        return self.uri.endswith("/")

    @property
    def writing(self) -> dict[str, Any]:
        """The options of a writer of all of it, which commits once."""
        return {name: value for name, value in self.write.items() if name != "checkpoint_every"}

    @property
    def path(self) -> Path:
        """Its path, if it is in the local file system."""
        return Path(_core.local_path(self.uri.rstrip("/")))

    @property
    def place(self) -> tuple[str, str]:
        """What a snapshot replaces there: a file or folder, or a data set of an object store."""
        if _core.is_object_store(self.uri):
            return self.uri, self.name
        if _core.is_local_file(self.uri):
            return os.path.realpath(self.path), ""
        return self.uri.partition("?")[0], ""

    def check(self) -> None:
        """Raise the error of a writer whose mode does not allow what is at a file's place."""
        if self.mode != "recreate" and not self.is_folder:
            _core.check_target(self.name, self.uri, write_options(**self.writing), self.mode)

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits for parts."""
        if self.sign:
            return _core.SharedWriter.is_open(parts_store(self.uri), self.sign)
        return not self.run or not _core.is_local_file(self.uri) or is_claimed(self.path, self.run)

    def part(self, task: Task) -> tuple[str, str]:
        """The URI of a task's part, and the name of its data set or of its part of the destination."""
        if self.ticket:
            return self.uri, f"{self.ticket}-{secrets.randbits(62) + 1:x}"
        run = self.run or task.plan[:16]
        token = f"part-{run}-{task.first}-{task.last}-{task.attempt}-{os.urandom(4).hex()}"
        if self.is_folder:
            folder = self.path.with_name(f"{short_name(self.path.name)}.parts-{run}")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise refused(error, "no folder can be made for parts of the snapshot", self.uri) from error
            return f"{folder}/{token}.root", self.name
        if _core.is_object_store(self.uri):
            return self.uri, f"{self.name}~{token}"
        if _core.has_file_names(self.uri):
            stem, ending, query = split_part_name(self.uri)
            return f"{stem}.{token}{ending or '.root'}{query}", self.name
        if self.uri.startswith("s3:"):
            return parts_store(self.uri), f"{self.name}~{token}"
        raise UnsupportedError(
            "several workers cannot write one file there, because parts of it could not be removed afterwards",
            "a local file, a file over XRootD or in S3, or an object store",
            uri=self.uri,
        )


def parts_store(uri: str) -> str:
    """The object store beside a file of S3 that has the parts of snapshots into it."""
    return f"{split_name(uri)[0]}-parts?store"


def split_name(uri: str) -> tuple[str, str, str]:
    """Split a URI into its name, the ending of the name, and what follows for the server, such as a token."""
    path, mark, query = (uri, "", "") if _core.is_local_file(uri) else uri.partition("?")
    stem, ending = os.path.splitext(path)
    return stem, ending, mark + query


def split_part_name(uri: str) -> tuple[str, str, str]:
    """Split the URI of a file in the same way, with a name that leaves room for that of a part."""
    stem, ending, query = split_name(uri)
    folder, slash, name = stem.rpartition("/")
    return f"{folder}{slash}{short_name(name)}", ending if len(ending) <= _LONGEST_ENDING else "", query


def part_booking(booking: Booking, task: Task) -> tuple[Booking, tuple[str, str]]:
    """Return the booking that writes a task's part of a snapshot, and the part's place."""
    to = Destination.of(booking)
    place = to.part(task)
    changed = {"part_of": place[1]} if to.ticket else {"uri": place[0], "name": place[1]}
    options = json.loads(booking.options) | changed
    options["mode"] = "recreate"
    options.pop("run", None)
    options.pop("sign", None)
    options.pop("commit", None)  # parts are committed, whatever comes before the commit of the whole
    return Booking("snapshot", booking.node, booking.arguments, json.dumps(options)), place


def saved_parts(parts: Iterable[tuple[str, str]]) -> bytes:
    """Return the places of parts as the bytes of a piece."""
    return json.dumps(list(parts)).encode()


def parts_of(data: bytes) -> list[tuple[str, str]]:
    """Return the places in a piece."""
    try:
        return [(str(uri), str(name)) for uri, name in json.loads(data)]
    except (ValueError, TypeError) as error:
        raise FormatError(f"the piece of a snapshot is damaged ({error})") from None


def check_wanted(booking: Booking) -> None:
    """Raise an error if a part is late, and is to be given up.

    Raises:
        StorageError: its client has ended the run, or `gc` has for a killed client.
    """
    to = Destination.of(booking)
    if not to.is_wanted:
        raise StorageError("the run that this part belongs to has ended", uri=to.uri)


def give_up(booking: Booking, part: tuple[str, str]) -> None:
    """Remove a part that failed, and the folder that it was in if nobody waits for others; what cannot be, stays."""
    remove([part])
    to = Destination.of(booking)
    if to.is_folder:
        with contextlib.suppress(OSError):
            if not to.is_wanted:
                end(to.path, to.run)


class Claim:
    """A claim on the destination of a snapshot. In an object store it commits the parts that tasks wrote there."""

    def __init__(self, booking: Booking) -> None:
        self._to = to = Destination.of(booking)
        self.writer: _core.SharedWriter | None = None
        self._run: Run | None = None
        self._presence: Presence | None = None
        if _core.is_object_store(to.uri):
            self.writer = _core.open_shared_writer(to.name, to.uri, write_options(**to.writing), to.mode)
            self._added = {"part_of": self.writer.ticket}
            return
        to.check()
        if _core.is_local_file(to.uri):
            self._run = Run(to.path)
            self._added = {"run": self._run.name}
        else:
            self._added = {"run": run_name()}
            if to.uri.startswith("s3:"):
                self._presence = Presence(parts_store(to.uri), f"{to.name}~part-{self._added['run']}")
                self._added["sign"] = self._presence.ticket

    def of(self, booking: Booking) -> Booking:
        """Return the booking with the ticket for tasks."""
        return replace(booking, options=json.dumps(json.loads(booking.options) | self._added))

    def end(self) -> None:
        """Remove what remains of the run, committed or not."""
        if self._presence is not None:
            self._presence.end()  # before parts are looked for: a worker looks for it after its part is there
        if self.writer is not None:
            self.writer.discard()  # what was not committed
        elif self._run is not None:
            self._run.end()
        else:
            _remove_beyond(self._to, self._added["run"])


def _remove_beyond(to: Destination, run: str) -> None:
    """Remove parts of a run in S3 or over XRootD; parts that cannot be listed or removed stay."""
    with contextlib.suppress(Error):
        if to.uri.startswith("s3:"):
            store = parts_store(to.uri)
            remove((store, name) for name in _core.data_sets(store) if f"~part-{run}-" in name)
        else:
            stem, ending, query = split_part_name(to.uri)
            pattern = f"{stem}.part-{run}-*{ending or '.root'}{query}"
            remove((uri, "") for uri in _core.expand_names([pattern]))


def claimed(booking: Booking) -> tuple[Booking, Claim]:
    """Claim the destination of a snapshot.

    Returns:
        The booking, with the ticket for tasks; and the claim, which must be ended.
    """
    claim = Claim(booking)
    return claim.of(booking), claim


def commit(
    booking: Booking,
    parts: list[tuple[str, str]],
    claim: Claim | None = None,
    before_commit: Callable[[AttributeAppender], object] | None = None,
) -> None:
    """Make one data set from parts, and remove them.

    Args:
        booking: the snapshot.
        parts: the places of the parts.
        claim: from `claimed`.
        before_commit: adds attribute sets.
    """
    to = Destination.of(booking if claim is None else claim.of(booking))
    if not parts:
        raise StorageError("none of the entries for the snapshot could be read", uri=to.uri)
    if claim is not None and claim.writer is not None:
        add = None if before_commit is None else adding(before_commit, to.uri, to.name)
        claim.writer.commit([name for _, name in parts], add)
        return
    if to.is_folder:
        _publish(to, parts)
        return
    to.check()  # a file may have appeared meanwhile
    # Options for pages and clusters were applied when the parts were written.
    settings: dict[str, Any] = {
        key: value for key, value in to.writing.items() if key in CopySettings.__annotations__
    }
    copy(
        list(parts),
        to.uri,
        destination_name=to.name,
        overwrite=to.mode == "recreate",
        before_commit=before_commit,
        **settings,
    )
    remove(parts)


def _publish(to: Destination, parts: list[tuple[str, str]]) -> None:
    """Rename the files of winners into a folder that appears with all of them."""
    folder = to.path
    stem = short_name(folder.name)
    fresh = folder.with_name(f"{stem}.new-{to.run or os.urandom(8).hex()}")
    try:
        fresh.mkdir()
        for number, (uri, _) in enumerate(parts):
            os.rename(_core.local_path(uri), fresh / f"part-{number:06}.root")
    except OSError as error:
        raise refused(error, "the parts of the snapshot cannot be moved to its folder", to.uri) from error
    try:
        os.rename(fresh, folder)
    except OSError as error:
        kept = folder.with_name(f"{stem}.written-{os.urandom(8).hex()}")  # which no run removes
        fresh.rename(kept)
        raise StorageError(
            f"the finished snapshot cannot be moved to its place ({error.strerror})",
            f"removing what is in its place, and renaming {kept}, which has the data",
            uri=to.uri,
        ) from error
    for place in {Path(_core.local_path(uri)).parent for uri, _ in parts}:
        shutil.rmtree(place, ignore_errors=True)  # of tasks that ran twice


def remove(parts: Iterable[tuple[str, str]]) -> None:
    """Remove parts; parts that cannot be removed stay."""
    for uri, name in parts:
        with contextlib.suppress(Error):
            if _core.is_object_store(uri):
                remove_data_set(uri, name)
            else:
                _core.remove_file(uri)
