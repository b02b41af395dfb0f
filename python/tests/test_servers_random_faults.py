"""Random faults on the way to every transport: the values are those that were written, or there is an error in time.

Toxiproxy delays, narrows, cuts and resets; a server of the tests answers wrongly. What was written is there as a whole
or not at all.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import awkward as ak
import pytest
from http2_proxy import FAULTS as HTTP2_FAULTS
from http2_proxy import Http2Proxy
from remote_events import assert_equal, events, write
from toxiproxy import Toxiproxy
from wrong_server import WRONGS, WrongServer

import colonnade
from colonnade import DataFrame

ROUNDS = 12
COUNT = 40_000
TIMEOUT = 3
"""Seconds that the transports are told."""
MOST = 90
"""Seconds after which an operation counts as hung; several requests may each take their time."""


@pytest.fixture(scope="module")
def toxiproxy(tmp_path_factory):
    with Toxiproxy(tmp_path_factory.mktemp("toxiproxy")) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch):
    for name in ("HTTP", "S3", "XROOTD"):
        monkeypatch.setenv(f"COLONNADE_{name}_TIMEOUT", str(TIMEOUT))


def http_place(request, proxies):
    http = request.getfixturevalue("http")
    proxy = proxies.proxy(f"faults-{request.node.name}", http.port)
    return proxy, f"{http.url}/files/", f"{http.url_at(proxy.port)}/files/", lambda _: None


def xrootd_place(request, proxies):
    xrootd = request.getfixturevalue("xrootd")
    proxy = proxies.proxy(f"faults-{request.node.name}", xrootd.port)
    return proxy, xrootd.uri, xrootd.uri_at(proxy.port), lambda _: None


def s3_place(request, proxies):
    s3, s3_uri = request.getfixturevalue("s3"), request.getfixturevalue("s3_uri")
    monkeypatch = request.getfixturevalue("monkeypatch")
    proxy = proxies.proxy(f"faults-{request.node.name}", s3.port)

    def choose(is_proxied):
        endpoint = s3.endpoint_at(proxy.port) if is_proxied else s3.endpoint
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    return proxy, s3_uri(""), s3_uri(""), choose


PLACES = {
    "http": (http_place, ".root"),
    "xrootd": (xrootd_place, ".root"),
    "s3-file": (s3_place, ".root"),
    "s3-store": (s3_place, ""),
}


def toxic(random, proxy):
    """One thing that goes wrong on the way, in either direction."""
    kind, attributes = random.choice(
        [
            ("latency", {"latency": random.randrange(1, 200), "jitter": random.randrange(100)}),
            ("bandwidth", {"rate": random.randrange(50, 5000)}),
            ("limit_data", {"bytes": random.randrange(0, 400_000)}),
            ("reset_peer", {"timeout": random.randrange(0, 300)}),
            ("slicer", {"average_size": random.randrange(64, 4096), "size_variation": 32, "delay": 50}),
            ("timeout", {"timeout": random.choice([0, 50, 500])}),
        ]
    )
    stream = random.choice(["upstream", "downstream"])
    return proxy.toxic(kind, stream=stream, toxicity=random.choice([1.0, 0.5, 0.2]), **attributes)


def within_time(work):
    """What `work` returns, or a colonnade.Error; anything else fails, and so does what does not end."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result(MOST)
        except colonnade.Error as error:
            return error


def read_all(uri):
    with colonnade.open(uri, "Events") as data_set:
        return data_set.arrays()


def read_again(uri):
    """A connection that was stuck may be given up only by a request that expires on it."""
    end = time.monotonic() + MOST
    while (
        isinstance(outcome := within_time(lambda: read_all(uri)), colonnade.Error) and time.monotonic() < end
    ):
        pass
    return outcome


def read_steps(uri):
    with colonnade.open(uri, "Events") as data_set:
        return ak.concatenate(list(data_set.iterate(step_size=7_000)))


def sum_of(uri):
    return DataFrame("Events", uri, progress=False).define("n", "pt.size()").sum("id").value


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("name", PLACES)
def test_reading(request, toxiproxy, impatient, name, seed):
    make, ending = PLACES[name]
    file = f"read-{name}-{seed}{ending}"
    proxy, directly, through, choose = make(request, toxiproxy)
    numbers = random.Random(f"{name} {seed}")
    data = events(COUNT, seed=seed)
    choose(False)
    write(directly + file, data, cluster_size="200 kB")
    choose(True)
    outcome = within_time(lambda: read_all(through + file))
    assert_equal(outcome, data)  # without any fault
    for _ in range(3):
        work = numbers.choice([read_all, read_steps, sum_of])
        with contextlib.ExitStack() as faults:
            faults.enter_context(toxic(numbers, proxy))
            outcome = within_time(lambda work=work: work(through + file))
        if isinstance(outcome, colonnade.Error):
            assert isinstance(outcome, colonnade.StorageError), repr(outcome)
        elif work is sum_of:
            assert outcome == COUNT * (COUNT - 1) // 2
        else:
            assert_equal(outcome, data)
    assert_equal(read_again(through + file), data)  # and afterwards


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("name", PLACES)
def test_writing(request, toxiproxy, impatient, name, seed):
    make, ending = PLACES[name]
    file = f"written-{name}-{seed}{ending}"
    proxy, directly, through, choose = make(request, toxiproxy)
    numbers = random.Random(f"{name} {seed} writing")
    before, after = events(COUNT, seed=seed), events(COUNT, seed=seed + 1000)
    choose(False)
    is_there = numbers.random() < 0.5
    if is_there:
        write(directly + file, before)
    choose(True)
    with toxic(numbers, proxy):
        outcome = within_time(lambda: write(through + file, after, cluster_size="200 kB"))
    choose(False)
    try:
        found = read_all(directly + file)
    except colonnade.NotFoundError:
        assert not is_there
        assert outcome is not None
        return
    # An answer that was lost may leave a complete file behind an error.
    if outcome is None or not is_there or len(found) != len(before) or found.weight[0] == after.weight[0]:
        assert_equal(found, after)
    else:
        assert_equal(found, before)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_wrong_answers(tmp_path, impatient, seed):
    data = events(COUNT, seed=seed)
    write(tmp_path / "f.root", data, cluster_size="200 kB")
    with WrongServer((tmp_path / "f.root").read_bytes(), seed) as server:
        for rate in (0.02, 0.1, 0.5):
            server.rate = rate
            outcome = within_time(lambda: read_all(server.url))
            if not isinstance(outcome, colonnade.Error):
                assert_equal(outcome, data)


@pytest.mark.parametrize("wrong", WRONGS)
def test_each_wrong_answer_all_the_time(tmp_path, impatient, wrong):
    """From the first page on, every answer is wrong in the same way."""
    data = events(COUNT)
    write(tmp_path / "f.root", data, cluster_size="200 kB")
    with WrongServer((tmp_path / "f.root").read_bytes(), 1) as server:
        with colonnade.open(server.url, "Events") as data_set:
            server.rate, server.wrongs = 1.0, (wrong,)
            outcome = within_time(data_set.arrays)
        assert server.told
        if wrong == "late":
            assert_equal(outcome, data)
        elif not isinstance(outcome, colonnade.Error):
            assert wrong == "compressed"  # it said so, and sent the bytes as they are: the pages' sums agree
            assert_equal(outcome, data)


@pytest.mark.parametrize("fault", HTTP2_FAULTS)
def test_each_fault_of_http2(https, impatient, fault):
    """Streams and connections that end at any frame: what is read and written is right, or there is an error."""
    data = events(COUNT)
    write(https.data / "f.root", data, cluster_size="200 kB")
    with Http2Proxy(https.port, https.certificates, seed=1) as proxy:
        folder = f"{https.url_at(proxy.port)}/files/"
        proxy.faults = (fault,)
        for rate in (0.05, 1.0):
            proxy.rate = rate
            outcome = within_time(lambda: read_all(folder + "f.root"))
            if not isinstance(outcome, colonnade.Error):
                assert_equal(outcome, data)
            (https.data / "written.root").unlink(missing_ok=True)
            outcome = within_time(lambda: write(folder + "written.root", data))
            proxy.rate = 0.0
            if outcome is None:
                assert_equal(read_all(folder + "written.root"), data)
        assert proxy.told
        assert_equal(read_again(folder + "f.root"), data)


@pytest.fixture(params=["closed", "silent"])
def lost_port(request):
    """A port where nobody listens, or somebody who never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if request.param == "silent":
            yield listener.getsockname()[1]
            return
        port = listener.getsockname()[1]
    yield port


@pytest.mark.parametrize(
    "uri", ["http://{}/f.root", "root://{}//f.root", "s3://bucket/f.root", "s3://bucket/store"]
)
def test_the_timeout_holds_for_all_of_an_operation(lost_port, uri):
    """Attempts to connect, repetitions and all: a user who says two seconds does not wait for a minute."""
    address = f"127.0.0.1:{lost_port}"
    environment = {f"COLONNADE_{name}_TIMEOUT": "2" for name in ("HTTP", "S3", "XROOTD")}
    environment |= {
        "AWS_ENDPOINT_URL": f"http://{address}",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
    }
    program = """
import sys, time, colonnade
begin = time.monotonic()
try:
    colonnade.open(sys.argv[1], "Events")
except colonnade.StorageError:
    print(time.monotonic() - begin)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, uri.format(address)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment, "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1"},
    )
    assert float(done.stdout) < 20
