"""What was predicted of the models that others measured, before any of it was computed.

The commit that holds this file first is the registration: it names no outcome, and no gain of
these models is in the store that it comes with. A row is `seen` where the outcome had been read
before: of the ten models measured at the last token, that the last and the last but one block
lengthen; from a first look, that every body grows but that of Gemma 4, the body gain of Mistral 7B,
and that the body's gain falls with depth. The paper's laws are taken at their word.

What we expect rests on what the paper's files and our own measurements show: the bound is broken
on average and in half of the blocks, hardly a block shrinks, and the largest gain stands early.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.depth import depth_law
from analysis.delia2026.public import registration
from analysis.delia2026.public.predictions import DENSITY, STATED_ERROR
from analysis.delia2026.public.registration import OURS, PAPER, Prediction
from analysis.delia2026.reported import models
from analysis.delia2026.transition import l_star
from analysis.store import Store

#: Sources of which the sign of the last two blocks had been read.
SIGNS_READ = frozenset({"logos_in_layers"})

#: The model whose body gain had been read, in the paper's files and here.
BODY_READ = "mistralai/Mistral-7B-v0.1"

#: Mean gains of the paper's ranking of labs, from the smallest: its claim 18.
ORDER = ("Mistral", "Meta", "Google")

#: Standard deviations over prompts of log gains that we expect of one model: of the body at most,
#: and of the last block at least. On our four public models, .003 to .020 and .04 to .11 [nat].
BODY_SPREAD, LAST_SPREAD = 0.02, 0.04

#: How far a distillation may move the log gain of the body [nat].
DISTILLED = 0.01


def outcomes(store: Store) -> pd.DataFrame:
    """Return every registered prediction with what came of it.

    Parameters
    ----------
    store
        The paper's figures and the tables of ``collect reported``.

    Returns
    -------
    Rows of `registration.outcomes`, one per prediction and what it is about, by `law`: `source_id`
    and `model_id`, missing where models are compared.
    """
    about = {"source_id": None, "model_id": None}
    return registration.outcomes(PREDICTIONS, store, subject="law", about=about)


def _signs_read(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows["source_id"].isin(SIGNS_READ)


def _body_read(rows: pd.DataFrame) -> pd.Series[bool]:
    return (rows["model_id"] == BODY_READ) | (rows["suite"] == "Gemma 4")


def _gain(column: str, bound: float | str, *poolings: str) -> Callable[[Store], pd.DataFrame]:
    """Return what computes one gain of each model, beside a number or a column."""

    def compute(store: Store) -> pd.DataFrame:
        rows = models.gains(store, *(poolings or (models.AS_PUBLISHED,)))
        limit = rows[bound] if isinstance(bound, str) else bound
        return rows.assign(estimate=rows[column], bound=limit)

    return compute


def _every_block(store: Store) -> pd.DataFrame:
    return models.blocks(store).assign(estimate=lambda rows: rows["gain"])


def _share(
    told: Callable[[pd.DataFrame], pd.Series[bool]], bound: float
) -> Callable[..., pd.DataFrame]:
    """Return what computes the share of the blocks after the first of which something holds."""

    def compute(store: Store) -> pd.DataFrame:
        rows = models.blocks(store)
        shares = told(rows).astype(float).groupby([rows["source_id"], rows["model_id"]]).mean()
        return shares.rename("estimate").reset_index().assign(bound=bound)

    return compute


def _total(store: Store) -> pd.DataFrame:
    rows = models.gains(store, models.AS_PUBLISHED)
    return rows.assign(estimate=rows["gain_body"] ** (rows["n_layers"] - 1), bound=10.0)


def _by_density(low: float, high: float) -> Callable[[Store], pd.DataFrame]:
    """Return what computes the paper's gain of models with a head density from low to high."""

    def compute(store: Store) -> pd.DataFrame:
        rows = models.gains(store, *models.WITHOUT_FIRST)
        rows = rows[(rows["rho"] >= low) & (rows["rho"] < high)]
        return rows.assign(estimate=rows["gain_penultimate_block"], bound=1.0)

    return compute


def _turns(store: Store) -> pd.DataFrame:
    """Return the block at which each model's gains turn, by the primary estimator, and L*."""
    rows = models.blocks(store)
    found = rows.groupby(["source_id", "model_id", "n_layers", "n_heads"])["log_gain"].agg(
        lambda profile: 1 + l_star.argmax_interior_gradient(profile)
    )
    table = found.rename("turn").reset_index()
    shapes = zip(table["n_layers"], table["n_heads"], strict=True)
    return table.assign(formula=[l_star.formula(*shape) for shape in shapes])


def _inside(store: Store) -> pd.DataFrame:
    return _turns(store).assign(estimate=lambda t: t["formula"], bound=lambda t: t["n_layers"] - 1)


def _formula_error(store: Store) -> pd.DataFrame:
    rows = _turns(store)
    return rows.assign(
        estimate=(rows["formula"] - rows["turn"]).abs() / rows["turn"], bound=STATED_ERROR
    )


def _formula_or_half(store: Store) -> pd.DataFrame:
    """Return how far the formula is from the turn, beside how far half of the depth is."""
    rows = _turns(store)
    half = (rows["n_layers"] / 2 - rows["turn"]).abs()
    return rows.assign(estimate=(rows["formula"] - rows["turn"]).abs(), bound=half)


def _largest(store: Store) -> pd.DataFrame:
    """Return where in the depth the largest gain after the first block stands, as a share."""
    rows = models.blocks(store)
    at = rows.loc[rows.groupby(["source_id", "model_id"])["log_gain"].idxmax()]
    return at.assign(estimate=at["layer"] / at["n_layers"], bound=0.1)


def _laws(first: str, second: str | None = None) -> Callable[[Store], pd.DataFrame]:
    """Return what computes the AICc of a law above that of another, or above the best."""

    def compute(store: Store) -> pd.DataFrame:
        rows = models.gains(store, models.AS_PUBLISHED).dropna(subset=["gain_body"])
        if len(rows) < depth_law.FEWEST_MODELS:
            return pd.DataFrame({"estimate": [np.nan], "bound": [0.0]})
        table = depth_law.compare(rows, gain="gain_body")
        delta = dict(zip(table["law"], table["delta_aicc"].to_numpy(float), strict=True))
        return pd.DataFrame({"estimate": [delta[first] - delta.get(second, 0.0)], "bound": [0.0]})

    return compute


def _depth_rank(store: Store) -> pd.DataFrame:
    rows = models.gains(store, models.AS_PUBLISHED)
    rank = rows["n_layers"].corr(rows["gain_penultimate_block"], "spearman")
    return pd.DataFrame({"estimate": [rank], "bound": [0.0]})


def _order(store: Store) -> pd.DataFrame:
    """Return how many pairs of neighbours of the paper's ranking lie as it says."""
    rows = models.gains(store, models.AS_PUBLISHED)
    means = rows.groupby("lab")["gain_penultimate_block"].mean().reindex(list(ORDER))
    right = int((means.diff().iloc[1:] > 0).sum())
    return pd.DataFrame({"estimate": [right], "bound": [len(ORDER) - 1]})


def _signs_by_lab(store: Store) -> pd.DataFrame:
    """Return how many signs the bodies of each lab's models have."""
    rows = models.gains(store, *models.WITHOUT_FIRST).dropna(subset=["gain_body"])
    signs = (rows["gain_body"] < 1).groupby(rows["lab"]).nunique()
    return pd.DataFrame({"estimate": signs, "bound": 1, "lab": signs.index})


def _lab_over_suite(store: Store) -> pd.DataFrame:
    """Return the standard deviation of labs less that of suites, the source held fixed [nat]."""
    fit = mixed.fit("log_gain ~ source + (1 | lab) + (1 | suite)", models.joint(store))
    spread = fit.tidy(["ran_pars"]).set_index("group")["estimate"]
    return pd.DataFrame({"estimate": [spread["lab"] - spread["suite"]], "bound": [0.0]})


def _coefficient(term: str, column: str) -> Callable[[Store], pd.DataFrame]:
    """Return what computes a coefficient or its p, the source held fixed."""

    def compute(store: Store) -> pd.DataFrame:
        rows = models.joint(store)
        fit = mixed.fit(f"log_gain ~ source + {term} + (1 | suite)", rows)
        effects = fit.tidy(["fixed"])
        chosen = effects[effects["term"] == term]
        bound = 0.05 if column == "p_value" else 0.0
        return pd.DataFrame({"estimate": chosen[column], "bound": bound})

    return compute


def _spread(metric: str, bound: float) -> Callable[[Store], pd.DataFrame]:
    """Return what computes the spread over prompts of a log gain, to first order [nat]."""

    def compute(store: Store) -> pd.DataFrame:
        rows = store.query(
            """
            SELECT f.source_id, f.model_id, f.sd / f.mean AS estimate
              FROM reported_figure AS f
              JOIN reported_source AS s USING (source_id)
             WHERE f.metric = $metric AND s.pooling = $pooling AND f.n > 2
            """,
            metric=metric,
            pooling=models.AS_PUBLISHED,
        )
        return rows.assign(bound=bound)

    return compute


def _distilled(store: Store) -> pd.DataFrame:
    """Return how far the body of a distilled model lies from its base's in one source [nat]."""
    rows = models.gains(store, *models.WITHOUT_FIRST)
    pairs = rows.merge(
        rows, left_on=["source_id", "base_model_id"], right_on=["source_id", "model_id"],
        suffixes=("", "_base"),
    )  # fmt: skip
    distance = np.log(pairs["gain_body"]) - np.log(pairs["gain_body_base"])
    return pairs.assign(estimate=np.abs(distance), bound=DISTILLED)


BOUND, L_STAR, DEPTH = "bound 10^(1/L)", "L*", "depth"
PLACE, HEADS, LABS, PROMPTS = "largest gain", "head density", "labs and suites", "prompts"

PREDICTIONS = (
    Prediction(
        "bound_each_block", BOUND, PAPER,
        "Every block after the first has a gain of at most 10^(1/L).",
        "<=", _every_block,
    ),
    Prediction(
        "bound_last_block", BOUND, PAPER,
        "The gain of the last block is at most 10^(1/L).",
        "<=", _gain("gain_last_block", "bound"),
    ),
    Prediction(
        "bound_mean_block", BOUND, PAPER,
        "The mean gain of the blocks after the first is at most 10^(1/L).",
        "<=", _gain("gain_body", "bound", *models.WITHOUT_FIRST), _body_read,
    ),
    Prediction(
        "total_of_ten", BOUND, PAPER,
        "All blocks after the first together lengthen the stream at most tenfold.",
        "<=", _total, _body_read,
    ),
    Prediction(
        "mean_above_bound", BOUND, OURS,
        "The mean gain of the blocks after the first exceeds 10^(1/L) at the last token.",
        ">", _gain("gain_body", "bound"), _body_read,
    ),
    Prediction(
        "third_above_bound", BOUND, OURS,
        "At least a third of the blocks after the first exceed 10^(1/L).",
        ">", _share(lambda rows: rows["gain"] > rows["bound"], 1 / 3),
    ),
    Prediction(
        "hardly_any_shrinks", BOUND, OURS,
        "At most a tenth of the blocks after the first shorten the last token's vector.",
        "<=", _share(lambda rows: rows["gain"] < 1, 0.1),
    ),
    Prediction(
        "l_star_inside", L_STAR, PAPER,
        "The formula for L* names a block that the model has.",
        "<=", _inside, True,
    ),
    Prediction(
        "l_star_error", L_STAR, PAPER,
        "The formula for L* misses the block where the gains turn by 4.8 % or less.",
        "<=", _formula_error,
    ),
    Prediction(
        "l_star_better_than_half", L_STAR, PAPER,
        "The formula for L* is nearer to the turn of the gains than half of the depth is.",
        "<", _formula_or_half,
    ),
    Prediction(
        "l_star_worse_than_half", L_STAR, OURS,
        "Half of the depth is nearer to the turn of the gains than the formula for L* is.",
        ">", _formula_or_half,
    ),
    Prediction(
        "gain_falls_with_depth", DEPTH, PAPER,
        "The more blocks a model has, the smaller its gain.",
        "<", _depth_rank,
    ),
    Prediction(
        "bound_is_the_law", DEPTH, PAPER,
        "Of five laws of depth, 10^(1/L) fits the mean gains of the blocks best.",
        "<=", _laws("10^(1/L)"),
    ),
    Prediction(
        "total_is_the_constant", DEPTH, OURS,
        "Mean gains of blocks follow C^(1/L), with a C of their own, better than one constant.",
        "<", _laws("C^(1/L)", "constant"),
    ),
    Prediction(
        "depth_slope", DEPTH, OURS,
        "With the paper's models, and the source held fixed, the gain falls with depth.",
        "<", _coefficient("depth", "estimate"), True,
    ),
    Prediction(
        "largest_is_early", PLACE, OURS,
        "The largest gain after the first block stands in the first tenth of the depth.",
        "<=", _largest,
    ),
    Prediction(
        "dense_dampens", HEADS, PAPER,
        "A model whose head density is at least 0.20 dampens.",
        "<", _by_density(DENSITY[1], np.inf), _signs_read,
    ),
    Prediction(
        "sparse_expands", HEADS, PAPER,
        "A model whose head density is below 0.15 expands.",
        ">", _by_density(0.0, DENSITY[0]), _signs_read,
    ),
    Prediction(
        "others_expand", LABS, PAPER,
        "Every model of another lab than EleutherAI expands.",
        ">", _gain("gain_penultimate_block", 1.0, *models.WITHOUT_FIRST), _signs_read,
    ),
    Prediction(
        "order_of_labs", LABS, PAPER,
        "Mean gains of labs rise from Mistral over Meta to Google.",
        "=", _order,
    ),
    Prediction(
        "one_sign_per_lab", LABS, PAPER,
        "The bodies of all models of a lab have one sign.",
        "=", _signs_by_lab, True,
    ),
    Prediction(
        "lab_over_suite", LABS, PAPER,
        "With the paper's models, labs differ more than suites of one lab do.",
        ">", _lab_over_suite,
    ),
    Prediction(
        "suite_over_lab", LABS, OURS,
        "With the paper's models, suites of one lab differ at least as much as labs do.",
        "<=", _lab_over_suite,
    ),
    Prediction(
        "size_does_not_matter", LABS, PAPER,
        "With the paper's models, and the source held fixed, size has no effect (p above .05).",
        ">", _coefficient("size", "p_value"),
    ),
    Prediction(
        "distillation_keeps_the_body", LABS, OURS,
        "A distilled model has the body gain of the model it was made from, to 1 %.",
        "<=", _distilled,
    ),
    Prediction(
        "prompts_leave_the_body", PROMPTS, OURS,
        "Over prompts, the log gain of a model's body varies with a standard deviation of at most "
        "0.02.",
        "<=", _spread("gain_body", BODY_SPREAD),
    ),
    Prediction(
        "prompts_move_the_last_block", PROMPTS, OURS,
        "Over prompts, the log gain of a model's last block varies with one of at least 0.04.",
        ">", _spread("gain_last_block", LAST_SPREAD),
    ),
)  # fmt: skip
