"""What all tests share: real servers (tests/servers), for the tests that ask for them."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests" / "servers"))

pytest_plugins = ["server_fixtures"]

LONGEST = (
    "test_random_faults.py",
    "test_distributed.py",
    "test_random_graphs.py",
    "test_random_snapshots.py",
    "test_servers_random_faults.py",
    "test_engines.py",
    "test_gpu.py",
    "test_root_getters.py",
    "test_frame_against_root.py",
    "test_servers_xrootd.py",
    "test_ml.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, so that no process works on one of them while the others have nothing to do."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONGEST)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In continuous integration, failures are told at once: a run that is stopped prints no summary."""
    if os.environ.get("CI") and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(
            f"\n{report.nodeid} ({report.when}, {report.duration:.0f} s)\n{report.longreprtext}\n", flush=True
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In continuous integration, a test that could not run is no success; the summary names it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
