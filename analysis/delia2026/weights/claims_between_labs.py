"""The claim about weights between labs, Fig. 3: who clusters high, who low, who lies apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.delia2026.weights.claims_spectral import LAB, OUTLIER
from analysis.inference.resampling import permutation
from analysis.store import Store
from analysis.tidy import prose

HIGH = Label("high", "EleutherAI lies high, Meta, BigScience and OpenAI low")


@claim(32, Line(HIGH, "ratio", 1))
def clusters(store: Store) -> Sequence[Check]:
    """Check claim 32: in Fig. 3 EleutherAI clusters high, the others low, GPT-Neo apart."""
    models = spectral.weights(store)
    readable = models[~models["is_misread"]]
    columns = models.assign(product=models["value_norm"] * models["output_norm"])
    return [
        _separation_check(Label("value", "|W_V|, the vertical axis"), models, "value_norm"),
        _separation_check(
            Label("value_readable", "|W_V|, models read from the right rows"),
            readable,
            "value_norm",
        ),
        _separation_check(
            Label("value_no_outlier", "|W_V|, without the outlier, read from the right rows"),
            readable[readable["model_id"] != OUTLIER],
        ),
        _separation_check(Label("output", "|W_O|, the horizontal axis"), models, "output_norm"),
        _separation_check(
            Label("product", "|W_V| |W_O|, which rescaling leaves alone"), columns, "product"
        ),
        _farthest(models),
    ]


def _separation_check(condition: str, models: pd.DataFrame, column: str = "value_norm") -> Check:
    """Decide whether all of EleutherAI's models lie above all others; p by exchanging models."""
    is_named = models["lab"] == LAB
    if not is_named.any() or is_named.all():
        return evidence.missing(HIGH, condition, f"{LAB} and another lab must both have a model")
    high, low = models.loc[is_named, column], models.loc[~is_named, column]
    ratio = float(high.min() / low.max())
    test = permutation.permutation_test(
        pd.DataFrame({"is_named": is_named, "log_norm": np.log(models[column])}),
        _gap,
        label="is_named",
        unit=None,
        alternative="greater",
    ).iloc[0]
    return evidence.check(
        HIGH,
        condition,
        ratio > 1,
        models,
        estimate=ratio,
        p_value=float(test["p_value"]),
        method=f"smallest of {LAB}'s norms over the largest of the others; exact permutation of "
        "the models' labels, mean difference of logs",
        note=f"{prose.plural(len(high), 'model')} against {len(low)}; the smallest p that is "
        f"possible is {prose.power_of_ten(test['smallest_p'], 1)}.",
        measure="ratio",
    )


def _gap(models: pd.DataFrame) -> float:
    is_named, logs = models["is_named"].to_numpy(dtype=bool), models["log_norm"].to_numpy()
    return float(logs[is_named].mean() - logs[~is_named].mean())


def _farthest(models: pd.DataFrame) -> Check:
    part, condition = (
        Label("outlier", "GPT-Neo-125M is the outlier"),
        "distance from the medians of all models, log",
    )
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
