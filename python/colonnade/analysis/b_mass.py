"""Mass of B mesons from their decays into three kaons: selection, mass, histogram and plot.

The analysis of the LHCb open data (B2HHH) reads 18 of the 26 columns. It works on arrays, one block of events at a
time, so that `Dataset.iterate()` can feed it with data sets of any size.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colonnade.reading.aside import written_whole

__all__ = ["BINS", "COLUMNS", "KAON_MASS", "WINDOW", "Candidates", "histogram", "plot", "select"]

KAON_MASS = 493.677
"""Mass of the charged kaon in MeV/c^2."""
WINDOW = (5050.0, 5500.0)
"""The masses of interest in MeV/c^2, the upper end excluded."""
BINS = 500
"""Bins of the histogram in `WINDOW`."""
COLUMNS = tuple(
    f"{track}_{name}"
    for name in ("isMuon", "ProbK", "ProbPi", "PX", "PY", "PZ")
    for track in ("H1", "H2", "H3")
)
"""The columns that the analysis reads."""

Floats = NDArray[np.float64]


class Candidates(NamedTuple):
    """The outcome of `select`."""

    selected: NDArray[np.bool_]
    """For each event: it is a candidate."""
    mass: Floats
    """Masses of the candidates in MeV/c^2, in the order of the events."""


def _column(columns: Mapping[str, ArrayLike], name: str) -> NDArray[Any]:
    return np.asarray(columns[name])


def select(columns: Mapping[str, ArrayLike]) -> Candidates:
    """Find the B candidates in a block of events.

    A candidate has three tracks that are likely kaons (ProbK > 0.5), unlikely pions (ProbPi < 0.5) and no muons, and a
    mass inside `WINDOW`.

    Args:
        columns: the `COLUMNS`, each an array with one value per event; momenta in MeV/c.

    Returns:
        Which events are candidates, and the masses of those in MeV/c^2.

    Raises:
        KeyError: a column is missing.
    """
    selected: NDArray[np.bool_] = np.ones(_column(columns, "H1_isMuon").shape, dtype=np.bool_)
    for track in ("H1", "H2", "H3"):
        selected &= _column(columns, f"{track}_isMuon") == 0
        selected &= _column(columns, f"{track}_ProbK") > 0.5
        selected &= _column(columns, f"{track}_ProbPi") < 0.5

    # Few events remain: the mass is computed only for these.
    events = np.flatnonzero(selected)
    energy = np.zeros(events.size)
    total = np.zeros((3, events.size))
    for track in ("H1", "H2", "H3"):
        momentum = np.stack([_column(columns, f"{track}_{axis}")[events] for axis in ("PX", "PY", "PZ")])
        total += momentum
        energy += np.sqrt(np.sum(momentum * momentum, axis=0) + KAON_MASS * KAON_MASS)
    mass = np.sqrt(energy * energy - np.sum(total * total, axis=0))

    inside = (mass >= WINDOW[0]) & (mass < WINDOW[1])
    selected[events[~inside]] = False
    return Candidates(selected, mass[inside])


def histogram() -> Any:
    """Make an empty histogram (`hist.Hist`) of masses in MeV/c^2, to be filled with `fill(mass)`."""
    import hist

    axis = hist.axis.Regular(BINS, *WINDOW, name="mass", label=r"$m_{KKK}$ [MeV/$c^2$]")
    return hist.Hist(axis, storage=hist.storage.Int64())


def plot(masses: Any, path: str | Path) -> None:
    """Draw a histogram made by `histogram` into an image file, PNG by the usual suffix.

    Args:
        masses: the filled histogram.
        path: the file to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Without pyplot: no display, and no state shared with the caller's own plots.
    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    edges, counts = masses.axes[0].edges, masses.values()
    axes.stairs(counts, edges, fill=True, color="tab:blue", alpha=0.35)
    axes.stairs(counts, edges, color="tab:blue", linewidth=0.8)
    axes.set_xlim(*WINDOW)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(r"$m_{KKK}$ [MeV/$c^2$]")
    axes.set_ylabel(f"candidates / {(WINDOW[1] - WINDOW[0]) / BINS:.1f} MeV/$c^2$")
    axes.set_title(rf"$B^\pm \to K^\pm K^+ K^-$, {int(counts.sum()):,} candidates".replace(",", r"$\,$"))
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(path).suffix.removeprefix(".") or "png", dpi=120)
    with written_whole(Path(path), "the plot cannot be written") as aside:
        aside.write_bytes(drawn.getvalue())
