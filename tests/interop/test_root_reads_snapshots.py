"""Snapshots into files of ROOT: ROOT finds its own objects there as before, and reads what was added."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import value_differences
from programs import FIXTURES, expected

import colonnade
from colonnade import DataFrame
from colonnade.errors import LeftOutWarning

WRITE = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1], "RECREATE")
histogram = ROOT.TH1D("h", "", 3, 0, 3)
histogram.Fill(1)
histogram.Write()
file.Close()
"""

READ = """
import sys, ROOT
file = ROOT.TFile(sys.argv[1])
print(file.Get("h").GetEntries(), file.TestBit(ROOT.TFile.kRecovered))
print(*(ROOT.RDataFrame(name, sys.argv[1]).Sum("n").GetValue() for name in ("Few", "d/More")))
"""


# Of all types but those without values and projected sizes, which are no columns of their own.
TYPES = [
    "classes",
    "enums",
    "maps",
    "nullables",
    "projected",
    "records",
    "sequences",
    "sets",
    "untyped",
    "variants",
    "wrapped",
]


def run(script: str, path: Path) -> str:
    command = [sys.executable, "-W", "ignore", "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_other_objects_of_a_file_stay(tmp_path: Path) -> None:
    source, path = tmp_path / "source.root", tmp_path / "f.root"
    with colonnade.create(source, "Events") as writer:
        writer.extend({"n": np.arange(400)})
    run(WRITE, path)
    DataFrame("Events", source).filter("n < 3").snapshot(path, "Few", mode="update")
    DataFrame("Events", source, executor=2).filter("n < 5").snapshot(path, "d/More", append=True)
    assert sorted(colonnade.datasets(path)) == ["Few", "d/More"]
    assert run(READ, path).split() == ["1.0", "False", "3.0", "10.0"]


def schema_of(fields: list[dict[str, Any]]) -> list[Any]:
    """Names and types. An alias may be another spelling of the type, or say that it has 32 bits."""
    keys = ("name", "type", "structure", "array_size", "type_version")
    return [
        [*map(field.get, keys), "Double32_t" in field.get("alias", ""), schema_of(field.get("fields", []))]
        for field in fields
    ]


@pytest.mark.filterwarnings(f"ignore::{LeftOutWarning.__module__}.LeftOutWarning")
@pytest.mark.parametrize("fixture", TYPES)
def test_types_stay(root: Any, tmp_path: Path, fixture: str) -> None:
    source, path = FIXTURES / f"types_{fixture}.root", tmp_path / "f.root"
    for name, content in expected(f"types_{fixture}").items():
        frame = DataFrame(name, source, executor=2 if fixture == "classes" else None)
        sizes = {field["name"] for field in content["fields"] if "Cardinality" in field["type"]}
        columns = [each for each in frame.column_names if each in content["values"] and each not in sizes]
        assert columns
        frame.snapshot(path, name, columns)
        read = root.dump(path, name)[name]
        assert root.printed == ""
        wanted = [field for field in content["fields"] if field["name"] in columns]
        assert schema_of(read["fields"]) == schema_of(wanted)
        values = {each: content["values"][each] for each in columns}
        unordered = {field["name"] for field in wanted if "unordered_" in field["type"]}
        assert list(value_differences(values, read["values"], unordered)) == []
