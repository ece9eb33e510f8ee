"""Formulas of mixed and of plain models over rows with every kind of column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.mixed.model import fit
from analysis.tidy.formula import model_matrices
from tests.fuzz import mutation
from tests.fuzz.trial import Case

COLUMNS = ("y", "x", "z", "g", "h", "f", "b", "constant", "gap", "huge", "none", "odd name")
CALLS = ("log({})", "I({}^2)", "I({} + 1)", "scale({})", "poly({}, 2)", "bs({}, 4)", "ns({}, 3)",
         "C({}, Sum)", "C({})", "offset({})", "exp({})", "sqrt({})", "np.log({})",
         "factor({})", "offset({} + {})", "poly({}, 99)", "bs({}, 1)", "I({})", "abs({})",
         "-{}", "{}:{}", "{}*{}", "{}/{}", "({})", "0", "1", "-1", "{}^2")  # fmt: skip
BARS = ("(1 | {})", "(1 + {} | {})", "(1 + {} || {})", "(0 + {} | {})", "({} | {})", "(1 | {}/{})",
        "(1 | {}:{})", "(1 + {} + {} | {})", "(0 | {})", "(1 || {})")  # fmt: skip

#: Marks that a formula's grammar hangs on.
MARKS = tuple("()[]{}|~+-*/:^'\"\\,.#`;@=\n")


def rows(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows with good and bad columns, now and then hardly any."""
    n = int(rng.choice([0, 1, 2, 6, 40, 80], p=[0.01, 0.01, 0.02, 0.06, 0.5, 0.4]))
    x, g = rng.normal(size=n), rng.integers(0, 8, n)
    return pd.DataFrame(
        {
            "y": x + rng.normal(size=8)[g] + rng.normal(size=n),
            "x": x,
            "z": rng.normal(size=n),
            "g": [f"g{one}" for one in g],
            "h": rng.integers(0, 5, n),
            "f": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["a", "b", "c", "d"]),
            "b": rng.random(n) < 0.5,
            "constant": 1.0,
            "gap": np.where(rng.random(n) < 0.1, np.nan, x),
            "huge": x * 1e200,
            "none": None,
            "odd name": np.where(rng.random(n) < 0.1, np.inf, x),
        }
    )


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a formula to be fitted; nothing is written."""
    del folder
    frame, formula = rows(rng), _formula(rng)
    way = rng.random()
    if way < 0.2:
        formula = mutation.text(rng, formula, most=2)
    elif way < 0.5:
        formula = _marks_moved(rng, formula)
    is_mixed, missing = rng.random() < 0.8, str(rng.choice(["refuse", "drop"]))
    reml, aliased = bool(rng.random() < 0.5), str(rng.choice(["refuse", "drop"]))

    def act() -> None:
        if is_mixed:
            fit(formula, frame, reml=reml, missing=missing, aliased=aliased).tidy()
        else:
            model_matrices(frame, formula)

    options = f"reml={reml}, missing={missing!r}, aliased={aliased!r}"
    name = f"fit(..., {options}).tidy()" if is_mixed else "model_matrices"
    return Case(f"{name}: {formula!r} over {len(frame)} rows", act)


def _formula(rng: np.random.Generator) -> str:
    response = "y" if rng.random() < 0.8 else _filled(rng, str(rng.choice(("log({})", "{}"))))
    terms = [_term(rng) for _ in range(int(rng.integers(0, 4)))]
    bars = [_filled(rng, str(rng.choice(BARS))) for _ in range(int(rng.integers(0, 3)))]
    joined = str(rng.choice([" + ", " * ", " - ", ":"], p=[0.85, 0.05, 0.05, 0.05]))
    return f"{response} ~ {joined.join(terms + bars) or '1'}"


def _marks_moved(rng: np.random.Generator, formula: str) -> str:
    """Return a formula in which some marks of the language are another, lost, doubled or moved."""
    signs = list(formula)
    for _ in range(int(rng.integers(1, 4))):
        marked = [place for place, sign in enumerate(signs) if sign in MARKS]
        place = int(rng.choice(marked)) if marked and rng.random() < 0.7 else len(signs) - 1
        taken = signs.pop(place)
        other = (str(rng.choice(MARKS)), taken)[int(rng.integers(2))]
        if rng.random() < 0.7:
            signs.insert(place if rng.random() < 0.5 else int(rng.integers(len(signs) + 1)), other)
    return "".join(signs)


def _term(rng: np.random.Generator) -> str:
    return _filled(rng, "{}" if rng.random() < 0.6 else str(rng.choice(CALLS)))


def _filled(rng: np.random.Generator, form: str) -> str:
    weights = np.array([2, 8, 6, 8, 6, 4, 2, 1, 1, 1, 1, 1], dtype=float)
    names = rng.choice(COLUMNS, form.count("{}"), p=weights / weights.sum())
    return form.format(*(f"Q('{name}')" if " " in name else name for name in names))
