"""The exceptions of Colonnade.

All failures that come from a file, a schema or the storage are an `Error`. Its subclasses also derive from the matching
built-in exceptions (`ConversionError` is a `ValueError`, `StorageError` an `OSError`), so that code that does not know
Colonnade handles them well. The message says what is wrong and why, and what to try; the attributes have the place.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable

from colonnade import _core

__all__ = [
    "ArgumentError",
    "ChecksumError",
    "ConversionError",
    "Error",
    "FileMissingError",
    "FormatError",
    "LeftOutWarning",
    "NotFoundError",
    "ResourceError",
    "SchemaError",
    "StorageError",
    "TypeMismatchError",
    "UnsupportedError",
    "UsageError",
    "after_commit",
    "refused",
    "warn_left_out",
]


def redacted(text: object) -> str:
    """Return the text without the secrets of URIs; invalid UTF-8, as in some paths, is shown as \\udcff."""
    return _core.redacted(str(text).encode("utf-8", "backslashreplace").decode())


class Error(Exception):
    """Any failure of Colonnade. The attributes have its place, as far as known; the others are None."""

    kind: str = "usage"
    """What went wrong, for code: "io", "format", "checksum", "unsupported", "type", "schema", "not_found",
    "conversion", "usage" or "resource"."""
    problem: str
    """What is wrong and why, without place and advice."""
    advice: str = ""
    """What to try, or empty."""
    uri: str | None = None
    data_set: str | None = None
    field: str | None = None
    column: int | None = None
    cluster: int | None = None
    page: int | None = None
    offset: int | None = None
    """Byte offset in the file."""

    def __init__(self, problem: str, advice: str = "", **place: str | int | None) -> None:
        # Like those of C++: messages contain no secrets.
        problem, advice = redacted(problem), redacted(advice)
        place = {key: redacted(value) if isinstance(value, str) else value for key, value in place.items()}
        super().__init__(_message(problem, advice, place))
        self.problem, self.advice = problem, advice
        for key, value in place.items():
            setattr(self, key, value)

    def __reduce__(self) -> tuple[object, ...]:
        # Libraries that extend pickling (tblib, of Dask) would call the `__new__` of a built-in base, which is refused.
        return _restored, (type(self), self.args, dict(self.__dict__))


def after_commit(error: Error, but: str) -> Error:
    """Return the error of what follows a commit, which says that it was made.

    So that the caller does not write it again; see decision 79.
    """
    keys = ("uri", "data_set", "field", "column", "cluster", "page", "offset")
    return type(error)(
        f"{error.problem}; what was committed is in its place and can be read, but {but}",
        "`colonnade verify`, rather than the same again",
        **{key: getattr(error, key) for key in keys},
    )


def _restored(of: type[Error], args: tuple[object, ...], attributes: dict[str, object]) -> Error:
    made = of("")
    made.args = args
    made.__dict__.update(attributes)
    return made


def _message(problem: str, advice: str, place: dict[str, str | int | None]) -> str:
    known = ", ".join(f"{key.replace('_', ' ')}={value}" for key, value in place.items() if value is not None)
    # An advice that states a fact continues the sentence, as in base/error.cpp.
    reads_on = advice.startswith(
        ("did you mean ", "there is ", "there are", "it is ", "it has ", "see ", "fields are ")
    )
    text = advice if reads_on else f"try: {advice}"
    return problem + (f"; {text}" if advice else "") + (f" [{known}]" if known else "")


class LeftOutWarning(UserWarning):
    """Unreadable fields were left out of a request for all fields or for those of a wildcard."""


def warn_left_out(fields: Iterable[tuple[str, str]], place: str, stacklevel: int) -> None:
    """Warn of fields, given with the reasons; `stacklevel` 1 is the caller."""
    named = [f"'{name}' ({why})" for name, why in fields]
    if not named:
        return
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    warnings.warn(
        f"{place}: left out {', '.join(named[:5])}{more}", LeftOutWarning, stacklevel=stacklevel + 1
    )


class StorageError(Error, OSError):
    """The operating system or a server refused or failed."""

    kind = "io"


def refused(error: OSError, problem: str, uri: str) -> StorageError:
    """Return an error of the system as one that has the place, and what to try where the system's code tells."""
    if error.errno is None:
        return StorageError(f"{problem}: {error}", uri=uri)
    # Not its own text: pyarrow's is "Error writing bytes to file. Detail: [errno 28] No space left on device".
    return StorageError(f"{problem}: {os.strerror(error.errno)}", _core.system_advice(error.errno), uri=uri)


class FormatError(Error, ValueError):
    """The bytes are not what the format allows: the file is damaged, or not an RNTuple at all."""

    kind = "format"


class ChecksumError(FormatError):
    """The bytes are not what was written: the file is damaged."""

    kind = "checksum"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not supported here; the message names an alternative.

    Callers that catch `NotImplementedError`, which pyarrow and Awkward raise in such cases, catch it as well.
    """

    kind = "unsupported"


class TypeMismatchError(Error, TypeError):
    """Data do not have the type of the schema."""

    kind = "type"


class SchemaError(Error, ValueError):
    """A schema that cannot be stored."""

    kind = "schema"


class NotFoundError(Error, LookupError):
    """No such data set or field."""

    kind = "not_found"


class FileMissingError(NotFoundError, FileNotFoundError):
    """No such file."""


class ConversionError(Error, ValueError):
    """A value does not fit its type."""

    kind = "conversion"


class UsageError(Error, ValueError):
    """An invalid call, or one that is invalid in this state."""

    kind = "usage"


class ArgumentError(UsageError, TypeError):
    """A call with arguments that the function does not have, or without those that it needs."""


class ResourceError(Error, MemoryError):
    """Memory or another limit does not suffice."""

    kind = "resource"


_BY_KIND: dict[str, type[Error]] = {
    "io": StorageError,
    "format": FormatError,
    "checksum": ChecksumError,
    "unsupported": UnsupportedError,
    "type": TypeMismatchError,
    "schema": SchemaError,
    "not_found": NotFoundError,
    "conversion": ConversionError,
    "usage": UsageError,
    "resource": ResourceError,
}


def make_error(
    kind: str,
    problem: str,
    advice: str,
    uri: str,
    data_set: str,
    field: str,
    column: int | None,
    cluster: int | None,
    page: int | None,
    offset: int | None,
) -> Error:
    """Make the exception for an error of the C++ side, which calls this."""
    cls = _BY_KIND.get(kind, Error)
    if cls is NotFoundError and uri and not field and _is_missing(uri, data_set, problem):
        cls = FileMissingError
    return cls(
        problem,
        advice,
        uri=uri or None,
        data_set=data_set or None,
        field=field or None,
        column=column,
        cluster=cluster,
        page=page,
        offset=offset,
    )


_WITHOUT_A_PLACE = ("no such bucket", "the Ceph cluster has no pool ", "no DAOS pool ", "no container ")


def _is_missing(uri: str, data_set: str, problem: str) -> bool:
    """Whether the file or store itself was not found, rather than a data set in it, which the error names then."""
    try:
        return not os.path.exists(_core.local_path(uri))
    except UsageError:
        return not data_set or any(each in problem for each in _WITHOUT_A_PLACE)


def locate(error: Error, **place: str | None) -> Error:
    """Return the same error with empty parts of its place filled in."""
    known = {
        key: getattr(error, key)
        for key in ("uri", "data_set", "field", "column", "cluster", "page", "offset")
    }
    for key, value in place.items():
        if known[key] is None:
            known[key] = value
    return type(error)(error.problem, error.advice, **known)
