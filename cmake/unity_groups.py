#!/usr/bin/env python3
"""Which source files of a target are compiled as one: unity_groups.py --target NAME --root DIR --cache FILE SOURCE...

Files share a group where none of them declares a name for itself that another declares too, or that another takes from
a header. Prints one line per group: its number and its files, between semicolons; a file that stands alone is in none.
What was found in a file is kept in the cache until the file changes, and so are the groups: an edit moves only what
no longer fits.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

VERSION = 4  # of the cache: to be raised with every change of what is found in a file
FOLDERS = ["include", "src", "tests", "python/bindings"]
MOST_FILES = 12
MOST_LINES = 3500

TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\[\[|\]\]|\d[\w.']*|[^\s\w]")
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
TEST_MACROS = {"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"}
WORDS = {"alignas", "const", "constexpr", "consteval", "constinit", "decltype", "explicit", "extern", "final", "inline",
         "mutable", "noexcept", "operator", "requires", "static", "template", "thread_local", "typename", "virtual",
         "volatile"}  # fmt: skip


@dataclass
class File:
    """What a file declares for itself, and which words it uses."""

    own: dict[str, str] = field(
        default_factory=dict
    )  # name: what it is; equal in two files where that does no harm
    types: list[str] = field(default_factory=list)  # of these names
    used: list[str] = field(
        default_factory=list
    )  # names that are not found in a class or a namespace that is named
    declared: dict[str, list[str]] = field(
        default_factory=dict
    )  # in a header: names, and the namespaces they are in
    opened: list[str] = field(default_factory=lambda: [""])  # namespaces
    includes: list[str] = field(default_factory=list)  # of the project's headers
    directives: list[str] = field(default_factory=list)  # using namespace ...
    lines: int = 0
    alone: bool = False


def is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


class Parser:
    """Declarations at namespace scope. Knows as much of C++ as the project's own style needs."""

    def __init__(self, text: str, path: str) -> None:
        self.file = File(lines=text.count("\n"))
        self.path = path
        self.file.includes = INCLUDE.findall(text)
        self.namespaces: list[str] = []
        text = NOISE.sub(lambda match: '""' if match[0][0] in "\"'R" else " ", text)
        defined_before_include = False
        for directive in DIRECTIVE.finditer(text):
            if directive[1] == "define":
                name = directive[2].split("(")[0].split()[0]
                defined_before_include = True
                self.file.own[name] = f"macro of {path}"
            elif directive[1] == "undef":
                self.file.own.pop(directive[2].strip(), None)
            elif directive[1] == "include" and defined_before_include:
                self.file.alone = True  # headers may look different with it
        self.tokens = TOKEN.findall(DIRECTIVE.sub("", text))
        self.find_used()
        self.namespace_body(0, is_anonymous=False)

    def find_used(self) -> None:
        before = ""
        used = set()
        for token in self.tokens:
            if is_name(token) and before not in {".", "->", "::"}:
                used.add(token)
            before = token
        self.file.used = sorted(used)

    def skip(self, at: int) -> int:
        """The position behind the bracket that closes the one at `at`."""
        depth = 0
        for i in range(at, len(self.tokens)):
            if self.tokens[i] in {"(", "{", "[", "[["}:
                depth += 1
            elif self.tokens[i] in {")", "}", "]", "]]"}:
                depth -= 1
                if depth == 0:
                    return i + 1
        return len(self.tokens)

    def skip_angle(self, at: int) -> int:
        depth = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if token in {"(", "{", "["}:
                at = self.skip(at)
                continue
            depth += (token == "<") - (token == ">")
            at += 1
            if depth == 0:
                break
        return at

    def namespace_body(self, at: int, *, is_anonymous: bool) -> int:
        while at < len(self.tokens):
            token = self.tokens[at]
            if token == "}":
                return at + 1
            if token == "namespace" or (token == "inline" and self.tokens[at + 1] == "namespace"):
                at = self.namespace(at + (token == "inline") + 1, is_anonymous=is_anonymous)
            elif token == "extern" and self.tokens[at + 1 : at + 4] == ['"', '"', "{"]:
                at = self.namespace_body(at + 4, is_anonymous=is_anonymous)
            elif token == ";":
                at += 1
            else:
                at = self.declaration(at, is_anonymous=is_anonymous)
        return at

    def namespace(self, at: int, *, is_anonymous: bool) -> int:
        first = at
        while self.tokens[at] not in {"{", ";", "="}:
            at += 1
        if self.tokens[at] == "{":
            names = [token for token in self.tokens[first:at] if is_name(token)]
            for name in names:
                self.file.declared.setdefault(name, []).append("::".join(self.namespaces))
                self.namespaces.append(name)
                self.file.opened.append("::".join(self.namespaces))
            at = self.namespace_body(at + 1, is_anonymous=is_anonymous or at == first)
            del self.namespaces[len(self.namespaces) - len(names) :]
            return at
        end = self.tokens.index(";", at)
        self.file.own[self.tokens[first]] = "namespace " + "".join(self.tokens[at + 1 : end])
        return end + 1

    def declaration(self, at: int, *, is_anonymous: bool) -> int:
        """One declaration; returns the position behind it."""
        head: list[str] = []  # its tokens, without what stands in brackets
        body = None
        while at < len(self.tokens):
            token = self.tokens[at]
            if token == ";":
                at += 1
                break
            if token == "}":  # the end of the namespace: what stood here was a macro
                break
            if token == "template":
                at = self.skip_angle(at + 1)
                continue
            if token == "requires" and not head:
                at += 1
                continue
            if token == "<" and head and is_name(head[-1]) and head[-1] != "operator":
                at = self.skip_angle(at)
                head.append("<>")
                continue
            if token == "[[" or (token == "[" and self.tokens[at + 1 : at + 2] == ["["]):
                at = self.skip(at)
                continue
            if token in {"(", "["}:
                end = self.skip(at)
                if token == "(" and head and head[0] in TEST_MACROS and len(head) == 1:
                    inside = [t for t in self.tokens[at:end] if is_name(t)]
                    self.file.own[f"{inside[0]}_{inside[1]}_Test"] = f"test of {self.path}"
                head.append(token)
                at = end
                continue
            if token == "{":
                body = at
                at = self.skip(at)
                if ("(" in head and "=" not in head) or (head and head[0] in {"enum"}):
                    if self.tokens[at : at + 1] == [";"]:
                        at += 1
                    break
                head.append("{")
                continue
            head.append(token)
            at += 1
        self.declared(head, is_anonymous=is_anonymous, has_body=body is not None)
        return at

    def declared(self, head: list[str], *, is_anonymous: bool, has_body: bool) -> None:
        if not head or head[0] in TEST_MACROS:
            return
        own = self.file.own
        what = f"{self.path}"
        if head[0] == "using":
            if head[1] == "namespace":
                self.file.directives.append("".join(head[2:]))
            elif "=" in head:
                own[head[1]] = what
                self.file.types.append(head[1])
            else:
                own[head[-1]] = "using " + "".join(head[1:])
            return
        is_local = is_anonymous or "static" in head or "constexpr" in head or "const" in head[:2]
        for i, token in enumerate(head):
            if token in {"class", "struct", "union", "enum"}:
                rest = [t for t in head[i + 1 :] if t not in {"class", "struct", "final", "alignas", "("}]
                if "(" not in head and rest and is_name(rest[0]) and rest[1:2] != ["::"]:
                    own[rest[0]] = what
                    self.file.types.append(rest[0])
                    if len(rest) == 1 or rest[1] in {"{", ":", "<>"}:
                        return
                break
        if not is_local or "operator" in head:
            return
        stop = next((i for i, token in enumerate(head) if token in {"(", "=", "[", "{"}), len(head))
        names = head[:stop]
        while names and names[-1] == "<>":
            names.pop()
        if len(names) == 1 and stop < len(head) and head[stop] == "(":
            return  # a macro, as INSTANTIATE_TEST_SUITE_P
        if names and is_name(names[-1]) and names[-1] not in WORDS and names[-2:-1] != ["::"]:
            own[names[-1]] = what


def parse(path: Path) -> File:
    text = path.read_text(encoding="utf-8")
    parser = Parser(text, str(path))
    # Compiled once per set of instructions, each time as the only file of the unit.
    parser.file.alone |= "HWY_TARGET_INCLUDE" in text
    return parser.file


class Cache:
    """Files as they were found, by path, time and size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, dict[str, object]] = {}
        self.groups: dict[str, list[list[str]]] = {}
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["version"] == VERSION:
                self.files, self.groups = data["files"], data["groups"]
        except (OSError, ValueError, KeyError):
            pass

    def save(self) -> None:
        data = {"version": VERSION, "files": self.files, "groups": self.groups}
        self.path.write_text(json.dumps(data), encoding="utf-8")

    @staticmethod
    def stamp(path: Path) -> list[int]:
        found = path.stat()
        return [found.st_mtime_ns, found.st_size]

    def source(self, path: Path) -> File:
        known = self.files.get(str(path))
        stamp = self.stamp(path)
        if known is None or known["stamp"] != stamp:
            known = {"stamp": stamp, "file": asdict(parse(path))}
            self.files[str(path)] = known
        return File(**known["file"])  # type: ignore[arg-type]

    def header(self, path: Path) -> File:
        """With the names that a header declares at namespace scope."""
        known = self.files.get(str(path))
        stamp = self.stamp(path)
        if known is None or known["stamp"] != stamp:
            found = HeaderParser(path.read_text(encoding="utf-8"), str(path)).file
            known = {"stamp": stamp, "file": asdict(found)}
            self.files[str(path)] = known
        return File(**known["file"])  # type: ignore[arg-type]


class HeaderParser(Parser):
    """Functions with external linkage count, too."""

    def declared(self, head: list[str], *, is_anonymous: bool, has_body: bool) -> None:
        before = set(self.file.own)
        super().declared(head, is_anonymous=True, has_body=has_body)
        for name in set(self.file.own) - before:
            self.file.declared.setdefault(name, []).append("::".join(self.namespaces))
            if not self.file.own[name].startswith("macro"):
                del self.file.own[name]


class Seen(NamedTuple):
    """Names of headers as a file and the headers that it includes have them."""

    places: dict[str, set[str]]  # of the ambiguous ones: the namespaces in which they are declared
    uses: dict[str, set[str]]  # of the ambiguous ones: the namespaces in which they are used
    types: set[str]  # that are declared and used


class Headers:
    """The project's headers by the names under which they are included."""

    def __init__(self, root: Path, cache: Cache) -> None:
        self.by_name: dict[str, File] = {}
        self._seen: dict[int, Seen] = {}
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*.h")):
                self.by_name[str(path.relative_to(root / folder))] = cache.header(path)
        places: dict[str, set[str]] = {"testing": {"", "(GoogleTest)"}}
        for header in self.by_name.values():
            for name, namespaces in header.declared.items():
                places.setdefault(name, set()).update(namespaces)
        self.names = set(places)
        self.types = {name for header in self.by_name.values() for name in header.types}
        # Names that mean one thing in one namespace and another in the next: which one depends on what is included.
        self.ambiguous = {name for name, namespaces in places.items() if len(namespaces) > 1}

    def seen_by(self, file: File) -> Seen:
        if id(file) not in self._seen:
            self._seen[id(file)] = self._look_at(file)
        return self._seen[id(file)]

    def _look_at(self, file: File) -> Seen:
        places: dict[str, set[str]] = {"testing": {""}}
        uses: dict[str, set[str]] = {}
        used: set[str] = set()
        types: set[str] = set()
        todo: list[File] = [file]
        done: set[str] = set()
        while todo:
            each = todo.pop()
            used |= self.types.intersection(each.used)
            types.update(each.types)
            for name in self.ambiguous & set(each.used):
                uses.setdefault(name, set()).update(each.opened)
            for name in self.ambiguous & set(each.declared):
                places.setdefault(name, set()).update(each.declared[name])
            new = {name for name in each.includes if name in self.by_name} - done
            done |= new
            todo += [self.by_name[name] for name in new]
        return Seen(places, uses, used & types - set(file.types))


def hidden(one: File, other: File, headers: Headers) -> bool:
    """Whether a header of `one` may give another meaning to a name that `other` uses."""
    seen = headers.seen_by(other)
    places = headers.seen_by(one).places
    for name, opened in seen.uses.items():
        inner = max((len(place) for place in seen.places.get(name, set()) & opened), default=None)
        new = (places.get(name, set()) - seen.places.get(name, set())) & opened
        if inner is not None and any(len(place) >= inner for place in new):
            return True
    return False


def captured(one: File, other: File, headers: Headers) -> bool:
    """Whether `other` uses names of headers, or macros, that it would find in `one` instead; its headers, types."""
    seen = headers.seen_by(other)
    if seen.types & set(one.types):
        return True
    return any(
        name in headers.names or one.own[name].startswith("macro")
        for name in set(one.own) & (set(other.used) | set(seen.uses)) - set(other.own)
    )


def fits(one: File, other: File, headers: Headers) -> bool:
    """Whether two files may be compiled as one, in any order."""
    return (
        sorted(one.directives) == sorted(other.directives)
        and all(other.own.get(name, what) == what for name, what in one.own.items())
        and not any(hidden(a, b, headers) or captured(a, b, headers) for a, b in [(one, other), (other, one)])
    )


def grouped(
    names: Iterable[str], files: dict[str, File], before: list[list[str]], headers: Headers
) -> list[list[str]]:
    """Puts each file where it was, else into the first group where it fits."""
    groups: list[list[str]] = [[] for _ in before]
    place = {name: i for i, group in enumerate(before) for name in group}

    def has_room(group: list[str], name: str, slack: float) -> bool:
        return (
            len(group) < MOST_FILES * slack
            and (not group or sum(files[n].lines for n in [*group, name]) <= MOST_LINES * slack)
            and all(fits(files[name], files[n], headers) for n in group)
        )

    rest = []
    for name in names:
        if name in place and has_room(groups[place[name]], name, 1.25):
            groups[place[name]].append(name)
        else:
            rest.append(name)
    for name in rest:
        group = next((g for g in groups if has_room(g, name, 1)), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("sources", nargs="+", type=Path)
    options = parser.parse_args()
    cache = Cache(options.cache)
    headers = Headers(options.root, cache)
    files = {str(path): cache.source(path) for path in options.sources}
    together = [name for name in sorted(files) if not files[name].alone]
    groups = grouped(together, files, cache.groups.get(options.target, []), headers)
    cache.groups[options.target] = groups
    cache.save()
    for number, group in enumerate(groups):
        if len(group) > 1:
            print(";".join([str(number), *group]))


if __name__ == "__main__":
    main()
