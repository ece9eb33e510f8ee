"""What pages say of public models, computed from the frames of `tokens` and `predictions`."""

from __future__ import annotations

import re

import pandas as pd

from analysis.delia2026.public.tokens import COUNTED, DEFINITIONS
from analysis.tidy import notation, prose
from analysis.tidy.columns import Column

#: Gains of the last block, by the tokens they count.
COUNTED_LAST = {
    "gain_last_block": COUNTED["last_token"],
    "gain_without_first": COUNTED["without_first"],
    "gain_whole_matrix": COUNTED["whole_matrix"],
}

#: Columns of the table of models.
MODELS = {
    "model": "Model",
    "lab": "Lab",
    "title": "Its own title",
    "n_layers": "L",
    "d_model": "d",
    "n_heads": "H",
    "parameters": "Parameters",
    "norms": "Norms",
    "quantisation": "Format",
    "bits": "Bits per weight",
}

#: What follows the name of a model in that of its file.
FORMAT = re.compile(r"[-.](instruct|awq|q\d+_).*$", re.IGNORECASE)

#: Gains below this are shown with more decimals [ratio].
LOW = 0.1

#: A first token is a *spike* where it is longer than the median token by more than this [ratio].
SPIKE = 10


def name(model_id: str) -> str:
    """Return the name of a model without its maker, its tuning and its format.

    >>> name("local/SmolLM2-135M-Instruct.Q4_1")
    'SmolLM2-135M'
    """
    return FORMAT.sub("", model_id.rpartition("/")[2])


def models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model for print; ``rows`` are those of `tokens.models`."""
    return rows.assign(
        model=rows["model_id"].map(name),
        parameters=[f"{prose.number(n / 1e6, 0)} M" for n in rows["n_parameters"]],
        bits=_cells(rows["bits"], 1),
        norms=rows["norm_kind"] + ", " + rows["norm_position"],
    )[[*MODELS]]


def last_gains(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of the last block: a row per model, a column per choice of tokens."""
    last = lengths[lengths["layer"] == lengths.groupby("model_id")["layer"].transform("max")]
    return last.pivot_table(index="model_id", columns="counted", values="gain")


def panel(rows: pd.DataFrame) -> str:
    """Return the title of one model's panel of lengths."""
    last = last_gains(rows).iloc[0]
    return (
        f"{name(str(rows['model_id'].iloc[0]))}: last block ×{prose.number(last['whole_matrix'])} "
        f"over all tokens, ×{prose.number(last['without_first'])} without the first"
    )


def turning(lengths: pd.DataFrame) -> str:
    """Return in how many models the last block shrinks the stream, with the first token and not."""
    last = last_gains(lengths)
    every, rest = (
        prose.share_of(int((last[column] < 1).sum()), len(last))
        for column in ("whole_matrix", "without_first")
    )
    return (
        f"With the first token counted, the last block shrinks the stream in {every} models; "
        f"without it, in {rest}."
    )


def falls(lengths: pd.DataFrame) -> str:
    """Return to what share of its peak the norm over all tokens falls by the end, by model."""
    every = lengths[lengths["counted"] == "whole_matrix"].sort_values("layer")
    length = every.groupby("model_id")["length"]
    shares = (length.last() / length.max()).sort_values()
    return prose.listing([f"{prose.percent(it)} in {name(str(of))}" for of, it in shares.items()])


def earlier(lengths: pd.DataFrame) -> str:
    """Return in how many models most of that fall, on the log scale, precedes the last block."""
    every = lengths[lengths["counted"] == "whole_matrix"].sort_values("layer")
    length = every.groupby("model_id")["length"]
    before = length.max() / length.agg(lambda it: it.iloc[-2])
    is_before = before > (length.max() / length.last()) ** 0.5
    names = prose.listing([name(str(it)) for it in is_before.index[is_before]])
    return f"{prose.share_of(int(is_before.sum()), len(is_before))} models" + (
        f" ({names})" if names else ""
    )


def longest_at_end(lengths: pd.DataFrame) -> str:
    """Return in how many models the norm over all tokens but the first is largest at the end."""
    rest = lengths[lengths["counted"] == "without_first"].sort_values("layer")
    length = rest.groupby("model_id")["length"]
    return prose.share_of(int((length.last() == length.max()).sum()), length.ngroups)


def spiked(sinks: pd.DataFrame) -> str:
    """Return in how many models the first token is a spike before some block; see `SPIKE`."""
    largest = sinks.groupby("model_id")["spike"].max()
    return prose.share_of(int((largest > SPIKE).sum()), len(largest))


def flips(table: pd.DataFrame) -> str:
    """Return how many of the definitions of gain a chat template takes across 1.

    ``table`` has a row per definition and the columns `plain` and `chat`.
    """
    known = table.loc[[metric for metric in DEFINITIONS if metric in table.index]]
    flipped = (known["plain"] < 1) != (known["chat"] < 1)
    return prose.share_of(int(flipped.sum()), len(known))


def sets(gains: pd.DataFrame) -> str:
    """Return in how many runs the last block shrinks the stream, by the tokens counted.

    ``gains`` are those of `tokens.gains`; a run is a model, a prompt set and a start token or none.
    """
    below = (gains["gain"] < 1).groupby(gains["metric"])
    shares = {metric: prose.share_of(int(it.sum()), len(it)) for metric, it in below}
    return (
        f"Over all tokens, the last block shrinks the stream in {shares['gain_whole_matrix']} "
        f"runs. Without the first token it does so in {shares['gain_without_first']}. "
        f"At the last token it does so in {shares['gain_last_block']}."
    )


def gain_rows(gains: pd.DataFrame, published: pd.DataFrame, prompt_set: str) -> pd.DataFrame:
    """Return a row per definition: gain of each public model, and as published, for print."""
    chosen = gains[(gains["prompt_set"] == prompt_set) & (gains["special_tokens"] == "default")]
    table = chosen.assign(model=chosen["model_id"].map(name)).pivot_table(
        index="metric", columns="model", values="gain"
    )
    table = table.reindex([metric for metric in DEFINITIONS if metric in table.index])
    printed = published.set_index("metric")["gain"].reindex(table.index)
    cells = table.map(lambda it: prose.number(it, 2 if it > LOW else 4)).assign(
        published=_cells(printed)
    )
    return cells.reset_index().assign(metric=lambda rows: rows["metric"].map(DEFINITIONS))


def met(outcomes: pd.DataFrame) -> str:
    """Return in how many outcomes the prediction was met; a dash where there is none."""
    n_met = int(outcomes["is_met"].sum())
    return prose.share_of(n_met, len(outcomes)) if len(outcomes) else prose.MISSING


def met_and_missed(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per registered prediction: how often it was met, known before and not."""
    return pd.DataFrame(
        [
            {
                "statement": part["statement"].iloc[0],
                "source": part["source"].iloc[0],
                "seen": met(part[part["seen"]]),
                "unseen": met(part[~part["seen"]]),
            }
            for _, part in outcomes.groupby("prediction", sort=False)
        ]
    )


def _compare(relation: str, bound: float) -> str:
    sign = {"<=": "≤"}.get(relation, relation)
    return f"{sign}\u00a0{prose.number(bound, 3)}"


#: The table of `met_and_missed`.
COUNTS = {
    "statement": Column("Prediction", "statement", notation.typeset),
    "source": Column("Whose", "source"),
    "seen": Column("Known before", "seen"),
    "unseen": Column("Unknown", "unseen"),
}
#: The table of predictions that were not met.
MISSES = {
    "statement": Column("Prediction", "statement", notation.typeset, once=True),
    "model": Column(
        "Model", "model_id", lambda it: name(it) if isinstance(it, str) else "between models"
    ),
    "set": Column("Prompts", "prompt_set", lambda it: str(it).partition("_")[0]),
    "policy": Column("Start token", "special_tokens"),
    "estimate": Column("Estimate", "estimate", lambda it: prose.number(it, 3)),
    "asked": Column("Predicted", ["relation", "bound"], _compare),
}


def _cells(values: pd.Series[float], digits: int = 2) -> list[str]:
    return [prose.number(float(it), digits) for it in values]
