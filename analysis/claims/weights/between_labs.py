"""Claims about weights between labs and over depth: Figs. 3, 4 and 8, and the constraint there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis import evidence
from analysis.claims.verdict.claim import Claim
from analysis.claims.weights import spectral
from analysis.claims.weights.spectral import LAB, OUTLIER
from analysis.evidence import digitised
from analysis.evidence.checks import Check
from analysis.inference.counts import fisher
from analysis.inference.resampling import permutation
from analysis.store import Store

OTHERS = ("Meta", "OpenAI", "BigScience")
TIMES = "about 300 times in late layers"
SMALLER = "deeper networks have smaller norms, as they are said to have smaller gains"

#: What is said of the folded OV map where norms are LayerNorms.
OF_MEAN = (
    "No basis and no gain moves this map, and under RMSNorm it is the invariant partner of |W_V|. "
    "What it reads and writes along the mean over features is free under LayerNorm: "
    "`collect gauge` leaves that out."
)

#: What counts as late, and the share of depth beyond which it lies.
QUARTER = "last quarter of the layers"
LATE = {QUARTER: 0.75, "last half of the layers": 0.5}

#: Largest difference between a mean over plotted points and the published mean [share].
READING_ERROR = 0.01


def clusters(store: Store) -> Sequence[Check]:
    """Check claim 32: in Fig. 3 EleutherAI clusters high, the others low, GPT-Neo apart."""
    models = spectral.weights(store)
    readable = models[~models["is_misread"]]
    columns = models.assign(product=models["value_norm"] * models["output_norm"])
    return [
        _above("|W_V|, the vertical axis", models, "value_norm"),
        _above("|W_V|, models read from the right rows", readable, "value_norm"),
        _above(
            "|W_V|, without the outlier, read from the right rows",
            readable[readable["model_id"] != OUTLIER],
        ),
        _above("|W_O|, the horizontal axis", models, "output_norm"),
        _above("|W_V| |W_O|, which rescaling leaves alone", columns, "product"),
        _farthest(models),
    ]


def layers(store: Store) -> pd.DataFrame:
    """Return one row per model and layer: the spectral norm of W_V that Fig. 8 plots squared.

    Columns: those of `analysis.evidence.digitised.points`, `value_norm` [weight units],
    `relative_depth` [(l + 1) / L] and `is_misread` (caveat B2).
    """
    points = digitised.points(store, "Fig. 8")
    return points.assign(
        value_norm=np.sqrt(points["value"].astype(float)),
        relative_depth=(points["layer"].astype(float) + 1) / points["n_layers"].astype(float),
        is_misread=(points["caveats"] + ",").str.contains("B2,", regex=False).astype(bool),
    )


def layer_wise(store: Store) -> Sequence[Check]:
    """Check claim 33: Fig. 4 shows |W_V| layer by layer."""
    points, means = layers(store), spectral.weights(store)
    return [
        _averages(points, means),
        _is_value(points, "all six models"),
        _is_value(points[~points["is_misread"]], "models whose rows are read right"),
        *_stored(store, points),
    ]


def excess(store: Store) -> Sequence[Check]:
    """Check claim 34: in late layers EleutherAI's |W_V|^2 is 300 times the others'."""
    points = layers(store)
    return [
        _line_above(points),
        *(_times(f"all others, {words}", points, share) for words, share in LATE.items()),
        _times("all others, the last layer", points, None),
        _times(f"all others, {QUARTER}, geometric means", points, LATE[QUARTER], is_log=True),
        *(
            _times(f"{lab} alone, {QUARTER}", points[points["lab"].isin([LAB, lab])], LATE[QUARTER])
            for lab in OTHERS
        ),
        _times("models whose rows are read right", points[~points["is_misread"]], LATE[QUARTER]),
    ]


def constraint(store: Store) -> Sequence[Check]:
    """Check claim 59: the constraint on gain over depth shows up in weight geometry."""
    models = spectral.weights(store)
    product = models.assign(value_norm=models["value_norm"] * models["output_norm"])
    return [
        _deeper_is_smaller("published |W_V|, pairs of one suite", _pairs(models)),
        _deeper_is_smaller("published |W_V| |W_O|, pairs of one suite", _pairs(product)),
        _measured(store),
        _bounded("published |W_V| against 10^(1/L)", models),
        _bounded("published |W_V| |W_O| against 10^(1/L)", product),
    ]


def _above(condition: str, models: pd.DataFrame, column: str = "value_norm") -> Check:
    """Decide whether all of EleutherAI's models lie above all others; p by exchanging models."""
    part = f"{LAB} lies high, Meta, BigScience and OpenAI low"
    is_theirs = models["lab"] == LAB
    if not is_theirs.any() or is_theirs.all():
        return evidence.missing(part, condition, f"{LAB} and another lab must both have a model")
    high, low = models.loc[is_theirs, column], models.loc[~is_theirs, column]
    ratio = float(high.min() / low.max())
    test = permutation.permutation_test(
        models.assign(label=np.where(is_theirs, "high", "low"), log_norm=np.log(models[column])),
        _gap,
        label="label",
        unit=None,
        alternative="greater",
    ).iloc[0]
    return evidence.check(
        part,
        condition,
        ratio > 1,
        models,
        estimate=ratio,
        p_value=float(test["p_value"]),
        method=f"smallest of {LAB}'s norms over the largest of the others; exact permutation of "
        "the models' labels, mean difference of logs",
        note=f"{len(high)} models against {len(low)}; the smallest p that is possible is "
        f"{test['smallest_p']:.3f}.",
    )


def _gap(models: pd.DataFrame) -> float:
    means = models.groupby("label")["log_norm"].mean()
    return float(means["high"] - means["low"])


def _farthest(models: pd.DataFrame) -> Check:
    part, condition = "GPT-Neo-125M is the outlier", "distance from the medians of all models, log"
    if OUTLIER not in set(models["model_id"]) or len(models) < 3:
        return evidence.missing(part, condition, "the model is not in the store")
    norms = models.set_index("model_id")[["value_norm", "output_norm"]]
    logs = norms.transform("log")
    away = np.sqrt(((logs - logs.median()) ** 2).sum(axis=1)).sort_values(ascending=False)
    second = away.index[1].partition("/")[2]
    return evidence.check(
        part,
        condition,
        away.index[0] == OUTLIER,
        models,
        estimate=float(away[OUTLIER]),
        method="Euclidean distance of the logs of both norms from their medians",
        note=f"Next comes {second} with {away.iloc[1]:.2f}.",
    )


def _averages(points: pd.DataFrame, means: pd.DataFrame) -> Check:
    part = "the lines are those behind the published means"
    condition = "Fig. 8 as read off, the squares of what Fig. 4 plots"
    averaged = points.groupby("model_id", as_index=False)["value_norm"].mean()
    both = means.merge(averaged, on="model_id", suffixes=("", "_plotted"))
    if both.empty:
        return evidence.missing(part, condition, digitised.ABSENT)
    away = (both["value_norm_plotted"] / both["value_norm"] - 1).abs()
    return evidence.check(
        part,
        condition,
        bool((away < READING_ERROR).all()),
        both.assign(file=both["file"] + f" {digitised.EVIDENCE}"),
        estimate=float(away.max()),
        method="largest relative difference between the mean over plotted layers and the "
        "published mean",
        note="Fig. 4 itself has no data and was not read off.",
    )


def _is_value(points: pd.DataFrame, condition: str) -> Check:
    part = "what is plotted is |W_V|"
    models = points.drop_duplicates("model_id")
    if models.empty:
        return evidence.missing(part, condition, digitised.ABSENT)
    right = int((~models["is_misread"]).sum())
    return evidence.share_check(
        part,
        condition,
        right,
        models,
        holds=right == len(models),
        method="share of models whose value rows are read where they lie",
        is_sample=False,
        note="The fused matrices of Pythia and BLOOM were cut in the wrong place.",
    )


def _stored(store: Store, points: pd.DataFrame) -> list[Check]:
    """Return whether the raw files hold the plotted layers, if they have been imported."""
    rows = store.query(
        """
        SELECT DISTINCT v.model_id, m.suite, v.file, v.caveats
          FROM raw_value AS v
          JOIN model AS m USING (model_id)
         WHERE v.metric = 'weight_spectral_v'
           AND v.layer IS NOT NULL
         ORDER BY v.model_id
        """
    )
    if rows.empty or points.empty:
        return []
    found = set(rows["model_id"]) & set(points["model_id"])
    named = ", ".join(name.partition("/")[2] for name in rows["model_id"])
    return [
        evidence.check(
            "the lines are those behind the published means",
            "raw files: norms of single layers",
            None,
            rows,
            estimate=float(len(found)),
            method="number of the figure's models whose layers are in a file",
            decides=False,
            note=f"Only {named} has its layers in a file, and it is not in the figure.",
        )
    ]


def _line_above(points: pd.DataFrame) -> Check:
    part, condition = f"{LAB} exceeds the others", "every late layer of every model"
    late = points[points["relative_depth"] > LATE[QUARTER]]
    theirs = late["lab"] == LAB
    if not theirs.any() or theirs.all():
        return evidence.missing(part, condition, digitised.ABSENT)
    ratio = float(late.loc[theirs, "value"].min() / late.loc[~theirs, "value"].max())
    return evidence.check(
        part,
        condition,
        ratio > 1,
        late,
        estimate=ratio,
        method="smallest of EleutherAI's squared norms over the largest of the others",
    )


def _times(
    condition: str, points: pd.DataFrame, share: float | None, *, is_log: bool = False
) -> Check:
    if share is None:
        late = points[points["relative_depth"] == 1]
    else:
        late = points[points["relative_depth"] > share]
    if set(late["lab"] == LAB) != {True, False}:
        return evidence.missing(TIMES, condition, f"{LAB} or the others have no such line")
    plotted = late["value"].astype(float)
    values = plotted.transform("log") if is_log else plotted
    by_model = values.groupby([late["lab"], late["model_id"]]).mean()
    theirs = by_model.index.get_level_values("lab") == LAB
    high, low = float(by_model[theirs].mean()), float(by_model[~theirs].mean())
    ratio = math.exp(high - low) if is_log else high / low
    return evidence.check(
        TIMES,
        condition,
        200 <= ratio < 400,
        late,
        estimate=ratio,
        method="ratio of the means over models of each model's "
        f"{'geometric' if is_log else 'arithmetic'} mean over layers",
        note=f"{int(theirs.sum())} models against {int((~theirs).sum())}.",
    )


def _bounded(condition: str, models: pd.DataFrame) -> Check:
    if models.empty:
        return evidence.missing(SMALLER, condition, "no such norm is in the store")
    within = models["value_norm"] <= 10 ** (1 / models["n_layers"])
    return evidence.share_check(
        SMALLER,
        condition,
        int(within.sum()),
        models,
        holds=None,
        decides=False,
        method="share of models whose mean norm is at most 10^(1/L)",
        note="A gain has no unit, a weight has one that is a convention: rescaling moves the norms "
        "and changes no output. Shown, not counted.",
    )


def _pairs(models: pd.DataFrame, by: Sequence[str] = ("suite",)) -> pd.DataFrame:
    """Return one row per pair of models alike in ``by`` but of different depth.

    Columns: those of the deeper model, those of the other ending in `_shallow`, and `falls`,
    whether the deeper model has the smaller norm.
    """
    both = models.merge(models, on=list(by), suffixes=("", "_shallow"))
    pairs = both[both["n_layers"] > both["n_layers_shallow"]]
    return pairs.assign(falls=pairs["value_norm"] < pairs["value_norm_shallow"])


def _deeper_is_smaller(
    condition: str, pairs: pd.DataFrame, *, counts: bool = True, **result: Any
) -> Check:
    """Decide from the exact interval of the share of pairs whether deeper means smaller."""
    if pairs.empty:
        return evidence.missing(SMALLER, condition, "no two models differ in depth alone there")
    falls = int(pairs["falls"].sum())
    note = f"The norm falls with depth in {falls} of {len(pairs)} pairs."
    return evidence.share_check(
        SMALLER,
        condition,
        falls,
        pairs,
        holds=_beyond_half(falls, len(pairs)) if counts else None,
        decides=counts,
        method="share of pairs whose deeper model has the smaller norm",
        units="pairs",
        note=note if counts else f"{note} {evidence.NOT_THEIRS}",
        **(evidence.both_sides(pairs, "_shallow") | result),
    )


def _beyond_half(hits: int, n: int) -> bool | None:
    """Tell whether the interval of a share lies above one half; None when it contains it."""
    share = fisher.proportion(hits, n).iloc[0]
    if share["conf_low"] > 0.5:
        return True
    return False if share["conf_high"] < 0.5 else None


def _measured(store: Store) -> Check:
    """Compare models measured here that differ in depth: the folded OV map of their heads.

    Only pairs of the paper's own models decide.
    """
    norms = store.query(
        """
        SELECT h.model_id, m.family, m.suite, m.n_layers, m.norm_kind,
               avg(h.sigma_max) AS value_norm,
               h.model_id IN (SELECT model_id FROM published_figure) AS is_theirs,
               '' AS file, '' AS caveats
          FROM layer_head AS h
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = h.model_id
         WHERE h.matrix = 'OV'
           AND h.is_folded
           AND h.slicing = 'correct'
         GROUP BY ALL
         ORDER BY h.model_id
        """
    )
    theirs = _pairs(norms[norms["is_theirs"]], by=("family", "suite"))
    pairs = theirs if len(theirs) else _pairs(norms, by=("family", "suite"))
    found = _deeper_is_smaller(
        "models measured here: folded OV map, median over heads, mean over blocks",
        pairs,
        counts=len(theirs) > 0,
        evidence=(evidence.OURS,),
    )
    is_free = not pairs.empty and (pairs["norm_kind"] == "LayerNorm").any()
    return replace(found, note=f"{found.note} {OF_MEAN}") if is_free else found


CLAIMS = (
    Claim(
        32,
        "Smallest norm of EleutherAI's models over the largest of the other labs'",
        "It exceeds 1 on both axes of the figure and for their product; and GPT-Neo-125M is the "
        "model farthest from the medians.",
        clusters,
    ),
    Claim(
        33,
        "Agreement of the plotted layers with the published means, and whether they are of W_V",
        "The means agree within 1 %, which is how well a plot can be read; every model's value "
        "rows are read where they lie.",
        layer_wise,
        "value",
    ),
    Claim(
        34,
        "Ratio of the mean squared spectral norms of W_V, EleutherAI over others, late layers",
        "Every late value exceeds all others; the ratio lies between 200 and 400 whichever layers "
        "count as late, whichever others are meant, and read from the right rows.",
        excess,
        "universal",
    ),
    Claim(
        59,
        "Share of pairs of one suite whose deeper model has the smaller norm; share of models "
        "whose norm obeys the bound of the gain",
        "The interval of the share of pairs lies above one half; an interval around one half "
        "decides nothing. The bound is shown and does not decide.",
        constraint,
    ),
)
