"""Models of histograms, and the options of snapshots, with ROOT's spelling."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from colonnade import _core
from colonnade.errors import UnsupportedError, UsageError
from colonnade.writing.options import WriteMode

__all__ = [
    "ELogLevel",
    "ESnapshotOutputFormat",
    "RCompressionSetting",
    "RSnapshotOptions",
    "TH1DModel",
    "TH2DModel",
    "TH3DModel",
    "THnDModel",
    "THnSparseDModel",
    "TProfile1DModel",
    "TProfile2DModel",
    "histogram_tuple",
    "profile_tuple",
    "snapshot_settings",
]


_PARAMETERS = (
    *("name", "title", "dim", "nbins", "xmin", "xmax"),
    *("nbinsx", "xlow", "xup", "xbins", "nbinsy", "ylow", "yup", "ybins", "nbinsz", "zlow", "zup", "zbins"),
    "option",
)
"""ROOT's names of the parameters of models, in their order; those of a range or of edges."""


class _Model(tuple[Any, ...]):
    """A model, represented as a tuple. Arguments can have ROOT's names: `TH1DModel("h", "t", nbinsx=10, ...)`."""

    __slots__ = ()

    def __new__(cls, *arguments: Any, **named: Any) -> _Model:
        unknown = [name for name in named if name not in _PARAMETERS]
        if unknown:
            raise UsageError(f"a model has no {unknown[0]!r}", ", ".join(_PARAMETERS))
        return super().__new__(
            cls, (*arguments, *(named[name] for name in sorted(named, key=_PARAMETERS.index)))
        )

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def fName(self) -> str:
        """The name."""
        return str(self[0])

    @property
    def fTitle(self) -> str:
        """The title, with those of the axes."""
        return str(self[1])


class TH1DModel(_Model):
    """("name", "title", bins, low, high) or ("name", "title", bins, edges)."""


class TH2DModel(_Model):
    """("name", "title", x bins, low, high, y bins, low, high)."""


class TH3DModel(_Model):
    """("name", "title", and bins, low, high of each axis)."""


class THnDModel(_Model):
    """("name", "title", axes, [bins], [low], [high]) or ("name", "title", axes, [bins], [edges])."""


class THnSparseDModel(THnDModel):
    """The same as `THnDModel`."""


class TProfile1DModel(_Model):
    """("name", "title", bins, low, high, option), or edges for low and high; with limits of y before the option."""


class TProfile2DModel(_Model):
    """("name", "title", x bins, low, high, y bins, low, high, option)."""


def is_model(value: object) -> bool:
    """Return whether an argument is a model, not a column."""
    return not isinstance(value, str) and isinstance(value, Sequence)


def histogram_tuple(model: Sequence[Any]) -> tuple[Any, ...]:
    """Convert the model of a histogram for `colonnade.DataFrame`."""
    if not is_model(model):
        raise UsageError(f"{model!r} is not the model of a histogram", '("name", "title", bins, low, high)')
    given = tuple(model)
    if len(given) < 5 or not isinstance(given[3], Sequence) or np.isscalar(given[4]):
        return given
    # THnDModel: lists of bins, of lower and of upper edges.
    name, title, axes, bins, *rest = given
    if int(axes) != len(bins):
        raise UsageError(f"a histogram with {axes} axes needs as many numbers of bins, not {len(bins)}")
    if len(rest) == 2:
        parts = [part for each in zip(bins, *rest, strict=True) for part in each]
        return (name, title, *parts)
    if len(rest) == 1:
        return (name, title, *(part for each in zip(bins, rest[0], strict=True) for part in each))
    raise UsageError(f"the model {given!r} has neither ranges nor edges")


def profile_tuple(
    model: Sequence[Any], dimensions: int
) -> tuple[tuple[Any, ...], str, tuple[float, float] | None]:
    """Convert the model of a profile for `colonnade.DataFrame`, with the kind of errors and limits of values."""
    given = list(model)
    option = given.pop() if len(given) > 2 and isinstance(given[-1], str) else ""
    spread = option.strip().lower() or "mean"
    if spread not in ("mean", "s", "i", "g"):
        raise UsageError(f"the option of a profile is '', 's', 'i' or 'g', not '{option}'")
    limits = None
    size = 2
    for _ in range(dimensions):
        size += 2 if len(given) > size + 1 and not np.isscalar(given[size + 1]) else 3  # edges, or a range
    if len(given) == size + 2:
        low, high = given[-2:]
        limits = (float(low), float(high)) if low != high else None
        given = given[:-2]
    return tuple(given), spread, limits


class ESnapshotOutputFormat(enum.Enum):
    """The formats of snapshots, of which RNTuple is written."""

    kDefault = 0
    kTTree = 1
    kRNTuple = 2


class ELogLevel(enum.IntEnum):
    """How much ROOT prints."""

    kUnset = 0
    kFatal = 1
    kError = 2
    kWarning = 3
    kInfo = 4
    kDebug = 5


class RCompressionSetting:
    """The namespace of the numbers of compression algorithms."""

    class EAlgorithm(enum.IntEnum):
        """Algorithms: 100 times one and a level are a setting."""

        kInherit = -1
        kUseGlobal = 0
        kZLIB = 1
        kLZMA = 2
        kOldCompressionAlgo = 3
        kLZ4 = 4
        kZSTD = 5
        kUndefined = 6


_NO_ALGORITHM = (
    RCompressionSetting.EAlgorithm.kInherit,
    RCompressionSetting.EAlgorithm.kUseGlobal,
    RCompressionSetting.EAlgorithm.kUndefined,
)

_WRITING = {
    "fApproxZippedClusterSize": "cluster_size",
    "fMaxUnzippedClusterSize": "max_cluster_size",
    "fInitialUnzippedPageSize": "initial_page_size",
    "fMaxUnzippedPageSize": "page_size",
    "fEnablePageChecksums": "checksums",
    "fEnableSamePageMerging": "same_page_merging",
}
"""Options of RNTuple, and those of `colonnade.create`."""

_MODES: dict[str, WriteMode] = {
    "RECREATE": "recreate",
    "UPDATE": "update",
    "CREATE": "create",
    "NEW": "create",
}


class RSnapshotOptions:
    """The options of a snapshot, in the order of ROOT's constructor; those of TTrees alone have no effect."""

    _defaults: ClassVar[dict[str, Any]] = {
        "fMode": "RECREATE",
        "fCompressionAlgorithm": 5,
        "fCompressionLevel": 5,
        "fAutoFlush": 0,
        "fSplitLevel": 99,
        "fLazy": False,
        "fOverwriteIfExists": False,
        "fVector2RVec": True,
        "fBasketSize": -1,
        "fApproxZippedClusterSize": 128 << 20,
        "fMaxUnzippedClusterSize": 1280 << 20,
        "fMaxUnzippedPageSize": 1 << 20,
        "fInitialUnzippedPageSize": 256,
        "fEnablePageChecksums": True,
        "fEnableSamePageMerging": True,
        "fOutputFormat": "RNTuple",
        "fIncludeVariations": False,
    }

    def __init__(self, *values: Any) -> None:
        if len(values) > len(self._defaults) - 1:
            raise UsageError(f"snapshots have no {len(values)} options", ", ".join(self._defaults))
        for name, value in [*self._defaults.items(), *zip(self._defaults, values, strict=False)]:
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            raise UnsupportedError(
                f"snapshots have no option {name}",
                f"{', '.join(self._defaults)}; or the options of colonnade.DataFrame.snapshot",
            )
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"snapshots have no option {name}")


class SnapshotSettings(NamedTuple):
    """What `RSnapshotOptions` ask for; `writing` are options of `DataFrame.snapshot`."""

    writing: dict[str, Any]
    is_lazy: bool = False
    with_variations: bool = False


def _mode(given: str, target: str) -> WriteMode:
    mode = _MODES.get(given.upper())
    if mode is None:
        raise UsageError(f"a snapshot has no fMode {given!r}", ", ".join(map(repr, _MODES)))
    is_missing = _core.is_local_file(target) and not os.path.exists(_core.local_path(target))
    return "create" if mode == "update" and is_missing else mode


def snapshot_settings(options: Any, target: str) -> SnapshotSettings:
    """Return the settings of a snapshot to a target with ROOT's options."""
    if options is None:
        return SnapshotSettings({})
    if "TTREE" in str(options.fOutputFormat).upper():
        raise UnsupportedError("snapshots are written as RNTuple, not as TTree")
    algorithm, level = int(options.fCompressionAlgorithm), int(options.fCompressionLevel)
    writing: dict[str, Any] = {"mode": _mode(str(options.fMode), target)}
    if algorithm not in _NO_ALGORITHM:
        writing["compression"] = 100 * algorithm + level if level else "none"
    for theirs, ours in _WRITING.items():
        if (value := getattr(options, theirs)) != RSnapshotOptions._defaults[theirs]:
            writing[ours] = value
    return SnapshotSettings(writing, bool(options.fLazy), bool(options.fIncludeVariations))
