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


def test_lists_of_types_with_a_name(tmp_path):
    """["T"] is a std::vector<T>, which RDataFrame reads where it refuses a collection without a type name."""
    types = [
        "std::optional<float>",
        "std::set<int>",
        "std::map<int,float>",
        "std::unique_ptr<float>",
        "Double32_t",
    ]
    path = tmp_path / "f.root"
    schema = {f"l{number}": [name] for number, name in enumerate(types)}
    schema["nested"] = {"l": [["std::optional<float>"]]}
    with colonnade.create(path, "Events", schema) as writer:
        writer.fill(l0=[None, 1], l1=[[2]], l2=[{3: 4}], l3=[None, 5], l4=[6], nested={"l": [[7, None]]})
    ((entries, columns),) = root_finds(path)
    assert entries == 1
    assert {"l0", "l1", "l2", "l3", "l4", "nested.l"} <= set(columns)
    with colonnade.open(path) as data_set:
        assert data_set.schema["l4"].type == "std::vector<Double32_t>"
        assert data_set.schema["nested.l"].type == "std::vector<std::vector<std::optional<float>>>"
        assert data_set["nested.l"].to_list() == [[[7, None]]]
