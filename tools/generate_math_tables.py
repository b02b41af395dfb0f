#!/usr/bin/env python3
"""Writes src/frame/kernels/math_tables.h, the constants of the mathematical functions. Needs mpmath.

Numbers that have to be better than a double are pairs: the nearest double, and the nearest one of what is left. Taylor
series are rows: their first two coefficients as pairs, the others as doubles.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import mpmath as mp  # type: ignore[import-not-found]
import numpy as np

mp.mp.prec = 600
OUT = Path(__file__).resolve().parent.parent / "src/frame/kernels/math_tables.h"


def pair(value: mp.mpf) -> list[float]:
    high = float(value)
    return [high, float(value - high)]


def pieces(value: mp.mpf, bits: int, count: int) -> list[float]:
    """The value as `count` numbers of `bits` bits each, cut off, and a double for the rest."""
    found = []
    for _ in range(count):
        unit = mp.mpf(2) ** (mp.floor(mp.log(abs(value), 2)) + 1 - bits)
        found.append(float(mp.floor(value / unit) * unit))
        value -= found[-1]
    return [*found, float(value)]


def row(coefficients: list[mp.mpf]) -> list[float]:
    return [*pair(coefficients[0]), *pair(coefficients[1]), *map(float, coefficients[2:])]


HEAD = """\
// Constants of the mathematical functions, written by tools/generate_math_tables.py.
#ifndef COLONNADE_FRAME_KERNELS_MATH_TABLES_H
#define COLONNADE_FRAME_KERNELS_MATH_TABLES_H

#include <cstdint>

namespace colonnade::frame::math_tables {

// clang-format off
"""


# ---- Tables


def exponentials() -> Iterator[float]:
    for j in range(128):
        yield from pair(mp.mpf(2) ** (mp.mpf(j) / 128))


LOG_BITS = 7


def logarithms() -> Iterator[float]:
    """For each interval of a significand: 1 / its middle, and the logarithm of the middle as a pair; 0 fills the row.

    Intervals are equal steps of the bits; one of them has 1 in its middle. A middle may lie beside the true one: the
    inverse has 24 bits, so that its product with half the bits of a significand is exact, and the logarithm is one that
    a double almost has.
    """
    one, step = 0x3FF0000000000000, 1 << (52 - LOG_BITS)
    first = one - 75 * step + step // 2 - step
    for i in range(1 << LOG_BITS):
        begin, end = (double_of(first + k * step) for k in (i, i + 1))
        if begin < 1 < end:
            yield from (1.0, 0.0, 0.0, 0.0)
            continue
        with mp.workprec(140):
            nearest = np.float32(2 / (begin + end))
            candidates = [float(nearest + k * np.spacing(nearest)) for k in range(-2000, 2001)]
            inverse = min(candidates, key=lambda each: abs(pair(-mp.log(each))[1]))
        yield inverse
        yield from pair(-mp.log(inverse))
        yield 0.0


def double_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def sines() -> Iterator[float]:
    for k in range(128):
        yield from pair(mp.sin(k * mp.pi / 64) if k % 64 else mp.mpf(0))


def arc_tangents() -> Iterator[float]:
    for k in range(65):
        yield from pair(mp.atan(mp.mpf(k) / 64))


def error_function(degree: int) -> Iterator[float]:
    """Of erf in steps of 1/8. erf' = 2/sqrt(pi) exp(-x^2), the derivatives of which are Hermite polynomials."""
    for i in range(49):
        center = mp.mpf(i) / 8
        slope = 2 / mp.sqrt(mp.pi) * mp.exp(-center * center)
        coefficients = [mp.erf(center)]
        for n in range(1, degree + 1):
            hermite = (-1) ** (n - 1) * mp.hermite(n - 1, center)
            coefficients.append(slope * hermite / mp.factorial(n))
        yield from row(coefficients)


ERFC_FIRST, ERFC_LAST = -20, 28


def scaled_error_function(degree: int) -> Iterator[float]:
    """exp(x^2) erfc(x) as a series of t = (x - 2) / (x + 2), in steps of 1/32 of t.

    E' = 2 x E - 2/sqrt(pi) gives its series in x, into which that of x(t) = -2 + 4 / (1 - t) is put.
    """
    for i in range(ERFC_FIRST, ERFC_LAST + 1):
        far = 1 / (1 - mp.mpf(i) / 32)
        x = 4 * far - 2
        in_x = [mp.exp(x * x) * mp.erfc(x), mp.mpf(0)]
        in_x[1] = 2 * x * in_x[0] - 2 / mp.sqrt(mp.pi)
        for n in range(1, degree):
            in_x.append((2 * x * in_x[n] + 2 * in_x[n - 1]) / (n + 1))
        step = [mp.mpf(0), *(4 * far ** (n + 1) for n in range(1, degree + 1))]
        total = [mp.mpf(0)] * (degree + 1)
        power = [mp.mpf(1), *[mp.mpf(0)] * degree]
        for coefficient in in_x:
            total = [t + coefficient * p for t, p in zip(total, power, strict=True)]
            power = [sum(power[k] * step[n - k] for k in range(n + 1)) for n in range(degree + 1)]
        yield from row(total)


def log_gamma(degree: int) -> Iterator[float]:
    """Of log(gamma(1 + z)) in steps of 1/8, from polygamma functions."""
    for i in range(57):
        x = 1 + mp.mpf(i) / 8
        start = mp.mpf(0) if i in (0, 8) else mp.loggamma(x)
        yield from row([start, *(mp.psi(n - 1, x) / mp.factorial(n) for n in range(1, degree + 1))])


def stirling() -> list[float]:
    """For x >= 8, log(gamma(x)) - ((x - 1/2) log(x) - x + log(2 pi)/2) = (1/12 + s(1/x^2)) / x.

    s is fitted at Chebyshev's points.
    """

    def s(w: mp.mpf) -> mp.mpf:
        if w == 0:
            return mp.mpf(0)
        x = 1 / mp.sqrt(w)
        rest = mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)
        return (rest * x - mp.mpf(1) / 12) / w

    end = mp.mpf(1) / 64
    degree = 8
    points = [end / 2 * (1 + mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))) for k in range(degree + 1)]
    matrix = mp.matrix([[p**n for n in range(degree + 1)] for p in points])
    return [float(c) for c in mp.lu_solve(matrix, mp.matrix([s(p) for p in points]))]


def arc_sine() -> list[float]:
    """Of (asin(u) - u) / u^3 as a polynomial of u^2 up to 1/4, fitted at Chebyshev's points."""
    end = mp.mpf(1) / 4
    degree = 12
    points = [end / 2 * (1 + mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))) for k in range(degree + 1)]
    matrix = mp.matrix([[p**n for n in range(degree + 1)] for p in points])
    values = [(mp.asin(mp.sqrt(p)) - mp.sqrt(p)) / mp.sqrt(p) ** 3 for p in points]
    return [float(c) for c in mp.lu_solve(matrix, mp.matrix(values))]


def reciprocal_of_turn() -> list[int]:
    """1 / (2 pi) in words of 64 bits."""
    count = 21
    with mp.workprec(64 * count + 100):
        bits = int(mp.floor(mp.ldexp(1 / (2 * mp.pi), 64 * count)))
    return [(bits >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count)]


# ---- The file


def array(name: str, values: list[float], comment: str) -> str:
    lines = [
        "    " + " ".join(f"{short(value)}," for value in values[i : i + 4]) for i in range(0, len(values), 4)
    ]
    return f"// {comment}\ninline constexpr double {name}[] = {{\n" + "\n".join(lines) + "};\n"


def words(name: str, values: list[int], comment: str) -> str:
    lines = [
        "    " + " ".join(f"0x{word:016x}," for word in values[i : i + 4]) for i in range(0, len(values), 4)
    ]
    return f"// {comment}\ninline constexpr std::uint64_t {name}[] = {{\n" + "\n".join(lines) + "};\n"


def short(value: float) -> str:
    text = float(value).hex()
    significand, exponent = text.split("p")
    if "." in significand:
        significand = significand.rstrip("0").rstrip(".")
    return f"{significand}p{int(exponent)}"


def number(name: str, values: list[float]) -> str:
    if len(values) == 1:
        return f"inline constexpr double {name} = {short(values[0])};\n"
    return f"inline constexpr double {name}[] = {{{', '.join(map(short, values))}}};\n"


def main() -> None:
    ln2 = mp.log(2)
    erf_degree, erfc_degree, gamma_degree = 14, 11, 15
    parts = [
        HEAD,
        number("ln2_128", pieces(ln2 / 128, 33, 2)),
        number("ln2_128_split", pieces(ln2 / 128, 33, 1)),
        number("ln2_split", pieces(ln2, 40, 1)),
        number("ln2", pair(ln2)),
        number("reciprocal_ln2", pair(1 / ln2)),
        number("reciprocal_ln10", pair(1 / mp.log(10))),
        number("reciprocal_ln2_split", pieces(1 / ln2, 26, 1)),
        number("reciprocal_ln10_split", pieces(1 / mp.log(10), 26, 1)),
        number("pi", pair(mp.pi)),
        number("half_pi", pair(mp.pi / 2)),
        number("pi_64", pair(mp.pi / 64)),
        number("pi_64_pieces", pieces(mp.pi / 64, 29, 3)),
        number("log_pi", pair(mp.log(mp.pi))),
        number("half_log_two_pi_less_half", pair((mp.log(2 * mp.pi) - 1) / 2)),
        number("twelfth", [float(mp.mpf(1) / 12)]),
        array("stirling", stirling(), "See stirling() in the generator."),
        "",
        array("exponentials", list(exponentials()), "2^(j/128), as pairs."),
        "",
        array(
            "logarithms", list(logarithms()), "For each interval: 1/middle, log(middle) as a pair, nothing."
        ),
        "",
        array("sines", list(sines()), "sin(k pi/64), as pairs."),
        "",
        array("arc_tangents", list(arc_tangents()), "atan(k/64), as pairs."),
        "",
        array("arc_sine_even", arc_sine()[::2], "See arc_sine() in the generator: of even powers of u^2,"),
        array("arc_sine_odd", arc_sine()[1::2], "and of odd ones."),
        "",
        f"inline constexpr int erf_degree = {erf_degree};\n",
        array("erf_rows", list(error_function(erf_degree)), "Series of erf around k/8."),
        "",
        f"inline constexpr int erfc_degree = {erfc_degree};\n",
        f"inline constexpr int erfc_first = {ERFC_FIRST};\n",
        array(
            "erfc_rows",
            list(scaled_error_function(erfc_degree)),
            "Series of exp(x^2) erfc(x) in t = (x-2)/(x+2) around k/32.",
        ),
        "",
        f"inline constexpr int gamma_degree = {gamma_degree};\n",
        array("gamma_rows", list(log_gamma(gamma_degree)), "Series of log(gamma(1+z)) around k/8."),
        "",
        words("reciprocal_of_turn", reciprocal_of_turn(), "1/(2 pi), 64 bits each."),
        "\n// clang-format on\n}  // namespace colonnade::frame::math_tables\n\n#endif\n",
    ]
    OUT.write_text("".join(part or "\n" for part in parts), encoding="utf-8")


if __name__ == "__main__":
    main()
