"""Imports into a real S3 server: an object store under a prefix, and a ROOT file as one object."""

from __future__ import annotations

import pytest
import uproot
from locations import FIXTURES

import colonnade

TREE = FIXTURES / "trees" / "many_branches.root"


@pytest.mark.parametrize("key", ["store", "file.root"])
def test_a_tree_in_s3(s3, s3_uri, tmp_path, key):
    place = s3_uri(key)
    options = {"step_size": "10 kB", "cluster_size": "1 kB", "checkpoint_every": 1}
    report = colonnade.import_tree(TREE, place, verify=True, **options)
    assert report.verified
    with uproot.open(TREE) as file:
        expected = file["Events"]["vv_int"].array().to_list()
    assert colonnade.open(place, "Events")["vv_int"].to_list() == expected
    with pytest.raises(colonnade.UsageError, match="already exists"):
        colonnade.import_tree(TREE, place)
    back = tmp_path / "back.root"
    assert colonnade.copy((place, "Events"), back, verify="values").verified
    assert colonnade.open(back).arrays().to_list() == colonnade.open(place, "Events").arrays().to_list()


def test_an_interrupted_import_into_s3_is_resumed(s3, s3_uri):
    place = s3_uri("store")
    options = {"step_size": "10 kB", "checkpoint_every": 1, "cluster_size": "1 kB"}
    report = colonnade.import_tree(TREE, place, progress=lambda _: False, **options)
    assert report.interrupted
    assert 0 < report.entries < 40
    again = colonnade.import_tree(TREE, place, resume=True, verify=True, **options)
    assert again.resumed_entries == report.entries
    assert again.entries == 40
