"""Formulas in the words of the data, set as mathematics where they are printed.

Metrics, claims and defects are data and write formulas as one types them: ``|x_{L-1}|``, ``G_max``,
``10^(1/L)``, ``‖W_V‖²_F``. A browser breaks such a run anywhere and shows its markup. What is set
here as TeX does not break; other words stay as they are.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from analysis.tidy import markdown, prose

#: A word of a formula: an order, a sum in brackets and a maximum have spaces within.
WORD = r'(?:O\([^()"]+\)|\(Σ_\([a-z,]+\) [^()"]+\)|arg max_\S \|[^|"”“]+\||[^\s"”“]+)'

#: A run of words joined by operators; it is a formula if it has a mark of one.
RUN = re.compile(rf"{WORD}(?: (?:[=/≈∝−<>]|- ) ?{WORD})*")

#: An index or exponent at a single letter, bars, or a letter less a number.
MARK = re.compile(r"(?<![A-Za-z])[A-Zxρ]_[A-Za-z{]|[\w)]\^[\w({]|\|[^|]+\||‖|L\*|^[A-Z]-\d|[a-z]²")

#: A number as computers write it, with its power of ten behind an e.
POWER = re.compile(r"\b\d+(?:\.\d+)?e-\d+\b")

#: What is said in one way only, in the order in which it is replaced.
COMMANDS = {
    "Σ": r"\sum ",
    "ρ": r"\rho ",
    "≈": r"\approx ",
    "∝": r"\propto ",
    "₂": "_2",
    "²": "^2",
    "L*": "L^*",
    "argmax": r"\operatorname{argmax}",
    "arg max": r"\operatorname{argmax}",
    "ℓ": r"\ell ",
    "Tr": r"\operatorname{Tr}",
    "−": "-",
    "–": r"\text{–}",
}

#: The parts of a formula that may be set; a command that takes words has them in plain letters.
TOKEN = re.compile(
    r"\\(?:sum|rho|ell|approx|propto|lVert|rVert|lvert|rvert)(?![A-Za-z])"
    r"|\\(?:operatorname|text)\{[A-Za-z–,]+\}"
    r"|[A-Za-z0-9α-ωΑ-Ω∝∞×·≤≥±√∂∈→]|[ ^_{}()\[\]+\-*/=<>.,:;'!]"
)

#: What the bars around a vector or matrix begin with; around anything else they are absolute.
VECTOR = re.compile(r"[xeXW]\b|[xeXW]_|N\(")


def typeset(text: str) -> str:
    r"""Return text as Markdown: its formulas as mathematics, numbers kept with what follows.

    >>> typeset("blocks 1 to L-1: (|x_{L-1}| / |x_0|)^(1/(L-1)).")
    'blocks 1 to $L-1$: $(\\lVert x_{L-1}\\rVert / \\lVert x_0\\rVert)^{1/(L-1)}$\\.'
    >>> typeset('"**GPT** has G_max = 10^(1/L)"')
    '"GPT has $G_{\\text{max}} = 10^{1/L}$"'
    """
    plain = POWER.sub(_power, text.replace("**", ""))
    parts, end = [], 0
    for match in RUN.finditer(plain):
        start, stop = _trim(plain, *match.span())
        formula = _tex(plain[start:stop]) if MARK.search(plain[start:stop]) else ""
        if is_tex(formula) and formula.count("(") == formula.count(")"):
            parts += [_text(plain[end:start]), f"${formula}$"]
            end = stop
    return "".join([*parts, _text(plain[end:])])


#: An index in braces or a capital, or an exponent in brackets or a letter.
SCRIPT = re.compile(r"(?<=\w)_(?:\{([^{}]+)\}|([A-Z])\b)|(?<=[\w)])\^(?:\(([^()]+)\)|(\w))")


def marked(text: str) -> Markup:
    """Return text as HTML in a line, its indices lowered and its exponents raised.

    >>> print(marked("|W_V| < 10^(1/L)"), marked("x_{L-1}, n_layers"))
    |W<sub>V</sub>| &lt; 10<sup>1/L</sup> x<sub>L-1</sub>, n_layers
    """
    parts, end = [], 0
    for match in SCRIPT.finditer(text):
        low, high = match[1] or match[2], match[3] or match[4]
        tag, inside = ("sub", low) if low else ("sup", high)
        parts += [Markup("{0}<{1}>{2}</{1}>").format(text[end : match.start()], tag, inside)]
        end = match.end()
    return Markup("").join([*parts, Markup("{}").format(text[end:])])


def is_tex(formula: str) -> bool:
    r"""Return whether a formula is TeX that every renderer can set: known commands, whole groups.

    What comes from data may be anything; what is not sure to be set stays text.

    >>> is_tex(r"\lVert x_{L-1}\rVert^2"), is_tex(r"x_{a"), is_tex(r"\href{a}{b}"), is_tex("x^2^3")
    (True, False, False, False)
    """
    depth, before = 0, ""
    scripts: list[str] = [""]
    end = 0
    for token in TOKEN.finditer(formula):
        word = token[0]
        if token.start() != end:
            return False
        end = token.end()
        if word in "^_":
            if before in ("", "^", "_", "{") or word in scripts[-1]:
                return False
            scripts[-1] += word
        elif word == "{":
            depth += 1
            scripts[-1] = scripts[-1] if before in ("^", "_") else ""
            scripts.append("")
        elif word == "}":
            depth -= 1
            if depth < 0 or before in ("", "{", "^", "_"):
                return False
            scripts.pop()
        elif before not in ("^", "_"):
            scripts[-1] = ""
        if word != " ":
            before = word
    return bool(formula) and end == len(formula) and depth == 0 and before not in ("^", "_")


def _text(text: str) -> str:
    return markdown.literal(prose.bound(text))


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the ends of a run without the punctuation and the brackets of its sentence."""
    while start < stop:
        run = text[start:stop]
        if run[-1] in ".,;:" or (run[-1] == ")" and run.count(")") > run.count("(")):
            stop -= 1
        elif run[0] == "(" and run.count("(") > run.count(")"):
            start += 1
        else:
            break
    return start, stop


def _power(match: re.Match[str]) -> str:
    """Return a number as computers write it as one writes it by hand."""
    digits = len(match[0].partition("e")[0].partition(".")[2])
    return prose.power_of_ten(float(match[0]), digits)


def _tex(formula: str) -> str:
    r"""Return a formula as TeX.

    >>> _tex("‖W_V‖²_F"), _tex("|G−1| ∝ H")
    ('\\lVert W_V\\rVert^2_F', '\\lvert G-1\\rvert \\propto  H')
    """
    barred = re.sub(r"\|([^|]+)\|", _bars, formula)
    raised = _raise_exponents(re.sub(r"‖([^‖]+)‖", r"\\lVert \1\\rVert", barred))
    for symbol, command in COMMANDS.items():
        raised = raised.replace(symbol, command)
    indexed = re.sub(r"_\(([a-z](?:,[a-z])*)\)", r"_{\1}", raised)
    return re.sub(r"_([A-Za-z]+,[a-z]+|[A-Za-z]{2,})", r"_{\\text{\1}}", indexed).strip()


def _bars(match: re.Match[str]) -> str:
    kind = "V" if VECTOR.match(match[1]) else "v"
    return rf"\l{kind}ert {match[1]}\r{kind}ert"


def _raise_exponents(formula: str) -> str:
    """Return a formula with exponents in braces; the number of a layer keeps its brackets.

    >>> _raise_exponents("(a)^(1/(L-1)) x^(l)")
    '(a)^{1/(L-1)} x^{(l)}'
    """
    head, caret, tail = formula.partition("^(")
    if not caret:
        return formula
    depth = 1
    for place, sign in enumerate(tail):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            inside = f"({tail[:place]})" if tail.startswith(("l", "ℓ")) else tail[:place]
            return f"{head}^{{{inside}}}{_raise_exponents(tail[place + 1 :])}"
    return formula
