"""Claims about the size of the study: how many models, labs, years, measurements."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store

MODELS = "at least 23 models"
LABS = "7 labs"
YEARS = "released 2022 to 2024"


@claim(1, Line(MODELS, "count", 23))
def models(store: Store) -> Sequence[Check]:
    """Check claim 1: at least 23 models."""
    readings = {
        Label("any", "any published gain"): evidence.published_gains(store),
        Label("penultimate", "gain of the penultimate block, the definition with most models"): (
            evidence.published_gains(store, "gain_penultimate_block")
        ),
    }
    return [
        _count_check(MODELS, condition, rows, "model_id", at_least=23)
        for condition, rows in readings.items()
    ]


@claim(2, Line(LABS, "count", 7))
def labs(store: Store) -> Sequence[Check]:
    """Check claim 2: seven labs."""
    readings = {
        Label("any", "any published gain"): evidence.published_gains(store),
        Label("penultimate", "gain of the penultimate block"): evidence.published_gains(
            store, "gain_penultimate_block"
        ),
        Label("joined", "gain of the penultimate or else of the last block, base models"): (
            evidence.penultimate_or_last(store)
        ),
    }
    return [
        *(
            _count_check(LABS, condition, rows, "lab", exactly=7)
            for condition, rows in readings.items()
        ),
        _names_check(LABS, store),
    ]


@claim(3, Line(YEARS, "share", 1))
def years(store: Store) -> Sequence[Check]:
    """Check claim 3: the models are from 2022 to 2024."""
    gains = evidence.published_gains(store)
    released = store.query("SELECT model_id, year FROM raw.model WHERE year IS NOT NULL")
    dated = gains.merge(released, on="model_id").drop_duplicates("model_id")
    named = evidence.penultimate_or_last(store)["model_id"]
    return [
        _years_check(dated, Label("all", "all models with a published gain")),
        _years_check(
            dated[dated["model_id"].isin(named)],
            Label("base", "base models of the main experiments"),
        ),
    ]


@claim(17)
def measurements(store: Store) -> Sequence[Check]:
    """Check claim 17: the unified benchmark has 100 measurements."""
    part, condition = (
        "100 measurements",
        Label("total", "prompts times models of the unified benchmark"),
    )
    rows = evidence.published_gains(store, "gain_last_block", [evidence.UNIFIED])
    if rows.empty:
        return [evidence.missing(part, condition, "the benchmark's figures are not in the store")]
    total = int(rows["n_prompts"].sum())
    return [
        evidence.check(
            part,
            condition,
            total == 100,
            rows,
            estimate=float(total),
            n_obs=total,
            method="count",
            measure="count",
        )
    ]


def _count_check(
    part: str,
    condition: str,
    rows: pd.DataFrame,
    column: str,
    *,
    at_least: int | None = None,
    exactly: int | None = None,
) -> Check:
    if rows.empty:
        return evidence.missing(part, condition, "no published gain is in the store")
    names = sorted(rows[column].dropna().unique())
    holds = len(names) >= at_least if at_least is not None else len(names) == exactly
    note = f"{', '.join(names)}." if column == "lab" else ""
    return evidence.check(
        part,
        condition,
        holds,
        rows,
        estimate=float(len(names)),
        method="count",
        note=note,
        measure="count",
    )


def _names_check(part: str, store: Store) -> Check:
    """Count the labs that the paper names where it says that they are seven."""
    condition = Label("named", "the labs that section 3.3 names")
    printed = quoted.at(store, "§3.3")
    names = printed.loc[printed["quantity"] == "lab", "subject"].tolist()
    if not names:
        return evidence.missing(part, condition, quoted.ABSENT)
    return Check(
        part,
        condition,
        len(set(names)) == 7,
        estimate=float(len(set(names))),
        n_obs=len(names),
        evidence=(quoted.EVIDENCE,),
        method="count",
        note=f"{', '.join(names)}.",
        measure="count",
    )


def _years_check(dated: pd.DataFrame, condition: str) -> Check:
    if dated.empty:
        return evidence.missing(YEARS, condition, "no dated model is in the store")
    inside = dated["year"].between(2022, 2024)
    outside = dated.loc[~inside, ["model_id", "year"]].sort_values("model_id")
    named = ", ".join(f"{row.model_id} ({row.year})" for row in outside.itertuples())
    return evidence.check(
        YEARS,
        condition,
        bool(inside.all()),
        dated.assign(file=dated["file"] + " model"),
        estimate=float(inside.mean()),
        method="share of models inside the years",
        note=f"Outside: {named}." if named else "",
        measure="share",
    )
