"""The frames behind the report's figures and tables, each named for its row.

A figure draws one of these frames; the numbers in them come from the store and from the
same functions the verdicts use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis import audit as claims
from analysis.audit import evidence
from analysis.audit.pages import estimates as estimates_shown
from analysis.heritage.sign import claims_benchmark as benchmark
from analysis.heritage.sign import claims_ranking as ranking
from analysis.heritage.sign import readings
from analysis.heritage.tuning import claims_finetuning as finetuning
from analysis.heritage.weights import claims_spectral as spectral
from analysis.inference.partition import partition
from analysis.store import Store
from analysis.tidy import notation, prose

#: The columns of the frames here that are Markdown, made of data by functions that escape it.
MARKUP = ("statement", "verdict", "symbol", "definition", "title", "explanation")


@dataclass(frozen=True, slots=True)
class Words:
    """The numbers of one check, as text for a sentence.

    Attributes
    ----------
    row
        One row of `analysis.audit.checks` or `analysis.audit.evaluate`.
    """

    row: Mapping[Any, Any]

    def value(self, digits: int = 2) -> str:
        """Return the estimate with a fixed count of decimals."""
        return prose.number(self.row["estimate"], digits)

    def percent(self, digits: int = 0) -> str:
        """Return the estimate, a share, as a percentage."""
        return prose.percent(self.row["estimate"], digits)

    def interval(self, digits: int = 2) -> str:
        """Return the 95 % interval, a dash where there is none."""
        return prose.interval(self.row["conf_low"], self.row["conf_high"], digits)

    @property
    def hits(self) -> str:
        """The estimate, a share, as a count out of the rows it was taken over."""
        whole = int(self.row["n_obs"])
        return prose.share_of(round(self.row["estimate"] * whole), whole)

    def percent_interval(self) -> str:
        """Return the 95 % interval of a share."""
        return prose.percent_interval(self.row["conf_low"], self.row["conf_high"])

    @property
    def p(self) -> str:
        """The p-value, as an equation."""
        return prose.p_value(self.row["p_value"])

    @property
    def bare_p(self) -> str:
        """The p-value without its letter, for a column that is headed p."""
        return prose.bare(self.p)

    @property
    def models(self) -> str:
        """Number of models, with the noun."""
        return prose.plural(int(self.row["n_models"]), "model")

    @property
    def suites(self) -> str:
        """Number of suites, with the noun."""
        return prose.plural(int(self.row["n_suites"]), "suite")

    @property
    def counted(self) -> str:
        """Return the note without its full stop, for use inside a sentence."""
        return self.note.removesuffix(".")

    @property
    def note(self) -> str:
        """What a reader must know, numbers kept with their units."""
        return prose.bound(str(self.row["note"]))


def words(made: Sequence[claims.Check], kind: evidence.Kind) -> list[Words]:
    """Return the checks of one claim, in their order, ready for sentences.

    ``kind`` is that of the claim: it decides what a reading counts for beside the others.
    """
    return [Words(row) for row in claims.check_records(made, kind)]


def verdict_rows(judged: pd.DataFrame, claim_ids: Sequence[int] | None = None) -> pd.DataFrame:
    """Return one row per claim, formatted for print: what was claimed, found and concluded."""
    chosen = judged if claim_ids is None else judged[judged["claim_id"].isin(claim_ids)]
    rows = chosen.to_dict("records")
    return pd.DataFrame(
        {
            "claim": [str(row["claim_id"]) for row in rows],
            "statement": [notation.typeset(row["statement"]) for row in rows],
            "verdict": [prose.verdict_mark(row["verdict"]) for row in rows],
            "estimate": [estimates_shown.estimate(row) for row in rows],
            "interval": [estimates_shown.interval(row) for row in rows],
            "p": [prose.bare(prose.p_value(row["p_value"])) for row in rows],
            "models": [_models(row["n_models"], row["n_suites"]) for row in rows],
        }
    )


#: Columns of the short table of verdicts; the numbers of each claim stand on its card.
SHORT = {"claim": "No.", "statement": "Claim", "verdict": "Verdict"}


def verdict_table(judged: pd.DataFrame, claim_ids: Sequence[int] = ()) -> str:
    """Return a Markdown table of some claims, or of all: number, statement, verdict.

    Each number is a link to the card of its claim.
    """
    rows = verdict_rows(judged, list(claim_ids) or None)
    linked = rows.assign(claim=[f"[{n}](claims.html#claim-{n})" for n in rows["claim"]])
    return prose.pipe_table(linked, SHORT, markup=[*MARKUP, "claim"])


def verdict_counts(judged: pd.DataFrame) -> dict[str, int]:
    """Return how many claims have each verdict."""
    counted = judged["verdict"].value_counts()
    return {name: int(counted.get(name, 0)) for name in claims.VERDICTS}


def verdict_labels(judged: pd.DataFrame, *, width: int = 32) -> pd.DataFrame:
    """Return one row per claim with a short label for the axis of a chart."""
    short = [
        text if len(text) <= width else text[: width - 1].rstrip() + "…"
        for text in judged["statement"]
    ]
    labels = [f"{number}  {text}" for number, text in zip(judged["claim_id"], short, strict=True)]
    return judged.assign(label=labels)


def evidence_size(store: Store) -> dict[str, str]:
    """Return how much evidence there is: figures, files, models published and measured."""
    row = store.query(
        """
        SELECT (SELECT count(*) FROM published_file)                   AS n_raw_files,
               (SELECT count(*) FROM published_figure)                 AS n_figures,
               (SELECT count(DISTINCT file) FROM published_figure)     AS n_files,
               (SELECT count(DISTINCT model_id) FROM published_figure) AS n_models,
               (SELECT count(DISTINCT model_id) FROM run)              AS n_measured
        """
    ).iloc[0]
    return {str(name): prose.count(value) for name, value in row.items()}


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
    every, kept = sets[readings.EVERY], sets[readings.KEPT]
    out = every[~every["model_id"].isin(kept["model_id"])]
    return {
        "all": prose.plural(len(every), "base model"),
        "kept": prose.plural(len(kept), "base model"),
        "n_left_out": prose.plural(len(out), "model"),
        "left_out": prose.listing(prose.short_name(out["model_id"]).tolist()),
        "left_out_gain": prose.listing([prose.number(gain, 4) for gain in out["gain_mean"]]),
    }


def linked(numbers: str) -> str:
    """Return numbers of claims in words as Markdown, each number a link to its card.

    ``quarto/filters/site.lua`` makes the links; sources may write the same span.

    >>> linked("1 to 2, 4")
    '[1 to 2, 4]{.claims}'
    """
    return f"[{numbers}]{{.claims}}"


#: What is said of one claim with a verdict, and of several.
COUNTED = {
    "reproduced": ("is reproduced", "are reproduced"),
    "depends on the reading": ("depends on the reading", "depend on the reading"),
    "contradicted": ("is contradicted", "are contradicted"),
    "undecided": ("is undecided", "are undecided"),
    "no data": ("is without data", "are without data"),
}


def counted(n: int, verdict: str) -> str:
    """Return how many claims have a verdict, as a clause.

    >>> counted(1, "undecided"), counted(3, "depends on the reading")
    ('1 is undecided', '3 depend on the reading')
    """
    return f"{prose.count(n)} {COUNTED[verdict][n != 1]}"


def judged_by_interval(judged: pd.DataFrame) -> str:
    """Return the numbers of the claims whose rule decides by an interval, as links in a list.

    ``judged`` has one row per claim: `claim_id`, `rule`; see `analysis.audit.evaluate`.
    """
    chosen = judged[judged["rule"].str.contains("interval")]
    return linked(prose.listing([str(claim_id) for claim_id in chosen["claim_id"]]))


def claims_read(made: Mapping[int, Sequence[claims.Check]], words: str) -> str:
    """Return the numbers of the claims with a reading whose condition has some words, as links.

    ``made`` has the checks of each claim; see `analysis.audit.examine`.
    """
    found = [claim_id for claim_id, of in made.items() if any(words in it.condition for it in of)]
    return linked(prose.listing([str(claim_id) for claim_id in found]))


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


def shares(store: Store) -> pd.DataFrame:
    """Return one row per block: Shapley share of R2 in log gain with a suite-bootstrap interval."""
    return partition.shapley(
        ranking.hierarchy_models(store),
        response="log_gain",
        blocks=ranking.BLOCKS,
        cluster="suite",
        n_resamples=ranking.RESAMPLES,
        rng=np.random.default_rng(ranking.SEED),
    )


def definitions(store: Store) -> pd.DataFrame:
    """Return one row per model of the benchmark and definition of gain."""
    spoken = {
        "gain_last_block": "last block, last token",
        "gain_penultimate_block": "penultimate block",
        "gain_whole_matrix": "last block, all tokens",
        "gain_body": "mean over blocks",
    }
    rows = benchmark.definitions(store)
    return rows.assign(
        definition=rows["metric"].map(spoken), model=prose.short_name(rows["model_id"])
    )


def gain_definitions(store: Store) -> pd.DataFrame:
    """Return one row per definition of gain, formatted for print: symbol; definition and name."""
    rows = store.query("FROM gain_definition ORDER BY metric")
    explained = zip(rows["definition"], rows["metric"], strict=True)
    return pd.DataFrame(
        {
            "symbol": rows["symbol"].map(notation.typeset),
            "definition": [
                f"{notation.typeset(text)} {prose.code(name)}" for text, name in explained
            ],
        }
    )


def caveats(store: Store) -> pd.DataFrame:
    """Return one row per known defect, formatted for print: its number and name, what it does.

    Cards lead to its name, whose anchor ends in its number.
    """
    rows = store.query("FROM caveat ORDER BY CAST(substr(caveat_id, 2) AS INTEGER)")
    named = zip(rows["caveat_id"], rows["title"], strict=True)
    return pd.DataFrame(
        {
            "title": [_anchored(f"{number}. {title}", str(number)) for number, title in named],
            "explanation": rows["explanation"].map(notation.typeset),
        }
    )


def _anchored(words: str, name: str) -> str:
    """Return words as Markdown that can be led to by the name of a defect."""
    return f"[{prose.literal(words)}]{{#caveat-{re.sub(r'[^A-Za-z0-9-]', '', name)}}}"


def benchmark_order() -> list[str]:
    """Return the short names of the benchmark's models in the claimed order."""
    return [name.partition("/")[2] for name in benchmark.ORDER]


def spectral_norms(store: Store) -> pd.DataFrame:
    """Return one row per model: mean spectral norms of W_V and W_O."""
    models = spectral.weights(store)
    return models.assign(model=prose.short_name(models["model_id"]))


def published_traces(store: Store) -> pd.DataFrame:
    """Return one row per model and layer: the published multi-head trace."""
    layers = store.query(
        """
        SELECT p.model_id, m.lab, p.layer, p.value AS trace,
               (p.layer + 1) / m.n_layers AS relative_depth
          FROM published_profile AS p
          JOIN model AS m USING (model_id)
         WHERE p.metric = 'trace_multi_head' AND p.file = $file
         ORDER BY p.model_id, p.layer
        """,
        file=evidence.TRACES,
    )
    return layers.assign(model=prose.short_name(layers["model_id"]))


def twins(store: Store) -> pd.DataFrame:
    """Return one row per pair of base and instruct model."""
    pairs = finetuning.twins(store)
    return pairs.assign(family=pairs["suite"])


def dampening_twins(store: Store) -> str:
    """Return how many of the base models compared with an instruct version dampen, in words."""
    pairs = finetuning.twins(store)
    return prose.share_of(int((pairs["gain_mean_base"] < 1).sum()), len(pairs))


def _models(models: float, suites: float) -> str:
    r"""Return a number of models with that of their suites.

    >>> _models(16, 7), _models(0, 0)
    ('16\xa0(7)', '–')
    """
    return (
        f"{prose.count(models)}{prose.NO_BREAK}({prose.count(suites)})" if models else prose.MISSING
    )
