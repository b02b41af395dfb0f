"""Samples with metadata: specifications in ROOT's JSON, and what callables learn of a file."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame, RDataFrame, _core, root
from colonnade.errors import (
    ConversionError,
    FileMissingError,
    FormatError,
    NotFoundError,
    StorageError,
    TypeMismatchError,
    UsageError,
)
from colonnade.frame.sample_info import SampleInfo

SIZES = {"signal_a": 5, "signal_b": 7, "background": 11}


@pytest.fixture
def specification(tmp_path: Path) -> dict[str, Any]:
    """Two samples, of two files and of one."""
    first = 0
    for name, entries in SIZES.items():
        with colonnade.create(tmp_path / f"{name}.root", "Events") as writer:
            writer.extend({"x": np.arange(first, first + entries, dtype=np.float64)})
        first += entries
    return {
        "samples": {
            "signal": {
                "trees": ["Events"],
                "files": [f"{tmp_path}/signal_*.root"],
                "metadata": {"xsec": 1.5, "id": 7, "kind": "data"},
            },
            "background": {
                "trees": ["Events"],
                "files": [f"{tmp_path}/background.root"],
                "metadata": {"xsec": 30.25, "id": -1, "kind": "mc"},
            },
        }
    }


@pytest.fixture
def path(specification: dict[str, Any], tmp_path: Path) -> Path:
    """The specification as a file."""
    made = tmp_path / "spec.json"
    made.write_text(json.dumps(specification))
    return made


EXPECTED = np.r_[np.full(12, 1.5), np.full(11, 30.25)]


def test_large_integers_of_samples_are_not_rounded(specification: dict[str, Any]) -> None:
    """The type is that for the first file."""
    df = DataFrame.from_spec(specification)
    node = df.define_per_sample("y", lambda info: 0.5 if info.sample == "signal" else 2**53 + 1)
    with pytest.raises(TypeMismatchError, match="9007199254740993 is not a double"):
        _ = node.take("y").value


def test_metadata_of_samples(path: Path, specification: dict[str, Any]) -> None:
    for source in (path, str(path), specification):
        df = DataFrame.from_spec(source).define_per_sample("xsec", lambda info: info.metadata["xsec"])
        np.testing.assert_array_equal(df.take("xsec").value, EXPECTED)
        kinds = df.define_per_sample("kind", lambda info: f"{info.sample} {info.value('kind')}")
        assert kinds.value_counts("kind").value == {"signal data": 12, "background mc": 11}


def test_what_is_known_of_files(path: Path) -> None:
    seen: list[SampleInfo] = []

    def note(info: SampleInfo) -> int:
        seen.append(info)
        return info.sample_id

    df = DataFrame.from_spec(path, threads=1)
    ids = df.define_per_sample("id", note).take("id").value
    assert ids.tolist() == [0] * 12 + [1] * 11
    assert [str(each) for each in seen] == df.files
    assert [each.entries for each in seen] == [(0, 5), (5, 12), (12, 23)]
    assert all("signal" in each for each in seen[:2])  # it is a text as well
    again = pickle.loads(pickle.dumps(seen[0]))
    assert (again, again.entries, again.metadata) == (seen[0], seen[0].entries, seen[0].metadata)
    with pytest.raises(NotFoundError, match="no 'lumi'"):
        seen[0].value("lumi")


def test_files_without_a_specification_have_entries_and_numbers(path: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.root" for name in SIZES]
    df = DataFrame("Events", [*files, files[0]]).define_per_sample(
        "f", lambda info: 100.0 * info.sample_id + info.entries[0]
    )
    assert df.unique("f").value == [0.0, 105.0, 212.0, 323.0]


def test_samples_in_folders_of_others(specification: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "background.root").rename(tmp_path / "sub" / "background.root")
    for name, files in (("signal", "*.root"), ("background", "sub/*.root")):
        specification["samples"][name]["files"] = [f"{tmp_path}/{files}"]
    df = DataFrame.from_spec(specification).define_per_sample("xsec", lambda info: info.metadata["xsec"])
    np.testing.assert_array_equal(df.take("xsec").value, EXPECTED)


def test_a_file_that_comes_while_samples_are_opened(
    specification: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are listed once."""
    specification["samples"]["signal"]["files"] = [f"{tmp_path}/sig*.root"]
    expand = _core.expand_names

    def expand_and_add(uris: list[str], cache: str) -> list[str]:
        found = expand(uris, cache)
        shutil.copy(tmp_path / "signal_a.root", tmp_path / "sig_late.root")
        return found

    monkeypatch.setattr(_core, "expand_names", expand_and_add)
    df = DataFrame.from_spec(specification).define_per_sample("xsec", lambda info: info.metadata["xsec"])
    np.testing.assert_array_equal(df.take("xsec").value, EXPECTED)


def test_ranges_of_specifications(specification: dict[str, Any]) -> None:
    for given, expected in (([4, 13], range(4, 13)), ([6], range(6))):
        df = DataFrame.from_spec({**specification, "range": given})
        assert df.take("x").value.tolist() == list(expected)
    assert DataFrame.from_spec({**specification, "range": [0, 3]}, entries=(1, 2)).take(
        "x"
    ).value.tolist() == [1]


def test_specifications_on_processes(path: Path) -> None:
    df = DataFrame.from_spec(path, executor=1).define_per_sample("xsec", lambda info: info.metadata["xsec"])
    np.testing.assert_array_equal(df.take("xsec").value, EXPECTED)


def test_friends_of_specifications(specification: dict[str, Any], tmp_path: Path) -> None:
    with colonnade.create(tmp_path / "friend.root", "More") as writer:
        writer.extend({"y": np.arange(23) * 10.0, "x": np.arange(23) * 2.0})
    friends = {"f": {"trees": ["More"], "files": [f"{tmp_path}/friend.root"]}}
    df = DataFrame.from_spec({**specification, "friends": friends})
    assert df.sum("y - 10 * x").value == 0
    assert df.sum("f.x - 2 * x").value == 0


def test_roots_spelling(path: Path) -> None:
    df = root.RDF.Experimental.FromSpec(str(path))
    assert isinstance(df, RDataFrame)
    df = df.DefinePerSample("xsec", lambda slot, info: info.GetD("xsec"))
    df = df.DefinePerSample("id", lambda slot, info: info.GetI("id") if info.Contains("signal") else 0)
    df = df.DefinePerSample("name", lambda slot, info: info.GetSampleName() + info.GetS("kind"))
    df = df.DefinePerSample(
        "n", lambda slot, info: info.NEntries() + info.EntryRange()[0] + info.GetSampleId()
    )
    values = df.AsNumpy(["xsec", "id", "name", "n"])
    np.testing.assert_array_equal(values["xsec"], EXPECTED)
    assert values["id"].tolist() == [7] * 12 + [0] * 11
    assert set(values["name"]) == {"signaldata", "backgroundmc"}
    assert sorted(set(values["n"].tolist())) == [5, 7, 12]


def test_samples_by_calls(path: Path, specification: dict[str, Any], tmp_path: Path) -> None:
    names = root.RDF.Experimental
    spec = names.RDatasetSpec()
    for name, each in specification["samples"].items():
        metadata = names.RMetaData()
        for key, value in each["metadata"].items():
            metadata.Add(key, value)
        spec.AddSample(names.RSample(name, each["trees"], each["files"], metadata))
    df = root.RDataFrame(spec).DefinePerSample("xsec", 'rdfsampleinfo_.GetD("xsec")')
    np.testing.assert_array_equal(df.AsNumpy(["xsec"])["xsec"], EXPECTED)
    for entries, count in (((5,), 5), ((), 23), ((3, 20), 17)):
        limited = spec.WithGlobalRange(names.RDatasetSpec.REntryRange(*entries))
        assert root.RDataFrame(limited).Count().GetValue() == count
    with pytest.raises(colonnade.UsageError, match="range of entries"):
        names.RDatasetSpec.REntryRange(5, 3)

    with colonnade.create(tmp_path / "friend.root", "More") as writer:
        writer.extend({"y": np.arange(23) * 10.0})
    df = root.RDataFrame(spec.WithGlobalFriends("More", f"{tmp_path}/friend.root", "f"))
    assert df.Sum("f.y").GetValue() == sum(range(3, 20)) * 10

    values = [metadata.GetS("kind"), metadata.GetI("none", 4), metadata.Dump("kind")]
    assert values == ["mc", 4, '"mc"']
    other = names.RSample("other", [("a", "a.root"), ("b", "b.root")])
    assert (other.GetTreeNames(), other.GetFileNameGlobs()) == (["a", "b"], ["a.root", "b.root"])
    for call, problem in (
        (lambda: names.RSample("a"), "needs a data set"),
        (lambda: names.RSample("a", "b", 3), "3 is not the path"),
        (lambda: metadata.GetD("none"), "no 'none' in the metadata"),
        (lambda: metadata.GetI("kind"), "is 'mc', and not of type int"),
        (lambda: spec.AddSample(names.RSample("signal", "a", "b")), "a sample 'signal' already"),
        (lambda: spec.AddSample(3), "3 is no sample"),
        (lambda: spec.Nothing, "no Nothing; try: AddSample"),
    ):
        with pytest.raises(colonnade.Error, match=problem):
            call()


@pytest.mark.parametrize("options", [{}, {"executor": 1}])
def test_expressions_ask_samples_as_in_root(path: Path, options: dict[str, Any]) -> None:
    df = root.RDF.Experimental.FromSpec(str(path), **options)
    asked = {
        "xsec": 'rdfsampleinfo_.GetD("xsec")',
        "id": 'rdfsampleinfo_.GetI("id") * 2 // GetI("none")',
        "kind": 'auto name = rdfsampleinfo_.GetSampleName(); return name + rdfsampleinfo_.GetS("kind");',
        "n": "rdfsampleinfo_.NEntries() + 100 * rdfsampleinfo_.GetSampleId()",
        "range": "rdfsampleinfo_.EntryRange().second - rdfsampleinfo_.EntryRange().first",
        "empty": "rdfsampleinfo_.Empty()",
        "text": '"rdfsampleinfo_.GetI(0)"',
    }
    for name, text in asked.items():
        df = df.DefinePerSample(name, text)
    values = df.RedefinePerSample("text", 'rdfsampleinfo_.GetS("kind")').AsNumpy(list(asked))
    np.testing.assert_array_equal(values["xsec"], EXPECTED)
    assert values["id"].tolist() == [14] * 12 + [-2] * 11
    assert list(values["kind"]) == ["signaldata"] * 12 + ["backgroundmc"] * 11
    assert values["n"].tolist() == [5] * 5 + [7] * 7 + [111] * 11
    assert values["range"].tolist() == [5] * 5 + [7] * 7 + [11] * 11
    assert not values["empty"].any()
    assert values["text"][0] == "data"


def test_what_samples_do_not_answer(path: Path, specification: dict[str, Any]) -> None:
    specification["samples"]["signal"]["metadata"]["own"] = 1 << 40
    path.write_text(json.dumps(specification))
    df = root.RDF.Experimental.FromSpec(str(path))
    for text, kind, problem in (
        ('rdfsampleinfo_.GetD("none")', NotFoundError, "no 'none' in its metadata"),
        ('rdfsampleinfo_.GetI("xsec")', TypeMismatchError, "is 1.5, and not a whole number"),
        ('rdfsampleinfo_.GetS("xsec")', TypeMismatchError, "not a text; try: GetD"),
        ('rdfsampleinfo_.GetI("own")', ConversionError, "is no 'int'"),
        ("rdfsampleinfo_.GetD(xsec)", UsageError, "takes the name of a value, in quotes"),
        ("rdfsampleinfo_.NEntries(1)", UsageError, "takes nothing"),
        ("rdfsampleinfo_.EntryRange()", UsageError, "EntryRange\\(\\).first"),
        ("rdfsampleinfo_.GetX()", NotFoundError, "unknown method 'GetX'"),
    ):
        with pytest.raises(kind, match=problem):
            df.DefinePerSample("z", text)
    # Only the rows of a sample ask it.
    text = 'rdfsampleinfo_.GetSampleName() == "signal" ? rdfsampleinfo_.GetD("own") : 2'
    assert df.DefinePerSample("z", text).Min("z").GetValue() == 2
    with pytest.raises(NotFoundError, match="sample 'background' has no 'own'"):
        df.DefinePerSample("z", 'rdfsampleinfo_.GetD("own")').Sum("z").GetValue()


def test_what_is_no_specification(specification: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileMissingError):
        DataFrame.from_spec(tmp_path / "none.json")
    with pytest.raises(FormatError, match="not a specification"):
        DataFrame.from_spec(tmp_path / "bad.json")
    one = specification["samples"]["signal"]
    for bad in ({}, {"samples": []}, {"samples": {"a": {}}}, {"samples": {"a": {**one, "files": [3]}}},
                {"samples": {"a": {**one, "files": []}}}, {"samples": {"a": {**one, "trees": ["a", "b"]}}},
                *({**specification, "range": bad} for bad in (["a", 2], [], "12", 3, [1.5], [0, 1, 2]))):  # fmt: skip
        (tmp_path / "bad.json").write_text(json.dumps(bad))
        for source, uri in ((bad, None), (tmp_path / "bad.json", str(tmp_path / "bad.json"))):
            with pytest.raises(FormatError) as caught:
                DataFrame.from_spec(source)
            assert caught.value.uri == uri
    with pytest.raises(StorageError, match="directory"):
        DataFrame.from_spec(tmp_path)
    for value in (True, [1], None, {"a": 1}):
        with pytest.raises(FormatError, match="metadata 'm' of sample 'a'"):
            DataFrame.from_spec({"samples": {"a": {**one, "metadata": {"m": value}}}})


def test_data_sets_of_different_names(specification: dict[str, Any], tmp_path: Path) -> None:
    """In one sample, between samples, two of one file, and in friends; on processes as well."""
    with colonnade.create(tmp_path / "more.root", "dir/Other") as writer:
        writer.extend({"x": np.arange(23.0, 26.0)})
    with colonnade.create(tmp_path / "more.root", "Third", mode="update") as writer:
        writer.extend({"x": np.arange(26.0, 30.0)})
    files = [f"{tmp_path}/{name}.root" for name in ("signal_a", "more", "more")]
    samples = specification["samples"] | {
        "mixed": {"trees": ["Events", "dir/Other", "Third"], "files": files, "metadata": {"xsec": 2.5}}
    }
    names = [("Friend", 0, 20), ("Last", 20, 35)]
    for name, first, last in names:
        with colonnade.create(tmp_path / f"{name}.root", name) as writer:
            writer.extend({"y": np.arange(first, last)})
    friends = {"f": {"trees": [n for n, *_ in names], "files": [f"{tmp_path}/{n}.root" for n, *_ in names]}}
    expected = [*range(23), *range(5), *range(23, 30)]
    for executor in (None, 1):
        df = DataFrame.from_spec({"samples": samples, "friends": friends}, executor=executor)
        df = df.define_per_sample("xsec", lambda info: info.metadata["xsec"])
        df = df.define_per_sample("first", lambda info: info.entries[0])
        assert df.take("x").value.tolist() == expected
        np.testing.assert_array_equal(df.take("xsec").value, [*EXPECTED, *[2.5] * 12])
        assert df.take("y").value.tolist() == list(range(35))
        assert df.unique("first").value == [0, 5, 12, 23, 28, 31]
    pairs = DataFrame(
        "", [(file, name) for file, name in zip(files, ["Events", "/dir/Other", "Third"], strict=True)]
    )
    assert pairs.sum("x").value == sum([*range(5), *range(23, 30)])
    with pytest.raises(NotFoundError):
        DataFrame("", [(files[0], "Events"), (files[1], "Nothing")])


def test_samples_that_nobody_specified(path: Path, tmp_path: Path) -> None:
    seen: list[Any] = []

    def note(slot: int, info: Any) -> int:
        seen.append(info)
        return int(info.NEntriesTotal())

    df = RDataFrame("Events", f"{tmp_path}/signal_a.root").DefinePerSample("n", note)
    assert df.Max("n").GetValue() == 5
    assert seen[0] == seen[0]
    assert seen[0] != "something else"
    for method in ("GetSampleName", "GetSampleId"):
        with pytest.raises(UsageError, match="belongs to no sample"):
            getattr(seen[0], method)()
    with pytest.raises(NotFoundError, match="no metadata"):
        seen[0].GetD("xsec")
