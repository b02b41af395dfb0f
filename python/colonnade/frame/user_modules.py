"""The user's modules that callables come from.

A pickle names the functions of a module, and does not contain them. What they do follows from the module's source and
from those of the modules that it imports, which may be edited between two runs, and while a worker lives.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import pickletools
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from colonnade.locks import ProcessLock

__all__ = ["hash_of_file", "sources_in", "use_sources"]

_INSTALLED = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in [
        *(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    ]
)
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""Folders of other environments that PYTHONPATH or a .pth file adds to this one."""
_sent: set[str] = set()
"""Modules of callables that are from this process: its user reloads them."""
_received: dict[str, str] = {}
"""Modules of callables that this process has unpickled, and their hashes."""
_lock = ProcessLock()


def sources_in(pickled: bytes) -> dict[str, str]:
    """Return hashes of the modules that a pickle names, and of those that they import, except installed ones."""
    found: dict[str, str] = {}
    nearby = _nearby()  # code that travels in the pickle may import these when it runs
    names = {each for each in _texts(pickled) if each in sys.modules or each.partition(".")[0] in nearby}
    while names:
        name = names.pop()
        path = _path_of(name)
        if path and name not in found and (digest := hash_of_file(path)):
            found[name] = digest
            if path.endswith(".py"):
                names |= _imports(name, path, digest)
    with _lock:
        _sent.update(found.keys() - _received.keys())
    return dict(sorted(found.items()))


def use_sources(sources: dict[str, str]) -> None:
    """Let modules be imported again if any of them is not what this process has unpickled before."""
    with _lock:
        if any(_received.get(name, digest) != digest for name, digest in sources.items()):
            for name in (sources.keys() - _sent) & sys.modules.keys():
                if (_path_of(name) or "").endswith(".py"):
                    del sys.modules[name]
        _received.update(sources)


def hash_of_file(path: str) -> str:
    """Return a hash of a file's content; empty if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _texts(pickled: bytes) -> Iterator[str]:
    """The short texts in a pickle, among which are the names of modules, and in pickles that it contains."""
    try:
        for _, argument, _ in pickletools.genops(pickled):
            if isinstance(argument, str):
                yield argument
            elif isinstance(argument, bytes) and argument.startswith(b"\x80"):
                yield from _texts(argument)
    except ValueError:  # other bytes
        return


def _nearby() -> set[str]:
    """The first parts of the names of modules that can be imported, except installed ones, and of other files there."""
    found: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):  # of what is no folder, and where the current one has been removed
            if not _is_installed(folder):
                found.update(each.partition(".")[0] for each in os.listdir(folder or "."))
    return found


def _is_installed(path: str) -> bool:
    return _is_installed_at(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))


@lru_cache(maxsize=4096)
def _is_installed_at(path: str) -> bool:
    """Whether an absolute path is. Links are followed: for each callable that takes as long as all the rest."""
    folder = os.path.join(os.path.realpath(path), "")
    return folder.startswith(_INSTALLED) or any(f"/{each}/" in folder for each in _PACKAGE_FOLDERS)


def _path_of(name: str) -> str | None:
    """The file of a module that is neither installed nor the program itself."""
    if name in ("__main__", "__mp_main__") or name.partition(".")[0] == "colonnade":
        return None
    path = getattr(sys.modules[name], "__file__", None) if name in sys.modules else _path_to_import(name)
    return None if not path or _is_installed(path) else str(path)


def _path_to_import(name: str) -> str | None:
    """The file of a module that is not loaded. Unlike `importlib.util.find_spec`, it does not import packages."""
    spec, above, folders = None, "", None
    for part in name.split("."):
        if above and folders is None:  # a name in a module: without folders it would be searched everywhere
            return None
        spec = importlib.machinery.PathFinder.find_spec(above + part, folders)
        if spec is None:
            return None
        above, folders = f"{above}{part}.", spec.submodule_search_locations
    return spec.origin if spec is not None and spec.has_location else None


@lru_cache(maxsize=256)
def _imports(name: str, path: str, digest: str) -> frozenset[str]:
    """The modules that the source of a module, which has the hash, may import."""
    package = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    try:
        statements = list(ast.walk(ast.parse(Path(path).read_bytes())))
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    for each in statements:
        if isinstance(each, ast.Import):
            found.update(alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            base = "." * each.level + (each.module or "")
            try:
                base = importlib.util.resolve_name(base, package)
            except ImportError:
                continue
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in each.names)
    return frozenset(found)
