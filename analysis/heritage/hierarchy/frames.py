"""The data sets on which heritage, geometry and scale compete: one definition of gain each.

There are three levels of evidence: published figures of models, the published values of single
prompts where they were imported, and layers measured here. A data set never mixes definitions,
fine-tuned models are left out (they are no draws of their own from a lab), and so are post-norm
models, whose gain is 1 by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.audit.evidence import caveats_of
from analysis.heritage.sign.exchange import NAMED_LAB, OTHER
from analysis.store import Store

#: Definitions of gain that are published for several labs, and how a figure names them.
DEFINITIONS = {
    "gain_penultimate_block": "penultimate block",
    "gain_last_block": "last block",
    "gain_body": "mean over blocks",
}

FIGURES, PROMPTS, LAYERS = "published figures", "published prompts", "measured layers"


@dataclass(frozen=True, slots=True)
class DataSet:
    """Rows of one level of evidence under one definition of gain.

    Attributes
    ----------
    evidence_level
        ``published figures``, ``published prompts`` or ``measured layers``.
    metric
        Definition of gain, as in `metric`.
    rows
        One row per observation: `log_gain` [nat], `model_id`, `lab`, `suite`, `family`,
        `heritage`, `rho` [1], `d_head` [1], `n_layers` [1], `log_parameters` [1], and what
        `groups`, `weights` and `covariates` name.
    groups
        Grouping factors that may have a random intercept, the coarsest first.
    covariates
        Columns that vary within a model and are in every fit.
    weights
        Column of precisions, None when rows count the same.
    note
        What a reader must know of the rows.
    """

    evidence_level: str
    metric: str
    rows: pd.DataFrame
    groups: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    weights: str | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """Level of evidence and definition, as in ``published figures, last block``."""
        return f"{self.evidence_level}, {DEFINITIONS.get(self.metric, 'every block after 0')}"


def data_sets(store: Store) -> list[DataSet]:
    """Return the data sets that a store has rows for, published figures first."""
    return [*published_figures(store), *published_prompts(store), *measured_layers(store)]


def published_figures(store: Store) -> list[DataSet]:
    """Return one data set per definition: a row per base model and prompt set.

    The response is the logarithm of a mean ratio, averaged over the number formats in which a
    model was run on the same prompts. Its precision is the number of prompts where a model has
    several rows; elsewhere models differ by more than prompts, and all rows count the same.
    """
    rows = store.query(
        """
        SELECT metric, model_id, lab, suite, family, prompt_set,
               max(n_prompts)                    AS n_prompts,
               avg(log_gain)                     AS log_gain,
               rho, d_head, n_layers, log_parameters,
               string_agg(DISTINCT caveats, ',') AS caveats
          FROM gain_by_model
         WHERE source = 'published'
           AND base_model_id IS NULL
           AND norm_position IS DISTINCT FROM 'post'
           AND list_contains($metrics, metric)
         GROUP BY ALL
         ORDER BY model_id, prompt_set
        """,
        metrics=list(DEFINITIONS),
    )
    note = "One row per model and prompt set; the logarithm of a mean over prompts."
    return _by_definition(rows, FIGURES, ("lab", "suite", "model_id"), "n_prompts", note)


def published_prompts(store: Store) -> list[DataSet]:
    """Return one data set per definition: a row per base model and prompt of the raw files.

    The mean of the log gain over the files that hold the same model on the same prompt in
    several number formats; repetitions of a file are left out.
    """
    rows = store.query(
        """
        SELECT g.metric, g.model_id, m.lab, m.suite, m.family, g.prompt_id,
               avg(g.log_gain)                   AS log_gain,
               head_density(m.n_heads, m.d_head) AS rho,
               m.d_head,
               m.n_layers,
               log10(m.n_parameters)             AS log_parameters,
               string_agg(DISTINCT g.caveats, ',') AS caveats
          FROM (SELECT CASE v.metric WHEN 'total_amplification' THEN 'gain_body'
                                     ELSE v.metric
                        END AS metric,
                       v.model_id,
                       v.prompt_id,
                       v.caveats,
                       CASE v.metric WHEN 'total_amplification' THEN ln(v.value) / (d.n_layers - 1)
                                     ELSE ln(v.value)
                        END AS log_gain
                  FROM published_value AS v
                  JOIN published_file AS f USING (file)
                  JOIN model AS d ON d.model_id = v.model_id
                 WHERE v.statistic = 'value'
                   AND v.prompt_id IS NOT NULL
                   AND v.layer IS NULL
                   AND v.value > 0
                   AND f.duplicates IS NULL
                   AND list_contains($metrics, v.metric)) AS g
          JOIN model AS m ON m.model_id = g.model_id
         WHERE m.base_model_id IS NULL
           AND m.norm_position IS DISTINCT FROM 'post'
         GROUP BY ALL
         ORDER BY g.metric, g.model_id, g.prompt_id
        """,
        metrics=["gain_penultimate_block", "gain_last_block", "total_amplification"],
    )
    groups = ("lab", "suite", "model_id", "prompt_id")
    note = "One row per model and prompt; the mean log gain over number formats."
    return _by_definition(rows, PROMPTS, groups, None, note)


def measured_layers(store: Store) -> list[DataSet]:
    """Return the log gains measured here at the last token, block 0 left out.

    A row per model, prompt and layer; `relative_depth` is the layer over the last one, less
    its mean.
    """
    rows = store.query(
        """
        SELECT 'gain_block'                      AS metric,
               g.model_id,
               m.lab,
               m.suite,
               m.family,
               g.prompt_id,
               g.layer,
               g.log_gain,
               g.layer / (m.n_layers - 1)        AS relative_depth,
               head_density(m.n_heads, m.d_head) AS rho,
               m.d_head,
               m.n_layers,
               log10(m.n_parameters)             AS log_parameters
          FROM last_token_gain AS g
          JOIN primary_run USING (run_id)
          JOIN model AS m ON m.model_id = g.model_id
         WHERE g.layer > 0
           AND m.base_model_id IS NULL
           AND m.norm_position IS DISTINCT FROM 'post'
         ORDER BY g.model_id, g.prompt_id, g.layer
        """
    )
    if rows.empty:
        return []
    centred = rows["relative_depth"] - rows["relative_depth"].mean()
    labelled, note = with_heritage(rows.assign(relative_depth=centred))
    groups = ("lab", "suite", "family", "model_id", "model_id:layer", "prompt_id")
    note = f"One row per model, prompt and block after 0. {note}".strip()
    return [DataSet(LAYERS, "gain_block", labelled, groups, ("relative_depth",), None, note)]


def with_heritage(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with a column `heritage`, and what it stands for.

    The named lab against all others; the recipe (suite) where there is a single lab.
    """
    labs = set(rows["lab"])
    if len(labs) == 1:
        lab = next(iter(labs))
        note = f"All models are by {lab}: nothing can be said of labs; heritage is the recipe."
        return rows.assign(heritage=rows["suite"]), note
    is_named = rows["lab"] == NAMED_LAB
    return rows.assign(heritage=is_named.map({True: NAMED_LAB, False: OTHER})), ""


def _by_definition(
    rows: pd.DataFrame, level: str, groups: tuple[str, ...], weights: str | None, note: str
) -> list[DataSet]:
    sets = []
    for metric in DEFINITIONS:
        chosen = rows[rows["metric"] == metric].reset_index(drop=True)
        if not chosen.empty:
            labelled, about = with_heritage(chosen)
            whole = " ".join(filter(None, [note, _defects(chosen), about]))
            repeats = bool(labelled["model_id"].duplicated().any())
            precision = weights if repeats else None
            sets.append(DataSet(level, metric, labelled, groups, (), precision, whole))
    return sets


def _defects(rows: pd.DataFrame) -> str:
    """Return which known defects touch the rows, as a sentence."""
    result = caveats_of(rows["caveats"])
    return f"Known defects: {', '.join(result)}." if result else ""
