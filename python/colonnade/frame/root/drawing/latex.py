"""ROOT's texts with `#mu_{1}^{2}` and the like, as matplotlib's mathtext."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["readable"]

_TOKEN = re.compile(r"#(?:[A-Za-z]+|.)|.", re.DOTALL)
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
    " omega varepsilon vartheta varphi varsigma Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_SAME = (
    "leftarrow rightarrow leftrightarrow uparrow downarrow updownarrow Leftarrow Rightarrow Leftrightarrow Uparrow"
    " Downarrow pm mp times cdot leq geq neq approx propto equiv cong sim infty int oint sum prod partial nabla"
    " hbar ell bullet oplus otimes in notin forall exists perp parallel angle cap cup subset supset subseteq supseteq"
    " wedge vee circ ast div Re Im aleph clubsuit diamondsuit heartsuit spadesuit lfloor rfloor lceil rceil"
)
_SYMBOLS = {name: f"\\{name}" for name in f"{_GREEK} {_SAME}".split()} | {
    "backslash": "\\backslash",
    "omicron": "o",
    "jpsi": "J/\\psi",
    "Jgothic": "\\Im",
    "Rgothic": "\\Re",
    "void8": "\\infty",
    "doublequote": '"',
    "ocopyright": "©",
    "trademark": "™",
    "AA": "Å",
    "aa": "å",
    "deg": "^{\\circ}",
    "degree": "^{\\circ}",
    "minus": "-",
    "plus": "+",
    "odot": "\\odot",
    "downleftarrow": "\\hookleftarrow",
    "3dots": "\\ldots",
    "ldots": "\\ldots",
    "dagger": "\\dagger",
}
_ALONE = (
    "Alpha",
    "Beta",
    "Epsilon",
    "Zeta",
    "Eta",
    "Iota",
    "Kappa",
    "Mu",
    "Nu",
    "Omicron",
    "Rho",
    "Tau",
    "Chi",
)
_SYMBOLS |= dict(zip(_ALONE, ["A", "B", "E", "Z", "H", "I", "K", "M", "N", "O", "P", "T", "X"], strict=True))
_OVER = {
    "bar": "overline",
    "overline": "overline",
    "vec": "vec",
    "hat": "hat",
    "dot": "dot",
    "ddot": "ddot",
    "tilde": "tilde",
    "check": "check",
    "acute": "acute",
    "grave": "grave",
    "underline": "underline",
}
_PLAIN = ("font", "color", "scale", "kern", "lower", "url", "mbox")
"""Their last argument is painted as it is."""
_BRACKETS = {"(": ("(", ")"), "[": ("[", "]"), "{": ("\\{", "\\}"), "|": ("|", "|")}


class _Parser:
    def __init__(self, text: str, bold: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._bold = bold
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def text(self) -> str:
        """The whole text: what needs no formula stays outside of one."""
        made = ""
        while self._peek():
            token = self._peek()
            if token.startswith("#splitline"):
                self._take()
                first, second = (_Parser(self._raw(), self._bold).text() for _ in range(2))
                made += f"{first}\n{second}"
            elif token.startswith("#") or token in "_^{":
                made += f"${self._atom()}$"
            else:
                made += "\\$" if token == "$" else token
                self._take()
        return made.replace("$$", "")

    def _raw(self) -> str:
        """A group as it is written, without its braces; one token without any."""
        if self._peek() != "{":
            return self._take()
        depth, taken = 0, ""
        while self._peek():
            token = self._take()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                break
            taken += token
        return taken.removeprefix("{")

    def _option(self) -> str:
        if self._peek() != "[":
            return ""
        taken = ""
        while self._peek() and not taken.endswith("]"):
            taken += self._take()
        return taken[1:-1]

    def _formula(self, text: str) -> str:
        inner = _Parser(text, self._bold)
        made = ""
        while inner._peek():
            made += inner._atom()
        return made

    def _group(self) -> str:
        return self._formula(self._raw())

    def _atom(self) -> str:
        token = self._take()
        if token in ("_", "^"):
            return f"{token}{{{self._group() or ' '}}}"
        if token == "{":
            self._at -= 1
            return f"{{{self._group()}}}"
        if not token.startswith("#"):
            return _letter(token)
        return self._command(token[1:])

    def _command(self, name: str) -> str:
        if name in _BRACKETS:
            self._raw()  # the closing half, `#(){x}`: tokens such as ")" or "}"
            low, high = _BRACKETS[name]
            return f"\\left{low}{self._group()}\\right{high}"
        if name in ("frac", "splitline"):
            return f"\\frac{{{self._group()}}}{{{self._group()}}}"
        if name == "sqrt":
            order = self._option()
            return f"\\sqrt{f'[{order}]' if order else ''}{{{self._group()}}}"
        if name in _OVER:
            return f"\\{_OVER[name]}{{{self._group()}}}"
        if name == "it":
            return f"\\mathit{{{self._group()}}}".replace("\\mathregular", "\\mathit")
        if name == "bf":
            return f"\\{self._bold}{{{self._group()}}}".replace("\\mathregular", f"\\{self._bold}")
        if name in ("left", "right"):
            return self._half(name)
        if name in _PLAIN:
            self._option()
            return self._group()
        if len(name) == 1 and not name.isalpha():
            return _letter(name)
        for length in range(len(name), 0, -1):  # "#muX" is the symbol and a letter, as in ROOT
            if name[:length] in _SYMBOLS:
                rest = "".join(_letter(letter) for letter in name[length:])
                return f"\\mathregular{{{_SYMBOLS[name[:length]]}}}{rest}"
        return "".join(_letter(letter) for letter in f"#{name}")

    def _half(self, name: str) -> str:
        mark = self._take()
        if name == "right":
            return _letter(mark)
        made = ""
        while self._peek() and self._peek() != "#right":
            made += self._atom()
        if self._take() != "#right":
            return f"{_letter(mark)}{made}"
        return f"\\left{_bracket(mark)}{made}\\right{_bracket(self._take())}"


def _bracket(mark: str) -> str:
    return f"\\{mark}" if mark in ("{", "}") else mark or "."


def _letter(letter: str) -> str:
    if letter == " ":
        return "\\ "
    if letter in "#$%&_{}":
        return f"\\{letter}"
    if letter == "^":
        return "\\^"
    return f"\\mathregular{{{letter}}}" if letter.isalpha() else letter


@lru_cache(maxsize=1000)
def readable(text: str, is_bold: bool = False) -> str:
    """Return a text of ROOT's in mathtext; as it is written if that makes no formula.

    Args:
        text: with `#mu` and the like.
        is_bold: whether the font is bold; `#bf` is not, then.
    """
    from matplotlib.mathtext import MathTextParser

    if "#" not in text and "_" not in text and "^" not in text and "\\" not in text:
        return text.replace("$", "\\$")
    made = f"${text.strip('$')}$" if "\\" in text else _Parser(text, "mathrm" if is_bold else "mathbf").text()
    try:
        for line in made.split("\n"):
            MathTextParser("path").parse(line)
    except ValueError:
        return text.replace("$", "\\$")
    return made
