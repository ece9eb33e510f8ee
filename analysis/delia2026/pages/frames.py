"""The frames behind the figures of this paper's report, each named for its row."""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.delia2026.sign import claims_finetuning as finetuning
from analysis.delia2026.sign import readings
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.store import Store
from analysis.tidy import markdown, notation, prose


def groups_behind(gains: pd.DataFrame) -> tuple[str, str]:
    """Return the numbers of labs and of suites behind some gains, in words."""
    labs, suites = len(set(gains["lab"])), len(set(gains["suite"]))
    return prose.plural(labs, "lab"), prose.plural(suites, "suite")


def base_sets(store: Store) -> dict[str, str]:
    """Return the two sets of base models in words: all, those kept for sizes, and who is left out.

    All have a published gain of the penultimate block; a post-norm model is kept only where signs
    are counted as the paper counts them.
    """
    sets = readings.model_sets(store)
    every, remaining = sets[readings.EVERY], sets[readings.PRE_NORM]
    out = every[~every["model_id"].isin(remaining["model_id"])]
    return {
        "all": prose.plural(len(every), "base model"),
        "kept": prose.plural(len(remaining), "base model"),
        "n_left_out": prose.plural(len(out), "model"),
        "left_out": prose.listing(prose.short_name(out["model_id"]).tolist()),
        "left_out_gain": prose.listing([prose.number(gain, 4) for gain in out["gain_mean"]]),
    }


def penultimate_gains(store: Store) -> pd.DataFrame:
    """Return one row per base model: gain of the penultimate block with a 95 % t interval."""
    return evidence.with_interval(evidence.base_gains(store, "gain_penultimate_block"))


def signed_gains(store: Store) -> pd.DataFrame:
    """Return one row per base model: gain of the penultimate or else of the last block."""
    return evidence.penultimate_or_last(store)


def bound_curve(store: Store) -> pd.DataFrame:
    """Return one row per depth, 6 to 48: the claimed bound 10^(1/L)."""
    return store.query(
        "SELECT CAST(range AS INTEGER) AS n_layers, gain_bound(range) AS bound FROM range(6, 49)"
    )


def gain_definitions(store: Store) -> pd.DataFrame:
    """Return one row per definition of gain, formatted for print: symbol; definition and name."""
    rows = store.query("FROM gain_definition ORDER BY metric")
    explained = zip(rows["definition"], rows["metric"], strict=True)
    return pd.DataFrame(
        {
            "symbol": rows["symbol"].map(notation.typeset),
            "definition": [
                f"{notation.typeset(text)} {markdown.code(name)}" for text, name in explained
            ],
        }
    )


def spectral_norms(store: Store) -> pd.DataFrame:
    """Return one row per model: mean spectral norms of W_V and W_O."""
    models = spectral.weights(store)
    return models.assign(model=prose.short_name(models["model_id"]))


def dampening_twins(store: Store) -> str:
    """Return how many of the base models compared with an instruct version dampen, in words."""
    pairs = finetuning.twins(store)
    return prose.share_of(int((pairs["gain_mean_base"] < 1).sum()), len(pairs))
