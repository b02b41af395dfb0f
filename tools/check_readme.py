#!/usr/bin/env python3
"""Checks that every code block of README.md marked with a file is that file, word for word.

A block is marked by the comment `<!-- file: examples/x.cpp -->` in the line before its fence. The files are compiled
and run by the tests, so what the README shows is what works. With --update the blocks are rewritten from the files.
The opening comment of an example, which says what it is for, is left out of the README.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- file: (?P<path>\S+) -->\n```\w*\n)(?P<code>.*?)(```\n)", re.DOTALL)
OPENING_COMMENT = {
    ".cpp": re.compile(r"\A(?://[^\n]*\n)+\n?"),
    ".py": re.compile(r'\A(?:#[^\n]*\n)+\n?|\A""".*?"""\n\n?', re.DOTALL),
}


def shown_part(path: Path) -> str:
    return OPENING_COMMENT[path.suffix].sub("", path.read_text(encoding="utf-8"), count=1)


def render(readme: str, root: Path) -> tuple[str, int]:
    """The README with its blocks taken from the files, and how many blocks there are."""
    return BLOCK.subn(lambda block: block[1] + shown_part(root / block["path"]) + block[4], readme)


def main() -> int:
    path = ROOT / "README.md"
    readme = path.read_text(encoding="utf-8")
    rendered, blocks = render(readme, ROOT)
    if blocks == 0:
        print("README.md: no block is marked with <!-- file: ... -->")
        return 1
    if "--update" in sys.argv:
        path.write_text(rendered, encoding="utf-8")
        return 0
    if rendered != readme:
        print(
            "README.md differs from the files that its code blocks name; run tools/check_readme.py --update"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
