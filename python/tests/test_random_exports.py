"""Random data sets of all types through Parquet, Arrow and CSV files and back: the same values and the same types."""

from __future__ import annotations

import json
import math
from pathlib import Path

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from root_values import same
from test_round_trip import KINDS, samples

import colonnade

MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def write(path: Path, schema: dict, entries: list[dict], ends: set[int]) -> None:
    # A file system may write out at once what takes the place of another file, which is waited for.
    path.unlink(missing_ok=True)
    with colonnade.create(path, "Events", schema) as writer:
        for number, entry in enumerate(entries):
            if number in ends:
                writer.commit_cluster()
            writer.fill(**entry)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@example(
    sample=(
        {
            "t": "std::optional<std::tuple<int,float>>",
            "m": "std::vector<std::optional<std::map<std::string,int>>>",
        },
        [{"t": (1, 2.0), "m": [[("a", 1)], None]}, {"t": None, "m": []}],
    ),
    ends=set(),
)
@example(
    sample=({"v": "std::vector<std::variant<std::int64_t,double>>"}, [{"v": [2**53 + 1, 1.5]}, {"v": []}]),
    ends=set(),
)
@given(sample=samples(), ends=st.sets(st.integers(0, 6)))
@MANY
def test_exports_come_back(tmp_path: Path, ending: str, sample: tuple, ends: set[int]) -> None:
    schema, entries = sample
    first, table, back = (tmp_path / name for name in ("first.root", f"x{ending}", "back.root"))
    write(first, schema, entries, ends)
    columns = [
        name for name, spec in schema.items() if ending == ".arrow" or "variant" not in json.dumps(spec)
    ]
    if not columns:
        return
    colonnade.export(first, table, columns=columns, step_size=2, overwrite=True)
    report = colonnade.import_table(table, (back, "Events"), overwrite=True, verify=True, batch_size=3)
    assert report.entries == len(entries)
    with colonnade.open(first) as ours, colonnade.open(back) as theirs:
        assert [theirs.schema[name].type for name in columns] == [ours.schema[name].type for name in columns]
        assert [str(theirs.schema[name]) for name in columns] == [str(ours.schema[name]) for name in columns]
        for name in columns:
            assert same(
                theirs[name].to_list() if len(entries) else [], ours[name].to_list() if len(entries) else []
            )


@given(sample=samples(KINDS))
@MANY
def test_libraries_get_the_values(tmp_path: Path, sample: tuple) -> None:
    """Arrow, pandas, Polars and Awkward hold the same values, in one piece and in steps."""
    schema, entries = sample
    path = tmp_path / "f.root"
    write(path, schema, entries, {2})
    with colonnade.open(path) as data:
        for name, spec in schema.items():
            wanted = data.arrays([name], library="ak")[name]
            table = data.to_arrow([name])
            table.validate(full=True)
            assert plain(table[name].to_pylist()) == plain(ak.to_list(wanted))
            pieces = pa.Table.from_batches(data.to_arrow_reader([name], step_size=2), schema=table.schema)
            assert plain(pieces[name].to_pylist()) == plain(table[name].to_pylist())
            if "variant" not in json.dumps(spec):
                frame = data.arrays([name], library="pl")
                assert plain(frame[name].to_list()) == plain(table[name].to_pylist())
            series = data.arrays([name], library="pd")[name]
            assert len(series) == len(entries)


def plain(value: object) -> object:
    """Tuples as Arrow has them, structs with the members 0, 1, ...; NaN as a text, so that it equals itself."""
    if isinstance(value, tuple):
        return {str(number): plain(item) for number, item in enumerate(value)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, float) and (math.isnan(value) or value == 0):
        return f"{math.copysign(1, value)} {value}" if value == 0 else "nan"
    return value


def test_special_values_and_long_lists(tmp_path: Path) -> None:
    """NaN, infinities, signs of zeros and the smallest numbers keep their bits; texts of megabytes their length."""
    numbers = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e308]
    first, table, back = (tmp_path / name for name in ("first.root", "x.parquet", "back.root"))
    with colonnade.create(
        first, "Events", {"x": "double", "v": "std::vector<float>", "s": "std::string"}
    ) as writer:
        for number in numbers:
            writer.fill(x=number, v=[number if abs(number) < 1e30 else 0.0] * 3, s="é" * 1_000_000)
        writer.fill(x=1.0, v=np.arange(3_000_000, dtype=np.float32), s="")
    colonnade.export(first, table)
    colonnade.import_table(table, (back, "Events"), verify=True)
    with colonnade.open(first) as ours, colonnade.open(back) as theirs:
        assert np.asarray(theirs["x"]).tobytes() == np.asarray([*numbers, 1.0]).tobytes()
        assert ak.num(theirs["v"], axis=1).to_list() == [3] * 7 + [3_000_000]
        assert np.asarray(ak.flatten(theirs["v"])).tobytes() == np.asarray(ak.flatten(ours["v"])).tobytes()
        assert [len(text) for text in theirs["s"].to_list()] == [1_000_000] * 7 + [0]


@given(data=st.data())
@MANY
def test_csv_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    """Numbers and texts, whatever characters these have. Empty texts, and texts that look like numbers, do too."""
    first, table, back = (tmp_path / name for name in ("first.root", "x.csv", "back.root"))
    texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
    count = data.draw(st.integers(1, 12))
    columns = {
        "n": data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=count)),
        "x": data.draw(
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=count, max_size=count)
        ),
        # The first one tells pyarrow that the column is one of texts.
        "s": ["a text", *data.draw(st.lists(texts, min_size=count - 1, max_size=count - 1))],
    }
    columns["x"][0] = 0.5
    with colonnade.create(
        first, "Events", {"n": "std::int64_t", "x": "double", "s": "std::string"}
    ) as writer:
        writer.extend({**columns, "n": np.array(columns["n"], np.int64), "x": np.array(columns["x"])})
    colonnade.export(first, table, overwrite=True)
    colonnade.import_table(table, (back, "Events"), overwrite=True)
    with colonnade.open(back) as read:
        assert read["n"].to_list() == columns["n"]
        assert read["x"].to_list() == columns["x"]
        assert read["s"].to_list() == columns["s"]


def test_columns_that_others_changed_get_the_types_that_they_have_now(tmp_path: Path) -> None:
    first, table, back = (tmp_path / name for name in ("first.root", "x.parquet", "back.root"))
    schema = {"o": "std::optional<int>", "s": "std::set<int>", "n": "int", "m": "int"}
    with colonnade.create(first, "Events", schema, field_descriptions={"n": "a number"}) as writer:
        writer.fill(o=1, s=[1, 2], n=3, m=4)
    colonnade.export(first, table)
    changed = pq.read_table(table)
    assert b"colonnade.field" in changed.schema.field("n").metadata
    wide = changed.schema.field("n").with_type(pa.int64())
    changed = changed.set_column(2, wide, changed["n"].cast(pa.int64()))
    changed = changed.set_column(3, changed.schema.field("m"), pa.array([None], pa.int32()))
    pq.write_table(changed, table)
    colonnade.import_table(table, (back, "Events"), verify=True)
    with colonnade.open(back) as read:
        types = {name: read.schema[name].type for name in schema}
        assert types == {
            "o": "std::optional<std::int32_t>",
            "s": "std::set<std::int32_t>",
            "n": "std::int64_t",
            "m": "std::optional<std::int32_t>",
        }
        assert read["m"].to_list() == [None]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_members_that_were_exported_by_their_paths_come_back(tmp_path: Path, ending: str) -> None:
    first, table, back = (tmp_path / name for name in ("first.root", f"x{ending}", "back.root"))
    schema = {"r": {"s": "std::set<int>"}, "v": [{"q": "std::set<int>", "o": "std::optional<int>"}]}
    with colonnade.create(first, "Events", schema) as writer:
        writer.fill(r={"s": [1, 2]}, v=[{"q": [3], "o": 4}, {"q": [], "o": None}])
    colonnade.export(first, table, columns=["r.s", "v.q", "v.o"])
    report = colonnade.import_table(table, (back, "Events"), verify=True)
    assert report.renamed == {"r.s": "r_s", "v.q": "v_q", "v.o": "v_o"}
    with colonnade.open(back) as read:
        assert read.arrays().to_list() == [{"r_s": [1, 2], "v_q": [[3], []], "v_o": [4, None]}]
        assert read.schema["r_s"].type == "std::set<std::int32_t>"
