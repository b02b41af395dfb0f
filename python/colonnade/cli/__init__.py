"""The command line: `colonnade COMMAND ...`. Each command is a module of its own."""

from __future__ import annotations

import codecs
import importlib
import io
import os
import sys
from collections import UserDict
from collections.abc import Sequence
from typing import Any

import click

from colonnade import __version__, _core
from colonnade.errors import Error, redacted
from colonnade.floating_point import with_standard_floating_point

__all__ = ["app", "main"]


class _Commands(UserDict[str, Any]):
    """Commands by name, loaded when they are asked for: all of them together take longer than most of them run."""

    def __getitem__(self, name: str) -> click.Command:
        found = super().__getitem__(name)
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = getattr(importlib.import_module(f".{module}", __package__), attribute)
            self[name] = found
        assert isinstance(found, click.Command)
        return found


_COMMANDS = _Commands(
    {
        "info": "info:info",
        "ls": "info:ls",
        "show": "show:show",
        "diff": "diff:diff",
        "verify": "verify:verify",
        "repair": "repair:repair",
        "import": "import_:import_",
        "merge": "merge:merge",
        "export": "export:export",
        "gc": "gc:gc",
        "rm": "gc:rm",
        "cache": "cache:cache",
        "generate": "generate:generate",
        "demo": "demo:demo",
    }
)


@click.group(
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="colonnade")
def app() -> None:
    """Inspect, verify and create RNTuple files."""


def _simpler(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not have by something that looks alike."""
    assert isinstance(error, UnicodeEncodeError)
    letters = (_ALIKE.get(letter, "?") for letter in error.object[error.start : error.end])
    return "".join(letters), error.end


_ALIKE = dict.fromkeys("█▉▊▋▌▍▎▏", "#") | {"├": "|", "└": "`", "─": "-", "│": "|", "…": "."}
codecs.register_error("colonnade", _simpler)


def _told(error: Exception) -> str:
    """In one line, but for texts with a mark below; without secrets, those of errors of other libraries, too."""
    text = str(error)
    if isinstance(error, OSError) and not isinstance(error, Error) and error.errno is not None:
        problem = f"'{error.filename}' cannot be used" if error.filename else "the output cannot be written"
        advice = _core.system_advice(error.errno)
        text = f"{problem} ({error.strerror})" + (f"; try: {advice}" if advice else "")
    lines = [line.rstrip() for line in text.splitlines()]
    if any(line and not line.strip("^~ ") for line in lines):
        return redacted("\n".join(lines))
    return redacted(" ".join(" ".join(lines).split()))


def _nowhere() -> io.TextIOWrapper:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@with_standard_floating_point
def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and end the process: status 0, 1 after an error that is told in one line, 2 for wrong usage."""
    # A stream that the shell closed (`>&-`) is None.
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # bars and what is drawn, where the terminal has no such letters
            stream.reconfigure(errors="colonnade")
    try:
        status = app.main(args=arguments, prog_name="colonnade", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("colonnade: interrupted", err=True)
        status = 130
    except BrokenPipeError:
        # The reader of the output, `head` for instance, has closed it; nothing may be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except (Error, OSError, ImportError) as error:
        click.echo(f"colonnade: {_told(error)}", err=True)
        status = 1
    sys.exit(status or 0)
