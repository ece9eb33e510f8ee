"""Claim 53: the README's table of which notebook each figure comes from.

The numbers of a figure, as printed or read off, are looked up in the result files of the
notebook named for it, and in all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence import digitised, quoted
from analysis.audit.evidence.checks import Check, Label, caveats_of
from analysis.delia2026.declared import claim
from analysis.forensics import provenance
from analysis.store import Store

#: Half a fifth of a layer: L* of Fig. 5 are means of five whole numbers.
LAYER_ACCURACY = 0.05

#: Quantities that a figure shows, as every file could hold them. A file with a standard
#: deviation over layers has the single layers; one with the mean alone has not.
HELD = """
WITH gains AS (
    SELECT g.file, g.model_id, m.lab, m.suite, g.metric, g.gain_mean, g.n_prompts,
           m.n_layers, head_density(m.n_heads, m.d_head) AS rho
      FROM published_gain_by_file AS g
      JOIN raw.model AS m USING (model_id)
     WHERE g.metric IN ('gain_last_block', 'gain_penultimate_block', 'gain_whole_matrix')
)
SELECT 'gain' AS quantity, file, model_id AS subject, gain_mean AS value
  FROM gains
 UNION ALL
SELECT 'gain_by_lab', file, lab, avg(gain_mean)
  FROM gains
 GROUP BY file, metric, lab
 UNION ALL
SELECT 'n_prompts', file, suite, min(n_prompts)
  FROM gains
 GROUP BY file, metric, suite
 UNION ALL
SELECT 'n_models', file, suite, count(DISTINCT model_id)
  FROM gains
 GROUP BY file, suite
 UNION ALL
SELECT 'correlation', file, suite, corr(n_layers, gain_mean)
  FROM gains
 GROUP BY file, metric, suite
 UNION ALL
SELECT 'correlation', file, suite, corr(rho, gain_mean)
  FROM gains
 GROUP BY file, metric, suite
 UNION ALL
SELECT metric, file, model_id, mean
  FROM published_figure
 WHERE metric IN ('l_star_empirical', 'weight_spectral_v', 'trace_multi_head')
 UNION ALL
SELECT 'weight_spectral_v_by_layer', file, model_id, mean
  FROM published_figure
 WHERE metric = 'weight_spectral_v'
   AND sd IS NOT NULL
"""


@claim(53)
def mappings(store: Store) -> Sequence[Check]:
    """Check claim 53: each figure's numbers lie in the files of the notebook named for it."""
    result = figures(store)
    if result.empty:
        part = "each figure comes from the notebook named for it"
        return [evidence.missing(part, "README", quoted.ABSENT)]
    return [_check(store, str(place), rows) for place, rows in result.groupby("place", sort=False)]


def figures(store: Store) -> pd.DataFrame:
    """Return how many of each figure's numbers each result file holds.

    Returns
    -------
    One row per figure that the README maps and file that holds its quantities: `place`,
    `notebooks` (named for it, joined), `file`, `is_named` (one of those notebooks wrote it),
    `n_hits`, `n_obs`, `n_by_chance`, `consistent`, as `analysis.forensics.provenance.sources`.
    A figure of which no file holds any quantity has one row without a file.
    """
    named = quoted.at(store, "README").groupby("subject", sort=False)["printed"].agg(list)
    written = store.query("SELECT file, notebook FROM published_file")
    held = store.query(HELD).dropna(subset=["value"])
    tables = [
        _look_up(store, str(place), notebooks, held, written) for place, notebooks in named.items()
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _look_up(
    store: Store, place: str, notebooks: list[str], held: pd.DataFrame, written: pd.DataFrame
) -> pd.DataFrame:
    shown = _display(store, place)
    values = held.merge(shown[["quantity"]].drop_duplicates(), on="quantity").assign(
        subject=lambda rows: rows["quantity"] + " of " + rows["subject"].astype(str)
    )
    result = provenance.sources(shown, values)
    if result.empty:
        result = pd.DataFrame({"file": [""], "n_hits": [0], "n_obs": [len(shown)]})
        result = result.assign(n_by_chance=0.0, consistent=False)
    by_file = written.set_index("file")["notebook"]
    return result.assign(
        place=place,
        notebooks=" and ".join(notebooks),
        is_named=result["file"].map(by_file).isin(notebooks),
    )


def _display(store: Store, place: str) -> pd.DataFrame:
    """Return the numbers of a figure; one without a value asks only for the subject."""
    shown = quoted.at(store, place)
    shown = shown[~shown["quantity"].isin(["p_value", "error_bar", "n_clipped", "gain_change"])]
    points = digitised.points(store, place) if place == "Fig. 5" else pd.DataFrame()
    if len(points):
        shown = pd.DataFrame(
            {
                "quantity": "l_star_empirical",
                "subject": points["model_id"],
                "printed": points["value"].astype(str),
                "accuracy": LAYER_ACCURACY,
            }
        )
    subject = shown["quantity"] + " of " + shown["subject"]
    return shown.assign(subject=subject)


def _check(store: Store, place: str, rows: pd.DataFrame) -> Check:
    notebooks = str(rows["notebooks"].iloc[0])
    named = rows[rows["is_named"]]
    n_obs = int(rows["n_obs"].iloc[0])
    hits = int(named["n_hits"].max()) if len(named) else 0
    best = rows[(rows["n_hits"] == rows["n_hits"].max()) & (rows["n_hits"] > 0)]["file"].tolist()
    known = store.facts("SELECT file, caveats FROM published_file")
    return Check(
        Label(place.lower().replace("§", "section "), f"{place} comes from {notebooks}"),
        "its numbers, looked up in the files that notebook wrote",
        None if not n_obs else bool(named["consistent"].any()),
        estimate=hits / n_obs if n_obs else float("nan"),
        n_obs=n_obs,
        evidence=(quoted.EVIDENCE, *sorted({*named["file"], *best})),
        caveats=caveats_of(known.loc[known["file"].isin(named["file"].tolist()), "caveats"]),
        method="share of the figure's numbers found for the same subject",
        note=f"{hits} of {n_obs} found. {_elsewhere(rows, best)}",
        measure="share",
    )


def _elsewhere(rows: pd.DataFrame, best: Sequence[str]) -> str:
    """Return in words which files hold the most of the figure's numbers."""
    if not best:
        return "No file holds any of them."
    result, n_obs = int(rows["n_hits"].max()), int(rows["n_obs"].iloc[0])
    how_many = "All" if result == n_obs else f"The most, {result} of {n_obs},"
    return f"{how_many} are in, or follow from, {' and '.join(best)}."
