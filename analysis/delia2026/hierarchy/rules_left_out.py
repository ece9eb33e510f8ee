"""The rules of claim 20 without each lab, and without each suite of a lab that has several.

Their cut-offs hold for sets that lack a suite: such sets were among the worlds of validation, see
`analysis.delia2026.tournament.calibration`.
"""

from __future__ import annotations

import pandas as pd

from analysis.delia2026.hierarchy.sensitivity import subsets
from analysis.delia2026.sign.calibrated import Rules
from analysis.tidy import prose

ANSWERS = {True: "holds", False: "its reverse holds", None: "undecided"}


def leave_out(models: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Return what the rules say with all models, and with one lab or suite left out.

    Parameters
    ----------
    models
        One row per model, as for `Rules.judge`.
    rules
        The rules in force.

    Returns
    -------
    `unit` (all, lab or suite), `level` (what is left out), `statement`, `n_models`, `p_yes`,
    `p_no` (p of the statement and of its reverse) and `answer`.
    """
    return pd.DataFrame(
        [
            {
                "unit": unit,
                "level": level,
                "statement": statement,
                "n_models": len(some),
                "p_yes": found.p_yes,
                "p_no": found.p_no,
                "answer": ANSWERS[found.holds],
            }
            for unit, level, some in subsets(models)
            for statement, found in rules.judge(some).items()
        ]
    )


def said(table: pd.DataFrame) -> str:
    """Return in two sentences which answers change, and the smallest p of a statement."""
    full = table[table["unit"] == "all"].set_index("statement")["answer"]
    parts = table[table["unit"] != "all"]
    changed = parts[parts["answer"] != parts["statement"].map(full)]
    least = parts.sort_values("p_yes", kind="stable").iloc[0]
    answers = (
        f"all {prose.count(len(parts))} answers stay as they are "
        f"({parts['level'].nunique()} omissions, {parts['statement'].nunique()} statements). "
        "This is not evidence of robustness: a rule that hardly ever says yes hardly ever "
        "changes its answer"
        if changed.empty
        else f"of {prose.count(len(parts))} answers of the rules, these change: "
        + prose.listing(
            [
                f"{row['statement']} without {row['level']} ({row['answer']})"
                for row in changed.to_dict("records")
            ]
        )
    )
    return (
        f"We left out one lab, or one suite of a lab that has several: {answers}. "
        f"The smallest p of a statement is {prose.number(float(least['p_yes']))} "
        f"({least['statement']}, without {least['level']})."
    )
