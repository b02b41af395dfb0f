"""Man pages and completions, which are in the repository and in the wheel, are those of the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARE = Path(__file__).parents[1] / "share"
MADE_BY = "run: make terminal-files"


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def test_man_pages_are_those_of_the_commands(tmp_path: Path) -> None:
    subprocess.run(
        [program("click-man"), "--target", str(tmp_path), "--man-date", "2026-01-01", "colonnade"],
        check=True,
        capture_output=True,
    )
    made = {page.name: page.read_text() for page in tmp_path.iterdir()}
    kept = {page.name: page.read_text() for page in (SHARE / "man" / "man1").iterdir()}
    assert kept == made, MADE_BY


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", "bash-completion/completions/colonnade"),
        ("zsh", "zsh/site-functions/_colonnade"),
        ("fish", "fish/vendor_completions.d/colonnade.fish"),
    ],
)
def test_completions_are_those_of_the_program(shell: str, file: str) -> None:
    made = subprocess.run(
        [program("colonnade")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "_COLONNADE_COMPLETE": f"{shell}_source"},
    )
    assert (SHARE / file).read_text() == made.stdout, MADE_BY


def test_they_are_installed_with_the_package() -> None:
    share = Path(sys.prefix) / "share"
    for file in SHARE.rglob("*"):
        assert not file.is_file() or (share / file.relative_to(SHARE)).read_bytes() == file.read_bytes()
