"""Claims about the error of the L* formula: within one heritage, naive, across heritages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isnan

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.transition import noise as l_star_noise
from analysis.delia2026.transition import published as published_l_star
from analysis.delia2026.transition.published import CHANGES, FIGURE, FITTED
from analysis.store import Store

WITHIN = "the formula's error within one heritage is 4.8 %"
ACROSS = "the formula's error across heritages is 15.7 %"

FOUR_BIT = "H4_v2_extended_20260106_012606.json"

OF_SCRIPT = "script 20's models"
WITH_FOUR_BIT = "EleutherAI's models, those of script 20 and those with four-bit weights,"

#: Parts of claim 39.
QUARTER = Label("quarter", "half the depth errs by 25 %")
SMALLER = Label("smaller", "the formula's error is the smaller")

#: What an error is divided by, and its name. Only the second is a mean absolute percentage error.
DIVISORS = {"n_layers": Label("depth", "L"), "estimate": Label("layer", "L*")}


@claim(38, Line(WITHIN, "error", 0.048))
def within_heritage(store: Store) -> Sequence[Check]:
    """Check claim 38: within one heritage the error is 4.8 %; over which models is not said."""
    sets = published_l_star.readings(store)
    fitted = sets[FITTED]
    searched = _sets_that_print(fitted, OF_SCRIPT, quoted="4.8")
    meant = {
        (
            Label("eleuther_depth", "EleutherAI's models of script 20, over L"),
            "n_layers",
        ): _eleuther(fitted),
        (
            Label("eleuther_layer", "EleutherAI's models of script 20, over L*"),
            "estimate",
        ): _eleuther(fitted),
        (Label("script_depth", "all models of script 20, over L"), "n_layers"): fitted,
        (Label("script_layer", "all models of script 20, over L*"), "estimate"): fitted,
        (Label("figure_depth", "EleutherAI's models of Fig. 5, over L"), "n_layers"): _eleuther(
            sets[FIGURE]
        ),
        (
            Label("notebook_depth", "EleutherAI's models of notebook 17, over L"),
            "n_layers",
        ): _eleuther(sets[CHANGES]),
    }
    checks = [
        evidence.descriptive(
            _printed_check(WITHIN, condition, models, over=over, quoted="4.8", note=searched)
        )
        for (condition, over), models in meant.items()
    ]
    return [_unnamed_check(WITHIN), *checks, *_four_bit(store, WITHIN, _eleuther(fitted))]


@claim(39, Line(QUARTER, "error", 0.25), Line(SMALLER, "difference", 0))
def naive(store: Store) -> Sequence[Check]:
    """Check claim 39: L / 2 errs by 25 %, the formula by less; over which models is not said."""
    sets = published_l_star.readings(store)
    searched = _sets_that_print(sets[FITTED], OF_SCRIPT, quoted="25", prediction="half_depth")
    meant = {
        Label("script", "all models of script 20"): sets[FITTED],
        Label("eleuther", "EleutherAI's models of script 20"): _eleuther(sets[FITTED]),
        FIGURE: sets[FIGURE],
        CHANGES: sets[CHANGES],
    }
    readings = [
        (
            name + ", over " + DIVISORS[over],
            models,
            over,
            searched if models is sets[FITTED] else "",
        )
        for name, models in meant.items()
        for over in DIVISORS
    ]
    return [
        _unnamed_check(QUARTER),
        *(evidence.descriptive(_naive_error(*reading)) for reading in readings),
        _unnamed_check(SMALLER),
        *(evidence.descriptive(_smaller(*reading[:3])) for reading in readings),
    ]


@claim(40, Line(ACROSS, "error", 0.157))
def across_heritage(store: Store) -> Sequence[Check]:
    """Check claim 40: across heritages the error is 15.7 %."""
    sets = published_l_star.readings(store)
    figure = sets[FIGURE]
    is_fitted = figure["model_id"].isin(sets[FITTED]["model_id"])
    meant = {
        (FIGURE + Label("layer", ", over L* as the name says"), "estimate"): figure,
        (
            Label("figure_others", "Fig. 5, the models of other labs than EleutherAI, over L"),
            "n_layers",
        ): figure[figure["lab"] != "EleutherAI"],
        (
            Label("figure_new", "Fig. 5, the models that script 20 does not have, over L"),
            "n_layers",
        ): figure[~is_fitted],
        (CHANGES + Label("depth", ", over L"), "n_layers"): sets[CHANGES],
    }
    return [
        _chance_check(
            ACROSS, FIGURE + Label("depth", ", over L"), figure, published_l_star.chance(store)
        ),
        *(
            _printed_check(ACROSS, condition, models, over=over, quoted="15.7")
            for (condition, over), models in meant.items()
        ),
        *_constant_check(store, ACROSS),
    ]


def _unnamed_check(part: str) -> Check:
    """Return the stated reading, which cannot be checked: nobody names the models it is about."""
    return evidence.missing(
        part,
        Label("meant", "the models of one heritage that the paper means"),
        "neither the paper nor a file names the models that the error is a mean over; sets that "
        "could be meant are shown, not counted",
    )


def _eleuther(models: pd.DataFrame) -> pd.DataFrame:
    return models[models["lab"] == "EleutherAI"]


def _printed_check(
    part: str, condition: str, models: pd.DataFrame, *, over: str, quoted: str, note: str = ""
) -> Check:
    result = published_l_star.mean_error(published_l_star.misses(models, "formula", over))
    return evidence.check(
        part,
        condition,
        _prints(result["estimate"], quoted),
        models,
        **result,
        method=f"mean of |formula - L*| over {DIVISORS[over]}, t interval over models",
        note=note,
        measure="error",
    )


def _prints(error: float, quoted: str) -> bool | None:
    """Tell whether an error prints as quoted, in percent; None where an L* of 0 leaves none."""
    return None if isnan(error) else evidence.prints_as(100 * error, quoted)


def _sets_that_print(
    models: pd.DataFrame, whose: str, *, quoted: str, prediction: str = "formula"
) -> str:
    """Tell which sets of the models have an error that prints as quoted, by either measure."""
    names = models["model_id"].tolist()
    sets = [chosen for n in range(1, len(names) + 1) for chosen in combinations(names, n)]
    misses = {
        over: published_l_star.misses(models.set_index("model_id"), prediction, over)
        for over in DIVISORS
    }
    hits = [
        f"{', '.join(chosen)} over {DIVISORS[over]}"
        for chosen in sets
        for over, missed in misses.items()
        if evidence.prints_as(100 * float(missed[list(chosen)].mean()), quoted)
    ]
    if not hits:
        return f"None of the {len(sets)} sets of {whose} gives {quoted} %."
    return f"Of the {len(sets)} sets of {whose} these give {quoted} %: {'; '.join(hits)}."


def _naive_error(condition: str, models: pd.DataFrame, over: str, note: str) -> Check:
    result = published_l_star.mean_error(published_l_star.misses(models, "half_depth", over))
    return evidence.check(
        QUARTER,
        condition,
        _prints(result["estimate"], "25"),
        models,
        **result,
        method=f"mean of |L/2 - L*| over {DIVISORS[over]}, t interval over models",
        note=note,
        measure="error",
    )


def _smaller(condition: str, models: pd.DataFrame, over: str) -> Check:
    by_formula, by_half = (
        published_l_star.misses(models, name, over) for name in ("formula", "half_depth")
    )
    result = published_l_star.mean_error(by_formula - by_half)
    return evidence.check(
        SMALLER,
        condition,
        decision.below(result["conf_low"], result["conf_high"], 0)
        if "conf_low" in result
        else None,
        models,
        **result,
        kind="difference",
        method="mean difference of the two errors over models, t interval, in sample",
        note=f"{100 * float(by_formula.mean()):.1f} % against {100 * float(by_half.mean()):.1f} %.",
        measure="difference",
    )


def _chance_check(part: str, condition: str, models: pd.DataFrame, draws: pd.DataFrame) -> Check:
    """Return the check of the published reading, with how often noise errs as little."""
    result = published_l_star.mean_error(published_l_star.misses(models, "formula", "n_layers"))
    p = l_star_noise.share_as_small(draws, prediction="formula", observed=result["estimate"])
    by_noise = draws.loc[draws["prediction"] == "formula", "error_over_depth"]
    return evidence.check(
        part,
        condition,
        _prints(result["estimate"], "15.7"),
        models,
        **result,
        p_value=p,
        method="mean of |formula - L*| / L, t interval over models; p against L* read off noise",
        note=f"An L* read off noise errs by {100 * float(by_noise.mean()):.1f} % on average; "
        "no file holds the values behind the figure.",
        measure="error",
    )


def _four_bit(store: Store, part: str, others: pd.DataFrame) -> list[Check]:
    """Return the error on the four-bit models, if the raw files have been imported."""
    table = store.query(
        """
        SELECT v.model_id, m.lab, m.suite, m.n_layers, m.n_heads, v.value AS estimate, v.file,
               v.caveats
          FROM raw_value AS v
          JOIN raw.model AS m USING (model_id)
         WHERE v.metric = 'l_star_empirical'
           AND v.file = $file
           AND m.lab = 'EleutherAI'
         ORDER BY v.model_id
        """,
        file=FOUR_BIT,
    )
    if table.empty:
        return []
    rows = published_l_star.add_predictions(table)
    return [
        evidence.check(
            part,
            Label("four_bit", "raw files: EleutherAI's models with four-bit weights, over L"),
            None,
            rows,
            **published_l_star.mean_error(published_l_star.misses(rows, "formula", "n_layers")),
            method="mean of |formula - L*| / L, t interval over models",
            decides=False,
            note="The weights were read as packed bytes: shown, not counted. "
            f"{_sets_that_print(pd.concat([others, rows]), WITH_FOUR_BIT, quoted='4.8')}",
            measure="error",
        )
    ]


def _constant_check(store: Store, part: str) -> list[Check]:
    """Return the 15.7 that notebook 17 compares itself with, if the raw files are there."""
    rows = store.query(
        """
        SELECT coalesce(v.model_id, '') AS model_id, '' AS suite, v.value, v.file, v.caveats
          FROM raw_value AS v
         WHERE v.file = $file
           AND v.path = '$.comparison_v2_argmax'
        """,
        file=published_l_star.SIGN_CHANGES,
    )
    if rows.empty:
        return []
    return [
        evidence.check(
            part,
            Label("typed_in", "raw files: the number notebook 17 compares itself with"),
            None,
            rows,
            estimate=float(rows["value"].iloc[0]) / 100,
            n_models=0,
            n_suites=0,
            method="as typed in",
            decides=False,
            note="Typed in, not measured: shown, not counted.",
        )
    ]
