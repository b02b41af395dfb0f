"""The version stands in one place, and recipes of packages name what the build and the package need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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


def imported_at_once(source: str) -> set[str]:
    """The packages that a module needs as soon as it is imported itself."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(ast.parse(source).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def test_the_package_needs_what_it_says() -> None:
    """A package that only a machine of developers has is missed elsewhere."""
    needed = {re.split(r"[^\w-]", one)[0] for one in PROJECT["project"]["dependencies"]}
    later = {"annotationlib"}  # the standard library of Python 3.14
    known = set(sys.stdlib_module_names) | later | needed | {"colonnade"}
    package = ROOT / "python" / "colonnade"
    # Of what is imported only by those who have the other.
    of_others = {
        "ml/torch.py": {"torch"},
        "importing/baskets.py": {"uproot"},
        "importing/bounds.py": {"uproot"},
        "importing/counted_arrays.py": {"uproot"},
        "importing/interpretations.py": {"uproot"},
        "importing/late_branches.py": {"uproot"},
        "importing/maps.py": {"uproot"},
        "importing/nested_lists.py": {"uproot"},
        "importing/recovery.py": {"uproot"},
        "importing/references.py": {"uproot"},
        "importing/streamers.py": {"uproot"},
        "importing/transport_source.py": {"uproot"},
        "reading/scanning.py": {"pyarrow"},
    }
    for path in sorted(package.rglob("*.py")):
        place = str(path.relative_to(package))
        more = imported_at_once(path.read_text()) - known - of_others.get(place, set())
        assert not more, f"{place} imports {more}"
