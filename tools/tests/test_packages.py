"""The version stands in one place, and recipes of packages name what the build and the package need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What the build needs, by the names of its modules, in packages of conda-forge and of AlmaLinux.
LIBRARIES = {
    "fmt": ("fmt", "fmt-devel"),
    "LibLZMA": ("liblzma-devel", "xz-devel"),
    "Boost": ("libboost-headers", "boost-devel"),
    "nlohmann_json": ("nlohmann_json", "json-devel"),
    "libzstd": ("zstd", "libzstd-devel"),
    "liblz4": ("lz4-c", "lz4-devel"),
    "libdeflate": ("libdeflate", "libdeflate-devel"),
    "libxxhash": ("xxhash", "xxhash-devel"),
    "libhwy": ("libhwy", "highway-devel"),
    "liburing": ("liburing", "liburing-devel"),
    "libcurl": ("libcurl", "libcurl-devel"),
    "libcrypto": ("openssl", "openssl-devel"),
}


def test_the_version_stands_in_one_place() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    project = re.search(r"project\(Colonnade VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert project is not None
    version = re.compile(rf"(?<![\d.]){re.escape(project[1])}(?![\d.])")
    # Made by programs, or of the interface in C, which is an example; requirements name versions of others.
    may = (
        "python/share/",
        "include/colonnade.h",
        "tools/requirements",
        "benchmarks/results/",
        "docs/decisions/",
    )
    found = [
        name
        for name in listed.stdout.split()
        if not name.startswith(may)
        and name.endswith((".py", ".toml", ".txt", ".cmake", ".in", ".yaml", ".sh", ".cpp", ".h", ".json"))
        and (ROOT / name).exists()
        and version.search((ROOT / name).read_text(errors="replace"))
    ]
    assert found == ["CMakeLists.txt"]


def test_recipes_name_all_libraries() -> None:
    text = (ROOT / "cmake" / "Dependencies.cmake").read_text()
    modules = re.findall(r"(?:find_package\((\w+)|IMPORTED_TARGET ([a-z0-9]+))", text)
    needed = {name for pair in modules for name in pair if name} - {"PkgConfig", "Threads"}
    assert needed == set(LIBRARIES)
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    commands = PROJECT["tool"]["cibuildwheel"]["linux"]["before-all"]
    for conda, alma in LIBRARIES.values():
        assert f"    - {conda}\n" in recipe
        assert alma in commands.split()


def test_recipes_name_all_packages() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    for need in (*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]):
        assert f"    - {need.replace('>=', ' >=')}\n" in recipe
    for need in PROJECT["project"]["optional-dependencies"]["demo"]:
        assert f"    - {need.replace('>=', ' >=')}\n" in recipe
