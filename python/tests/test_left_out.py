"""Fields that cannot be read: left out where nobody named them, with a warning that does; an error by name."""

from __future__ import annotations

import warnings

import pytest
from locations import FIXTURES

import colonnade
from colonnade import DataFrame, LeftOutWarning

FILE = FIXTURES / "types_streamer.root"  # before, blob (streamed by ROOT), after
REST = ["before", "after"]


@pytest.fixture(scope="module")
def data():
    return colonnade.open(FILE)


@pytest.fixture(scope="module")
def frame():
    return DataFrame(colonnade.open(FILE).name, FILE)


def left_out(what="blob"):
    return pytest.warns(LeftOutWarning, match=f"'{what}' \\(.*")


@pytest.mark.parametrize("library", ["ak", "np", "pa", "pd"])
def test_arrays_of_everything(data, library):
    with left_out():
        arrays = data.arrays(library=library)
    names = arrays.fields if library == "ak" else getattr(arrays, "column_names", None) or list(arrays)
    assert list(names) == REST


def test_other_ways_to_ask_for_everything(data, tmp_path):
    with left_out():
        assert next(list(step.fields) for step in data.iterate(step_size=2)) == REST
    with left_out():
        assert data.select(None).field_names == REST
    with left_out():
        data.show()
    with left_out():
        colonnade.export(data, tmp_path / "all.parquet")


def test_wildcards(data):
    with left_out():
        assert data.arrays("b*").fields == ["before"]
    with left_out():
        assert data.arrays(["after", "b*"]).fields == ["after", "before"]
    with pytest.raises(colonnade.NotFoundError):  # nothing that can be read
        data.arrays("bl*")


def test_what_is_named_is_an_error(data, frame):
    with pytest.raises(colonnade.UnsupportedError, match="cannot be read"):
        data.arrays("blob")
    with pytest.raises(colonnade.UnsupportedError, match="ROOT"):
        frame.take("blob")


def test_no_warning_where_nothing_is_left_out(data, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert data.field_names == REST
        assert data.arrays(REST).fields == REST
        assert data.arrays("a*").fields == ["after"]
        assert "2 fields" in repr(data)
        assert frame.to_awkward(REST).fields == REST
        assert frame.column_names == REST
        assert "blob" not in frame._repr_html_()


def test_data_frames(frame, tmp_path):
    with left_out():
        assert frame.to_awkward().fields == REST
    with left_out():
        assert list(frame.to_numpy("b*")) == ["before"]
    with left_out():
        assert "before" in str(frame.display().value)
    with left_out():
        made = frame.snapshot(str(tmp_path / "all.root"))
    assert made.column_names == REST
    with left_out():
        assert frame.cache().column_names == REST
