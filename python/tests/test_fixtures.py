"""Every file of tests/fixtures, which ROOT wrote: the values that ROOT reads from it, and those that uproot reads."""

from __future__ import annotations

import json

import awkward as ak
import pytest
import uproot
from locations import EXPECTED, FIXTURES
from root_values import expected_values, fields_of, load, python_values, same

import colonnade

FILES = sorted(path.stem for path in EXPECTED.glob("*.json"))
DATA_SETS = [
    (name, data_set)
    for name in FILES
    for data_set in json.loads((EXPECTED / f"{name}.json").read_text("utf-8"))
]

# What uproot 5.7 cannot read or reads differently from ROOT, whose values are the reference above.
UPROOT_UNREADABLE_FILES = {
    "bare": "no ROOT file",
    "bare_uncompressed": "no ROOT file",
    "max_key_size": "payloads split over several keys",
    "max_key_size_compressed": "payloads split over several keys",
    "suppressed_columns": "another representation in each cluster",
}
UPROOT_DIFFERS = {
    "variant": "in all clusters after the first, and inside of others",
    "unique_ptr": "read as lists",
    "optional<std::optional": "not read",
    "Empty": "records without members read as tuples",
    "Everything": "has a unique_ptr",
    "atomic<fixture": "not read",
}


def test_all_fixtures_have_expected_values():
    assert len(FILES) > 40
    assert {path.stem for path in FIXTURES.glob("*.root")} == set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_data_sets_are_listed(file):
    assert sorted(colonnade.datasets(FIXTURES / f"{file}.root")) == sorted(load(EXPECTED / f"{file}.json"))


@pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")
@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_values_are_those_of_root(file, name):
    data = load(EXPECTED / f"{file}.json")[name]
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    assert data_set.num_entries == data["entries"]
    assert data_set.description == data["description"]
    fields = fields_of(data_set)
    assert set(fields) == set(data["values"])
    arrays = data_set.arrays()
    assert len(arrays) == data["entries"]
    for field, info in fields.items():
        expected = [expected_values(info, value) for value in data["values"][field]]
        assert same(python_values(arrays[field]), expected), field


@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_unreadable_fields_are_listed_with_the_reason(file, name):
    unreadable = load(EXPECTED / f"{file}.json")[name].get("unreadable", {})
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    assert {field for field, info in data_set.schema.items() if info.unreadable} == set(unreadable)
    for field in unreadable:
        assert field not in data_set.field_names
        with pytest.raises(colonnade.UnsupportedError, match="cannot be read") as caught:
            data_set.arrays(field)
        assert caught.value.field == field


@pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")
@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_parts_are_slices_of_the_whole(file, name):
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    count = data_set.num_entries
    whole = {field: python_values(data_set[field]) for field in data_set.field_names}
    for start, stop in [(0, 0), (0, 1), (1, count), (count // 3, 2 * count // 3), (count, count)]:
        part = data_set.arrays(entry_start=start, entry_stop=stop)
        for field, values in whole.items():
            assert same(python_values(part[field]), values[start:stop]), (field, start, stop)


@pytest.mark.parametrize(
    ("file", "name"), [each for each in DATA_SETS if each[0] not in UPROOT_UNREADABLE_FILES]
)
def test_values_are_those_of_uproot(file, name):
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    with uproot.open(FIXTURES / f"{file}.root") as opened:
        theirs = opened[name]
        for field, info in fields_of(data_set).items():
            if any(part in below.type for below in info.walk() for part in UPROOT_DIFFERS):
                continue
            if any(below.type.endswith("::Tiny") for below in info.walk()):
                continue  # enumerations over std::int8_t, stored as char, which uproot reads without a sign
            if file == "encodings_real32_quant" and field == "double_quant20":
                continue  # rounded to single precision by uproot, not by ROOT
            expected = theirs.arrays([field])[field]
            assert same(python_values(data_set[field]), python_values(expected)), field


@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_arrow_holds_the_same_values(file, name):
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    for field in data_set.field_names:
        if (file, field) == ("types_basic", "string"):  # one of them is not UTF-8
            with pytest.raises(colonnade.ConversionError, match="field=string"):
                data_set.arrays(field, library="pa")
            continue
        column = data_set.arrays(field, library="pa").column(0).combine_chunks()
        column.validate(full=True)
        assert same(_from_arrow(column.to_pylist()), _from_arrow(ak.to_list(data_set[field]))), field


def _from_arrow(value):
    """Tuples are structs with members "0", "1" there."""
    if isinstance(value, tuple):
        return {str(number): _from_arrow(item) for number, item in enumerate(value)}
    if isinstance(value, list):
        return [_from_arrow(item) for item in value]
    if isinstance(value, dict):
        return {key: _from_arrow(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize(("file", "name"), DATA_SETS)
def test_all_pages_verify(file, name):
    calls = []
    data_set = colonnade.open(FIXTURES / f"{file}.root", name)
    pages = data_set.verify(lambda done, total: calls.append((done, total)))
    # Attribute sets are verified, too; progress is that of the pages of the data set itself.
    assert not calls or calls[-1][0] == calls[-1][1] <= pages
    assert data_set.attributes or not calls or calls[-1] == (pages, pages)
