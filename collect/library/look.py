"""One screen on a model: does it speak, which tokens stand out, its sign by every definition."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from collect.job.settings import Settings
from collect.library.measuring import measure
from collect.model.checkpoint.load import load_model, load_tokenizer
from collect.model.checkpoint.location import locate
from collect.model.conformance.header_agreement import contradictions
from collect.model.conformance.refusal import refuse_misread
from collect.process.interruption import interruptible
from collect.schema import connect, views_sql
from collect.schema.counting import counted

#: A paragraph, sentence by sentence: prompts of their own, and together one.
SENTENCES = (
    "The river rises in the hills and reaches the sea after two hundred miles.",
    "In spring the snow melts, and the water comes up to the doors of the mill.",
    "My grandmother told me that she had learned to swim there when she was six.",
    "We take the early train to the city and come home before it gets dark.",
    "The library opens at nine, but on Mondays it stays closed all day.",
    "He put the letter on the table and waited until she had read it.",
    "If you add salt to the water, it boils at a slightly higher temperature.",
    "Nobody knew why the lights had gone out or when they would come back.",
)

#: Name of the prompts, and of those that are no sentence.
_SET, _PARAGRAPH, _SORTED = "look", "look:paragraph", "look:sorted"

#: Definitions of gain: the view that has it, and its metric there.
DEFINITIONS: MappingProxyType[str, tuple[str, str]] = MappingProxyType(
    {
        "last block, last token": ("prompt_gain", "gain_last_block"),
        "penultimate block, last token": ("prompt_gain", "gain_penultimate_block"),
        "mean over blocks after 0, last token": ("prompt_gain", "gain_body"),
        "last block, all tokens": ("prompt_gain", "gain_whole_matrix"),
        "last block, all but the first": ("prompt_gain", "gain_without_first"),
        "last block, last token, mean taken out": ("prompt_gain_centred", "gain_last_block"),
    }
)

#: Positions whose tokens are outliers after a block, the most frequent first.
_OUTLIERS = """
    SELECT position,
           count(*)                            AS n_prompts,
           max(times_median)                   AS times_median,
           min(first_layer)                    AS first_block,
           max(last_layer)                     AS last_block,
           arg_max(top_feature, times_median)  AS top_feature
      FROM outlier_token
     WHERE prompt_id NOT IN (?, ?)
     GROUP BY position
     ORDER BY n_prompts DESC, times_median DESC
    """


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a model gives.

    Attributes
    ----------
    model_id, design
        The model, and its shape in words.
    loss, loss_sorted
        Mean surprisal of a paragraph, and of its words in the order of the alphabet [nat per
        token].
    has_start
        Whether the tokenizer puts a start token in front.
    deviation, tolerance
        Of attention and feed-forward from the next state of the stream; None where they cannot
        be told apart.
    outliers
        One row per position: `position`, `n_prompts`, `times_median` (largest), `first_block`,
        `last_block`, `top_feature`.
    gains
        One row per definition: `definition`, `gain` (geometric mean), `n_below` (sentences below
        1), `n_prompts`.
    """

    model_id: str
    design: str
    loss: float
    loss_sorted: float
    has_start: bool
    deviation: float | None
    tolerance: float
    outliers: pd.DataFrame
    gains: pd.DataFrame

    def as_text(self) -> str:
        """Return all of it, on one screen."""
        speaks = "speaks" if self.loss < self.loss_sorted - 1 else "hardly speaks"
        start = "puts one in front" if self.has_start else "puts none in front"
        adds = (
            "attention and feed-forward cannot be told apart"
            if self.deviation is None
            else f"attention and feed-forward sum to the next state: largest deviation "
            f"{self.deviation:.1g}, allowed {self.tolerance:.1e}"
        )
        outliers = [
            f"  position {row.position}: up to {row.times_median:.0f} times the median, "
            f"blocks {row.first_block} to {row.last_block}, feature {row.top_feature}, in "
            f"{row.n_prompts} of {len(SENTENCES)} sentences"
            for row in self.outliers.head(3).itertuples()
        ]
        signs = [
            f"  {row.definition:39} {row.gain:7.3f}  {_sign(row)}"
            for row in self.gains.itertuples()
        ]
        return "\n".join(
            [
                f"{self.model_id}: {self.design}",
                f"{speaks}: {self.loss:.2f} nat per token, {self.loss_sorted:.2f} with the words "
                "sorted",
                f"start token: the tokenizer {start}",
                adds,
                "outlier tokens:" if outliers else "outlier tokens: none",
                *outliers,
                f"gain, geometric mean over {counted(len(SENTENCES), 'sentence')}:",
                *signs,
            ]
        )


@interruptible()
def look(
    model: str, *, revision: str | None = None, dtype: str = "float32", device: str = "cpu"
) -> Look:
    """Measure a few sentences, and say what a person asks first.

    Parameters
    ----------
    model, revision
        Checkpoint directory, GGUF file or hub identifier, and its revision.
    dtype, device
        As for `collect.run`.

    Raises
    ------
    CollectError
        If there is no such model, it cannot be measured, or it does not conform.
    """
    Settings(dtype=dtype, device=device)  # refuses what is none
    checkpoint = locate(model, revision=revision)
    tokenizer = load_tokenizer(checkpoint)
    decoder = load_model(checkpoint, dtype=dtype, device=device)
    refuse_misread(contradictions(decoder.model, checkpoint.gguf))
    paragraph = " ".join(SENTENCES)
    prompts = {f"{_SET}:{place}": text for place, text in enumerate(SENTENCES)}
    prompts |= {_PARAGRAPH: paragraph, _SORTED: " ".join(sorted(paragraph.split()))}
    frames = measure(
        decoder.model,
        tokenizer,
        [
            {"prompt_id": name.removeprefix(f"{_SET}:"), "text": text}
            for name, text in prompts.items()
        ],
        prompt_set=_SET,
        too_long="truncate",
        quantities=("stream", "predictions"),
        model_id=checkpoint.model_id,
    )
    return _looked(
        checkpoint.model_id, _design(frames["model"].iloc[0], checkpoint.dtype_weights), frames
    )


def _looked(model_id: str, design: str, frames: dict[str, pd.DataFrame]) -> Look:
    losses = frames["token_prediction"].groupby("prompt_id")["surprisal"].mean()
    norms = frames["residual_norm"]
    sums: Any = frames["conformance"].set_index("property").loc["block_adds_up"]
    with connect(comments=False) as connection:
        for table, frame in frames.items():
            connection.register("rows_given", frame)
            connection.execute(f'INSERT INTO "{table}" BY NAME FROM rows_given')
        connection.execute(views_sql())
        rows = []
        for definition, (view, metric) in DEFINITIONS.items():
            column = "log_gain" if view == "prompt_gain" else "log_gain_centred"
            gain, n_below, n_prompts = connection.execute(
                f"SELECT exp(avg({column})), count(*) FILTER ({column} < 0), count(*) FROM {view} "  # noqa: S608
                "WHERE metric = ? AND prompt_id NOT IN (?, ?)",
                [metric, _PARAGRAPH, _SORTED],
            ).fetchall()[0]
            if n_prompts:
                rows.append((definition, gain, n_below, n_prompts))
        return Look(
            model_id=model_id,
            design=design,
            loss=float(losses[_PARAGRAPH]),
            loss_sorted=float(losses[_SORTED]),
            has_start=bool(norms.loc[norms["position"] == 0, "is_special"].all()),
            deviation=None if pd.isna(sums["deviation"]) else float(sums["deviation"]),
            tolerance=float(sums["tolerance"]),
            outliers=connection.execute(_OUTLIERS, [_PARAGRAPH, _SORTED]).df(),
            gains=pd.DataFrame(rows, columns=["definition", "gain", "n_below", "n_prompts"]),
        )


def _design(model: Any, stored: str) -> str:
    heads = "" if pd.isna(model["n_heads"]) else f", {model['n_heads']} heads"
    return (
        f"{model['family']}, {model['n_layers']} blocks of width {model['d_model']}{heads}, "
        f"{model['norm_kind']}, {model['n_parameters'] / 1e6:.0f} million parameters "
        f"in {stored}"
    )


def _sign(row: Any) -> str:
    # The average of few prompts can be on the other side than most of them: both counts are said.
    direction = "shrinks" if row.gain < 1 else "grows"
    return f"{direction} ({row.n_prompts - row.n_below} grow, {row.n_below} shrink)"
