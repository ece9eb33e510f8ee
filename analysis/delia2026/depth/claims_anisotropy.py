"""The claim that anisotropy over depth has five phases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store

PHASES = 5

#: Fewest blocks in which five phases of two steps each have room.
FEWEST_BLOCKS = 10

#: Columns of anisotropy that are read, and their words.
MEASURES = {
    "mean_cosine": Label("cosine", "mean cosine between tokens"),
    "mean_cosine_body": Label("cosine_body", "the same without position 0"),
}


@claim(51)
def five_phases(store: Store) -> Sequence[Check]:
    """Check claim 51: anisotropy over depth has five phases, not three."""
    part = "anisotropy over depth has five phases"
    return [
        evidence.missing(
            part,
            Label("published", "published profiles"),
            "no file of the paper holds the anisotropy of any layer",
        ),
        *(
            _phases_check(
                part, Label("ours", "models measured here, ") + words, phases(store, column)
            )
            for column, words in MEASURES.items()
        ),
    ]


def phases(store: Store, column: str) -> pd.DataFrame:
    """Return one row per model measured here: how many phases its anisotropy has over depth.

    A phase is a longest run of blocks over which anisotropy goes one way. A step goes a way if
    the 95 % t interval over prompts of its change excludes 0; other steps end no phase.

    Parameters
    ----------
    store
        Measurements; primary runs count.
    column
        ``mean_cosine`` or ``mean_cosine_body`` of `token_geometry`.

    Returns
    -------
    Columns `model_id`, `suite`, `n_layers`, `in_paper` (whether the paper has figures of the
    model), `n_steps` (changes from block to block that the prompts identify), `n_phases`,
    `n_by_chance` (phases that as many independent values have on average), `file`, `caveats`.
    """
    profiles = store.query(
        f"""
        SELECT t.model_id, m.suite, m.n_layers, t.prompt_id,
               CASE t.site WHEN 'block_input' THEN -1 ELSE t.layer END AS depth,
               t.{column} AS cosine,
               t.model_id IN (SELECT model_id FROM published_figure) AS in_paper
          FROM token_geometry AS t
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = t.model_id
         WHERE t.site IN ('block_input', 'block_output')
           AND t.{column} IS NOT NULL
         ORDER BY t.model_id, t.prompt_id, depth
        """
    )
    designs = profiles.drop_duplicates("model_id")[["model_id", "suite", "n_layers", "in_paper"]]
    table = profiles.pivot_table(index=["model_id", "prompt_id"], columns="depth", values="cosine")
    rows = []
    for design in designs.to_dict("records"):
        by_prompt = table.loc[design["model_id"]].dropna(axis="columns", how="all")
        ways = directions(by_prompt)
        rows.append(
            design
            | {
                "n_steps": int((ways != 0).sum()),
                "n_phases": runs(ways),
                "n_by_chance": (2 * by_prompt.shape[1] - 1) / 3,
            }
        )
    return pd.DataFrame(rows).assign(file="", caveats="")


def directions(by_prompt: pd.DataFrame) -> np.ndarray:
    """Return the sign of each step over depth: 1 up, -1 down, 0 if the interval covers 0.

    ``by_prompt`` has one row per prompt and one column per depth, in order.

    >>> directions(pd.DataFrame([[0.0, 1.0, 0.4], [0.0, 1.1, 0.6], [0.0, 0.9, 0.5]])).tolist()
    [1, -1]
    """
    steps = np.diff(by_prompt.to_numpy(dtype=np.float64), axis=1)
    n = len(steps)
    if n < 2:
        return np.zeros(steps.shape[1], dtype=np.intp)
    reach = scipy.stats.t.ppf(0.975, n - 1) * steps.std(axis=0, ddof=1) / math.sqrt(n)
    centre = steps.mean(axis=0)
    return np.where(np.abs(centre) > reach, np.sign(centre), 0).astype(np.intp)


def runs(ways: np.ndarray) -> int:
    """Return the number of runs of one way among the steps that have one.

    >>> runs(np.array([1, 0, 1, -1, 0, 1])), runs(np.array([0, 0]))
    (3, 0)
    """
    known = ways[ways != 0]
    return int((np.diff(known) != 0).sum() + 1) if len(known) else 0


def _phases_check(part: str, condition: str, models: pd.DataFrame) -> Check:
    """Decide by the paper's own models if they have been measured; show any others."""
    if models.empty:
        return evidence.missing(part, condition, "no geometry of tokens has been measured")
    counted = models[models["in_paper"] & (models["n_layers"] >= FEWEST_BLOCKS)]
    shown = counted if len(counted) else models
    values = shown["n_phases"]
    note = (
        f"They have between {values.min()} and {values.max()} phases; independent values would "
        f"have {shown['n_by_chance'].mean():.1f} on average."
    )
    undecided = f"Only models of the paper with at least {FEWEST_BLOCKS} blocks count."
    return evidence.check(
        part,
        condition,
        bool((values == PHASES).all()) if len(counted) else None,
        shown,
        decides=len(counted) > 0,
        estimate=float(values.median()),
        evidence=(evidence.OURS,),
        method="median over models of the number of monotone runs over depth, steps identified by "
        "t intervals over prompts",
        note=note if len(counted) else f"{note} {undecided}",
    )
