"""Models in the ONNX format as functions of columns: whole blocks go through onnxruntime.

onnxruntime uses one thread per call, as blocks already run in parallel, and rows in batches whose size is never
odd: the same rows give the same bits, whichever block they are in.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.annotations import checked
from colonnade.errors import (
    FileMissingError,
    FormatError,
    NotFoundError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
)
from colonnade.misuse import path_text

from .items import ItemFunction, Items, Texts, innermost
from .values import element_of

__all__ = ["Model", "onnx_model"]

_DTYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(double)": np.dtype(np.float64),
    "tensor(bool)": np.dtype(np.bool_),
    **{f"tensor({name})": np.dtype(name) for name in ("int8", "int16", "int32", "int64")},
    **{f"tensor({name})": np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
}
_MOST_ROWS = 4096
_ROUND_TO = 64
"""Matrices with few rows use other loops, which round sums in another order."""


class _Tensor(NamedTuple):
    name: str
    dtype: np.dtype[Any]
    rows: int | None
    """None: any number."""
    width: int | None
    """None: any; 1 also if there is one number per row."""
    is_flat: bool

    @property
    def text(self) -> str:
        return f"{self.name}: {self.dtype}" + ("" if self.is_flat else f"[{self.width or 'n'}]")


class Model(ItemFunction):
    """A model: `df.define("score", model, ["pt", "eta", "phi"])`; made by `onnx_model`."""

    def __init__(self, data: bytes, name: str = "model", output: str | None = None) -> None:
        self._data, self._output_name, self.name = data, output, name
        self._session = _session(data)
        self.inputs = tuple(_tensor(each, "input") for each in self._session.get_inputs())
        self.output = self._chosen(output)
        self.parameters = (
            tuple(each.name for each in self.inputs) if all(each.width == 1 for each in self.inputs) else ()
        )

    def _chosen(self, name: str | None) -> _Tensor:
        outputs = {each.name: each for each in self._session.get_outputs()}
        if name is not None and name not in outputs:
            raise NotFoundError(f"the model has no output '{name}'", ", ".join(outputs))
        return _tensor(next(iter(outputs.values())) if name is None else outputs[name], "output")

    def __reduce__(self) -> tuple[type[Model], tuple[bytes, str, str | None]]:
        return Model, (self._data, self.name, self._output_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((hashlib.sha256(self._data).digest(), self._output_name))

    def __repr__(self) -> str:
        return f"<Model {self._signature()} -> {self.output.text}>"

    def _signature(self) -> str:
        return f"{self.name}({', '.join(each.text for each in self.inputs)})"

    # ---- Types

    def _widths(self, count: int) -> list[int] | None:
        """The number of columns of each input, one for each number; None if the count does not match."""
        widths = [each.width or 0 for each in self.inputs]
        if widths.count(0) == 1:
            widths[widths.index(0)] = count - sum(widths)
        return widths if sum(widths) == count and min(widths) > 0 else None

    def _takes_vectors(self, types: Sequence[_core.ValueType]) -> bool:
        """Whether an argument is a list with all numbers of an input, rather than one of them."""
        if len(types) != len(self.inputs) or any(each.is_flat for each in self.inputs):
            return False
        are_lists = all(kind.kind == "list" for kind in types)
        return are_lists and any(each.width != 1 for each in self.inputs)

    def item_depth(self, types: Sequence[_core.ValueType]) -> int:
        """Return 1 for arguments that are vectors."""
        return 1 if self._takes_vectors(types) else 0

    def item_type(self, types: Sequence[_core.ValueType]) -> _core.ValueType:
        """Return the type of the output for a row."""
        vectors = self._takes_vectors(types)
        widths = [1] * len(self.inputs) if vectors else self._widths(len(types))
        if widths is None:
            raise TypeMismatchError(
                f"got {len(types)} arguments, it is {self._signature()}",
                "a column for each number, or for each input a column of lists",
            )
        wanted = [each.dtype for each, width in zip(self.inputs, widths, strict=True) for _ in range(width)]
        for number, (dtype, kind) in enumerate(zip(wanted, types, strict=True), 1):
            given = innermost(kind)
            if given.kind != "scalar" or (given.element.name.startswith("float") and dtype.kind != "f"):
                raise TypeMismatchError(
                    f"argument {number} is a {given.name}, not {dtype}: it is {self._signature()}"
                )
        made = _core.ValueType.scalar(element_of(self.output.dtype))
        return made if self.output.width == 1 else _core.ValueType.list_of(made)

    # ---- Values

    def of_items(self, columns: Sequence[Items], size: int) -> NDArray[Any]:
        """Compute the output for each row."""
        numbers = [each for each in columns if not isinstance(each, Texts)]
        vectors = any(each.ndim > 1 for each in numbers)
        widths = [1] * len(self.inputs) if vectors else self._widths(len(numbers)) or []
        tables, first = [], 0
        for tensor, width in zip(self.inputs, widths, strict=True):
            parts = numbers[first : first + width]
            first += width
            tables.append(_table(tensor, parts, vectors))
        return self._run(tables, size)

    def _run(self, tables: list[NDArray[Any]], size: int) -> NDArray[Any]:
        fixed = next((each.rows for each in self.inputs if each.rows is not None), None)
        step = fixed or _MOST_ROWS
        width = self.output.width
        answers = [self._batch(tables, k, min(k + step, size), fixed) for k in range(0, size, step)]
        if not answers:
            return np.empty(0 if width == 1 else (0, width or 0), dtype=self.output.dtype)
        return np.concatenate(answers)

    def _batch(self, tables: list[NDArray[Any]], first: int, last: int, fixed: int | None) -> NDArray[Any]:
        rows = last - first
        padded = fixed or -(-rows // _ROUND_TO) * _ROUND_TO
        given = {}
        for tensor, table in zip(self.inputs, tables, strict=True):
            part = table[first:last]
            if padded > rows:
                part = np.concatenate([part, np.repeat(part[-1:], padded - rows, axis=0)])
            given[tensor.name] = np.ascontiguousarray(part)
        try:
            answer = np.asarray(self._session.run([self.output.name], given)[0])
        except Exception as error:  # its own exceptions have no common base
            raise UsageError(f"the model '{self.name}' failed: {error}") from error
        if answer.ndim == 0 or len(answer) != padded or answer.ndim > 2:
            raise TypeMismatchError(
                f"the output '{self.output.name}' of the model '{self.name}' has the shape {answer.shape} "
                f"for {padded} rows",
                "a model whose output has a row for each row of its input",
            )
        if self.output.width == 1:
            return answer.reshape(padded, -1)[:rows, 0]
        return answer[:rows]


def _table(tensor: _Tensor, parts: list[NDArray[Any]], vectors: bool) -> NDArray[Any]:
    if vectors:
        table = parts[0]
        if tensor.width is not None and table.shape[1] != tensor.width:
            raise UsageError(
                f"the input '{tensor.name}' takes {tensor.width} numbers, not lists of {table.shape[1]}"
            )
        return table.astype(tensor.dtype)
    if tensor.is_flat:
        return parts[0].astype(tensor.dtype)
    return np.stack([each.astype(tensor.dtype) for each in parts], axis=1)


def _tensor(described: Any, what: str) -> _Tensor:
    dtype = _DTYPES.get(described.type)
    shape = described.shape
    if dtype is None or len(shape) not in (1, 2):
        raise UnsupportedError(
            f"the {what} '{described.name}' of the model is a {described.type} of shape {shape}",
            "models of numbers in one or two dimensions"
            + (", or another output" if what == "output" else "; a callable, which can reshape the inputs"),
        )
    sizes = [size if isinstance(size, int) else None for size in shape]
    return _Tensor(described.name, dtype, sizes[0], sizes[1] if len(sizes) > 1 else 1, len(sizes) == 1)


def _session(data: bytes) -> Any:
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own exceptions have no common base
        raise FormatError(f"the file is not a model that onnxruntime reads: {error}") from error


@checked
def onnx_model(source: str | os.PathLike[str] | bytes, output: str | None = None, *, name: str = "") -> Model:
    """Read a model in the ONNX format, for `define` and `with_functions`.

    An input [rows, k] takes k columns, or one column of lists with k items; an input [rows] takes one. Columns are
    converted to its type. For lists it is computed item by item.

    Args:
        source: a file, or its content.
        output: the name of the output; the first if None. One number per row is a number, several are
            a list.
        name: of the model in messages; that of the file if empty.

    Raises:
        FileMissingError: no such file.
        FormatError: it is not a model.
        NotFoundError: no such output.
        UnsupportedError: onnxruntime is not installed; inputs of more than two dimensions, or of texts.
    """
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            "models need the package onnxruntime", "pip install 'colonnade[onnx]'"
        ) from error
    if isinstance(source, bytes):
        return Model(source, name or "model", output)
    path = path_text(source)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise FileMissingError("there is no such model", uri=path) from error
    except OSError as error:
        raise StorageError(f"the model cannot be read: {error.strerror}", uri=path) from error
    return Model(data, name or os.path.basename(path).removesuffix(".onnx"), output)
