"""The paper's eight figures as frames: what each really draws, and what we would draw instead.

Frames of two panels have a column `panel` with one of `PANELS`. *As drawn* repeats the figure
from the file it really came from, which is often not the file it is said to come from. *Primary*
shows the same models, or those that can be shown honestly, with our primary definition.
"""

from __future__ import annotations

import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence import digitised, quoted
from analysis.heritage.transition import frames as l_star_frames
from analysis.heritage.transition import published as published_l_star
from analysis.store import Store
from analysis.tidy import prose

AS_DRAWN, PRIMARY = "as the paper draws it", "with our primary definition"
PANELS = (AS_DRAWN, PRIMARY)

#: The panels of Figure 5, whose second has another predictor, not another definition.
BY_SHARE = "predicted by the other suites’ share of the depth"
PREDICTORS = (AS_DRAWN, BY_SHARE)

#: Blocks whose published gain is of one block of the stream: neither the first, which follows
#: the embedding, nor the last, which the files never hold (caveat B1).
_INNER_MEAN = """
    SELECT p.model_id, m.lab, m.suite, m.n_layers, m.n_parameters, p.file,
           exp(avg(ln(p.value))) AS gain_mean
      FROM published_profile AS p
      JOIN model AS m USING (model_id)
     WHERE p.metric = 'gain_block' AND p.layer > 0 AND p.file = $file
     GROUP BY ALL
     ORDER BY p.model_id
"""


_COLUMNS = [
    *("panel", "model", "lab", "n_layers", "n_parameters", "n_models"),
    *("gain_mean", "gain_low", "gain_high", "sign"),
]


def inner_gains(store: Store, file: str) -> pd.DataFrame:
    """Return one row per model of a file: geometric mean of the gains of its inner blocks [ratio].

    Columns are `model_id`, `lab`, `suite`, `n_layers`, `n_parameters`, `file`, `gain_mean`. The
    inner blocks are all but the first and the last.
    """
    return store.query(_INNER_MEAN, file=file)


def gains_by_depth(store: Store) -> pd.DataFrame:
    """Return Figures 1 and 6: one row per panel and Pythia model.

    Columns are `panel`, `model`, `n_layers`, `n_parameters`, `gain_mean`, `gain_low`, `gain_high`
    [ratio] and `sign`. Drawn is the gain of the penultimate block, with one standard deviation
    over prompts to each side; primary is the geometric mean over inner blocks, of which the
    files hold no spread.
    """
    drawn = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    sizes = store.query("SELECT model_id, n_parameters FROM model")
    drawn = drawn.merge(sizes, on="model_id").assign(
        gain_low=lambda models: models["gain_mean"] - models["gain_sd"],
        gain_high=lambda models: models["gain_mean"] + models["gain_sd"],
    )
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
    """Return one row per lab: the mean that Figure 2 prints [ratio], as `lab` and `gain_mean`."""
    printed = quoted.quoted(store)
    rows = printed[(printed["place"] == "Fig. 2") & (printed["quantity"] == "gain_by_lab")]
    return pd.DataFrame(
        {"lab": rows["subject"].to_numpy(), "gain_mean": rows["printed"].astype(float).to_numpy()}
    )


def below_one(models: pd.DataFrame) -> dict[str, str]:
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
          JOIN model AS m USING (model_id)
         WHERE v.metric = 'weight_spectral_v' AND o.metric = 'weight_spectral_o'
         ORDER BY v.model_id
        """
    )
    cut = rows["is_mixed"].map({True: "rows of Q, K and V mixed", False: "W_V"})
    return rows.assign(model=prose.short_name(rows["model_id"]), cut=cut)


def spectral_profiles(store: Store) -> pd.DataFrame:
    """Return Figures 4 and 8: one row per model and layer, as read off Figure 8.

    Columns are `model`, `lab`, `layer`, `relative_depth` [1], `squared` [weight units squared],
    and `cut` as in `spectral_norms`.
    """
    rows = digitised.points(store, "Fig. 8")
    mixed = rows["caveats"].str.split(",").map(lambda names: "B2" in names)
    return rows.assign(
        model=prose.short_name(rows["model_id"]),
        relative_depth=(rows["layer"] + 1) / rows["n_layers"],
        squared=rows["value"],
        cut=mixed.map({True: "rows of Q, K and V mixed", False: "W_V"}),
    )


def transition_layers(store: Store) -> pd.DataFrame:
    """Return Figure 5: one row per panel and model.

    Columns are `panel`, `model`, `lab`, `estimate` (L* as read off) and `predicted` [layers]: by
    the formula as drawn; by the other suites' mean share of the depth in the second panel.
    """
    models = published_l_star.readings(store)[published_l_star.FIGURE]
    if models.empty:
        return pd.DataFrame(columns=["panel", "model", "lab", "estimate", "predicted"])
    shared = l_star_frames.constant_share(models)
    panels = {AS_DRAWN: models.assign(predicted=models["formula"])}
    panels[BY_SHARE] = shared.assign(predicted=shared["fitted"])
    rows = pd.concat([part.assign(panel=name) for name, part in panels.items()])
    return rows.assign(model=prose.short_name(rows["model_id"])).reset_index(drop=True)


def gains_by_prompt(store: Store) -> pd.DataFrame:
    """Return the marks of Figure 7, one row per Pythia model and prompt.

    Columns are `model` and `gain` [ratio] of the penultimate block.
    """
    rows = store.query(
        """
        SELECT model_id, value AS gain
          FROM raw_value
         WHERE file = $file AND metric = 'gain_penultimate_block' AND statistic = 'value'
           AND prompt_id IS NOT NULL
         ORDER BY model_id, prompt_id
        """,
        file=evidence.PYTHIA,
    )
    return rows.assign(model=prose.short_name(rows["model_id"]))


def _panels(drawn: pd.DataFrame, primary: pd.DataFrame) -> pd.DataFrame:
    rows = pd.concat(
        [drawn.assign(panel=AS_DRAWN), primary.assign(panel=PRIMARY)], ignore_index=True
    )
    rows = rows.assign(
        model=prose.short_name(rows["model_id"]),
        sign=rows["gain_mean"].lt(1).map({True: "below 1", False: "above 1"}),
    )
    return rows[[name for name in _COLUMNS if name in rows]]
