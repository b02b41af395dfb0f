"""Users, passwords, keys and signatures of URIs are in no message, whoever raises it."""

from __future__ import annotations

import contextlib
import random
import shutil

import pytest

import colonnade
from colonnade import _core
from colonnade.cli import main

SECRETS = ("hidden-user", "hidden-word", "hidden-key", "hidden-signature")
USER, WORD, KEY, SIGNATURE = SECRETS


def generated(seed: int) -> str:
    """A URI that nobody serves, with secrets in some of the places that may have them."""
    draw = random.Random(seed)
    scheme = draw.choice(["https", "http", "root", "xroot", "nosuch", "s3", "davs"])
    who = draw.choice([f"{USER}:{WORD}@", f"{USER}@"])
    parameters = [f"X-Amz-Signature={SIGNATURE}", f"AWSAccessKeyId={KEY}", f"token={WORD}", "a=b"]
    draw.shuffle(parameters)
    chosen = "&".join(parameters[: draw.randrange(4)])
    ending = draw.choice([".root", "", ".root:Events"])
    return f"{scheme}://{who}127.0.0.1:1/folder/f{ending}" + (f"?{chosen}" if chosen else "")


def shows(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


ENTRY_POINTS = {
    "open": lambda uri, there: colonnade.open(uri, "Events"),
    "datasets": lambda uri, there: colonnade.datasets(uri),
    "create": lambda uri, there: colonnade.create(uri, "Events", {"x": "std::int32_t"}, mode="nonsense"),
    "copy from": lambda uri, there: colonnade.copy((uri, "Events"), (f"{there}.copy.root", "Events")),
    "copy to": lambda uri, there: colonnade.copy((there, "Events"), (uri, "Events")),
    "import": lambda uri, there: colonnade.import_tree(uri, (f"{there}.new.root", "Events")),
    "repair": lambda uri, there: colonnade.repair(uri),
    "gc": lambda uri, there: colonnade.collect_garbage(uri),
    "rm": lambda uri, there: colonnade.remove_data_set(uri, "Events"),
    "frame": lambda uri, there: colonnade.DataFrame("Events", uri).count().value,
    "frame of two names": lambda uri, there: colonnade.DataFrame("Other", f"{uri}:Events").count().value,
    "snapshot": lambda uri, there: colonnade.DataFrame("Events", there).snapshot("Events", uri),
}


@pytest.fixture
def there(tmp_path):
    uri = str(tmp_path / "there.root")
    with colonnade.create(uri, "Events", {"x": "std::int32_t"}) as writer:
        writer.extend({"x": [1, 2, 3]})
    return uri


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setenv("COLONNADE_S3_TIMEOUT", "0.2")
    monkeypatch.setenv("COLONNADE_HTTP_TIMEOUT", "0.2")
    monkeypatch.setenv("COLONNADE_XROOTD_TIMEOUT", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")


@pytest.mark.parametrize("point", ENTRY_POINTS)
def test_no_entry_point_tells(point, there):
    for seed in range(4):
        uri = generated(seed)
        with pytest.raises((colonnade.Error, OSError, ImportError)) as caught:
            ENTRY_POINTS[point](uri, there)
        error = caught.value
        told = [str(error), repr(error), *map(str, vars(error).values())]
        assert not [text for text in told if shows(text)], told


@pytest.mark.parametrize("command", ["info", "ls", "show", "verify", "repair", "gc", "import", "diff"])
def test_no_command_tells(command, there, tmp_path, capsys):
    for seed in range(3):
        uri = generated(seed)
        more = {"import": [str(tmp_path / "to.root")], "diff": [there]}.get(command, [])
        with contextlib.suppress(SystemExit):
            main([command, uri, *more])
        told = capsys.readouterr()
        assert not shows(told.out + told.err), told


def test_data_frames_and_caches_do_not_tell(there, tmp_path, capsys):
    path = shutil.copy(there, f"{there}?token={WORD}")
    frame = colonnade.DataFrame("Events", path)
    assert not shows(repr(frame) + str(frame.describe()))
    for command in (["warm", path], ["ls"], ["info", path], ["rm", path]):
        with contextlib.suppress(SystemExit):
            main(["cache", *command, "--home", str(tmp_path / "home")])
        told = capsys.readouterr()
        assert "there.root" in told.out
        assert not shows(told.out + told.err), told


def test_errors_of_python_do_not_tell():
    error = colonnade.UsageError(
        f"'https://{USER}:{WORD}@h/f.root' is there",
        f"s3://b?X-Amz-Signature={SIGNATURE}",
        uri=f"http://{USER}@h",
    )
    assert not shows(str(error) + error.problem + error.advice + str(error.uri))
    assert str(error).count("***") == 3
    assert _core.redacted("nothing to hide") == "nothing to hide"
