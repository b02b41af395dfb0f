"""Imported columns of TTrees in a cache on a real server."""

from __future__ import annotations

import numpy as np
import uproot
from s3_server import BUCKET

from colonnade import DataFrame
from colonnade.importing import tree_columns


def test_imported_columns_that_are_damaged_in_s3_are_imported_again(s3, s3_uri, tmp_path, monkeypatch):
    tree = tmp_path / "tree.root"
    with uproot.recreate(tree) as file:
        file.mktree("Events", {"run": "int32", "met": "float64"}).extend(
            {"run": np.arange(3000), "met": np.random.default_rng(4).random(3000)}
        )
    home = s3_uri("home")
    expected = DataFrame("Events", str(tree), cache=home).sum("met").value
    random = np.random.default_rng(3)
    for _ in range(8):
        (kept,) = tree_columns.kept_files(home)
        stored = s3.data / BUCKET / kept.path.removeprefix(f"s3://{BUCKET}/")
        damaged = bytearray(stored.read_bytes())
        damaged[random.integers(0, len(damaged))] ^= 1 << random.integers(0, 8)
        stored.write_bytes(damaged)
        assert DataFrame("Events", str(tree), cache=home).sum("met").value == expected
    # What is sound is not imported again.
    imported = []
    monkeypatch.setattr(tree_columns._TreeFile, "write", lambda *_: imported.append(1))
    assert DataFrame("Events", str(tree), cache=home).sum("met").value == expected
    assert imported == []
