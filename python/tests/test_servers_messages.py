"""What is said where keys are wrong, and where nothing was ever written, on a real S3 server."""

from __future__ import annotations

import pytest

import colonnade
from colonnade import DataFrame

OPENERS = {
    "datasets": colonnade.datasets,
    "open": lambda uri: colonnade.open(uri, "Events"),
    "data frame": lambda uri: DataFrame("Events", uri),
}


def write(uri):
    with colonnade.create(uri, "Events") as writer:
        writer.extend({"x": [1.0, 2.0]})


@pytest.mark.parametrize("name", ["f.root", "none.root", "store", "none"])
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("variable", "problem"),
    [("AWS_ACCESS_KEY_ID", "does not know the access key"), ("AWS_SECRET_ACCESS_KEY", "secret key")],
)
def test_wrong_keys_are_named(s3, s3_uri, monkeypatch, name, opener, variable, problem):
    for there in ("f.root", "store"):
        write(s3_uri(there))
    monkeypatch.setenv(variable, "somebody-else")
    with pytest.raises(colonnade.StorageError, match=problem) as raised:
        OPENERS[opener](s3_uri(name))
    assert "AWS_ACCESS_KEY_ID" in raised.value.advice


@pytest.mark.parametrize("command", ["info", "ls", "verify"])
def test_a_store_that_is_not_there_is_said(s3, s3_uri, run, command):
    with pytest.raises(colonnade.FileMissingError, match="there is no object store"):
        colonnade.datasets(s3_uri("none"))
    status, out, err = run(command, s3_uri("none"))
    assert status == 1
    assert out == ""
    assert "there is no object store: nothing was ever written" in err


def test_a_store_whose_data_sets_are_gone_is_empty(s3, s3_uri):
    write(s3_uri("store"))
    colonnade.remove_data_set(s3_uri("store"), "Events")
    assert colonnade.datasets(s3_uri("store")) == []


def test_files_and_buckets_that_are_not_there(s3, s3_uri):
    with pytest.raises(colonnade.FileMissingError, match="there is no object"):
        colonnade.open(s3_uri("none.root"), "Events")
    for uri in ("s3://no-such-bucket/f.root", "s3://no-such-bucket/store"):
        with pytest.raises(colonnade.FileMissingError, match="there is no such bucket"):
            colonnade.open(uri, "Events")
