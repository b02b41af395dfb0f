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

BINDINGS = Path(__file__).resolve().parents[2] / "python" / "bindings"
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
