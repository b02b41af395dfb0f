"""Expressions put together from Python objects: `col("Muon_pt") > 20`, `fn.Sum(col("Jet_pt"))`, `np.sqrt(col("x"))`.

An expression becomes a text in the language of expression strings, fully parenthesised, so that both spellings mean the
same. Operators follow Python where it differs from C++: `/` divides integers to a floating-point number, and
`&`, `|`, `^` and `~` are logical where they are applied to truth values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from colonnade import _core
from colonnade.errors import Error, TypeMismatchError
from colonnade.misuse import column_name, shown

from .values import element_of

__all__ = ["Expression", "ExpressionLike", "col", "fn"]

ExpressionLike: TypeAlias = "str | Expression"
"""A string in the language of expressions, or an `Expression`."""
_NUMPY_NAMES = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {
    "float32",
    "float64",
}
Types: TypeAlias = Callable[[str], "_core.ValueType | None"]

_UFUNCS = {
    **{
        name: name
        for name in [
            "sqrt",
            "cbrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "hypot",
            "fmod",
            "fabs",
            "fmin",
            "fmax",
            "isnan",
            "isinf",
            "isfinite",
            "copysign",
            "signbit",
        ]
    },
    "absolute": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "power": "pow",
    "float_power": "pow",
}
_BINARY = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "left_shift": "<<",
    "right_shift": ">>",
    "logical_and": "&&",
    "logical_or": "||",
}
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})
_REDUCTIONS = {"sum": "Sum", "mean": "Mean", "min": "Min", "max": "Max", "any": "Any", "all": "All"}
_REDUCTIONS |= {"amin": "Min", "amax": "Max", "argmin": "ArgMin", "argmax": "ArgMax"}
_INT32 = 2**31
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


class Expression:
    """An expression over columns; made by `col` and `fn`, and by operators and NumPy functions on such.

    `str(expression)` is the text. Members and methods are spelled as in that text: `col("jets").pt`, `col("p4").Pt()`,
    `col("Muon_pt").size()`; `x["sum"]` is for members with the name of a method.
    """

    __slots__ = ("_boolean", "_form", "_parts")
    __array_priority__ = 1000
    __iter__ = None  # it has subscripts but no length

    def __init__(self, form: str, *parts: str | Expression, boolean: bool = False) -> None:
        self._form, self._parts, self._boolean = form, parts, boolean

    def render(self, types: Types | None = None) -> str:
        """Return the text.

        Args:
            types: returns the type of a text, or None if it is unknown. Without it, columns are treated as numbers
                that are neither truth values nor integers.
        """
        texts = [part if isinstance(part, str) else part.render(types) for part in self._parts]
        if self._form == "text":
            return "".join(texts)
        kinds = [_Kind(part, text, types) for part, text in zip(self._parts, texts, strict=True)]
        if self._form == "~":
            return f"(!{texts[0]})" if kinds[0].is_boolean else f"(~{texts[0]})"
        if self._form == "/":
            whole = kinds[0].is_integer and kinds[1].is_integer
            return f"({texts[0]} * 1.0 / {texts[1]})" if whole else f"({texts[0]} / {texts[1]})"
        if self._form == "where":
            if kinds[0].is_list:
                return f"Where({texts[0]}, {texts[1]}, {texts[2]})"
            return f"({texts[0]} ? {texts[1]} : {texts[2]})"
        logical = {"&": "&&", "|": "||", "^": "!="}[self._form]
        both = kinds[0].is_boolean and kinds[1].is_boolean
        return f"({texts[0]} {logical if both else self._form} {texts[1]})"

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Expression {self.render()}>"

    # ---- Operators

    def __add__(self, other: object) -> Expression:
        return _binary("+", self, other)

    def __radd__(self, other: object) -> Expression:
        return _binary("+", other, self)

    def __sub__(self, other: object) -> Expression:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Expression:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Expression:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Expression:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Expression:
        return Expression("/", _operand(self), _operand(other))

    def __rtruediv__(self, other: object) -> Expression:
        return Expression("/", _operand(other), _operand(self))

    def __floordiv__(self, other: object) -> NoReturn:
        raise TypeMismatchError(
            "expressions have no operator //", "a string for C++'s integer division, 'a / b'"
        )

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: object) -> Expression:
        return _binary("%", self, other)

    def __rmod__(self, other: object) -> Expression:
        return _binary("%", other, self)

    def __pow__(self, other: object) -> Expression:
        return call("pow", self, other)

    def __rpow__(self, other: object) -> Expression:
        return call("pow", other, self)

    def __lshift__(self, other: object) -> Expression:
        return _binary("<<", self, other)

    def __rlshift__(self, other: object) -> Expression:
        return _binary("<<", other, self)

    def __rshift__(self, other: object) -> Expression:
        return _binary(">>", self, other)

    def __rrshift__(self, other: object) -> Expression:
        return _binary(">>", other, self)

    def __and__(self, other: object) -> Expression:
        return _bitwise("&", self, other)

    def __rand__(self, other: object) -> Expression:
        return _bitwise("&", other, self)

    def __or__(self, other: object) -> Expression:
        return _bitwise("|", self, other)

    def __ror__(self, other: object) -> Expression:
        return _bitwise("|", other, self)

    def __xor__(self, other: object) -> Expression:
        return _bitwise("^", self, other)

    def __rxor__(self, other: object) -> Expression:
        return _bitwise("^", other, self)

    def __invert__(self) -> Expression:
        return Expression("~", self, boolean=self._boolean)

    def __neg__(self) -> Expression:
        return Expression("text", "(-", self, ")")

    def __pos__(self) -> Expression:
        return Expression("text", "(+", self, ")")

    def __abs__(self) -> Expression:
        return call("abs", self)

    def __lt__(self, other: object) -> Expression:
        return _binary("<", self, other)

    def __le__(self, other: object) -> Expression:
        return _binary("<=", self, other)

    def __gt__(self, other: object) -> Expression:
        return _binary(">", self, other)

    def __ge__(self, other: object) -> Expression:
        return _binary(">=", self, other)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _binary("!=", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeMismatchError(
            f"the expression {self.render()} has no truth value of its own",
            "& for and, | for or, ~ for not, with parentheses around comparisons",
        )

    # ---- Members, subscripts, methods

    def __getitem__(self, index: object) -> Expression:
        """`x[0]`: an item; `x[x > 20]`: the items where it is true; `x["pt"]`: a member."""
        if isinstance(index, str):
            return Expression("text", self, f".{_identifier(index)}")
        if isinstance(index, slice):
            raise TypeMismatchError("expressions cannot be sliced", "fn.Take(x, 3) for the first three items")
        return Expression("text", self, "[", _operand(index), "]")

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_"):
            raise AttributeError(name)
        return Expression("text", self, f".{name}")

    def __call__(self, *arguments: object) -> Expression:
        """Call a method: `col("p4").Pt()`."""
        last = self._parts[-1]
        if self._form != "text" or not isinstance(last, str) or not last.startswith("."):
            raise TypeMismatchError(f"the expression {self.render()} cannot be called", "fn.name(...)")
        return Expression("text", *self._parts, "(", *_listed(arguments), ")")

    def astype(self, kind: DTypeLike) -> Expression:
        """Cast to a type of C++ or NumPy: `col("n").astype("float")`, `col("n").astype(np.uint16)`.

        Raises:
            TypeMismatchError: expressions have no such type.
        """
        return Expression("text", f"static_cast<{_type_name(kind)}>(", self, ")")

    def sum(self) -> Expression:
        """Return the sum of the items of each list."""
        return call("Sum", self)

    def mean(self) -> Expression:
        """Return the mean of the items of each list."""
        return call("Mean", self)

    def min(self) -> Expression:
        """Return the smallest item of each list."""
        return call("Min", self)

    def max(self) -> Expression:
        """Return the largest item of each list."""
        return call("Max", self)

    def any(self) -> Expression:
        """Return whether any item of each list is true."""
        return call("Any", self)

    def all(self) -> Expression:
        """Return whether all items of each list are true."""
        return call("All", self)

    def argmin(self) -> Expression:
        """Return where the smallest item of each list is."""
        return call("ArgMin", self)

    def argmax(self) -> Expression:
        """Return where the largest item of each list is."""
        return call("ArgMax", self)

    # ---- NumPy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Any:
        name = ufunc.__name__
        if method != "__call__" or options:
            return NotImplemented
        if name in _BINARY:
            return _binary(_BINARY[name], *inputs)
        if name in ("divide", "true_divide"):
            return Expression("/", _operand(inputs[0]), _operand(inputs[1]))
        if name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
            return _bitwise({"and": "&", "or": "|", "xor": "^"}[name[8:]], *inputs)
        if name in ("negative", "positive"):
            return -self if name == "negative" else self
        if name == "logical_not":
            return Expression("text", "(!", _operand(self), ")", boolean=True)
        if name == "invert":
            return ~self
        if name == "square":
            return self * self
        if name in _UFUNCS:
            return call(_UFUNCS[name], *inputs)
        raise TypeMismatchError(
            f"numpy.{name} has no counterpart in expressions",
            "a callable: define(name, lambda x: ..., ['x'])",
        )

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        name = function.__name__
        axis = options.pop("axis", -1) if len(arguments) == 1 else None
        if name == "where" and len(arguments) == 3 and not options:
            return where(*arguments)
        if name in _REDUCTIONS and axis in (1, -1) and not options:
            return call(_REDUCTIONS[name], *arguments)
        raise TypeMismatchError(
            f"numpy.{name} with these arguments has no counterpart in expressions",
            "a function of `fn`, or a callable",
        )


class _Kind:
    """The known properties of an operand."""

    def __init__(self, part: str | Expression, text: str, types: Types | None) -> None:
        self.is_boolean = isinstance(part, Expression) and part._boolean
        self.is_integer = re.fullmatch(r"\(?-?\d+\)?", text) is not None
        self.is_list = False
        if types is None or (self.is_integer and not self.is_boolean):
            return
        found = types(text)
        if found is None:
            return
        self.is_list = found.kind == "list"
        while found.kind == "list":
            found = found.item
        if found.kind == "scalar":
            name = found.element.name
            self.is_boolean = self.is_boolean or name == "boolean"
            self.is_integer = "float" not in name


def col(name: str) -> Expression:
    """Return the expression of a column: `col("Muon_pt")`, `col("jets.pt")`, or with any other name, `col("a+b")`.

    Raises:
        UsageError: the name is empty, or has backticks.
    """
    return Expression("text", _core.column_text(column_name(name)))


def where(condition: object, yes: object, no: object) -> Expression:
    """`condition ? yes : no`, item by item where the condition is a list."""
    return Expression("where", _operand(condition), _operand(yes), _operand(no))


def call(name: str, *arguments: object) -> Expression:
    """Return the call of a function of the expression language."""
    return Expression("text", f"{name}(", *_listed(arguments), ")", boolean=name in ("Any", "All"))


class _Function:
    """A function of the expression language; calling it gives an `Expression`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: object) -> Expression:
        return call(self._name, *arguments)

    def __getattr__(self, name: str) -> _Function:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Function(f"{self._name}::{name}")

    def __getitem__(self, types: str | tuple[str, ...]) -> _Function:
        listed = types if isinstance(types, str) else ", ".join(types)
        return _Function(f"{self._name}<{listed}>")

    def __repr__(self) -> str:
        return f"<function {self._name} of expressions>"


class _Functions:
    """All functions of the expression language by their names: `fn.DeltaR(...)`, `fn.TMath.Abs(x)`."""

    def __getattr__(self, name: str) -> _Function:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Function(name)

    def __dir__(self) -> list[str]:
        names = (name.split("::")[0] for name, _ in _core.expression_functions())
        return sorted({name for name in names if name.isidentifier() and name != "cast"})

    def __repr__(self) -> str:
        return "<functions of expressions>"


fn = _Functions()
"""Functions of the expression language: `fn.Sum(col("Jet_pt"))`, `fn.TMath.Abs(col("x"))`."""


def text_of(value: ExpressionLike, graph: _core.FrameGraph, node: int) -> str:
    """Return the text of an expression at a node, whose columns determine the types.

    The name of a column is that column, even if it reads as something else ("AnalysisJetsAuxDyn:pt", "1", "true").
    """
    if isinstance(value, str):
        column_name(value, "column or text of an expression")
        return _core.column_text(value) if graph.is_taken(node, value) else value
    if not isinstance(value, Expression):
        raise TypeMismatchError(
            f"a value of type {type(value).__name__} is not an expression",
            "a string, or an expression made with colonnade.col",
        )

    def types(text: str) -> _core.ValueType | None:
        try:
            return graph.column_type(node, text)
        except Error:
            return None  # booking the whole expression reports the error, with its position

    return value.render(types)


# ---- Texts


def literal(value: object) -> str:
    """Return the text of a constant: a C++ literal with the same value."""
    # NumPy makes arrays of its scalars before it compares them.
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return _integer(int(value))
    if isinstance(value, np.float32):
        return _floating(float(value), f"{np.format_float_scientific(value)}f")
    if isinstance(value, float | np.floating):
        return _floating(float(value), repr(float(value)))
    if isinstance(value, str):
        try:
            return f'"{"".join(map(_character, value))}"'
        except UnicodeEncodeError:
            raise TypeMismatchError(f"the text {value!r} is not valid Unicode") from None
    raise TypeMismatchError(
        f"a value of type {type(value).__name__} cannot be used in an expression",
        "numbers, strings, and colonnade.col",
    )


def _character(letter: str) -> str:
    """Return a character as it is written in a text; bytes that are not UTF-8, which Python escapes, as numbers."""
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    if letter.isprintable():
        return letter
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))


def _integer(value: int) -> str:
    if not -(2**63) <= value < 2**64:
        raise TypeMismatchError(f"{value} does not fit in 64 bits")
    if value < 0:
        # The smallest integers have no literal of their own.
        return f"({value})" if value > -_INT32 else f"(-{-value - 1} - 1)"
    return str(value) if value < 2**63 else f"{value}ull"


def _floating(value: float, text: str) -> str:
    if not np.isfinite(value):
        return "(0.0 / 0.0)" if np.isnan(value) else ("(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)")
    return f"({text})" if np.signbit(value) else text


def _operand(value: object) -> str | Expression:
    return value if isinstance(value, Expression) else literal(value)


def _binary(operator: str, *operands: object) -> Expression:
    left, right = operands
    boolean = operator in _COMPARISONS
    return Expression("text", "(", _operand(left), f" {operator} ", _operand(right), ")", boolean=boolean)


def _bitwise(operator: str, *operands: object) -> Expression:
    left, right = (_truth(value) if isinstance(value, bool) else _operand(value) for value in operands)
    both = all(isinstance(each, Expression) and each._boolean for each in (left, right))
    return Expression(operator, left, right, boolean=both)


def _truth(value: bool) -> Expression:
    return Expression("text", literal(value), boolean=True)


def _listed(arguments: tuple[object, ...]) -> list[str | Expression]:
    listed: list[str | Expression] = []
    for number, argument in enumerate(arguments):
        listed += [", "] if number else []
        listed.append(_operand(argument))
    return listed


def _type_name(kind: DTypeLike) -> str:
    """Return the name in C++ of a type, which may be one of NumPy; "float" is that of C++."""
    if isinstance(kind, str) and kind not in _NUMPY_NAMES:
        return kind
    try:
        # NumPy takes None for float64.
        return _core.ValueType.scalar(element_of(np.dtype("O" if kind is None else kind))).name
    except (TypeError, ValueError):
        raise TypeMismatchError(
            f"{shown(kind)} is not a type", "'float', 'std::int16_t', numpy.uint16"
        ) from None


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise TypeMismatchError(f"'{name}' is not the name of a member")
    return name
