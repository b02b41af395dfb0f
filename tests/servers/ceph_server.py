"""A one-node Ceph of its own for tests: one monitor and one OSD in a temporary folder, on free ports of loopback.

Needs the programs of Debian's packages ceph-mon, ceph-osd and ceph-common, and neither root nor a network
namespace. There is no manager: nothing here needs one.

    with CephCluster() as cluster:
        subprocess.run([...], env=os.environ | cluster.environment())

or, from a shell, `python3 tests/servers/ceph_server.py PROGRAM ARGUMENT...`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from processes import Process, ServerError, find_program, free_port

POOL = "colonnade"

# The timings make a cluster of one come up in seconds; the switches let it be one of one. The monitor tries no map in a
# forked child: on a busy machine that crashed, or came too late, and no pool was made.
CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{port}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
auth cluster required = none
auth service required = none
auth client required = none
log file = {folder}/$name.log
run dir = {folder}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
[mon]
mon data = {folder}/mon
mon cluster log file = {folder}/cluster.log
admin socket = {folder}/mon.asok
mon allow pool size one = true
mon allow pool delete = true
paxos propose interval = 0.05
paxos min wait = 0.02
mon tick interval = 1
mon osd crush smoke test = false
[osd]
osd data = {folder}/osd
admin socket = {folder}/osd.asok
osd objectstore = {store}
osd memory target = 1073741824
osd fast shutdown = true
osd heartbeat interval = 1
osd mon heartbeat interval = 5
memstore device bytes = {size}
bluestore block size = {size}
"""


class CephCluster:
    """Start it with `with` or start(); `store` is "memstore" (in memory) or "bluestore" (on a sparse file)."""

    def __init__(self, store: str = "memstore", size: int = 4 << 30, timeout: float = 240) -> None:
        self._store = store
        self._size = size
        self._timeout = timeout
        self._folder: Path | None = None
        self._daemons: dict[str, Process] = {}

    def __enter__(self) -> CephCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        assert self._folder is not None, "not started"
        return self._folder

    @property
    def configuration(self) -> Path:
        return self.folder / "ceph.conf"

    def daemon(self, name: str) -> Process:
        """The process of "mon" or "osd": to pause, to resume, to kill."""
        return self._daemons[name]

    def environment(self) -> dict[str, str]:
        """What a program needs to find the cluster, and a test to harm it."""
        return {
            "CEPH_CONF": str(self.configuration),
            "COLONNADE_TEST_RADOS_POOL": POOL,
            "COLONNADE_TEST_CEPH_MON_PID": str(self.daemon("mon").pid),
            "COLONNADE_TEST_CEPH_OSD_PID": str(self.daemon("osd").pid),
            "COLONNADE_TEST_CEPH_OSD_SOCKET": str(self.folder / "osd.asok"),
        }

    def start(self) -> None:
        # Another process may take the free port first.
        for attempt in range(3):
            # Sockets have short names: not in a deep build folder.
            self._folder = Path(tempfile.mkdtemp(prefix="colonnade-ceph-"))
            try:
                self._start_monitor()
                self._start_osd()
                self.ceph("osd", "pool", "create", POOL, "8")
                return
            except BaseException as error:
                busy = isinstance(error, ServerError) and "ddress already in use" in self._logs()
                self.stop()
                if not busy or attempt == 2:
                    raise

    def stop(self) -> None:
        for process in reversed(self._daemons.values()):
            process.stop()
        self._daemons.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def restart(self, daemon: str) -> None:
        """A killed one; only with bluestore does an OSD still know its objects then."""
        self._spawn(daemon)
        if daemon == "osd":
            self._wait_for_osd()

    def ceph(self, *arguments: str) -> Any:
        """Runs the `ceph` tool; what it answers."""
        # The monitor may have been started a moment ago, on a busy machine.
        within = ["--connect-timeout", f"{self._timeout:.0f}"]
        command = ["ceph", "-c", str(self.configuration), *within, *arguments, "-f", "json"]
        answer = self._run(command)
        return json.loads(answer) if answer.strip() else None

    def rados(self, *arguments: str) -> str:
        """Runs the `rados` tool in the pool."""
        return self._run(["rados", "-c", str(self.configuration), "-p", POOL, *arguments])

    def values(self, name_space: str) -> list[str]:
        """Names of the objects in a namespace, those of the directory left out: they have a locator key."""
        lines = self.rados("-N", name_space, "ls").splitlines()
        return sorted(line for line in lines if "\t" not in line)

    def corrupt(self, name_space: str, value: str, offset: int) -> None:
        """Changes one byte of a value directly on the server."""
        copy = self.folder / "value"
        self.rados("-N", name_space, "get", value, str(copy))
        content = bytearray(copy.read_bytes())
        content[offset] ^= 0xFF
        copy.write_bytes(content)
        self.rados("-N", name_space, "put", value, str(copy))
        copy.unlink()

    @contextmanager
    def full(self) -> Iterator[None]:
        """Inside of the block the cluster takes itself to be full."""
        self._inject_full("full")
        self._wait_for_pool(full=True)
        try:
            yield
        finally:
            self._inject_full("full", "0")
            self._wait_for_pool(full=False)

    def _inject_full(self, *words: str) -> None:
        self._run(["ceph", "--admin-daemon", str(self.folder / "osd.asok"), "injectfull", *words])

    def _wait_for_pool(self, *, full: bool) -> None:
        """The monitor hears of it within seconds."""

        def is_so() -> bool:
            (pool,) = (pool for pool in self.ceph("osd", "pool", "ls", "detail") if pool["pool_name"] == POOL)
            return ("full" in pool["flags_names"].split(",")) == full

        self._daemons["osd"].wait_until(is_so, self._timeout)

    def _start_monitor(self) -> None:
        folder, port = self.folder, free_port()
        fsid = str(uuid.uuid4())
        self.configuration.write_text(
            CONFIGURATION.format(fsid=fsid, port=port, folder=folder, store=self._store, size=self._size)
        )
        monitors, keys = folder / "monmap", folder / "mon.keyring"
        address = f"[v2:127.0.0.1:{port}]"
        self._run(["monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, str(monitors)])
        create_key = ["ceph-authtool", "--create-keyring", str(keys), "--gen-key", "-n", "mon."]
        self._run([*create_key, "--cap", "mon", "allow *"])
        (folder / "mon").mkdir()
        make = ["ceph-mon", "-c", str(self.configuration), "--mkfs", "-i", "a", "--monmap", str(monitors)]
        self._run([*make, "--keyring", str(keys)])
        self._spawn("mon")

    def _start_osd(self) -> None:
        identity = str(uuid.uuid4())
        (self.folder / "osd").mkdir()
        self.ceph("osd", "new", identity)
        make = ["ceph-osd", "-c", str(self.configuration), "--mkfs", "-i", "0", "--osd-uuid", identity]
        self._run(make)
        self._spawn("osd")
        self._wait_for_osd()

    def _wait_for_osd(self) -> None:
        def is_up() -> bool:
            return any(osd["up"] == 1 and osd["in"] == 1 for osd in self.ceph("osd", "dump")["osds"])

        self._daemons["osd"].wait_until(is_up, self._timeout)

    def _spawn(self, daemon: str) -> None:
        name = {"mon": "a", "osd": "0"}[daemon]
        program = find_program(f"ceph-{daemon}")
        command = [program, "-c", str(self.configuration), "-f", "-i", name]
        self._daemons[daemon] = Process(command, self.folder / f"{daemon}.out")

    def _run(self, command: Sequence[str]) -> str:
        program, *arguments = command
        found = [find_program(program), *arguments]
        try:
            done = subprocess.run(found, capture_output=True, text=True, timeout=self._timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise ServerError(f"{' '.join(command)}: no answer\n{self._logs()}") from error
        if done.returncode != 0:
            said = f"{done.stdout}{done.stderr}"
            raise ServerError(f"{' '.join(command)}: status {done.returncode}\n{said}\n{self._logs()}")
        return done.stdout

    def _logs(self) -> str:
        text = []
        for log in [*self.folder.glob("*.out"), *self.folder.glob("*.log")]:
            end = log.read_text(errors="replace").splitlines()[-20:]
            text += [f"--- {log.name}", *end]
        return "\n".join(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--store", choices=["memstore", "bluestore"], default="memstore")
    parser.add_argument("--size", type=int, default=4 << 30, help="bytes of the store")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="runs while the cluster is up")
    arguments = parser.parse_args()
    with CephCluster(arguments.store, arguments.size) as cluster:
        return subprocess.run(
            arguments.command, env=os.environ | cluster.environment(), check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
