"""Corrections of correctionlib - scale factors, weights, smearings - as functions of columns.

correctionlib computes them in blocks, with the same results as `evaluate` for each value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import (
    ConversionError,
    Error,
    FileMissingError,
    FormatError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
)
from colonnade.misuse import path_text

from .items import ItemFunction, Items, Texts, innermost

if TYPE_CHECKING:
    from correctionlib import CorrectionSet

__all__ = ["Correction", "corrections"]


class Correction(ItemFunction):
    """A correction: `df.define("sf", correction, ["Muon_eta", "Muon_pt"])`; made by `corrections`."""

    def __init__(self, correction_set: CorrectionSet, name: str) -> None:
        self._set, self.name = correction_set, name
        # Its mappings raise IndexError for missing keys.
        group = correction_set if name in list(correction_set) else correction_set.compound
        self._correction = group[name]
        self._base = self._correction._base
        self.parameters = tuple(each.name for each in self._base.inputs)

    @property
    def description(self) -> str:
        """The description by its authors."""
        return str(self._base.description)

    def __reduce__(self) -> tuple[type[Correction], tuple[CorrectionSet, str]]:
        return Correction, (self._set, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Correction) and (self._set._data, self.name) == (
            other._set._data,
            other.name,
        )

    def __hash__(self) -> int:
        return hash((self._set._data, self.name))

    def __repr__(self) -> str:
        return f"<Correction {self._signature()}>"

    def _signature(self) -> str:
        return f"{self.name}({', '.join(f'{each.name}: {each.type}' for each in self._base.inputs)})"

    def item_type(self, types: Sequence[_core.ValueType]) -> _core.ValueType:
        """Return double, for arguments of the types of the inputs."""
        inputs = self._base.inputs
        if len(types) != len(inputs):
            raise TypeMismatchError(f"got {len(types)} arguments, it is {self._signature()}")
        for variable, kind in zip(inputs, types, strict=True):
            try:
                given = innermost(kind)
            except TypeMismatchError as error:
                raise TypeMismatchError(f"'{variable.name}': {error.problem}", error.advice) from None
            if not _fits(variable.type, given):
                raise TypeMismatchError(
                    f"'{variable.name}' is a {given.name}, it is {self._signature()}",
                    "static_cast<int>(x) for whole numbers"
                    if variable.type == "int" and given.kind == "scalar"
                    else "",
                )
        return _core.ValueType.scalar(_core.ElementType.float64)

    def of_items(self, columns: Sequence[Items], size: int) -> NDArray[Any]:
        """Compute the values, in one call for each combination of texts."""
        values = np.empty(size, dtype=np.float64)
        if size == 0:
            return values
        texts = [each for each in columns if isinstance(each, Texts)]
        groups = np.zeros(size, dtype=np.int64)
        for each in texts:
            groups = groups * len(each.different) + each.numbers
        for group in np.unique(groups) if any(len(each.different) > 1 for each in texts) else (None,):
            chosen = slice(None) if group is None else np.flatnonzero(groups == group)
            values[chosen] = self._evaluate([_part(each, chosen) for each in columns])
        return values

    def _evaluate(self, arguments: list[Any]) -> Any:
        arguments = [
            np.ascontiguousarray(each, dtype=np.int64 if variable.type == "int" else np.float64)
            if variable.type != "string"
            else each
            for variable, each in zip(self._base.inputs, arguments, strict=True)
        ]
        try:
            return self._correction.evaluate(*arguments)
        except (IndexError, RuntimeError, ValueError) as error:
            raise ConversionError(
                f"the correction '{self.name}' has no value{self._place(arguments)}: {error}",
                "a filter before it, or a correction with flow='clamp' or a default",
            ) from error

    def _place(self, arguments: list[Any]) -> str:
        """The first arguments for which the evaluation fails."""
        size = max((len(each) for each in arguments if not isinstance(each, str)), default=1)
        first, last = 0, size
        while last - first > 1:
            middle = (first + last) // 2
            try:
                self._correction.evaluate(
                    *(each if isinstance(each, str) else each[first:middle] for each in arguments)
                )
                first = middle
            except (IndexError, RuntimeError, ValueError):
                last = middle
        shown = ", ".join(
            f"{variable.name}={each if isinstance(each, str) else each[first].item()!r}"
            for variable, each in zip(self._base.inputs, arguments, strict=True)
        )
        return f" for {shown}" if shown else ""


def _fits(wanted: str, given: _core.ValueType) -> bool:
    if wanted == "string" or given.kind != "scalar":
        return wanted == "string" and given.kind == "string"
    return wanted == "real" or not given.element.name.startswith("float")


def _part(column: Items, chosen: Any) -> Any:
    if isinstance(column, Texts):
        return column.different[int(column.numbers[chosen][0])]
    return column[chosen]


@checked
def corrections(source: str | os.PathLike[str] | CorrectionSet) -> Mapping[str, Correction]:
    """Read the corrections of a file, by name; compound ones are among them.

    `df.with_functions(colonnade.corrections("muon_sf.json.gz"))` makes all of them functions of expressions.

    Args:
        source: a file of correctionlib (".json" or ".json.gz"), or a `correctionlib.CorrectionSet`.

    Raises:
        FileMissingError: no such file.
        FormatError: it has no corrections.
        UnsupportedError: correctionlib is not installed.
    """
    try:
        import correctionlib
    except ImportError as error:
        raise UnsupportedError(
            "corrections need the package correctionlib", "pip install 'colonnade[corrections]'"
        ) from error
    read = source if isinstance(source, correctionlib.CorrectionSet) else _read(path_text(source))
    return {name: Correction(read, name) for name in [*read, *read.compound]}


def _read(path: str) -> CorrectionSet:
    import correctionlib

    try:
        return correctionlib.CorrectionSet.from_file(path)
    except FileNotFoundError as error:
        raise FileMissingError("there is no such corrections file", uri=path) from error
    except Error:
        raise
    except OSError as error:
        raise StorageError(f"the corrections cannot be read: {error.strerror or error}", uri=path) from error
    except Exception as error:  # any exception of its parser
        raise FormatError(f"the file has no correctionlib corrections: {error}", uri=path) from error
