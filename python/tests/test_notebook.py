"""Displays in notebooks: short, foldable, in the colours of the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "wide.root"
    with colonnade.create(path, "Events") as writer:
        writer.extend({f"AnalysisJetsAuxDyn:a_long_name_{k}": np.zeros(2) for k in range(1000)})
    return path


def is_short(made: str) -> None:
    assert len(made) < 60_000
    assert made.count("<details>") == made.count("</details>") >= 1
    assert made.count("<tr>") == made.count("</tr>")
    assert not re.search(r"color|background|<style", made)


def test_wide_data_sets(wide):
    for shown in (colonnade.open(wide), colonnade.open(wide).schema, DataFrame("Events", wide)):
        made = shown._repr_html_()
        is_short(made)
        assert "980 more" in made
        assert "and 800 more" in made


def test_results_of_many_variations():
    frame = DataFrame(100).define("x", "rdfentry_ * 1.0")
    varied = frame.vary("x", "{" + ", ".join(f"x * {k}" for k in range(1, 101)) + "}", 100, "scale")
    histogram = varied.histo1d(("h", "t", 100, 0, 1000), "x")
    variations = colonnade.variations_for(histogram)
    is_short(variations._repr_html_())  # not computed yet
    assert variations["scale:3"].sum() == 100
    made = variations._repr_html_()
    is_short(made)
    assert "<svg" in made
    assert "Hist with a sum of 100" in made
    numbers = colonnade.variations_for(varied.sum("x"))
    assert numbers["nominal"] == 4950
    assert "4950" in numbers._repr_html_()


def test_points_and_entries():
    frame = DataFrame(1000).define("x", "rdfentry_ * 1.0").define("y", "x * x")
    points = frame.graph("x", "y").value
    is_short(points._repr_html_())
    assert repr(points) == "<GraphPoints '': 1000 points>"
    is_short(frame.display(rows=150).value._repr_html_())


def test_labels_of_axes_are_texts():
    varied = DataFrame(10).define("x", "rdfentry_ * 1.0").define("y", "5").vary("x", "{x + 1}", 1, "up")
    result = varied.histo1d("x<y")
    variations = colonnade.variations_for(result)
    assert result.value.sum() == variations["up:0"].sum() == 10
    for shown in (result, variations):
        made = re.sub("<details>.*", "", shown._repr_html_(), flags=re.DOTALL)
        assert "x&lt;y" in made
        assert "x<y" not in made
    assert result.value.axes[0].label == "x<y"
