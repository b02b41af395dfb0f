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
HELPERS = 6
MOST_TURNS = 40
THROWN = 1.25e300  # stands for an exception

HEAD = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
using Floats = std::vector<float>;
static float f[ROWS];
static int n[ROWS];
static Floats v[ROWS];
"""


class Program:
    """Statements in the scope of the columns `f`, `n` and `v`: a number, an integer, and a list of numbers."""

    def __init__(self, seed: int, functions: int = 0, *, classes: bool = False, helpers: int = 0) -> None:
        """`functions`: the number of functions f0, f1, ... that it can call.

        `classes`: with maps, sets, texts, lists of pairs, lists of lists and exceptions. `helpers`: the number of the
        helpers() that it can call.
        """
        self.random = random.Random(seed)
        self.functions = functions
        self.classes = classes
        self.helpers = helpers
        self.scopes: list[list[tuple[str, str]]] = [[("f", "float"), ("n", "int"), ("v", "list")]]
        self.fixed = {"f", "n", "v"}
        self.names = 0
        self.loops = 0
        self.depth = 0
        # Loops that change a string are not run as flat programs.
        self.is_flat = self.chance(0.6)
        self.returns = "double"
        self.throws = True

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
        if self.classes and self.chance(0.2) and (of_object := self.integer_of_object()):
            return of_object
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
        if self.classes and self.chance(0.2) and (of_object := self.number_of_object()):
            return of_object
        lambdas = self.known("lambda")
        if lambdas and self.chance(0.2):
            return f"{self.random.choice(lambdas)}({self.number(depth - 1)}, {self.integer(depth - 1)})"
        if self.chance(0.05):
            name = self.random.choice(self.known("list"))
            start = self.random.choice(["0.f", f"(float){self.number(0)}"])
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
        if self.classes and self.chance(0.3):
            kinds = [self.new_object, self.change_of_map, self.change_of_map, self.change_of_text]
            kinds += [self.change_of_parts, self.change_of_parts, self.found_key, self.thrown, self.written]
            if self.helpers:
                kinds += [self.new_item, self.change_of_item, self.change_of_item]
            if self.loops < 3:
                kinds += [self.over_map, self.over_parts]
            if self.helpers:
                kinds += [self.call_of_helper]
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

    # ---- Maps, sets, texts, and lists of pairs and lists

    OBJECTS = (
        ("map", "std::map<int, float>"),
        ("table", "std::unordered_map<int, float>"),
        ("set", "std::set<int>"),
        ("bag", "std::unordered_set<int>"),
        ("words", "std::map<std::string, int>"),
        ("text", "std::string"),
        ("pairs", "std::vector<std::pair<float, int>>"),
        ("lists", "std::vector<std::vector<float>>"),
    )

    def object_of(self, *kinds: str, changeable: bool = False) -> tuple[str, str] | None:
        found = [(name, kind) for kind in kinds for name in self.known(kind, changeable)]
        return self.random.choice(found) if found else None

    def new_object(self) -> str:
        self.names += 1
        kind, written = self.random.choice(self.OBJECTS)
        name = f"c{self.names}"
        items: list[str] = []
        for _ in range(self.random.randint(0, 2)):
            if kind in ("map", "table", "words"):
                key = self.text(0) if kind == "words" else self.integer(0)
                items.append(f"{{{key}, {self.integer(0) if kind == 'words' else self.number(0)}}}")
            elif kind in ("set", "bag"):
                items.append(self.integer(0))
            elif kind == "pairs":
                items.append(f"{{{self.number(0)}, {self.integer(0)}}}")
            elif kind == "lists":
                items.append(
                    self.random.choice([*self.known("list"), f"Floats({self.integer(0)} & 3, 1.5f)"])
                )
        value = f" = {{{', '.join(items)}}}" if items else ""
        if kind == "text" and self.chance(0.7):
            value = f" = {self.text(1)}"
        self.scopes[-1].append((name, kind))
        if self.chance(0.1) and value:
            self.fixed.add(name)
            written = f"const {written}"
        return f"{written} {name}{value};"

    def text(self, depth: int = 1) -> str:
        if depth == 0 or self.chance(0.3):
            return self.random.choice([*self.known("text"), 'std::string("ab")', 'std::string("b")'])
        style = self.random.randrange(5)
        if style == 0:
            return f"std::to_string({self.integer(0)} & 63)"
        if style == 1:
            return f"({self.condition(0)} ? {self.text(0)} : {self.text(0)})"
        if style == 2 and self.known("text"):
            name = self.random.choice(self.known("text"))
            return f"({name}.size() > 2 ? {name}.substr({self.random.randint(0, 2)}, 3) : {name})"
        return f"({self.text(depth - 1)} + {self.text(depth - 1)})"

    def key(self, kind: str) -> str:
        return self.text(0) if kind == "words" else self.integer(1)

    def integer_of_object(self) -> str:
        found = self.object_of(*(kind for kind, _ in self.OBJECTS))
        if found is None:
            return ""
        name, kind = found
        if kind == "text":
            sought = self.random.choice(['"b"', '"ba"', self.text(0)])
            return self.random.choice(
                [
                    f"(int){name}.size()",
                    f"(int){name}.find({sought})",
                    f"({name} == {self.text(0)} ? 1 : 0)",
                    f"({name} < {self.text(0)} ? 1 : 0)",
                    f"({name}.empty() ? 2 : (int)({name}[0] - 'a'))",
                ]
            )
        if kind == "pairs":
            index = self.integer(0)
            return self.random.choice(
                [
                    f"((size_t)({index}) < {name}.size() ? {name}[{index}].second : 3)",
                    f"({name}.empty() ? 1 : {name}.back().second)",
                ]
            )
        if kind == "lists":
            index = self.integer(0)
            return f"((size_t)({index}) < {name}.size() ? (int){name}[{index}].size() : 3)"
        if kind == "words":
            key = self.text(0)
            return f"({name}.count({key}) ? {name}.at({key}) : -2)"
        if kind == "set" and self.chance(0.4):
            return self.random.choice(
                [
                    f"({name}.empty() ? -1 : *{name}.begin())",
                    f"({name}.lower_bound({self.integer(0)}) == {name}.end() ? 1 : 0)",
                ]
            )
        return self.random.choice(
            [
                f"(int){name}.size()",
                f"(int){name}.count({self.key(kind)})",
                f"(int){name}.contains({self.key(kind)})",
            ]
        )

    def number_of_object(self) -> str:
        if self.chance(0.4) and (of_item := self.number_of_item()):
            return of_item
        found = self.object_of("map", "table", "pairs", "lists")
        if found is None:
            return ""
        name, kind = found
        index = self.integer(0)
        if kind == "pairs":
            return f"((size_t)({index}) < {name}.size() ? {name}[{index}].first : 0.25f)"
        if kind == "lists":
            return f"({name}.empty() || {name}[0].empty() ? 1.f : {name}.front().back())"
        if kind == "map" and self.chance(0.3):
            return f"({name}.empty() ? 0.f : {name}.begin()->second)"
        return f"({name}.count({index}) ? {name}.at({index}) : 0.75f)"

    def change_of_map(self) -> str:
        found = self.object_of("map", "table", "set", "bag", "words", changeable=True)
        if found is None:
            return self.new_object()
        name, kind = found
        key = self.key(kind)
        if kind in ("set", "bag"):
            return self.random.choice(
                [f"{name}.insert({key});"] * 3
                + [f"{name}.emplace({key});", f"{name}.erase({key});", f"{name}.clear();"]
            )
        value = self.integer(1) if kind == "words" else self.number(1)
        if kind == "words":
            # What the key is made of is not what changes.
            return self.random.choice(
                [f"{name}[{key}] += {value};", f"++{name}[{key}];", f"{name}.erase({key});"]
            )
        return self.random.choice(
            [
                f"{name}[{key}] = {value};",
                f"{name}[{key}] += {value};",
                f"{name}.insert({{{key}, {value}}});",
                f"{name}.insert(std::make_pair({key}, {value}));",
                f"{name}.emplace({key}, {value});",
                f"{name}.erase({key});",
                f"if ({name}.size() > 8) {name}.clear();",
            ]
        )

    def found_key(self) -> str:
        """What an iterator of a map stands for changes; keys stay meanwhile."""
        found = self.object_of("map", "table", changeable=True)
        if found is None:
            return self.new_object()
        name, _ = found
        self.names += 1
        place, key = f"k{self.names}", self.integer(1)
        fixed = set(self.fixed)
        self.fixed.add(name)
        inside = self.block(2)
        self.fixed = fixed
        change = self.random.choice(
            [f"{place}->second += {self.number(0)};", f"{place}->second = {self.number(0)};", ""]
        )
        if self.chance(0.5):
            return f"if (auto {place} = {name}.find({key}); {place} != {name}.end()) {{ {change} {inside} }}"
        return (
            f"{{ auto {place} = {name}.find({key}); if ({place} == {name}.end()) {{ {self.block(1)} }} "
            f"else {{ {change} }} }}"
        )

    def over_map(self) -> str:
        found = self.object_of("map", "set", "words")
        if found is None:
            return self.new_object()
        name, kind = found
        self.names += 1
        key, item = f"k{self.names}", f"e{self.names}"
        fixed = set(self.fixed)
        self.fixed.add(name)
        if kind == "set":
            self.scopes.append([(key, "int")])
            head = f"{self.random.choice(['auto', 'int', 'const auto&'])} {key}"
            self.fixed.add(key)
        else:
            kinds = ("int", "float") if kind == "map" else ("text", "int")
            self.scopes.append([(key, kinds[0]), (item, kinds[1])])
            reference = self.random.choice(["auto&", "const auto&", "auto"])
            # What is declared by "auto" is a copy here.
            self.fixed |= {key} if reference == "auto&" and name not in fixed else {key, item}
            head = f"{reference} [{key}, {item}]"
        text = f"for ({head} : {name}) {self.body()}"
        self.scopes.pop()
        self.fixed = fixed
        return text

    def over_parts(self) -> str:
        found = self.object_of("pairs", "lists")
        if found is None:
            return self.new_object()
        name, kind = found
        self.names += 1
        item = f"e{self.names}"
        fixed = set(self.fixed)
        self.fixed.add(name)
        if kind == "lists":
            self.scopes.append([(item, "list")])
            self.fixed.add(item)
            text = f"for (const auto& {item} : {name}) {self.body()}"
        elif self.chance(0.5) and name not in fixed:
            other = f"k{self.names}"
            self.scopes.append([])
            change = self.random.choice([f"{other}.first += 1;", f"{other}.second ^= 1;"])
            text = f"for (auto& {other} : {name}) {{ {change} }}"
            if self.chance(0.5):
                text = f"for (auto& [{other}, {item}] : {name}) {{ {item} += 1; {other} *= 2; }}"
        else:
            self.scopes.append([(item, "pair")])
            text = f"for (auto {item} : {name}) {self.body()}"
        self.scopes.pop()
        self.fixed = fixed
        return text

    def change_of_text(self) -> str:
        found = self.object_of("text", changeable=True)
        if found is None:
            return self.new_object()
        name, _ = found
        short = f"if ({name}.size() < 12) "
        return self.random.choice(
            [
                f"{short}{name} += {self.text(1)};",
                f"{name} = {self.text(1)};",
                f'{short}{name} = {name} + "a";',
            ]
        )

    def change_of_parts(self) -> str:
        found = self.object_of("pairs", "lists", changeable=True)
        if found is None:
            return self.new_object()
        name, kind = found
        index = self.integer(1)
        inside = f"if ((size_t)({index}) < {name}.size()) "
        if kind == "pairs":
            proper = (
                f"std::none_of({name}.begin(), {name}.end(), [](auto e) {{ return e.first != e.first; }})"
            )
            order = self.random.choice(
                [
                    "",
                    ", [](const auto& a, const auto& b) { return a > b; }",
                    ", std::greater<std::pair<float, int>>()",
                ]
            )
            return self.random.choice(
                [
                    f"{name}.push_back({{{self.number()}, {self.integer()}}});",
                    f"{name}.emplace_back({self.number()}, {self.integer()});",
                    f"{name}.push_back(std::make_pair({self.number()}, {self.integer()}));",
                    f"{inside}{name}[{index}].first += {self.number(0)};",
                    f"{inside}{name}[{index}].second = {self.integer(0)};",
                    f"if ({proper}) std::sort({name}.begin(), {name}.end(){order});",
                    f"std::reverse({name}.begin(), {name}.end());",
                    f"if ({name}.size() > 1) std::swap({name}[0], {name}[1]);",
                    f"if ({name}.size() > 1) std::tie({name}[0].first, {name}[1].second) = {name}[0];",
                ]
            )
        few = f"if ({name}.size() < 6) "
        items = self.random.choice(self.known("list"))
        return self.random.choice(
            [
                f"{few}{name}.push_back({items});",
                f"{few}{name}.emplace_back();",
                f"{few}{name}.push_back({{{self.number(0)}, {self.number(0)}}});",
                f"{inside}{name}[{index}].push_back({self.number(1)});",
                f"{inside}if ({name}[{index}].size() > 0) {name}[{index}][0] += {self.number(1)};",
                f"{inside}{name}[{index}].clear();",
                f"{inside}{{ auto& r = {name}[{index}]; r.push_back({self.number(0)}); if (r.size() > 9) r.clear(); }}",
                f"if ({name}.size() > 0) {name}.pop_back();",
                f"if ({name}.size() > 1) std::swap({name}[0], {name}[1]);",
            ]
        )

    def written(self) -> str:
        """What algorithms write into a list."""
        lists = self.known("list", True)
        if not lists:
            return ";"
        name, source = self.random.choice(lists), self.random.choice(self.known("list"))
        all_of = f"{source}.begin(), {source}.end()"
        self.names += 1
        item = f"e{self.names}"
        self.scopes.append([(item, "float")])
        twice = f"[&](float {item}) {{ return {self.number(0)} + {item}; }}"
        self.scopes.pop()
        short = f"if ({name}.size() < 9) "
        other = "" if name == source else f"{short}std::copy({all_of}, std::back_inserter({name}));"
        return self.random.choice(
            [
                f"std::transform({name}.begin(), {name}.end(), {name}.begin(), {twice});",
                f"std::partial_sum({name}.begin(), {name}.end(), {name}.begin());",
                f"if ({name}.size() >= {source}.size()) std::copy({all_of}, {name}.begin());",
                f"{name}.erase(std::unique({name}.begin(), {name}.end()), {name}.end());",
                f"{name}.assign({self.integer(0)} & 3, {self.number(0)});",
                f"{short}{name}.insert({name}.begin(), {{{self.number(0)}, {self.number(0)}}});",
                f"if (!{name}.empty()) {name}.back() += {self.number(0)};",
                f"if (!{name}.empty()) {{ auto& r = {name}.front(); r = {self.number(0)}; }}",
                f"if ({name}.size() > 1) {name}.at(1) = {self.number(1)};",
                other,
                ""
                if name == source
                else f"{short}std::copy_if({all_of}, std::back_inserter({name}), {self.test()});",
                ""
                if name == source
                else f"{short}std::transform({all_of}, std::back_inserter({name}), {twice});",
            ]
        )

    # ---- Objects of the class Item, which is one of the helpers

    ITEM = """struct Item {{
      Item() = default;
      Item(float x, int y = 3) : a(x), b{{y}} {{ int turns = 0; {constructor} w.push_back(x); }}
      float get(int k) const {{ int turns = 0; {getter} return {value}; }}
      void add(float x) {{ int turns = 0; {adder} w.push_back(x); trim(); }}
      int next(int k) {{ add(1.5f); int turns = 0; {next} return ++b + k; }}
      float operator()(float x) const {{ return x * a + this->get(1); }}
      bool operator<(const Item& other) const {{ return b < other.b; }}
    private:
      void trim() {{ if (w.size() > 9) w.clear(); for (auto& each : w) each += a; }}
      static int three() {{ return 3; }}
    public:
      float a = 1.5f; int b{{2}}; std::vector<float> w{{0.5f, 2.f}};
    }};
    struct Pack {{ int n; std::vector<Item> items; Item first; }};
    Item made(float x, int y) {{ Item i; i.b = y; if (x > 1) return {{x, y}}; i.add(x); return i; }}"""

    @classmethod
    def item_class(cls, seed: int) -> str:
        def part(number: int, returns: str, *, is_const: bool = False) -> tuple[str, Program]:
            made = cls(seed + number, classes=True)
            made.scopes = [[("a", "float"), ("b", "int"), ("w", "list")]]
            made.scopes[0].append(("x", "float") if returns == "nothing" else ("k", "int"))
            made.fixed = {"a", "b", "w"} if is_const else set()
            made.returns, made.is_flat = returns, True
            made.throws = False  # objects need not be used
            return " ".join(made.statement() for _ in range(2)), made

        constructor = part(0, "nothing")[0].replace("return;", ";")
        getter, made = part(1, "float", is_const=True)
        return cls.ITEM.format(
            constructor=constructor,
            getter=getter,
            value=made.number(),
            adder=part(2, "nothing")[0],
            next=part(3, "int")[0],
        ).replace("\n", " ")

    def new_item(self) -> str:
        self.names += 1
        name, kind = f"c{self.names}", self.random.choice(["item", "item", "items", "pack"])
        number, integer = self.number(1), self.integer(0)
        if kind == "item":
            text = self.random.choice(
                [
                    f"Item {name};",
                    f"Item {name}({number}, {integer});",
                    f"Item {name}{{{number}, {integer}}};",
                    f"auto {name} = Item({number});",
                    f"Item {name} = {{{number}, {integer}}};",
                    f"Item {name} = made({number}, {integer});",
                ]
            )
        elif kind == "items":
            text = self.random.choice([f"std::vector<Item> {name};", f"std::vector<Item> {name}(2);"])
        else:
            text = self.random.choice(
                [f"Pack {name}{{{integer}, {{}}, {{{number}, 2}}}};", f"Pack {name}{{}};"]
            )
        self.scopes[-1].append((name, kind))
        return text

    def change_of_item(self) -> str:
        found = self.object_of("item", "items", "pack", changeable=True)
        if found is None:
            return self.new_item()
        name, kind = found
        number, integer = self.number(0), self.integer(0)
        if kind == "pack":
            name, kind = self.random.choice([(f"{name}.items", "items"), (f"{name}.first", "item")])
        if kind == "item":
            self.names += 1
            text = self.random.choice(
                [
                    f"{name}.add({number});",
                    f"{name}.a = {number};",
                    f"{name}.b += {integer};",
                    f"{name}.w.push_back({number});",
                    f"int x{self.names} = {name}.next({integer}) + 1;",
                    f"{name} = Item({number}, {integer});",
                    f"{name} = {{{number}, {integer}}};",
                ]
            )
            if text.startswith("int x"):
                self.scopes[-1].append((f"x{self.names}", "int"))
            return text
        short = f"if ({name}.size() < 9) "
        items = self.known("item")
        copied = self.random.choice(items) if items else f"made({number}, {integer})"
        return self.random.choice(
            [
                f"{short}{name}.emplace_back({number}, {integer});",
                f"{short}{name}.push_back({copied});",
                f"{short}{name}.push_back({{{number}, {integer}}});",
                f"{short}{name}.emplace_back();",
                f"if (!{name}.empty()) {name}.back().add({number});",
                f"if (!{name}.empty()) {name}[0].b += {integer};",
                f"for (auto& each : {name}) each.add({number});",
                f"for (auto& each : {name}) for (auto& inner : each.w) inner *= {number};",
                f"std::sort({name}.begin(), {name}.end());",
                f"std::sort({name}.begin(), {name}.end(), [](const Item& p, const Item& q) {{ return p.b > q.b; }});",
                f"{name}.resize({integer} & 3);",
            ]
        )

    def number_of_item(self) -> str:
        found = self.object_of("item", "items", "pack")
        if found is None:
            return ""
        name, kind = found
        if kind == "items":
            return f"({name}.empty() ? 2.f : {name}.back().a)"
        if kind == "pack":
            return f"({name}.items.empty() ? {name}.first.a : {name}.items[0].get({self.integer(0)}))"
        return self.random.choice(
            [f"{name}.a", f"(float){name}.b", f"{name}.get({self.integer(0)})", f"{name}({self.number(0)})"]
        )

    def thrown(self) -> str:
        if not self.throws or self.chance(0.85):
            return ";"
        return f'if ({self.condition(0)} && {self.condition(0)} && {self.condition(0)}) throw std::runtime_error("x");'

    # ---- Functions that change what their parameters refer to, or call themselves

    def call_of_helper(self) -> str:
        number = self.random.randrange(self.helpers)
        style = number % 3
        if style == 0:
            lists, numbers = self.known("list", True), self.known("float", True)
            if not lists or not numbers:
                return ";"
            return f"helper{number}({self.random.choice(lists)}, {self.random.choice(numbers)}, {self.integer(0)});"
        if style == 1:
            call = f"helper{number}({self.integer(1)} & 3, {self.number(1)})"
            self.names += 1
            self.scopes[-1].append((f"x{self.names}", "float"))
            return f"float x{self.names} = {call};"
        found = self.object_of("map", changeable=True)
        return f"helper{number}({found[0]}, {self.integer(1)});" if found else ";"

    @classmethod
    def helper(cls, number: int, seed: int) -> str:
        made = cls(seed, classes=True, helpers=number)
        made.fixed = set()
        style = number % 3
        if style == 0:
            made.scopes = [[("out", "list"), ("sum", "float"), ("k", "int")]]
            made.returns = "nothing"
            return (
                f"void helper{number}(Floats& out, float& sum, int k) "
                f"{{ int turns = 0; {made.body_of_helper()} out.push_back(sum); sum += 1; }}"
            )
        if style == 1:
            made.scopes = [[("k", "int"), ("f", "float"), ("v", "list")]]
            made.returns = "float"
            made.fixed = {"k", "v"}
            more = made.random.choice(
                [
                    f"helper{number}(k - 1, {made.number(1)})",
                    f"helper{number}(k - 1, f) + helper{number}(k - 2, 1.f)",
                ]
            )
            return (
                f"float helper{number}(const int k, float f) "
                f"{{ if (k <= 0) return f; int turns = 0; const Floats v{{f, 1.f}}; {made.body_of_helper()} "
                f"return {made.number(1)} + {more}; }}"
            )
        made.scopes = [[("m", "map"), ("k", "int"), ("v", "list"), ("f", "float")]]
        made.returns = "nothing"
        made.fixed = {"v", "f"}
        return (
            f"void helper{number}(std::map<int, float>& m, int k) "
            f"{{ int turns = 0; const Floats v{{2.f}}; const float f = 1.5f; {made.body_of_helper()} m[k] += 1; }}"
        )

    def body_of_helper(self) -> str:
        self.is_flat = True
        return " ".join(self.statement() for _ in range(self.random.randint(2, 5)))

    def whole(self) -> str:
        inside = " ".join(self.statement() for _ in range(self.random.randint(3, 8)))
        ends = [f"(double)({self.number()})", "(double)turns"]
        lists = self.known("list", True)
        ends += [f"({name}.size() > 0 ? (double){name}.back() : (double){name}.size())" for name in lists]
        if self.classes:
            ends = [
                f"(double)({end})" for end in (self.integer_of_object(), self.number_of_object()) if end
            ] or ends
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
        f"  for (int row = 0; row < {ROWS}; ++row) {{ double x = 0; try {{ x = p{number}(f[row], n[row], v[row]); }}"
        f" catch (const std::exception&) {{ x = {THROWN}; }} std::fwrite(&x, 8, 1, stdout); }}"
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
        thrown = np.flatnonzero(values == THROWN)
        try:
            if len(thrown):
                with pytest.raises(colonnade.Error, match="an exception was thrown"):
                    frame.take(text).value  # noqa: B018
            kept = " && ".join(f"rdfentry_ != {row}" for row in thrown)
            ours = (frame.filter(kept) if kept else frame).take(text).value
            ours = np.insert(ours, thrown - np.arange(len(thrown)), THROWN)
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
    programs = [Program(1000 * seed + number).whole() for number in range(PROGRAMS)]
    expected = compiled(programs, rows, lists, tmp_path)
    wrong = mismatches(frame, programs, expected, rows, lists)
    assert not wrong, f"seed {seed}: {len(wrong)} programs\n" + "\n".join(wrong[:10])


@pytest.mark.parametrize("seed", range(3))
def test_functions_do_what_a_compiler_makes_of_them(seed, tmp_path):
    """Each calls those before it."""
    rows, lists, frame = events(seed, tmp_path)
    kinds = ["std::vector<float>", "const std::vector<float>&"]
    functions = "\n".join(
        f"double f{number}(float f, int n, {kinds[number % 2]} v) {{ {Program(7000 * seed + number, number).whole()} }}"
        for number in range(5)
    )
    programs = [f"return f{number}(f, n, v);" for number in range(5)]
    expected = compiled(programs, rows, lists, tmp_path, functions)
    frame.with_functions(colonnade.functions(functions))
    wrong = mismatches(frame, programs, expected, rows, lists)
    assert not wrong, f"seed {seed}: {len(wrong)} functions differ\n{functions}\n" + "\n".join(wrong)


@pytest.mark.parametrize("seed", range(3))
def test_classes_do_what_a_compiler_makes_of_them(seed, tmp_path):
    """Maps, sets, texts and nested lists, exceptions, and functions that change their arguments."""
    rows, lists, frame = events(seed, tmp_path)
    helpers = Program.item_class(8000 * seed) + "\n"
    helpers += "\n".join(Program.helper(number, 9000 * seed + number) for number in range(HELPERS))
    bodies = [
        Program(5000 * seed + number, classes=True, helpers=HELPERS).whole()
        for number in range(PROGRAMS // 2)
    ]
    functions = f"using Floats = std::vector<float>;\n{helpers}\n" + "\n".join(
        f"double f{number}(float f, int n, const std::vector<float>& v) {{ {body} }}"
        for number, body in enumerate(bodies)
    )
    programs = [f"return f{number}(f, n, v);" for number in range(len(bodies))]
    expected = compiled(programs, rows, lists, tmp_path, functions)
    frame.with_functions(colonnade.functions(functions))
    wrong = mismatches(frame, programs, expected, rows, lists)
    assert not wrong, f"seed {seed}: {len(wrong)} functions differ\n{functions}\n" + "\n".join(wrong)
