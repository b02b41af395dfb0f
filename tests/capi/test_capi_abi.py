"""The binary interface of the C library: functions, structs and constants stay as a list says, which only grows."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import c_library as c
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include" / "colonnade.h"
LIST = Path(__file__).with_name("abi.txt")
LIBRARY = Path(os.environ["COLONNADE_BUILD_DIR"]) / "src" / "libcolonnade.so"


def header() -> str:
    """The header without its comments."""
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)


def functions() -> list[str]:
    return re.findall(r"\b(colonnade_\w+)\(", header().replace("(*colonnade_function)(", ""))


def structs() -> Iterator[tuple[str, list[str]]]:
    """Name and members of each struct that programs see."""
    for name, body in re.findall(r"typedef struct (colonnade_\w+) \{(.*?)\}", header(), flags=re.DOTALL):
        members = [re.findall(r"(\w+)\s*$", part)[0] for part in re.split("[;,]", body) if part.strip()]
        yield name, members


def constants() -> list[str]:
    return re.findall(r"^\s*(COLONNADE_\w+) = \d+", header(), flags=re.MULTILINE)


def layout(folder: Path) -> list[str]:
    """What a C compiler makes of the structs and constants."""
    prints = [f'printf("{name} %d\\n", (int){name});' for name in constants()]
    for name, members in structs():
        prints += [
            f'printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name}*)0)->{member}));'
            for member in members
        ]
    source = folder / "layout.c"
    lines = "\n".join(prints)
    source.write_text(
        f"#include <colonnade.h>\n#include <stdio.h>\nint main(void) {{\n{lines}\nreturn 0;\n}}\n"
    )
    program = folder / "layout"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER.parent}"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, source, "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def listed() -> dict[str, int]:
    """The lines of the list, and the version of each."""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return {line.split(" ", 1)[1]: int(line.split(" ", 1)[0]) for line in lines}


def test_the_list_is_what_there_is(tmp_path: Path) -> None:
    """Whoever adds a function, a member or a constant adds a line with the new COLONNADE_ABI_VERSION."""
    found = [*functions(), *layout(tmp_path)]
    assert len(set(found)) == len(found)
    assert set(listed()) == set(found)
    assert max(listed().values()) == c.LIBRARY.colonnade_abi_version()


def test_the_library_has_all_functions_and_no_other_c_names() -> None:
    names = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    ).stdout.split()
    exported = {name for name in names if name.startswith("colonnade_")}
    assert exported == set(functions())


def test_version_1_is_as_it_was(tmp_path: Path) -> None:
    """A program that knows the first members of structs alone finds them where they were."""
    first = [line for line, version in listed().items() if version == 1]
    assert len(first) > 100
    assert set(first) <= {*functions(), *layout(tmp_path)}


@pytest.mark.parametrize(
    "compiler", [["cc", "-std=c99"], ["c++", "-x", "c++", "-std=c++98", "-Wno-long-long"]]
)
def test_other_compilers_take_the_header(tmp_path: Path, compiler: list[str]) -> None:
    source = tmp_path / "uses.c"
    source.write_text("#include <colonnade.h>\nint main(void) { return (int)COLONNADE_OK; }\n")
    flags = [
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        f"-I{HEADER.parent}",
        "-c",
        "-o",
        tmp_path / "uses.o",
    ]
    subprocess.run([*compiler, *flags, source], check=True)
