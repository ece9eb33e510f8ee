"""Claims about the formula for L* beyond its error: the file it rests on, and its domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision, quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.transition import l_star
from analysis.delia2026.transition import published as published_l_star
from analysis.forensics.rounding import read
from analysis.store import Store

NAMES = Label("layer", "the formula names a layer of the network")

SUMMARY = "plain-language summary, Why Deep Models Can't Shout"


@claim(41)
def layer_file(store: Store) -> Sequence[Check]:
    """Check claim 41: the L* file of the repository gives the printed error."""
    models = published_l_star.stated(store, published_l_star.SIGN_CHANGES)
    value = float(len(models))
    held = evidence.check(
        Label("six", "a file holds L* of six models"),
        "models with a layer in it",
        value == 6,
        models,
        estimate=value,
        method="count",
        measure="count",
    )
    part = Label("error", "the file gives the printed error of the formula")
    printed = quoted.text(store, "§5.3", "l_star_error", "six models of four labs")
    sizes = {
        Label("depth", "distance over the number of layers, as the file calls it"): models[
            "n_layers"
        ],
        Label("layer", "distance over the layer found, a mean absolute percentage error"): models[
            "estimate"
        ],
    }
    misses = (_formula(models) - models["estimate"]).abs()
    return [
        *(
            _layer_error(part, condition, 100 * float((misses / size).mean()), models, printed)
            for condition, size in sizes.items()
        ),
        held,
    ]


@claim(43, Line(NAMES, "ratio", 1))
def domain(store: Store) -> Sequence[Check]:
    """Check claim 43: the formula of section 5.3 applies to the models it is used on."""
    models = store.query(
        """
        SELECT m.model_id, m.suite, m.n_layers, m.n_heads::DOUBLE AS n_heads, m.positional_scheme,
               coalesce(p.file, $ours) AS file, '' AS caveats
          FROM raw.model AS m
          LEFT JOIN (SELECT model_id, min(file) AS file
                       FROM published_figure
                      GROUP BY model_id) AS p USING (model_id)
         ORDER BY m.model_id
        """,
        ours=evidence.OURS,
    )
    tested = published_l_star.stated(store, published_l_star.SIGN_CHANGES)["model_id"]
    six = models[models["model_id"].isin(tested)].assign(file=published_l_star.SIGN_CHANGES)
    is_published = models["file"] != evidence.OURS
    ours = models[~is_published].assign(in_paper=False)
    checks = [
        _depth_check(Label("tested", "the models it is tested on"), six),
        _depth_check(Label("published", "all models of the paper's files"), models[is_published]),
    ]
    if len(ours):
        checks.append(
            evidence.on_ours(_depth_check(Label("ours", "the models measured here"), ours), ours)
        )
    return [
        *checks,
        evidence.descriptive(_printed_depth_check(store)),
        _alibi_check(store, six),
    ]


def _layer_error(part: str, condition: str, value: float, rows: pd.DataFrame, text: str) -> Check:
    return evidence.check(
        part,
        condition,
        read(text).meets(value, value),
        rows,
        estimate=value,
        method="mean over models [%]",
        note=f"The paper prints {text} %.",
        measure="error",
        is_percent=True,
    )


def _formula(models: pd.DataFrame) -> pd.Series:
    """Return L* of the formula of each model [layers]."""
    pairs = zip(models["n_layers"], models["n_heads"], strict=True)
    return pd.Series([l_star.formula(*pair) for pair in pairs], models.index, dtype="float64")


def _depth_check(condition: str, rows: pd.DataFrame) -> Check:
    shares = _formula(rows) / (rows["n_layers"] - 1)
    outside, unknown = rows.loc[shares > 1, "model_id"], rows.loc[shares.isna(), "model_id"]
    notes = [("Beyond the last layer", outside), ("Without one number of heads", unknown)]
    return evidence.check(
        NAMES,
        condition,
        decision.without_exception(len(outside), len(unknown)),
        rows,
        estimate=float(shares.max()),
        method="largest L* of the formula over the number of the last layer",
        note=" ".join(f"{what}: {', '.join(names)}." for what, names in notes if len(names)),
        measure="ratio",
    )


def _printed_depth_check(store: Store) -> Check:
    """Apply the formula to the depth the summary speaks of, with any number of heads."""
    condition = Label(
        "printed_depth", "the very deep model of the summary, however many heads it has"
    )
    n_layers = int(quoted.text(store, SUMMARY, "n_layers", "a very deep model"))
    share = l_star.formula(n_layers, np.inf) / (n_layers - 1)
    # The depth from which on L* lies beyond the last layer, with heads without end.
    inside = [n for n in range(2, 1000) if l_star.formula(n, np.inf) <= n - 1]
    first_depth_beyond = max(inside) + 1
    return Check(
        NAMES,
        condition,
        share <= 1,
        estimate=share,
        evidence=(quoted.EVIDENCE,),
        method="L* of the formula over the number of the last layer",
        note=f"{n_layers} layers. From {first_depth_beyond} layers on, the formula points "
        "beyond the last one for every number of heads.",
    )


def _alibi_check(store: Store, six: pd.DataFrame) -> Check:
    part, condition = (
        Label("alibi", "models with ALiBi are left out"),
        Label("tested", "the models it is tested on"),
    )
    scheme = quoted.text(store, "§6.2", "excluded_positional_scheme", "L* formula")
    inside = six.loc[six["positional_scheme"].str.lower() == scheme.lower(), "model_id"]
    return evidence.check(
        part,
        condition,
        inside.empty,
        six,
        estimate=float(len(inside)),
        method="count of models with ALiBi",
        note=f"{', '.join(inside)} has ALiBi." if len(inside) else "",
        measure="count",
    )
