"""Histograms and profiles: their models, and their conversion to `hist.Hist`."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from colonnade import _core
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.texts import different_texts
from colonnade.errors import TypeMismatchError, UnsupportedError, UsageError
from colonnade.floating_point import with_standard_floating_point
from colonnade.misuse import shown

from .values import dtype_of, innermost, is_numeric, is_text

if TYPE_CHECKING:
    import hist

__all__ = [
    "HistogramModel",
    "Model",
    "add_histograms",
    "empty_hist",
    "flat_together",
    "histogram_model",
    "joined_title",
    "split_title",
    "storage_of",
    "to_hist",
    "to_profile",
]

HistogramModel: TypeAlias = "Sequence[Any] | None"
"""("name", "title", bins, low, high) or ("name", "title", edges), for each axis; an axis, or several; or None."""

_DEFAULT_BINS = 128
_LONGEST_IN_NUMPY = 100
_KEYWORDS = ("sample", "threads", "weight")
"""Arguments of `hist.Hist.fill`, which no axis may be called."""


class Model(NamedTuple):
    """A histogram to be filled."""

    name: str
    title: str
    axes: list[dict[str, Any]]
    given: list[Any]
    """For each axis the axis of `hist` from the user, or None."""

    @property
    def is_native(self) -> bool:
        """True if all processors can fill it; else `hist` fills it."""
        return all("kind" not in axis or axis["kind"] for axis in self.axes)

    def options(self, **more: object) -> dict[str, object]:
        """Return the options of a result for the C++ side."""
        return {"name": self.name, "title": self.title, "axes": self.axes, **more}


def histogram_model(model: Any, arguments: Sequence[str]) -> Model:
    """Parse the model of a histogram with an axis for each of `arguments`.

    Raises:
        UsageError: the model is invalid, or has another number of axes.
    """
    dimensions = len(arguments)
    name = title = ""
    if isinstance(model, str):
        raise UsageError(
            f"the model of a histogram with {dimensions} {_axis_word(dimensions)} is a tuple, not the text {model!r}",
            '("name", "title", bins, low, high), or None for the range of the values',
        )
    if hasattr(model, "axes") and hasattr(model, "fill"):
        raise UsageError(
            "an existing histogram is filled by another method",
            "fill(histogram, x), or its axes as the model",
        )
    if model is not None and not hasattr(model, "edges") and not isinstance(model, Iterable):
        raise UsageError(
            f"the model of a histogram cannot be {shown(model)}", '("name", "title", bins, low, high)'
        )
    if model is None:
        axes: list[dict[str, Any]] = [{"bins": _DEFAULT_BINS} for _ in arguments]
    else:
        rest = [model] if hasattr(model, "edges") else list(model)
        texts = [each for each in rest if isinstance(each, str)]
        if texts and (len(texts) != 2 or rest[:2] != texts):
            raise UsageError(
                f"the model of a histogram begins with two strings, its name and its title, not {shown(model)}",
                '("name", "title", bins, low, high)',
            )
        if texts:
            name, title, rest = texts[0], texts[1], rest[2:]
        axes, rest = _axes(rest, dimensions)
        if rest or len(axes) != dimensions:
            raise UsageError(
                f"the model of a histogram with {dimensions} {_axis_word(dimensions)} cannot be {model!r}",
                '("name", "title", bins, low, high), with bins, low, high or edges for each axis',
            )
    given = [axis.pop("given", None) for axis in axes]
    named = [axis["name"] for axis in axes if "name" in axis]
    if twice := [each for each in named if named.count(each) > 1]:
        raise UsageError(f"two axes have the name '{twice[0]}'", "another name for one of them")
    for axis, argument in zip(axes, arguments, strict=True):
        axis.setdefault("name", argument)
    return Model(name, title, axes, given)


def _axis_word(count: int) -> str:
    return "axis" if count == 1 else "axes"


def split_title(title: str) -> tuple[str, list[str]]:
    """Split ROOT's "title;x;y;z" into the title and the labels of the axes; "#;" is a semicolon."""
    if ";" not in title:
        return title, []
    first, *labels = (part.replace("#;", ";") for part in re.split(r"(?<!#);", title))
    return first, [label.strip() for label in labels]


def joined_title(title: str, labels: list[str]) -> str:
    """Return ROOT's "title;x;y;z"; see `split_title`."""
    return ";".join(part.replace(";", "#;") for part in (title, *labels))


def _axes(rest: list[Any], dimensions: int) -> tuple[list[dict[str, Any]], list[Any]]:
    axes: list[dict[str, Any]] = []
    while rest and len(axes) < dimensions:
        first = rest[0]
        if _is_number(first):
            if len(rest) >= 2 and not _is_number(rest[1]) and not hasattr(rest[1], "edges"):
                axes.append(_variable(rest[1], first))  # ROOT's (bins, edges)
                rest = rest[2:]
                continue
            if len(rest) < 3:
                break
            axes.append(_regular(*rest[:3]))
            rest = rest[3:]
        elif hasattr(first, "edges"):
            axes.append(_axis_object(first))
            rest = rest[1:]
        else:
            items = list(first) if np.iterable(first) else first
            is_regular = (
                isinstance(first, tuple) and len(first) == 3 and isinstance(first[0], int | np.integer)
            )
            axes.append(_regular(*items) if is_regular else _variable(items, None))
            rest = rest[1:]
    return axes, rest


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number)


def _is_finite(value: object) -> bool:
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all of double precision
        return False


def _regular(bins: Any, low: Any, high: Any) -> dict[str, Any]:
    is_valid = _is_finite(bins) and int(bins) == bins and bins >= 1 and _is_finite(low) and _is_finite(high)
    if not is_valid:
        raise UsageError(
            f"an axis cannot have {shown(bins)} bins from {shown(low)} to {shown(high)}", "100, 0.0, 200.0"
        )
    if low == high:
        return {"bins": int(bins)}  # in ROOT, the range of the filled values
    return {"bins": int(bins), "low": float(low), "high": float(high)}


def _variable(edges: Any, bins: Any) -> dict[str, Any]:
    try:
        listed = [float(edge) for edge in np.asarray(edges, dtype=np.float64)]
        if not all(map(math.isfinite, listed)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"the edges of an axis cannot be {shown(edges)}", "[0.0, 1.0, 5.0]") from None
    if bins is not None and bins != len(listed) - 1:
        raise UsageError(f"{shown(bins)} bins do not have {len(listed)} edges", "one edge more than bins")
    return {"edges": listed}


def _axis_object(axis: Any) -> dict[str, Any]:
    """An axis of `hist` or `boost_histogram`. The kind "" is for axes that only `hist` can fill."""
    made = _kind_of(axis) or {"kind": ""}
    name = getattr(axis, "name", "")
    return {**made, **({"name": name} if name else {}), "given": copy.deepcopy(axis)}


def _kind_of(axis: Any) -> dict[str, Any] | None:
    kind, traits = type(axis).__name__, axis.traits
    if traits.growth:
        return None
    ends = {"circular": True} if traits.circular else {} if traits.overflow else {"closed": True}
    edges = np.asarray(axis.edges, dtype=np.float64).tolist()
    if kind == "Regular":
        transform = _transform(getattr(axis, "transform", None))
        low, width = axis._ax.__getstate__()[-2:]  # exactly as the axis computes with them
        if transform is None or not isinstance(low, float) or not isinstance(width, float):
            return None
        return {
            "kind": "regular",
            "bins": axis.size,
            "low": low,
            "width": width,
            "edges": edges,
            **ends,
        } | transform
    if kind == "Variable":
        # A circular axis computes with other edges than it shows.
        own = [float(edge) for edge in axis._ax.__getstate__()[1]] if traits.circular else edges
        return {"kind": "variable", "edges": own, **ends} if ends else {"edges": own}
    if kind == "Integer":
        circular = {"circular": True} if traits.circular else {}
        return {"kind": "integer", "bins": axis.size, "low": edges[0], **circular}
    if kind == "IntCategory":
        return {"kind": "category", "categories": list(axis)}
    if kind == "Boolean":
        return {"kind": "boolean"}
    return None


def _transform(transform: Any) -> dict[str, Any] | None:
    """Options for a transform of `hist`; None for user functions."""
    if transform is None:
        return {}
    if hasattr(transform, "power"):
        return {"transform": "pow", "power": float(transform.power)}
    name = repr(transform)
    return {"transform": name} if name in ("log", "sqrt") else None


def empty_hist(model: Model, storage: Any) -> Any:
    """Make the histogram of a model that `hist` fills itself."""
    package = _hist()
    title, labels = split_title(model.title)
    texts = _axis_texts([axis["name"] for axis in model.axes], labels, model.given)
    axes = [
        _plain_axis(axis, named) if given is None else copy.deepcopy(given)
        for axis, named, given in zip(model.axes, texts, model.given, strict=True)
    ]
    return package.Hist(*axes, storage=storage, name=model.name or None, label=title or None)


def _plain_axis(axis: dict[str, Any], texts: dict[str, str]) -> Any:
    package = _hist()
    if "edges" in axis:
        return package.axis.Variable(axis["edges"], **texts)
    if "low" not in axis:
        raise UsageError(
            "an axis cannot take its range from the values beside a growing axis", "low and high for it"
        )
    return package.axis.Regular(axis["bins"], axis["low"], axis["high"], **texts)


def _is_argument(name: str) -> bool:
    """Whether Python takes it as the name of an argument; most names are of letters and digits alone."""
    return name.isidentifier() if name.isascii() else re.fullmatch(r"[A-Za-z_]\w*", name) is not None


def _axis_texts(names: Sequence[str], labels: Sequence[str], given: Sequence[Any]) -> list[dict[str, str]]:
    """The name and the label of each axis. Names are keyword arguments in `hist`: other texts are labels only."""
    taken = {*_KEYWORDS, *(getattr(axis, "name", "") for axis in given)}
    made = []
    for name, label, axis in itertools.zip_longest(names, labels[: len(names)], given):
        is_name = _is_argument(name) and name not in taken
        made.append({"name": name if is_name else "", "label": label or name})
        if axis is None:
            taken.add(name)
    return made


# ---- Filled by hist


def storage_of(name: str) -> Any:
    """Make a storage of `hist`."""
    return getattr(_hist().storage, name)()


def check_fill(histogram: Any, columns: Sequence[tuple[str, _core.ValueType]], what: str) -> None:
    """Raise `TypeMismatchError` unless the types of named columns fit the axes that `hist` fills."""
    axes = list(histogram.axes)
    if len(axes) != len(columns):
        raise UsageError(f"{what} of {len(axes)} {_axis_word(len(axes))} with {len(columns)} columns")
    for axis, (text, kind) in zip(axes, columns, strict=True):
        name = type(axis).__name__
        takes_texts = name == "StrCategory"
        if is_text(kind) if takes_texts else is_numeric(kind):
            if takes_texts or axis.traits.continuous or dtype_of(innermost(kind)).kind in "biu":
                continue
            advice = "int(...) of it, or a regular axis"
        else:
            advice = "a text" if takes_texts else "a number, a list of numbers, or a member that is one"
        raise TypeMismatchError(
            f"an axis {name} cannot be filled with '{text}', which is '{kind.name}'", advice
        )


def flat_together(arrays: list[Any]) -> list[Any]:
    """Make arrays with one element per value: lists are flattened, and scalars beside them repeated.

    Values are left out where one of those together is missing.
    """
    if any(isinstance(each, ak.Array) for each in arrays):
        named = {str(k): each for k, each in enumerate(arrays)}
        try:
            together = ak.zip(named, optiontype_outside_record=True, right_broadcast=False)
        except ValueError:
            raise UsageError(
                "lists in one entry have different numbers of items",
                "fill together only lists of the same lengths, or lists and scalars",
            ) from None
        together = ak.drop_none(together, axis=0)
        while together.ndim > 1:
            together = ak.drop_none(ak.flatten(together, axis=1), axis=0)
        arrays = [together[str(k)] for k in range(len(arrays))]
    return [_texts_or_numbers(each) for each in arrays]


def _texts_or_numbers(array: Any) -> Any:
    if isinstance(array, ak.Array) and array.layout.parameter("__array__") == "string":
        different, numbers = different_texts(array.layout)
        # NumPy has as many characters for each text as the longest one has.
        if max(map(len, different), default=0) <= _LONGEST_IN_NUMPY:
            return np.asarray(different, dtype=np.str_)[numbers]
        return [different[number] for number in numbers.tolist()]
    return np.asarray(array)


def add_histograms(a: Any, b: Any) -> Any:
    """Add histograms; `hist` alone would forget that the variances of plain counts are known."""
    total = a + b
    if total.variances() is not None or a.variances() is None or b.variances() is None:
        return total
    made = copy.deepcopy(total)
    made.reset()
    fresh = type(total)(*made.axes, storage=total.storage_type())
    fresh.view(flow=True)[...] = total.view(flow=True)
    for text in ("name", "label"):
        if hasattr(total, text):
            setattr(fresh, text, getattr(total, text))
    return fresh


# ---- To hist


def _hist() -> Any:
    try:
        import hist
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError):  # after Ctrl-C in its first import it stays so
            raise UnsupportedError(
                f"histograms are returned as hist.Hist, but importing the package 'hist' failed: {error}",
                "a new process, and `python -c 'import hist'` if it fails there, too",
            ) from error
        raise UnsupportedError(
            "histograms are returned as hist.Hist, but the package 'hist' is not installed",
            "pip install 'colonnade[hist]'",
        ) from error
    return hist


def _axes_of(axes: Sequence[_core.AxisValue], labels: list[str], objects: Sequence[Any]) -> list[Any]:
    package = _hist()
    made = []
    for axis, texts, given in itertools.zip_longest(
        axes, _axis_texts([axis.name for axis in axes], labels, objects), objects
    ):
        if given is not None:
            made.append(copy.deepcopy(given))
        elif axis.regular:
            made.append(package.axis.Regular(axis.bins, *axis.range, **texts))
        else:
            made.append(package.axis.Variable(axis.edges, **texts))
    return made


def _shaped(values: Any, axes: Sequence[_core.AxisValue], made: Any, objects: Sequence[Any]) -> Any:
    """The bins of `made`; axes from the user may lack underflow and overflow."""
    shaped = np.reshape(values, [axis.bins + 2 for axis in axes], order="F") if len(axes) > 1 else values
    if all(each is None for each in objects):
        return shaped
    return shaped[
        tuple(
            slice(None if axis.traits.underflow else 1, None if axis.traits.overflow else -1)
            for axis in made.axes
        )
    ]


def to_hist(value: _core.HistogramValue, objects: Sequence[Any] = ()) -> hist.Hist[Any]:
    """Make a `hist.Hist` with the storage Weight for weighted histograms and Double for others.

    Args:
        value: the bins.
        objects: for each axis the axis from the user, or None.
    """
    package = _hist()
    storage = package.storage.Weight() if value.weighted else package.storage.Double()
    title, labels = split_title(value.title)
    made: hist.Hist[Any] = package.Hist(
        *_axes_of(value.axes, labels, objects), storage=storage, name=value.name or None, label=title or None
    )
    view: Any = made.view(flow=True)
    if value.weighted:
        view["value"] = _shaped(value.values, value.axes, made, objects)
        view["variance"] = _shaped(value.variances, value.axes, made, objects)
    else:
        view[...] = _shaped(value.values, value.axes, made, objects)
    return made


@with_standard_floating_point
def to_profile(value: _core.ProfileValue, objects: Sequence[Any] = ()) -> hist.Hist[Any]:
    """Make a `hist.Hist` with the storage WeightedMean; see `to_hist`."""
    package = _hist()
    title, labels = split_title(value.title)
    made: hist.Hist[Any] = package.Hist(
        *_axes_of(value.axes, labels, objects),
        storage=package.storage.WeightedMean(),
        name=value.name or None,
        label=title or None,
    )
    sum_w, sum_w2, sum_wy, sum_wyy = (
        _shaped(sums, value.axes, made, objects)
        for sums in (value.sum_w, value.sum_w2, value.sum_wy, value.sum_wyy)
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = np.where(sum_w != 0, sum_wy / sum_w, 0.0)
        squares = np.maximum(sum_wyy - sum_wy * mean, 0.0)
    view: Any = made.view(flow=True)
    view["sum_of_weights"] = sum_w
    view["sum_of_weights_squared"] = sum_w2
    view["value"] = mean
    view["_sum_of_weighted_deltas_squared"] = squares
    return made
