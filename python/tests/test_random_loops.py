"""Random programs with loops against a C++ compiler: the same text gives the same numbers.

Loops of all kinds in each other, that are left by break, continue and return, around variables and lists that change.
Each program counts its turns, so that every one ends. `make soak` tries other seeds.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

import colonnade
from colonnade import DataFrame

ROWS = 300
PROGRAMS = 60
MOST_TURNS = 40

HEAD = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
using Floats = std::vector<float>;
static float f[ROWS];
static int n[ROWS];
static Floats v[ROWS];
"""


class Program:
    """Statements in the scope of the columns `f`, `n` and `v`: a number, an integer, and a list of numbers."""

    def __init__(self, seed: int, functions: int = 0) -> None:
        """`functions`: the number of functions f0, f1, ... that it can call."""
        self.random = random.Random(seed)
        self.functions = functions
        self.scopes: list[list[tuple[str, str]]] = [[("f", "float"), ("n", "int"), ("v", "list")]]
        self.fixed = {"f", "n", "v"}
        self.names = 0
        self.loops = 0
        self.depth = 0
        # Loops that change a string are not run as flat programs.
        self.is_flat = self.chance(0.6)
        self.returns = "double"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def known(self, kind: str, changeable: bool = False) -> list[str]:
        found: dict[str, str] = {}
        for scope in self.scopes:
            found |= dict(scope)
        return [
            name
            for name, its in found.items()
            if its == kind and not (changeable and name in self.fixed) and name != "turns"
        ]

    def new_name(self) -> str:
        hidden = [name for name in self.known("int") + self.known("float") if name[0] == "x"]
        if hidden and self.chance(0.15):
            return self.random.choice(hidden)
        self.names += 1
        return f"x{self.names}"

    # ---- Values

    def integer(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(0.3):
            return self.random.choice([*self.known("int"), str(self.random.randint(0, 5))])
        kind = self.random.randrange(7)
        if self.known("pair") and self.chance(0.2):
            return f"{self.random.choice(self.known('pair'))}.second"
        if kind == 5:
            name = self.random.choice(self.known("list"))
            return self.random.choice(
                [
                    f"(int)std::count_if({name}.begin(), {name}.end(), {self.test()})",
                    f"(int)(std::find_if({name}.begin(), {name}.end(), {self.test()}) - {name}.begin())",
                    f"(int)std::distance({name}.begin(), std::max_element({name}.begin(), {name}.end()))",
                    f"(int)(std::min_element(std::begin({name}), std::end({name})) - std::begin({name}))",
                    f"(int)std::count({name}.begin(), {name}.end(), {self.number(0)})",
                ]
            )
        if kind == 0:
            return f"(int){self.random.choice(self.known('list'))}.size()"
        if kind == 1:
            return f"({self.condition(depth - 1)} ? {self.integer(depth - 1)} : {self.integer(depth - 1)})"
        return f"({self.integer(depth - 1)} {self.random.choice('+-*&^')} {self.integer(depth - 1)})"

    def number(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(0.3):
            return self.random.choice([*self.known("float"), "0.5f", "2.f", "-1.25f"])
        kind = self.random.randrange(6)
        if self.functions > 0 and self.chance(0.1):
            name = self.random.choice(self.known("list"))
            arguments = f"{self.number(depth - 1)}, {self.integer(depth - 1)}, {name}"
            return f"(float)f{self.random.randrange(self.functions)}({arguments})"
        if self.known("pair") and self.chance(0.2):
            return f"{self.random.choice(self.known('pair'))}.first"
        lambdas = self.known("lambda")
        if lambdas and self.chance(0.2):
            return f"{self.random.choice(lambdas)}({self.number(depth - 1)}, {self.integer(depth - 1)})"
        if self.chance(0.05):
            name = self.random.choice(self.known("list"))
            start = self.random.choice(["0.f", "(float)f"])
            add = self.random.choice(["", ", [](float a, float b) { return a + 2 * b; }"])
            return f"std::accumulate({name}.begin(), {name}.end(), {start}{add})"
        if self.chance(0.05):
            name = self.random.choice(self.known("list"))
            return f"({name}.empty() ? 1.f : *std::max_element({name}.begin(), {name}.end()))"
        if kind == 0:
            return f"(float){self.integer(depth - 1)}"
        if kind == 1:
            name, index = self.random.choice(self.known("list")), self.integer(1)
            return f"((size_t)({index}) < {name}.size() ? {name}[{index}] : -7.f)"
        if kind == 2:
            return f"({self.condition(depth - 1)} ? {self.number(depth - 1)} : {self.number(depth - 1)})"
        return f"({self.number(depth - 1)} {self.random.choice('+-*')} {self.number(depth - 1)})"

    def test(self) -> str:
        """A lambda that says whether an item has a property."""
        self.names += 1
        name = f"e{self.names}"
        self.scopes.append([(name, "float")])
        condition = self.condition(0)
        self.scopes.pop()
        return (
            f"[&]({self.random.choice(['float', 'const float&', 'auto'])} {name}) {{ return {condition}; }}"
        )

    def condition(self, depth: int = 1) -> str:
        if depth > 0 and self.chance(0.3):
            return f"({self.condition(0)} {self.random.choice(['&&', '||'])} {self.condition(0)})"
        if depth > 0 and self.chance(0.1):
            name = self.random.choice(self.known("list"))
            algorithm = self.random.choice(["any_of", "all_of", "none_of"])
            return f"(std::{algorithm}({name}.begin(), {name}.end(), {self.test()}))"
        if self.chance(0.2):
            name = self.random.choice(self.known("list"))
            return f"({name}.size() > 0 && {name}[0] > {self.number(0)})"
        compared = self.random.choice(["<", ">", "<=", "==", "!="])
        if self.chance(0.5):
            return f"({self.integer(depth)} {compared} {self.integer(depth)})"
        return f"({self.number(depth)} {compared} {self.number(depth)})"

    # ---- Statements

    def statement(self) -> str:
        kinds = [self.declaration, self.assignment, self.assignment, self.assignment, self.change_of_list]
        if self.depth < 3:
            kinds += [self.branch, self.branch, self.switch]
        if self.chance(0.3):
            kinds += [self.lambda_with_name, self.pair]
            if self.loops < 3:
                kinds += [self.counted, self.over_items, self.conditional, self.conditional]
        if self.loops > 0:
            kinds += [self.jump]
        if self.chance(0.08):
            kinds = [self.guarded_return]
        if self.chance(0.15):
            kinds = [self.changing_lambda, self.call, self.call, self.exchange, self.reference, self.through]
        return self.random.choice(kinds)()

    def block(self, most: int = 3) -> str:
        self.scopes.append([])
        self.depth += 1
        inside = " ".join(self.statement() for _ in range(self.random.randint(1, most)))
        self.depth -= 1
        self.scopes.pop()
        return inside

    def pair(self) -> str:
        """A pair, or variables that are its members."""
        self.names += 1
        first, second = self.number(), self.integer()
        if self.chance(0.5):
            names = (f"p{self.names}", f"q{self.names}")
            self.scopes[-1] += [(names[0], "float"), (names[1], "int")]
            return f"auto [{names[0]}, {names[1]}] = std::make_pair({first}, {second});"
        self.scopes[-1].append((f"p{self.names}", "pair"))
        return f"std::pair<float, int> p{self.names}{{{first}, {second}}};"

    def declaration(self) -> str:
        kind = self.random.choice(["int", "float", "list"])
        if kind == "list":
            self.names += 1
            name = f"y{self.names}"
            value = self.random.choice(
                ["", f"{{{self.number()}, {self.number()}}}", f"({self.integer(0)} & 3, {self.number()})"]
            )
            self.scopes[-1].append((name, kind))
            return f"std::vector<float> {name}{value};"
        name = self.new_name()
        if name in dict(self.scopes[-1]):
            return self.assignment()
        # A name means the new variable already in its own initializer.
        of_others = name not in self.known(kind) and name not in self.known(
            "float" if kind == "int" else "int"
        )
        value = (self.integer() if kind == "int" else self.number()) if of_others else "1"
        self.scopes[-1].append((name, kind))
        return f"{kind} {name} = {value};"

    def lambda_with_name(self) -> str:
        """What it uses of its surroundings has the value of the moment when it is called."""
        self.names += 1
        name, number, integer = f"g{self.names}", f"a{self.names}", self.random.choice(["b", self.new_name()])
        self.scopes.append([(number, "float"), (integer, "int")])
        first = ""
        if self.chance(0.3):
            first = f"if {self.condition()} return (float)({self.number()}); "
        elif self.chance(0.5):
            local = self.new_name()
            if local not in (number, integer):
                value = self.number() if local not in self.known("int") + self.known("float") else "1"
                self.scopes[-1].append((local, "float"))
                first = f"float {local} = {value}; if {self.condition()} {local} += 1; "
        body = f"{{ {first}return (float)({self.number()}); }}"
        self.scopes.pop()
        self.scopes[-1].append((name, "lambda"))
        return f"auto {name} = [&](float {number}, int {integer}) {body};"

    def changing_lambda(self) -> str:
        """A lambda that changes what it captures, or what its parameters refer to."""
        self.names += 1
        name, number = f"h{self.names}", f"a{self.names}"
        by_reference = self.chance(0.5)
        gives = self.random.choice(["float", "int", None])
        fixed, functions = set(self.fixed), self.functions
        before = [scope.copy() for scope in self.scopes]
        returns, self.returns = self.returns, gives or "nothing"
        loops, self.loops = self.loops, 0
        self.scopes.append([(number, "float")])
        self.depth += 1
        body = " ".join(self.statement() for _ in range(self.random.randint(1, 3)))
        self.depth -= 1
        if gives is not None:
            body += f" return {self.number() if gives == 'float' else self.integer()};"
        self.scopes.pop()
        self.scopes, self.loops, self.returns = before, loops, returns
        self.fixed, self.functions = fixed, functions
        self.scopes[-1].append((name, f"change {gives} {int(by_reference)}"))
        result = f" -> {gives}" if gives is not None else ""
        return f"auto {name} = [&](float{'&' if by_reference else ''} {number}){result} {{ {body} }};"

    def call(self) -> str:
        """A lambda that changes variables is called; the rest of the statement names none of them."""
        lambdas = [
            (name, kind.split()[1], kind.endswith("1"))
            for scope in self.scopes
            for name, kind in scope
            if kind.startswith("change")
        ]
        if not lambdas:
            return ";"
        name, gives, by_reference = self.random.choice(lambdas)
        self.names += 1
        own = f"o{self.names}"
        first = f"float {own} = {self.number()}; "
        self.scopes[-1].append((own, "float"))
        given = own if by_reference else self.number(0)
        call = f"{name}({given})"
        if gives == "None" or self.chance(0.2):
            return f"{first}{call};"
        style = self.random.randrange(3)
        if style == 0:
            return f"{first}if ({call} > 1) {{ {self.block(2)} }}"
        self.names += 1
        self.scopes[-1].append((f"x{self.names}", gives))
        return f"{first}{gives} x{self.names} = {call} + {self.random.choice(['1', '2'])};"

    def exchange(self) -> str:
        kind = self.random.choice(["int", "float"])
        names = self.known(kind, True)
        if len(names) < 2:
            return ";"
        first, second = self.random.sample(names, 2)
        if self.chance(0.5):
            return f"std::swap({first}, {second});"
        return f"std::tie({first}, {second}) = std::make_tuple({second}, {first});"

    def reference(self) -> str:
        """Another name of an item, of a member or of a variable; the list keeps its length meanwhile."""
        self.names += 1
        name = f"r{self.names}"
        lists, pairs, numbers = self.known("list", True), self.known("pair"), self.known("float", True)
        style = self.random.randrange(3)
        if style == 0 and lists:
            items = self.random.choice(lists)
            index = self.integer(1)
            fixed = set(self.fixed)
            self.fixed.add(items)
            self.scopes.append([(name, "float")])
            inside = self.block(2)
            self.scopes.pop()
            self.fixed = fixed
            return (
                f"if ((size_t)({index}) < {items}.size()) {{ auto& {name} = {items}[{index}]; "
                f"{name} += {self.number(0)}; {inside} }}"
            )
        if style == 1 and pairs:
            pair = self.random.choice(pairs)
            return f"{pair}.first += {self.number(1)}; {pair}.second = {self.integer(1)};"
        if numbers:
            of = self.random.choice(numbers)
            self.scopes[-1].append((name, "float"))
            return f"float& {name} = {of};"
        return ";"

    def through(self) -> str:
        """Items change through iterators, or what for_each calls."""
        lists = self.known("list", True)
        if not lists:
            return ";"
        self.names += 1
        items, name = self.random.choice(lists), f"t{self.names}"
        numbers = [each for each in self.known("float", True) if each[0] == "x"]
        if numbers and self.chance(0.5):
            number = self.random.choice(numbers)
            return (
                f"std::for_each({items}.begin(), {items}.end(), "
                f"[&](float {name}) {{ if {self.condition(0)} {number} += {name}; }});"
            )
        if self.chance(0.3):
            return f"std::for_each({items}.begin(), {items}.end(), [](float& {name}) {{ {name} *= 2; }});"
        return (
            f"for (auto {name} = {items}.begin(); {name} != {items}.end(); ++{name}) "
            f"{{ if (*{name} > {self.number(0)}) *{name} = {self.number(0)}; }}"
        )

    def switch(self) -> str:
        labels = self.random.sample(range(-1, 7), self.random.randint(1, 4))
        sections = [f"case {label}:" for label in labels]
        if self.chance(0.7):
            sections.insert(self.random.randint(0, len(sections)), "default:")
        text = ""
        for section in sections:
            text += section + " "
            if self.chance(0.2):
                continue
            text += f"{{ {self.block(2)} }} "
            if self.chance(0.2):
                text += f"if {self.condition()} break; "
            if self.chance(0.7):
                text += "break; "
        return f"switch ({self.integer()}) {{ {text}; }}"

    def assignment(self) -> str:
        pairs = self.known("pair")
        if pairs and self.chance(0.3):
            pair, other = self.random.choice(pairs), self.random.choice(pairs)
            value = self.random.choice([other, f"{{{self.number()}, {self.integer()}}}"])
            return f"{pair} = {value};"
        kind = self.random.choice(["int", "float"])
        names = self.known(kind, True)
        if not names:
            return ";"
        name = self.random.choice(names)
        other = self.random.choice(names)
        if other != name and self.chance(0.3):
            if kind == "float" or self.chance(0.5):
                return f"{name} = {other} = {self.number(1) if kind == 'float' else self.integer(1)};"
            step = self.random.choice([f"{other}++", f"--{other}", f"++{other}", f"{other}--"])
            return self.random.choice([f"{name} += {step} + 1;", f"if (({step} & 3) > 1) {name} -= 1;"])
        if kind == "int":
            style = self.random.randrange(4)
            if style == 0:
                return self.random.choice([f"++{name};", f"{name}--;"])
            operator = self.random.choice(["=", "+=", "-=", "*=", "^="])
            return f"{name} {operator} {self.integer()};"
        return f"{name} {self.random.choice(['=', '+=', '-=', '*='])} {self.number()};"

    def change_of_list(self) -> str:
        names = self.known("list", True)
        if not names:
            return ";"
        name = self.random.choice(names)
        places = self.known("int", True)
        if places and self.chance(0.1):
            place = self.random.choice(places)
            return f"if ((size_t){place} < {name}.size()) {name}[{place}++] = {self.number(0)};"
        style = self.random.randrange(13)
        if style > 10:
            return f"{name}.push_back({self.number()});"
        if style == 7:
            return f"if ({name}.size() > 1) {name}.erase({name}.begin() + {self.random.randint(0, 1)});"
        if style == 8:
            other = self.random.choice(self.known("list"))
            place = self.random.choice(["begin", "end"])
            if other == name:
                return f"if ({name}.size() < 20) {name}.insert({name}.{place}(), {self.number(0)});"
            return f"if ({name}.size() < 20) {name}.insert({name}.{place}(), {other}.begin(), {other}.end());"
        if style == 9:
            order = self.random.choice(
                ["", ", std::greater<float>()", ", [](float a, float b) { return a > b; }"]
            )
            proper = f"std::none_of({name}.begin(), {name}.end(), [](float e) {{ return e != e; }})"
            return f"if ({proper}) std::sort({name}.begin(), {name}.end(){order});"
        if style == 10:
            return self.random.choice(
                [
                    f"std::iota({name}.begin(), {name}.end(), {self.integer(0)} & 31);",
                    f"std::fill({name}.begin(), {name}.end(), {self.number()});",
                    f"{name}.erase(std::remove_if({name}.begin(), {name}.end(), {self.test()}), {name}.end());",
                ]
            )
        if style < 2:
            return f"if ({name}.size() < 20) {name}.push_back({self.number()});"
        if style < 4:
            index = self.integer(1)
            operator = self.random.choice(["=", "+=", "*="])
            return f"if ((size_t)({index}) < {name}.size()) {name}[{index}] {operator} {self.number()};"
        if style == 4:
            return f"if ({name}.size() > 0) {name}.pop_back();"
        if style == 5:
            return f"{name}.clear();"
        return f"{name}.resize(({self.integer(1)}) & 7, {self.number(0)});"

    def branch(self) -> str:
        text = f"if {self.condition()} {{ {self.block()} }}"
        if self.chance(0.3):
            text += f" else if {self.condition()} {{ {self.block()} }}"
        if self.chance(0.5):
            text += f" else {{ {self.block()} }}"
        return text

    def jump(self) -> str:
        return f"if {self.condition()} {self.random.choice(['break;', 'continue;'])}"

    def guarded_return(self) -> str:
        if self.returns == "nothing":
            return f"if {self.condition()} return;"
        changed = self.assignment() if self.chance(0.3) else ""
        value = self.integer() if self.returns == "int" else self.number()
        return f"if {self.condition()} {{ {changed} return ({self.returns})({value}); }}"

    def body(self) -> str:
        self.loops += 1
        inside = self.block()
        self.loops -= 1
        word = "" if self.is_flat else 'word = "w"; '
        return f"{{ ++turns; if (turns > {MOST_TURNS}) break; {word}{inside} }}"

    def counted(self) -> str:
        self.names += 1
        name = f"i{self.names}"
        begin = self.integer(1)
        self.scopes.append([(name, "int")])
        end = self.integer(1)
        step = self.random.choice([f"++{name}", f"{name}++", f"{name} += 2", f"{name} += 2, turns += 1"])
        if self.chance(0.5):
            self.fixed.add(name)
        text = f"for (int {name} = {begin}; {name} < {end}; {step}) {self.body()}"
        self.fixed.discard(name)
        self.scopes.pop()
        return text

    def over_items(self) -> str:
        self.names += 1
        name, items = f"e{self.names}", self.random.choice(self.known("list"))
        fixed = set(self.fixed)
        # Other names of the items do not change either.
        self.fixed |= {items, *(each for each in self.known("float") if each[0] == "r")}
        kind = self.random.choice(["auto", "const auto&", "float"])
        self.scopes.append([(name, "float")])
        if kind == "const auto&":
            self.fixed.add(name)
        text = f"for ({kind} {name} : {items}) {self.body()}"
        self.scopes.pop()
        self.fixed = fixed
        return text

    def conditional(self) -> str:
        style = self.random.randrange(4)
        places = self.known("int", True)
        if places and self.chance(0.2):
            place, most = self.random.choice(places), self.random.randint(-2, 4)
            condition = self.random.choice(
                [f"{place}-- > {most}", f"{place}++ < {most}", f"--{place} > {most}"]
            )
            return f"{self.random.choice([f'while ({condition})', f'for (; {condition};)'])} {self.body()}"
        if style == 0:
            return f"for (;;) {self.body()}"
        if style == 1:
            # What jumps to the end of a turn still meets the condition.
            return f"do {self.body()} while {self.condition()};"
        return f"while {self.condition()} {self.body()}"

    def text(self) -> str:
        inside = " ".join(self.statement() for _ in range(self.random.randint(3, 8)))
        ends = [f"(double)({self.number()})", "(double)turns"]
        lists = self.known("list", True)
        ends += [f"({name}.size() > 0 ? (double){name}.back() : (double){name}.size())" for name in lists]
        word = "" if self.is_flat else "std::string word; "
        return f"int turns = 0; {word}{inside} return {self.random.choice(ends)};"


def compiled(
    programs: list[str],
    rows: dict[str, np.ndarray],
    lists: list[np.ndarray],
    folder: Path,
    functions: str = "",
) -> np.ndarray:
    """What the compiler makes of them: for each program, a number per row."""
    lines = [HEAD.replace("ROWS", str(ROWS)), functions]
    for number, text in enumerate(programs):
        lines.append(f"static double p{number}(const float f, const int n, const Floats& v) {{ {text} }}")
    lines.append('int main(int, char** arguments) {\n  std::FILE* in = std::fopen(arguments[1], "rb");')
    lines.append(
        f"  if (std::fread(f, 4, {ROWS}, in) != {ROWS} || std::fread(n, 4, {ROWS}, in) != {ROWS}) return 1;"
    )
    lines.append(
        f"  for (int row = 0; row < {ROWS}; ++row) {{ int size = 0; if (std::fread(&size, 4, 1, in) != 1) return 1;"
    )
    lines.append(
        "    v[row].resize(size); if (std::fread(v[row].data(), 4, size, in) != (size_t)size) return 1; }"
    )
    lines += [
        f"  for (int row = 0; row < {ROWS}; ++row) {{ const double x = p{number}(f[row], n[row], v[row]);"
        " std::fwrite(&x, 8, 1, stdout); }"
        for number in range(len(programs))
    ]
    (folder / "program.cpp").write_text("\n".join([*lines, "}"]))
    data = rows["f"].tobytes() + rows["n"].tobytes()
    data += b"".join(np.int32(len(items)).tobytes() + items.tobytes() for items in lists)
    (folder / "rows").write_bytes(data)
    flags = ["-std=c++20", "-O0", "-fwrapv", "-ffp-contract=off", "-w"]
    subprocess.run(
        [os.environ.get("CXX", "c++"), *flags, "program.cpp", "-o", "program"], cwd=folder, check=True
    )
    done = subprocess.run(["./program", "rows"], cwd=folder, check=True, capture_output=True)
    return np.frombuffer(done.stdout).reshape(len(programs), ROWS)


def events(seed: int, folder: Path) -> tuple[dict[str, np.ndarray], list[np.ndarray], DataFrame]:
    rng = np.random.default_rng(seed)
    rows = {
        "f": rng.normal(0, 2, ROWS).astype(np.float32),
        "n": rng.integers(-3, 9, ROWS).astype(np.int32),
    }
    lists = [rng.normal(1, 2, size).astype(np.float32) for size in rng.integers(0, 7, ROWS)]
    with colonnade.create(
        folder / "rows.root", "Events", {"f": "float", "n": "std::int32_t", "v": "std::vector<float>"}
    ) as writer:
        writer.extend({**rows, "v": lists})
    return rows, lists, DataFrame("Events", folder / "rows.root", block_entries=64)


def mismatches(
    frame: DataFrame,
    programs: list[str],
    expected: np.ndarray,
    rows: dict[str, np.ndarray],
    lists: list[np.ndarray],
) -> list[str]:
    wrong = []
    for text, values in zip(programs, expected, strict=True):
        try:
            ours = frame.take(text).value
        except colonnade.Error as error:
            wrong.append(f"{text}\n    {error}")
            continue
        differ = np.flatnonzero(~((ours == values) | (np.isnan(ours) & np.isnan(values))))
        if len(differ):
            row = differ[0]
            wrong.append(
                f"{text}\n    row {row}: {ours[row]}, not {values[row]};"
                f" f={rows['f'][row]}, n={rows['n'][row]}, v={lists[row]}"
            )
    return wrong


@pytest.mark.parametrize("seed", range(4))
def test_loops_do_what_a_compiler_makes_of_them(seed, tmp_path):
    rows, lists, frame = events(seed, tmp_path)
    programs = [Program(1000 * seed + number).text() for number in range(PROGRAMS)]
    expected = compiled(programs, rows, lists, tmp_path)
    wrong = mismatches(frame, programs, expected, rows, lists)
    assert not wrong, f"seed {seed}: {len(wrong)} programs\n" + "\n".join(wrong[:10])


@pytest.mark.parametrize("seed", range(3))
def test_functions_do_what_a_compiler_makes_of_them(seed, tmp_path):
    """Each calls those before it."""
    rows, lists, frame = events(seed, tmp_path)
    kinds = ["std::vector<float>", "const std::vector<float>&"]
    functions = "\n".join(
        f"double f{number}(float f, int n, {kinds[number % 2]} v) {{ {Program(7000 * seed + number, number).text()} }}"
        for number in range(5)
    )
    programs = [f"return f{number}(f, n, v);" for number in range(5)]
    expected = compiled(programs, rows, lists, tmp_path, functions)
    frame.with_functions(colonnade.functions(functions))
    wrong = mismatches(frame, programs, expected, rows, lists)
    assert not wrong, f"seed {seed}: {len(wrong)} functions differ\n{functions}\n" + "\n".join(wrong)
