"""Random expressions of numbers against a C++ compiler: the same text, the same type and the same bits.

Each expression is written twice: as a user writes it, with as few brackets as the precedence of C++ allows, and with
all brackets, where what C++ leaves undefined is checked: division by zero and wrong shifts must be errors of ours, too;
where a number is too large for the integer that it becomes, nothing is compared.

`make soak` tries other seeds.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import colonnade

ROWS = 60
EXPRESSIONS = 120

# ---- Columns

# Name: type of the field, of C++, of NumPy.
COLUMNS = {
    "b": ("bool", "bool", np.bool_),
    "c": ("char", "char", np.int8),
    "i8": ("std::int8_t", "signed char", np.int8),
    "u8": ("std::uint8_t", "unsigned char", np.uint8),
    "i16": ("std::int16_t", "short", np.int16),
    "u16": ("std::uint16_t", "unsigned short", np.uint16),
    "i32": ("std::int32_t", "int", np.int32),
    "u32": ("std::uint32_t", "unsigned", np.uint32),
    "i64": ("std::int64_t", "long", np.int64),
    "u64": ("std::uint64_t", "unsigned long", np.uint64),
    "f32": ("float", "float", np.float32),
    "f64": ("double", "double", np.float64),
}
INTEGERS = [name for name in COLUMNS if not name.startswith("f")]
TYPES = [
    ("bool", True),
    ("char", True),
    ("signed char", True),
    ("unsigned char", True),
    ("short", True),
    ("unsigned short", True),
    ("int", True),
    ("unsigned int", True),
    ("long", True),
    ("unsigned long", True),
    ("long long", True),
    ("std::int8_t", True),
    ("std::uint16_t", True),
    ("std::int64_t", True),
    ("Int_t", True),
    ("ULong64_t", True),
    ("float", False),
    ("double", False),
    ("Float_t", False),
]


def some_column(rng: np.random.Generator, kind: type) -> np.ndarray:
    """Small and extreme numbers."""
    if kind is np.bool_:
        return rng.integers(0, 2, ROWS).astype(bool)
    if issubclass(kind, np.floating):
        info = np.finfo(kind)
        odd = [0.0, -0.0, np.nan, np.inf, -np.inf, info.max, info.tiny, 0.5, -1.5, 2.5, 1e9, 3e18]
        with np.errstate(over="ignore"):
            wide = np.exp(rng.normal(0, 10, ROWS)) * rng.choice([-1, 1], ROWS)
        return np.where(rng.uniform(size=ROWS) < 0.3, rng.choice(odd, ROWS), wide).astype(kind)
    info = np.iinfo(kind)
    odd = np.array([info.min, info.max, info.max - 1, info.min + 1, 0, 1], dtype=kind)
    small = rng.integers(max(info.min, -9), 10, ROWS).astype(kind)
    wide = rng.integers(info.min, info.max, ROWS, dtype=kind, endpoint=True)
    return np.select([rng.uniform(size=ROWS) < p for p in (0.2, 0.6)], [rng.choice(odd, ROWS), small], wide)


# ---- Expressions


class Written(NamedTuple):
    """An expression as a user writes it, with its precedence; and for the compiler, with what is checked."""

    text: str
    checked: str
    precedence: int
    is_integer: bool


PRIMARY, UNARY, CHOICE = 18, 15, 1
BINARY = {
    13: "* / %",
    12: "+ -",
    11: "<< >>",
    9: "< <= > >=",
    8: "== !=",
    7: "&",
    6: "^",
    5: "|",
    4: "&&",
    3: "||",
}
PRECEDENCE = {operator: level for level, operators in BINARY.items() for operator in operators.split()}
OF_INTEGERS = {"%", "<<", ">>", "&", "^", "|"}
WORDS = {"&&": "and", "||": "or", "!=": "not_eq", "&": "bitand", "|": "bitor", "^": "xor"}
CHECKED = {"/": "divide", "%": "rest", "<<": "shift_left", ">>": "shift_right"}
LITERALS = """
0 1 2 3 7 10 2147483647 2147483648 4294967295 4294967296 9223372036854775807 0x7fffffff 0x80000000 0xffffffff
0x7fffffffffffffff 0xffffffffffffffff 017 00 0b1011 1'000 1u 0u 5U 3l 4L 7ul 2ull 9LL 4294967295u 'a' '0' true
false INT_MAX UINT_MAX kTRUE std::numeric_limits<short>::max() std::numeric_limits<unsigned>::max()
"""
FLOATS = """
0. 1.5 .5 3. 1e3 2.5e-3 1E+2 0.1 1.f 2.5f .1f 1e10F 1e-320 M_PI FLT_MAX DBL_MIN
"""


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = list(COLUMNS)
        self.integers = list(INTEGERS)

    def within(self, inner: Written, least: int) -> str:
        """The text, in brackets where it has to be or by chance."""
        needed = inner.precedence < least or self.random.random() < 0.1
        return f"({inner.text})" if needed else inner.text

    def value(self, depth: int, integer: bool = False) -> Written:
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(integer)
        kinds = [self.binary] * 8 + [self.unary, self.unary, self.cast, self.cast, self.choice, self.function]
        return self.random.choice(kinds)(depth - 1, integer)

    def leaf(self, integer: bool) -> Written:
        if self.random.random() < 0.7:
            name = self.random.choice(self.integers if integer else self.names)
            return Written(name, name, PRIMARY, name in self.integers)
        is_integer = integer or self.random.random() < 0.7
        text = self.random.choice((LITERALS if is_integer else FLOATS).split())
        return Written(text, f"({text})", PRIMARY, is_integer)

    def binary(self, depth: int, integer: bool) -> Written:
        operator = self.random.choice(list(PRECEDENCE))
        level = PRECEDENCE[operator]
        of_integers = operator in OF_INTEGERS
        left = self.value(depth, of_integers or integer)
        right = self.value(depth, of_integers or integer)
        if operator in ("<<", ">>") and self.random.random() < 0.8:
            right = Written(f"({self.within(right, 8)} & 7)", f"({right.checked} & 7)", PRIMARY, True)
        written = WORDS[operator] if operator in WORDS and self.random.random() < 0.1 else operator
        space = " " if written.isalpha() or "_" in written or self.random.random() < 0.7 else ""
        end = self.within(right, level + 1)
        # "a--b" and "a&&b" are other operators.
        gap = " " if end[0] in "+-&" else space
        text = f"{self.within(left, level)}{space}{written}{gap}{end}"
        checked = f"({left.checked} {operator} {right.checked})"
        if operator in CHECKED:
            checked = f"{CHECKED[operator]}({left.checked}, {right.checked})"
        truth = level in (3, 4, 8, 9)
        return Written(text, checked, level, truth or (left.is_integer and right.is_integer))

    def unary(self, depth: int, integer: bool) -> Written:
        operator = self.random.choice("-+!~")
        inner = self.value(depth, integer or operator == "~")
        end = self.within(inner, UNARY)
        gap = " " if end[0] in "+-" else ""
        return Written(
            f"{operator}{gap}{end}",
            f"({operator}{inner.checked})",
            UNARY,
            inner.is_integer or operator == "!",
        )

    def cast(self, depth: int, integer: bool) -> Written:
        name, is_integer = self.random.choice([each for each in TYPES if each[1] or not integer])
        inner = self.value(depth)
        checked = f"cast<{name}>({inner.checked})"
        style = self.random.randrange(3)
        if style == 0:
            return Written(f"({name}) {self.within(inner, UNARY)}", checked, UNARY, is_integer)
        if style == 1 and " " not in name:
            return Written(f"{name}({inner.text})", checked, PRIMARY, is_integer)
        return Written(f"static_cast<{name}>({inner.text})", checked, PRIMARY, is_integer)

    def choice(self, depth: int, integer: bool) -> Written:
        condition = self.value(depth)
        yes, no = self.value(depth, integer), self.value(depth, integer)
        text = f"{self.within(condition, CHOICE + 1)} ? {yes.text} : {self.within(no, CHOICE)}"
        checked = f"({condition.checked} ? {yes.checked} : {no.checked})"
        return Written(text, checked, CHOICE, yes.is_integer and no.is_integer)

    def function(self, depth: int, integer: bool) -> Written:
        if integer:
            name = self.random.choice(["std::isnan", "std::isfinite", "std::min", "std::clamp"])
        else:
            name = self.random.choice(
                [
                    "std::abs",
                    "floor",
                    "ceil",
                    "std::trunc",
                    "fmod",
                    "std::max",
                    "std::copysign",
                    "sqrt",
                    "std::fabs",
                ]
            )
        count = {"fmod": 2, "std::max": 2, "std::min": 2, "std::copysign": 2, "std::clamp": 3}.get(name, 1)
        inner = [self.value(depth, integer) for _ in range(count)]
        texts, checked = [each.text for each in inner], [each.checked for each in inner]
        if name in ("std::max", "std::min", "std::clamp", "std::abs"):  # of one type, with a sign
            of = self.random.choice(
                ["int", "long", "short"] if integer else ["int", "long", "float", "double"]
            )
            texts = [f"({of}) {self.within(each, UNARY)}" for each in inner]
            checked = [f"cast<{of}>({each})" for each in checked]
            is_integer = of not in ("float", "double")
        else:
            is_integer = integer
            if integer:  # isnan of an integer is ambiguous for some compilers
                texts = [f"(double) {self.within(inner[0], UNARY)}"]
                checked = [f"(double) {checked[0]}"]
        if name == "std::clamp":
            texts[1:], checked[1:] = [f"({of}) 2", f"({of}) 5"], [f"({of}) 2", f"({of}) 5"]
        return Written(
            f"{name}({', '.join(texts)})",
            f"{name if '::' in name else 'std::' + name}({', '.join(checked)})",
            PRIMARY,
            is_integer,
        )

    def statements(self) -> tuple[str, str]:
        """An expression, or statements: as they are written, and checked."""
        if self.random.random() < 0.75:
            made = self.value(self.random.randint(1, 4))
            return made.text, f"return {made.checked};"
        first = self.value(2)
        name, is_integer = self.random.choice([("auto", first.is_integer), *TYPES])
        start = first.checked if name == "auto" else f"cast<{name}>({first.checked})"
        self.names.append("t")
        if is_integer:
            self.integers.append("t")
        condition, yes, no = self.value(1), self.value(2), self.value(2)
        if self.random.random() < 0.5:
            return self.changes(f"{name} t = {first.text};", f"{name} t = {start};", condition, yes, no)
        self.names, self.integers = list(COLUMNS), list(INTEGERS)
        const = self.random.choice(["", "const "])
        begin, checked = f"{const}{name} t = {first.text};", f"{const}{name} t = {start};"
        if self.random.random() < 0.5:
            return f"{begin} return {no.text};", f"{checked} return {no.checked};"
        of = self.random.choice(TYPES)[0]
        return (
            f"{begin} if ({condition.text}) return static_cast<{of}>({yes.text}); return static_cast<{of}>({no.text});",
            f"{checked} if ({condition.checked}) return cast<{of}>({yes.checked}); return cast<{of}>({no.checked});",
        )

    def changes(
        self, text: str, checked: str, condition: Written, yes: Written, no: Written
    ) -> tuple[str, str]:
        """Statements that change a variable t, or may return before."""
        other, last, choice = self.value(1), self.value(1), self.random.randrange(4)
        self.names, self.integers = list(COLUMNS), list(INTEGERS)
        of = self.random.choice(TYPES)[0]
        step = self.random.choice(["t += 3;", "t -= 1u;", "t *= 2;"])
        paths = [
            ("if ({c}) t = {y}; else t = {n};", ""),
            ("if ({c}) {{ auto u = {y}; {s} t = u; }} else if ({o}) {{ t = {n}; {s} }}", ""),
            ("if ({c}) {{ if ({o}) {r} t = {y}; }} {s}", "({y})"),
            ("if ({o}) {{ {s} }} else {{ {s} if ({c}) t = {n}; else {r} }}", "({y})"),
        ]
        path, returned = paths[choice]
        texts = {"c": condition.text, "o": other.text, "y": yes.text, "n": no.text, "s": step}
        texts["r"] = f"return static_cast<{of}>({returned.format(y=yes.text)});"
        cast = "cast<decltype(t)>({})"
        checks = {"c": condition.checked, "o": other.checked, "s": step}
        checks |= {"y": cast.format(yes.checked), "n": cast.format(no.checked)}
        checks["r"] = f"return cast<{of}>({returned.format(y=yes.checked)});"
        return (
            f"{text} {path.format(**texts)} return static_cast<{of}>({last.text});",
            f"{checked} {path.format(**checks)} return cast<{of}>({last.checked});",
        )


# ---- The compiler

HEAD = r"""
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
using namespace std;  // as expressions of RDataFrame
using Int_t = int;
using Float_t = float;
using ULong64_t = unsigned long long;
constexpr bool kTRUE = true;
struct Wrong {};      // an error of ours, too
struct Undefined {};  // nothing to compare with
bool traps = false;   // what is written would end the program: the least number divided by -1
template <class R>
void check_trap(R x) {
  traps = traps || x == std::numeric_limits<R>::min();
}
template <class A, class B>
auto divide(A a, B b) {
  using R = decltype(a / b);
  if constexpr (std::is_integral_v<R>) {
    const R x = static_cast<R>(a), y = static_cast<R>(b);
    if (y == 0) throw Wrong{};
    if constexpr (std::is_signed_v<R>)
      if (y == -1) {
        check_trap(x);
        return static_cast<R>(R{0} - x);
      }
    return static_cast<R>(x / y);
  } else {
    return a / b;
  }
}
template <class A, class B>
auto rest(A a, B b) {
  using R = decltype(a % b);
  const R x = static_cast<R>(a), y = static_cast<R>(b);
  if (y == 0) throw Wrong{};
  if constexpr (std::is_signed_v<R>)
    if (y == -1) {
      check_trap(x);
      return R{0};
    }
  return static_cast<R>(x % y);
}
template <class A, class B>
void check_shift(A, B b) {
  const auto bits = static_cast<unsigned long>(8 * sizeof(decltype(A{} << 1)));
  if (b < 0 || static_cast<unsigned long>(b) >= bits) throw Wrong{};
}
template <class A, class B>
auto shift_left(A a, B b) {
  check_shift(a, b);
  return a << b;
}
template <class A, class B>
auto shift_right(A a, B b) {
  check_shift(a, b);
  return a >> b;
}
template <class T, class A>
T cast(A a) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_floating_point_v<A>) {
    const auto x = std::trunc(static_cast<long double>(a));
    if (!(x >= std::numeric_limits<T>::min() && x <= std::numeric_limits<T>::max())) throw Undefined{};
  }
  return static_cast<T>(a);
}
template <class T>
const char* name_of() {
#define IS(type, name) if (std::is_same_v<T, type>) return name;
  IS(bool, "bool") IS(char, "char") IS(signed char, "std::int8_t") IS(unsigned char, "std::uint8_t")
  IS(short, "std::int16_t") IS(unsigned short, "std::uint16_t") IS(int, "std::int32_t")
  IS(unsigned, "std::uint32_t") IS(long, "std::int64_t") IS(unsigned long, "std::uint64_t")
  IS(long long, "std::int64_t") IS(unsigned long long, "std::uint64_t") IS(float, "float") IS(double, "double")
  return "?";
}
template <class T>
unsigned long bits_of(T value) {
  unsigned long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T, std::size_t rows>
struct Column {
  explicit Column(std::FILE* file) {
    if (std::fread(values, sizeof(T), rows, file) != rows) std::puts("short");
  }
  T operator[](std::size_t row) const { return values[row]; }
  T values[rows];
};
"""


@dataclass
class Expected:
    """What the compiler makes of an expression."""

    kind: str
    bits: list[int | None]
    """Of each row; None: nothing to compare with."""
    wrong: list[bool]
    """Which rows are errors."""


def program_of(expressions: list[tuple[str, str]]) -> str:
    parameters = ", ".join(f"{cpp} {name}" for name, (_, cpp, _) in COLUMNS.items())
    arguments = ", ".join(f"v_{name}[row]" for name in COLUMNS)
    lines = [HEAD]
    for number, (text, checked) in enumerate(expressions):
        plain = text if text.endswith(";") else f"return {text};"
        lines += [
            f"static auto checked_{number}({parameters}) {{ {checked} }}",
            f"static auto plain_{number}({parameters}) {{ {plain} }}",
        ]
    lines += ["int main(int, char** arguments) {", f"  constexpr std::size_t rows = {ROWS};"]
    lines += ['  std::FILE* file = std::fopen(arguments[1], "rb");']
    lines += [f"  const Column<{cpp}, rows> v_{name}(file);" for name, (_, cpp, _) in COLUMNS.items()]
    for number in range(len(expressions)):
        lines.append(
            f"""  {{
    using T = decltype(checked_{number}({arguments.replace("row", "0")}));
    static_assert(std::is_same_v<T, decltype(plain_{number}({arguments.replace("row", "0")}))>);
    std::printf("%s", name_of<T>());
    for (std::size_t row = 0; row < rows; ++row) try {{
      traps = false;
      const T value = checked_{number}({arguments});
      const T same = traps ? value : plain_{number}({arguments});
      // Of zeros, GCC has the sign wrong: 0 - (float)-n is -0 if n is 0.
      if (bits_of(value) != bits_of(same) && value == value && value != 0) std::printf(" differs");
      std::printf(" %lx", bits_of(value));
    }} catch (const Wrong&) {{ std::printf(" wrong"); }} catch (const Undefined&) {{ std::printf(" -"); }}
    std::puts("");
  }}"""
        )
    return "\n".join([*lines, "}"])


def compiled(expressions: list[tuple[str, str]], arrays: dict[str, np.ndarray], folder) -> list[Expected]:
    (folder / "program.cpp").write_text(program_of(expressions))
    (folder / "rows").write_bytes(b"".join(array.tobytes() for array in arrays.values()))
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++20", "-O0", "-fwrapv", "-ffp-contract=off", "-w"]
    subprocess.run([compiler, *flags, "program.cpp", "-o", "program"], cwd=folder, check=True)
    done = subprocess.run(["./program", "rows"], cwd=folder, check=True, capture_output=True, text=True)
    found = []
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        assert "differs" not in words, "the two spellings are not the same"
        bits = [None if word in ("wrong", "-") else int(word, 16) for word in words]
        found.append(Expected(kind, bits, [word == "wrong" for word in words]))
    return found


# ---- Ours


def same(ours: np.ndarray, bits: np.ndarray) -> np.ndarray:
    theirs = np.frombuffer(bits.astype(np.uint64).tobytes(), dtype=ours.dtype)[:: 8 // ours.dtype.itemsize]
    if ours.dtype.kind == "f":
        return (ours.view(f"u{ours.dtype.itemsize}") == theirs.view(f"u{ours.dtype.itemsize}")) | (
            np.isnan(ours) & np.isnan(theirs)
        )
    return ours == theirs


@pytest.mark.parametrize("seed", range(4))
def test_expressions_mean_what_they_mean_to_a_compiler(seed, tmp_path):
    rng = np.random.default_rng(seed)
    arrays = {name: some_column(rng, kind) for name, (_, _, kind) in COLUMNS.items()}
    generator = Generator(seed)
    expressions = [generator.statements() for _ in range(EXPRESSIONS)]
    expected = compiled(expressions, arrays, tmp_path)

    known = np.array([[bits is not None for bits in each.bits] for each in expected])
    with colonnade.create(
        tmp_path / "rows.root", "Events", {name: field for name, (field, _, _) in COLUMNS.items()}
    ) as writer:
        writer.extend(
            {name: array.view(np.uint8) if name == "c" else array for name, array in arrays.items()}
        )
    frame = colonnade.DataFrame("Events", tmp_path / "rows.root")
    mismatches = []
    for number, ((text, _), each) in enumerate(zip(expressions, expected, strict=True)):
        rows = np.flatnonzero(known[number])
        try:
            kind = frame.column_type(text)
            some = frame.filter(lambda rdfentry_, rows=rows: np.isin(rdfentry_, rows))
            ours = some.take(text).value
        except colonnade.Error as error:
            mismatches.append(f"{text}\n    {error}")
            continue
        if str(kind) != each.kind:
            mismatches.append(f"{text}\n    is {kind}, not {each.kind}")
            continue
        bits = np.array([each.bits[row] for row in rows], dtype=np.uint64)
        wrong = rows[~same(ours, bits)]
        if len(wrong):
            row = wrong[0]
            values = {name: array[row] for name, array in arrays.items() if name in text}
            mismatches.append(
                f"{text}\n    row {row}: {ours[list(rows).index(row)]!r}, not {each.bits[row]:x}; {values}"
            )
        # What no result needs is not computed: a wrong `t` may be fine.
        if any(each.wrong) and not text.endswith(";"):
            row = each.wrong.index(True)
            try:
                value = frame.filter(f"rdfentry_ == {row}").take(text).value
                mismatches.append(f"{text}\n    row {row}: {value}, and no error")
            except colonnade.UsageError as error:
                if f"entry {row}" not in str(error):
                    mismatches.append(f"{text}\n    {error}")
    assert not mismatches, f"seed {seed}: {len(mismatches)} expressions\n" + "\n".join(mismatches[:10])
