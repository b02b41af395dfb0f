"""What ROOT's RDataFrame does not read of what Colonnade writes, and its reader does: see docs/root.md."""

from __future__ import annotations

import json
import subprocess
import sys

import colonnade

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import ROOT
found = {}
for path in sys.argv[1:]:
    shown = ROOT.RNTupleReader.Open("Events", path).GetNEntries()
    try:
        frame = ROOT.RDataFrame("Events", path)
        columns = sorted(str(name) for name in frame.GetColumnNames())
    except Exception as error:
        columns = str(error)
    found[path] = [int(shown), columns]
print(json.dumps(found))
"""


def root_finds(*paths):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return [found[str(path)] for path in paths]


def test_lists_of_records_with_optionals(tmp_path):
    member = {"x": "float", "o": "std::optional<std::int32_t>"}
    plain, single, listed = (tmp_path / f"{name}.root" for name in ("plain", "single", "listed"))
    for path, spec, value in (
        (plain, [{"x": "float"}], [{"x": 1.0}]),
        (single, member, {"x": 1.0, "o": None}),
        (listed, [member], [{"x": 1.0, "o": None}, {"x": 2.0, "o": 3}]),
    ):
        with colonnade.create(path, "Events", {"l": spec}) as writer:
            writer.extend([{"l": value}] * 2)
    found = root_finds(plain, single, listed)
    assert [entries for entries, _ in found] == [2, 2, 2]
    assert "l.x" in found[0][1]
    assert {"l.o", "l.x"} <= set(found[1][1])
    # If ROOT lists columns here, it has learned it: docs/root.md wants to know.
    assert "no type name specified for field" in found[2][1]
