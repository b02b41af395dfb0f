"""Files that Colonnade merged: ROOT reads from them what was in the inputs, with zeros for what some lacked."""

from __future__ import annotations

import pytest

import colonnade

FIRST = {"i": "std::int32_t", "x": "float", "s": "std::string", "v": "std::vector<std::int16_t>"}
SECOND = {"x": "float", "v": "std::vector<std::int16_t>", "late": "std::vector<std::string>", "d": "double"}


def write(path, schema, count, compression):
    with colonnade.create(path, "Events", schema, compression=compression) as writer:
        for number in range(count):
            if number == count // 2:
                writer.commit_cluster()
            values = {
                "i": number,
                "x": number / 2,
                "s": f"text {number}",
                "v": list(range(number % 4)),
                "late": ["a", "b"][: number % 3],
                "d": -1.0 * number,
            }
            writer.fill(**{name: values[name] for name in schema})


RECLUSTERED = {"cluster_size": "100 kB"}


@pytest.mark.parametrize(
    ("mode", "way"),
    [("filter", {}), ("filter", RECLUSTERED), ("union", {}), ("union", RECLUSTERED), ("appended", {})],
)
def test_root_reads_the_same_values(root, tmp_path, mode, way):
    first, second, out = tmp_path / "first.root", tmp_path / "second.root", tmp_path / "out.root"
    write(first, FIRST, 20, "zstd")
    # Other encodings become other representations, but not behind what is there.
    write(second, SECOND, 13, "zstd" if mode == "appended" else "none")
    if mode == "appended":
        colonnade.merge(out, [first], mode="union")
        colonnade.merge(out, [first, second], mode="union", append=True)
    else:
        colonnade.merge(out, [first, second, tmp_path / "first.root"][:2], mode=mode, verify="values", **way)
    ours = colonnade.open(out).arrays()
    read = root.dump(out, "Events")["Events"]
    assert read["entries"] == 33
    assert set(read["values"]) == set(ours.fields)
    for name in ours.fields:
        assert read["values"][name] == ours[name].to_list()


def test_root_reads_where_entries_came_from(root, tmp_path):
    paths = [tmp_path / "a.root", tmp_path / "b.root"]
    for number, path in enumerate(paths):
        write(path, FIRST, 10 + number, "zstd")
    colonnade.merge(tmp_path / "out.root", paths)
    read = root.dump(tmp_path / "out.root", "Events")["Events"]
    (inputs,) = read["attribute_sets"]
    assert inputs["name"] == "merged_inputs"
    ranges = [(begin, length, data["uri"], data["data_set"]) for begin, length, data in inputs["entries"]]
    assert ranges == [(0, 10, str(paths[0]), "Events"), (10, 11, str(paths[1]), "Events")]


def test_root_merges_records_that_later_inputs_have_more_members_of(root, tmp_path):
    """ROOT's merger takes pages of one column for those of another unless fields are numbered depth first."""
    first, second, out = tmp_path / "first.root", tmp_path / "second.root", tmp_path / "out.root"
    schemas = [
        {"r": {"a": "int"}, "l": [{"u": "short"}], "n": "long"},
        {"r": {"b": "std::string", "a": "int"}, "l": [{"w": "double", "u": "short"}], "n": "long"},
    ]
    for path, schema in zip([first, second], schemas, strict=True):
        with colonnade.create(path, "Events", schema, compression="zstd") as writer:
            for number in range(10):
                values = {"a": number, "b": f"text {number}", "u": number, "w": number / 2}
                writer.fill(
                    r={name: values[name] for name in schema["r"]},
                    l=[{name: values[name] for name in schema["l"][0]}] * (number % 3),
                    n=-number,
                )
    colonnade.merge(out, [first, second], mode="union", verify="values")
    root.call("hadd", [str(out)], str(tmp_path / "again.root"))
    assert (
        colonnade.open(tmp_path / "again.root").arrays().to_list() == colonnade.open(out).arrays().to_list()
    )
