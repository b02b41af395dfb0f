"""The include check finds each kind of violation, and nothing in a tree that keeps the rules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from check_includes import Checker

PUBLIC_HEADERS = {"error.h": "base", "descriptor.h": "format", "reader.h": "dataset"}


def check(root: Path, files: dict[str, str]) -> list[str]:
    files = {
        "include/colonnade/error.h": "#include <string>\n",
        "src/base/CMakeLists.txt": "colonnade_layer(base)\n",
    } | files
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Checker(root, PUBLIC_HEADERS).run()


def test_accepts_what_points_down(tmp_path: Path) -> None:
    files = {
        "include/colonnade/descriptor.h": '#include <vector>\n#include "colonnade/error.h"\n',
        "src/page/a.cpp": '#include <zstd.h>\n#include "page/a.h"\n#include "colonnade/descriptor.h"\n',
        "src/page/b.cpp": '#include "io/b.h"\n',
        "src/page/CMakeLists.txt": "colonnade_layer(page DEPENDS base io\n codec LIBRARIES PkgConfig::ZSTD)\n",
    }
    assert check(tmp_path, files) == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "src/format/a.cpp",
            '#include "codec/b.h"\n',
            "layer format must not include codec/b.h, which is of layer codec",
        ),
        (
            "src/io/a.h",
            '\n# include "page/b.h"\n',
            "layer io must not include page/b.h, which is of layer page",
        ),
        (
            "src/codec/a.h",
            '#include "colonnade/descriptor.h"\n',
            "layer codec must not include colonnade/descriptor.h, which is of layer format",
        ),
        ("src/io/a.cpp", '#include "a.h"\n', 'write the folder too: "io/a.h"'),
        ("src/io/a.cpp", "#include <colonnade/new.h>\n", "colonnade/new.h has no row in PUBLIC_HEADERS"),
        ("src/extra/a.cpp", "", "is not a layer"),
        (
            "src/io/CMakeLists.txt",
            "colonnade_layer(io DEPENDS base page)\n",
            "layer io must not depend on page",
        ),
        ("include/colonnade/new.h", "", "has no row in PUBLIC_HEADERS"),
        (
            "include/colonnade/error.h",
            '#include "base/bytes.h"\n',
            "a public header must not include base/bytes.h",
        ),
        (
            "include/colonnade/error.h",
            "#include <fmt/format.h>\n",
            "a public header must not include fmt/format.h",
        ),
        (
            "include/colonnade/error.h",
            '#include "colonnade/reader.h"\n',
            "layer base must not include colonnade/reader.h, which is of layer dataset",
        ),
    ],
)
def test_names_each_violation(tmp_path: Path, name: str, text: str, problem: str) -> None:
    found = check(tmp_path, {name: text})
    assert len(found) == 1
    assert problem in found[0]
