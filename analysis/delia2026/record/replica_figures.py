"""The paper's Figures 1 to 3 as frames: what each really draws, and what we would draw instead.

Frames of two panels have a column `panel` with one of `PANELS`. *As drawn* repeats the figure
from the file it really came from, which is often not the file it is said to come from. *Primary*
shows the same models, or those that can be shown honestly, with our primary definition.
"""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence import quoted
from analysis.store import Store
from analysis.tidy import prose

AS_DRAWN, PRIMARY = "as the paper draws it", "with our primary definition"
PANELS = (AS_DRAWN, PRIMARY)

#: Blocks whose published gain is of one block of the stream: neither the first, which follows
#: the embedding, nor the last, which the files never hold (caveat B1).
_INNER_MEAN = """
    SELECT p.model_id, m.lab, m.suite, m.n_layers, p.file,
           exp(avg(ln(p.value))) AS gain_mean
      FROM published_profile AS p
      JOIN raw.model AS m USING (model_id)
     WHERE p.metric = 'gain_block' AND p.layer > 0 AND p.file = $file
     GROUP BY ALL
     ORDER BY p.model_id
"""


#: Up to here a printed mean counts as that of the file [ratio].
CLOSE = 1e-3

_COLUMNS = [
    *("panel", "model", "lab", "n_layers", "n_models"),
    *("gain_mean", "gain_low", "gain_high"),
]


def inner_gains(store: Store, file: str) -> pd.DataFrame:
    """Return one row per model of a file: geometric mean of the gains of its inner blocks [ratio].

    Columns are `model_id`, `lab`, `suite`, `n_layers`, `file`, `gain_mean`. The inner
    blocks are all but the first and the last.
    """
    return store.query(_INNER_MEAN, file=file)


def gains_by_depth(store: Store) -> pd.DataFrame:
    """Return Figure 1: one row per panel and Pythia model.

    Columns are `panel`, `model`, `n_layers` and `gain_mean` [ratio]. Drawn is the gain of the
    penultimate block; primary is the geometric mean over inner blocks.
    """
    drawn = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    return _panels(drawn, inner_gains(store, evidence.PYTHIA))


def prompts_behind(store: Store) -> str:
    """Return over how many prompts the gains of a Pythia model are means, in words."""
    gains = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    least, most = (prose.count(n) for n in gains["n_prompts"].agg(["min", "max"]))
    return least if least == most else f"{least} to {most}"


def gains_by_lab(store: Store) -> pd.DataFrame:
    """Return Figure 2, one row per panel and lab, or model in the primary panel.

    Columns are `panel`, `lab`, `model`, `gain_mean`, `gain_low`, `gain_high` [ratio], `n_models`.
    Drawn is the mean over the lab's models with one standard error to each side; primary shows
    each model, geometric mean over inner blocks, because models of a lab are no sample of it.
    """
    models = evidence.published_gains(store, "gain_penultimate_block", [evidence.HUNT])
    labs = models.groupby("lab", as_index=False).agg(
        gain_mean=("gain_mean", "mean"),
        gain_se=("gain_mean", "sem"),
        n_models=("gain_mean", "size"),
    )
    labs = labs.assign(
        model_id=labs["lab"],
        gain_low=labs["gain_mean"] - labs["gain_se"],
        gain_high=labs["gain_mean"] + labs["gain_se"],
    )
    return _panels(labs, inner_gains(store, evidence.HUNT).assign(n_models=1))


def printed_gains_by_lab(store: Store) -> pd.DataFrame:
    """Return one row per lab: the mean that Figure 2 gives [ratio], as `lab` and `gain_mean`."""
    printed = quoted.quoted(store)
    rows = printed[(printed["place"] == "Fig. 2") & (printed["quantity"] == "gain_by_lab")]
    return pd.DataFrame(
        {"lab": rows["subject"].to_numpy(), "gain_mean": rows["printed"].astype(float).to_numpy()}
    )


def equal_means(models: pd.DataFrame, printed: pd.DataFrame) -> str:
    """Return in how many labs the printed mean is that of the file, within `CLOSE`.

    ``models`` is `gains_by_lab`, ``printed`` is `printed_gains_by_lab`.
    """
    file = models[models["panel"] == PANELS[0]].drop_duplicates("lab").set_index("lab")["gain_mean"]
    both = printed.set_index("lab")["gain_mean"]
    return prose.share_of(int((file.reindex(both.index) - both).abs().le(CLOSE).sum()), len(both))


def count_below_one(models: pd.DataFrame) -> dict[str, str]:
    """Return, by panel, how many of the rows have a gain below 1: "4 of 8".

    ``models`` is `gains_by_depth` or `gains_by_lab`.
    """
    return {
        str(panel): prose.share_of(int((rows["gain_mean"] < 1).sum()), len(rows))
        for panel, rows in models.groupby("panel")
    }


def spectral_norms(store: Store) -> pd.DataFrame:
    """Return Figure 3: one row per model.

    Columns are `model`, `lab`, `value_norm`, `output_norm` [weight units], and `cut`: whether the
    matrix called W_V is W_V (caveat B2).
    """
    rows = store.query(
        """
        SELECT v.model_id, m.lab, v.mean AS value_norm, o.mean AS output_norm,
               list_contains(string_split(v.caveats, ','), 'B2') AS is_mixed
          FROM published_figure AS v
          JOIN published_figure AS o USING (model_id, file)
          JOIN raw.model AS m USING (model_id)
         WHERE v.metric = 'weight_spectral_v' AND o.metric = 'weight_spectral_o'
         ORDER BY v.model_id
        """
    )
    cut = rows["is_mixed"].map({True: "rows of Q, K and V mixed", False: "W_V"})
    return rows.assign(model=prose.short_name(rows["model_id"]), cut=cut)


def _panels(drawn: pd.DataFrame, primary: pd.DataFrame) -> pd.DataFrame:
    rows = pd.concat(
        [drawn.assign(panel=AS_DRAWN), primary.assign(panel=PRIMARY)], ignore_index=True
    )
    rows = rows.assign(model=prose.short_name(rows["model_id"]))
    return rows[[name for name in _COLUMNS if name in rows]]
