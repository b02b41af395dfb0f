"""Random files of several data sets whose writers are killed: repair finds the first with anything to bring back, as a
repair of each by itself does, and nothing is added to the file as long as there is one.

`make soak` tries other seeds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import colonnade

NAMES = ["a", "b/x", "c/d/y", "e", "b/z"]


def write(path: Path, seed: int, number: int) -> None:
    """Write a data set, or go on with one, in this process, which may be killed before it closes it."""
    dice = random.Random(f"{seed} {number}")
    every = dice.choice([1, 2, 3, 100])
    options = {"checkpoint_every": every, "compression": dice.choice(["none", "zstd"])}
    if number and dice.random() < 0.4:
        there = colonnade.datasets(path)
        writer = colonnade.resume(path, dice.choice(there), discard_unrepaired=True, **options)
    else:
        mode = "update" if path.exists() else "create"
        name, schema = f"{dice.choice(NAMES)}{number}", {"x": "float"}
        writer = colonnade.create(path, name, schema, mode=mode, discard_unrepaired=True, **options)
    for value in range(dice.randint(0, 7)):
        writer.fill(x=value)
        writer.commit_cluster()
    if dice.random() < 0.6:
        writer.close()
    os._exit(0)


def main(folder: Path, seed: int) -> None:
    """Write files in children of this process, which has loaded all that they need."""
    colonnade.create("memory+obj:repairs", "a", {"x": "float"}).close()
    for case in range(15):
        for number in range(random.Random(f"{seed} {case}").randint(2, 6)):
            child = os.fork()
            if child == 0:
                try:
                    write(folder / f"{case}.root", 1000 * seed + case, number)
                except (colonnade.Error, IndexError):  # no data set is committed yet
                    os._exit(1)
            os.waitpid(child, 0)


def can_be_added(path: Path) -> bool:
    try:
        colonnade.create(path, "another", {"x": "float"}, mode="update").close()
    except colonnade.UsageError as error:
        assert "repair can bring back" in str(error)  # noqa: PT017
        return False
    return True


@pytest.mark.random
@pytest.mark.parametrize("seed", range(1, 2))
def test_random_repairs(tmp_path: Path, seed: int) -> None:
    subprocess.run([sys.executable, "-W", "ignore", __file__, tmp_path, str(seed)], check=True, timeout=300)
    found = 0
    for path in sorted(tmp_path.iterdir()):
        each = [colonnade.repair(path, name, dry_run=True) for name in colonnade.datasets(path)]
        if not each:
            continue
        useful = [report for report in each if report.recovered_entries or report.dropped]
        found += bool(useful)
        expected = (useful or each)[0]
        report = colonnade.repair(path, dry_run=True)
        assert (report.data_set, report.recovered_entries) == (
            expected.data_set,
            expected.recovered_entries,
        )
        assert can_be_added(path) == (not any(report.recovered_entries for report in each)), path
    assert found


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
