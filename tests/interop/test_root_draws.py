"""Pads drawn by ROOT and by `colonnade.root`: the same limits of axes."""

from __future__ import annotations

from typing import Any

import drawing_tasks
import pytest

import colonnade.root


@pytest.mark.parametrize("seed", range(3))
def test_axes_have_the_limits_of_root(root: Any, seed: int) -> None:
    for number in range(30 * seed, 30 * seed + 30):
        expected = root.call("drawn_limits", number)
        found = drawing_tasks.limits(colonnade.root, number)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), number
