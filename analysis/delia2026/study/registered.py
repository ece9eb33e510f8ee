"""The registered outcomes of the controlled study, each with its criterion and its verdict.

What stands here was written before a network of the study was trained; the commit that holds it
is the registration. Hits and misses are reported alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.delia2026.study import horizons, labs, ladder, screening, shares, signs, slope
from analysis.delia2026.study.verdict import HELD, MISSED, UNTOLD
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError

SHAPES = ["l3d64", "l12d64", "l3d128", "l12d128"]

#: Low level of each factor of the screening.
LOW = pd.Series({
    "norm_position": "pre", "embedding_scale": "x1", "embedding_norm": "without",
    "learning_rate": "low", "decay_turns": "low", "inner": "small", "embedding": "small",
    "residual": "none", "tied": "untied", "beta2": "b95", "warm_up": "short",
    "z_loss": "without", "embedding_decay": "on", "clip": "one", "depth": "l3", "text": "kjv",
})  # fmt: skip

#: Chance that one or more cells are called negative wrongly.
SIGN_LEVEL = 0.01

#: Level of a single test.
ALPHA = 0.05

#: Recipes that two texts must share for their order to be compared.
_FEWEST_RECIPES = 5

#: What the numbers of a statement may be; `outcomes` says what each is.
NUMBERS = (
    "estimate", "conf_low", "conf_high", "null_value", "p_value", "smallest_p", "n_groups",
)  # fmt: skip

#: What is written of a statement, whatever comes out.
STATED = ("claim_id", "statement", "rule", "predicted")

#: The numbers of a statement, and whether it holds.
Outcome = tuple[dict[str, float], bool]

#: What must be reached, and by how much, for each statement.
HALF, MECHANISM, PLANNED_WIDTH, LIKE_TEXTS = 0.5, 0.7, 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Prediction:
    """A registered statement: what it says, what makes it hold, and how it is computed.

    ``predicted`` is whether it was expected to hold; ``compute`` returns the numbers and whether it
    does; ``remarks`` is what there is to say of its row, by horizon.
    """

    claim_id: str
    statement: str
    rule: str
    predicted: bool
    compute: Callable[[Store, str, np.random.Generator], Outcome]
    remarks: Mapping[str, str] = field(default_factory=dict)


def outcomes(store: Store, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return every registered statement at both horizons, with its verdict.

    Parameters
    ----------
    store
        With the study's tables; designs that are not there yet cannot be told.
    rng
        Draws the bootstrap of the shares, of each statement apart: one is not moved by the runs of
        another.

    Returns
    -------
    One row per statement and horizon: `claim_id`, `statement`, `rule`, `predicted`, `condition`
    (the horizon), `estimate`, `conf_low`, `conf_high`, `null_value` (what it is
    compared with), `p_value` and `smallest_p` (the least that the test could return) where the
    rule is on p, `n_groups` (recipes or births compared), `holds`, `verdict` (held,
    missed or cannot be told), `note` (why it cannot be told, or the remark).
    """
    return glossary.table(
        {
            **{name: getattr(prediction, name) for name in STATED},
            "condition": horizon,
            **_judge(prediction, store, horizon, stream),
        }
        for prediction, stream in zip(PREDICTIONS, rng.spawn(len(PREDICTIONS)), strict=True)
        for horizon in horizons.HORIZONS
    )


def _judge(
    prediction: Prediction, store: Store, horizon: str, rng: np.random.Generator
) -> Mapping[str, object]:
    empty = dict.fromkeys(NUMBERS, np.nan)
    try:
        numbers, holds = prediction.compute(store, horizon, rng)
    except AnalysisError as error:
        return {**empty, "holds": None, "verdict": UNTOLD, "note": error.problem}
    verdict = HELD if holds else MISSED
    note = prediction.remarks.get(horizon, "")
    return {**empty, **numbers, "holds": holds, "verdict": verdict, "note": note}


def documented(store: Store, horizon: str) -> pd.DataFrame:
    """Return the runs of the documented recipes in all four shapes, on the first text."""
    runs = horizons.responses(store, "packages", horizon=horizon)
    return runs[runs["block"] == "documented"]


def fleet_shares(
    store: Store,
    horizon: str,
    response: str,
    rng: np.random.Generator,
    contrasts: Mapping[str, np.ndarray] = shares.GEOMETRY,
) -> pd.DataFrame:
    """Return the variance shares of recipe, geometry, their interaction and seed."""
    runs = documented(store, horizon)
    values, _ = shares.cell_table(runs, response, "recipe", "geometry", SHAPES)
    return shares.variance_shares(values, "recipe", contrasts, rng=rng)


def inherited_shares(store: Store, response: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return the variance shares of birth and upbringing among networks that were trained on.

    They are compared after equal steps alone: they start near the loss that others end at.
    """
    runs = horizons.responses(store, "inheritance")
    children = runs[runs["parent_id"].notna() & (runs.get("upbringing") != "as_muon")]
    levels = sorted(children["upbringing"].unique())
    values, _ = shares.cell_table(children, response, "birth", "upbringing", levels)
    contrasts = shares.all_contrasts("upbringing", len(levels))
    return shares.variance_shares(values, "birth", contrasts, rng=rng)


def _joint(table: pd.DataFrame, term: str) -> dict[str, float]:
    rows = table[(table["term"] == term) & (table["method"] == "F inversion, joint")]
    by_name = {name: float(rows[name].iloc[0]) for name in ("estimate", "conf_low", "conf_high")}
    return {**by_name, "n_groups": float(rows["df"].iloc[0]) + 1}


def _number(table: pd.DataFrame, term: str, column: str) -> float:
    return float(table[column].to_dict()[term])


def _dominates(response: str) -> Callable[..., Outcome]:
    def compute(store: Store, horizon: str, rng: np.random.Generator) -> Outcome:
        table = fleet_shares(store, horizon, response, rng)
        recipe, geometry = _joint(table, "recipe"), _joint(table, "geometry")
        holds = recipe["conf_low"] > HALF and recipe["conf_low"] > geometry["conf_high"]
        return {**recipe, "null_value": geometry["conf_high"]}, holds

    return compute


def _recipe_below_half(store: Store, horizon: str, rng: np.random.Generator) -> Outcome:
    table = fleet_shares(store, horizon, "excess", rng)
    recipe, geometry = _joint(table, "recipe"), _joint(table, "geometry")
    smaller = geometry["estimate"] > recipe["estimate"]
    return {**recipe, "null_value": geometry["estimate"]}, recipe["conf_high"] < HALF or smaller


def _lab_shares(store: Store, horizon: str) -> pd.DataFrame:
    means = documented(store, horizon).groupby(["recipe", "lab"])["excess"].mean().reset_index()
    return labs.lab_share(means, "excess").set_index("term")


def _recipe_over_lab(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    table = _lab_shares(store, horizon)
    within, lab = (_number(table, term, "estimate") for term in ("recipe within lab", "lab"))
    numbers = {"estimate": within, "null_value": lab, "n_groups": _number(table, "lab", "n_obs")}
    return numbers, within > lab


def _lab_beyond_chance(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    table = _lab_shares(store, horizon)
    names = ("estimate", "null_value", "p_value", "smallest_p")
    numbers = {name: _number(table, "lab", name) for name in names}
    numbers["n_groups"] = _number(table, "lab", "n_obs")
    return numbers, numbers["p_value"] < ALPHA


def _some_negative(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    runs = documented(store, horizon)
    tables = [signs.negative_cells(runs, name) for name in ("excess", "last_log_gain")]
    negative = {
        str(level)
        for table in tables
        for level in table.loc[table["p_adjusted"] < SIGN_LEVEL / 2, "level"]
    }
    return {"estimate": float(len(negative)), "null_value": 2.0}, len(negative) > 1


def _other_ingredients(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    screened = horizons.responses(store, "ingredients", horizon=horizon)
    others = horizons.responses(store, "ingredients_check", horizon=horizon)
    screened, others = (runs.dropna(subset=["excess"]) for runs in (screened, others))
    low = levels_of(screened)
    effects = screening.main_effects(screened, "excess", low)
    terms = screening.largest_terms(effects, 5)
    row = screening.foretold(screened, others, "excess", low, terms).iloc[0]
    numbers = {"estimate": float(row["r_squared"]), "null_value": MECHANISM}
    return numbers, bool(row["r_squared"] >= MECHANISM)


def levels_of(screened: pd.DataFrame) -> pd.Series:
    """Return the low level of each factor of the screening that is a column of its own."""
    return LOW.rename(index=lambda name: f"{name}_level" if f"{name}_level" in screened else name)


def _rate_makes_slope(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    runs = horizons.responses(store, "depth_and_rate", horizon=horizon)
    table = slope.slopes(runs, "penultimate_log_gain").set_index("term")
    ends = ("estimate", "conf_low", "conf_high")
    numbers = {name: _number(table, "rate's part", name) for name in ends}
    holds = numbers["estimate"] <= HALF * slope.PUBLISHED_SLOPE
    return {**numbers, "null_value": slope.PUBLISHED_SLOPE}, holds


def _same_on_both_texts(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    runs = horizons.responses(store, "packages", horizon=horizon)
    runs = runs[(runs["geometry"] == "l3d64") & (runs["heads"] == "w16")]
    runs = runs[runs["status"] == "documented"].dropna(subset=["excess"])
    means = runs.pivot_table(index="recipe", columns="text", values="excess", aggfunc="mean")
    pairs = means.reindex(columns=["kjv", "jargon"]).dropna()
    if len(pairs) < _FEWEST_RECIPES:
        raise DesignError(
            f"Texts must share {_FEWEST_RECIPES} recipes to be compared; they share {len(pairs)}.",
            "Train the runs that are missing.",
        )
    value = float(pairs["kjv"].corr(pairs["jargon"], method="spearman"))
    numbers = {"estimate": value, "null_value": LIKE_TEXTS, "n_groups": float(len(pairs))}
    return numbers, value >= LIKE_TEXTS


def _robust(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    runs = horizons.responses(store, "threats", horizon=horizon)
    table = runs.pivot_table(index="recipe", columns="check", values="excess", aggfunc="mean")
    checks = [name for name in table.columns if name != "plain"]
    if "plain" not in table.columns or not checks:
        raise DesignError(
            "A check must stand beside the plain run; it does not.",
            "Train the runs that are missing.",
        )
    shift = float(table[checks].sub(table["plain"], axis=0).abs().max().max())
    chance = shares.sources(
        shares.cell_table(documented(store, horizon), "excess", "recipe", "geometry", SHAPES)[0],
        "recipe",
        shares.GEOMETRY,
    )[-1]
    bound = 2 * float((chance.sum_of_squares / chance.df) ** 0.5)
    return {"estimate": shift, "null_value": bound}, shift < bound


def _birth_share(store: Store, _horizon: str, rng: np.random.Generator) -> Outcome:
    table = inherited_shares(store, "excess", rng)
    birth, upbringing = _joint(table, "birth"), _joint(table, "upbringing")
    holds = birth["conf_low"] > upbringing["conf_high"]
    return {**birth, "null_value": upbringing["conf_high"]}, holds


def _long_enough(store: Store, horizon: str, _rng: np.random.Generator) -> Outcome:
    table = ladder.lengths(horizons.responses(store, "ladder", horizon=horizon))
    longest = table.iloc[-1]
    numbers = {"estimate": float(longest["statistic"]), "null_value": 2.0}
    return numbers, bool(table["holds"].any())


def _planned_width(store: Store, horizon: str, rng: np.random.Generator) -> Outcome:
    table = fleet_shares(store, horizon, "excess", rng)
    rows = table[table["method"] == "parametric bootstrap"]
    half = float(((rows["conf_high"] - rows["conf_low"]) / 2).max())
    n_recipes = _joint(table, "recipe")["n_groups"]
    numbers = {"estimate": half, "null_value": PLANNED_WIDTH, "n_groups": n_recipes}
    return numbers, half <= PLANNED_WIDTH


PREDICTIONS = (
    Prediction(
        "S1",
        "The recipe decides the excess over equal writes.",
        "Lower limit of recipe's share above 0.5 and above the upper limit of geometry's.",
        True,
        _dominates("excess"),
    ),
    Prediction(
        "S2",
        "The recipe decides the gain of the last block.",
        "Lower limit of recipe's share above 0.5 and above the upper limit of geometry's.",
        True,
        _dominates("last_log_gain"),
    ),
    Prediction(
        "S3",
        "Geometry is at least as strong as the recipe in the excess.",
        "Upper limit of recipe's share below 0.5, or geometry's share the larger.",
        False,
        _recipe_below_half,
    ),
    Prediction(
        "S4",
        "Recipes of one lab differ more than labs do.",
        "Share of recipe within lab above the share of lab, between recipes.",
        True,
        _recipe_over_lab,
    ),
    Prediction(
        "S5",
        "The maker's name explains more than another grouping of the same recipes.",
        "Exact permutation of labels, p below 0.05.",
        False,
        _lab_beyond_chance,
        dict.fromkeys(
            horizons.HORIZONS,
            "As registered, every recipe is exchanged. Twins of others are not independent: the "
            "section on labs has p where twins are exchanged together.",
        ),
    ),
    Prediction(
        "S6",
        "Some recipes make the stream shrink: the excess or the last block is negative.",
        "Two cells or more are negative, family-wise error 0.01 by Holm over cells and responses.",
        True,
        _some_negative,
    ),
    Prediction(
        "S7",
        "The sum of five ingredients foretells cells that were not screened.",
        "R squared of the sum of the five largest main effects at least 0.7 out of sample.",
        False,
        _other_ingredients,
    ),
    Prediction(
        "S8",
        "The published law of depth is a law of the learning rate.",
        "The part of the slope on ln depth that the falling rate makes is negative and at least "
        "half of the published slope.",
        False,
        _rate_makes_slope,
    ),
    Prediction(
        "S9",
        "The stream follows birth, not upbringing.",
        "Lower limit of birth's share above the upper limit of upbringing's, after equal steps "
        "of training on, whatever the horizon.",
        True,
        _birth_share,
        {
            horizons.LOSS: "The numbers at equal steps again: those trained further start near the "
            "loss at which others end."
        },
    ),
    Prediction(
        "S10",
        "A length of the ladder is enough.",
        "Most recipes beat a byte trigram, and halving or doubling sigma moves the excess by less "
        "than two standard deviations between seeds.",
        True,
        _long_enough,
    ),
    Prediction(
        "S11",
        "The fleet is as exact as planned.",
        "Half the widest bootstrap interval of a share at most 0.05.",
        True,
        _planned_width,
    ),
    Prediction(
        "S12",
        "Recipes keep their order on another text.",
        "Spearman correlation of recipe means between the two texts at least 0.8.",
        True,
        _same_on_both_texts,
    ),
    Prediction(
        "S13",
        "Subwords, another order of the text and a longer run change nothing.",
        "No check moves the excess of a recipe by two standard deviations between seeds.",
        False,
        _robust,
    ),
)
