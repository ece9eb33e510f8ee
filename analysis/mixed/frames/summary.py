"""A fitted mixed model as a page of text, laid out as lme4's summary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.mixed.frames import guards, tables
from analysis.mixed.inference.fitted import Fitted, Tested
from analysis.mixed.inference.fixed_effects import NAMES

#: Width to which notes are wrapped [characters].
WIDTH = 88


class Page(str):
    """Text that an interpreter shows as it reads, with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text itself."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text as a notebook shows it, its columns aligned."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def html(estimates: pd.DataFrame, lines: Sequence[str]) -> str:
    """Return the head of a page and a table of estimates as HTML."""
    from html import escape

    shown = ["effect", "group", "term", "estimate", "std_error", "df", "p_value", "note"]
    table = estimates[shown].to_html(index=False, float_format="{:.4g}".format, na_rep="")
    return f"<p>{'<br>'.join(escape(each) for each in lines)}</p>\n{table}"


def summary(model: Fitted, df: str, note: str) -> Page:
    """Return the fit as text: formula, size, criteria, variances, fixed effects and notes."""
    fixed = tables.tidy(model, ("fixed",), df, 0.95)
    tests = pd.DataFrame(
        {
            "": fixed["term"],
            "Estimate": _digits(fixed["estimate"]),
            "Std.Error": _digits(fixed["std_error"]),
            "df": [f"{each:.1f}" for each in fixed["df"]],
            "z" if df == "wald" else "t": [f"{each:.2f}" for each in fixed["statistic"]],
            "p": [_p(each) for each in fixed["p_value"]],
        }
    )
    notes = [note, *(f"Reference level: {each}." for each in model.design.references)]
    notes += list(dict.fromkeys(guards.warnings(model, df)["note"]))
    notes += _df_warning(fixed["note"], notes)
    lines = head(model)
    return Page(
        "\n".join(
            [
                *lines,
                "",
                "Random effects:",
                *_columns(_variances(model), left=2),
                "",
                f"Fixed effects ({NAMES[df]}):",
                *_columns(tests, left=1),
                *(["", "Notes:"] if any(notes) else []),
                *(line for each in notes if each for line in _wrap(each)),
            ]
        )
    )


def summary_of_sign(model: Tested, fixed: pd.DataFrame, spread: pd.DataFrame) -> Page:
    """Return the fit of a binary response as text, from its fixed and its variance parameters."""
    tests = pd.DataFrame(
        {
            "": fixed["term"],
            "Estimate": _digits(fixed["estimate"]),
            "Std.Error": _digits(fixed["std_error"]),
            "z": [f"{each:.2f}" for each in fixed["statistic"]],
            "p": [_p(each) for each in fixed["p_value"]],
        }
    )
    random = spread[["group", "term"]].set_axis(["Group", "Term"], axis=1)
    random = random.assign(Estimate=_digits(spread["estimate"]))
    glance = model.glance().iloc[0]
    groups = ", ".join(f"{block.group} {len(block.levels)}" for block in model.design.blocks)
    notes = [f"Reference level: {each}." for each in model.design.references]
    notes += list(dict.fromkeys(model.warnings()["note"]))
    return Page(
        "\n".join(
            [
                "Logistic mixed model fitted by the Laplace approximation",
                f"Formula: {model.formula.text}",
                f"Response: {model.statistics.response}; rows: {model.statistics.n_obs}; "
                f"levels: {groups}",
                f"-2 log-likelihood: {model.criterion:.2f}   AIC: {glance['aic']:.2f}   "
                f"BIC: {glance['bic']:.2f}",
                "",
                "Random effects (standard deviations and correlations of log odds):",
                *_columns(random, left=2),
                "",
                f"Fixed effects (log odds, {NAMES['wald']}):",
                *_columns(tests, left=1),
                *(["", "Notes:"] if notes else []),
                *(line for each in notes for line in _wrap(each)),
            ]
        )
    )


def short(model: Fitted) -> str:
    """Return the fit in a few lines, without tests."""
    values = pd.DataFrame([_digits(pd.Series(model.coefficients))], columns=list(model.terms))
    return "\n".join(
        [
            *head(model),
            "Random effects:",
            *_columns(_variances(model), left=2),
            "Fixed effects:",
            *_columns(values, left=0),
        ]
    )


def head(model: Fitted) -> list[str]:
    """Return what a fit is, in lines: method, formula, size and criteria."""
    solution, statistics = model.solution, model.statistics
    groups = ", ".join(f"{block.group} {len(block.levels)}" for block in model.design.blocks)
    likelihood = "REML" if model.reml else "maximum likelihood"
    weights = f"; weights: {model.weights}" if model.weights else ""
    aic = solution.criterion + 2 * model.n_parameters
    bic = solution.criterion + np.log(statistics.n_obs) * model.n_parameters
    return [
        f"Linear mixed model fitted by {likelihood}",
        f"Formula: {model.formula.text}",
        f"Response: {statistics.response}; rows: {statistics.n_obs}; levels: {groups}{weights}",
        f"-2 log-likelihood{' (REML)' if model.reml else ''}: {solution.criterion:.2f}   "
        f"AIC: {aic:.2f}   BIC: {bic:.2f}",
    ]


def _variances(model: Fitted) -> pd.DataFrame:
    rows = []
    for block, covariance in model.inference.covariances:
        deviations = np.sqrt(np.diag(covariance))
        for place, column in enumerate(block.columns):
            correlations = [
                f"{covariance[place, k] / (deviations[place] * deviations[k]):.2f}"
                if deviations[place] * deviations[k] > 0
                else "-"
                for k in range(place)
                if (place, k) in block.positions
            ]
            group = block.group if place == 0 else ""
            variance = float(covariance[place, place])
            rows.append((group, column.name, variance, " ".join(correlations)))
    rows.append(("Residual", "", model.solution.variance, ""))
    frame = pd.DataFrame(rows, columns=["Group", "Term", "Variance", "Corr"])
    frame.insert(3, "Std.Dev.", _digits(np.sqrt(frame["Variance"])))
    frame["Variance"] = _digits(frame["Variance"])
    return frame if frame["Corr"].any() else frame.drop(columns="Corr")


def _digits(values: pd.Series) -> list[str]:
    """Return numbers with as many decimals as give the largest five digits, four at least."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if len(finite) else 1.0
    if largest == 0 or not 1e-3 <= largest < 1e7:
        return [f"{each:.4g}" for each in values]
    decimals = max(0, 4 - int(np.floor(np.log10(largest))))
    return [f"{each:.{decimals}f}" for each in values]


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 1e-4 else f"{value:.4f}"


def _columns(frame: pd.DataFrame, left: int) -> list[str]:
    """Return a frame of text as lines, its first columns to the left, the others to the right."""
    lines = [list(map(str, frame.columns)), *frame.astype(str).to_numpy().tolist()]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return [
        " "
        + "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _df_warning(notes: pd.Series, known: list[str]) -> list[str]:
    """Return the warning of few degrees of freedom where a term has it and nothing else said it."""
    few = [each for each in notes if "degrees of freedom" in each]
    return [few[0][few[0].index("Fewer than") :]] if few and "Fewer than" in few[0] else []


def _wrap(note: str) -> list[str]:
    import textwrap

    return textwrap.wrap(note, WIDTH, initial_indent=" - ", subsequent_indent="   ")
