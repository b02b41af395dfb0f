"""Data sets on a real web server: all ways in and out, with the requests that they take, and over slow lines."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest
import uproot
from locations import FIXTURES
from remote_events import ENTRIES, assert_equal, events, write

import colonnade
from colonnade.importing import tree_columns

TREE = FIXTURES / "trees" / "many_branches.root"


def of(server, name, folder="files"):
    return f"{server.url}/{folder}/{name}"


@pytest.fixture(params=["http", "https"])
def web(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("container", ["root", "bare"])
def test_round_trip(web, container):
    data = events()
    uri = of(web, f"round.{container}")
    write(uri, data, container=container)
    with colonnade.open(uri, "Events") as data_set:
        assert_equal(data_set.arrays(), data)
    assert colonnade.datasets(uri) == ["Events"]
    if container == "root":
        with uproot.open(web.data / "round.root") as file:
            assert file["Events"].num_entries == ENTRIES


def test_opening_takes_three_round_trips_at_most(http):
    """The first and last bytes at once; header and footer at once; page lists at once, neighbours in one request."""
    write(http.data / "groups.root", events(400_000), cluster_size="500 kB", checkpoint_every=1, step=20_000)
    http.forget_requests()
    colonnade.open(of(http, "groups.root"), "Events")
    ranges = [request.range for request in http.requests()]
    assert sorted(ranges[:2]) == ["bytes=-65536", "bytes=0-65535"]
    assert len(ranges) <= 6, ranges


def test_small_files_are_opened_by_two_requests(http):
    write(http.data / "small.root", events(1000))
    colonnade.open(of(http, "small.root"), "Events")
    assert len(http.requests()) == 2


def test_a_chain_of_mixed_places(http, tmp_path):
    """Also one file behind the other over the server, of which the next is opened while one is read."""
    data = events()
    write(tmp_path / "local.root", data)
    for index in range(3):
        write(http.data / f"mixed-{index}.root", data)
    places = [
        of(http, "mixed-0.root"),
        str(tmp_path / "local.root"),
        of(http, "mixed-1.root"),
        of(http, "mixed-2.root"),
    ]
    chain = colonnade.open(places, "Events", max_open_files=1)
    assert chain.files == places
    assert_equal(chain.arrays(), ak.concatenate([data] * 4))
    steps = ak.concatenate(list(chain.iterate(step_size=ENTRIES // 2 + 1)))
    assert_equal(steps, ak.concatenate([data] * 4))


def test_a_data_frame_over_a_chain(http):
    data = events()
    for index in range(3):
        write(http.data / f"chain-{index}.root", data)
    frame = colonnade.DataFrame("Events", [of(http, f"chain-{index}.root") for index in range(3)])
    assert frame.sum("weight").value == pytest.approx(3 * np.sum(data.weight.to_numpy()))


def test_only_the_columns_in_use_are_read(http):
    write(http.data / "columns.root", events(), compression="none")
    http.forget_requests()
    assert ak.sum(colonnade.open(of(http, "columns.root"), "Events")["weight"]) > 0
    read = sum(
        int(last) - int(first) + 1
        for first, last in (
            request.range.removeprefix("bytes=").split("-")
            for request in http.requests()
            if not request.range.startswith("bytes=-")
        )
    )
    assert read < 2 * 8 * ENTRIES + 200_000


def test_a_snapshot(http):
    write(http.data / "origin.root", events())
    frame = colonnade.DataFrame("Events", of(http, "origin.root")).filter("weight > 0.5")
    frame.snapshot(of(http, "selected.root"), "Selected", ["id", "weight"])
    with colonnade.open(of(http, "selected.root"), "Selected") as data_set:
        assert ak.min(data_set["weight"]) > 0.5
    assert not list(http.data.glob(".*selected*"))


def test_an_import_from_and_to_a_web_server(https):
    (https.data / "tree.root").write_bytes(TREE.read_bytes())
    report = colonnade.import_tree(of(https, "tree.root"), of(https, "imported.root"), verify=True)
    assert report.verified
    with uproot.open(TREE) as file:
        expected = file["Events"]["vv_int"].array().to_list()
    assert colonnade.open(of(https, "imported.root"), "Events")["vv_int"].to_list() == expected


def test_a_tree_is_read_as_it_is(http, tmp_path, monkeypatch):
    """Imported as it is used; with a cache, once."""
    (http.data / "as_it_is.root").write_bytes(TREE.read_bytes())
    uri = of(http, "as_it_is.root")
    home = str(tmp_path / "home")
    with uproot.open(TREE) as file:
        expected = float(ak.sum(file["Events"]["Hit_x"].array()))
    for _ in range(2):
        assert colonnade.DataFrame("Events", uri, cache=home).sum("Sum(Hit_x)").value == pytest.approx(
            expected
        )
        monkeypatch.setattr(tree_columns._TreeFile, "write", None)
    assert [one.uri for one in colonnade.cache.ls(home)] == [uri]


def test_a_copy(http, tmp_path):
    write(http.data / "copied.root", events(1000))
    assert colonnade.copy(
        (of(http, "copied.root"), "Events"), tmp_path / "local.root", verify="values"
    ).verified
    assert colonnade.copy(
        (tmp_path / "local.root", "Events"), of(http, "back.root"), verify="values"
    ).verified


def test_a_copy_that_is_complete_is_not_made_again(http, tmp_path):
    write(tmp_path / "f.root", events(1000))
    colonnade.copy(tmp_path / "f.root", of(http, "complete.root"))
    report = colonnade.copy(tmp_path / "f.root", of(http, "complete.root"), resume=True)
    assert (report.resumed_entries, report.pages) == (1000, 0)


def test_the_command_line(http, capsys):
    from colonnade.cli import main

    write(http.data / "command.root", events(1000))
    for command in (["info"], ["ls"], ["verify"], ["show"]):
        with pytest.raises(SystemExit) as end:
            main([*command, of(http, "command.root")])
        assert end.value.code == 0
    assert "Events" in capsys.readouterr().out


def test_a_missing_file(http):
    with pytest.raises(colonnade.FileMissingError, match="no such file"):
        colonnade.open(of(http, "missing.root"))


def test_a_missing_data_set_is_no_missing_file(http):
    write(http.data / "there.root", events(10))
    with pytest.raises(colonnade.NotFoundError, match="no data set") as caught:
        colonnade.open(of(http, "there.root"), "Nope")
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_token(https, monkeypatch):
    from http_server import TOKEN

    write(https.data / "secret.root", events(1000))
    with pytest.raises(colonnade.StorageError, match="BEARER_TOKEN"):
        colonnade.open(of(https, "secret.root", "bearer"))
    monkeypatch.setenv("BEARER_TOKEN", TOKEN)
    assert len(colonnade.open(of(https, "secret.root", "bearer"))["id"]) == 1000


def test_a_server_without_tls_is_asked_for_it_once(http):
    with pytest.raises(colonnade.StorageError, match="http://, if it has no TLS") as raised:
        colonnade.open(of(http, "f.root").replace("http:", "https:"))
    assert "attempts" not in str(raised.value)


def test_a_file_that_changes_while_it_is_open(http):
    uri = of(http, "changed.root")
    write(http.data / "changed.root", events(seed=1), compression="none")
    with colonnade.open(uri, "Events") as data_set:
        write(http.data / "changed.root", events(seed=2), compression="none")
        with pytest.raises(colonnade.StorageError, match="changed since it was opened"):
            data_set.arrays()


@pytest.mark.parametrize("call", ["close", "commit", "commit_cluster"])
@pytest.mark.parametrize("kind", ["one", "parallel"])
def test_a_file_that_could_not_be_sent_ends_with_the_next_call(http, monkeypatch, call, kind):
    """Nothing can be added to it any more, which the first entry is told, not a later one."""
    monkeypatch.setenv("TMPDIR", str(http.data))
    uri, numbers = of(http, f"{kind}-{call}.root"), np.arange(10)
    if kind == "one":
        filler = writer = colonnade.create(uri, "Events", {"x": int})
    else:
        writer = colonnade.create_parallel(uri, "Events", {"x": int})
        filler = writer.context()
    filler.extend({"x": numbers})
    if filler is not writer:
        filler.close()
    place = http.data / f"{kind}-{call}.root"
    place.mkdir()  # no file can have that name
    with pytest.raises(colonnade.StorageError):
        writer.close()
    place.rmdir()
    getattr(writer, "commit" if kind == "parallel" and call == "commit_cluster" else call)()
    with pytest.raises(colonnade.UsageError, match="the writer is closed"):
        writer.context() if kind == "parallel" else writer.fill(x=1)
    assert colonnade.open(uri, "Events")["x"].tolist() == numbers.tolist()
    writer.close()


@pytest.mark.parametrize("place", ["files", "nomove"])
def test_a_file_that_cannot_be_sent_is_kept(tmp_path, monkeypatch, place):
    from http_server import HttpServer

    local = tmp_path / "local"
    local.mkdir()
    monkeypatch.setenv("TMPDIR", str(local))
    monkeypatch.setenv("COLONNADE_HTTP_TIMEOUT", "5")
    with HttpServer(tmp_path / "own-http") as server:
        writer = colonnade.create(f"{server.url}/{place}/f.root", "Events")
        writer.extend(events(1000))
        server.kill()
        with pytest.raises(colonnade.StorageError) as told:
            writer.close()
        server.start()
    (kept,) = local.iterdir()
    assert f'the complete file is kept here as "{kept}"' in str(told.value)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert_equal(colonnade.open(kept, "Events").arrays(), events(1000))
