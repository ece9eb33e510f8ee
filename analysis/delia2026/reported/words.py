"""What pages say of models that others measured, computed from the frames of this room."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import scipy

from analysis.delia2026.hierarchy.sensitivity import LEVEL, TERMS, fit_name, written
from analysis.delia2026.public.registration import OURS, PAPER
from analysis.delia2026.public.words import met, met_and_missed
from analysis.delia2026.reported import again, every_model
from analysis.delia2026.reported.every_model import REACH
from analysis.delia2026.reported.models import AS_PUBLISHED
from analysis.store import Store
from analysis.tidy import markdown, notation, prose
from analysis.tidy.columns import Column, once

#: Suites whose blocks multiply the stream by a stored number, so that its length is a convention.
SCALED = frozenset({"Gemma 4"})

#: Who measured, by source.
MEASURED_BY = {
    "reported": "others, from lengths that they published",
    "measured": "we, from files that people run",
    "published": "the paper, from its result files",
}

#: Who measured, of the row that counts each model once.
EVERY = "all, each counted once"

#: What one length is, by pooling.
POOLINGS = {
    "last_token": "length of the last token, as in the paper",
    "mean_of_lengths": "mean length of all tokens, the first included",
    "mean_of_lengths_without_first": "mean length of all tokens but the first",
    "length_of_mean": "length of the mean vector",
}

#: Gains of which the spread over prompts is told.
GAINS = {
    "gain_body": "mean of the blocks after the first",
    "gain_penultimate_block": "last block but one",
    "gain_last_block": "last block",
}

SOURCES = {
    "source": "Source", "n_models": "Models", "length": "What a length is", "token": "Tokens",
    "prompts": "Prompts", "dtype": "Format", "licence": "Licence",
}  # fmt: skip
LAW = Column("Law", "law", notation.typeset)
STATEMENT = Column("Prediction", "statement", notation.typeset)
SCORES = {
    "law": LAW, "paper": "The paper's, unknown", "ours": "Ours, unknown",
    "paper_seen": "The paper's, known before", "ours_seen": "Ours, known before",
}  # fmt: skip
PREDICTIONS = {
    "law": LAW, "statement": STATEMENT, "source": "Whose", "unseen": "Unknown",
    "seen": "Known before",
}  # fmt: skip
COUNTS = {"by": "Measured by", "n": "Models", "labs": "Labs", "also": "Of them also in a row above"}
AGREEMENT = {
    "first": "One profile", "second": "Another", "early": "One block earlier", "as_is": "As it is",
    "late": "One block later",
}  # fmt: skip
HIERARCHY = {
    "term": "Coefficient", "block": "Fit", "paper": "The paper's models",
    "both": "With those of others", "range": "One lab left out",
}  # fmt: skip


def shortening(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models whose gain is below 1 in every source; see `every_model`."""
    largest = rows.groupby("model_id")["gain"].transform("max")
    return rows[largest < 1]


def lengthening(rows: pd.DataFrame, lab: str) -> str:
    """Return the suites of a lab, all of whose gains are above 1, as a list; see `every_model`."""
    least = rows[rows["lab"] == lab].groupby("suite")["gain"].min()
    return prose.listing(sorted(least.index[least > 1])) or "no suite"


def finding(rows: pd.DataFrame) -> str:
    """Return which real models lengthen the stream, and whether the others could be compared."""
    below = shortening(rows)
    counted = _count(rows, below)
    found, suites = f"{counted['lengthen']} real models lengthen their vectors", counted["suites"]
    if below.empty:
        return f"{found}."
    if SCALED.issuperset(below["suite"].dropna()):
        return f"{found}; of the others, {suites}, the sign depends on how the weights are written."
    return f"{found}; {suites} shortens them."


def _count(rows: pd.DataFrame, below: pd.DataFrame) -> dict[str, str]:
    n, n_below = rows["model_id"].nunique(), below["model_id"].nunique()
    return {
        "lengthen": prose.share_of(n - n_below, n),
        "rest": prose.count(n_below),
        "suites": prose.listing(sorted(set(below["suite"].dropna().astype(str)))),
    }


def counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per source for print, and one of all, in which each model counts once."""
    models = {by: {*rows.loc[rows["source"] == by, "model_id"]} for by in MEASURED_BY}
    table, above = [], set[str]()
    for source, by in MEASURED_BY.items():
        labs = rows.loc[rows["source"] == source, "lab"].nunique()
        here = models[source]
        table.append({"by": by, "n": len(here), "labs": labs, "also": len(here & above)})
        above |= here
    every = {"by": EVERY, "n": len(above), "labs": rows["lab"].nunique()}
    return pd.DataFrame([*table, {**every, "also": prose.MISSING}]).astype(str)


def depth(rows: pd.DataFrame) -> str:
    """Return whether the average block's gain goes with the number of blocks, without a full stop.

    Of the last token only; a model in several sources counts once, by its mean gain.
    """
    last = rows[rows["pooling"] == AS_PUBLISHED]
    table = last.groupby("model_id").agg(gain=("gain", "mean"), n_layers=("n_layers", "first"))
    rank, p = scipy.stats.spearmanr(table["n_layers"], table["gain"])
    said = "are related" if p < LEVEL else "are not shown to be related"
    return (
        f"The gain of the average block and the number of blocks {said}. Their rank correlation is "
        f"{prose.number(rank)} over {len(table)} models ({prose.p_value(p)})"
    )


def exceeding(rows: pd.DataFrame) -> str:
    """Return how many models exceed the paper's bound at the last token, in every source."""
    last = rows[rows["pooling"] == AS_PUBLISHED]
    least = (last["gain"] / last["bound"]).astype(float).groupby(last["model_id"]).min()
    share = prose.share_of(int((least > 1).sum()), len(least))
    return f"{share} with filled marks exceed the paper’s bound."


def front(store: Store) -> dict[str, str]:
    """Return what a page says that shows no figure of it, `lengthen` and `rest` with `suites`.

    `lengthen`: in how many real models the average block lengthens the vectors; `rest`: how many
    are left, in words; `suites`: whose they are.
    """
    rows = every_model.every_model(store)
    return _count(rows, shortening(rows))


def sources(store: Store) -> pd.DataFrame:
    """Return a row per source for print: the columns of `SOURCES`, the first as Markdown."""
    rows = store.query(
        """
        SELECT s.*, count(DISTINCT f.model_id) AS n_models
          FROM reported_source AS s
          JOIN reported_figure AS f USING (source_id)
         GROUP BY ALL
         ORDER BY n_models DESC, source_id
        """
    )
    chat = (rows["rendering"] == "chat").map({True: ", in the chat template", False: ""})
    return rows.assign(
        source=[
            f"[{markdown.literal(name)}]({repository})"
            for name, repository in zip(rows["source_id"], rows["repository"], strict=True)
        ],
        length=rows["pooling"].map(POOLINGS),
        prompts=rows["prompts"].str.partition(":")[0] + chat,
        licence=rows["licence"].fillna("none stated"),
    )[[*SOURCES]]


def by_tokens(store: Store, model_id: str) -> str:
    """Return the gain of the last block of one model by the tokens that its sources count.

    Without the last full stop.
    """
    rows = store.query(
        """
        SELECT pooling, gain_last_block AS gain
          FROM raw.reported_gain
         WHERE model_id = $model_id AND gain_last_block IS NOT NULL
         ORDER BY gain DESC
        """,
        model_id=model_id,
    )
    first, *others = [
        f"{prose.number(gain)} by the {POOLINGS[pooling].partition(',')[0]}"
        for pooling, gain in zip(rows["pooling"], rows["gain"], strict=True)
    ]
    return f"{first}. It is {prose.listing(others)}" if others else first


def band(table: pd.DataFrame, metric: str) -> str:
    """Return how far one prompt moves a gain, in percent, as text; see `prompt_band`."""
    spread = float(table.loc[table["metric"] == metric, "estimate"].sum())
    return prose.percent(REACH * spread, 0)


def scores(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per law for print: how many outcomes were as predicted, by whom."""
    seen = outcomes["seen"]
    cells = {
        name + suffix: outcomes[which & (outcomes["source"] == source)]
        for name, source in (("paper", PAPER), ("ours", OURS))
        for suffix, which in (("", ~seen), ("_seen", seen))
    }
    return pd.DataFrame(
        [
            {"law": law} | {name: met(rows[rows["law"] == law]) for name, rows in cells.items()}
            for law in outcomes["law"].unique()
        ]
    )


def score(outcomes: pd.DataFrame, law: str, column: str) -> str:
    """Return one cell of `scores`."""
    return str(scores(outcomes).set_index("law").loc[law, column])


def predictions(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per registered prediction for print, the law where it begins."""
    rows = met_and_missed(outcomes)
    laws = outcomes.drop_duplicates("prediction")["law"].reset_index(drop=True)
    return rows.assign(law=once(laws))


def share(table: pd.DataFrame, block: str, models: str) -> str:
    """Return what one block explains alone, with its interval, as text; see `again.shares`."""
    chosen = (table["block"] == block) & (table["models"] == models) & (table["term"] == "alone")
    row = table[chosen].iloc[0]
    interval = prose.percent_interval(row["conf_low"], row["conf_high"])
    return f"{prose.percent(row['share'])} {interval}"


def overlapping(table: pd.DataFrame) -> str:
    """Return how many pairs of intervals of what blocks explain alone overlap, set by set."""
    alone = table[table["term"] == "alone"]
    pairs = [
        max(one[0], other[0]) <= min(one[1], other[1])
        for _, some in alone.groupby("models")
        for one, other in combinations(some[["conf_low", "conf_high"]].to_numpy().tolist(), 2)
    ]
    return prose.share_of(sum(pairs), len(pairs))


def beside(table: pd.DataFrame, model_id: str, column: str) -> str:
    """Return the gain of the average block of one model, here or in the paper's files, as text."""
    chosen = (table["model_id"] == model_id) & (table["metric"] == "gain_body")
    return prose.number(float(table.loc[chosen, column].iloc[0]), 3)


def agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `conventions.best` for print: names without the maker of the model."""
    columns = {-1: "early", 0: "as_is", 1: "late"}
    texts = {name: table[shift].map(prose.number) for shift, name in columns.items()}
    return table.assign(**texts, **{it: _profile(table[it]) for it in ("first", "second")})


def _profile(names: pd.Series[str]) -> pd.Series[str]:
    parts = names.str.partition(": ")
    return prose.short_name(parts[2]) + " (" + parts[0] + ")"


def coefficients(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `again.coefficients` for print, in percent of gain."""
    rows = []
    for (block, term), some in table.groupby(["block", "term"], sort=False):
        full = {
            name: written(some[(some["models"] == name) & (some["level"] == "")].iloc[0])
            for name in (again.PAPER_ALONE, again.WITH_REPORTED)
        }
        left = some.loc[some["level"] != "", "estimate"]
        rows.append(
            {
                "term": TERMS[str(term)],
                "block": f"fitted {fit_name(str(block))}",
                "paper": full[again.PAPER_ALONE],
                "both": full[again.WITH_REPORTED],
                "range": f"{prose.change(left.min())} to {prose.change(left.max())}",
            }
        )
    return pd.DataFrame(rows)


def found(table: pd.DataFrame) -> str:
    """Return which coefficients of `again.coefficients` stand out, and which turn without a lab."""
    by_models: dict[tuple[str, str], list[str]] = {}
    for models, some in table[table["level"] == ""].groupby("models", sort=False):
        is_alone = some["block"] != "all"
        below = _below(some[is_alone]), _below(some[~is_alone])
        by_models.setdefault(below, []).append(str(models))
    said = []
    for (alone, together), names in by_models.items():
        whom = "both sets of models" if len(names) > 1 else names[0].removeprefix("with ")
        said.append(
            f"Fitted singly, with {whom}, p is below .05 for {alone}; "
            f"fitted together, for {together}."
        )
    turned: dict[str, list[str]] = {}
    for (block, term), some in table.groupby(["block", "term"], sort=False):
        left = some.loc[some["level"] != "", "estimate"]
        if left.min() < 0 < left.max():
            turned.setdefault(TERMS[str(term)], []).append(fit_name(str(block)))
    terms = [f"{term} (fitted {prose.listing(hows)})" for term, hows in turned.items()]
    whose = prose.listing(terms) or "no coefficient"
    return " ".join([*said, f"Which lab is left out decides the sign of {whose}."])


def _below(rows: pd.DataFrame) -> str:
    terms = [TERMS[str(term)] for term in rows.loc[rows["p_value"] < LEVEL, "term"]]
    return prose.listing(terms) or "no coefficient"


def power(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `again.power` for print: a row per true difference, a column per set."""
    cells = table.assign(
        effect=table["true_value"].map(prose.change), cell=table["power"].map(prose.percent)
    )
    wide = cells.pivot_table(
        index="effect", columns="models", values="cell", aggfunc="first", sort=False
    )
    return wide.reset_index()
