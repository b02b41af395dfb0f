#!/usr/bin/env python3
"""Checks that includes point one way: each layer sees only itself and the layers below it.

    base -> io, codec, format -> container, cache -> page -> field -> dataset -> frame -> capi, python, cli

The rules:
- a file in src/<layer>/ includes "<layer>/..." of layers that it may see, and public headers of those layers;
- a public header includes public headers of layers that its own may see and the standard library, nothing else,
  so that users need neither our sources nor anybody's development packages;
- the DEPENDS of every src/<layer>/CMakeLists.txt keep to the same table.
Prints one line per violation and exits with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What each layer may include besides itself.
BELOW: dict[str, set[str]] = {
    "base": set(),
    "io": {"base"},
    "codec": {"base"},
    "format": {"base"},
    "container": (container := {"base", "io", "codec", "format"}),
    "cache": {"base", "io", "codec", "format"},
    "page": (page := container | {"container", "cache"}),
    "field": (field := page | {"page"}),
    "dataset": (dataset := field | {"field"}),
    "frame": (frame := dataset | {"dataset"}),
    "capi": frame | {"frame"},
    "python": frame | {"frame"},
    "cli": frame | {"frame"},
}

# The layer that each public header speaks for. A new header needs a row here.
PUBLIC_HEADERS: dict[str, str] = {
    "error.h": "base",
    "column_type.h": "base",
    "options.h": "base",
    "warning.h": "base",
    "detail/inline_vector.h": "base",
    "page_list.h": "format",
    "descriptor.h": "format",
    "reflect.h": "field",
    "detail/bindings.h": "field",
    "describe.h": "field",
    "types.h": "field",
    "field.h": "field",
    "detail/containers.h": "field",
    "detail/field_of.h": "field",
    "detail/plain_types.h": "field",
    "detail/self_reference.h": "field",
    "detail/unstorable.h": "field",
    "detail/variants.h": "field",
    "field_types.h": "field",
    "columnar.h": "base",
    "sealed_columns.h": "base",
    "model.h": "dataset",
    "entry.h": "dataset",
    "view.h": "dataset",
    "attributes.h": "dataset",
    "reader.h": "dataset",
    "writer.h": "dataset",
    "parallel_writer.h": "dataset",
    "shared_writer.h": "dataset",
    "repair.h": "page",
    "garbage.h": "container",
    "cache.h": "dataset",
    "chain.h": "dataset",
    "join.h": "dataset",
    "copy.h": "dataset",
    "merge.h": "dataset",
    "block.h": "frame",
    "accumulator.h": "frame",
    "frame_results.h": "frame",
    "dataframe.h": "frame",
    "detail/frame_accumulators.h": "frame",
    "detail/frame_call.h": "frame",
    "detail/frame_cell.h": "frame",
    "detail/frame_graph.h": "frame",
    "detail/frame_result.h": "frame",
    "detail/merge_tree.h": "frame",
    "colonnade.h": "dataset",
    "functions.h": "frame",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")
LAYER_CALL = re.compile(r"colonnade_layer\(\s*(\w+)\s*(?:DEPENDS([\w\s]*?))?(?:LIBRARIES[^)]*)?\)")


def includes(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yields (line number, '<' or '"', name) of every include directive in a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in {".h", ".cpp"})


class Checker:
    def __init__(self, root: Path, public_headers: dict[str, str]) -> None:
        self.root = root
        self.public_headers = public_headers
        self.problems: list[str] = []

    def report(self, path: Path, line: int, problem: str) -> None:
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {problem}")

    def check_public(self, path: Path, line: int, layer: str, name: str) -> None:
        """An include of "colonnade/<name>" from a file of `layer`."""
        target = self.public_headers.get(name)
        if target is None:
            self.report(
                path, line, f"colonnade/{name} has no row in PUBLIC_HEADERS of tools/check_includes.py"
            )
        elif target != layer and target not in BELOW[layer]:
            self.report(
                path, line, f"layer {layer} must not include colonnade/{name}, which is of layer {target}"
            )

    def check_public_headers(self) -> None:
        folder = self.root / "include" / "colonnade"
        for path in sources(folder):
            own = path.relative_to(folder).as_posix()
            layer = self.public_headers.get(own)
            if layer is None:
                self.report(path, 1, "has no row in PUBLIC_HEADERS of tools/check_includes.py")
                continue
            for line, quote, name in includes(path):
                if name.startswith("colonnade/"):
                    self.check_public(path, line, layer, name.removeprefix("colonnade/"))
                elif quote == '"' or not STANDARD_HEADER.match(name):
                    self.report(path, line, f"a public header must not include {name}")

    def check_layer(self, folder: Path) -> None:
        layer = folder.name
        if layer not in BELOW:
            self.report(folder, 1, "is not a layer of tools/check_includes.py")
            return
        for path in sources(folder):
            for line, quote, name in includes(path):
                if name.startswith("colonnade/"):
                    self.check_public(path, line, layer, name.removeprefix("colonnade/"))
                    continue
                target = name.split("/")[0]
                if quote == '"' and "/" not in name:
                    self.report(path, line, f'write the folder too: "{layer}/{name}"')
                elif quote == '"' and target in BELOW and target != layer and target not in BELOW[layer]:
                    self.report(
                        path, line, f"layer {layer} must not include {name}, which is of layer {target}"
                    )

    def check_depends(self, path: Path) -> None:
        for call in LAYER_CALL.finditer(path.read_text(encoding="utf-8")):
            layer, depends = call[1], set((call[2] or "").split())
            if wrong := depends - BELOW.get(layer, set()):
                self.report(path, 1, f"layer {layer} must not depend on {', '.join(sorted(wrong))}")

    def run(self) -> list[str]:
        self.check_public_headers()
        for folder in sorted(path for path in (self.root / "src").iterdir() if path.is_dir()):
            self.check_layer(folder)
        for path in sorted((self.root / "src").glob("*/CMakeLists.txt")):
            self.check_depends(path)
        return self.problems


def main() -> int:
    problems = Checker(Path(__file__).resolve().parent.parent, PUBLIC_HEADERS).run()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
