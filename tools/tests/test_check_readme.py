"""README blocks are compared with the files that they name, opening comments apart."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from check_readme import render

README = "# Title\n<!-- file: examples/{name} -->\n```\n{code}```\nEnd\n"


def rendered(root: Path, name: str, text: str) -> str:
    (root / "examples").mkdir()
    (root / "examples" / name).write_text(text)
    result, blocks = render(README.format(name=name, code="old\n"), root)
    assert blocks == 1
    return result


def test_cpp_block_keeps_includes_and_loses_the_opening_comment(tmp_path: Path) -> None:
    text = "// What it is for,\n// in two lines.\n#include <vector>\nint main() {}\n"
    expected = README.format(name="a.cpp", code="#include <vector>\nint main() {}\n")
    assert rendered(tmp_path, "a.cpp", text) == expected


def test_python_block_loses_its_docstring(tmp_path: Path) -> None:
    text = '"""What it is for.\n\nMore.\n"""\n\nimport colonnade\n'
    assert rendered(tmp_path, "a.py", text) == README.format(name="a.py", code="import colonnade\n")


def test_text_without_marks_is_left_alone(tmp_path: Path) -> None:
    assert render("```cpp\nint x;\n```\n", tmp_path) == ("```cpp\nint x;\n```\n", 0)
