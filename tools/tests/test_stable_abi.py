"""The bindings use only what is in Python's stable ABI, which the wheel for Python 3.12 and later is built for.

Python 3.11, with which all else is tested, gives them the whole interface: no compiler would complain there.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest
from scikit_build_core.settings.skbuild_read_settings import SettingsReader

ROOT = Path(__file__).resolve().parents[2]
BINDINGS = ROOT / "python" / "bindings"
NAMES = re.compile(r"\b_?Py(?:[A-Z][A-Za-z]*)?_\w+")  # classes of the bindings themselves have no underscore
OLDEST = "0x030c0000"
"""The oldest Python of this wheel; pyproject.toml has it, too."""


def test_the_bindings_keep_to_the_stable_abi() -> None:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    headers = sysconfig.get_path("include")
    command = [*compiler, "-E", "-dD", "-P", f"-DPy_LIMITED_API={OLDEST}", f"-I{headers}", "-x", "c", "-"]
    ran = subprocess.run(command, input="#include <Python.h>\n", capture_output=True, text=True, check=True)
    stable = set(NAMES.findall(ran.stdout))
    assert "PyList_SetItem" in stable
    assert "PyList_SET_ITEM" not in stable
    used = {(path.name, name) for path in BINDINGS.iterdir() for name in NAMES.findall(path.read_text())}
    assert len(used) > 10
    assert sorted(each for each in used if each[1] not in stable) == []


@pytest.mark.parametrize(("cmake", "api"), [("3.25.1", ""), ("3.26.0", "cp312"), ("4.1.0", "cp312")])
def test_wheels_are_for_all_later_pythons_where_cmake_can_build_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cmake: str, api: str
) -> None:
    """Older CMake has no limited API to offer, and a wheel that is named after it would be installed where it fails."""
    program = tmp_path / "cmake"
    program.write_text(f'#!/bin/sh\nprintf %s \'{{"version": {{"string": "{cmake}"}}}}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("scikit_build_core.program_search.BASE_TIMEOUT", 600)  # of a busy machine
    reader = SettingsReader.from_file(ROOT / "pyproject.toml", state="wheel")
    assert reader.settings.wheel.py_api == api
