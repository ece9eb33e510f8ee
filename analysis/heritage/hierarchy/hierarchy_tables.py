"""What the report shows and says of the hierarchy: its views, its tables, its numbers in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.audit.pages.tables import Words
from analysis.heritage.hierarchy import hierarchy
from analysis.heritage.hierarchy.frames import LAYERS
from analysis.heritage.hierarchy.hierarchy_charts import PREDICTORS
from analysis.heritage.hierarchy.models import EVERYTHING, GEOMETRY_AND_SCALE, NOTHING, Family
from analysis.tidy import prose

SEED = 20260106

#: Draws per fit. Layers have many rows per model and shares far from zero, where fewer will do.
RESAMPLES, RESAMPLES_OF_LAYERS = 159, 79

#: A smaller share prints as below one per cent.
LEAST_SHARE = 0.005

#: The definition of gain that most models were published with.
MAIN = "gain_penultimate_block"

#: How a table names a group.
GROUPS = {
    "model_id": "model",
    "model_id:layer": "layer in model",
    "prompt_id": "prompt",
}

#: Headers of the tables.
EFFECTS = {
    "predictor": "Predictor",
    "block": "Beside",
    "estimate": "Coefficient",
    "interval": "95 % interval",
    "per_unit": "Per unit",
    "df": "df",
    "p": "p",
    "inflation": "Inflation",
}
COMPONENTS = {
    "data_set": "Rows",
    "group": "Group",
    "before_sd": "SD",
    "before_share": "Share",
    "before_interval": "95 % interval",
    "after_sd": "SD after",
    "after_share": "Share after",
    "after_interval": "95 % interval after",
}


@dataclass(frozen=True, slots=True)
class Views:
    """The frames of the fitted families; see the functions of `heritage.hierarchy`.

    Attributes
    ----------
    effects
        `fixed_effects`.
    permutations
        `heritage_permutations`.
    components
        `variance_components`.
    modes
        `conditional_modes` of the first data set, before and after geometry and scale enter.
    """

    effects: pd.DataFrame
    permutations: pd.DataFrame
    components: pd.DataFrame
    modes: pd.DataFrame

    @property
    def alone(self) -> dict[str, Told]:
        """Coefficients of the main definition in the fit of their own block, by predictor."""
        rows = _main(self.effects)
        return _by_predictor(rows[rows["block"] != EVERYTHING])

    @property
    def beside(self) -> dict[str, Told]:
        """Coefficients of the main definition in the fit of all blocks, by predictor."""
        rows = _main(self.effects)
        return _by_predictor(rows[rows["block"] == EVERYTHING])

    @property
    def recipes(self) -> Told:
        """Difference between the recipes of the models measured here."""
        return self._heritage("gain_block")

    @property
    def last_block(self) -> Told:
        """Difference of the named lab from the others in the gain of the last block."""
        return self._heritage("gain_last_block")

    @property
    def exchanged(self) -> dict[str, Told]:
        """Exact tests of heritage alone in the main definition, by unit exchanged."""
        rows = _main(self.permutations)
        chosen = rows[rows["block"] == "heritage"]
        return {str(row["group"]): Told(row) for row in chosen.to_dict("records")}

    def shares(self, metric: str = MAIN) -> dict[str, Told]:
        """Return shares of variance before geometry and scale enter, by group."""
        rows = _main(self.components, metric)
        chosen = rows[rows["block"] == NOTHING]
        records = chosen.assign(estimate=chosen["variance_share"]).to_dict("records")
        return {str(row["group"]): Told(row) for row in records}

    @property
    def others(self) -> str:
        """Labs that the named one is set against, with the noun."""
        return prose.plural(int(self.alone["heritage"].row["n_labs"]) - 1, "other")

    def _heritage(self, metric: str) -> Told:
        rows = _main(self.effects, metric)
        return _by_predictor(rows[rows["block"] == "heritage"])["heritage"]


class Told(Words):
    """The numbers of one row in words: those of a check, and those that only models have."""

    @property
    def df(self) -> str:
        """Degrees of freedom."""
        return prose.number(self.row["df"], 1)

    def percent_interval(self) -> str:
        """Return the 95 % interval of a share as the table of components prints it."""
        return _percent_interval(self.row)

    def interval(self, digits: int = 2) -> str:
        """Return the 95 % interval, or that there is none for want of degrees of freedom."""
        if np.isinf(self.row["conf_low"]) and np.isinf(self.row["conf_high"]):
            return "not estimable"
        return super().interval(digits)

    @property
    def zero(self) -> str:
        """Whether the interval contains zero."""
        is_inside = self.row["conf_low"] <= 0 <= self.row["conf_high"]
        return "contains 0" if is_inside else "excludes 0"

    @property
    def inflation(self) -> str:
        """By how much the other predictors inflate the variance of the estimate."""
        return prose.number(self.row["variance_inflation"], 1)

    @property
    def least_p(self) -> str:
        """The smallest p that the test can give."""
        return prose.bare(prose.p_value(self.row["smallest_p"]))

    @property
    def labs(self) -> str:
        """Number of labs, with the noun."""
        return prose.plural(int(self.row["n_labs"]), "lab")


def views(families: Sequence[Family]) -> Views:
    """Return all views of the fitted families, drawn with one seed."""
    first = families[:1]
    modes = [hierarchy.conditional_modes(first, step) for step in (NOTHING, GEOMETRY_AND_SCALE)]
    return Views(
        effects=hierarchy.fixed_effects(families),
        permutations=hierarchy.heritage_permutations(families),
        components=_components(families, np.random.default_rng(SEED)),
        modes=pd.concat(modes, ignore_index=True),
    )


def effect_rows(effects: pd.DataFrame, metric: str = MAIN) -> pd.DataFrame:
    """Return one row per coefficient of one definition, formatted for print."""
    rows = _main(effects, metric).dropna(subset=["estimate"])
    items = [Told(row) for row in rows.to_dict("records")]
    return pd.DataFrame(
        {
            "predictor": [PREDICTORS[name] for name in rows["term"].str.partition("[")[0]],
            "block": [_beside(block) for block in rows["block"]],
            "estimate": [each.value(3) for each in items],
            "interval": [each.interval(3) for each in items],
            "per_unit": [prose.number(value, 4) for value in rows["estimate_per_unit"]],
            "df": [each.df for each in items],
            "p": [each.p.removeprefix("p").lstrip(f"={prose.NO_BREAK}") for each in items],
            "inflation": [each.inflation for each in items],
        }
    )


def component_rows(components: pd.DataFrame) -> pd.DataFrame:
    """Return one row per data set and group: shares before and after, formatted for print."""
    estimated = components[components["group"] != ""]
    rows = []
    for (data_set, group), steps in estimated.groupby(["data_set", "group"], sort=False):
        row = {"data_set": str(data_set), "group": GROUPS.get(str(group), str(group))}
        for block, name in ((NOTHING, "before"), (GEOMETRY_AND_SCALE, "after")):
            selection = steps[steps["block"] == block]
            row |= _absent(name) if selection.empty else _component(selection.iloc[0], name)
        rows.append(row)
    return pd.DataFrame(rows)


def _components(families: Sequence[Family], rng: np.random.Generator) -> pd.DataFrame:
    parts = []
    for family in families:
        is_layers = family.data_set.evidence_level == LAYERS
        draws = RESAMPLES_OF_LAYERS if is_layers else RESAMPLES
        parts.append(hierarchy.variance_components([family], rng=rng, n_resamples=draws))
    return pd.concat(parts, ignore_index=True)


def _component(row: pd.Series[Any], name: str) -> dict[str, str]:
    return {
        f"{name}_sd": prose.number(float(np.sqrt(row["variance"])), 3),
        f"{name}_share": _percent(row["variance_share"]),
        f"{name}_interval": _percent_interval(row),
    }


def _percent_interval(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    return f"[{_percent(row['conf_low'])},{prose.NO_BREAK}{_percent(row['conf_high'])}]"


def _percent(share: float) -> str:
    """Return a share in whole per cent; what would print as 0 without being it is below 1."""
    if 0 < share < LEAST_SHARE:
        return f"<{prose.NO_BREAK}1{prose.NO_BREAK}%"
    return prose.percent(share)


def _absent(name: str) -> dict[str, str]:
    return dict.fromkeys((f"{name}_sd", f"{name}_share", f"{name}_interval"), prose.MISSING)


def _beside(block: str) -> str:
    return "all blocks" if block == EVERYTHING else "its block"


def _main(rows: pd.DataFrame, metric: str = MAIN) -> pd.DataFrame:
    """Return the rows of the first data set that has a definition: figures before prompts.

    Raises
    ------
    LookupError
        If no data set has it.
    """
    chosen: pd.DataFrame = rows[rows["metric"] == metric]
    if chosen.empty:
        raise LookupError(f"no data set has the definition {metric!r}")
    first: pd.DataFrame = chosen[chosen["data_set"] == chosen["data_set"].iloc[0]]
    return first


def _by_predictor(rows: pd.DataFrame) -> dict[str, Told]:
    records = rows.assign(predictor=rows["term"].str.partition("[")[0]).to_dict("records")
    return {str(row["predictor"]): Told(row) for row in records}
